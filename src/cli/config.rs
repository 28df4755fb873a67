//! `automem config`: shows settings and where they come from, checks them, lists the keys.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::output::{print_json, print_text};
use crate::config::{Resolved, Settings, SettingsError, Workspace, reference, sample};
use crate::protocol::sanitize::clean;
use crate::tui;

/// Arguments of `automem config`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show every option with its value and where it comes from
    Show {
        /// Print a config.toml with every option as a comment
        #[arg(long, conflicts_with = "json")]
        sample: bool,
        /// Print the reference of all options as Markdown
        #[arg(long, conflicts_with_all = ["json", "sample"])]
        markdown: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Say where config.toml is looked for
    Path {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Find what is wrong in a file, or in all that are in use
    Check {
        /// The file [default: all that are in use, and the environment]
        file: Option<PathBuf>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// List the keys of every place, as config.toml writes them
    Keys {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    match args.verb {
        Verb::Show { sample: true, .. } => show_sample(),
        Verb::Show { markdown: true, .. } => {
            print_text(&reference())?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Show { json, .. } => show(&checked(Settings::load(&workspace)?)?, json),
        Verb::Path { json } => path(&workspace, json),
        Verb::Check { file, json } => check(file.as_deref(), &workspace, json),
        Verb::Keys { json } => keys(&checked(Settings::load(&workspace)?)?.settings, json),
    }
}

/// The settings for verbs that open a screen: keys and theme are checked too.
pub(super) fn for_screen(workspace: &Workspace, theme: Option<String>) -> anyhow::Result<Settings> {
    let mut resolved = Settings::load(workspace)?;
    if let Some(theme) = theme {
        // The theme of the command line is checked when it is loaded.
        resolved.settings.theme = theme;
        let keys = tui::keys(&resolved.settings);
        keys.map_err(SettingsError::Invalid)?;
        return Ok(resolved.settings);
    }
    Ok(checked(resolved)?.settings)
}

fn checked(resolved: Resolved) -> Result<Resolved, SettingsError> {
    let problems = tui::check(&resolved);
    if problems.is_empty() {
        Ok(resolved)
    } else {
        Err(SettingsError::Invalid(problems))
    }
}

fn show(resolved: &Resolved, as_json: bool) -> anyhow::Result<ExitCode> {
    let entries = resolved.entries();
    let changed = &resolved.settings.keys;
    if as_json {
        let keys: Vec<_> = changed
            .iter()
            .map(|key| json!({ "key": format!("keys.{}.{}", key.place, key.action), "value": key.keys, "origin": key.origin() }))
            .collect();
        print_json(&json!({ "options": entries, "keys": keys }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for entry in entries {
        let value = entry.value.as_deref().unwrap_or("-");
        text.push_str(&format!("{:<22} {:<18} {}\n", entry.key, value, entry.origin));
    }
    for key in changed {
        let name = format!("keys.{}.{}", key.place, key.action);
        text.push_str(&format!("{name:<22} {:<18} {}\n", key.keys.join(" "), key.origin()));
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

fn show_sample() -> anyhow::Result<ExitCode> {
    let rows = tui::keys(&Settings::default()).map_err(SettingsError::Invalid)?;
    let keys: Vec<_> = rows
        .into_iter()
        .map(|row| (row.place.to_owned(), row.action.to_owned(), row.keys))
        .collect();
    print_text(&sample(&keys))?;
    Ok(ExitCode::SUCCESS)
}

fn path(workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let files = Settings::files(workspace);
    if as_json {
        let files: Vec<_> = files
            .iter()
            .map(|file| json!({ "path": file.path, "whose": file.whose, "exists": file.path.is_file() }))
            .collect();
        print_json(&json!({ "files": files }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for file in files {
        let there = if file.path.is_file() { "" } else { "  (not there)" };
        text.push_str(&format!("{:<15} {}{there}\n", file.whose, file.path.display()));
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

fn check(file: Option<&Path>, workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let loaded = match file {
        Some(file) => Settings::of_file(file),
        None => Settings::load(workspace),
    };
    let problems = match loaded {
        Ok(resolved) => tui::check(&resolved),
        Err(error) => error.problems(),
    };
    let ok = problems.is_empty();
    if as_json {
        print_json(&json!({ "ok": ok, "problems": problems }))?;
    } else if ok {
        print_text("nothing is wrong\n")?;
    } else {
        let lines: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
        print_text(&clean(&lines))?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn keys(settings: &Settings, as_json: bool) -> anyhow::Result<ExitCode> {
    let rows = tui::keys(settings).map_err(SettingsError::Invalid)?;
    if as_json {
        print_json(&json!({ "keys": rows }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for row in rows {
        let name = format!("{}.{}", row.place, row.action);
        text.push_str(&format!("{name:<28} {:<16} {}\n", row.keys.join(" "), row.help));
    }
    print_text(&text)?;
    Ok(ExitCode::SUCCESS)
}
