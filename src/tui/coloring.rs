//! The thread that finds the colours of a proposal's files, so that the first frame never waits for them.
//!
//! Owns the painters with their checkpoints. The newest wish first.

use std::collections::HashMap;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::data::{Data, Event};
use super::effects::ColourRequest;
use super::widgets::diff::Side;
use super::widgets::syntax::Painter;
use crate::review::ProposalId;

/// Wishes that may wait; what does not fit is asked for again when it shows.
const WAITING: usize = 256;
/// Texts whose checkpoints are kept.
const KEPT: usize = 64;

type Painters = HashMap<(ProposalId, usize, Side), Option<Painter>>;

/// Starts the thread. It ends when the sender is dropped.
pub(super) fn spawn(events: Sender<Event>) -> std::io::Result<Sender<ColourRequest>> {
    let (sender, wishes) = bounded(WAITING);
    std::thread::Builder::new()
        .name("colours".into())
        .spawn(move || run(&wishes, &events))?;
    Ok(sender)
}

fn run(wishes: &Receiver<ColourRequest>, events: &Sender<Event>) {
    let mut painters = Painters::new();
    while let Ok(first) = wishes.recv() {
        let waiting: Vec<ColourRequest> = std::iter::once(first).chain(wishes.try_iter()).collect();
        for wish in waiting.into_iter().rev() {
            if painters.len() > KEPT {
                painters.clear();
            }
            if let Some(data) = answer(&mut painters, wish)
                && events.send(Event::Data(data)).is_err()
            {
                return;
            }
        }
    }
}

/// The answer to a wish at once, for who has no thread.
pub(super) fn at_once(wish: ColourRequest) -> Option<Data> {
    answer(&mut Painters::new(), wish)
}

/// `None` for what has no colours.
fn answer(painters: &mut Painters, wish: ColourRequest) -> Option<Data> {
    let key = (wish.proposal.clone(), wish.file, wish.side);
    let painter = painters
        .entry(key)
        .or_insert_with(|| Painter::new(&wish.path, wish.text));
    let spans = painter.as_mut()?.lines(wish.lines.clone());
    (!spans.is_empty()).then_some(Data::Colours {
        proposal: wish.proposal,
        file: wish.file,
        side: wish.side,
        from: wish.lines.start,
        spans,
    })
}
