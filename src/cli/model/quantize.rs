//! `automem model quantize`: the same model, faster or better on this machine.

use std::process::ExitCode;

/// Arguments of `automem model quantize`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A name from `automem model list`, or the path of a GGUF file
    model: String,
    /// The quantisation; Q4_0 is the fastest on most CPUs, Q8_0 loses the least of the small ones
    #[arg(long, default_value = "Q4_0")]
    to: String,
    /// Name of the new model; by default the old one's with the quantisation
    #[arg(long)]
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[cfg(not(feature = "llama"))]
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    super::find(&args.model, &super::workspace()?)?;
    anyhow::bail!("this build of automem is a viewer without llama.cpp; build it with its default features to quantise")
}

#[cfg(feature = "llama")]
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    use std::io::IsTerminal;

    use super::super::output;
    use crate::llm::catalog;
    use crate::llm::llama::{default_threads, quantize};

    let workspace = super::workspace()?;
    let found = super::find(&args.model, &workspace)?;
    let kind = args.to.to_uppercase();
    let name = args
        .name
        .clone()
        .unwrap_or_else(|| format!("{}-{}", found.name, kind.to_lowercase()));
    let cancel = super::cancel_on_signals()?;
    let terminal = std::io::stderr().is_terminal();
    let result = quantize::quantize(
        &found.path,
        &kind,
        &workspace.models_dir(),
        &name,
        default_threads(),
        &cancel,
        &mut |bytes| {
            if terminal {
                eprint!("\r\x1b[2Kwriting {name}: {}", super::bytes_text(bytes));
            }
        },
    );
    if terminal {
        eprint!("\r\x1b[2K");
    }
    let made = catalog::describe(name, result?);
    if args.json {
        output::print_json(&made.summary())?;
    } else {
        output::print_text(&format!(
            "{} is ready: {} ({}, before {})\n",
            made.name,
            made.path.display(),
            super::bytes_text(made.bytes),
            super::bytes_text(found.bytes)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
