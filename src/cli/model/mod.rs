//! `automem model`: fetch, list, describe and measure local models.

mod bench;
mod info;
mod pull;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;

use crate::config::Workspace;
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
    /// Bring a model into the workspace: a known one by name, or a GGUF file
    Pull(pull::Args),
    /// Models in the workspace, and those that can be pulled by name
    List(info::ListArgs),
    /// What a model file is
    Info(info::InfoArgs),
    /// Tokens a second on this machine
    Bench(bench::Args),
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Pull(args) => pull::run(args),
        Verb::List(args) => info::list(&args),
        Verb::Info(args) => info::info(&args),
        Verb::Bench(args) => bench::run(&args),
    }
}

/// The model that is meant: a path, or a name in the workspace.
fn find(spec: &str, workspace: &Workspace) -> anyhow::Result<InstalledModel> {
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

/// Bytes for people.
fn bytes_text(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
