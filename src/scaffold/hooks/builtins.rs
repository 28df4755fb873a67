//! What a script may call: effects, memory (read-only), patterns.
//!
//! Effects are plain dictionaries of one key, made by functions so that a misspelled one is found by the lint.

use regex::Regex;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::list::AllocList;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value};

use super::reach::Reach;

/// Patterns that are kept compiled.
const MOST_PATTERNS: usize = 256;

fn reach<'a>(eval: &Evaluator<'_, 'a, '_>) -> anyhow::Result<&'a Reach> {
    eval.extra
        .and_then(|extra| extra.downcast_ref::<Reach>())
        .ok_or_else(|| anyhow::anyhow!("this can only be called inside of hook()"))
}

/// `{name: {key: value, ...}}`.
fn effect<'v>(heap: Heap<'v>, name: &str, fields: &[(&str, Value<'v>)]) -> Value<'v> {
    let inner = heap.alloc(AllocDict(fields.iter().copied()));
    heap.alloc(AllocDict([(name, inner)]))
}

/// The functions that make effects.
#[starlark_module]
pub(super) fn effects(builder: &mut GlobalsBuilder) {
    /// Gives templates the values of the scaffold's own variables until the step is over.
    fn vars<'v>(#[starlark(kwargs)] kwargs: DictRef<'v>, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let inner = heap.alloc(AllocDict(kwargs.iter()));
        Ok(heap.alloc(AllocDict([("vars", inner)])))
    }

    /// Makes the first prompt of this phase from another template of `prompts/`.
    fn template<'v>(file: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(effect(heap, "template", &[("file", heap.alloc(file))]))
    }

    /// What a custom operation came to; status: ok, empty, unchanged, missing, refused, malformed.
    fn result<'v>(text: &str, #[starlark(default = "ok")] status: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let fields = [("text", heap.alloc(text)), ("status", heap.alloc(status))];
        Ok(effect(heap, "result", &fields))
    }

    /// Does not take the action; the model is told the message and goes on.
    fn reject<'v>(message: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(effect(heap, "reject", &[("message", heap.alloc(message))]))
    }

    /// Takes another action in the place of the one the model wrote.
    fn repair<'v>(action: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(effect(heap, "repair", &[("action", heap.alloc(action))]))
    }

    /// Adds a line at the end of a memory file.
    fn append<'v>(file: &str, text: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let fields = [("file", heap.alloc(file)), ("text", heap.alloc(text))];
        Ok(effect(heap, "append", &fields))
    }

    /// Replaces a memory file's whole text.
    fn write<'v>(file: &str, text: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let fields = [("file", heap.alloc(file)), ("text", heap.alloc(text))];
        Ok(effect(heap, "write", &fields))
    }

    /// Removes the lines of a memory file that begin with the prefix and adds the line at its end.
    fn upsert<'v>(
        file: &str,
        prefix: &str,
        #[starlark(default = "")] line: &str,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        let fields = [
            ("file", heap.alloc(file)),
            ("prefix", heap.alloc(prefix)),
            ("line", heap.alloc(line)),
        ];
        Ok(effect(heap, "upsert", &fields))
    }

    /// Keeps the newest lines of a memory file; the notice stands where the others were, {n} is how many.
    fn prune<'v>(
        file: &str,
        keep: u32,
        #[starlark(default = "")] notice: &str,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        let fields = [
            ("file", heap.alloc(file)),
            ("keep", heap.alloc(keep)),
            ("notice", heap.alloc(notice)),
        ];
        Ok(effect(heap, "prune", &fields))
    }

    /// Removes a memory file.
    fn delete<'v>(file: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(effect(heap, "delete", &[("file", heap.alloc(file))]))
    }

    /// Leaves a note in the record.
    fn note<'v>(text: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(effect(heap, "note", &[("text", heap.alloc(text))]))
    }
}

/// `memory.*`: the agent's files as they are before the call.
#[starlark_module]
pub(super) fn memory(builder: &mut GlobalsBuilder) {
    /// A file's text, or None when there is no such file.
    fn read<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<NoneOr<String>> {
        let files = reach(eval)?.files.borrow();
        Ok(files.get(path).map_or(NoneOr::None, |text| NoneOr::Other(text.clone())))
    }

    /// A file's lines; none when there is no such file.
    fn lines<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        let files = reach(eval)?.files.borrow();
        let text = files.get(path).map_or("", String::as_str);
        Ok(eval.heap().alloc(AllocList(text.lines())))
    }

    /// A file's last lines.
    fn tail<'v>(path: &str, n: u32, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        let files = reach(eval)?.files.borrow();
        let text = files.get(path).map_or("", String::as_str);
        let mut last: Vec<&str> = text.lines().rev().take(n as usize).collect();
        last.reverse();
        Ok(eval.heap().alloc(AllocList(last)))
    }

    /// How many lines a file has.
    fn count<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<u32> {
        let files = reach(eval)?.files.borrow();
        let lines = files.get(path).map_or(0, |text| text.lines().count());
        Ok(u32::try_from(lines).unwrap_or(u32::MAX))
    }

    /// The paths of all files.
    fn files<'v>(eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        let files = reach(eval)?.files.borrow();
        Ok(eval.heap().alloc(AllocList(files.keys().map(String::as_str))))
    }
}

/// The pattern, compiled once. Its matching time is linear in the text.
fn compiled(reach: &Reach, pattern: &str) -> anyhow::Result<Regex> {
    let mut known = reach.patterns.borrow_mut();
    if let Some(regex) = known.get(pattern) {
        return Ok(regex.clone());
    }
    let regex = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build()?;
    if known.len() >= MOST_PATTERNS {
        known.clear();
    }
    known.insert(pattern.to_owned(), regex.clone());
    Ok(regex)
}

fn groups<'v>(heap: Heap<'v>, found: &regex::Captures<'_>) -> Value<'v> {
    heap.alloc(AllocList(found.iter().map(|group| {
        group.map_or(NoneOr::None, |group| NoneOr::Other(group.as_str()))
    })))
}

/// `re.*`: regular expressions in the syntax of Rust's regex crate.
#[starlark_module]
pub(super) fn patterns(builder: &mut GlobalsBuilder) {
    /// Whether the pattern is somewhere in the text.
    fn test<'v>(pattern: &str, text: &str, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<bool> {
        Ok(compiled(reach(eval)?, pattern)?.is_match(text))
    }

    /// The first match as a list, the whole of it first and then its groups; None when there is none.
    fn search<'v>(pattern: &str, text: &str, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        let regex = compiled(reach(eval)?, pattern)?;
        Ok(match regex.captures(text) {
            Some(found) => groups(eval.heap(), &found),
            None => Value::new_none(),
        })
    }

    /// All matches, each as `search` gives it.
    fn findall<'v>(pattern: &str, text: &str, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        let regex = compiled(reach(eval)?, pattern)?;
        let heap = eval.heap();
        let found: Vec<Value<'v>> = regex.captures_iter(text).map(|found| groups(heap, &found)).collect();
        Ok(heap.alloc(AllocList(found)))
    }

    /// The text with every match replaced; `$1` is a group.
    fn sub<'v>(pattern: &str, by: &str, text: &str, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<String> {
        Ok(compiled(reach(eval)?, pattern)?.replace_all(text, by).into_owned())
    }
}
