//! A model that plays back given answers, in order. For tests, and to replay a chat without its model.
//!
//! Owns the file's form. Must not make anything up: when the answers run out, that is an error.
//!
//! The file holds one JSON value a line (or one array of them): a text, or an object
//! `{"text": "...", "phase": "LOG"|"PLAN", "role": "agent"|"specialist"|"gameplay", "episode": 0, "delay_ms": 0}`, in which
//! everything but `text` may be left out. An answer with a phase, a role or an episode is kept for requests of it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::chat::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError};
use super::decoding::stream::TextStream;
use super::decoding::template::{ChatTemplate, Rendered, SpecialTexts, prompt_text};
use crate::jobs::Cancel;
use crate::types::{ModelRef, Phase, Role, StopReason};

const BACKEND: &str = "recorded";
/// Bytes that are streamed at once.
const PIECE: usize = 16;

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Entry")]
pub struct RecordedAnswer {
    /// What is answered.
    pub text: String,
    /// The phase it is for; any when `None`.
    pub phase: Option<Phase>,
    /// The model of the agent it is for; any when `None`.
    pub role: Option<Role>,
    /// The episode it is for; any when `None`.
    pub episode: Option<u32>,
    /// How long it takes.
    pub delay_ms: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Text(String),
    Object {
        text: String,
        #[serde(default)]
        phase: Option<Phase>,
        #[serde(default)]
        role: Option<Role>,
        #[serde(default)]
        episode: Option<u32>,
        #[serde(default)]
        delay_ms: u64,
    },
}

impl From<Entry> for RecordedAnswer {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Text(text) => Self {
                text,
                phase: None,
                role: None,
                episode: None,
                delay_ms: 0,
            },
            Entry::Object {
                text,
                phase,
                role,
                episode,
                delay_ms,
            } => Self {
                text,
                phase,
                role,
                episode,
                delay_ms,
            },
        }
    }
}

/// Reads a file of answers. `hint` says what to do where `parse` finds that it is none.
pub(super) fn read<T>(path: &Path, hint: &str, parse: fn(&str) -> Result<T, String>) -> Result<T, LlmError> {
    let wrong = |cause: String, hint: &str| LlmError::File {
        path: path.display().to_string(),
        cause,
        hint: hint.to_owned(),
    };
    let text = std::fs::read_to_string(path).map_err(|error| {
        wrong(
            format!("it cannot be read: {error}"),
            "check the path and its permissions",
        )
    })?;
    parse(&text).map_err(|cause| wrong(cause, hint))
}

/// The back end. See the module's documentation.
#[derive(Debug)]
pub struct RecordedModel {
    name: String,
    given: usize,
    left: Mutex<Vec<RecordedAnswer>>,
    template: ChatTemplate,
}

impl RecordedModel {
    /// Reads a file of answers.
    ///
    /// # Errors
    /// [`LlmError::File`] when it cannot be read or a line is not an answer.
    pub fn open(path: &Path) -> Result<Self, LlmError> {
        let hint = "write one JSON value a line, such as {\"phase\": \"PLAN\", \"text\": \"...\"}";
        let answers = read(path, hint, parse)?;
        let name = path
            .file_stem()
            .map_or_else(|| BACKEND.into(), |stem| stem.to_string_lossy());
        Ok(Self::new(&name, answers))
    }

    /// A model with these answers.
    pub fn new(name: &str, answers: impl IntoIterator<Item = RecordedAnswer>) -> Self {
        let left: Vec<RecordedAnswer> = answers.into_iter().collect();
        Self {
            name: name.to_owned(),
            given: left.len(),
            left: Mutex::new(left),
            template: ChatTemplate::new(None, SpecialTexts::default(), &jiff::ZonedDateTime::default()),
        }
    }

    /// Takes the next answer for a request.
    fn take(&self, request: &ChatRequest) -> Result<RecordedAnswer, LlmError> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |answer: &RecordedAnswer| {
            answer.phase.is_none_or(|phase| phase == request.slot.phase)
                && answer.role.is_none_or(|role| role == request.slot.role)
                && answer.episode.is_none_or(|episode| episode == request.slot.episode.0)
        };
        match left.iter().position(fits) {
            Some(at) => Ok(left.remove(at)),
            None => Err(LlmError::Backend {
                backend: BACKEND,
                message: format!(
                    "no answer is left for a {} call{} of episode {} ({} of {} are used); record more, or ask for fewer steps",
                    request.slot.phase.word(),
                    match request.slot.role {
                        Role::Agent => String::new(),
                        role => format!(" of the {} model", role.word()),
                    },
                    request.slot.episode,
                    self.given - left.len(),
                    self.given
                ),
                retryable: false,
            }),
        }
    }
}

impl ChatModel for RecordedModel {
    fn describe(&self) -> ModelRef {
        ModelRef {
            name: self.name.clone(),
            backend: BACKEND.to_owned(),
            is_llm: false,
            details: [("answers".to_owned(), self.given.to_string())].into(),
        }
    }

    fn context_length(&self) -> Option<u32> {
        None
    }

    /// Tokens are counted as words, as there is no vocabulary. Grammars are ignored, stop texts are not.
    fn chat(
        &self,
        request: &ChatRequest,
        cancel: &Cancel,
        sink: &mut dyn FnMut(ChatProgress),
    ) -> Result<ChatAnswer, LlmError> {
        let began = Instant::now();
        if cancel.is_cancelled() {
            return Err(LlmError::Cancelled);
        }
        let Rendered { pieces, spans } =
            self.template
                .render_chat(&request.messages)
                .map_err(|error| LlmError::Backend {
                    backend: BACKEND,
                    message: format!("the messages cannot be rendered: {error}"),
                    retryable: false,
                })?;
        let prompt = prompt_text(&pieces);
        let prompt_tokens = words(&prompt);
        let answer = self.take(request)?;
        sink(ChatProgress::Prompt {
            done: prompt_tokens,
            total: prompt_tokens,
            cached: 0,
        });
        let prompt_ms = began.elapsed().as_secs_f64() * 1000.0;
        wait(Duration::from_millis(answer.delay_ms), cancel)?;
        let mut stream = TextStream::new(request.stop.iter().cloned());
        for piece in answer.text.as_bytes().chunks(PIECE) {
            if cancel.is_cancelled() {
                return Err(LlmError::Cancelled);
            }
            let new = stream.push(piece);
            if !new.is_empty() {
                sink(ChatProgress::Text(new.to_owned()));
            }
        }
        let stop = if stream.stopped() {
            StopReason::Stop
        } else {
            StopReason::End
        };
        let text = stream.into_text();
        Ok(ChatAnswer {
            prompt,
            spans,
            prompt_tokens,
            cached_tokens: 0,
            completion_tokens: words(&text),
            prompt_ms,
            ms: began.elapsed().as_secs_f64() * 1000.0,
            stop,
            text,
        })
    }
}

fn words(text: &str) -> u32 {
    u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX)
}

fn wait(time: Duration, cancel: &Cancel) -> Result<(), LlmError> {
    let until = Instant::now() + time;
    loop {
        if cancel.is_cancelled() {
            return Err(LlmError::Cancelled);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(10)));
    }
}

/// Reads answers: one a line, or one array.
fn parse(text: &str) -> Result<Vec<RecordedAnswer>, String> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).map_err(|error| format!("it is not a list of answers: {error}"));
    }
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| format!("line {} is not an answer: {error}", index + 1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::SlotKey;
    use crate::types::{ChatRole, EpisodeNo, Message, Sampling};

    fn request(phase: Phase) -> ChatRequest {
        ChatRequest {
            messages: vec![Message::new(ChatRole::User, "what now?")],
            slot: SlotKey {
                episode: EpisodeNo(0),
                role: Role::Agent,
                phase,
            },
            sampling: Sampling::default(),
            grammar: None,
            stop: vec!["<|END|>".to_owned()],
        }
    }

    #[test]
    fn answers_come_in_order_and_by_phase() {
        let answers = parse(
            "{\"phase\":\"LOG\",\"text\":\"l1\"}\n\n{\"phase\":\"PLAN\",\"text\":\"p1 <|END|> rest\"}\n\"any\"\n{\"text\":\"x\",\"episode\":4}",
        );
        let model = RecordedModel::new("test", answers.unwrap());
        let ask = |phase| model.chat(&request(phase), &Cancel::new(), &mut |_| {});
        assert_eq!(ask(Phase::Plan).unwrap().text, "p1 <|END|>");
        assert_eq!(ask(Phase::Plan).unwrap().text, "any");
        assert_eq!(ask(Phase::Log).unwrap().text, "l1");
        let error = ask(Phase::Log).unwrap_err().to_string();
        assert!(error.contains("3 of 4 are used"), "{error}");
    }

    #[test]
    fn lists_work_and_faults_are_placed() {
        assert_eq!(parse("[\"a\", {\"text\": \"b\"}]").unwrap().len(), 2);
        assert!(parse("\"a\"\nnonsense").unwrap_err().contains("line 2"));
        assert!(parse("{\"phase\": \"NAP\", \"text\": \"\"}").is_err());
    }

    #[test]
    fn answers_are_kept_for_their_role() {
        let answers = parse("{\"role\":\"gameplay\",\"text\":\"g\"}\n{\"role\":\"specialist\",\"text\":\"s\"}");
        let model = RecordedModel::new("test", answers.unwrap());
        let ask = |role| {
            let mut request = request(Phase::Plan);
            request.slot.role = role;
            model.chat(&request, &Cancel::new(), &mut |_| {})
        };
        let error = ask(Role::Agent).unwrap_err().to_string();
        assert!(error.contains("a PLAN call of episode 0"), "{error}");
        assert_eq!(ask(Role::Specialist).unwrap().text, "s");
        assert_eq!(ask(Role::Gameplay).unwrap().text, "g");
        let error = ask(Role::Gameplay).unwrap_err().to_string();
        assert!(error.contains("of the gameplay model"), "{error}");
    }

    #[test]
    fn a_slow_answer_is_cancelled() {
        let mut answers = parse("\"late\"").unwrap();
        answers[0].delay_ms = 60_000;
        let model = RecordedModel::new("test", answers);
        let cancel = Cancel::new();
        let other = cancel.clone();
        let result = model.chat(&request(Phase::Plan), &cancel, &mut |_| other.cancel());
        assert!(matches!(result, Err(LlmError::Cancelled)));
    }
}
