//! Loads a model: checks the file, settles the numbers, starts the engine.
//!
//! Owns defaults. Must not compute.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use llama_cpp_2::model::LlamaModel as Loaded;
use llama_cpp_2::model::params::LlamaModelParams;

use super::engine::{Engine, EngineSettings};
use super::prompt::{Tokenizer, special_texts};
use super::weights::{Adapter, Weights};
use super::{Base, LlamaModel, backend, default_threads};
use crate::jobs::memory;
use crate::llm::ModelOptions;
use crate::llm::adapter;
use crate::llm::chat::LlmError;
use crate::llm::decoding::template::ChatTemplate;
use crate::llm::gguf::{Header, ModelInfo};
use crate::types::ModelRef;

/// Tokens a prompt and its answer may have together, unless asked otherwise.
const CONTEXT: u32 = 8192;
/// Slots, unless asked otherwise: four episodes with two phases of two models.
const SLOTS: u32 = 16;
/// Bytes of KV cache at most, unless one context needs more or was asked for.
const CACHE_BYTES: u64 = 512 << 20;

pub(super) fn open(path: &Path, options: &ModelOptions) -> Result<LlamaModel, LlmError> {
    let header = Header::open(path)?;
    let info = ModelInfo::of(&header);
    let wrong = |cause: String, hint: &str| LlmError::File {
        path: path.display().to_string(),
        cause,
        hint: hint.to_owned(),
    };
    if info.architecture.is_none() {
        return Err(wrong(
            "it names no architecture".to_owned(),
            "it is no model, or was not finished; fetch it again",
        ));
    }
    if header.text("general.type") == Some("adapter") {
        return Err(wrong(
            "it is a LoRA adapter and no model".to_owned(),
            "open the base model instead",
        ));
    }
    let params = parameters(options).map_err(|error| wrong(error.to_string(), "build automem again"))?;
    let loaded = load_weights(path, &params).map_err(|cause| {
        wrong(
            cause,
            "use a language model whose architecture this version of llama.cpp knows, or a newer automem",
        )
    })?;
    let weights = Arc::new(Weights::new(loaded));
    let settings = settings(&weights, &info, options);
    let context = context(&weights, options).min(settings.cells);
    let template = ChatTemplate::new(
        header.text("tokenizer.chat_template"),
        special_texts(&weights),
        &jiff::ZonedDateTime::now(),
    );
    let sentence_piece = info.tokenizer.as_deref() == Some("llama");
    let reference = reference(path, &header, &info, &settings, context, &template);
    Ok(LlamaModel {
        engine: Engine::start(Arc::clone(&weights), None, settings)?,
        tokenizer: Tokenizer::new(&weights, sentence_piece, template.kind()),
        template: Arc::new(template),
        weights,
        context,
        reference,
        base: Arc::new(Base { header, settings }),
    })
}

/// The model with an adapter: another context over its weights, with an engine of its own.
pub(super) fn adapted(model: &LlamaModel, path: &Path) -> Result<LlamaModel, LlmError> {
    let wrong = |cause: String, hint: &str| LlmError::File {
        path: path.display().to_string(),
        cause,
        hint: hint.to_owned(),
    };
    let Base { header, settings } = &*model.base;
    // llama.cpp says little about what is wrong with an adapter, and believes what stands in it.
    let info = adapter::inspect(path)?;
    adapter::fits(&info, header).map_err(|cause| {
        wrong(
            cause,
            "use an adapter that was trained on this model, or the model it was trained on",
        )
    })?;
    let loaded = Adapter::load(&model.weights, path)
        .map_err(|cause| wrong(cause, "train or import the adapter again, or use a newer automem"))?;
    let name = path
        .file_stem()
        .map_or_else(|| "adapter".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut details = model.reference.details.clone();
    details.extend(
        [
            (BASE, model.reference.name.clone()),
            ("adapter_file", file.unwrap_or_default()),
            ("adapter_digest", info.digest.to_string()),
            ("adapter_rank", info.rank.to_string()),
            ("adapter_alpha", info.alpha.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value)),
    );
    // One that has an adapter itself stands for its base.
    if let Some(base) = model.reference.details.get(BASE) {
        details.insert(BASE.to_owned(), base.clone());
    }
    Ok(LlamaModel {
        engine: Engine::start(Arc::clone(&model.weights), Some(loaded), *settings)?,
        tokenizer: model.tokenizer.clone(),
        template: Arc::clone(&model.template),
        weights: Arc::clone(&model.weights),
        context: model.context,
        reference: ModelRef {
            name,
            details,
            ..model.reference.clone()
        },
        base: Arc::clone(&model.base),
    })
}

/// The detail of a model with an adapter that names the model without.
const BASE: &str = "base";

/// Where the weights go.
fn parameters(options: &ModelOptions) -> Result<LlamaModelParams, LlmError> {
    let library = backend::backend()?;
    let layers = options
        .gpu_layers
        .unwrap_or(if library.supports_gpu_offload() { 999 } else { 0 });
    Ok(LlamaModelParams::default().with_n_gpu_layers(layers))
}

/// Loads the weights; the error says what llama.cpp's log says.
pub(super) fn load_weights(path: &Path, params: &LlamaModelParams) -> Result<Loaded, String> {
    // One at a time, so that the log's lines belong to this file.
    static LOADING: Mutex<()> = Mutex::new(());
    let _one = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    let library = backend::backend().map_err(|error| error.to_string())?;
    backend::forget_log();
    Loaded::load_from_file(library, path, params).map_err(|error| {
        let log = backend::last_errors();
        if log.is_empty() {
            format!("llama.cpp cannot load it ({error})")
        } else {
            format!("llama.cpp cannot load it: {log}")
        }
    })
}

/// Tokens a prompt and its answer may have together.
fn context(weights: &Loaded, options: &ModelOptions) -> u32 {
    let trained = weights.n_ctx_train().max(1);
    options.context.unwrap_or_else(|| trained.min(CONTEXT)).max(64)
}

fn settings(weights: &Loaded, info: &ModelInfo, options: &ModelOptions) -> EngineSettings {
    let slots = options.slots.unwrap_or(SLOTS).clamp(1, 256);
    let context = context(weights, options);
    let per_token = info.kv_bytes_per_token.unwrap_or(0).max(1);
    let budget = CACHE_BYTES.min(memory::available().map_or(CACHE_BYTES, |bytes| bytes / 4));
    let affordable = u32::try_from(budget / per_token).unwrap_or(u32::MAX);
    let cells = if options.exact {
        context
    } else {
        affordable.clamp(context, context.saturating_mul(slots))
    };
    EngineSettings {
        threads: options.threads.unwrap_or_else(default_threads).max(1),
        cells: cells.div_ceil(256).saturating_mul(256),
        slots: if options.exact { 1 } else { slots },
        flash: options.flash_attention,
        exact: options.exact,
        partial_reuse: !weights.is_recurrent() && !weights.is_hybrid(),
    }
}

fn reference(
    path: &Path,
    header: &Header,
    info: &ModelInfo,
    settings: &EngineSettings,
    context: u32,
    template: &ChatTemplate,
) -> ModelRef {
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = path
        .file_stem()
        .map_or_else(|| "model".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let flash = match settings.flash {
        None => "auto",
        Some(true) => "on",
        Some(false) => "off",
    };
    let details = [
        ("file", file.unwrap_or_default()),
        ("architecture", info.architecture.clone().unwrap_or_default()),
        ("quantisation", info.quantisation.clone()),
        ("parameters", info.parameters.to_string()),
        ("data_bytes", header.data_bytes().to_string()),
        ("context", context.to_string()),
        ("cache_cells", settings.cells.to_string()),
        ("slots", settings.slots.to_string()),
        ("threads", settings.threads.to_string()),
        ("flash_attention", flash.to_owned()),
        ("exact", settings.exact.to_string()),
        ("chat_template", template.kind().to_string()),
    ];
    ModelRef {
        name,
        backend: "llama".to_owned(),
        is_llm: true,
        details: details
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect::<BTreeMap<_, _>>(),
    }
}
