//! Draws an image of a world in half blocks.
//!
//! Owns how pixels become cells. Must not know where the image comes from.

use base64::Engine as _;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::sprites::fill;
use crate::tui::theme::Theme;
use crate::types::PictureView;

/// Columns and rows that an image takes in a room: as large as its form allows.
pub(crate) fn size(view: &PictureView, room: Rect) -> (u16, u16) {
    let (width, height) = (u32::from(view.width.max(1)), u32::from(view.height.max(1)));
    // A cell is as high as two pixels are.
    let (across, down) = (u32::from(room.width), u32::from(room.height) * 2);
    let columns = across.min(down * width / height).max(1);
    let pixels = (columns * height / width).clamp(1, down.max(1));
    (columns as u16, pixels.div_ceil(2) as u16)
}

/// Draws an image of that size at the north-west corner of the area; false when its bytes are not what they must be.
pub(crate) fn draw(buf: &mut Buffer, area: Rect, view: &PictureView, size: (u16, u16), theme: &Theme) -> bool {
    let (width, height) = (usize::from(view.width), usize::from(view.height));
    let decoded = base64::engine::general_purpose::STANDARD.decode(&view.rgb);
    let Some(bytes) = decoded
        .ok()
        .filter(|bytes| !bytes.is_empty() && bytes.len() == width * height * 3)
    else {
        return false;
    };
    let area = Rect {
        width: size.0,
        height: size.1,
        ..area
    }
    .intersection(buf.area);
    let (columns, rows) = (usize::from(size.0.max(1)), usize::from(size.1.max(1)) * 2);
    fill(buf, area, theme, |x, y| {
        let x = (x as usize * width / columns).min(width - 1);
        let y = (y as usize * height / rows).min(height - 1);
        let at = (y * width + x) * 3;
        (bytes[at], bytes[at + 1], bytes[at + 2])
    });
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    fn view(width: u16, height: u16) -> PictureView {
        let pixels = vec![200u8; usize::from(width) * usize::from(height) * 3];
        PictureView {
            width,
            height,
            rgb: base64::engine::general_purpose::STANDARD.encode(pixels),
        }
    }

    #[test]
    fn an_image_keeps_its_form_and_its_room() {
        let room = Rect::new(0, 0, 40, 20);
        assert_eq!(size(&view(64, 64), room), (40, 20));
        assert_eq!(size(&view(128, 64), room), (40, 10));
        assert_eq!(size(&view(64, 128), room), (20, 20));
        assert_eq!(size(&view(0, 0), Rect::new(0, 0, 0, 0)), (1, 1));
    }

    #[test]
    fn wrong_bytes_are_told() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 10, 5));
        let theme = testing::theme();
        assert!(draw(&mut buf, Rect::new(0, 0, 10, 5), &view(6, 6), (10, 5), &theme));
        assert!(buf.content().iter().any(|cell| cell.bg != ratatui::style::Color::Reset));
        let mut broken = view(6, 6);
        broken.rgb.truncate(8);
        assert!(!draw(&mut buf, Rect::new(0, 0, 10, 5), &broken, (10, 5), &theme));
        broken.rgb = "no base64".into();
        assert!(!draw(&mut buf, Rect::new(0, 0, 10, 5), &broken, (10, 5), &theme));
    }
}
