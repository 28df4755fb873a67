//! The one table of tools over runs: what a meta-LLM may call, with what, and what carries it out.
//!
//! Owns names, descriptions and arguments. To add a tool, add its line here; tools for what somebody works on are in a
//! table of his own.

use serde_json::Value;

use super::args::{Arg, Args, Kind, needed, optional, schema};
use super::error::Fault;
use super::runs::Runs;
use super::{numbers, sql, traces};
use crate::llm::ToolSpec;

/// What a tool gives.
pub type Told = Result<String, Fault>;

type Run = fn(&mut Runs<'_>, &Args<'_>) -> Told;

/// A tool over runs.
struct Tool {
    name: &'static str,
    about: &'static str,
    args: &'static [Arg],
    run: Run,
}

const RUN: Arg = optional("run", Kind::Number, "which run, from 0; 0 when left out");
const EPISODE: Arg = optional("episode", Kind::Number, "which episode, from 0; 0 when left out");
const LAST_STEP: Arg = optional("step", Kind::Number, "which step, from 0; the last one when left out");
/// A page of a long text.
pub const PAGE: Arg = optional("page", Kind::Number, "which page of a long text, from 0");

#[rustfmt::skip]
const TOOLS: &[Tool] = &[
    Tool { name: "list_runs", about: "Lists the runs: world, model, actions, number of episodes.", args: &[], run: traces::list_runs },
    Tool { name: "list_episodes", about: "Lists the episodes of a run: seed, steps, progression, return, tokens, how it ended, and the steps with a reward.", args: &[RUN], run: traces::list_episodes },
    Tool { name: "metrics", about: "Gives behaviour metrics of a run as JSON, whole and by episode: rates of unproductive actions, redundant writes, empty retrievals, tokens a step, invalid actions, memory growth, retrieval use, progression.", args: &[RUN], run: numbers::metrics },
    Tool { name: "findings", about: "Gives named problems that rules found in a run, each with its severity, the steps that show it and what to try; then the failures of episodes, traced back to the memory decisions behind them.", args: &[RUN], run: numbers::findings },
    Tool { name: "read_steps", about: "Shows steps: what the agent saw, its answers, its memory operations with their results, its action, the reward. `detail` is `full` (up to 20 steps) or `short` (a line a step, up to 200).", args: &[RUN, EPISODE, needed("from", Kind::Number, "the first step, from 0"), optional("to", Kind::Number, "the last step; the first one when left out"), optional("detail", Kind::Text, "`full` or `short`")], run: traces::read_steps },
    Tool { name: "read_prompt", about: "Shows the exact prompt of a model call, its exact answer, and the results it got.", args: &[RUN, EPISODE, needed("step", Kind::Number, "which step"), optional("phase", Kind::Text, "LOG or PLAN; PLAN when left out"), optional("turn", Kind::Number, "which call of the phase, from 0"), PAGE], run: traces::read_prompt },
    Tool { name: "memory_files", about: "Lists the agent's memory files as they were at a step.", args: &[RUN, EPISODE, LAST_STEP], run: traces::memory_files },
    Tool { name: "read_memory_file", about: "Shows a memory file as it was at a step.", args: &[RUN, EPISODE, LAST_STEP, needed("path", Kind::Text, "the file's name"), PAGE], run: traces::read_memory_file },
    Tool { name: "search", about: "Finds a text in a run: observations, prompts, answers, memory operations, actions, notes. Capitals do not matter.", args: &[RUN, needed("text", Kind::Text, "what to look for")], run: traces::search },
    Tool { name: "sql", about: sql::ABOUT, args: &[needed("query", Kind::Text, "one SELECT")], run: sql::sql },
];

/// A tool as a model is told it.
pub fn spec(name: &str, about: &str, args: &[Arg]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: about.to_owned(),
        schema: schema(args),
    }
}

/// The tools over runs as a model is told them.
pub fn run_tools() -> Vec<ToolSpec> {
    TOOLS
        .iter()
        .map(|tool| spec(tool.name, tool.about, tool.args))
        .collect()
}

/// Carries out a call of a tool over runs; `None` when it is none of these.
pub fn call_run_tool(runs: &mut Runs<'_>, name: &str, arguments: &Value) -> Option<Told> {
    let tool = TOOLS.iter().find(|tool| tool.name == name)?;
    let read = Args::read(arguments, tool.args).map_err(Fault::Told);
    Some(read.and_then(|args| (tool.run)(runs, &args)))
}

/// What a model is told that calls a tool which is not there.
pub fn no_such_tool(name: &str, there: &[ToolSpec]) -> Fault {
    let names: Vec<&str> = there.iter().map(|tool| tool.name.as_str()).collect();
    Fault::Told(format!("There is no tool `{name}`; there are: {}.", names.join(", ")))
}
