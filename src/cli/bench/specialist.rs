//! `automem bench specialist`: how often base and specialist write well-formed memory operations on recorded prompts.
//!
//! The prompts should be of episodes that the specialist was not trained on. No grammar helps either of them.

use std::path::PathBuf;

use anyhow::bail;

use super::Figure;
use crate::agent;
use crate::config::{Settings, Workspace};
use crate::jobs::Cancel;
use crate::llm::{ChatModel, ChatRequest, ModelOptions, SlotKey};
use crate::protocol::{OpSyntax, parse};
use crate::scaffold::Scaffold;
use crate::store::Reader;
use crate::tune::candidate::Candidate;
use crate::tune::{conversation, harvest::harvest};
use crate::types::{Message, Phase, Role, Sampling};

/// Arguments of `automem bench specialist`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The base: a model's name or the path of a GGUF file
    #[arg(long)]
    model: String,
    /// The adapter
    #[arg(long)]
    specialist: String,
    /// Runs whose prompts are taken
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    runs: Vec<PathBuf>,
    /// Prompts at most, evenly over the runs
    #[arg(long, default_value_t = 20, value_name = "N")]
    prompts: usize,
    /// Only one phase: LOG or PLAN
    #[arg(long)]
    phase: Option<String>,
    /// Tokens an answer may have
    #[arg(long, default_value_t = 96, value_name = "N")]
    max_tokens: u32,
    /// Percent that the specialist must be ahead by
    #[arg(long, default_value_t = 25.0, value_name = "PERCENT")]
    at_least: f64,
    /// Threads
    #[arg(long)]
    threads: Option<u32>,
}

/// How one model did.
#[derive(Debug, Default)]
struct Count {
    well_formed: usize,
    ops: usize,
}

pub(super) fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
    let workspace = Workspace::find()?;
    let settings = Settings::load(&workspace)?.settings;
    let cancel = Cancel::new();
    let phase = match args.phase.as_deref().map(str::to_ascii_uppercase).as_deref() {
        None => None,
        Some("LOG") => Some(Phase::Log),
        Some("PLAN") => Some(Phase::Plan),
        Some(other) => bail!("there is no phase {other}; give LOG or PLAN"),
    };
    let harvested = harvest(&args.runs, &cancel, &mut |_| {})?;
    let fits = |candidate: &&Candidate| phase.is_none_or(|phase| candidate.phase == phase);
    let fitting: Vec<&Candidate> = harvested.candidates.iter().filter(fits).collect();
    if fitting.is_empty() {
        bail!("the runs have no prompts of this kind; give runs with memory operations");
    }
    let wanted = args.prompts.clamp(1, fitting.len());
    let chosen = (0..wanted).map(|at| fitting[at * fitting.len() / wanted]);
    let options = ModelOptions {
        threads: args.threads.or(settings.run.threads),
        slots: Some(2),
        ..ModelOptions::of(&workspace, &settings)
    };
    let env = &harvested.runs[0].env;
    let (base, specialist) = agent::open_models(&args.model, Some(&args.specialist), env, &options)?;
    let Some(specialist) = specialist else {
        bail!("there is no specialist");
    };
    let (mut without, mut with) = (Count::default(), Count::default());
    for candidate in chosen {
        let reader = Reader::open(&args.runs[candidate.run as usize])?;
        let scaffold = Scaffold::from_files(reader.meta().scaffold.files.clone())?;
        let vocabulary: Vec<OpSyntax> = scaffold.vocabulary().into_iter().map(|entry| entry.syntax).collect();
        let mut messages = conversation::read(&reader, candidate.episode, candidate.step, candidate.phase)?;
        // The answer is what is asked for.
        messages.pop();
        for (model, role, count) in [
            (&base, Role::Agent, &mut without),
            (&specialist, Role::Specialist, &mut with),
        ] {
            let text = answer(&**model, messages.clone(), role, candidate, args.max_tokens, &cancel)?;
            let parsed = parse(&text, &vocabulary);
            let ops = parsed.ops().count();
            count.ops += ops;
            if parsed.problems.is_empty() && (ops > 0 || parsed.is_done()) {
                count.well_formed += 1;
            }
        }
    }
    let share = |count: &Count| 100.0 * count.well_formed as f64 / wanted as f64;
    let mean = |count: &Count| count.ops as f64 / wanted as f64;
    Ok(vec![
        Figure::new("prompts", wanted as f64, ""),
        Figure::new("well-formed, base", share(&without), "%"),
        Figure::new("well-formed, specialist", share(&with), "%"),
        Figure::new("well-formed, specialist less base", share(&with) - share(&without), "%").at_least(args.at_least),
        Figure::new("ops an answer, base", mean(&without), ""),
        Figure::new("ops an answer, specialist", mean(&with), ""),
    ])
}

fn answer(
    model: &dyn ChatModel,
    messages: Vec<Message>,
    role: Role,
    candidate: &Candidate,
    max_tokens: u32,
    cancel: &Cancel,
) -> anyhow::Result<String> {
    let request = ChatRequest {
        messages,
        slot: SlotKey {
            episode: candidate.episode,
            role,
            phase: candidate.phase,
        },
        sampling: Sampling {
            temperature: 0.0,
            max_tokens,
            ..Sampling::default()
        },
        grammar: None,
        stop: vec![crate::protocol::DONE.to_owned()],
    };
    Ok(model.chat(&request, cancel, &mut |_| {})?.text)
}
