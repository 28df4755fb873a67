//! The AutoMem workbench: watch an LLM agent play long games while it keeps its own memory files.
//!
//! AutoMem (arXiv 2607.01224) treats memory management as a skill that can be trained: reading, searching and
//! writing files are actions of the same rank as moves in a game. This crate plays the games, runs the agent's
//! loop with a local model, records everything, and shows it.
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | world | a game (`crafter`, `minihack`, `nethack`, or a program that speaks the worker protocol); `--env` on the command line |
//! | run | one invocation that played one or more episodes with one scaffold and one set of models: one SQLite file |
//! | episode, step | one game from reset to end with one seed; one committed world action |
//! | phase | `LOG` (record what just happened), then `PLAN` (consult memory, commit an action) |
//! | turn | one model call inside a phase |
//! | memory op | one file operation the model asked for: SEARCH READ TAIL COUNT LIST APPEND WRITE CREATE DELETE |
//! | scaffold | prompts, script, memory-file schema and op vocabulary: a folder with a version and a parent |
//!
//! # Map of the house
//!
//! Imports go leftwards only, which `tests/layering.rs` enforces:
//!
//! ```text
//! types <- config <- jobs <- protocol <- {env, memory, llm, store} <- scaffold <- agent <- analysis <- review <- gate
//!   <- meta <- {evolve, tune} <- improve <- tui <- cli
//! ```
//!
//! | module | its one job |
//! |---|---|
//! | [`types`] | plain data: ids, [`types::Frame`], [`types::MemoryChange`], [`types::Turn`], the one stream of [`types::Event`]s |
//! | [`config`] | where things are, and how a person wants them: the workspace, `config.toml` |
//! | [`jobs`] | background work as such: cancelling, running other programs (pip among them), HTTP, checksums, what memory there is |
//! | [`protocol`] | the tags: parse and print, tolerant of what models write; grammars; making text safe to show |
//! | [`mod@env`] | [`env::World`] and the registry of worlds; [`env::crafter`], native; [`env::nethack`] and [`env::minihack`], the real game's library; [`env::worker`], a world in a child process; [`env::setup`] installs games |
//! | [`memory`] | the agent's directory: confinement, quotas, the registry of operations (one file an op) |
//! | [`llm`] | [`llm::ChatModel`] for those who play, [`llm::ToolModel`] for meta-LLMs, and the registries of back ends: llama.cpp, model servers, recorded answers; LoRA adapters ([`llm::adapter`], PEFT's form too); fetching models |
//! | [`store`] | the run file: versioned codec, writer, reader, search, the registry of runs; journals and claims of long work |
//! | [`scaffold`] | manifest, templates, the script's host (a child process), file rules, check, the shipped scaffolds, versions and installing them, migration, archives, lineage, differences |
//! | [`agent`] | phases as pure state machines, the driver at the edge, the handoff from a specialist to the gameplay model, pause, step and taking over, the script of a scaffold at work, resume, verify, merging runs, rehearsal; scripted players |
//! | [`analysis`] | what events mean: blame, heat of memory files, metrics, findings, faults |
//! | [`review`] | proposals (revisions, recipes, selections), decisions on their parts and items, the log of them, policies, applying and undoing |
//! | [`gate`] | two sides on the same seeds, what the scores say, the ledger; shared by both loops |
//! | [`meta`] | a conversation with a model that calls tools, and tools over runs |
//! | [`evolve`] | loop 1: who writes revisions (rules, a model with tools, a command), the log and state of an optimization |
//! | [`tune`] | loop 2: candidates, selecting, the postprocess, certified sets, recipes, training (here or by LLaMA-Factory), the log and state of a tuning |
//! | [`improve`] | both loops by a plan, stage after stage |
//! | [`tui`] | the screens: pure update, effects at the edge, one table of keys, panels, themes, pictures |
//! | [`cli`] | one file a verb |
//!
//! # How data flows
//!
//! The driver in [`agent`] emits [`types::Event`]s. Each step is committed by [`store::Writer`] before anyone is shown
//! that it is finished; the live view gets the same events over a bounded queue. A replay reads them back with
//! [`store::Reader`]. Both fold them with [`types::StepRecord`], so a replay takes the same path through the screen's
//! code as a live episode.
//!
//! # To add something
//!
//! A world: its folder in [`mod@env`] and one line in [`env::open`]; in another language, the protocol in
//! [`env::worker`]. A memory operation: its file and one line in
//! [`memory::ops`]. A model back end: its file and one line in [`llm::open`]. A verb: its file in `cli` and one line
//! in the table there. A metric: its field, its row, its line in `docs/METRICS.md`. A finding: its function and one
//! line in the table of rules. A reviser: its file and one line in the table of [`evolve::open_reviser`]. Somebody who
//! trains: a [`tune::train::TrainBackend`]; who writes recipes: a [`tune::author::Author`]. A key: one
//! line in the table of the screen's keymap, and a name for its action. An option of `config.toml`: one line in its
//! table and its field.

pub mod agent;
pub mod analysis;
pub mod cli;
pub mod config;
pub mod env;
pub mod evolve;
pub mod gate;
pub mod improve;
pub mod jobs;
pub mod llm;
pub mod memory;
pub mod meta;
pub mod protocol;
pub mod review;
pub mod scaffold;
pub mod store;
pub mod tui;
pub mod tune;
pub mod types;
