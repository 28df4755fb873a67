//! A meta-LLM as a reviser: any model that calls tools, led through the traces to a revision.
//!
//! Owns what the talk is for: the draft, and when it is taken. The conversation is [`crate::meta`]'s; what a revision
//! must be is `candidate`'s; nothing is applied here.
//!
//! | file | its one job |
//! |---|---|
//! | `brief` | what it is told |
//! | `toolbox` | the table of its own tools |
//! | `bench` | the draft, which they work on |
//! | `files` | these tools |

mod bench;
pub(super) mod brief;
mod files;
mod toolbox;

use std::sync::Arc;

use serde_json::{Map, Value};

use self::bench::Bench;
use self::toolbox::{FINISH, FINISH_ARGS};
use super::candidate::Refusal;
use super::reviser::{Reviser, ReviserError, ReviserNews, Revision, Task};
use crate::jobs::Cancel;
use crate::llm::{ToolModel, Usage};
pub use crate::meta::MetaOptions;
use crate::meta::args::Args;
use crate::meta::{Called, Fault, Job, MetaError, News, Reminder, Talk, one_line};
use crate::protocol::sanitize::clean;
use crate::review::Evidence;
use crate::types::{EpisodeNo, StepNo};

pub(super) use self::bench::start;

/// Characters of a title, and of what a step shows.
const TITLE: usize = 120;
const NOTE: usize = 300;

/// See the module.
pub struct MetaReviser {
    model: Arc<dyn ToolModel>,
    options: MetaOptions,
}

impl MetaReviser {
    /// A reviser over a model.
    pub fn new(model: Arc<dyn ToolModel>, options: MetaOptions) -> Self {
        Self { model, options }
    }
}

impl Reviser for MetaReviser {
    fn spec(&self) -> String {
        self.model.spec()
    }

    fn revise(
        &mut self,
        task: &Task,
        cancel: &Cancel,
        news: &mut dyn FnMut(ReviserNews),
    ) -> Result<Revision, ReviserError> {
        let mut tell = |one: News| {
            news(match one {
                News::Says { text } => ReviserNews::Says { text },
                News::Called { what, outcome } => ReviserNews::Called { what, outcome },
                News::Used { usage } => ReviserNews::Used { usage },
            });
        };
        let mut talk = Talk::new(
            &*self.model,
            &self.options,
            (brief::system(), toolbox::specs()),
            task.token_budget,
            cancel,
            &mut tell,
        )?;
        let mut revising = Revising {
            bench: Bench::new(task, cancel)?,
            spec: self.model.spec(),
        };
        let mut revision = talk.run(&mut revising, brief::first_message(task)?)?;
        revision.usage = talk.used();
        Ok(revision)
    }
}

impl From<MetaError> for ReviserError {
    fn from(error: MetaError) -> Self {
        match error {
            MetaError::Model(error) => Self::Model(error),
            MetaError::Budget { spec, used, budget } => Self::Budget { spec, used, budget },
            MetaError::Nothing { spec, why } => Self::Nothing { spec, why },
            MetaError::Store(error) => Self::Store(error),
            MetaError::Other(text) => Self::Other(text),
            MetaError::Cancelled => Self::Cancelled,
        }
    }
}

/// The work: a draft that becomes a revision.
struct Revising<'a> {
    bench: Bench<'a>,
    spec: String,
}

impl Job for Revising<'_> {
    type Done = Revision;
    type Error = ReviserError;

    fn call(&mut self, name: &str, arguments: &Value) -> Result<Called<Revision, ReviserError>, Fault> {
        match name {
            FINISH => self.finish(arguments),
            _ => toolbox::call(&mut self.bench, name, arguments).map(Called::Result),
        }
    }

    fn reminder(&self) -> Reminder {
        let changed = self.bench.is_changed();
        let stands = changed && self.bench.stands();
        Reminder {
            text: match (stands, changed) {
                (true, _) => {
                    "Your draft passes the check but is not handed in. Call `finish` now, or go on with tools."
                }
                (_, true) => {
                    "You called no tool. You have changed files but not handed them in: go on, then call `check` and `finish`."
                }
                _ => {
                    "You called no tool. Work through tools only: look at the traces, write files, `check`, then `finish`."
                }
            },
            stands,
            stopped: match changed {
                true => "it stopped half-way: it changed files but did not hand them in",
                false => "it called no tool, though it was reminded",
            },
        }
    }

    fn pace(&self) -> [&'static str; 3] {
        [
            "Plan the rest of your work.",
            "Begin to write your revision now.",
            "Write, `check` and `finish` now.",
        ]
    }
}

impl Revising<'_> {
    /// Takes the draft, if it is one that can be shown to a person.
    fn finish(&mut self, arguments: &Value) -> Result<Called<Revision, ReviserError>, Fault> {
        let read = Args::read(arguments, FINISH_ARGS).and_then(|args| {
            let text = |name: &str| match args.text(name)?.trim() {
                "" => Err(format!("The argument `{name}` is empty.")),
                text => Ok(text),
            };
            let words = [text("title")?, text("analysis")?, text("method")?];
            let evidence = args.list("evidence")?;
            let evidence: Result<Vec<Evidence>, String> =
                evidence.into_iter().map(|item| self.evidence(item)).collect();
            Ok((words.map(|text| clean(text).into_owned()), evidence?))
        });
        let ([title, analysis, method], evidence) = match read {
            Ok(read) => read,
            Err(why) => return Ok(self.sent_back(why, None)),
        };
        files::set_method(&mut self.bench, &method);
        if let Err(refusal) = self.bench.judge()? {
            let why = format!("It is not taken. {}", refusal.words());
            return Ok(self.sent_back(why, Some(refusal)));
        }
        Ok(Called::Done(Revision {
            title: one_line(&title, TITLE),
            analysis,
            method,
            files: self.bench.files.clone(),
            evidence,
            usage: Usage::default(),
        }))
    }

    fn sent_back(&self, why: String, refusal: Option<Refusal>) -> Called<Revision, ReviserError> {
        let spec = self.spec.clone();
        let error = match refusal {
            Some(refusal) => refusal.error(spec),
            None => ReviserError::Nothing { spec, why: why.clone() },
        };
        Called::SentBack(why, error)
    }

    fn evidence(&self, item: &Map<String, Value>) -> Result<Evidence, String> {
        let number = |name: &str| {
            item.get(name)
                .and_then(Value::as_u64)
                .and_then(|n| u32::try_from(n).ok())
        };
        let (Some(episode), Some(step)) = (number("episode"), number("step")) else {
            return Err("Each piece of evidence needs an `episode` and a `step`, both numbers.".to_owned());
        };
        let run = self.bench.runs.run(number("run"))?;
        let last = run
            .reader
            .last_step(EpisodeNo(episode))
            .map_err(|error| error.to_string())?;
        if last.is_none_or(|last| last < StepNo(step)) {
            return Err(format!(
                "Evidence names step {step} of episode {episode}, which the run does not have."
            ));
        }
        let note = item.get("note").and_then(Value::as_str).unwrap_or_default();
        Ok(Evidence {
            run: run.path.display().to_string(),
            episode: EpisodeNo(episode),
            step: StepNo(step),
            note: one_line(note, NOTE),
        })
    }
}
