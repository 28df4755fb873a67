//! Keys in a gate of items: verdicts, bulk verdicts, committing, and what follows. Each verdict is written at once.

use std::sync::Arc;

use crate::review::{Judgement, Reason, State as Standing, What};
use crate::tui::curate::{Chosen, OpenSelection};
use crate::tui::data::Effect;
use crate::tui::effects::Ask;
use crate::tui::keymap::Action;
use crate::tui::layout::CuratePane;
use crate::tui::overlay::{LineFor, LinePrompt, Overlay, Seal, Sealed};
use crate::tui::state::{Mood, State};
use crate::tui::widgets::text;
use crate::tune::filter::Filter;
use crate::types::Phase;

pub(super) fn act(state: &mut State, open: &mut OpenSelection, action: Action) -> Vec<Effect> {
    match action {
        Action::AcceptHunk => return decide(state, open, None, ""),
        Action::RejectHunk => return decide(state, open, Some(Reason::Other), ""),
        Action::RejectBecause => state.overlays.push(Overlay::Reasons(super::super::review::reasons())),
        Action::Range => {
            open.chosen = match open.chosen {
                Chosen::From(_) => Chosen::Current,
                _ => Chosen::From(open.scroll.selected),
            };
        }
        Action::Everything => {
            open.chosen = match open.chosen {
                Chosen::Shown => Chosen::Current,
                _ => Chosen::Shown,
            };
        }
        Action::Comment => {
            let about_item = open.focus != CuratePane::Balance;
            open.asking = open.current().filter(|_| about_item).map(|(at, _)| at);
            ask(state, LineFor::Comment);
        }
        Action::Undo => return undo(state, open),
        Action::Commit => commit(state, open),
        Action::Check => return certify(state, open),
        Action::Discard => ask(state, LineFor::Discard),
        Action::WhyNot => {
            let said = why_not(state, open);
            state.say(Mood::Bad, said);
        }
        _ => {}
    }
    Vec::new()
}

fn ask(state: &mut State, purpose: LineFor) {
    let text = String::new();
    state.overlays.push(Overlay::Line(LinePrompt { purpose, text }));
}

/// Why no verdict is taken, and what can be done.
fn why_not(state: &State, open: &OpenSelection) -> String {
    let standing = open.standing();
    match standing.state {
        Standing::Decided | Standing::Certified => format!(
            "the decisions of {} are committed: {} takes the commitment back, then decide again",
            standing.id,
            super::key(state, Action::Undo)
        ),
        other => format!("{} is {}: no verdict is taken any more", standing.id, other.word()),
    }
}

/// The same verdict on all chosen items. One is written at once and the cursor moves on; several ask first.
fn decide(state: &mut State, open: &mut OpenSelection, reject: Option<Reason>, comment: &str) -> Vec<Effect> {
    let chosen = open.chosen();
    let judgement = Judgement {
        items: chosen.iter().copied().collect(),
        reject,
        comment: comment.to_owned(),
        filter: String::new(),
        policy: None,
    };
    match chosen.as_slice() {
        [] => {
            state.say(Mood::Info, "there is no item to decide on");
            Vec::new()
        }
        [_] => {
            let to = open.next_after(open.scroll.selected);
            open.chosen = Chosen::Current;
            super::go(state.size, open, to);
            vec![judge(open, judgement)]
        }
        many => {
            let seal = bulk(open, many, judgement);
            state.overlays.push(Overlay::Seal(Box::new(seal)));
            Vec::new()
        }
    }
}

fn judge(open: &OpenSelection, judgement: Judgement) -> Effect {
    let standing = open.standing();
    let shown = Arc::clone(&open.items);
    Effect::Review(Ask::Judge(standing.id.clone(), standing.seq, shown, judgement))
}

/// What a verdict on several items is about.
fn bulk(open: &OpenSelection, chosen: &[u32], judgement: Judgement) -> Seal {
    let items = || chosen.iter().filter_map(|at| open.items.get(*at as usize));
    let log = items().filter(|item| item.phase == Phase::Log).count();
    let mut episodes: Vec<(u32, u32)> = items().map(|item| (item.run, item.episode.0)).collect();
    episodes.sort_unstable();
    episodes.dedup();
    let decided = chosen.iter().filter(|at| open.verdict(**at as usize).is_some()).count();
    let judgement = Judgement {
        filter: match open.chosen {
            Chosen::Shown if open.filter.is_empty() => "all".to_owned(),
            Chosen::Shown => open.filter.clone(),
            _ => String::new(),
        },
        ..judgement
    };
    let (word, means) = match judgement.reject {
        None => ("Accept", "accepts them"),
        Some(_) => ("Reject", "rejects them"),
    };
    let mut details = vec![format!(
        "{} LOG and {} PLAN from {}.",
        text::grouped(log as u64),
        text::grouped((chosen.len() - log) as u64),
        text::counted(episodes.len() as u64, "episode")
    )];
    if !judgement.filter.is_empty() {
        details.push(format!("Everything that the filter shows: {}", judgement.filter));
    }
    if let Some(reason) = judgement.reject.filter(|reason| *reason != Reason::Other) {
        details.push(format!("Because: {} {}", reason.word(), judgement.comment));
    }
    if decided > 0 {
        details.push(format!(
            "{decided} of them have a verdict already; this one takes its place."
        ));
    }
    details.push("One undo takes it back as a whole.".to_owned());
    Seal {
        question: format!("{word} {} items?", text::grouped(chosen.len() as u64)),
        details,
        means,
        what: Sealed::Judge(judgement),
        seen: open.standing().seq,
    }
}

fn undo(state: &mut State, open: &OpenSelection) -> Vec<Effect> {
    if open.standing().last_undoable(&open.dossier.entries).is_none() {
        state.say(Mood::Info, "there is nothing to take back");
        return Vec::new();
    }
    let standing = open.standing();
    vec![Effect::Review(Ask::Undo(standing.id.clone(), standing.seq))]
}

/// Shows what would be committed. What the gate is played on never gets that far.
fn commit(state: &mut State, open: &mut OpenSelection) {
    let balance = &open.balance;
    if balance.accepted.count == 0 {
        state.say(Mood::Bad, "no item is accepted: accept some, or discard the selection");
        return;
    }
    if let Some(warning) = balance.warnings.iter().find(|warning| warning.forbids) {
        let said = format!(
            "{}: reject these first (filter `{}`, then * and n)",
            warning.said, balance.gate_filter
        );
        state.say(Mood::Bad, said);
        return;
    }
    if balance.is_below() {
        ask(state, LineFor::Fewer);
        return;
    }
    summary(state, open, String::new());
}

fn summary(state: &mut State, open: &OpenSelection, fewer: String) {
    let balance = &open.balance;
    let accepted = &balance.accepted;
    let number = |count: u32| text::grouped(u64::from(count));
    let mut details = vec![
        format!(
            "{} accepted: {} LOG, {} PLAN, from {}.",
            number(accepted.count),
            number(accepted.log),
            number(accepted.plan),
            text::counted(u64::from(accepted.episodes), "episode")
        ),
        format!(
            "{} rejected; {} without a verdict are left out.",
            number(balance.rejected),
            number(balance.waiting)
        ),
    ];
    details.extend(balance.warnings.iter().map(|warning| format!("! {}", warning.said)));
    if !fewer.is_empty() {
        details.push(format!("All the same, because: {fewer}"));
    }
    details.push("Then the postprocess runs and the training set is certified; nothing is trained by this.".to_owned());
    let seal = Seal {
        question: format!("Commit the decisions on {}?", open.standing().id),
        details,
        means: "commits",
        what: Sealed::CommitItems { fewer },
        seen: open.standing().seq,
    };
    state.overlays.push(Overlay::Seal(Box::new(seal)));
}

fn certify(state: &mut State, open: &OpenSelection) -> Vec<Effect> {
    let id = open.standing().id.clone();
    state.say(Mood::Info, format!("certifying what was accepted of {id}"));
    vec![Effect::Review(Ask::Check(id))]
}

/// A line was written about the open selection.
pub(crate) fn said(state: &mut State, purpose: LineFor, text: &str) -> Vec<Effect> {
    let Some(mut open) = state.curate.open.take() else {
        return Vec::new();
    };
    let effects = of_line(state, &mut open, purpose, text);
    state.curate.open = Some(open);
    effects
}

fn of_line(state: &mut State, open: &mut OpenSelection, purpose: LineFor, text: &str) -> Vec<Effect> {
    let standing = open.standing();
    let (id, seen) = (standing.id.clone(), standing.seq);
    match purpose {
        LineFor::Items => filter(state, open, text),
        LineFor::Reject(_) if !open.is_gate() => {
            let said = why_not(state, open);
            state.say(Mood::Bad, said);
        }
        LineFor::Reject(reason) => return decide(state, open, Some(reason), text),
        LineFor::Comment if text.is_empty() => {}
        LineFor::Comment => {
            let item = open.asking.take().and_then(|at| open.items.get(at));
            let part = item.map(|item| item.id.as_str().into());
            let text = text.to_owned();
            return vec![Effect::Review(Ask::Append(
                id,
                seen,
                vec![What::Commented { part, text }],
            ))];
        }
        LineFor::Fewer if text.is_empty() => {
            state.say(Mood::Bad, "not committed: fewer than the minimum need a reason");
        }
        LineFor::Fewer => summary(state, open, text.to_owned()),
        LineFor::Discard => {
            let seal = super::super::review::discarding(&id, text, seen);
            state.overlays.push(Overlay::Seal(Box::new(seal)));
        }
        _ => {}
    }
    Vec::new()
}

/// Shows only what a filter lets through; what is no filter changes nothing.
fn filter(state: &mut State, open: &mut OpenSelection, typed: &str) {
    let filter = match Filter::parse(typed) {
        Ok(filter) => filter,
        Err(error) => {
            state.say(Mood::Bad, error);
            return;
        }
    };
    let fits = |at: &u32| {
        let item = &open.items[*at as usize];
        let verdict = open.verdict(*at as usize).map(|verdict| verdict.accepted);
        filter.matches(item, verdict)
    };
    let shown: Vec<u32> = (0..).take(open.items.len()).filter(fits).collect();
    let (count, all) = (
        text::grouped(shown.len() as u64),
        text::grouped(open.items.len() as u64),
    );
    open.show(typed, shown);
    state.say(Mood::Info, format!("{count} of {all}"));
}

/// A summary was confirmed.
pub(crate) fn sealed(state: &mut State, seal: Seal) -> Vec<Effect> {
    let Some(open) = &mut state.curate.open else {
        return Vec::new();
    };
    // What was written after the summary was shown is not what was confirmed.
    let (id, seen) = (open.standing().id.clone(), seal.seen);
    vec![Effect::Review(match seal.what {
        Sealed::Judge(judgement) => {
            open.chosen = Chosen::Current;
            Ask::Judge(id, seen, Arc::clone(&open.items), judgement)
        }
        Sealed::CommitItems { fewer } => {
            let count = open.balance.accepted.count;
            let minimum = open.balance.minimum;
            let said = (!fewer.is_empty())
                .then(|| format!("{count} accepted, fewer than the minimum of {minimum}, because: {fewer}"));
            Ask::CommitItems(id, seen, said)
        }
        Sealed::Discard { why } => Ask::Append(id, seen, vec![What::Discarded { why }]),
        Sealed::Commit | Sealed::Promote { .. } | Sealed::Demote { .. } => return Vec::new(),
    })]
}
