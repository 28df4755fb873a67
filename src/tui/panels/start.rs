//! The choice of what to start, in place of an empty list.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::layout;
use crate::tui::start::{Choice, SMALL_MODEL, StartPanel};
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::widgets::text;

/// In place of the list of runs.
pub(crate) fn draw_empty(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let start = &state.runs.start;
    let place = layout::centred(area, 78.min(area.width - 2), height(start) + 5);
    let lines = [
        Line::styled("Watch an agent play, and its memory grow.", theme.bold(Slot::Title)),
        Line::styled("No run is in this workspace yet. Start with:", theme.style(Slot::Dim)),
    ];
    for (row, line) in (0..).zip(&lines) {
        text::put_line(
            buf,
            Rect {
                x: place.x + 2,
                ..place
            },
            row,
            line,
        );
    }
    let rest = Rect {
        y: place.y + 3,
        height: place.height.saturating_sub(3),
        ..place
    };
    choices(state, start, rest, buf);
}

fn height(start: &StartPanel) -> u16 {
    start.choices.len() as u16 * 3 + 2
}

fn choices(state: &State, start: &StartPanel, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    // Where there are more than fit, those around the selected one show.
    let fit = usize::from((area.height.saturating_sub(2) / 3).max(1));
    let first = (start.selected + 1).saturating_sub(fit);
    let shown = start.choices.iter().enumerate().skip(first).take(fit);
    for (index, choice) in shown {
        let y = (index - first) as u16 * 3;
        let (name, about, command) = describe(state, choice, start.seed);
        let selected = index == start.selected;
        let sign = if selected { "▶ " } else { "  " };
        let line = Line::from(vec![
            Span::styled(sign, theme.bold(Slot::Accent)),
            Span::styled(name, theme.bold(Slot::Text)),
            Span::styled(format!("  {about}"), theme.style(Slot::Dim)),
        ]);
        text::put_line(buf, area, y, &line);
        if selected {
            let row = Rect {
                y: area.y + y,
                height: 1,
                ..area
            };
            buf.set_style(row, theme.selected(true));
        }
        let line = Line::styled(format!("    {command}"), theme.style(Slot::Faint));
        text::put_line(buf, area, y + 1, &line);
    }
    let y = start.choices.len().min(fit) as u16 * 3;
    let line = Line::from(vec![
        Span::styled("  seed ", theme.style(Slot::Dim)),
        Span::styled(format!("‹ {} ›", start.seed), theme.bold(Slot::Accent)),
        Span::styled("   equal seeds give equal worlds", theme.style(Slot::Faint)),
    ]);
    text::put_line(buf, area, y, &line);
}

/// Name, what it is, and the command that does the same.
fn describe(state: &State, choice: &Choice, seed: u64) -> (String, String, String) {
    let command =
        |model: &str, scaffold: &str| format!("automem watch --scaffold {scaffold} --model {model} --seeds {seed}");
    match choice {
        Choice::Scripted => (
            "Watch the scripted player".into(),
            "a program, no language model; starts at once".into(),
            command("scripted", &state.runs.run.scaffold),
        ),
        Choice::Model(model) => {
            let scaffold = if model == SMALL_MODEL {
                "crafter-tiny"
            } else {
                &state.runs.run.scaffold
            };
            (
                format!("Watch {}", text::clean(model)),
                "a model on this machine".into(),
                command(model, scaffold),
            )
        }
        Choice::Pull => (
            format!("Fetch {SMALL_MODEL} and watch it"),
            "92 MB, runs on any CPU".into(),
            format!("automem model pull {SMALL_MODEL}"),
        ),
        Choice::Sample => (
            "Open a sample run".into(),
            "recorded with this program".into(),
            "automem replay sample-runs/…".into(),
        ),
        Choice::More => (
            "Something else".into(),
            "world, scaffold, model, seeds, several at once".into(),
            "automem watch --help".into(),
        ),
    }
}
