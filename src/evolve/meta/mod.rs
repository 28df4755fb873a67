//! A meta-LLM as a reviser: any model that calls tools, led through the traces to a revision.
//!
//! Owns the conversation. What a revision must be is `candidate`'s; nothing is applied here.
//!
//! | file | its one job |
//! |---|---|
//! | `brief` | what it is told |
//! | `toolbox` | the table of tools |
//! | `args` | what is written for an argument |
//! | `bench` | runs and draft, which the tools work on |
//! | `traces`, `numbers`, `sql`, `files` | the tools |
//! | `course` | budget, reminders, ends |
//! | `transcript` | the conversation on disk |

mod args;
mod bench;
pub(super) mod brief;
mod course;
mod files;
mod numbers;
mod sql;
mod toolbox;
mod traces;
pub(super) mod transcript;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use self::args::Args;
use self::bench::{Bench, Fault, bounded, cut};
use self::course::Course;
use self::toolbox::{FINISH, FINISH_ARGS};
use self::transcript::Transcript;
use super::candidate::Refusal;
use super::reviser::{Reviser, ReviserError, ReviserNews, Revision, Task};
use crate::jobs::Cancel;
use crate::llm::{LlmError, Prices, ToolAnswer, ToolCall, ToolMessage, ToolModel, ToolRequest, ToolResult};
use crate::protocol::sanitize::{clean, clean_line};
use crate::review::Evidence;
use crate::types::{EpisodeNo, StepNo};

pub(super) use self::bench::start;

/// Bytes of a result that stay when the conversation has to become shorter.
const KEPT_BYTES: usize = 400;
/// Characters of a title, and of what a step shows.
const TITLE: usize = 120;
const NOTE: usize = 300;

/// How a meta-LLM is asked.
#[derive(Debug, Clone)]
pub struct MetaOptions {
    /// Tokens an answer may have.
    pub max_tokens: u32,
    /// What it costs.
    pub prices: Prices,
    /// Folder that conversations are kept in; `None` keeps none.
    pub records: Option<PathBuf>,
}

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
        let spec = self.spec();
        let request = ToolRequest {
            system: brief::system(),
            messages: Vec::new(),
            tools: toolbox::specs(),
            max_tokens: self.options.max_tokens,
        };
        let transcript = match &self.options.records {
            Some(folder) => Some(Transcript::begin(folder, &spec, &request.system)?),
            None => None,
        };
        if let Some(transcript) = &transcript {
            news(ReviserNews::Called {
                what: "record".to_owned(),
                outcome: transcript.path().display().to_string(),
            });
        }
        let mut talk = Talk {
            model: &*self.model,
            options: &self.options,
            course: Course::new(spec.clone(), task.token_budget),
            bench: Bench::new(task, cancel)?,
            spec,
            request,
            transcript,
            news,
        };
        talk.say(brief::first_message(task)?)?;
        loop {
            if let Some(revision) = talk.round()? {
                return Ok(revision);
            }
        }
    }
}

/// One conversation.
struct Talk<'a> {
    model: &'a dyn ToolModel,
    options: &'a MetaOptions,
    spec: String,
    course: Course,
    bench: Bench<'a>,
    request: ToolRequest,
    transcript: Option<Transcript>,
    news: &'a mut dyn FnMut(ReviserNews),
}

/// What came of handing a draft in.
enum Finish {
    Taken(Box<Revision>),
    SentBack(String, Option<Refusal>),
}

impl Talk<'_> {
    /// One answer and what follows from it; the revision when it was handed in and taken.
    fn round(&mut self) -> Result<Option<Revision>, ReviserError> {
        let Some(answer) = self.ask()? else { return Ok(None) };
        if answer.calls.is_empty() {
            return self.silence(&answer).map(|()| None);
        }
        self.course.acted();
        let mut results = Vec::new();
        let mut done = None;
        let mut over = None;
        for call in &answer.calls {
            if self.bench.cancel.is_cancelled() {
                return Err(ReviserError::Cancelled);
            }
            let (text, failed) = match done.is_some() || over.is_some() {
                true => ("The work is over; this was not carried out.".to_owned(), true),
                false => self.carry_out(call, &mut done, &mut over)?,
            };
            self.tell(call, &text, failed);
            results.push(ToolResult {
                id: call.id.clone(),
                text,
                failed,
            });
        }
        if let Some(last) = results.last_mut() {
            if answer.cut {
                last.text.push_str(
                    "\n[Your answer reached its limit of tokens and was cut: its last call may be incomplete. Write one \
                     file an answer.]",
                );
            }
            if let Some(warning) = self.course.warning() {
                last.text.push('\n');
                last.text.push_str(&warning);
            }
        }
        self.push(ToolMessage::Results { results })?;
        match (done, over) {
            (Some(revision), _) => Ok(Some(revision)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }

    /// Asks the model; `None` when the conversation had to become shorter first.
    fn ask(&mut self) -> Result<Option<ToolAnswer>, ReviserError> {
        self.request.max_tokens = self.course.next(self.options.max_tokens)?;
        let news = &mut self.news;
        let mut sink = |text: &str| {
            news(ReviserNews::Says {
                text: clean(text).into_owned(),
            });
        };
        let answer = self.model.answer(&self.request, self.bench.cancel, &mut sink);
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(LlmError::Cancelled) => return Err(ReviserError::Cancelled),
            Err(LlmError::ContextOverflow { .. }) if shorten(&mut self.request.messages) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        answer.usage.dollars = self.options.prices.dollars(&answer.usage);
        self.course.answered(answer.usage);
        if let Some(transcript) = &mut self.transcript {
            transcript.answer(&answer)?;
        }
        (self.news)(ReviserNews::Used {
            usage: self.course.used(),
        });
        self.request.messages.push(ToolMessage::Model {
            text: answer.text.clone(),
            calls: answer.calls.clone(),
            raw: answer.raw.clone(),
        });
        Ok(Some(answer))
    }

    fn silence(&mut self, answer: &ToolAnswer) -> Result<(), ReviserError> {
        let (changed, stands) = (self.bench.is_changed(), self.bench.stands());
        match self.course.silent(changed, stands, answer.cut) {
            Some(reminder) => self.say(reminder),
            None => {
                let said = clean_line(answer.text.trim()).into_owned();
                let how = match changed {
                    true => "it stopped half-way: it changed files but did not hand them in",
                    false => "it called no tool, though it was reminded",
                };
                let why = match said.is_empty() {
                    true => how.to_owned(),
                    false => format!("{how}; its last words: {}", cut(&said, NOTE, "")),
                };
                Err(ReviserError::Nothing {
                    spec: self.spec.clone(),
                    why: format!("{why}; try again, or name another model"),
                })
            }
        }
    }

    /// Carries a call out: the result's text, and whether it failed.
    fn carry_out(
        &mut self,
        call: &ToolCall,
        done: &mut Option<Revision>,
        over: &mut Option<ReviserError>,
    ) -> Result<(String, bool), ReviserError> {
        if call.name == FINISH {
            return Ok(match self.finish(&call.arguments)? {
                Finish::Taken(revision) => {
                    *done = Some(*revision);
                    ("It is taken.".to_owned(), false)
                }
                Finish::SentBack(why, refusal) => {
                    if !self.course.refused() {
                        *over = Some(match refusal {
                            Some(refusal) => refusal.error(self.spec.clone()),
                            None => ReviserError::Nothing {
                                spec: self.spec.clone(),
                                why: why.clone(),
                            },
                        });
                    }
                    (bounded(&why), true)
                }
            });
        }
        match toolbox::call(&mut self.bench, &call.name, &call.arguments) {
            Ok(text) if text.trim().is_empty() => Ok(("(nothing)".to_owned(), false)),
            Ok(text) => Ok((bounded(&text), false)),
            Err(Fault::Told(text)) => Ok((bounded(&text), true)),
            Err(Fault::Fatal(error)) => Err(error),
        }
    }

    /// Takes the draft, if it is one that can be shown to a person.
    fn finish(&mut self, arguments: &Value) -> Result<Finish, ReviserError> {
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
            Err(why) => return Ok(Finish::SentBack(why, None)),
        };
        files::set_method(&mut self.bench, &method);
        if let Err(refusal) = self.bench.judge()? {
            return Ok(Finish::SentBack(
                format!("It is not taken. {}", refusal.words()),
                Some(refusal),
            ));
        }
        Ok(Finish::Taken(Box::new(Revision {
            title: one_line(&title, TITLE),
            analysis,
            method,
            files: self.bench.files.clone(),
            evidence,
            usage: self.course.used(),
        })))
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
        let run = self.bench.run(number("run"))?;
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

    fn tell(&mut self, call: &ToolCall, text: &str, failed: bool) {
        let name = match call.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            true => call.name.as_str(),
            false => "(no tool)",
        };
        let outcome = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let outcome = one_line(outcome, TITLE);
        (self.news)(ReviserNews::Called {
            what: one_line(&format!("{name} {}", Args::short(&call.arguments)), NOTE),
            outcome: match failed {
                true => format!("refused: {outcome}"),
                false => outcome,
            },
        });
    }

    fn say(&mut self, text: String) -> Result<(), ReviserError> {
        self.push(ToolMessage::User { text })
    }

    fn push(&mut self, message: ToolMessage) -> Result<(), ReviserError> {
        if let Some(transcript) = &mut self.transcript {
            transcript.message(&message)?;
        }
        self.request.messages.push(message);
        Ok(())
    }
}

/// One clean line of at most so many characters.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let line = clean_line(&line);
    let short: String = line.chars().take(most).collect();
    match short.len() < line.len() {
        true => format!("{short}…"),
        false => short,
    }
}

/// Takes the long results out of the older half of a conversation; false when there are none left.
fn shorten(messages: &mut [ToolMessage]) -> bool {
    const LEFT_OUT: &str = "[left out to save room: call the tool again if you need it]";
    let half = messages.len() / 2;
    let mut shorter = false;
    for message in messages.iter_mut().take(half.max(1)) {
        if let ToolMessage::Results { results } = message {
            for result in results.iter_mut().filter(|result| result.text.len() > KEPT_BYTES) {
                result.text = LEFT_OUT.to_owned();
                shorter = true;
            }
        }
    }
    shorter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_conversation_loses_its_oldest_results_first() {
        let result = |n: usize| ToolMessage::Results {
            results: vec![ToolResult {
                id: n.to_string(),
                text: "x".repeat(1_000),
                failed: false,
            }],
        };
        let mut messages: Vec<ToolMessage> = (0..4).map(result).collect();
        assert!(shorten(&mut messages));
        let long = |message: &ToolMessage| matches!(message, ToolMessage::Results { results } if results[0].text.len() == 1_000);
        assert_eq!(
            messages.iter().map(long).collect::<Vec<_>>(),
            [false, false, true, true]
        );
        assert!(!shorten(&mut messages), "what is left is needed");
    }

    #[test]
    fn lines_are_short_and_clean() {
        assert_eq!(one_line("a\n b\u{1b}", 10), "a b␛");
        assert_eq!(one_line("ééé", 2), "éé…");
    }
}
