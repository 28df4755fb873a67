//! The registry of revisers: who writes revisions, and how that is written.
//!
//! Owns the forms. To add a reviser, add its line to the table.

use std::path::PathBuf;
use std::time::Duration;

use super::command::{CommandOptions, CommandReviser};
use super::meta::{MetaOptions, MetaReviser};
use super::reviser::{Reviser, ReviserError};
use super::rules::RulesReviser;
use crate::config::{Settings, Workspace};
use crate::llm::{self, LlmError, ModelOptions, Prices};

/// How revisers are opened.
#[derive(Debug, Clone)]
pub struct ReviserOptions {
    /// How models are opened.
    pub models: ModelOptions,
    /// Tokens an answer of a meta-LLM may have.
    pub max_tokens: u32,
    /// What a meta-LLM costs.
    pub prices: Prices,
    /// Time a command may take.
    pub time_limit: Duration,
    /// Folder that conversations and work folders are kept in; `None` keeps none.
    pub records: Option<PathBuf>,
}

impl ReviserOptions {
    /// As a person set them in a workspace; conversations are kept in its `meta` folder.
    pub fn of(workspace: &Workspace, settings: &Settings) -> Self {
        let meta = &settings.meta;
        Self {
            models: ModelOptions::of(workspace, settings),
            max_tokens: meta.max_tokens,
            prices: Prices {
                input: meta.input_per_million,
                cached: meta.cached_per_million,
                output: meta.output_per_million,
            },
            time_limit: Duration::from_secs(meta.command_s),
            records: Some(workspace.root().join("meta")),
        }
    }
}

type Opened = Result<Box<dyn Reviser>, ReviserError>;

/// A kind of reviser: how it is written, and what opens it.
struct Kind {
    /// Form of the specification, for people.
    form: &'static str,
    /// Opens it; `None` when the specification is of another form.
    open: fn(&str, &ReviserOptions) -> Option<Opened>,
}

/// The registry: the first that knows a specification opens it.
const KINDS: &[Kind] = &[
    Kind {
        form: "rules",
        open: |spec, _| (spec == "rules").then(|| Ok(Box::new(RulesReviser::new()) as _)),
    },
    Kind {
        form: "anthropic:MODEL",
        open: |spec, options| model("anthropic:", spec, options),
    },
    Kind {
        form: "openai:MODEL@http://host:port/v1 (or openai:URL,MODEL)",
        open: |spec, options| model("openai:", spec, options),
    },
    Kind {
        form: "command:'COMMAND LINE'",
        open: |spec, options| {
            let command = spec.strip_prefix("command:")?;
            let options = CommandOptions {
                time_limit: options.time_limit,
                records: options.records.clone(),
            };
            Some(CommandReviser::new(command, options).map(|reviser| Box::new(reviser) as _))
        },
    },
    Kind {
        form: "recorded:FILE",
        open: |spec, options| model("recorded:", spec, options),
    },
];

/// Opens a reviser.
///
/// # Errors
/// When nothing answers to the specification, or what it names cannot be used.
pub fn open_reviser(spec: &str, options: &ReviserOptions) -> Opened {
    KINDS
        .iter()
        .find_map(|kind| (kind.open)(spec, options))
        .unwrap_or_else(|| {
            let forms: Vec<&str> = KINDS.iter().map(|kind| kind.form).collect();
            Err(ReviserError::Model(LlmError::Unknown {
                name: spec.to_owned(),
                hint: format!("who writes revisions is given as {}", forms.join(", ")),
            }))
        })
}

fn model(prefix: &str, spec: &str, options: &ReviserOptions) -> Option<Opened> {
    spec.strip_prefix(prefix)?;
    let meta = MetaOptions {
        max_tokens: options.max_tokens,
        prices: options.prices,
        records: options.records.clone(),
    };
    let opened = llm::open_tools(spec, &options.models).map_err(ReviserError::from);
    Some(opened.map(|model| Box::new(MetaReviser::new(model, meta)) as _))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(spec: &str) -> String {
        let options = ReviserOptions::of(&Workspace::at("/nonexistent"), &Settings::default());
        match open_reviser(spec, &options) {
            Ok(_) => panic!("{spec} opened"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_is_not_known_is_told_with_the_forms() {
        let text = error_of("nobody:here");
        assert!(
            text.contains("`nobody:here`") && text.contains("command:'COMMAND LINE'"),
            "{text}"
        );
        assert!(error_of("command: ").contains("command:'claude -p'"));
        assert!(error_of("recorded:/no/such/file").contains("/no/such/file"));
    }

    #[test]
    fn settings_become_options() {
        let mut settings = Settings::default();
        settings.meta.input_per_million = Some(3.0);
        settings.meta.command_s = 7;
        let workspace = Workspace::at("/w");
        let options = ReviserOptions::of(&workspace, &settings);
        assert_eq!((options.prices.input, options.time_limit.as_secs()), (Some(3.0), 7));
        assert_eq!(options.records, Some(workspace.root().join("meta")));
        let opened = open_reviser("command:true --x", &options).unwrap();
        assert_eq!(opened.spec(), "command:true --x");
    }
}
