//! What the talk about a batch is for: a verdict on each of its candidates.
//!
//! Owns the tools. Must not know how a conversation goes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::progress::Judged;
use super::{NOT_JUDGED, verdict};
use crate::analysis::Blame;
use crate::llm::ToolSpec;
use crate::meta::args::{Arg, Args, Kind, needed, optional};
use crate::meta::{
    Called, Fault, Job, MetaError, PAGE, Reminder, Runs, Told, cut, no_such_tool, page, read_steps, spec,
};
use crate::tune::candidate::Candidate;
use crate::tune::conversation;
use crate::types::{Author, Body};

/// The tool that ends a batch.
const FINISH: &str = "finish";
const JUDGE: &str = "judge";
/// Later look-ups that are shown, and bytes of each.
const READS: usize = 20;
const READ_BYTES: usize = 300;

const ID: Arg = needed("id", Kind::Text, "the candidate, as it was named");
const JUDGE_ARGS: &[Arg] = &[
    ID,
    needed("accept", Kind::Truth, "true accepts it, false rejects it"),
    needed("reason", Kind::Text, "why, in one short sentence"),
];
const SHOW_ARGS: &[Arg] = &[
    optional("run", Kind::Number, "which run, from 0; 0 when left out"),
    optional("episode", Kind::Number, "which episode, from 0; 0 when left out"),
    needed("from", Kind::Number, "the first step, from 0"),
    optional("to", Kind::Number, "the last step; the first one when left out"),
    optional(
        "detail",
        Kind::Text,
        "`full` (up to 20 steps) or `short` (a line a step, up to 200)",
    ),
];

/// The tools as a model is told them.
pub(super) fn tools() -> Vec<ToolSpec> {
    vec![
        spec(
            JUDGE,
            "Says what you think of a candidate; a later word on it replaces an earlier one.",
            JUDGE_ARGS,
        ),
        spec(
            "show_step",
            "Shows steps of an episode: what the agent saw, its answers, its memory operations with their results, its action, the reward.",
            SHOW_ARGS,
        ),
        spec(
            "later_reads",
            "Shows the later operations that read or found what a candidate wrote.",
            &[ID],
        ),
        spec(
            "show_conversation",
            "Shows a candidate's whole conversation, as it would be trained on before the postprocess.",
            &[ID, PAGE],
        ),
        spec(FINISH, "Ends the batch. Every candidate must be judged.", &[]),
    ]
}

/// See the module.
pub(super) struct Judging<'a> {
    runs: Runs<'a>,
    candidates: Vec<&'a Candidate>,
    said: BTreeMap<&'a str, Judged>,
    reminded: bool,
}

impl<'a> Judging<'a> {
    pub(super) fn new(runs: Runs<'a>, candidates: Vec<&'a Candidate>) -> Self {
        Self {
            runs,
            candidates,
            said: BTreeMap::new(),
            reminded: false,
        }
    }

    pub(super) fn runs(&self) -> &Runs<'a> {
        &self.runs
    }

    pub(super) fn candidates(&self) -> &[&'a Candidate] {
        &self.candidates
    }

    /// Whether anything was said.
    pub(super) fn has_judged(&self) -> bool {
        !self.said.is_empty()
    }

    /// A verdict on each candidate; what was passed over is rejected.
    pub(super) fn verdicts(&self) -> Vec<Judged> {
        let of = |candidate: &&Candidate| match self.said.get(&*candidate.id.0) {
            Some(judged) => judged.clone(),
            None => verdict(&candidate.id.0, false, NOT_JUDGED),
        };
        self.candidates.iter().map(of).collect()
    }

    fn left(&self) -> Vec<&'a str> {
        let ids = self.candidates.iter().map(|candidate| &*candidate.id.0);
        ids.filter(|id| !self.said.contains_key(id)).collect()
    }

    fn candidate(&self, id: &str) -> Result<&'a Candidate, String> {
        let found = self.candidates.iter().find(|candidate| *candidate.id.0 == *id.trim());
        found.copied().ok_or_else(|| {
            let ids: Vec<&str> = self.candidates.iter().map(|candidate| &*candidate.id.0).collect();
            format!(
                "There is no candidate `{id}` in this batch; there are: {}.",
                ids.join(", ")
            )
        })
    }

    fn judge(&mut self, args: &Args<'_>) -> Told {
        let candidate = self.candidate(args.text("id")?)?;
        let accept = args.truth("accept")?.unwrap_or_default();
        let why = args.text("reason")?.trim();
        if why.is_empty() {
            return Err("The argument `reason` is empty: say in a sentence why."
                .to_owned()
                .into());
        }
        self.said.insert(&candidate.id.0, verdict(&candidate.id.0, accept, why));
        Ok(match self.left().len() {
            0 => format!("{} is {}. All are judged: call `finish`.", candidate.id, word(accept)),
            left => format!("{} is {}; {left} are left.", candidate.id, word(accept)),
        })
    }

    /// The later operations that showed lines of a candidate.
    fn later_reads(&mut self, args: &Args<'_>) -> Told {
        let candidate = self.candidate(args.text("id")?)?;
        let run = self.runs.run(Some(candidate.run))?;
        let mut blame = Blame::new();
        let mut out = String::new();
        let mut found = 0;
        for event in run.reader.episode_events(candidate.episode)? {
            if self.runs.cancel.is_cancelled() {
                return Err(MetaError::Cancelled.into());
            }
            let event = event?;
            blame.push(&event).map_err(|error| error.to_string())?;
            let mine = blame.shown().iter().filter(|origin| {
                origin.step == candidate.step && origin.phase == Some(candidate.phase) && origin.by == Author::Model
            });
            let (lines, Body::MemoryOp { op }) = (mine.count(), &event.body) else {
                continue;
            };
            if lines == 0 || event.at.step <= candidate.step {
                continue;
            }
            found += 1;
            if found <= READS {
                let _ = writeln!(
                    out,
                    "step {} {}: {} {} showed {lines} of its lines:\n{}",
                    event.at.step,
                    op.phase.word(),
                    op.op,
                    op.args.join(" | "),
                    cut(op.outcome.text.trim(), READ_BYTES, "")
                );
            }
        }
        if found > READS {
            let _ = writeln!(out, "[and {} more]", found - READS);
        }
        Ok(match found {
            0 => "Nothing of it was read again.".to_owned(),
            _ => out,
        })
    }

    fn show_conversation(&self, args: &Args<'_>) -> Told {
        let candidate = self.candidate(args.text("id")?)?;
        let run = self.runs.run(Some(candidate.run))?;
        let messages = conversation::read(&run.reader, candidate.episode, candidate.step, candidate.phase)
            .map_err(|error| error.to_string())?;
        let mut text = String::new();
        for message in messages {
            let _ = writeln!(text, "--- {}\n{}\n", message.role.word(), message.content);
        }
        page(&text, args)
    }
}

fn word(accept: bool) -> &'static str {
    if accept { "accepted" } else { "rejected" }
}

impl Job for Judging<'_> {
    type Done = ();
    type Error = MetaError;

    fn call(&mut self, name: &str, arguments: &Value) -> Result<Called<(), MetaError>, Fault> {
        let read = |known: &'static [Arg]| Args::read(arguments, known).map_err(Fault::Told);
        match name {
            JUDGE => self.judge(&read(JUDGE_ARGS)?).map(Called::Result),
            "show_step" => read_steps(&mut self.runs, &read(SHOW_ARGS)?).map(Called::Result),
            "later_reads" => self.later_reads(&read(&[ID])?).map(Called::Result),
            "show_conversation" => self.show_conversation(&read(&[ID, PAGE])?).map(Called::Result),
            FINISH => {
                let left = self.left();
                if left.is_empty() || std::mem::replace(&mut self.reminded, true) {
                    return Ok(Called::Done(()));
                }
                Err(Fault::Told(format!(
                    "Not judged yet: {}. Judge them, then finish; what is not judged counts as rejected.",
                    left.join(", ")
                )))
            }
            other => Err(no_such_tool(other, &tools())),
        }
    }

    fn reminder(&self) -> Reminder {
        let stands = self.left().is_empty();
        Reminder {
            text: match stands {
                true => "All candidates are judged. Call `finish`.",
                false => "You called no tool. Judge each candidate of the batch with `judge`, then call `finish`.",
            },
            stands,
            stopped: "it stopped before every candidate was judged",
        }
    }

    fn pace(&self) -> [&'static str; 3] {
        [
            "Look at less, judge more.",
            "Judge the rest by what you were told.",
            "Judge the rest now and `finish`.",
        ]
    }
}
