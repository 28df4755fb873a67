//! `automem scaffold show`: what is in a scaffold, and what its templates may use.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::output::{print_json, print_text};
use crate::config::Workspace;
use crate::protocol::sanitize::clean;
use crate::scaffold::{self, AnyFolder, Scaffold, Template};

/// Shows a scaffold's files, what its templates may use, and what it adds; or one of its files.
pub(super) fn show(name: &str, file: Option<&str>, workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let found = Scaffold::any_named(name, workspace)?;
    if let Some(file) = file {
        let Some(text) = found.files.get(file) else {
            let there: Vec<&str> = found.files.keys().map(String::as_str).collect();
            anyhow::bail!("{name} has no file `{file}`; there are: {}", there.join(", "));
        };
        if as_json {
            print_json(&json!({ "file": file, "text": text }))?;
        } else {
            print_text(&clean(text))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if found.foreign().is_some() {
        return foreign(name, &found, as_json);
    }
    let scaffold = Scaffold::from_files(found.files)?;
    let reference = scaffold.reference();
    if as_json {
        let variables: serde_json::Map<String, serde_json::Value> = Template::every()
            .map(|template| {
                let table: serde_json::Map<String, serde_json::Value> = scaffold::variables(template)
                    .iter()
                    .map(|variable| (variable.name.to_owned(), variable.about.into()))
                    .collect();
                (template.file().to_owned(), table.into())
            })
            .collect();
        print_json(&json!({
            "name": reference.name,
            "version": reference.version,
            "parent": reference.parent,
            "digest": reference.digest,
            "files": reference.files,
            "variables": variables,
            "own_variables": scaffold.manifest().vars,
            "own_operations": own_operations(&scaffold),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!(
        "{} {} ({})\n",
        reference.name,
        reference.version,
        reference.digest.short()
    );
    for (path, content) in &reference.files {
        text.push_str(&format!("\n--- {path}\n{}\n", content.trim_end()));
    }
    text.push_str("\nWhat templates may use:\n");
    for template in [Template::System, Template::Log, Template::LogContinue] {
        text.push_str(&format!("  {}\n", template.file()));
        for variable in scaffold::variables(template) {
            text.push_str(&format!("    {:<18} {}\n", variable.name, variable.about));
        }
    }
    text.push_str("  prompts/plan.md and prompts/plan_continue.md know what their LOG counterparts know\n");
    text.push_str(
        "  prompts/handoff.md (with two models, if you write it) knows what plan_continue.md knows, prompts/consulted.md\n    \
         the step\n",
    );
    text.push_str(&own(&scaffold));
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// What must be said of a folder before it is shown or compared.
pub(super) fn notes(name: &str, folder: &AnyFolder) -> Vec<String> {
    let mut notes: Vec<String> = folder
        .foreign()
        .map(|what| format!("{name}: {what}"))
        .into_iter()
        .collect();
    if !folder.left_out.is_empty() {
        let list = folder.left_out.join(", ");
        notes.push(format!(
            "{name}: left out, since they are no text of a scaffold: {list}"
        ));
    }
    notes
}

/// A folder that is no scaffold of this program: its files, and what can be done with them.
fn foreign(name: &str, found: &AnyFolder, as_json: bool) -> anyhow::Result<ExitCode> {
    let digest = scaffold::digest_of(&found.files);
    if as_json {
        print_json(&json!({
            "name": name, "version": null, "parent": null, "digest": digest, "files": found.files,
            "notes": notes(name, found), "left_out": found.left_out,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text: String = notes(name, found).iter().map(|note| format!("{note}\n")).collect();
    text.push_str(&format!("its files together have the digest {}\n", digest.short()));
    for (path, content) in &found.files {
        text.push_str(&format!("\n--- {path}\n{}\n", content.trim_end()));
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// The operations of the scaffold's own.
fn own_operations(scaffold: &Scaffold) -> Vec<Value> {
    let ops = scaffold.manifest().custom_ops.iter();
    ops.map(|op| {
        let phases: Vec<&str> = op.phases.iter().map(|phase| phase.word()).collect();
        json!({
            "name": op.syntax.name, "usage": op.syntax.usage(), "help": op.help, "phases": phases,
            "after": op.after, "writes": op.writes,
        })
    })
    .collect()
}

/// What the scaffold adds to what every scaffold has; empty when that is nothing.
fn own(scaffold: &Scaffold) -> String {
    let manifest = scaffold.manifest();
    let mut text = String::new();
    if !manifest.vars.is_empty() {
        text.push_str("\nVariables of its own in the prompts of LOG and PLAN, as they are until a hook sets them:\n");
        for (name, value) in &manifest.vars {
            text.push_str(&format!("    {name:<18} {value}\n"));
        }
    }
    if !manifest.custom_ops.is_empty() {
        text.push_str("\nOperations of its own:\n");
        for op in &manifest.custom_ops {
            let phases: Vec<&str> = op.phases.iter().map(|phase| phase.word()).collect();
            let usage = op.syntax.usage();
            text.push_str(&format!(
                "    {} ({})\n      {usage}\n      {}\n",
                op.syntax.name,
                phases.join(", "),
                op.help
            ));
        }
    }
    text
}
