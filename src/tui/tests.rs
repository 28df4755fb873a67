//! The screens as a person sees and drives them: snapshots, keys, limits.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::export::{Format, export};
use super::state::State;
use super::testing;
use super::theme::{Depth, Theme};
use super::{update, view};

/// The drawn screen.
pub(crate) fn drawn(state: &State) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
    view::draw(state, &mut buf);
    buf
}

fn text(state: &State) -> String {
    export(&drawn(state), Format::Text, &state.theme)
}

#[test]
#[ignore = "writes pictures to look at"]
fn pictures() {
    let dir = std::path::Path::new("/tmp/tui-shots");
    std::fs::create_dir_all(dir).unwrap();
    let mut save = |name: &str, state: &State| {
        let svg = export(&drawn(state), Format::Svg, &state.theme);
        std::fs::write(dir.join(format!("{name}.svg")), svg).unwrap();
    };
    for (columns, rows) in [(80, 24), (110, 36), (160, 48), (200, 60)] {
        for theme in ["dark", "light"] {
            let mut state = testing::watching((columns, rows), 60, 23);
            state.theme = Theme::load(theme, Depth::True).unwrap();
            save(&format!("watch-{columns}-{theme}"), &state);
            let mut state = testing::listing((columns, rows), testing::entries());
            state.theme = Theme::load(theme, Depth::True).unwrap();
            save(&format!("runs-{columns}-{theme}"), &state);
        }
    }
    let _ = update::settle;
    let _ = text;
}
