//! The conversation: asks the model, carries its calls out, ends when the work is handed in.

use std::path::PathBuf;

use serde_json::Value;

use super::args::Args;
use super::course::Course;
use super::error::{Fault, MetaError};
use super::runs::{bounded, cut, one_line};
use super::transcript::Transcript;
use crate::jobs::Cancel;
use crate::llm::{
    LlmError, Prices, ToolAnswer, ToolCall, ToolMessage, ToolModel, ToolRequest, ToolResult, ToolSpec, Usage,
};
use crate::protocol::sanitize::{clean, clean_line};

/// Bytes of a result that stay when the conversation has to become shorter.
const KEPT_BYTES: usize = 400;
/// Characters of an outcome, and of what a call shows.
const OUTCOME: usize = 120;
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

/// What is told while it works.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// It says something.
    Says {
        /// A piece of text, clean.
        text: String,
    },
    /// It called a tool, or something else happened.
    Called {
        /// The tool with its arguments, short.
        what: String,
        /// What came of it, in one line.
        outcome: String,
    },
    /// What it has used so far.
    Used {
        /// In all.
        usage: Usage,
    },
}

/// What came of a call.
#[derive(Debug)]
pub enum Called<D, E> {
    /// A result.
    Result(String),
    /// The work is handed in and taken.
    Done(D),
    /// The work was handed in and is sent back with what the model is told; the error is what it becomes when that
    /// happens too often.
    SentBack(String, E),
}

/// What a model is told that calls no tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reminder {
    /// Its words.
    pub text: &'static str,
    /// The work is done and only has to be handed in: one reminder is enough.
    pub stands: bool,
    /// How it stopped, when it is not reminded any more.
    pub stopped: &'static str,
}

/// What a conversation is for.
pub trait Job {
    /// What it gives.
    type Done;
    /// Why it gives nothing.
    type Error: From<MetaError>;

    /// Carries a call out.
    ///
    /// # Errors
    /// See [`Fault`].
    fn call(&mut self, name: &str, arguments: &Value) -> Result<Called<Self::Done, Self::Error>, Fault>;

    /// What a model is told that calls no tool.
    fn reminder(&self) -> Reminder;

    /// What it should do when half, three quarters and nine tenths of its tokens are used.
    fn pace(&self) -> [&'static str; 3];
}

/// One conversation.
pub struct Talk<'a> {
    model: &'a dyn ToolModel,
    options: &'a MetaOptions,
    spec: String,
    course: Course,
    cancel: &'a Cancel,
    request: ToolRequest,
    transcript: Option<Transcript>,
    news: &'a mut dyn FnMut(News),
}

impl<'a> Talk<'a> {
    /// A conversation that has not begun.
    ///
    /// # Errors
    /// When its record cannot be written.
    pub fn new(
        model: &'a dyn ToolModel,
        options: &'a MetaOptions,
        (system, tools): (String, Vec<ToolSpec>),
        budget: u64,
        cancel: &'a Cancel,
        news: &'a mut dyn FnMut(News),
    ) -> Result<Self, MetaError> {
        let spec = model.spec();
        let transcript = match &options.records {
            Some(folder) => Some(Transcript::begin(folder, &spec, &system)?),
            None => None,
        };
        if let Some(transcript) = &transcript {
            news(News::Called {
                what: "record".to_owned(),
                outcome: transcript.path().display().to_string(),
            });
        }
        Ok(Self {
            model,
            options,
            course: Course::new(spec.clone(), budget),
            spec,
            cancel,
            request: ToolRequest {
                system,
                messages: Vec::new(),
                tools,
                max_tokens: options.max_tokens,
            },
            transcript,
            news,
        })
    }

    /// What was used so far.
    pub fn used(&self) -> Usage {
        self.course.used()
    }

    /// Begins with a message and goes on until the work is handed in and taken.
    ///
    /// # Errors
    /// Why it ended without.
    pub fn run<J: Job>(&mut self, job: &mut J, first: String) -> Result<J::Done, J::Error> {
        self.say(first)?;
        loop {
            if let Some(done) = self.round(job)? {
                return Ok(done);
            }
        }
    }

    /// One answer and what follows from it; the work when it was handed in and taken.
    fn round<J: Job>(&mut self, job: &mut J) -> Result<Option<J::Done>, J::Error> {
        let Some(answer) = self.ask()? else { return Ok(None) };
        if answer.calls.is_empty() {
            self.silence(job, &answer)?;
            return Ok(None);
        }
        self.course.acted();
        let mut results = Vec::new();
        let mut done = None;
        let mut over = None;
        for call in &answer.calls {
            if self.cancel.is_cancelled() {
                return Err(MetaError::Cancelled.into());
            }
            let (text, failed) = match done.is_some() || over.is_some() {
                true => ("The work is over; this was not carried out.".to_owned(), true),
                false => self.carry_out(job, call, &mut done, &mut over)?,
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
            if let Some(warning) = self.course.warning(job.pace()) {
                last.text.push('\n');
                last.text.push_str(&warning);
            }
        }
        self.push(ToolMessage::Results { results })?;
        match (done, over) {
            (Some(done), _) => Ok(Some(done)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }

    /// Asks the model; `None` when the conversation had to become shorter first.
    fn ask(&mut self) -> Result<Option<ToolAnswer>, MetaError> {
        self.request.max_tokens = self.course.next(self.options.max_tokens)?;
        let news = &mut self.news;
        let mut sink = |text: &str| {
            news(News::Says {
                text: clean(text).into_owned(),
            });
        };
        let answer = self.model.answer(&self.request, self.cancel, &mut sink);
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(LlmError::Cancelled) => return Err(MetaError::Cancelled),
            Err(LlmError::ContextOverflow { .. }) if shorten(&mut self.request.messages) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        answer.usage.dollars = self.options.prices.dollars(&answer.usage);
        self.course.answered(answer.usage);
        if let Some(transcript) = &mut self.transcript {
            transcript.answer(&answer)?;
        }
        (self.news)(News::Used {
            usage: self.course.used(),
        });
        self.request.messages.push(ToolMessage::Model {
            text: answer.text.clone(),
            calls: answer.calls.clone(),
            raw: answer.raw.clone(),
        });
        Ok(Some(answer))
    }

    fn silence<J: Job>(&mut self, job: &J, answer: &ToolAnswer) -> Result<(), MetaError> {
        const CUT: &str =
            "Your answer reached its limit of tokens before it called a tool. Call one now, with less text before it.";
        let reminder = job.reminder();
        if self.course.silent(reminder.stands) {
            return self.say(if answer.cut { CUT } else { reminder.text }.to_owned());
        }
        let said = clean_line(answer.text.trim()).into_owned();
        let how = reminder.stopped;
        let why = match said.is_empty() {
            true => how.to_owned(),
            false => format!("{how}; its last words: {}", cut(&said, NOTE, "")),
        };
        Err(MetaError::Nothing {
            spec: self.spec.clone(),
            why: format!("{why}; try again, or name another model"),
        })
    }

    /// Carries a call out: the result's text, and whether it failed.
    fn carry_out<J: Job>(
        &mut self,
        job: &mut J,
        call: &ToolCall,
        done: &mut Option<J::Done>,
        over: &mut Option<J::Error>,
    ) -> Result<(String, bool), MetaError> {
        match job.call(&call.name, &call.arguments) {
            Ok(Called::Result(text)) if text.trim().is_empty() => Ok(("(nothing)".to_owned(), false)),
            Ok(Called::Result(text)) => Ok((bounded(&text), false)),
            Ok(Called::Done(work)) => {
                *done = Some(work);
                Ok(("It is taken.".to_owned(), false))
            }
            Ok(Called::SentBack(why, error)) => {
                if !self.course.refused() {
                    *over = Some(error);
                }
                Ok((bounded(&why), true))
            }
            Err(Fault::Told(text)) => Ok((bounded(&text), true)),
            Err(Fault::Fatal(error)) => Err(error),
        }
    }

    fn tell(&mut self, call: &ToolCall, text: &str, failed: bool) {
        let name = match call.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            true => call.name.as_str(),
            false => "(no tool)",
        };
        let outcome = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let outcome = one_line(outcome, OUTCOME);
        (self.news)(News::Called {
            what: one_line(&format!("{name} {}", Args::short(&call.arguments)), NOTE),
            outcome: match failed {
                true => format!("refused: {outcome}"),
                false => outcome,
            },
        });
    }

    fn say(&mut self, text: String) -> Result<(), MetaError> {
        self.push(ToolMessage::User { text })
    }

    fn push(&mut self, message: ToolMessage) -> Result<(), MetaError> {
        if let Some(transcript) = &mut self.transcript {
            transcript.message(&message)?;
        }
        self.request.messages.push(message);
        Ok(())
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
}
