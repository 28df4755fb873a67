//! Jobs of Lab: reading what it shows.

use std::collections::{BTreeMap, HashSet};

use crossbeam_channel::Sender;

use super::data::{Data, Event, LabNews};
use super::lab::{LabData, Suggested};
use super::optimize::OptimizeRequest;
use crate::config::{Settings, Workspace};
use crate::jobs::Cancel;
use crate::review::{Desk, Standing};
use crate::scaffold::lineage;
use crate::store::{ListedRun, Registry};
use crate::types::EpisodeNo;

/// What an optimization is asked to do.
pub(super) enum Job {
    /// Begin.
    Start(OptimizeRequest),
    /// Go on.
    Resume(String),
}

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

/// Works on an optimization until it is over, waits, or is stopped.
pub(super) fn work(
    _workspace: &Workspace,
    _settings: &Settings,
    job: Job,
    _cancel: &Cancel,
    _events: &Sender<Event>,
) -> Data {
    let what = match job {
        Job::Start(request) => request.scaffold,
        Job::Resume(name) => name,
    };
    Data::Lab(LabNews::Ended(Err(format!("{what}: use `automem optimize`"))))
}
