//! Keys in a gate: verdicts on hunks, committing them, and what follows. Each verdict is written at once.

use crate::review::{Outcome, PartKind, PartStanding, ProposalId, Reason, Seq, State as Standing, Verdict, What};
use crate::tui::data::{EditRequest, Effect};
use crate::tui::effects::{Ask, EditOf};
use crate::tui::keymap::{Action, Place};
use crate::tui::layout::ReviewPane;
use crate::tui::overlay::{Command, Entry, LineFor, LinePrompt, Overlay, Picker, Seal, Sealed};
use crate::tui::review::{OpenReview, Selection, own_text};
use crate::tui::state::{Mood, State};
use crate::tui::take_over::{EditOutcome, Edited};

/// Bytes that the text of a hunk may have.
const MOST: u64 = 1 << 20;

pub(super) fn act(state: &mut State, open: &mut OpenReview, action: Action, height: usize) -> Vec<Effect> {
    let about_one = matches!(
        action,
        Action::AcceptHunk | Action::RejectHunk | Action::RejectBecause | Action::SplitHunk | Action::EditHunk
    );
    if about_one && open.selection == Selection::Current && brought(state, open, height) {
        return Vec::new();
    }
    match action {
        Action::AcceptHunk => return decide(state, open, &Verdict::Accept, "", height),
        Action::RejectHunk => {
            let verdict = Verdict::Reject { reason: Reason::Other };
            return decide(state, open, &verdict, "", height);
        }
        Action::RejectBecause => state.overlays.push(Overlay::Reasons(reasons())),
        Action::SplitHunk => return split(state, open),
        Action::EditHunk => return edit(state, open),
        Action::Range => {
            let current = open.current().map(|(at, _)| at);
            match (open.selection, current) {
                (Selection::From(_), _) | (_, None) => open.selection = Selection::Current,
                (_, Some(at)) => open.selection = Selection::From(at),
            }
        }
        Action::Everything => {
            open.selection = match open.selection {
                Selection::Waiting => Selection::Current,
                _ => Selection::Waiting,
            };
        }
        Action::Comment => comment(state, open),
        Action::Undo => return undo(state, open),
        Action::Commit => commit(state, open),
        Action::Check => {
            state.say(Mood::Info, "checking: the result is rehearsed for some steps");
            return vec![Effect::Review(Ask::Check(open.standing().id.clone()))];
        }
        Action::Promote => promote(state, open),
        Action::Discard => ask(state, LineFor::Discard),
        Action::WhyNot => {
            let said = why_not(state, open);
            state.say(Mood::Bad, said);
        }
        _ => {}
    }
    Vec::new()
}

/// Brings the current hunk onto the screen, if nothing of it is there: no verdict on what nobody sees.
fn brought(state: &mut State, open: &mut OpenReview, height: usize) -> bool {
    let Some((at, _)) = open.current() else {
        return false;
    };
    let (rows, screen) = (open.diff.rows_of(at), open.scroll.visible(open.diff.len(), height));
    if rows.start < screen.end && screen.start < rows.end {
        return false;
    }
    open.go(at, height);
    state.say(Mood::Info, format!("this is hunk {}: look at it, then decide", at + 1));
    true
}

fn ask(state: &mut State, purpose: LineFor) {
    let text = String::new();
    state.overlays.push(Overlay::Line(LinePrompt { purpose, text }));
}

/// Why no verdict is taken, and what can be done.
fn why_not(state: &State, open: &OpenReview) -> String {
    let standing = open.standing();
    let undo = state.keymap.shown(Place::Proposal, Action::Undo);
    match standing.state {
        Standing::Stale => format!("{} is stale, so no verdict is taken: {}", standing.id, standing.why),
        Standing::Decided | Standing::Checked | Standing::CheckFailed | Standing::Gated => format!(
            "the decisions of {} are committed: {undo} takes the commitment back, then decide again",
            standing.id
        ),
        Standing::Gating => format!("{} is being played on its gate's seeds: wait for its end", standing.id),
        other => format!("{} is {}: no verdict is taken any more", standing.id, other.word()),
    }
}

/// The same verdict on all chosen hunks; the cursor moves on.
fn decide(state: &mut State, open: &mut OpenReview, verdict: &Verdict, comment: &str, height: usize) -> Vec<Effect> {
    let chosen = open.chosen();
    let (Some(first), Some(last)) = (chosen.first().copied(), chosen.last().copied()) else {
        state.say(Mood::Info, "there is no hunk to decide on");
        return Vec::new();
    };
    let one = |at: &usize| {
        let part = &open.parts()[*at].part;
        What::Decided {
            part: part.id.clone(),
            digest: part.digest,
            verdict: verdict.clone(),
            comment: comment.to_owned(),
            policy: None,
        }
    };
    let entries: Vec<What> = chosen.iter().map(one).collect();
    if entries.len() > 1 {
        let word = match verdict {
            Verdict::Accept => "accepted",
            _ => "rejected",
        };
        let undo = state.keymap.shown(Place::Proposal, Action::Undo);
        state.say(
            Mood::Good,
            format!("{} hunks {word}; {undo} takes them back one by one", entries.len()),
        );
    }
    let to = match open.selection {
        Selection::Waiting => first,
        _ => open.next_after(last),
    };
    open.selection = Selection::Current;
    open.go(to, height);
    vec![append(open, entries)]
}

fn append(open: &OpenReview, entries: Vec<What>) -> Effect {
    let standing = open.standing();
    Effect::Review(Ask::Append(standing.id.clone(), standing.seq, entries))
}

/// The reasons to choose from.
pub(crate) fn reasons() -> Picker {
    let about = |reason: Reason| match reason {
        Reason::Unsupported => "the evidence does not show it",
        Reason::Harmful => "it would make something worse",
        Reason::TooBroad => "it changes more than its aim needs",
        Reason::Unneeded => "it is not needed",
        Reason::Unclear => "it cannot be understood",
        Reason::Other => "something else: say it in the next line",
    };
    let entry = |reason: Reason| Entry {
        place: "",
        keys: String::new(),
        help: format!("{}: {}", reason.word(), about(reason)),
        command: Command::Reject(reason),
    };
    Picker::of_reasons(Reason::ALL.into_iter().map(entry).collect())
}

/// A reason was chosen: there may be more to say.
pub(crate) fn because(state: &mut State, reason: Reason) {
    ask(state, LineFor::Reject(reason));
}

fn split(state: &mut State, open: &OpenReview) -> Vec<Effect> {
    match open.current() {
        Some((_, part)) if part.part.splits() => {
            let part = part.part.id.clone();
            vec![append(open, vec![What::Split { part }])]
        }
        _ => {
            let key = state.keymap.shown(Place::Gate, Action::EditHunk);
            state.say(
                Mood::Info,
                format!("this hunk is a single line or a whole file: it cannot be split; {key} edits it"),
            );
            Vec::new()
        }
    }
}

fn edit(state: &mut State, open: &OpenReview) -> Vec<Effect> {
    let Some((_, part)) = open.current() else {
        return Vec::new();
    };
    if part.part.kind == PartKind::RemovedFile {
        state.say(
            Mood::Info,
            "this hunk removes a file: there is no text to edit; accept or reject it",
        );
        return Vec::new();
    }
    let text = text_of(part);
    // An editor tells the language by the name.
    let name = part.part.path.rsplit('/').next().unwrap_or_default();
    let name: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    vec![Effect::Edit(EditRequest {
        of: EditOf::Hunk {
            proposal: open.standing().id.clone(),
            seen: open.standing().seq,
            part: part.part.id.clone(),
            digest: part.part.digest,
            text,
        },
        root: std::path::PathBuf::new(),
        path: format!("hunk-{name}"),
        most: MOST,
    })]
}

fn text_of(part: &PartStanding) -> String {
    own_text(part).map_or_else(|| part.part.text(), str::to_owned)
}

/// The editor has ended: its text is the verdict.
pub(crate) fn edited(state: &mut State, edited: Edited) -> Vec<Effect> {
    let mut effects = vec![Effect::TakeBack];
    let EditOf::Hunk {
        proposal,
        seen,
        part,
        digest,
        text: before,
    } = edited.request.of
    else {
        return effects;
    };
    let tail = edited
        .trouble
        .as_ref()
        .map_or_else(String::new, |how| format!(" ({how})"));
    match edited.outcome {
        // What an editor that failed left behind is no verdict.
        EditOutcome::Saved(_) if edited.trouble.is_some() => {
            state.say(Mood::Bad, format!("the hunk is as it was{tail}"));
        }
        EditOutcome::Saved(text) => {
            let mut text = text.to_string();
            if before.ends_with('\n') && !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            let what = What::Decided {
                part: part.clone(),
                digest,
                verdict: Verdict::Edit { text },
                comment: String::new(),
                policy: None,
            };
            effects.push(Effect::Review(Ask::Append(proposal, seen, vec![what])));
            state.say(Mood::Good, format!("{part} takes your text"));
        }
        EditOutcome::Unchanged | EditOutcome::Removed => {
            let (accept, mood) = (state.keymap.shown(Place::Gate, Action::AcceptHunk), Mood::Info);
            state.say(
                mood,
                format!("the text is as it was: nothing is decided; {accept} accepts it{tail}"),
            );
        }
        EditOutcome::Refused { why, .. } => state.say(Mood::Bad, format!("the hunk is as it was: {why}{tail}")),
        EditOutcome::Failed(error) => state.say(Mood::Bad, format!("{error}{tail}")),
    }
    effects
}

fn comment(state: &mut State, open: &mut OpenReview) {
    let about_hunk = matches!(open.focus, ReviewPane::Diff | ReviewPane::Hunks);
    open.asking = open
        .current()
        .filter(|_| about_hunk)
        .map(|(_, part)| part.part.id.clone());
    ask(state, LineFor::Comment);
}

fn undo(state: &mut State, open: &OpenReview) -> Vec<Effect> {
    if open.standing().state == Standing::Promoted {
        ask(state, LineFor::Demote);
        return Vec::new();
    }
    if open.standing().last_undoable(&open.dossier.entries).is_none() {
        state.say(Mood::Info, "there is nothing to take back");
        return Vec::new();
    }
    vec![Effect::Review(Ask::Undo(
        open.standing().id.clone(),
        open.standing().seq,
    ))]
}

/// Shows what would be committed, once everything was seen and decided.
fn commit(state: &mut State, open: &mut OpenReview) {
    let waiting = open.standing().waiting();
    let hunk = state.keymap.shown(Place::Proposal, Action::HunkBy(1));
    if open.unseen > 0 {
        state.say(
            Mood::Bad,
            format!(
                "{} hunks were not on the screen as a whole: {hunk} goes through them, then commit",
                open.unseen
            ),
        );
        return;
    }
    if waiting > 0 {
        state.say(
            Mood::Bad,
            format!("{waiting} hunks wait for a verdict: give them one, then commit"),
        );
        return;
    }
    let [accepted, rejected, edited] = counts(open);
    let comments = open.standing().comments.len();
    let result = match accepted + edited {
        0 => "Nothing of it is taken: there will be nothing to evaluate.",
        _ if open.standing().kind == "recipe" => "What comes out is checked; nothing is trained by this.",
        _ => "What comes out is checked, and then it waits for its gate; nothing is applied by this.",
    };
    let seal = Seal {
        question: format!("Commit the decisions on {}?", open.standing().id),
        details: vec![
            format!(
                "{} hunks: {accepted} accepted, {edited} edited, {rejected} rejected.",
                open.parts().len()
            ),
            format!("{comments} comments go back to {}.", open.standing().author),
            result.to_owned(),
        ],
        means: "commits",
        what: Sealed::Commit,
        seen: open.standing().seq,
    };
    state.overlays.push(Overlay::Seal(Box::new(seal)));
}

/// Parts that are accepted, rejected, edited.
pub(crate) fn counts(open: &OpenReview) -> [usize; 3] {
    let mut counts = [0; 3];
    for decision in open.parts().iter().filter_map(|part| part.decision.as_ref()) {
        counts[match decision.verdict {
            Verdict::Accept => 0,
            Verdict::Reject { .. } => 1,
            Verdict::Edit { .. } => 2,
        }] += 1;
    }
    counts
}

fn promote(state: &mut State, open: &OpenReview) {
    if open.standing().is_better() {
        let what = Sealed::Promote {
            overrule: String::new(),
        };
        let seal = promotion(open, what);
        state.overlays.push(Overlay::Seal(Box::new(seal)));
    } else {
        ask(state, LineFor::Overrule);
    }
}

fn promotion(open: &OpenReview, what: Sealed) -> Seal {
    let standing = open.standing();
    let gate = match &standing.gate {
        None => "It has no gate: nobody knows whether it plays better.".to_owned(),
        Some(gate) => format!(
            "Its gate: {}; mean progression {:.1} % against {:.1} %.",
            gate.outcome.word(),
            gate.revision_mean * 100.0,
            gate.parent_mean * 100.0
        ),
    };
    let mut details = vec![
        format!(
            "The folder of {} gets the result; what is there now is kept.",
            standing.line
        ),
        gate,
    ];
    if let Sealed::Promote { overrule } = &what
        && !overrule.is_empty()
    {
        details.push(format!("Against the gate, because: {overrule}"));
    }
    Seal {
        question: format!("Promote {} to the head of {}?", standing.id, standing.line),
        details,
        means: "promotes it",
        what,
        seen: standing.seq,
    }
}

/// A line was written about the open proposal.
pub(crate) fn said(state: &mut State, purpose: LineFor, text: &str) -> Vec<Effect> {
    let Some(mut open) = state.review.open.take() else {
        return Vec::new();
    };
    let height = usize::from(
        crate::tui::layout::review(state.size, open.focus)
            .inner(ReviewPane::Diff)
            .height,
    );
    let effects = of_line(state, &mut open, purpose, text, height.max(1));
    state.review.open = Some(open);
    effects
}

fn of_line(state: &mut State, open: &mut OpenReview, purpose: LineFor, text: &str, height: usize) -> Vec<Effect> {
    let id = open.standing().id.clone();
    let seal = match purpose {
        LineFor::Reject(reason) => {
            if !open.is_gate() {
                let said = why_not(state, open);
                state.say(Mood::Bad, said);
                return Vec::new();
            }
            return decide(state, open, &Verdict::Reject { reason }, text, height);
        }
        LineFor::Comment if text.is_empty() => return Vec::new(),
        LineFor::Comment => {
            let text = text.to_owned();
            let part = open.asking.take();
            return vec![append(open, vec![What::Commented { part, text }])];
        }
        LineFor::Overrule if text.is_empty() => {
            let gate = open
                .standing()
                .gate
                .as_ref()
                .map_or("there is no gate", |gate| match gate.outcome {
                    Outcome::Better => "",
                    other => other.word(),
                });
            state.say(Mood::Bad, format!("not promoted: {gate}, so it needs a reason"));
            return Vec::new();
        }
        LineFor::Overrule => promotion(
            open,
            Sealed::Promote {
                overrule: text.to_owned(),
            },
        ),
        LineFor::Discard => discarding(&id, text, open.standing().seq),
        LineFor::Demote => Seal {
            question: format!("Take the promotion of {id} back?"),
            details: vec![
                format!("The folder of {} is what it was before.", open.standing().line),
                if text.is_empty() {
                    String::new()
                } else {
                    format!("Because: {text}")
                },
            ],
            means: "takes it back",
            what: Sealed::Demote { why: text.to_owned() },
            seen: open.standing().seq,
        },
        _ => return Vec::new(),
    };
    state.overlays.push(Overlay::Seal(Box::new(seal)));
    Vec::new()
}

/// What discarding a proposal means.
pub(crate) fn discarding(id: &ProposalId, why: &str, seen: Seq) -> Seal {
    Seal {
        question: format!("Discard {id}?"),
        details: vec![
            "It stays in the list and in the log; taking it back is an entry more.".to_owned(),
            if why.is_empty() {
                String::new()
            } else {
                format!("Because: {why}")
            },
        ],
        means: "discards it",
        what: Sealed::Discard { why: why.to_owned() },
        seen,
    }
}

/// A summary was confirmed.
pub(crate) fn sealed(state: &mut State, seal: Seal) -> Vec<Effect> {
    let Some(open) = &state.review.open else {
        return Vec::new();
    };
    // What was written after the summary was shown is not what was confirmed.
    let (id, seen) = (open.standing().id.clone(), seal.seen);
    vec![Effect::Review(match seal.what {
        Sealed::Commit => Ask::Commit(id, seen),
        Sealed::Promote { overrule } => Ask::Promote(id, overrule),
        Sealed::Discard { why } => Ask::Append(id, seen, vec![What::Discarded { why }]),
        Sealed::Demote { why } => Ask::Demote(id, why),
        // These are about items: the other screen's.
        Sealed::Judge(_) | Sealed::CommitItems { .. } => return Vec::new(),
    })]
}
