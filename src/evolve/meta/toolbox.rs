//! The table of a reviser's own tools, beside those over runs: what it may call, with what, and what carries it out.
//!
//! Owns names, descriptions and arguments. To add a tool, add its line here.

use serde_json::Value;

use super::bench::Bench;
use super::files;
use crate::llm::ToolSpec;
use crate::meta::args::{Arg, Args, Kind, needed, optional};
use crate::meta::{Fault, PAGE, Told, call_run_tool, no_such_tool, run_tools, spec};

/// The tool that ends the work.
pub(super) const FINISH: &str = "finish";

type Run = fn(&mut Bench<'_>, &Args<'_>) -> Told;

/// A tool.
pub(super) struct Tool {
    name: &'static str,
    about: &'static str,
    args: &'static [Arg],
    run: Run,
}

/// All of them but the one that ends the work.
#[rustfmt::skip]
const TOOLS: &[Tool] = &[
    Tool { name: "list_scaffold_files", about: "Lists the files of your draft and what you changed.", args: &[], run: files::list_scaffold_files },
    Tool { name: "read_scaffold_file", about: "Shows a file of your draft, or of the parent.", args: &[needed("path", Kind::Text, "the file's name"), optional("of", Kind::Text, "`draft` or `parent`; the draft when left out"), PAGE], run: files::read_scaffold_file },
    Tool { name: "write_file", about: "Writes a file of your draft, whole: what was there is replaced.", args: &[needed("path", Kind::Text, "the file's name, such as prompts/plan.md"), needed("content", Kind::Text, "its complete text")], run: files::write_file },
    Tool { name: "delete_file", about: "Deletes a file of your draft.", args: &[needed("path", Kind::Text, "the file's name")], run: files::delete_file },
    Tool { name: "diff", about: "Shows how your draft differs from the parent.", args: &[], run: files::diff },
    Tool { name: "check", about: "Checks your draft: loads it, looks whether it differs from what was tried, and rehearses twenty steps. Gives the problems with file, line and column.", args: &[], run: files::check },
];

/// Arguments of the tool that ends the work.
#[rustfmt::skip]
pub(super) const FINISH_ARGS: &[Arg] = &[
    needed("title", Kind::Text, "one line that names the revision"),
    needed("analysis", Kind::Text, "what goes wrong in the traces and why (Markdown)"),
    needed("method", Kind::Text, "what is changed, file by file, why, and what should become better (Markdown); becomes METHOD.md"),
    needed("evidence", Kind::Evidence, "steps that the analysis rests on"),
];

/// The tools as a model is told them.
pub(super) fn specs() -> Vec<ToolSpec> {
    let mut specs = run_tools();
    specs.extend(TOOLS.iter().map(|tool| spec(tool.name, tool.about, tool.args)));
    specs.push(spec(
        FINISH,
        "Hands your draft in as the revision. It is checked; when something is wrong you are told, and may mend it.",
        FINISH_ARGS,
    ));
    specs
}

/// Carries out a call of any tool but [`FINISH`].
pub(super) fn call(bench: &mut Bench<'_>, name: &str, arguments: &Value) -> Told {
    if let Some(told) = call_run_tool(&mut bench.runs, name, arguments) {
        return told;
    }
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        return Err(no_such_tool(name, &specs()));
    };
    let args = Args::read(arguments, tool.args).map_err(Fault::Told)?;
    (tool.run)(bench, &args)
}
