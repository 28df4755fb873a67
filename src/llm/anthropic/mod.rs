//! Models that speak Anthropic's Messages interface, with tools: Anthropic itself and gateways to it.
//!
//! Owns one model on one server, in the ways of `llm::remote`. It answers chats with tools only: an agent that plays
//! speaks through tags and needs no such interface.
//!
//! | file | its one job |
//! |---|---|
//! | `request` | what is sent, and what of it shall be cached |
//! | `answer` | what comes back, block by block |
//! | `errors` | what a failure means |

mod answer;
mod errors;
mod request;

use std::sync::Arc;
use std::time::Instant;

use self::answer::{End, Gathered};
use super::http::Runtime;
use super::remote::{
    Address, Dialect, Failure, Limits, Line, RemoteOptions, Settings, Tries, name, name_only, receive,
};
use super::{LlmError, ToolAnswer, ToolModel, ToolRequest};
use crate::jobs::Cancel;

const BACKEND: &str = "anthropic";

/// Anthropic's ways.
pub(super) static DIALECT: Dialect = Dialect {
    name: BACKEND,
    form: "anthropic:MODEL",
    usual: "https://api.anthropic.com",
    base: "ANTHROPIC_BASE_URL",
    keys: &["AUTOMEM_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"],
    key_header: ("x-api-key", ""),
    headers: &[("anthropic-version", "2023-06-01")],
    function: "/messages",
    below_v1: true,
    refusal: errors::refusal,
};

/// Times that a turn which the server paused is gone on with.
const MOST_PAUSES: u32 = 8;

/// A model. See the module's documentation.
pub struct AnthropicModel {
    runtime: Runtime,
    server: Arc<Server>,
}

impl std::fmt::Debug for AnthropicModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AnthropicModel").field(&name(&self.server.line)).finish()
    }
}

struct Server {
    line: Line,
}

impl AnthropicModel {
    /// A model by its name, at `ANTHROPIC_BASE_URL` or Anthropic; `MODEL@http://host:port` names another server.
    /// Nothing is sent yet.
    ///
    /// # Errors
    /// When the address makes no sense, or there is no key for Anthropic itself.
    pub fn open(spec: &str, options: &RemoteOptions) -> Result<Self, LlmError> {
        Self::open_with(spec, options, &|name| std::env::var(name).ok())
    }

    fn open_with(
        spec: &str,
        options: &RemoteOptions,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, LlmError> {
        let failed = |message: String| DIALECT.failed(message, false);
        let address =
            Address::parse(spec, variable(DIALECT.base).as_deref(), &DIALECT).map_err(|hint| LlmError::Unknown {
                name: format!("{BACKEND}:{}", name_only(spec)),
                hint,
            })?;
        let settings = Settings::settle(options, &DIALECT, variable);
        if settings.key.is_none() && address.base.as_str().starts_with(DIALECT.usual) {
            return Err(failed(format!(
                "{} needs a key; set {} (it is never recorded)",
                DIALECT.usual,
                DIALECT.keys()
            )));
        }
        let line = Line::new(address, settings, &DIALECT).map_err(failed)?;
        let runtime = Runtime::start().map_err(|error| failed(format!("no thread for the network: {error}")))?;
        Ok(Self {
            runtime,
            server: Arc::new(Server { line }),
        })
    }
}

impl ToolModel for AnthropicModel {
    fn spec(&self) -> String {
        let address = &self.server.line.address;
        match address.base.as_str().starts_with(DIALECT.usual) {
            true => format!("{BACKEND}:{}", address.model),
            false => format!("{BACKEND}:{}@{}", address.model, address.base),
        }
    }

    fn answer(
        &self,
        request: &ToolRequest,
        cancel: &Cancel,
        sink: &mut dyn FnMut(&str),
    ) -> Result<ToolAnswer, LlmError> {
        let server = Arc::clone(&self.server);
        let request = request.clone();
        let result = self
            .runtime
            .run(cancel, &mut |text: String| sink(&text), |teller| async move {
                server.answer(&request, &mut |text| teller.tell(text)).await
            });
        result.map_err(|why| DIALECT.no_result(why))?
    }
}

impl Server {
    async fn answer(
        &self,
        request: &ToolRequest,
        tell: &mut (dyn FnMut(String) + Send),
    ) -> Result<ToolAnswer, LlmError> {
        let mut tries = Tries::new(&self.line.settings);
        let mut most = request.max_tokens;
        let mut so_far: Option<ToolAnswer> = None;
        let mut pauses = 0;
        loop {
            let model = &self.line.address.model;
            let body = request::body(model, request, so_far.as_ref(), most);
            let failure = match self.once(&body, tell).await {
                Ok(gathered) => {
                    let end = gathered.end();
                    let answer = gathered.finish(so_far.take());
                    match end {
                        End::Refused => {
                            return Err(self.backend(
                                "it declined to answer (stop_reason `refusal`); what the brief or the traces hold \
                                 met its safety rules: try again, or use another model",
                                false,
                            ));
                        }
                        End::Paused if pauses < MOST_PAUSES => {
                            pauses += 1;
                            so_far = Some(answer);
                            continue;
                        }
                        End::Paused => {
                            return Err(self.backend("it paused its turn again and again; try again later", true));
                        }
                        End::Over => return Ok(answer),
                    }
                }
                Err(failure) => failure,
            };
            match failure {
                Failure::Passing { message, wait } => {
                    let again = tries.next(&message, wait).await;
                    again.map_err(|message| self.backend(&message, false))?;
                }
                // What came is lost; the conversation before it is not.
                Failure::Cut { message } => {
                    let again = tries.next(&message, None).await;
                    again.map_err(|message| self.backend(&message, true))?;
                    tell(format!("\n[{message}; asked again]\n"));
                }
                Failure::TooLong {
                    prompt,
                    window,
                    message,
                    ..
                } => {
                    let room = window.map(|window| window.saturating_sub(prompt.unwrap_or(0)));
                    match (room, window) {
                        // The prompt fits, the answer did not: a shorter one does.
                        (Some(room), _) if room > 0 && room < most => most = room,
                        (_, Some(available)) => {
                            return Err(LlmError::ContextOverflow {
                                needed: prompt.unwrap_or(available).saturating_add(1),
                                available,
                            });
                        }
                        _ => return Err(self.backend(&message, false)),
                    }
                }
                failure => return Err(self.backend(failure.message(), false)),
            }
        }
    }

    async fn once(&self, body: &serde_json::Value, tell: &mut (dyn FnMut(String) + Send)) -> Result<Gathered, Failure> {
        let line = &self.line;
        let began = Instant::now();
        let incoming = line
            .post(line.address.function("messages"), body, Limits::of(&line.settings))
            .await?;
        let mut gathered = Gathered::default();
        receive(incoming, &mut gathered, &DIALECT, line.key(), began, tell).await?;
        Ok(gathered)
    }

    fn backend(&self, message: &str, retryable: bool) -> LlmError {
        DIALECT.failed(format!("{}: {message}", name(&self.line)), retryable)
    }
}

/// How a model is written, for people.
pub(super) const HOW: &str = DIALECT.form;

#[cfg(test)]
mod tests {
    use super::*;

    fn open(spec: &str, set: &[(&str, &str)]) -> Result<AnthropicModel, LlmError> {
        AnthropicModel::open_with(spec, &RemoteOptions::default(), &|name| {
            set.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_key_is_asked_for_and_never_shown() {
        let error = open("claude", &[]).unwrap_err().to_string();
        assert!(error.contains("ANTHROPIC_API_KEY"), "{error}");
        let model = open("claude", &[("ANTHROPIC_API_KEY", "sk-secret")]).unwrap();
        assert_eq!(model.spec(), "anthropic:claude");
        assert!(!format!("{model:?}").contains("sk-secret"));
        // A gateway may need none, and is part of the name.
        let model = open("claude", &[("ANTHROPIC_BASE_URL", "http://localhost:4000")]).unwrap();
        assert_eq!(model.spec(), "anthropic:claude@http://localhost:4000/v1");
        let model = open("claude@http://localhost:1/v1", &[]).unwrap();
        assert_eq!(model.spec(), "anthropic:claude@http://localhost:1/v1");
    }

    #[test]
    fn what_is_no_model_is_refused_with_the_form() {
        for spec in ["", " ", "@http://h", "m@http://user:sk-secret@h"] {
            let error = open(spec, &[("ANTHROPIC_API_KEY", "k")]).unwrap_err().to_string();
            assert!(error.contains(HOW) && !error.contains("sk-secret"), "{error}");
        }
    }
}
