//! `automem doctor`: what this machine, terminal and workspace have to offer, and what is wrong
//! with them. Each problem comes with its fix.

mod games;
mod machine;
mod terminal;

use std::process::ExitCode;

use serde::Serialize;

use super::output;
use crate::config::{Settings, Workspace};
use crate::protocol::sanitize::clean_line as sanitize;
use crate::tui;

/// Arguments of `automem doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Something will look or work worse.
    Warn,
    /// Something will not work.
    Broken,
}

/// What was looked at and found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    area: &'static str,
    name: String,
    state: State,
    said: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Finding {
    fn new(area: &'static str, name: impl Into<String>, state: State, said: impl Into<String>) -> Self {
        Self {
            area,
            name: name.into(),
            state,
            said: said.into(),
            fix: None,
        }
    }

    fn ok(area: &'static str, name: impl Into<String>, said: impl Into<String>) -> Self {
        Self::new(area, name, State::Ok, said)
    }

    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// Looks, and prints what was found. Exit code 1 when something is broken.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let get = |name: &str| std::env::var(name).unwrap_or_default();
    let workspace = Workspace::find();
    // Settings that are wrong say so below.
    let settings = workspace.as_ref().ok().map(Settings::load);
    let pictures = match &settings {
        Some(Ok(resolved)) => resolved.settings.pictures.as_str(),
        _ => "auto",
    };
    let mut findings = terminal::terminal(&tui::abilities(pictures), get);
    if let Some(Err(error)) = &settings {
        findings.push(
            Finding::new("settings", "config.toml", State::Broken, error.to_string())
                .fix("mend what is named; `automem config check` looks again"),
        );
    }
    if !get("TMUX").is_empty() {
        findings.extend(terminal::tmux(terminal::tmux_option));
    }
    match workspace {
        Ok(workspace) => {
            findings.extend(machine::models(&workspace));
            findings.extend(machine::back_end());
            findings.extend(games::games());
            findings.extend(machine::folders(&workspace));
            findings.extend(machine::themes(&workspace));
            findings.extend(machine::runs(&workspace));
        }
        Err(error) => {
            findings.extend(machine::back_end());
            findings.extend(games::games());
            findings.push(
                Finding::new("folders", "workspace", State::Broken, error.to_string())
                    .fix("set AUTOMEM_HOME to a folder of yours"),
            );
        }
    }
    let broken = findings.iter().any(|finding| finding.state == State::Broken);
    if args.json {
        output::print_json(&serde_json::json!({"ok": !broken, "findings": findings}))?;
    } else {
        output::print_text(&report(&findings))?;
    }
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The findings for people, area by area.
fn report(findings: &[Finding]) -> String {
    let mut out = String::new();
    let mut area = "";
    for finding in findings {
        if finding.area != area {
            area = finding.area;
            out.push_str(&format!("{}{area}\n", if out.is_empty() { "" } else { "\n" }));
        }
        let sign = match finding.state {
            State::Ok => "ok    ",
            State::Note => "note  ",
            State::Warn => "warn  ",
            State::Broken => "BROKEN",
        };
        out.push_str(&format!(
            "  {sign}  {:<18} {}\n",
            sanitize(&finding.name),
            sanitize(&finding.said)
        ));
        if let Some(fix) = &finding.fix {
            out.push_str(&format!("          {:<18} fix: {}\n", "", sanitize(fix)));
        }
    }
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    out.push_str(&format!(
        "\n{} broken, {} to look at, {} fine\n",
        count(State::Broken),
        count(State::Warn),
        count(State::Ok)
    ));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_stands_with_its_fix_and_no_control_character() {
        let findings = [
            Finding::ok("terminal", "colours", "true colour"),
            Finding::new("models", "bad\u{1b}[2J", State::Broken, "cut short").fix("delete it"),
        ];
        let text = report(&findings);
        assert!(text.contains("ok      colours"), "{text}");
        assert!(text.contains("BROKEN") && text.contains("fix: delete it"), "{text}");
        assert!(text.contains("1 broken, 0 to look at, 1 fine"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }
}
