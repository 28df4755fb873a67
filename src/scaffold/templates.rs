//! The prompt templates: which there are, which variables each knows, how they are filled.

use std::collections::BTreeMap;
use std::ops::Range;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior};

use super::error::{ProblemAt, ScaffoldError};
use super::position::hint_among;
use super::vars::TemplateVars;

/// Folder of the templates inside a scaffold.
pub(super) const FOLDER: &str = "prompts/";

/// A kind of template. Every scaffold has those in [`Template::ALL`]; the others have a text of the program's when it
/// has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Template {
    /// The rules; the first message, constant over an episode.
    System,
    /// The first prompt of LOG.
    Log,
    /// Every later prompt of LOG.
    LogContinue,
    /// The first prompt of PLAN.
    Plan,
    /// Every later prompt of PLAN.
    PlanContinue,
    /// With two models, in PLAN: asks the gameplay model to commit after the specialist has looked into memory.
    Handoff,
    /// With two models: what the gameplay model is shown in the place of a specialist's answer that said nothing but an
    /// action.
    Consulted,
}

impl Template {
    /// Those that every scaffold has.
    pub const ALL: [Self; 5] = [
        Self::System,
        Self::Log,
        Self::LogContinue,
        Self::Plan,
        Self::PlanContinue,
    ];

    /// Those that a scaffold may have.
    pub const OPTIONAL: [Self; 2] = [Self::Handoff, Self::Consulted];

    /// All kinds.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(Self::OPTIONAL)
    }

    /// Its word in a manifest.
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Log => "log",
            Self::LogContinue => "log_continue",
            Self::Plan => "plan",
            Self::PlanContinue => "plan_continue",
            Self::Handoff => "handoff",
            Self::Consulted => "consulted",
        }
    }

    /// The program's own text, for scaffolds without this template.
    pub fn default_text(self) -> Option<&'static str> {
        match self {
            Self::Handoff => Some(HANDOFF),
            Self::Consulted => Some("(memory consultation complete)\n"),
            _ => None,
        }
    }

    /// The kind of a file in `prompts/` by how its name begins; `None` for a part that others include.
    fn of(path: &str) -> Option<Self> {
        let name = path.strip_prefix(FOLDER)?;
        // The longer words first: `log` begins `log_continue` too.
        [
            Self::LogContinue,
            Self::PlanContinue,
            Self::System,
            Self::Log,
            Self::Plan,
            Self::Handoff,
            Self::Consulted,
        ]
        .into_iter()
        .find(|template| name.starts_with(template.word()))
    }

    /// Its file inside the scaffold.
    pub fn file(self) -> &'static str {
        match self {
            Self::System => "prompts/system.md",
            Self::Log => "prompts/log.md",
            Self::LogContinue => "prompts/log_continue.md",
            Self::Plan => "prompts/plan.md",
            Self::PlanContinue => "prompts/plan_continue.md",
            Self::Handoff => "prompts/handoff.md",
            Self::Consulted => "prompts/consulted.md",
        }
    }
}

/// What the gameplay model is asked in the words of the program.
const HANDOFF: &str = "\
{% if results %}
RESULTS
{{ results }}

{% endif %}
{% if turns_left == 1 %}
Memory has been consulted. Commit your action now with <|ACTION|>...<|END|>.
{% else %}
Memory has been consulted. Commit your action with <|ACTION|>...<|END|>, or look further first ({{ turns_left }} answers left).
{% endif %}
";

/// A variable that templates may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub about: &'static str,
}

macro_rules! table {
    ($($name:literal: $about:literal,)*) => {
        &[$(Variable { name: $name, about: $about },)*]
    };
}

const SYSTEM: &[Variable] = table! {
    "world": "name of the world",
    "task": "task inside the world",
    "scaffold": "name of the scaffold",
    "instructions": "the world's rules in its own words",
    "actions": "names of all actions (a list)",
    "fallback": "action that is played when there is no valid one",
    "max_steps": "steps the episode may take",
    "log_ops": "operations of LOG: a list of {name, usage, help, writes}",
    "plan_ops": "operations of PLAN: a list of {name, usage, help, writes}",
    "planned_files": "the files of the manifest: a list of {path, about, policy}",
    "log_turns": "answers a LOG phase may take",
    "plan_turns": "answers a PLAN phase may take",
    "ops_per_turn": "operations one answer may ask for",
};

const STEP: &[Variable] = table! {
    "step": "the step, from 0",
    "max_steps": "steps the episode may take",
    "previous_action": "the action the world got last; empty at step 0",
    "previous_raw": "what the model had written for it; empty when it gave none",
    "previous_invalid": "true when that was no valid action and the fallback was played",
    "fallback": "action that is played when there is no valid one",
    "reward": "reward of the previous action",
    "observation_long": "what is seen",
    "observation_short": "status and inventory",
    "unchanged": "steps in a row that showed the same observation; 0 when it is new",
    "files": "all memory files: a list of {path, lines, bytes, about}",
    "inlined": "memory files shown in the prompt: a list of {path, text, cut}",
    "ops": "operations of this phase: a list of {name, usage, help, writes}",
    "actions": "names of all actions (a list)",
    "turns_left": "answers this phase may take, the next one included",
    "memory": "the files: memory.read(path), memory.tail(path, n), memory.count(path)",
};

const CONTINUE: &[Variable] = table! {
    "step": "the step, from 0",
    "turn": "number of the next answer in this phase, from 1",
    "turns_left": "answers this phase may take, the next one included",
    "results": "what the operations gave back; empty when there were none",
    "notices": "what was wrong with the last answer (a list)",
    "memory": "the files: memory.read(path), memory.tail(path, n), memory.count(path)",
};

const CONSULTED: &[Variable] = table! {
    "step": "the step, from 0",
};

/// The names the program gives to any template.
pub(super) fn step_names() -> impl Iterator<Item = &'static str> {
    [SYSTEM, STEP, CONTINUE]
        .into_iter()
        .flatten()
        .map(|variable| variable.name)
}

/// The variables a template knows; documentation and `scaffold check` share this table.
pub fn variables(template: Template) -> &'static [Variable] {
    match template {
        Template::System => SYSTEM,
        Template::Log | Template::Plan => STEP,
        Template::LogContinue | Template::PlanContinue | Template::Handoff => CONTINUE,
        Template::Consulted => CONSULTED,
    }
}

/// Names minijinja itself provides.
const GLOBALS: &[&str] = &["range", "dict", "debug", "namespace", "loop", "self", "super"];

/// Compiled templates.
#[derive(Debug)]
pub(super) struct Templates {
    environment: Environment<'static>,
}

impl Templates {
    /// Compiles everything under `prompts/`. Problems: a missing or empty template, a syntax
    /// error, a variable that does not exist.
    pub(super) fn compile(files: &BTreeMap<String, String>, own: &[&str]) -> (Self, Vec<ProblemAt>) {
        let mut problems = Vec::new();
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_debug(true);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.add_filter("find", find);
        if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
            environment.set_syntax(syntax);
        }
        for (path, text) in files.iter().filter(|(path, _)| path.starts_with(FOLDER)) {
            let name = &path[FOLDER.len()..];
            match environment.add_template_owned(name.to_owned(), text.clone()) {
                Ok(()) => problems.extend(unknown_variables(&environment, name, path, text, own)),
                Err(error) => problems.push(problem(path, text, &error, &[])),
            }
        }
        for template in Template::ALL {
            let hint =
                "every scaffold needs system.md, log.md, log_continue.md, plan.md and plan_continue.md in prompts/";
            match files.get(template.file()) {
                None => problems.push(ProblemAt::of_file(template.file(), "the template is missing", hint)),
                Some(text) if text.trim().is_empty() => {
                    problems.push(ProblemAt::of_file(
                        template.file(),
                        "the template is empty",
                        "write its prompt",
                    ));
                }
                Some(_) => {}
            }
        }
        for template in Template::OPTIONAL {
            let name = &template.file()[FOLDER.len()..];
            if let Some(text) = template.default_text()
                && !files.contains_key(template.file())
                && let Err(error) = environment.add_template(name, text)
            {
                problems.push(problem(template.file(), text, &error, &[]));
            }
        }
        (Self { environment }, problems)
    }

    /// Fills a template of this kind, a file in `prompts/`; a final line end is not part of the prompt.
    pub(super) fn render(
        &self,
        template: Template,
        name: &str,
        vars: &dyn TemplateVars,
    ) -> Result<String, ScaffoldError> {
        let file = format!("{FOLDER}{name}");
        let wrong = |error: &minijinja::Error| {
            let name = error
                .name()
                .map_or_else(|| file.clone(), |name| format!("{FOLDER}{name}"));
            let text = error.template_source().unwrap_or_default();
            ScaffoldError::Render(problem(&name, text, error, variables(template)))
        };
        let compiled = self.environment.get_template(name).map_err(|error| wrong(&error))?;
        let mut text = compiled.render(vars.to_value()).map_err(|error| wrong(&error))?;
        text.truncate(text.trim_end().len());
        Ok(text)
    }
}

/// `text | find(pattern)`: the first match as a list, the whole of it first and then its groups; none without.
fn find(text: &str, pattern: &str) -> Result<minijinja::Value, minijinja::Error> {
    let regex = regex::Regex::new(pattern)
        .map_err(|error| minijinja::Error::new(ErrorKind::InvalidOperation, error.to_string()))?;
    Ok(match regex.captures(text) {
        Some(found) => found
            .iter()
            .map(|group| group.map_or(minijinja::Value::from(()), |group| group.as_str().into()))
            .collect(),
        None => ().into(),
    })
}

/// A template error with its place and a hint.
fn problem(file: &str, text: &str, error: &minijinja::Error, known: &[Variable]) -> ProblemAt {
    let names: Vec<&str> = known.iter().map(|variable| variable.name).collect();
    let message = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let range = error.range().filter(|range| text.get(range.clone()).is_some());
    let hint = match error.kind() {
        ErrorKind::UndefinedError if !names.is_empty() => format!("the variables are: {}", names.join(", ")),
        ErrorKind::SyntaxError => "see the minijinja documentation on syntax".to_owned(),
        ErrorKind::UnknownFilter | ErrorKind::UnknownTest | ErrorKind::UnknownFunction => {
            "only minijinja's own filters, tests and functions exist here, and `find(pattern)`".to_owned()
        }
        _ => String::new(),
    };
    match (range, error.line()) {
        (Some(range), _) => ProblemAt::at(file, text, range.start, message, hint),
        (None, line) => ProblemAt {
            line: line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
            column: u32::from(line.is_some()),
            ..ProblemAt::of_file(file, message, hint)
        },
    }
}

/// Every use of a variable the template does not know, wherever it stands.
fn unknown_variables(
    environment: &Environment<'_>,
    name: &str,
    path: &str,
    text: &str,
    own: &[&str],
) -> Vec<ProblemAt> {
    let kind = Template::of(path);
    let mut known: Vec<&str> = match kind {
        Some(template) => variables(template).iter().map(|variable| variable.name).collect(),
        // A part that others include may use what any of them knows.
        None => step_names().collect(),
    };
    if kind != Some(Template::System) {
        known.extend(own);
    }
    let Ok(template) = environment.get_template(name) else {
        return Vec::new();
    };
    let mut unknown: Vec<String> = template
        .undeclared_variables(false)
        .into_iter()
        .filter(|word| !known.contains(&word.as_str()) && !GLOBALS.contains(&word.as_str()))
        .collect();
    unknown.sort();
    let mut problems = Vec::new();
    for word in unknown {
        let hint = hint_among(&word, &known);
        let message = format!("unknown variable `{word}`");
        let places = uses(text, &word);
        if places.is_empty() {
            problems.push(ProblemAt::of_file(path, message.clone(), hint.clone()));
        }
        problems.extend(
            places
                .into_iter()
                .map(|at| ProblemAt::at(path, text, at, message.clone(), hint.clone())),
        );
    }
    problems
}

/// Offsets at which a name stands alone inside `{{ }}` or `{% %}`, outside quotes and not after a dot.
fn uses(text: &str, word: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for code in code_parts(text) {
        let part = &text[code.clone()];
        let mut quote = None;
        let mut previous = ' ';
        let mut skip_to = 0;
        for (at, c) in part.char_indices() {
            if at < skip_to {
                continue;
            }
            match quote {
                Some(open) if c == open => quote = None,
                Some(_) => {}
                None if c == '"' || c == '\'' => quote = Some(c),
                None if is_word(c) && !is_word(previous) => {
                    let end = part[at..].find(|c| !is_word(c)).map_or(part.len(), |len| at + len);
                    if &part[at..end] == word && previous != '.' {
                        found.push(code.start + at);
                    }
                    skip_to = end;
                }
                None => {}
            }
            previous = c;
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn code_parts(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find('{').map(|at| from + at) {
        let close = match text.as_bytes().get(open + 1) {
            Some(b'{') => "}}",
            Some(b'%') => "%}",
            Some(b'#') => "#}",
            _ => {
                from = open + 1;
                continue;
            }
        };
        let end = text[open..].find(close).map_or(text.len(), |at| open + at);
        if close != "#}" {
            parts.push(open + 2..end.max(open + 2));
        }
        from = end.max(open + 2);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::vars::{OwnVars, sample};
    use super::*;

    #[test]
    fn the_table_names_exactly_what_templates_get() {
        let names = |template| {
            variables(template)
                .iter()
                .map(|v| v.name.to_owned())
                .collect::<Vec<_>>()
        };
        let keys = |vars: &dyn TemplateVars| {
            let mut keys: Vec<String> = vars.to_value().try_iter().unwrap().map(|key| key.to_string()).collect();
            keys.sort();
            keys
        };
        let sorted = |mut list: Vec<String>| {
            list.sort();
            list
        };
        assert_eq!(keys(&sample::system()), sorted(names(Template::System)));
        assert_eq!(
            keys(&sample::steps(&OwnVars::default())[0]),
            sorted(names(Template::Log))
        );
        assert_eq!(
            keys(&sample::continues(&OwnVars::default())[0]),
            sorted(names(Template::PlanContinue))
        );
        assert_eq!(
            keys(&super::super::ConsultedVars::default()),
            sorted(names(Template::Consulted))
        );
    }

    #[test]
    fn finds_the_place_of_a_name() {
        let text = "step {{ file.step }} {# step #}\n{% if step > 1 %}{{ 'step' }}{{ steps }}{% endif %}";
        assert_eq!(uses(text, "step"), vec![text.find("step > 1").unwrap()]);
    }
}
