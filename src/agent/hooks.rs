//! The scaffold's script in an episode: when it is asked, and how its effects are carried out.
//!
//! Whatever a script does wrong is recorded and shown, and the step goes on as if it had said nothing.
//! Must not decide what an answer of the model means; that is the phases' work.

use serde_json::{Map, Value, json};

use super::episode::{Episode, Fault};
use super::phases::Gating;
use crate::memory::OpResult;
use crate::scaffold::hooks::{HookEffect, Hooks, ResultWord};
use crate::scaffold::{CustomOp, OwnVars, Template, upserted};
use crate::types::{Action, Author, Body, MemoryChange, MemoryOp, OpStatus, Phase, TurnNo};

/// Failures after which a script is not asked any more in an episode.
const MOST_FAILURES: u32 = 10;

/// An effect on a memory file that was carried out: the operation's name, its arguments, its result.
type Done = (&'static str, Vec<String>, OpResult);

/// The script of an episode under way.
pub(super) struct Script {
    hooks: Option<Hooks>,
    /// How often it failed so far, resumed parts included.
    failures: u32,
    /// The templates' own variables in this step.
    pub(super) own: OwnVars,
    /// Another template for the first prompt of the phase that begins.
    pub(super) template: Option<String>,
}

impl Script {
    pub(super) fn new(hooks: Option<Hooks>, failures: u32) -> Self {
        Self {
            hooks: hooks.filter(|_| failures < MOST_FAILURES),
            failures,
            own: OwnVars::default(),
            template: None,
        }
    }

    /// Follows a change of memory.
    pub(super) fn memory_changed(&mut self, change: &MemoryChange) {
        if let Some(hooks) = &mut self.hooks {
            hooks.memory_changed(change);
        }
    }

    /// What changed in its state during the step, for the record.
    pub(super) fn take_patch(&mut self) -> Option<Value> {
        let patch = self.hooks.as_mut()?.take_patch()?;
        serde_json::to_value(patch).ok()
    }
}

impl Episode<'_> {
    /// Begins a step: variables have their defaults, and the script is told what holds for the step.
    pub(super) fn begin_script_step(&mut self) {
        let mut own = OwnVars::default();
        for (name, value) in &self.shared.scaffold.manifest().vars {
            own.set(name, value);
        }
        self.script.own = own;
        let Some(hooks) = &mut self.script.hooks else {
            return;
        };
        let previous = self.carry.previous.as_ref().map(|previous| {
            json!({
                "raw": previous.raw,
                "action": previous.action,
                "invalid": previous.invalid,
                "reward": previous.reward,
            })
        });
        let keys = json!({
            "step": self.at.step.0,
            "max_steps": self.shared.max_steps,
            "world": self.shared.world.name,
            "task": self.shared.world.task,
            "observation": self.frame.long,
            "status": self.frame.short,
            "unchanged": self.carry.unchanged,
            "previous": previous,
        });
        if let Value::Object(keys) = keys {
            hooks.begin_step(keys);
        }
    }

    /// Before the first prompt of a phase.
    pub(super) fn script_before(&mut self, phase: Phase) -> Result<(), Fault> {
        self.script.template = None;
        let kind = match phase {
            Phase::Log => "log",
            Phase::Plan => "plan",
        };
        self.ask_script(kind, Map::new(), phase).map(|_| ())
    }

    /// After LOG: the rules of the files first, then the script.
    pub(super) fn after_log(&mut self) -> Result<(), Fault> {
        self.file_rules()?;
        if self.script.hooks.is_none() {
            return Ok(());
        }
        let ops: Vec<Value> = self
            .ops_so_far()
            .map(|op| {
                json!({
                    "op": op.op, "args": op.args, "status": op.outcome.status.word(),
                    "by": match op.by { Author::Model => "model", Author::Scaffold => "scaffold", Author::Human => "human" },
                })
            })
            .collect();
        let event = Map::from_iter([("ops".to_owned(), Value::Array(ops))]);
        self.ask_script("log_end", event, Phase::Log).map(|_| ())
    }

    /// The commit gate: what the script says to an action.
    pub(super) fn script_gates(
        &mut self,
        raw: &str,
        action: Option<&Action>,
        rejections: u32,
    ) -> Result<Gating, Fault> {
        let event = Map::from_iter([
            ("raw".to_owned(), raw.into()),
            (
                "action".to_owned(),
                action.map_or(Value::Null, |action| action.0.clone().into()),
            ),
            ("rejections".to_owned(), rejections.into()),
        ]);
        let said = self.ask_script("action", event, Phase::Plan)?;
        Ok(said
            .into_iter()
            .find_map(|effect| match effect {
                HookEffect::Reject { message } => Some(Gating::Reject(message)),
                HookEffect::Repair { action } => Some(Gating::Repair(action)),
                _ => None,
            })
            .unwrap_or(Gating::Accept))
    }

    /// Carries out an operation of the scaffold's own: the script says what it comes to, and its
    /// changes of files are the operation's.
    pub(super) fn custom_op(&mut self, phase: Phase, op: &CustomOp, args: &[String]) -> Result<OpResult, Fault> {
        if let Some(told) = op.misfit(args) {
            return Ok(OpResult::told(OpStatus::Malformed, told));
        }
        let event = json!({ "name": op.syntax.name, "args": args, "phase": phase.word() });
        let Value::Object(event) = event else {
            return Ok(OpResult::told(OpStatus::Failed, "nothing was done"));
        };
        let Some(effects) = self.call_script("op", event) else {
            let told = "the scaffold's script failed, nothing was done";
            return Ok(OpResult::told(OpStatus::Failed, told));
        };
        let mut result = OpResult::told(OpStatus::Ok, "");
        let mut refused: Option<OpResult> = None;
        for effect in effects {
            if let HookEffect::Result { text, status } = effect {
                result.outcome.text = text;
                result.outcome.status = status_of(status);
                continue;
            }
            let changes_files = file_of(&effect).is_some();
            if changes_files && phase == Phase::Plan {
                self.script_failed("op", "PLAN cannot change memory; the operation's change was left out");
                continue;
            }
            match self.file_effect(&effect)? {
                Some((_, _, done)) => {
                    if !matches!(done.outcome.status, OpStatus::Ok | OpStatus::Unchanged) {
                        refused.get_or_insert(OpResult {
                            outcome: done.outcome,
                            changes: Vec::new(),
                        });
                    }
                    result.changes.extend(done.changes);
                }
                None => self.plain_effect("op", effect),
            }
        }
        // A quota that stood in the way is told, whatever the script hoped for.
        if let Some(refused) = refused {
            result.outcome = refused.outcome;
        }
        Ok(result)
    }

    /// Asks the script and carries out what changes files, variables and templates; gives the rest.
    fn ask_script(&mut self, kind: &str, event: Map<String, Value>, phase: Phase) -> Result<Vec<HookEffect>, Fault> {
        let mut rest = Vec::new();
        for effect in self.call_script(kind, event).unwrap_or_default() {
            if let Some((op, args, result)) = self.file_effect(&effect)? {
                self.record_upkeep(phase, op, args, result);
            } else if matches!(
                effect,
                HookEffect::Result { .. } | HookEffect::Reject { .. } | HookEffect::Repair { .. }
            ) {
                rest.push(effect);
            } else {
                self.plain_effect(kind, effect);
            }
        }
        Ok(rest)
    }

    /// One call; `None` when there is no script or it failed, which is recorded.
    fn call_script(&mut self, kind: &str, event: Map<String, Value>) -> Option<Vec<HookEffect>> {
        let hooks = self.script.hooks.as_mut()?;
        match hooks.call(kind, event) {
            Ok(effects) => Some(effects),
            Err(error) => {
                self.script_failed(kind, &error.to_string());
                None
            }
        }
    }

    fn script_failed(&mut self, kind: &str, what: &str) {
        self.script.failures += 1;
        let off = self.script.failures >= MOST_FAILURES;
        let mut message = what.to_owned();
        if off {
            self.script.hooks = None;
            message.push_str("; the script failed too often and is left out for the rest of the episode");
        }
        self.push(Body::HookFailed {
            hook: kind.to_owned(),
            message,
        });
    }

    /// Effects that change neither files nor the phase.
    fn plain_effect(&mut self, kind: &str, effect: HookEffect) {
        match effect {
            HookEffect::Vars(vars) => {
                for (name, value) in vars {
                    if self.shared.scaffold.manifest().vars.contains_key(&name) {
                        self.script.own.set(&name, &value);
                    } else {
                        let what = format!("[vars] of scaffold.toml does not have `{name}`");
                        self.script_failed(kind, &what);
                    }
                }
            }
            HookEffect::Template { file } => {
                if self.shared.scaffold.files().contains_key(&format!("prompts/{file}")) {
                    self.script.template = Some(file);
                } else {
                    self.script_failed(kind, &format!("there is no template prompts/{file}"));
                }
            }
            HookEffect::Note { text } => self.push(Body::Annotated { text }),
            other => self.script_failed(kind, &format!("the effect {other:?} means nothing here")),
        }
    }

    /// Carries out an effect on a memory file: the operation's name, its arguments, what it came to.
    fn file_effect(&mut self, effect: &HookEffect) -> Result<Option<Done>, Fault> {
        let old = |file: &str| {
            self.memory
                .files()
                .get(file)
                .map(|text| text.to_string())
                .unwrap_or_default()
        };
        let fault = |error: crate::memory::MemoryError| Fault::Other(error.to_string());
        let (op, args, result) = match effect {
            HookEffect::Append { file, text } => {
                let args = vec![file.clone(), text.clone()];
                let result = self.memory.run("APPEND", &args).map_err(fault)?;
                ("APPEND", args, result)
            }
            HookEffect::Write { file, text } => {
                let result = self.memory.set(file, text).map_err(fault)?;
                ("WRITE", vec![file.clone(), text.clone()], result)
            }
            HookEffect::Delete { file } => {
                let args = vec![file.clone()];
                let result = self.memory.run("DELETE", &args).map_err(fault)?;
                ("DELETE", args, result)
            }
            HookEffect::Upsert { file, prefix, line } => {
                let text = upserted(&old(file), prefix, line);
                let result = self.memory.set(file, &text).map_err(fault)?;
                ("UPSERT", vec![file.clone(), line.clone()], result)
            }
            HookEffect::Prune { file, keep, notice } => {
                let text = pruned(&old(file), *keep as usize, notice);
                let result = self.memory.set(file, &text).map_err(fault)?;
                ("PRUNE", vec![file.clone(), keep.to_string()], result)
            }
            _ => return Ok(None),
        };
        self.changed(&result.changes);
        Ok(Some((op, args, result)))
    }

    /// Applies the manifest's rules to the files that changed in this step.
    fn file_rules(&mut self) -> Result<(), Fault> {
        let manifest = self.shared.scaffold.manifest();
        let mut paths: Vec<String> = self.changes_so_far().map(|change| change.path.clone()).collect();
        paths.sort();
        paths.dedup();
        for path in paths {
            let (Some(spec), Some(text)) = (manifest.files.get(&path), self.memory.files().get(&path)) else {
                continue;
            };
            let Some(kept) = spec.upkeep(text) else { continue };
            let mut result = self
                .memory
                .set(&path, &kept.text)
                .map_err(|error| Fault::Other(error.to_string()))?;
            self.changed(&result.changes);
            let lines = if kept.gone == 1 { "line" } else { "lines" };
            result.outcome.text = format!("{} {lines} went: {}", kept.gone, kept.rules.join(", "));
            self.record_upkeep(Phase::Log, "UPKEEP", vec![path, kept.rules.join(" ")], result);
        }
        Ok(())
    }

    fn record_upkeep(&mut self, phase: Phase, op: &str, args: Vec<String>, result: OpResult) {
        self.push(Body::MemoryOp {
            op: Box::new(MemoryOp {
                phase,
                turn: TurnNo(0),
                op: op.to_owned(),
                args,
                by: Author::Scaffold,
                outcome: result.outcome,
                changes: result.changes,
            }),
        });
    }

    /// The template of a phase's first prompt, when it is not the usual one.
    pub(super) fn other_template(&self, phase: Phase) -> Option<(Template, String)> {
        let template = match phase {
            Phase::Log => Template::Log,
            Phase::Plan => Template::Plan,
        };
        let by_pattern = || {
            let when = &self.shared.scaffold.manifest().prompt.when;
            let fits = |pattern: &str| {
                regex::Regex::new(pattern)
                    .is_ok_and(|regex| regex.is_match(&self.frame.long) || regex.is_match(&self.frame.short))
            };
            let found = when.iter().find(|when| when.phase == phase && fits(&when.matches))?;
            Some(found.template.clone())
        };
        let file = self.script.template.clone().or_else(by_pattern)?;
        Some((template, file))
    }
}

fn status_of(word: ResultWord) -> OpStatus {
    match word {
        ResultWord::Ok => OpStatus::Ok,
        ResultWord::Empty => OpStatus::Empty,
        ResultWord::Unchanged => OpStatus::Unchanged,
        ResultWord::Missing => OpStatus::Missing,
        ResultWord::Refused => OpStatus::Refused,
        ResultWord::Malformed => OpStatus::Malformed,
    }
}

/// The memory file an effect changes.
fn file_of(effect: &HookEffect) -> Option<&str> {
    match effect {
        HookEffect::Append { file, .. }
        | HookEffect::Write { file, .. }
        | HookEffect::Upsert { file, .. }
        | HookEffect::Prune { file, .. }
        | HookEffect::Delete { file } => Some(file),
        _ => None,
    }
}

/// The newest lines of a text, the notice in the place of the others.
fn pruned(text: &str, keep: usize, notice: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= keep {
        return text.to_owned();
    }
    let room = keep.saturating_sub(usize::from(!notice.is_empty()));
    let gone = lines.len() - room;
    let mut new = String::new();
    if !notice.is_empty() {
        new.push_str(&notice.replace("{n}", &gone.to_string()));
        new.push('\n');
    }
    for line in &lines[gone..] {
        new.push_str(line);
        new.push('\n');
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pruning_keeps_the_newest() {
        assert_eq!(pruned("a\nb\nc\n", 2, ""), "b\nc\n");
        assert_eq!(pruned("a\nb\nc\n", 2, "[{n} gone]"), "[2 gone]\nc\n");
        assert_eq!(pruned("a\nb\n", 2, "[{n} gone]"), "a\nb\n");
        assert_eq!(pruned("a\nb", 0, ""), "");
    }
}
