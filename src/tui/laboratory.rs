//! Jobs of Lab: reading what it shows. Working on an optimization is in `optimizing`.

use std::collections::{BTreeMap, HashSet};

use super::data::{Data, LabNews};
use super::lab::{GateRow, LabData, Optimized, Specialist, Suggested};
use crate::config::Workspace;
use crate::evolve::session::{Effect, Listed, Log};
use crate::gate::ledger::{Kind, Ledger, Row};
use crate::review::{Desk, Standing};
use crate::scaffold::lineage;
use crate::store::{ListedRun, Registry};
use crate::tune::session as tune;
use crate::types::EpisodeNo;

/// Reads everything Lab shows. What cannot be read is named; the rest shows.
pub(super) fn load(workspace: &Workspace) -> Data {
    let mut data = LabData::default();
    let runs = Registry::open(workspace).and_then(|registry| registry.runs());
    let runs = runs.unwrap_or_else(|error| {
        data.faults.push(error.to_string());
        Vec::new()
    });
    match lineage(workspace, &runs) {
        Ok(lineage) => {
            let broken = lineage.broken.iter().map(|(name, why)| format!("{name}: {why}"));
            data.faults.extend(broken);
            data.lineage = lineage;
        }
        Err(error) => data.faults.push(error.to_string()),
    }
    // A workspace without a database has no proposals, and looking makes none.
    if workspace.database().is_file() {
        match Desk::open(workspace).and_then(|desk| desk.list()) {
            Ok(standings) => data.proposals = newest_first(standings),
            Err(error) => data.faults.push(error.to_string()),
        }
        match Log::open(workspace).and_then(|log| log.list()) {
            Ok(listed) => data.optimizations = listed.into_iter().map(optimized).collect(),
            Err(error) => data.faults.push(error.to_string()),
        }
        match tune::Log::open(workspace).and_then(|log| log.list()) {
            Ok(listed) => data.optimizations.extend(listed.into_iter().map(tuned)),
            Err(error) => data.faults.push(error.to_string()),
        }
        data.optimizations.sort_by(|a, b| b.touched.cmp(&a.touched));
    }
    match Ledger::of(workspace).rows() {
        Ok((rows, torn)) => {
            data.specialists = rows
                .iter()
                .filter(|row| row.kind == Kind::Specialist)
                .map(specialist)
                .collect();
            data.ledger = rows.into_iter().map(gate_row).collect();
            if torn > 0 {
                data.faults.push(format!(
                    "{torn} lines of ledger.jsonl cannot be read; they are passed over"
                ));
            }
        }
        Err(error) => data.faults.push(error.to_string()),
    }
    data.episodes = episodes(&data, &runs);
    Data::Lab(LabNews::Loaded(Box::new(data)))
}

fn newest_first(mut standings: Vec<Standing>) -> Vec<Suggested> {
    standings.sort_by(|a, b| b.created.cmp(&a.created).then_with(|| b.id.cmp(&a.id)));
    standings.into_iter().map(suggested).collect()
}

fn suggested(standing: Standing) -> Suggested {
    Suggested {
        waits: standing.waits(),
        id: standing.id,
        title: standing.title,
        author: standing.author,
        line: standing.line,
        parent: standing.parent_digest,
        result: standing.result,
        stage: standing.state,
        why: standing.why,
        gate: standing.gate.map(|gate| *gate),
    }
}

fn specialist(row: &Row) -> Specialist {
    Specialist {
        name: row.revision.clone(),
        digest: row.revision_digest,
        proposal: row.proposal.clone(),
        tuning: (row.optimization.clone(), row.iteration),
        mean: (row.revision_mean, row.revision_error),
        against: (row.parent.clone(), row.parent_mean),
        seeds: row.seeds.len(),
        outcome: row.outcome,
        run: row.revision_run.clone().into(),
    }
}

fn gate_row(row: Row) -> GateRow {
    GateRow {
        proposal: row.proposal,
        time: row.time,
        optimization: row.optimization,
        iteration: row.iteration,
        attempt: row.attempt,
        reviser_tokens: row.reviser_tokens,
        dollars: row.dollars,
    }
}

fn optimized(listed: Listed) -> Optimized {
    let state = listed.state;
    let usage = state.usage;
    let proposal = match state.next() {
        Effect::Attend { proposal } => Some(proposal),
        _ => None,
    };
    Optimized {
        word: state.word(),
        over: state.is_over(),
        name: listed.name,
        touched: listed.touched,
        proposal,
        iteration: (state.iteration, state.setup.iterations),
        attempt: state.attempt,
        scaffold: state.setup.scaffold,
        line: state.setup.line,
        seeds: state.setup.seeds.len(),
        meta: state.setup.meta,
        model: state.setup.model,
        run: state.parent.map(|parent| parent.run.into()),
        promoted: state.promoted.len(),
        tokens: usage.prompt + usage.completion,
        dollars: usage.dollars,
    }
}

/// A tuning stands among the optimizations: it is the other loop.
fn tuned(listed: tune::Listed) -> Optimized {
    let state = listed.state;
    let proposal = match state.next() {
        tune::Effect::AttendRecipe { recipe } => Some(recipe),
        tune::Effect::AttendSelection { selection } => Some(selection),
        _ => None,
    };
    Optimized {
        word: state.word(),
        over: state.is_over(),
        name: listed.name,
        touched: listed.touched,
        proposal,
        iteration: (state.iteration, state.setup.iterations),
        attempt: 1,
        scaffold: state.setup.scaffold,
        line: state.setup.line,
        seeds: state.setup.seeds.len(),
        meta: state.setup.meta,
        model: state.setup.model,
        run: state.runs.first().cloned(),
        promoted: state.rounds.iter().filter(|round| round.is_better()).count(),
        tokens: 0,
        dollars: None,
    }
}

/// Episodes by seed of the runs that gates name.
fn episodes(data: &LabData, runs: &[ListedRun]) -> BTreeMap<String, Vec<(u64, EpisodeNo)>> {
    let named: HashSet<&str> = data
        .gated()
        .flat_map(|(_, gate)| [gate.parent_run.as_str(), gate.revision_run.as_str()])
        .collect();
    let of = |run: &ListedRun| -> Option<(String, Vec<(u64, EpisodeNo)>)> {
        let path = run.path.to_str().filter(|path| named.contains(path))?;
        let content = run.content.as_ref().ok()?;
        let episodes = content.episodes.iter().map(|episode| (episode.seed, episode.episode));
        Some((path.to_owned(), episodes.collect()))
    };
    runs.iter().filter_map(of).collect()
}
