//! A script as such: parsed, checked, and called with a state and an event.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value as Json};
use starlark::analysis::AstModuleLint;
use starlark::environment::{FrozenModule, Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::Evaluator;
use starlark::syntax::{AstModule, Dialect};
use starlark::values::dict::AllocDict;
use starlark::values::list::AllocList;
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, Value};

use super::HOOKS;
use super::builtins;
use super::limits::Limits;
use super::reach::Reach;
use super::wire::{Done, HookEffect, Migrated, StatePatch};
use crate::scaffold::error::ProblemAt;

/// The function every script has.
pub(super) const ENTRY: &str = "hook";
/// The function that brings memory of an earlier version into the form of this one.
pub(super) const MIGRATE: &str = "migrate";

/// A script that is loaded and can be called.
pub(super) struct Script {
    module: FrozenModule,
    limits: Limits,
}

fn globals() -> Globals {
    GlobalsBuilder::extended_by(&[
        LibraryExtension::StructType,
        LibraryExtension::Json,
        LibraryExtension::Print,
        LibraryExtension::Map,
        LibraryExtension::Filter,
        LibraryExtension::SetType,
    ])
    .with(builtins::effects)
    .with_namespace("memory", builtins::memory)
    .with_namespace("re", builtins::patterns)
    .build()
}

fn dialect() -> Dialect {
    Dialect {
        enable_load: false,
        enable_load_reexport: false,
        enable_keyword_only_arguments: true,
        enable_f_strings: true,
        ..Dialect::Standard
    }
}

fn parse(source: &str) -> starlark::Result<AstModule> {
    AstModule::parse(HOOKS, source.to_owned(), &dialect())
}

/// An error on one line, with its place.
pub(super) fn told(error: &starlark::Error) -> String {
    let what = error.without_diagnostic().to_string();
    // Some of starlark's errors explain themselves over several lines.
    let what = what.trim().lines().collect::<Vec<_>>().join(" ");
    match error.span() {
        Some(span) => {
            let at = span.resolve_span().begin;
            format!("{HOOKS}:{}:{}: {what}", at.line + 1, at.column + 1)
        }
        None => format!("{HOOKS}: {what}"),
    }
}

/// What can be said against a script without running it: syntax, names that do not exist, a missing `hook`.
pub fn lint(source: &str) -> Vec<ProblemAt> {
    let ast = match parse(source) {
        Ok(ast) => ast,
        Err(error) => {
            let at = error.span().map(|span| span.resolve_span().begin);
            let message = error.without_diagnostic().to_string();
            return vec![placed(
                at,
                message.trim(),
                "mend the syntax (Starlark is a small Python)",
            )];
        }
    };
    let known = globals();
    let names: HashSet<String> = known.names().map(|name| name.as_str().to_owned()).collect();
    let mut problems: Vec<ProblemAt> = ast
        .lint(Some(&names))
        .into_iter()
        // A hook has two arguments, whether or not it needs both; speed is the limits' business.
        .filter(|lint| lint.short_name != "unused-argument" && !lint.short_name.contains("inefficient"))
        .map(|lint| {
            let hint = format!("`# starlark-lint-disable {}` on the line allows it", lint.short_name);
            placed(Some(lint.location.resolve_span().begin), &lint.problem, &hint)
        })
        .collect();
    if !defines(source, ENTRY) {
        let hint = "write `def hook(state, event):` that returns (state, effects)";
        problems.push(ProblemAt::of_file(HOOKS, "there is no function `hook`", hint));
    }
    problems
}

/// Whether a script defines a function, as far as its text shows.
fn defines(source: &str, name: &str) -> bool {
    let rest = |line: &str| {
        Some(
            line.strip_prefix("def ")?
                .trim_start()
                .strip_prefix(name)?
                .trim_start()
                .starts_with('('),
        )
    };
    source.lines().any(|line| rest(line) == Some(true))
}

/// Whether a script can migrate memory.
pub fn can_migrate(source: &str) -> bool {
    defines(source, MIGRATE)
}

fn placed(at: Option<starlark::codemap::ResolvedPos>, message: &str, hint: &str) -> ProblemAt {
    let number = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
    ProblemAt {
        line: at.map_or(0, |at| number(at.line)),
        column: at.map_or(0, |at| number(at.column)),
        ..ProblemAt::of_file(HOOKS, message, hint)
    }
}

impl Script {
    /// Runs the script's top level, which defines its functions; `entry` must be one of them.
    ///
    /// # Errors
    /// What is wrong with it, on one line.
    pub(super) fn load(source: &str, limits: Limits, reach: &Reach, entry: &str) -> Result<Self, String> {
        let ast = parse(source).map_err(|error| told(&error))?;
        let module = Module::with_temp_heap(|module| -> Result<FrozenModule, String> {
            {
                let mut eval = Evaluator::new(&module);
                bound(&mut eval, &limits);
                eval.set_print_handler(reach);
                eval.extra = Some(reach);
                eval.eval_module(ast, &globals()).map_err(|error| told(&error))?;
            }
            module.freeze().map_err(|error| format!("{HOOKS}: {error:?}"))
        })?;
        if module.get(entry).is_err() {
            let arguments = if entry == MIGRATE { "files" } else { "state, event" };
            return Err(format!("{HOOKS}: there is no function `{entry}({arguments})`"));
        }
        Ok(Self { module, limits })
    }

    /// One call. `state` stays as it is: the caller applies the patch once it is answered.
    ///
    /// # Errors
    /// What went wrong, on one line.
    pub(super) fn call(
        &self,
        state: &Map<String, Json>,
        event: &Map<String, Json>,
        reach: &Reach,
    ) -> Result<Done, String> {
        drop(reach.take_printed());
        let (new, mut effects) = Module::with_temp_heap(|module| {
            let hook = self.module.get(ENTRY).map_err(|error| error.to_string())?;
            let heap = module.heap();
            let arguments = [state_value(heap, state), event_value(heap, event)];
            let hook = heap.access_owned_frozen_value(&hook);
            let given = {
                let mut eval = Evaluator::new(&module);
                bound(&mut eval, &self.limits);
                eval.set_print_handler(reach);
                eval.extra = Some(reach);
                eval.eval_function(hook, &arguments, &[])
                    .map_err(|error| told(&error))?
            };
            taken_apart(given)
        })?;
        effects.extend(reach.take_printed().into_iter().map(|text| HookEffect::Note { text }));
        let Some(new) = new else {
            return Ok(Done {
                patch: StatePatch::default(),
                effects,
            });
        };
        Ok(Done {
            patch: StatePatch::between(state, &new),
            effects,
        })
    }
}

impl Script {
    /// Memory files in the form of this version. Nothing is written: what comes back is a suggestion.
    ///
    /// # Errors
    /// What went wrong, on one line.
    pub(super) fn migrate(&self, files: &BTreeMap<String, String>, reach: &Reach) -> Result<Migrated, String> {
        drop(reach.take_printed());
        let files = Module::with_temp_heap(|module| {
            let migrate = self.module.get(MIGRATE).map_err(|error| error.to_string())?;
            let heap = module.heap();
            let texts = files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
            let argument = heap.alloc(AllocDict(texts));
            let migrate = heap.access_owned_frozen_value(&migrate);
            let given = {
                let mut eval = Evaluator::new(&module);
                bound(&mut eval, &self.limits);
                eval.set_print_handler(reach);
                eval.extra = Some(reach);
                eval.eval_function(migrate, &[argument], &[])
                    .map_err(|error| told(&error))?
            };
            let wrong = |what: &str| format!("{HOOKS}: {MIGRATE} returned {what} instead of a dictionary of texts");
            match given.to_json_value() {
                Ok(Json::Object(map)) => map
                    .into_iter()
                    .map(|(path, text)| match text {
                        Json::String(text) => Ok((path, text)),
                        _ => Err(wrong(&format!("no text for `{path}`"))),
                    })
                    .collect(),
                _ => Err(wrong(given.get_type())),
            }
        })?;
        Ok(Migrated {
            files,
            notes: reach.take_printed(),
        })
    }
}

fn bound(eval: &mut Evaluator<'_, '_, '_>, limits: &Limits) {
    // Each is set once on a new evaluator and none is zero: they cannot fail.
    drop(eval.set_max_tick_count(limits.ticks.max(1)));
    drop(eval.set_max_heap_size(usize::try_from(limits.heap_bytes.max(1)).unwrap_or(usize::MAX)));
    drop(eval.set_max_callstack_size(200));
}

/// State as a dictionary that the script may change.
fn state_value<'v>(heap: Heap<'v>, state: &Map<String, Json>) -> Value<'v> {
    heap.alloc(AllocDict(
        state.iter().map(|(key, value)| (key.as_str(), dict_value(heap, value))),
    ))
}

fn dict_value<'v>(heap: Heap<'v>, value: &Json) -> Value<'v> {
    match value {
        Json::Object(map) => state_value(heap, map),
        Json::Array(items) => heap.alloc(AllocList(items.iter().map(|item| dict_value(heap, item)))),
        other => scalar(heap, other),
    }
}

/// An event as a struct, so that a script writes `event.previous.action`.
fn event_value<'v>(heap: Heap<'v>, event: &Map<String, Json>) -> Value<'v> {
    heap.alloc(AllocStruct(
        event
            .iter()
            .map(|(key, value)| (key.as_str(), struct_value(heap, value))),
    ))
}

fn struct_value<'v>(heap: Heap<'v>, value: &Json) -> Value<'v> {
    match value {
        Json::Object(map) => event_value(heap, map),
        Json::Array(items) => heap.alloc(AllocList(items.iter().map(|item| struct_value(heap, item)))),
        other => scalar(heap, other),
    }
}

fn scalar<'v>(heap: Heap<'v>, value: &Json) -> Value<'v> {
    match value {
        Json::Bool(flag) => Value::new_bool(*flag),
        Json::String(text) => heap.alloc(text.as_str()),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(n), _) => heap.alloc(n),
            (None, Some(x)) => heap.alloc(x),
            (None, None) => Value::new_none(),
        },
        _ => Value::new_none(),
    }
}

type Given = (Option<Map<String, Json>>, Vec<HookEffect>);

/// What a hook returned: `(state, effects)`, or None for neither.
fn taken_apart(given: Value<'_>) -> Result<Given, String> {
    if given.is_none() {
        return Ok((None, Vec::new()));
    }
    let wrong = || {
        format!(
            "{HOOKS}: hook returned {} instead of (state, effects)",
            given.get_type()
        )
    };
    let pair = TupleRef::from_value(given).ok_or_else(wrong)?;
    let &[state, effects] = pair.content() else {
        return Err(wrong());
    };
    let json = |value: Value<'_>, what: &str| {
        value
            .to_json_value()
            .map_err(|error| format!("{HOOKS}: {what} cannot be written as JSON: {error}"))
    };
    let state = match json(state, "the state")? {
        Json::Object(map) => Some(map),
        Json::Null => None,
        _ => return Err(format!("{HOOKS}: the state is {}, not a dictionary", state.get_type())),
    };
    let effects = match json(effects, "an effect")? {
        Json::Array(list) => list,
        Json::Null => Vec::new(),
        other => vec![other],
    };
    let effects = effects
        .into_iter()
        .filter(|effect| !effect.is_null())
        .map(|effect| {
            let shown: String = effect.to_string().chars().take(80).collect();
            serde_json::from_value(effect).map_err(|error| format!("{HOOKS}: {shown} is no effect: {error}"))
        })
        .collect::<Result<_, _>>()?;
    Ok((state, effects))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(source: &str, state: &mut Map<String, Json>, event: Json) -> Result<Done, String> {
        let reach = Reach::default();
        let notes = "one\ntwo\nthree\n".to_owned();
        reach.files.borrow_mut().insert("notes.txt".into(), notes);
        let limits = Limits {
            ticks: 10_000,
            ..Limits::default()
        };
        let script = Script::load(source, limits, &reach, ENTRY)?;
        let Json::Object(event) = event else {
            panic!("an event is an object")
        };
        let done = script.call(state, &event, &reach)?;
        done.patch.apply(state);
        Ok(done)
    }

    #[test]
    fn state_goes_in_and_out() {
        let source = r#"
def hook(state, event):
    state["n"] = state.get("n", 0) + event.add
    state.setdefault("ring", []).append(event.previous.action)
    return state, [vars(count = state["n"], half = 0.5), note("seen")]
"#;
        let mut state = Map::new();
        let event = || serde_json::json!({"add": 2, "previous": {"action": "Noop"}});
        run(source, &mut state, event()).unwrap();
        let done = run(source, &mut state, event()).unwrap();
        assert_eq!(
            Json::Object(state),
            serde_json::json!({"n": 4, "ring": ["Noop", "Noop"]})
        );
        assert_eq!(done.effects.len(), 2);
        let HookEffect::Vars(vars) = &done.effects[0] else {
            panic!("{:?}", done.effects)
        };
        assert_eq!(vars["count"].as_u64(), Some(4));
        assert_eq!(vars["half"].as_f64(), Some(0.5));
    }

    #[test]
    fn memory_and_patterns_are_at_hand() {
        let source = r#"
def hook(state, event):
    found = re.search("health: (\\d+)", event.text)
    lines = memory.tail("notes.txt", 2)
    return {}, [
        vars(health = int(found[1]), last = lines, all = memory.files(), none = memory.read("nothing")),
        upsert("map.txt", "3,4:", "3,4: tree"),
        result("done") if re.test("^Y", event.text) else reject(re.sub("[0-9]+", "N", event.text)),
    ]
"#;
        let done = run(source, &mut Map::new(), serde_json::json!({"text": "Your health: 7"})).unwrap();
        let HookEffect::Vars(vars) = &done.effects[0] else {
            panic!("{:?}", done.effects)
        };
        assert_eq!(
            Json::Object(vars.clone()),
            serde_json::json!({"health": 7, "last": ["two", "three"], "all": ["notes.txt"], "none": null})
        );
        assert!(matches!(&done.effects[1], HookEffect::Upsert { prefix, .. } if prefix == "3,4:"));
        assert!(
            matches!(&done.effects[2], HookEffect::Result { text, status: super::super::ResultWord::Ok } if text == "done")
        );
    }

    #[test]
    fn failures_say_where_and_leave_the_state() {
        for (source, told) in [
            (
                "def hook(state, event):\n    state['a'] = 1\n    return state.x\n",
                "hooks.star:3:",
            ),
            ("def hook(state, event):\n    return 1\n", "instead of (state, effects)"),
            (
                "def hook(state, event):\n    return state, [{'explode': 1}]\n",
                "is no effect",
            ),
            (
                "def hook(state, event):\n    return {'f': hook}, []\n",
                "cannot be written as JSON",
            ),
            ("def hook(state, event):\n    return [], []\n", "not a dictionary"),
            (
                "def hook(state, event):\n    return state, [int('x') for _ in range(3)]\n",
                "hooks.star:2:",
            ),
            (
                "def hook(state, event):\n    for i in range(100000000):\n        pass\n",
                "tick",
            ),
            (
                "def hook(state, event):\n    x = [0]\n    for i in range(5000):\n        x = x + [x] * 1000\n",
                "memory",
            ),
            ("x = 1\n", "no function `hook(state, event)`"),
            ("def hook(\n", "hooks.star:2:"),
        ] {
            let mut state = Map::from_iter([("a".to_owned(), Json::from(0))]);
            let error = run(source, &mut state, serde_json::json!({})).unwrap_err();
            assert!(error.to_lowercase().contains(&told.to_lowercase()), "{source}: {error}");
            assert!(!error.contains('\n'), "{error}");
            assert_eq!(state["a"], 0, "{source}");
        }
    }

    #[test]
    fn lint_finds_names_that_do_not_exist() {
        let problems = lint("def hook(state, event):\n    return state, [frobnicate(1)]\n");
        assert!(
            problems.iter().any(|p| p.line == 2 && p.message.contains("frobnicate")),
            "{problems:?}"
        );
        assert!(
            lint("def other():\n    return 1\n")
                .iter()
                .any(|p| p.message.contains("`hook`"))
        );
        assert_eq!(lint("def hook(state, event):\n    return state, [vars(a = 1)]\n"), []);
    }

    #[test]
    fn printing_becomes_notes_and_is_bounded() {
        let source =
            "def hook(state, event):\n    for i in range(1000):\n        print('x' * 1000)\n    return state, []\n";
        let done = run(source, &mut Map::new(), serde_json::json!({})).unwrap();
        assert_eq!(done.effects.len(), super::super::reach::MOST_PRINTED);
    }
}
