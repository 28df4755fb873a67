//! `automem model`: fetch, list, describe, measure and requantise local models.

mod bench;
mod info;
mod optimize;
mod pull;
mod quantize;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;

use super::bar::bytes_text;
use crate::config::Workspace;
use crate::jobs::Cancel;
use crate::llm::catalog::{self, InstalledModel};
use crate::llm::{LlmError, ModelOptions};

/// Arguments of `automem model`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Bring a model into the workspace: a known one by name, a GGUF file, or one from a hub or an address
    Pull(pull::Args),
    /// Models in the workspace, and those that can be pulled by name
    List(info::ListArgs),
    /// What a model file is
    Info(info::InfoArgs),
    /// Tokens a second on this machine
    Bench(bench::Args),
    /// Write a model again in another quantisation, which decides its speed on a CPU
    Quantize(quantize::Args),
    /// Try quantisations on this machine, measure speed and loss, and keep what you choose
    Optimize(optimize::Args),
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Pull(args) => pull::run(args),
        Verb::List(args) => info::list(&args),
        Verb::Info(args) => info::info(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Quantize(args) => quantize::run(&args),
        Verb::Optimize(args) => optimize::run(&args),
    }
}

/// The model that is meant: a path, or a name in the workspace.
pub(super) fn find(spec: &str, workspace: &Workspace) -> anyhow::Result<InstalledModel> {
    let path = PathBuf::from(spec);
    if path.is_file() {
        let name = path
            .file_stem()
            .map_or_else(|| spec.into(), |stem| stem.to_string_lossy().into_owned());
        return Ok(catalog::describe(name, path));
    }
    let named = catalog::path_of(&workspace.models_dir(), spec).filter(|path| path.is_file());
    match named {
        Some(path) => Ok(catalog::describe(spec.to_owned(), path)),
        // Opening it says best what there is instead.
        None => match crate::llm::open(spec, &ModelOptions::in_workspace(workspace)) {
            Err(error @ (LlmError::Unknown { .. } | LlmError::File { .. })) => Err(error.into()),
            _ => anyhow::bail!(
                "`{spec}` is no model file; give a name from `automem model list` or the path of a .gguf file"
            ),
        },
    }
}

fn workspace() -> anyhow::Result<Workspace> {
    Workspace::find().context("there is no place for models")
}

/// A flag that Ctrl-C and SIGTERM set.
fn cancel_on_signals() -> anyhow::Result<Cancel> {
    let cancel = Cancel::new();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, cancel.flag()).context("Ctrl-C cannot be listened to")?;
    }
    Ok(cancel)
}
