//! `automem completions`: what a shell needs to complete verbs and options.

use std::process::ExitCode;

use clap_complete::Shell;

use super::output;

/// Arguments of `automem completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "bash: automem completions bash > ~/.local/share/bash-completion/completions/automem\n\
zsh:  automem completions zsh > a folder of $fpath, as _automem\n\
fish: automem completions fish > ~/.config/fish/completions/automem.fish"
)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

/// Prints them.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "automem", &mut text);
    output::print_text(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
