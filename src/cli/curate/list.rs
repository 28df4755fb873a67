//! `automem curate RUN...`: candidates with their evidence, and what a selector says of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::cli::output::print_text;
use crate::config::{Settings, Workspace};
use crate::env;
use crate::jobs::Cancel;
use crate::protocol::sanitize::{clean, clean_line};
use crate::review::{Desk, person};
use crate::store::Reader;
use crate::tune::candidate::{Candidate, Harvest};
use crate::tune::select::rules::Rules;
use crate::tune::select::{Choice, Selector};
use crate::tune::{conversation, harvest::harvest, propose};
use crate::types::{Phase, Seeds};

/// Candidates that the table shows.
const SHOWN: usize = 40;

/// List candidates and select.
#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// The run files
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The world that the runs must be of
    #[arg(long)]
    env: Option<String>,
    /// Select by the rules (and the brief) of a recipe, or by a TOML file that holds rules alone
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Who selects: rules, or a meta-LLM (anthropic:MODEL, openai:MODEL@URL, recorded:FILE) among what the rules leave
    #[arg(long, default_value = "rules", value_name = "rules|META")]
    select: String,
    /// Take this phase only (LOG or PLAN; several may be given)
    #[arg(long, value_parser = phase, value_name = "PHASE")]
    phase: Vec<Phase>,
    /// What a writing candidate wrote was read again so often at least
    #[arg(long, value_name = "N")]
    min_later_reads: Option<u32>,
    /// What followed earned so much more a step than the episode's mean, at least
    #[arg(long, value_name = "REWARD", allow_negative_numbers = true)]
    min_advantage: Option<f64>,
    /// Candidates an episode gives at most
    #[arg(long, value_name = "N")]
    per_episode: Option<u32>,
    /// Share of episodes that are taken, the best first, in percent
    #[arg(long, value_name = "PERCENT")]
    top_episodes: Option<f64>,
    /// Candidates in all at most
    #[arg(long, value_name = "N")]
    at_most: Option<u32>,
    /// Put the selection on the desk, where a person decides on it
    #[arg(long)]
    propose: bool,
    /// The gate's seeds: episodes on them are not taken
    #[arg(long, default_value = "42..51")]
    gate_seeds: Seeds,
    /// Examples there should be at least
    #[arg(long, default_value_t = 300, value_name = "N")]
    minimum: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn phase(word: &str) -> Result<Phase, String> {
    [Phase::Log, Phase::Plan]
        .into_iter()
        .find(|phase| phase.word().eq_ignore_ascii_case(word))
        .ok_or_else(|| "a phase is LOG or PLAN".to_owned())
}

/// Runs the verb.
pub(super) fn run(args: List) -> anyhow::Result<ExitCode> {
    let (rules, brief) = criteria(&args)?;
    let cancel = Cancel::new();
    let terminal = std::io::stderr().is_terminal();
    let mut told = 0;
    let found = harvest(&args.runs, &cancel, &mut |progress| {
        let share = progress.done * 100 / progress.total.max(1);
        if terminal && share > told {
            told = share;
            eprint!("\r\x1b[Kreading: {share}%");
        }
    });
    if terminal {
        eprint!("\r\x1b[K");
    }
    let found = found?;
    if let Some(asked) = &args.env
        && let Some(run) = found.runs.iter().find(|run| !env::leads_to(asked, &run.env))
    {
        bail!(
            "{} is a run of {}, not of {asked}; leave it out, or give --env {}",
            run.path.display(),
            run.env,
            run.env
        );
    }
    let workspace = Workspace::find()?;
    let settings = Settings::load(&workspace)?.settings;
    let mut selector = Selector::of(&workspace, &settings, args.gate_seeds.0.clone());
    let choices = selector.select_by(
        &args.select,
        &found,
        &rules,
        &brief,
        (&workspace.root().join("meta"), "curate"),
        &cancel,
        &mut |text| eprintln!("{}", clean_line(text)),
    )?;
    let proposal = match args.propose {
        true => {
            let criteria = match brief.is_empty() {
                true => rules.write(),
                false => format!("{brief}\n\n{}", rules.write()),
            };
            let gate = &args.gate_seeds.0;
            let (draft, items) = propose::selection(&found, &choices, &criteria, gate, args.minimum, &args.select);
            Some(Desk::open(&workspace)?.propose_with(draft, &items, &person())?)
        }
        false => None,
    };
    match args.json {
        true => print_document(&found, &choices, proposal.as_ref().map(ToString::to_string))?,
        false => {
            let mut text = table(&found, &choices);
            if let Some(id) = proposal {
                let _ = writeln!(
                    text,
                    "\n{id} waits for a decision: the Curate screen, or `automem curate show {id}` and `automem curate decide {id}`"
                );
            }
            print_text(&clean(&text))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The rules with what the command line changes, and the brief.
fn criteria(args: &List) -> anyhow::Result<(Rules, String)> {
    let (mut rules, brief) = match &args.rules {
        None => (Rules::default(), String::new()),
        Some(path) => {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("{} could not be read", path.display()))?;
            let rules = Rules::read(&text).with_context(|| path.display().to_string())?;
            let table: toml::Table = text.parse().unwrap_or_default();
            let brief = table.get("data").and_then(|data| data.get("brief"));
            let brief = brief.and_then(toml::Value::as_str).unwrap_or_default().to_owned();
            (rules, brief)
        }
    };
    if !args.phase.is_empty() {
        rules.phases.clone_from(&args.phase);
    }
    if let Some(least) = args.min_later_reads {
        rules.min_later_reads = least;
    }
    rules.min_advantage = args.min_advantage.or(rules.min_advantage);
    rules.per_episode = args.per_episode.or(rules.per_episode);
    rules.at_most = args.at_most.or(rules.at_most);
    if let Some(percent) = args.top_episodes {
        rules.top_episodes_percent = percent;
    }
    rules.check()?;
    Ok((rules, brief))
}

/// Writes the candidates one by one: all their conversations together can be more than fits into memory.
fn print_document(found: &Harvest, choices: &[Choice], proposal: Option<String>) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut readers: BTreeMap<u32, Reader> = BTreeMap::new();
    let mut write = || -> anyhow::Result<()> {
        out.write_all(b"{\"candidates\":[")?;
        for (at, (candidate, choice)) in found.candidates.iter().zip(choices).enumerate() {
            let run = found
                .runs
                .get(candidate.run as usize)
                .context("a candidate is of no run")?;
            let reader = match readers.entry(candidate.run) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => entry.insert(Reader::open(&run.path)?),
            };
            let messages = conversation::read(reader, candidate.episode, candidate.step, candidate.phase)?;
            out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
            serde_json::to_writer(
                &mut out,
                &json!({
                    "id": candidate.id,
                    "run": run.path,
                    "episode": candidate.episode,
                    "step": candidate.step,
                    "phase": candidate.phase,
                    "seed": candidate.seed,
                    "digest": candidate.digest,
                    "conversation": messages,
                    "evidence": candidate.evidence,
                    "selected": choice.selected,
                    "score": choice.score,
                    "reason": choice.reason,
                }),
            )?;
        }
        out.write_all(b"\n],")?;
        let selected = choices.iter().filter(|choice| choice.selected).count();
        let rest =
            json!({ "runs": found.runs, "left_out": found.left_out, "selected": selected, "proposal": proposal });
        // The object goes on with these.
        out.write_all(rest.to_string().trim_start_matches('{').as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()?;
        Ok(())
    };
    match write() {
        // A reader that went away is no error: the rest is not printed.
        Err(error) if is_broken_pipe(&error) => Ok(()),
        other => other,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = match error.downcast_ref::<serde_json::Error>() {
        Some(error) => error.io_error_kind(),
        None => error.downcast_ref::<std::io::Error>().map(std::io::Error::kind),
    };
    kind == Some(std::io::ErrorKind::BrokenPipe)
}

fn table(found: &Harvest, choices: &[Choice]) -> String {
    let selected = || {
        let pairs = found.candidates.iter().zip(choices);
        pairs.filter(|(_, choice)| choice.selected)
    };
    let mut text = format!(
        "{} of {} candidates are selected, from {} runs\n",
        selected().count(),
        found.candidates.len(),
        found.runs.len()
    );
    for (reason, count) in &found.left_out {
        let _ = writeln!(text, "not listed: {count} {reason}");
    }
    let mut best: Vec<(&Candidate, &Choice)> = selected().collect();
    best.sort_by(|a, b| b.1.score.total_cmp(&a.1.score));
    if !best.is_empty() {
        let _ = writeln!(text, "\n{:<28}{:>7}  {:<22}why", "candidate", "score", "ops");
    }
    for (candidate, choice) in best.iter().take(SHOWN) {
        let ops: Vec<&str> = candidate.evidence.ops.iter().map(|op| &**op).collect();
        let ops = match ops.is_empty() {
            true => "DONE".to_owned(),
            false => ops.join(" "),
        };
        let ops: String = ops.chars().take(20).collect();
        let _ = writeln!(
            text,
            "{:<28}{:>7.2}  {ops:<22}{}",
            candidate.id.to_string(),
            choice.score,
            clean_line(&choice.reason)
        );
    }
    if best.len() > SHOWN {
        let _ = writeln!(text, "and {} more; --json lists all", best.len() - SHOWN);
    }
    let mut why: BTreeMap<String, u32> = BTreeMap::new();
    for choice in choices.iter().filter(|choice| !choice.selected) {
        let kind: String = choice.reason.chars().filter(|c| !c.is_ascii_digit()).collect();
        *why.entry(kind).or_default() += 1;
    }
    if !why.is_empty() {
        let mut why: Vec<(String, u32)> = why.into_iter().collect();
        why.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        text.push_str("\nnot selected, most frequent reasons (numbers left out):\n");
        for (reason, count) in why.into_iter().take(8) {
            let _ = writeln!(text, "{count:>7}  {}", clean_line(&reason));
        }
    }
    text
}
