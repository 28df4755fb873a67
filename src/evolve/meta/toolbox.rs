//! The one table of tools: what a meta-LLM may call, with what, and what carries it out.
//!
//! Owns names, descriptions and arguments. To add a tool, add its line here.

use serde_json::Value;

use super::args::{Arg, Args, Kind, needed, optional, schema};
use super::bench::{Bench, Fault};
use super::{files, numbers, sql, traces};
use crate::llm::ToolSpec;

/// The tool that ends the work.
pub(super) const FINISH: &str = "finish";

type Run = fn(&mut Bench<'_>, &Args<'_>) -> Result<String, Fault>;

/// A tool.
pub(super) struct Tool {
    name: &'static str,
    about: &'static str,
    args: &'static [Arg],
    run: Run,
}

const RUN: Arg = optional("run", Kind::Number, "which run, from 0; 0 when left out");
const EPISODE: Arg = optional("episode", Kind::Number, "which episode, from 0; 0 when left out");
const LAST_STEP: Arg = optional("step", Kind::Number, "which step, from 0; the last one when left out");
const PAGE: Arg = optional("page", Kind::Number, "which page of a long text, from 0");

/// All tools but the one that ends the work.
#[rustfmt::skip]
const TOOLS: &[Tool] = &[
    Tool { name: "list_runs", about: "Lists the runs of the parent scaffold: world, model, actions, number of episodes.", args: &[], run: traces::list_runs },
    Tool { name: "list_episodes", about: "Lists the episodes of a run: seed, steps, progression, return, tokens, how it ended, and the steps with a reward.", args: &[RUN], run: traces::list_episodes },
    Tool { name: "metrics", about: "Gives behaviour metrics of a run as JSON, whole and by episode: rates of unproductive actions, redundant writes, empty retrievals, tokens a step, invalid actions, memory growth, retrieval use, progression.", args: &[RUN], run: numbers::metrics },
    Tool { name: "findings", about: "Gives named problems that rules found in a run, each with its severity, the steps that show it and what to try; then the failures of episodes, traced back to the memory decisions behind them.", args: &[RUN], run: numbers::findings },
    Tool { name: "read_steps", about: "Shows steps: what the agent saw, its answers, its memory operations with their results, its action, the reward. `detail` is `full` (up to 20 steps) or `short` (a line a step, up to 200).", args: &[RUN, EPISODE, needed("from", Kind::Number, "the first step, from 0"), optional("to", Kind::Number, "the last step; the first one when left out"), optional("detail", Kind::Text, "`full` or `short`")], run: traces::read_steps },
    Tool { name: "read_prompt", about: "Shows the exact prompt of a model call, its exact answer, and the results it got.", args: &[RUN, EPISODE, needed("step", Kind::Number, "which step"), optional("phase", Kind::Text, "LOG or PLAN; PLAN when left out"), optional("turn", Kind::Number, "which call of the phase, from 0"), PAGE], run: traces::read_prompt },
    Tool { name: "memory_files", about: "Lists the agent's memory files as they were at a step.", args: &[RUN, EPISODE, LAST_STEP], run: traces::memory_files },
    Tool { name: "read_memory_file", about: "Shows a memory file as it was at a step.", args: &[RUN, EPISODE, LAST_STEP, needed("path", Kind::Text, "the file's name"), PAGE], run: traces::read_memory_file },
    Tool { name: "search", about: "Finds a text in a run: observations, prompts, answers, memory operations, actions, notes. Capitals do not matter.", args: &[RUN, needed("text", Kind::Text, "what to look for")], run: traces::search },
    Tool { name: "sql", about: sql::ABOUT, args: &[needed("query", Kind::Text, "one SELECT")], run: sql::sql },
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
    let spec = |name: &str, about: &str, args: &[Arg]| ToolSpec {
        name: name.to_owned(),
        description: about.to_owned(),
        schema: schema(args),
    };
    let mut specs: Vec<ToolSpec> = TOOLS
        .iter()
        .map(|tool| spec(tool.name, tool.about, tool.args))
        .collect();
    specs.push(spec(
        FINISH,
        "Hands your draft in as the revision. It is checked; when something is wrong you are told, and may mend it.",
        FINISH_ARGS,
    ));
    specs
}

/// Carries out a call of any tool but [`FINISH`].
pub(super) fn call(bench: &mut Bench<'_>, name: &str, arguments: &Value) -> Result<String, Fault> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).chain([FINISH]).collect();
        return Err(Fault::Told(format!(
            "There is no tool `{name}`; there are: {}.",
            names.join(", ")
        )));
    };
    (tool.run)(bench, &Args::read(arguments, tool.args)?)
}
