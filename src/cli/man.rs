//! `automem man`: the manual, made of the same table as the command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use super::output;

/// Arguments of `automem man`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Write a page for every verb into this folder; without it the first page is printed
    folder: Option<PathBuf>,
}

/// Prints the page, or writes all.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut command = super::command();
    command.build();
    match args.folder {
        None => output::print_text(&page(&command)?)?,
        Some(folder) => {
            std::fs::create_dir_all(&folder).with_context(|| format!("{} could not be made", folder.display()))?;
            let count = write(&command, "automem", &folder)?;
            output::print_text(&format!(
                "{count} pages in {}; read one with `man {}`\n",
                folder.display(),
                folder.join("automem.1").display()
            ))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn page(command: &clap::Command) -> anyhow::Result<String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    Ok(String::from_utf8(text)?)
}

/// A page for the command and for each verb below it. Gives how many.
fn write(command: &clap::Command, name: &str, folder: &Path) -> anyhow::Result<usize> {
    let path = folder.join(format!("{name}.1"));
    std::fs::write(&path, page(command)?).with_context(|| format!("{} was not written", path.display()))?;
    let mut count = 1;
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        count += write(verb, &format!("{name}-{}", verb.get_name()), folder)?;
    }
    Ok(count)
}
