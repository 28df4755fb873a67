//! An agent's command line as a reviser, such as `claude -p`: it is given a folder, and what it leaves there is read.
//!
//! Owns the sequence: lay out, run, read back, once more with the problems. It runs with the rights of whoever started
//! us, as any command does; what it leaves is checked like everybody's.

mod folder;

use std::path::PathBuf;
use std::time::Duration;

use self::folder::{Folder, evidence_in};
use super::candidate::{Files, METHOD, Refusal, judge};
use super::reviser::{Reviser, ReviserError, ReviserNews, Revision, Task};
use crate::jobs::Cancel;
use crate::jobs::process::{self, Ended, Heard};
use crate::llm::Usage;
use crate::meta::{fresh, one_line};
use crate::protocol::sanitize::clean;

/// Lines of output that an error quotes.
const QUOTED: usize = 5;
/// Bytes of output that are shown in all.
const SHOWN: usize = 1 << 20;

/// How a command is run.
#[derive(Debug, Clone)]
pub struct CommandOptions {
    /// Time it may take, each time it is run.
    pub time_limit: Duration,
    /// Folder that work folders are kept in; `None` takes one that goes away.
    pub records: Option<PathBuf>,
}

/// See the module.
pub struct CommandReviser {
    command: String,
    options: CommandOptions,
}

/// Why what a command left is not taken.
enum Left {
    /// Something of it cannot be read.
    Wrong(Vec<String>),
    /// It is no scaffold that can be shown to a person.
    Refused(Refusal),
}

impl Left {
    fn words(&self) -> String {
        match self {
            Self::Wrong(wrong) => wrong.iter().map(|line| format!("- {line}\n")).collect(),
            Self::Refused(refusal) => refusal.words(),
        }
    }
}

impl CommandReviser {
    /// A reviser that runs a command line, as a shell understands it.
    ///
    /// # Errors
    /// When it is empty.
    pub fn new(command: &str, options: CommandOptions) -> Result<Self, ReviserError> {
        match command.trim() {
            "" => Err(ReviserError::Other(
                "the command is empty; write it as command:'claude -p'".to_owned(),
            )),
            command => Ok(Self {
                command: command.to_owned(),
                options,
            }),
        }
    }

    fn run(
        &self,
        folder: &Folder,
        brief: String,
        cancel: &Cancel,
        news: &mut dyn FnMut(ReviserNews),
    ) -> Result<Usage, ReviserError> {
        let mut last: Vec<String> = Vec::new();
        let mut shown = 0;
        let mut usage = Usage::default();
        let mut hear = |heard: Heard<'_>| {
            let Heard::Line { text, .. } = heard else { return };
            if let Some(told) = usage_in(text) {
                usage = told;
            }
            let text = clean(text).into_owned();
            shown += text.len();
            if shown <= SHOWN && !text.trim().is_empty() {
                last.push(one_line(&text, 200));
                last.drain(..last.len().saturating_sub(QUOTED));
                news(ReviserNews::Says { text: text + "\n" });
            }
        };
        let ended = process::run(
            process::shell(&self.command, &folder.0),
            brief,
            Some(self.options.time_limit),
            cancel,
            &mut hear,
        );
        let ended = ended.map_err(|error| {
            ReviserError::Other(format!(
                "{} could not be started: {error}; check that there is a shell",
                self.spec()
            ))
        })?;
        let said = match last.is_empty() {
            true => "it wrote nothing".to_owned(),
            false => format!("it wrote last: {}", last.join(" ␊ ")),
        };
        let spec = self.spec();
        match ended {
            Ended::Code(Some(0)) => Ok(usage),
            Ended::Code(Some(127)) => Err(ReviserError::Other(format!(
                "{spec}: the command was not found ({said}); install it, or give its path"
            ))),
            Ended::Code(code) => Err(ReviserError::Other(format!(
                "{spec} failed ({}): {said}; run it by hand in {} to see more",
                code.map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit code {code}")),
                folder.0.display()
            ))),
            Ended::TimedOut => Err(ReviserError::Other(format!(
                "{spec} took longer than {} s and was ended ({said}); set `meta.command_s` higher",
                self.options.time_limit.as_secs_f64()
            ))),
            Ended::Cancelled => Err(ReviserError::Cancelled),
        }
    }

    /// Reads what the command left; the files without their METHOD.md.
    fn take(&self, folder: &Folder, task: &Task) -> Result<Result<(Files, folder::Words), Left>, ReviserError> {
        let (files, words) = match (folder.files(), folder.words()) {
            (Ok(files), Ok(words)) => (files, words),
            (files, words) => {
                let mut wrong = files.err().unwrap_or_default();
                wrong.extend(words.err());
                return Ok(Err(Left::Wrong(wrong)));
            }
        };
        Ok(match judge(task, &files)? {
            Ok(()) => Ok((files, words)),
            Err(refusal) => Err(Left::Refused(refusal)),
        })
    }
}

impl Reviser for CommandReviser {
    fn spec(&self) -> String {
        format!("command:{}", self.command)
    }

    fn revise(
        &mut self,
        task: &Task,
        cancel: &Cancel,
        news: &mut dyn FnMut(ReviserNews),
    ) -> Result<Revision, ReviserError> {
        let passing = match &self.options.records {
            Some(_) => None,
            None => Some(tempfile::tempdir().map_err(|error| {
                ReviserError::Other(format!("no folder to work in could be made: {error}; check TMPDIR"))
            })?),
        };
        let folder = match (&self.options.records, &passing) {
            (Some(records), _) => Folder(fresh(records, "command", |path| std::fs::create_dir(path), "")?.0),
            (None, Some(passing)) => Folder(passing.path().to_owned()),
            (None, None) => return Err(ReviserError::Other("there is no folder to work in".to_owned())),
        };
        let mut called = |what: &str, outcome: String| {
            news(ReviserNews::Called {
                what: what.to_owned(),
                outcome,
            });
        };
        called("folder", folder.0.display().to_string());
        let brief = folder.lay_out(task, cancel)?;
        called("traces", format!("{} runs are laid out", task.runs.len()));
        let mut usage = self.run(&folder, brief, cancel, news)?;
        let mut taken = self.take(&folder, task)?;
        if let Err(left) = &taken {
            let words = left.words();
            news(ReviserNews::Called {
                what: "check".to_owned(),
                outcome: format!("refused: {}", one_line(&words, 300)),
            });
            let brief = format!(
                "# What you left cannot be used yet\n\nThe task is in BRIEF.md. Your work is still in output/. Mend this, \
                 then end:\n\n{words}"
            );
            folder.write("BRIEF-2.md", &brief)?;
            usage += self.run(&folder, brief, cancel, news)?;
            taken = self.take(&folder, task)?;
        }
        news(ReviserNews::Used { usage });
        let (mut files, words) = taken.map_err(|left| match left {
            Left::Refused(refusal) => refusal.error(self.spec()),
            Left::Wrong(wrong) => ReviserError::Nothing {
                spec: self.spec(),
                why: format!("what it left cannot be read: {}", wrong.join("; ")),
            },
        })?;
        files.insert(METHOD.to_owned(), format!("{}\n", words.method));
        Ok(Revision {
            evidence: evidence_in(&words.analysis, &task.runs),
            title: words.title,
            analysis: words.analysis,
            method: words.method,
            files,
            usage,
        })
    }
}

/// What a command's last line tells of its cost, in the form of `claude -p --output-format json`.
fn usage_in(line: &str) -> Option<Usage> {
    let line = line.trim();
    if !line.starts_with('{') {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let usage = value.get("usage")?;
    let number = |name: &str| usage[name].as_u64().unwrap_or(0);
    let cached = number("cache_read_input_tokens");
    Some(Usage {
        prompt: number("input_tokens") + cached + number("cache_creation_input_tokens"),
        cached,
        completion: number("output_tokens"),
        dollars: value["total_cost_usd"].as_f64().filter(|cost| cost.is_finite()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_is_told_is_taken() {
        let line = r#"{"type":"result","total_cost_usd":0.5,"usage":{"input_tokens":5,"cache_read_input_tokens":90,"output_tokens":7}}"#;
        let usage = usage_in(line).unwrap();
        assert_eq!(
            (usage.prompt, usage.cached, usage.completion, usage.dollars),
            (95, 90, 7, Some(0.5))
        );
        assert_eq!(usage_in("{\"a\": 1}"), None);
        assert_eq!(usage_in("hello"), None);
    }
}
