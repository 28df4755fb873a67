//! Language models: one trait, one registry of back ends.
//!
//! Owns prompting a model and counting what that cost. Must not know about agents, worlds or
//! memory: a request is messages in, text out.

pub mod adapter;
pub mod anthropic;
pub mod catalog;
mod chat;
pub mod decoding;
pub mod gguf;
#[cfg(feature = "llama")]
pub mod llama;
pub mod openai;
pub mod optimize;
mod prices;
pub mod pull;
pub mod recorded;
pub mod recorded_tools;
mod remote;
mod retry;
mod secret;
mod tools;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use chat::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError, SlotKey};
pub use prices::Prices;
pub use secret::Secret;
pub use tools::{ToolAnswer, ToolCall, ToolMessage, ToolModel, ToolRequest, ToolResult, ToolSpec, Usage};

use crate::config::{Settings, Workspace};
use crate::jobs::http;

/// How a model is opened. What is `None` is settled by the model and the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// Where models that are given by name lie.
    pub models_dir: PathBuf,
    /// Where adapters that are given by name lie.
    pub adapters_dir: PathBuf,
    /// Threads to compute with.
    pub threads: Option<u32>,
    /// Tokens a prompt and its answer may have together.
    pub context: Option<u32>,
    /// Cache slots, which is also how many answers are written at once.
    pub slots: Option<u32>,
    /// Answers that repeat to the bit: one at a time, nothing kept between them. Slow.
    pub exact: bool,
    /// Flash attention; `None` leaves it to llama.cpp, which takes it where it wins.
    pub flash_attention: Option<bool>,
    /// Layers on the GPU; `None` puts all there when there is one.
    pub gpu_layers: Option<u32>,
    /// How a model on a server is spoken to.
    pub remote: openai::RemoteOptions,
}

impl ModelOptions {
    /// The defaults in a workspace.
    pub fn in_workspace(workspace: &Workspace) -> Self {
        Self {
            models_dir: workspace.models_dir(),
            adapters_dir: workspace.adapters_dir(),
            ..Self::default()
        }
    }

    /// As a person set them in a workspace.
    pub fn of(workspace: &Workspace, settings: &Settings) -> Self {
        Self {
            threads: settings.run.threads,
            context: settings.run.context,
            remote: (&settings.server).into(),
            ..Self::in_workspace(workspace)
        }
    }
}

type Opened = Result<Arc<dyn ChatModel>, LlmError>;

/// A back end: what it opens, and how that is written.
struct BackEnd {
    /// Form of the specification, for people.
    form: &'static str,
    /// Opens it; `None` when the specification is of another form.
    open: fn(&str, &ModelOptions) -> Option<Opened>,
}

/// The registry: the first that knows a specification opens it.
const BACK_ENDS: &[BackEnd] = &[
    BackEnd {
        form: "recorded:FILE",
        open: |spec, _| spec.strip_prefix("recorded:").map(open_recorded),
    },
    BackEnd {
        form: openai::HOW,
        open: |spec, options| {
            let model = spec.strip_prefix("openai:")?;
            Some(openai::OpenAiModel::open(model, &options.remote).map(|model| Arc::new(model) as _))
        },
    },
    BackEnd {
        form: "path/to/model.gguf",
        open: |spec, options| is_path(spec).then(|| open_gguf(Path::new(spec), options)),
    },
    BackEnd {
        form: "NAME",
        open: |spec, options| {
            let path = catalog::path_of(&options.models_dir, spec)?;
            path.exists().then(|| open_gguf(&path, options))
        },
    },
];

/// Opens a model by name, by path, or as a recording.
///
/// # Errors
/// [`LlmError::Unknown`] for a name that nothing answers to; else what the back end says.
pub fn open(spec: &str, options: &ModelOptions) -> Opened {
    BACK_ENDS
        .iter()
        .find_map(|back_end| (back_end.open)(spec, options))
        .unwrap_or_else(|| Err(unknown(spec, options)))
}

/// The adapter that a specialist's specification means: a GGUF file that says it is one, or a name in the folder of
/// adapters. `None` when it means a whole model.
pub fn adapter_of(spec: &str, options: &ModelOptions) -> Option<PathBuf> {
    if is_path(spec) {
        let path = PathBuf::from(spec);
        let header = gguf::Header::open(&path).ok()?;
        return (header.text("general.type") == Some("adapter")).then_some(path);
    }
    catalog::path_of(&options.adapters_dir, spec).filter(|path| path.exists())
}

/// Opens a memory specialist: an adapter on the base, or a whole model of its own.
///
/// # Errors
/// When nothing answers to the specification, the adapter does not fit, or the base takes none.
pub fn open_specialist(base: &Arc<dyn ChatModel>, spec: &str, options: &ModelOptions) -> Opened {
    if let Some(adapter) = adapter_of(spec, options) {
        return base.with_adapter(&adapter);
    }
    match open(spec, options) {
        Err(LlmError::Unknown { name, hint }) => {
            let folder = options.adapters_dir.display();
            let names = catalog::names(&options.adapters_dir);
            let there = match names.is_empty() {
                true => format!("no adapters are in {folder} yet"),
                false => format!("the adapters in {folder} are {}", names.join(", ")),
            };
            Err(LlmError::Unknown {
                name,
                hint: format!(
                    "{there}; path/to/adapter.gguf is another one; a whole model may be the specialist too: {hint}"
                ),
            })
        }
        other => other,
    }
}

/// The file of a local model: what [`open`] would load. `None` for models elsewhere and for names that nothing
/// answers to.
pub fn model_file(spec: &str, options: &ModelOptions) -> Option<PathBuf> {
    if spec.starts_with("recorded:") || spec.starts_with("openai:") {
        return None;
    }
    let path = match is_path(spec) {
        true => PathBuf::from(spec),
        false => catalog::path_of(&options.models_dir, spec)?,
    };
    path.exists().then_some(path)
}

/// A model that answers chats with tools, opened.
type OpenedTools = Result<Arc<dyn ToolModel>, LlmError>;

/// A back end with tools: what it opens, and how that is written.
struct ToolBackEnd {
    /// Form of the specification, for people.
    form: &'static str,
    /// Opens it; `None` when the specification is of another form.
    open: fn(&str, &ModelOptions) -> Option<OpenedTools>,
}

/// The registry of back ends with tools.
const TOOL_BACK_ENDS: &[ToolBackEnd] = &[
    ToolBackEnd {
        form: anthropic::HOW,
        open: |spec, options| {
            let model = spec.strip_prefix("anthropic:")?;
            Some(anthropic::AnthropicModel::open(model, &options.remote).map(|model| Arc::new(model) as _))
        },
    },
    ToolBackEnd {
        form: openai::HOW,
        open: |spec, options| {
            let model = spec.strip_prefix("openai:")?;
            // `openai:URL,MODEL` is the same the other way round.
            let turned = model
                .split_once(',')
                .filter(|(url, _)| url.contains("://") && !url.contains('@'))
                .map(|(url, model)| format!("{model}@{url}"));
            let model = turned.as_deref().unwrap_or(model);
            Some(openai::OpenAiModel::open(model, &options.remote).map(|model| Arc::new(model) as _))
        },
    },
    ToolBackEnd {
        form: "recorded:FILE",
        open: |spec, _| {
            let file = spec.strip_prefix("recorded:")?;
            Some(recorded_tools::RecordedTools::open(Path::new(file)).map(|model| Arc::new(model) as _))
        },
    },
];

/// Opens a model that calls tools.
///
/// # Errors
/// [`LlmError::Unknown`] for a form that nothing answers to; else what the back end says.
pub fn open_tools(spec: &str, options: &ModelOptions) -> OpenedTools {
    TOOL_BACK_ENDS
        .iter()
        .find_map(|back_end| (back_end.open)(spec, options))
        .unwrap_or_else(|| {
            Err(LlmError::Unknown {
                name: spec.to_owned(),
                hint: format!("a model that calls tools is given as {}", tool_forms().join(", ")),
            })
        })
}

/// How models that call tools are written, for people.
pub fn tool_forms() -> Vec<&'static str> {
    TOOL_BACK_ENDS.iter().map(|back_end| back_end.form).collect()
}

fn open_recorded(file: &str) -> Opened {
    Ok(Arc::new(recorded::RecordedModel::open(Path::new(file))?))
}

#[cfg(feature = "llama")]
fn open_gguf(path: &Path, options: &ModelOptions) -> Opened {
    Ok(Arc::new(llama::LlamaModel::open(path, options)?))
}

#[cfg(not(feature = "llama"))]
fn open_gguf(path: &Path, _: &ModelOptions) -> Opened {
    // A file that could not be used anyway is named as such also by a viewer.
    gguf::Header::open(path)?;
    Err(LlmError::Unknown {
        name: path.display().to_string(),
        hint: "this build of automem is a viewer without llama.cpp and cannot run models; \
               build it with its default features (cmake, clang and libclang-dev are needed)"
            .to_owned(),
    })
}

fn is_path(spec: &str) -> bool {
    Path::new(spec)
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
        || spec.contains(std::path::is_separator)
}

fn unknown(spec: &str, options: &ModelOptions) -> LlmError {
    let there: Vec<String> = catalog::names(&options.models_dir);
    let there = if there.is_empty() {
        format!("no models are in {} yet", options.models_dir.display())
    } else {
        format!("there is {}", there.join(", "))
    };
    let known: Vec<&str> = catalog::KNOWN.iter().map(|known| known.name).collect();
    let offer = if known.contains(&spec) {
        format!("`automem model pull {spec}` fetches it")
    } else {
        format!("`automem model pull {}` fetches a small one", known.join("|"))
    };
    let forms: Vec<&str> = BACK_ENDS.iter().map(|back_end| back_end.form).collect();
    LlmError::Unknown {
        name: spec.to_owned(),
        hint: format!("{there}; {offer}; a model is given as {}", forms.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(spec: &str, options: &ModelOptions) -> String {
        match open(spec, options) {
            Ok(_) => panic!("{spec} opened"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn unknown_models_say_what_there_is() {
        let dir = tempfile::tempdir().unwrap();
        let options = ModelOptions {
            models_dir: dir.path().to_owned(),
            ..ModelOptions::default()
        };
        let text = error_of("smollm2-135m", &options);
        assert!(text.contains("`automem model pull smollm2-135m`"), "{text}");
        std::fs::write(dir.path().join("mine.gguf"), b"").unwrap();
        let text = error_of("yours", &options);
        assert!(text.contains("there is mine"), "{text}");
        assert!(error_of("../evil", &options).contains("../evil"));
    }

    #[test]
    fn broken_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let options = ModelOptions::default();
        let path = dir.path().join("half.gguf");
        std::fs::write(&path, b"GGUF\x03\0\0\0half").unwrap();
        let text = error_of(path.to_str().unwrap(), &options);
        assert!(text.contains("half.gguf") && text.contains("cut off"), "{text}");
        let text = error_of("no/such/model.gguf", &options);
        assert!(text.contains("no/such/model.gguf"), "{text}");
        assert!(error_of("recorded:/no/such/file", &options).contains("/no/such/file"));
    }

    #[test]
    fn models_with_tools_are_opened_by_their_form() {
        let options = ModelOptions::default();
        let error_of = |spec: &str| match open_tools(spec, &options) {
            Ok(_) => panic!("{spec} opened"),
            Err(error) => error.to_string(),
        };
        let text = error_of("smollm2-135m");
        assert!(
            text.contains("anthropic:MODEL") && text.contains("recorded:FILE"),
            "{text}"
        );
        assert!(error_of("recorded:/no/such/file").contains("/no/such/file"));
        assert!(error_of("anthropic:").contains("anthropic:MODEL"));
        // Both ways of writing reach the same place, where nobody is.
        for spec in ["openai:tiny@http://127.0.0.1:9/v1", "openai:http://127.0.0.1:9/v1,tiny"] {
            let text = error_of(spec);
            assert!(text.contains("tiny at http://127.0.0.1:9/v1"), "{text}");
        }
    }
}
