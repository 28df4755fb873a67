//! Models on servers that speak OpenAI's chat interface: llama.cpp's server, vLLM, OpenAI and many others.
//!
//! Owns one server connection that any number of episodes share, in the ways of `llm::remote`.
//!
//! | file | its one job |
//! |---|---|
//! | `probe` | what the server is |
//! | `request` | what is sent, and the prompt for the record |
//! | `answer`, `thinking` | what comes back |
//! | `errors` | what a failure means |
//! | `call` | one call from its first try to its answer |
//! | `tools` | the same for chats with tools |
//!
//! Stop texts are found here and not by the server: servers cut them away, and most do not tell which one it was or
//! whether there was one at all, but they are part of an answer. The connection is dropped when one comes, at which
//! servers stop; where they count tokens at the end only, the counts of such an answer are estimates.

mod answer;
mod call;
mod errors;
mod probe;
mod request;
mod thinking;
mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use super::remote::RemoteOptions;

use self::call::Server;
use self::request::Kind;
use super::http::{NoResult, Runtime};
use super::remote::{Address, Dialect, Line, Settings, name_only};
use super::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError, SlotKey};
use crate::jobs::Cancel;
use crate::types::{ChatRole, EpisodeNo, Message, ModelRef, Phase, Role, Sampling};

const BACKEND: &str = "openai";

/// OpenAI's ways.
pub(super) static DIALECT: Dialect = Dialect {
    name: BACKEND,
    form: "openai:MODEL@http://host:port/v1",
    usual: "https://api.openai.com/v1",
    base: "OPENAI_BASE_URL",
    keys: &["AUTOMEM_OPENAI_API_KEY", "OPENAI_API_KEY"],
    key_header: ("authorization", "Bearer "),
    headers: &[],
    function: "/chat/completions",
    below_v1: false,
    refusal: errors::refusal,
};

/// A model on a server. See the module's documentation.
pub struct OpenAiModel {
    runtime: Runtime,
    server: Arc<Server>,
}

impl std::fmt::Debug for OpenAiModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OpenAiModel").field(&self.server.name()).finish()
    }
}

impl OpenAiModel {
    /// Connects to the server of `MODEL@http://host:port/v1`, or of `MODEL` alone (`OPENAI_BASE_URL`, else OpenAI), and
    /// looks what it is and whether it has the model.
    ///
    /// # Errors
    /// When the address makes no sense, nobody answers there, the key is refused or the model is not there.
    pub fn open(spec: &str, options: &RemoteOptions) -> Result<Self, LlmError> {
        Self::open_with(spec, options, &|name| std::env::var(name).ok())
    }

    fn open_with(
        spec: &str,
        options: &RemoteOptions,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, LlmError> {
        let unknown = |hint: String| LlmError::Unknown {
            name: format!("{BACKEND}:{}", name_only(spec)),
            hint,
        };
        let address = Address::parse(spec, variable(DIALECT.base).as_deref(), &DIALECT).map_err(unknown)?;
        let settings = Settings::settle(options, &DIALECT, variable);
        let line = Line::new(address, settings, &DIALECT).map_err(failed)?;
        let runtime = Runtime::start().map_err(|error| failed(format!("no thread for the network: {error}")))?;
        let looked = runtime.run(&Cancel::new(), &mut |(): ()| {}, |_| async move {
            let about = probe::look(&line).await?;
            let listed = about.listed;
            let server = Server::new(line, about);
            if !listed {
                // Some servers know more names than they list: the smallest call tells for sure.
                server
                    .chat(&smallest(), &mut |_| {})
                    .await
                    .map_err(|error| error.to_string())?;
            }
            Ok::<Server, String>(server)
        });
        let server = looked.map_err(no_result)?.map_err(failed)?;
        Ok(Self {
            runtime,
            server: Arc::new(server),
        })
    }
}

fn failed(message: String) -> LlmError {
    let message = message
        .strip_prefix("openai failed: ")
        .map(str::to_owned)
        .unwrap_or(message);
    DIALECT.failed(message, false)
}

fn no_result(why: NoResult) -> LlmError {
    DIALECT.no_result(why)
}

fn smallest() -> ChatRequest {
    ChatRequest {
        messages: vec![Message::new(ChatRole::User, "Hi")],
        slot: SlotKey {
            episode: EpisodeNo(0),
            role: Role::Agent,
            phase: Phase::Plan,
        },
        sampling: Sampling {
            max_tokens: 16,
            ..Sampling::default()
        },
        grammar: None,
        stop: Vec::new(),
    }
}

impl ChatModel for OpenAiModel {
    fn describe(&self) -> ModelRef {
        let about = &self.server.about;
        let address = &self.server.line.address;
        let mut details = BTreeMap::from([
            ("server".to_owned(), address.base.to_string()),
            ("software".to_owned(), about.kind.word().to_owned()),
            ("prompt".to_owned(), "the messages sent, written as ChatML".to_owned()),
            (
                "tokens".to_owned(),
                "counted by the server, estimated where it does not say".to_owned(),
            ),
        ]);
        if let Some(context) = about.context {
            details.insert("context".to_owned(), context.to_string());
        }
        if about.kind == Kind::Other {
            details.insert("not sent".to_owned(), "top_k".to_owned());
        }
        ModelRef {
            name: address.model.clone(),
            backend: BACKEND.to_owned(),
            is_llm: true,
            details,
        }
    }

    fn context_length(&self) -> Option<u32> {
        self.server.about.context
    }

    fn takes_grammars(&self) -> bool {
        self.server.about.kind == Kind::Llama
    }

    fn chat(
        &self,
        request: &ChatRequest,
        cancel: &Cancel,
        sink: &mut dyn FnMut(ChatProgress),
    ) -> Result<ChatAnswer, LlmError> {
        let server = Arc::clone(&self.server);
        let request = request.clone();
        let result = self.runtime.run(cancel, sink, |teller| async move {
            server.chat(&request, &mut |progress| teller.tell(progress)).await
        });
        result.map_err(no_result)?
    }
}

/// How a remote model is written, for people.
pub(super) const HOW: &str = DIALECT.form;

/// The address of a recorded run's model, written as it is opened; `None` when it was not one of these.
pub fn spec_of(model: &ModelRef) -> Option<String> {
    let server = model.details.get("server")?;
    (model.backend == BACKEND).then(|| format!("{BACKEND}:{}@{server}", model.name))
}
