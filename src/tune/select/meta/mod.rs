//! Selection by a meta-LLM: it judges candidates in batches, with a reason each.
//!
//! Owns the batches, what the model is told of a candidate, and the file that a killed selection goes on from. The
//! conversation is [`crate::meta`]'s. Nothing is taken by this: a person decides.

mod job;
mod progress;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::job::Judging;
use self::progress::{Judged, Progress};
use super::Choice;
use super::rules::praise;
use crate::jobs::Cancel;
use crate::llm::ToolModel;
use crate::meta::{MetaError, MetaOptions, News, Runs, Talk, cut, one_line};
use crate::protocol::sanitize::clean;
use crate::tune::TuneError;
use crate::tune::candidate::{Candidate, Harvest};
use crate::tune::conversation;
use crate::types::{ChatRole, Digest};

/// Candidates of a batch.
const BATCH: usize = 12;
/// Bytes of an answer and of what it answers, in the first message.
const ANSWER_BYTES: usize = 1_500;
const ASKED_BYTES: usize = 1_200;
/// What is said of a candidate that the model passed over.
pub const NOT_JUDGED: &str = "not judged";

/// The criteria where a recipe gives none.
pub const PRISTINE: &str = "\
You select training data for a memory specialist: a small adapter that will answer the LOG turns of an agent (write down \
what just happened, in its memory files) and the consulting part of its PLAN turns (look something up before an action is \
chosen). It learns to do what the accepted answers do. Accept an answer when you would want it to be given again in the \
same place:

- LOG: it writes what is new, true and of use later (places, recipes, dangers, progress towards a goal), in the right \
file, short, in the form the file has. It does not repeat what stands there, copy the whole observation, or write what \
the next step makes worthless. Writing nothing (DONE) is right when nothing is new.
- PLAN: it asks for what the decision at hand needs, in a file where that can be found, with words that stand there. It \
does not read everything for safety, or ask again for what it was just told.

What was written and read again later, with reward after it, is good evidence; what was never read is not bad for that \
alone, when the episode ended soon. Reward that came by chance speaks for nothing. Reject answers with broken tags, wrong \
facts, or text after the work is done. When in doubt, reject: a small clean set is better than a large one.";

/// How the work goes, whatever the criteria.
const HOW: &str = "\
You get candidates in batches. Judge each with the tool `judge`: accept or reject, and in one short sentence why, naming \
what you saw. `show_step` shows a step of the episode, `later_reads` the later look-ups that showed what a candidate \
wrote, `show_conversation` the whole conversation. Call `finish` when every candidate of the batch is judged. A person \
reads your reasons and has the last word.";

/// A selector over a model.
pub struct MetaSelector {
    model: Arc<dyn ToolModel>,
    options: MetaOptions,
    budget: u64,
}

impl MetaSelector {
    /// A selector over a model that may use so many tokens in all.
    pub fn new(model: Arc<dyn ToolModel>, options: MetaOptions, budget: u64) -> Self {
        Self { model, options, budget }
    }

    /// Judges the candidates that rules have left; the others keep what the rules said. What was judged before, by the
    /// same model and criteria, is taken from the file in `folder` that `name` begins.
    ///
    /// # Errors
    /// When the model fails, its tokens are used up, or a run or the file cannot be read or written. What was judged is
    /// kept; the next call goes on.
    pub fn select(
        &self,
        harvest: &Harvest,
        mut choices: Vec<Choice>,
        brief: &str,
        (folder, name): (&Path, &str),
        cancel: &Cancel,
        says: &mut dyn FnMut(&str),
    ) -> Result<Vec<Choice>, TuneError> {
        let brief = match brief.trim() {
            "" => PRISTINE,
            brief => brief,
        };
        let asked: Vec<usize> = (0..choices.len()).filter(|at| choices[*at].selected).collect();
        let key = key(&self.model.spec(), brief, harvest, &asked);
        let file = folder.join(format!("{name}-select-{}.jsonl", key.short()));
        let mut progress = Progress::open(&file, key)?;
        let batches: Vec<&[usize]> = asked.chunks(BATCH).collect();
        for (number, batch) in batches.iter().enumerate() {
            if progress.has(number) {
                continue;
            }
            says(&format!("batch {} of {}", number + 1, batches.len()));
            let judged = self
                .batch(harvest, batch, brief, &progress, cancel, says)
                .map_err(|error| told(error, &file))?;
            progress.add(number, judged)?;
        }
        let judged = progress.judged();
        for at in asked {
            let (Some(choice), Some(candidate)) = (choices.get_mut(at), harvest.candidates.get(at)) else {
                continue;
            };
            let verdict = judged.get(&*candidate.id.0);
            choice.selected = verdict.is_some_and(|verdict| verdict.accept);
            choice.reason = verdict.map_or_else(|| NOT_JUDGED.to_owned(), |verdict| verdict.reason.clone());
        }
        Ok(choices)
    }

    /// One conversation about one batch.
    fn batch(
        &self,
        harvest: &Harvest,
        batch: &[usize],
        brief: &str,
        progress: &Progress,
        cancel: &Cancel,
        says: &mut dyn FnMut(&str),
    ) -> Result<progress::Batch, MetaError> {
        let paths: Vec<PathBuf> = harvest.runs.iter().map(|run| run.path.clone()).collect();
        let candidates: Vec<&Candidate> = batch.iter().filter_map(|at| harvest.candidates.get(*at)).collect();
        let mut judging = Judging::new(Runs::open(&paths, cancel)?, candidates);
        let first = first_message(&judging)?;
        let mut news = |one: News| match one {
            News::Called { what, outcome } => says(&format!("  {what}: {outcome}")),
            News::Says { .. } | News::Used { .. } => {}
        };
        let left = self.budget.saturating_sub(progress.tokens());
        let system = format!("{brief}\n\n{HOW}");
        let mut talk = Talk::new(
            &*self.model,
            &self.options,
            (system, job::tools()),
            left,
            cancel,
            &mut news,
        )?;
        match talk.run(&mut judging, first) {
            Ok(()) => {}
            // One that stops after some verdicts has said what it has to say.
            Err(MetaError::Nothing { .. }) if judging.has_judged() => {}
            Err(error) => return Err(error),
        }
        let usage = talk.used();
        Ok(progress::Batch {
            judged: judging.verdicts(),
            usage,
        })
    }
}

/// Names what is judged, by whom and by what: another one of these begins anew.
fn key(spec: &str, brief: &str, harvest: &Harvest, asked: &[usize]) -> Digest {
    let mut parts = vec![spec.as_bytes().to_vec(), brief.as_bytes().to_vec()];
    for candidate in asked.iter().filter_map(|at| harvest.candidates.get(*at)) {
        parts.push(format!("{} {}", candidate.id, candidate.digest).into_bytes());
    }
    Digest::of_parts(parts.iter().map(Vec::as_slice))
}

fn told(error: MetaError, file: &Path) -> TuneError {
    match error {
        MetaError::Cancelled => TuneError::Cancelled,
        MetaError::Store(error) => TuneError::Store(error),
        error @ MetaError::Budget { .. } => TuneError::data(
            error.to_string(),
            format!(
                "raise meta.token_budget and run it again: what was judged is kept in {}",
                file.display()
            ),
        ),
        error => TuneError::data(
            error.to_string(),
            format!("run it again to go on: what was judged is kept in {}", file.display()),
        ),
    }
}

/// What the model is told of a batch.
fn first_message(judging: &Judging<'_>) -> Result<String, MetaError> {
    let mut text = format!("{} candidates.\n", judging.candidates().len());
    for candidate in judging.candidates() {
        let run = judging.runs().run(Some(candidate.run)).map_err(MetaError::Other)?;
        let messages = conversation::read(&run.reader, candidate.episode, candidate.step, candidate.phase)
            .map_err(|error| MetaError::Other(error.to_string()))?;
        let evidence = &candidate.evidence;
        let ops: Vec<&str> = evidence.ops.iter().map(|op| &**op).collect();
        let _ = write!(
            text,
            "\n# {}\n{} of step {}, episode {}, run {}; ops: {}; {}; reward after {:+.2}; redundant {}, empty {}, broken \
             {}; place in the episode {:.2}, which ended at progression {:.3}\n",
            candidate.id,
            candidate.phase.word(),
            candidate.step,
            candidate.episode,
            candidate.run,
            if ops.is_empty() {
                "none".to_owned()
            } else {
                ops.join(" ")
            },
            praise(evidence),
            evidence.reward_after,
            evidence.redundant_writes,
            evidence.empty_retrievals,
            evidence.malformed + evidence.failed_ops,
            evidence.position,
            evidence.progression,
        );
        let asked = messages.iter().rfind(|message| message.role == ChatRole::User);
        let asked = asked.map_or("", |message| message.content.trim());
        let answer = messages.last().map_or("", |message| message.content.trim());
        let _ = write!(
            text,
            "asked:\n{}\nanswered:\n{}\n",
            cut(asked, ASKED_BYTES, "see show_conversation"),
            cut(answer, ANSWER_BYTES, "see show_conversation")
        );
    }
    Ok(clean(&text).into_owned())
}

/// A verdict's reason as it is kept.
fn reason(text: &str) -> String {
    one_line(text, 240)
}

/// The verdicts of a batch, unjudged candidates included.
fn verdict(id: &str, accept: bool, text: &str) -> Judged {
    Judged {
        id: id.to_owned(),
        accept,
        reason: reason(text),
    }
}
