//! Encodes pictures on a thread of its own; only the newest that is wanted, and each once.
//!
//! Owns the cache and the numbers by which kitty knows its pictures. Must not know where a
//! picture stands.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Sender, bounded};
use image::{DynamicImage, RgbImage};
use ratatui::layout::Size;
use ratatui_image::protocol::Protocol;
use ratatui_image::protocol::iterm2::Iterm2;
use ratatui_image::protocol::kitty::Kitty;
use ratatui_image::protocol::sixel::Sixel;

use super::{Key, Ready, Wanted, Wire};
use crate::tui::data::{Data, Event};
use crate::tui::widgets::sprites;
use crate::types::View;

/// Pictures kept; a kitty keeps as many.
const KEPT: usize = 32;

/// 1 when a kitty holds pictures of ours, 2 when it does so behind tmux.
static SENT: AtomicU8 = AtomicU8::new(0);

/// Makes pictures and keeps the last ones.
#[derive(Default)]
pub(super) struct Encoder {
    kept: Vec<Ready>,
    next: usize,
}

impl Encoder {
    /// The picture, made or kept.
    ///
    /// # Errors
    /// What the encoder says.
    pub(super) fn encode(&mut self, wanted: &Wanted) -> Result<Ready, String> {
        if let Some(ready) = self.kept.iter().find(|ready| ready.key == wanted.key) {
            return Ok(ready.clone());
        }
        let slot = self.next % KEPT;
        let ready = Ready {
            key: wanted.key,
            image: Arc::new(encode(wanted, slot)?),
        };
        // A number is given away again together with its picture.
        if slot < self.kept.len() {
            self.kept[slot] = ready.clone();
        } else {
            self.kept.push(ready.clone());
        }
        self.next += 1;
        Ok(ready)
    }
}

/// The number of a kept picture at the terminal: other programs there use other ones.
fn number(slot: usize) -> u32 {
    0x0100_0000 | ((std::process::id() & 0xffff) << 8) | (slot as u32 + 1)
}

fn encode(wanted: &Wanted, slot: usize) -> Result<Protocol, String> {
    let Key {
        side, size, graphics, ..
    } = wanted.key;
    let View::Tiles(view) = &wanted.frame.view else {
        return Err("the world has no map".to_owned());
    };
    let (width, height) = (
        u32::from(size.0) * u32::from(graphics.cell.0),
        u32::from(size.1) * u32::from(graphics.cell.1),
    );
    let mut image = RgbImage::from_pixel(width, height, image::Rgb(wanted.key.ground.into()));
    sprites::paint(view, usize::from(side), &mut |x, y, (r, g, b)| {
        if x < width && y < height {
            image.put_pixel(x, y, image::Rgb([r, g, b]));
        }
    });
    let image = DynamicImage::ImageRgb8(image);
    let size = Size::new(size.0, size.1);
    let made = match graphics.wire {
        Wire::Kitty => {
            SENT.store(1 + u8::from(graphics.tmux), Ordering::SeqCst);
            Kitty::new(image, size, number(slot), graphics.tmux, graphics.inflates).map(Protocol::Kitty)
        }
        Wire::Iterm2 => Iterm2::new(image, size, graphics.tmux).map(Protocol::ITerm2),
        Wire::Sixel => Sixel::new(image, size, false).map(Protocol::Sixel),
    };
    made.map_err(|error| format!("the picture could not be made: {error}; V draws it in another way"))
}

/// What makes a kitty forget the pictures of this program; empty when it has none.
pub(in crate::tui) fn farewell() -> String {
    let sent = SENT.swap(0, Ordering::SeqCst);
    if sent == 0 {
        return String::new();
    }
    (0..KEPT)
        .map(|slot| {
            let sequence = format!("\u{1b}_Gq=2,a=d,d=I,i={}\u{1b}\\", number(slot));
            if sent == 2 { through_tmux(&sequence) } else { sequence }
        })
        .collect()
}

/// Wraps a sequence so that tmux passes it through.
pub(super) fn through_tmux(sequence: &str) -> String {
    format!("\u{1b}Ptmux;{}\u{1b}\\", sequence.replace('\u{1b}', "\u{1b}\u{1b}"))
}

/// The way to the thread that encodes. It ends when this is dropped.
pub(in crate::tui) struct Desk {
    /// The newest wish; older ones are never carried out.
    newest: Arc<Mutex<Option<Wanted>>>,
    bell: Sender<()>,
}

impl Desk {
    /// Wants a picture, and no longer the one that was wanted before.
    pub(in crate::tui) fn want(&self, wanted: Wanted) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(wanted);
        // A bell that has rung already is enough.
        let _ = self.bell.try_send(());
    }
}

/// Starts the thread.
pub(in crate::tui) fn spawn(events: Sender<Event>) -> std::io::Result<Desk> {
    let (bell, rings) = bounded(1);
    let newest: Arc<Mutex<Option<Wanted>>> = Arc::default();
    let desk = Desk {
        newest: Arc::clone(&newest),
        bell,
    };
    std::thread::Builder::new().name("pictures".into()).spawn(move || {
        let mut encoder = Encoder::default();
        while let Ok(()) = rings.recv() {
            let Some(wanted) = newest.lock().unwrap_or_else(PoisonError::into_inner).take() else {
                continue;
            };
            let data = match encoder.encode(&wanted) {
                Ok(ready) => Data::Picture(ready),
                Err(error) => Data::Failed(error),
            };
            if events.send(Event::Data(data)).is_err() {
                return;
            }
        }
    })?;
    Ok(desk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::pictures::{Graphics, Pictures};
    use crate::tui::testing;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::widgets::Widget;

    fn wanted(wire: Wire, step: u32) -> Wanted {
        let pictures = Pictures {
            graphics: Some(Graphics {
                wire,
                cell: (10, 20),
                inflates: true,
                tmux: false,
            }),
            ..Pictures::default()
        };
        let frame = Arc::new(testing::frame(step));
        let View::Tiles(view) = &frame.view else { panic!() };
        pictures
            .want(&frame, view, Rect::new(0, 0, 30, 12), &testing::theme())
            .unwrap()
    }

    fn drawn(ready: &Ready) -> String {
        let mut buf = Buffer::empty(Rect::new(0, 0, 30, 12));
        ratatui_image::Image::new(&ready.image).render(buf.area, &mut buf);
        buf.content().iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn each_protocol_writes_its_own_sequence() {
        let mut encoder = Encoder::default();
        for (wire, begin) in [
            (Wire::Kitty, "\u{1b}_Gq=2,i="),
            (Wire::Iterm2, "\u{1b}]1337;File=inline=1"),
            (Wire::Sixel, "\u{1b}P"),
        ] {
            let ready = encoder.encode(&wanted(wire, 3)).unwrap();
            assert!(drawn(&ready).contains(begin), "{wire:?}");
        }
    }

    #[test]
    fn a_kept_picture_is_not_made_twice_and_sent_once() {
        let mut encoder = Encoder::default();
        let first = encoder.encode(&wanted(Wire::Kitty, 3)).unwrap();
        assert!(drawn(&first).contains("a=T"));
        let again = encoder.encode(&wanted(Wire::Kitty, 3)).unwrap();
        assert!(Arc::ptr_eq(&first.image, &again.image));
        assert!(!drawn(&again).contains("a=T"), "a kitty has it already");
        for step in 0..100 {
            encoder.encode(&wanted(Wire::Kitty, step)).unwrap();
        }
        assert_eq!(encoder.kept.len(), KEPT);
    }

    #[test]
    fn pictures_are_encoded_beside_the_screen_and_only_the_newest() {
        let (events, receiver) = bounded(64);
        let desk = spawn(events).unwrap();
        for step in 0..40 {
            desk.want(wanted(Wire::Iterm2, step));
        }
        let last = wanted(Wire::Iterm2, 39).key;
        drop(desk);
        let keys: Vec<Key> = receiver
            .iter()
            .filter_map(|event| match event {
                Event::Data(Data::Picture(ready)) => Some(ready.key),
                _ => None,
            })
            .collect();
        assert_eq!(keys.last(), Some(&last));
    }

    #[test]
    fn tmux_gets_doubled_escapes() {
        assert_eq!(
            through_tmux("\u{1b}_G\u{1b}\\"),
            "\u{1b}Ptmux;\u{1b}\u{1b}_G\u{1b}\u{1b}\\\u{1b}\\"
        );
    }
}
