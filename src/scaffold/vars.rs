//! The values that fill the templates: one type a kind of template, with a sample for `check`.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::value::Object;
use minijinja::{Error, ErrorKind, State, Value, context};

use crate::types::MemoryFiles;

/// What a template is filled with.
pub trait TemplateVars {
    /// The variables as a template sees them.
    fn to_value(&self) -> Value;
}

/// An operation as the prompts explain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpHelp {
    /// Its name in capitals.
    pub name: String,
    /// How it is written, with its tags.
    pub usage: String,
    /// What it does, in a line.
    pub help: String,
    /// It changes memory.
    pub writes: bool,
}

/// A memory file in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// Its path.
    pub path: String,
    /// Its lines.
    pub lines: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What the scaffold says it is for; empty for files the agent made.
    pub about: String,
}

/// The text of a memory file that stands in the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inlined {
    /// Its path.
    pub path: String,
    /// Its newest lines.
    pub text: String,
    /// Earlier text was left out.
    pub cut: bool,
}

/// For `system.md`: constant over an episode.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SystemVars {
    /// Name of the world.
    pub world: String,
    /// Task inside the world.
    pub task: String,
    /// Name of the scaffold.
    pub scaffold: String,
    /// The world's rules, as the world tells them.
    pub instructions: String,
    /// Names of all actions.
    pub actions: Vec<String>,
    /// What is played when there is no valid action.
    pub fallback: String,
    /// Steps the episode may take.
    pub max_steps: u32,
    /// Operations of LOG.
    pub log_ops: Vec<OpHelp>,
    /// Operations of PLAN.
    pub plan_ops: Vec<OpHelp>,
    /// The files the scaffold plans.
    pub planned_files: Vec<PlannedFile>,
    /// Model calls a LOG phase.
    pub log_turns: u32,
    /// Model calls a PLAN phase.
    pub plan_turns: u32,
    /// Operations an answer.
    pub ops_per_turn: u32,
}

/// A memory file as the scaffold plans it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// Its path.
    pub path: String,
    /// What it is for.
    pub about: String,
    /// `append`, `upsert` or `replace`.
    pub policy: String,
}

/// For `log.md` and `plan.md`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepVars {
    /// The step, from 0.
    pub step: u32,
    /// Steps the episode may take.
    pub max_steps: u32,
    /// The action the world got last; empty at step 0.
    pub previous_action: String,
    /// What the model had written for it; empty when it gave none.
    pub previous_raw: String,
    /// The model gave no valid action and the fallback was played.
    pub previous_invalid: bool,
    /// What is played when there is no valid action.
    pub fallback: String,
    /// Reward of the previous action.
    pub reward: f64,
    /// What is seen.
    pub observation_long: String,
    /// Status and inventory.
    pub observation_short: String,
    /// Steps in a row that showed the same observation (0: it is new).
    pub unchanged: u32,
    /// All memory files.
    pub files: Vec<FileLine>,
    /// Memory files that stand in the prompt.
    pub inlined: Vec<Inlined>,
    /// Operations of this phase.
    pub ops: Arc<Vec<OpHelp>>,
    /// Names of all actions.
    pub actions: Arc<Vec<String>>,
    /// Model calls this phase may make, this one included.
    pub turns_left: u32,
    /// All memory files with their text.
    pub memory: MemoryView,
    /// The scaffold's own variables.
    pub own: OwnVars,
}

/// For `log_continue.md`, `plan_continue.md` and `handoff.md`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContinueVars {
    /// The step, from 0.
    pub step: u32,
    /// This model call's number in the phase, from 1.
    pub turn: u32,
    /// Model calls this phase may make, this one included.
    pub turns_left: u32,
    /// What the operations gave back; empty when there were none.
    pub results: String,
    /// What was wrong with the last answer.
    pub notices: Vec<String>,
    /// All memory files with their text.
    pub memory: MemoryView,
    /// The scaffold's own variables.
    pub own: OwnVars,
}

/// For `consulted.md`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConsultedVars {
    /// The step, from 0.
    pub step: u32,
    /// The scaffold's own variables.
    pub own: OwnVars,
}

/// The scaffold's own variables with their values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OwnVars(BTreeMap<String, Value>);

impl OwnVars {
    /// From JSON, as the manifest and a script give them.
    pub fn set(&mut self, name: &str, value: &serde_json::Value) {
        self.0.insert(name.to_owned(), from_json(value));
    }

    fn to_value(&self) -> Value {
        Value::from(self.0.clone())
    }
}

/// A JSON value as templates have it. Numbers are taken one by one: serde_json keeps them as text
/// inside, and would hand that on.
fn from_json(value: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => Value::from(()),
        Json::Bool(flag) => Value::from(*flag),
        Json::String(text) => Value::from(text.as_str()),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(n), _) => Value::from(n),
            (None, x) => Value::from(x),
        },
        Json::Array(items) => items.iter().map(from_json).collect(),
        Json::Object(map) => {
            let map: BTreeMap<String, Value> = map.iter().map(|(key, value)| (key.clone(), from_json(value))).collect();
            Value::from(map)
        }
    }
}

/// The memory files as templates reach them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryView(pub MemoryFiles);

impl Object for MemoryView {
    fn call_method(self: &Arc<Self>, _: &mut State<'_, '_>, method: &str, args: &[Value]) -> Result<Value, Error> {
        let wrong = |what: &str| Error::new(ErrorKind::InvalidOperation, format!("memory.{method}: {what}"));
        let path = args.first().and_then(Value::as_str);
        let path = path.ok_or_else(|| wrong("the first argument is a file's path"))?;
        let text = self.0.get(path).map(|text| &**text);
        match method {
            "read" => Ok(text.map_or(Value::from(()), Value::from)),
            "count" => Ok(Value::from(text.map_or(0, |text| text.lines().count()))),
            "tail" => {
                let n = args.get(1).and_then(Value::as_usize);
                let n = n.ok_or_else(|| wrong("the second argument is a number of lines"))?;
                let mut last: Vec<&str> = text.unwrap_or_default().lines().rev().take(n).collect();
                last.reverse();
                Ok(Value::from(last.join("\n")))
            }
            _ => Err(Error::new(
                ErrorKind::UnknownMethod,
                format!("memory has no method `{method}`; there are read, tail, count"),
            )),
        }
    }
}

impl From<&OpHelp> for Value {
    fn from(op: &OpHelp) -> Self {
        context! { name => &op.name, usage => &op.usage, help => &op.help, writes => op.writes }
    }
}

impl From<&FileLine> for Value {
    fn from(file: &FileLine) -> Self {
        context! { path => &file.path, lines => file.lines, bytes => file.bytes, about => &file.about }
    }
}

impl From<&Inlined> for Value {
    fn from(file: &Inlined) -> Self {
        context! { path => &file.path, text => &file.text, cut => file.cut }
    }
}

impl From<&PlannedFile> for Value {
    fn from(file: &PlannedFile) -> Self {
        context! { path => &file.path, about => &file.about, policy => &file.policy }
    }
}

fn list<'a, T: 'a>(items: impl IntoIterator<Item = &'a T>) -> Value
where
    Value: From<&'a T>,
{
    items.into_iter().map(Value::from).collect()
}

impl TemplateVars for SystemVars {
    fn to_value(&self) -> Value {
        context! {
            world => &self.world,
            task => &self.task,
            scaffold => &self.scaffold,
            instructions => &self.instructions,
            actions => list(&self.actions),
            fallback => &self.fallback,
            max_steps => self.max_steps,
            log_ops => list(&self.log_ops),
            plan_ops => list(&self.plan_ops),
            planned_files => list(&self.planned_files),
            log_turns => self.log_turns,
            plan_turns => self.plan_turns,
            ops_per_turn => self.ops_per_turn,
        }
    }
}

impl TemplateVars for StepVars {
    fn to_value(&self) -> Value {
        context! {
            step => self.step,
            max_steps => self.max_steps,
            previous_action => &self.previous_action,
            previous_raw => &self.previous_raw,
            previous_invalid => self.previous_invalid,
            fallback => &self.fallback,
            reward => self.reward,
            observation_long => &self.observation_long,
            observation_short => &self.observation_short,
            unchanged => self.unchanged,
            files => list(&self.files),
            inlined => list(&self.inlined),
            ops => list(self.ops.iter()),
            actions => list(self.actions.iter()),
            turns_left => self.turns_left,
            memory => Value::from_object(self.memory.clone()),
            ..self.own.to_value()
        }
    }
}

impl TemplateVars for ContinueVars {
    fn to_value(&self) -> Value {
        context! {
            step => self.step,
            turn => self.turn,
            turns_left => self.turns_left,
            results => &self.results,
            notices => list(&self.notices),
            memory => Value::from_object(self.memory.clone()),
            ..self.own.to_value()
        }
    }
}

impl TemplateVars for ConsultedVars {
    fn to_value(&self) -> Value {
        context! { step => self.step, ..self.own.to_value() }
    }
}

/// Samples for `check`: a plain step, and one in which everything is set that can be.
pub(super) mod sample {
    use super::*;

    fn op(name: &str, writes: bool) -> OpHelp {
        OpHelp {
            name: name.to_owned(),
            usage: format!("<|{name}|>notes.txt<|END|>"),
            help: "An operation.".to_owned(),
            writes,
        }
    }

    pub(in crate::scaffold) fn system() -> SystemVars {
        SystemVars {
            world: "crafter".to_owned(),
            task: "default".to_owned(),
            scaffold: "sample".to_owned(),
            instructions: "The rules of the world.".to_owned(),
            actions: vec!["Noop".to_owned(), "Move West".to_owned()],
            fallback: "Noop".to_owned(),
            max_steps: 300,
            log_ops: vec![op("READ", false), op("APPEND", true)],
            plan_ops: vec![op("READ", false)],
            planned_files: vec![PlannedFile {
                path: "notes.txt".to_owned(),
                about: "What matters.".to_owned(),
                policy: "append".to_owned(),
            }],
            log_turns: 3,
            plan_turns: 3,
            ops_per_turn: 8,
        }
    }

    pub(in crate::scaffold) fn steps(own: &OwnVars) -> [StepVars; 2] {
        let plain = StepVars {
            own: own.clone(),
            step: 0,
            max_steps: 300,
            fallback: "Noop".to_owned(),
            observation_long: "You see:\n- tree 1 step to your west".to_owned(),
            observation_short: "Your status:\n- health: 9/9".to_owned(),
            ops: Arc::new(vec![op("READ", false)]),
            actions: Arc::new(vec!["Noop".to_owned(), "Move West".to_owned()]),
            turns_left: 1,
            ..StepVars::default()
        };
        let full = StepVars {
            step: 12,
            previous_action: "Noop".to_owned(),
            previous_raw: "Fly".to_owned(),
            previous_invalid: true,
            reward: 1.0,
            unchanged: 3,
            files: vec![FileLine {
                path: "notes.txt".to_owned(),
                lines: 12,
                bytes: 240,
                about: "What matters.".to_owned(),
            }],
            inlined: vec![Inlined {
                path: "notes.txt".to_owned(),
                text: "a line".to_owned(),
                cut: true,
            }],
            turns_left: 3,
            ..plain.clone()
        };
        [plain, full]
    }

    pub(in crate::scaffold) fn continues(own: &OwnVars) -> [ContinueVars; 2] {
        [
            ContinueVars {
                own: own.clone(),
                step: 12,
                turn: 2,
                turns_left: 1,
                ..ContinueVars::default()
            },
            ContinueVars {
                step: 12,
                turn: 2,
                turns_left: 2,
                results: "READ notes.txt: ok\na line".to_owned(),
                notices: vec!["A tag was not closed.".to_owned()],
                own: own.clone(),
                memory: MemoryView::default(),
            },
        ]
    }
}
