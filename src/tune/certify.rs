//! The accepted items of a selection become a training set.
//!
//! Owns the last look before anything is trained on: every conversation is read from its run file anew and held against
//! the digest that was decided on. Nothing is written when anything is wrong.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::TuneError;
use super::conversation::{self, digest_of};
use super::dataset::{self, Example, Source};
use super::postprocess::{Report, clean};
use crate::jobs::Cancel;
use crate::review::{Desk, Dossier, Item, ProposalId, SelectedRun, SelectionContent, State, What, person};
use crate::store::Reader;
use crate::types::RunId;

/// What came of certifying.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Certified {
    /// The training set.
    pub dataset: PathBuf,
    /// Counts of the postprocess.
    pub report: Report,
    /// Items that the postprocess dropped, and why.
    pub dropped: Vec<(String, &'static str)>,
    /// Fewer examples than the selection asked for, by how many.
    pub short: u32,
}

/// Makes the training set of a selection whose decisions are committed, in a folder; the file's name is the proposal's
/// with the set's digest. A set that was certified before and is still there is given again.
///
/// # Errors
/// When the decisions are not committed, nothing was accepted, an item is on a seed of the gate, a run is gone, a
/// conversation is not the one that was decided on (named), or the file cannot be written.
pub fn certify(desk: &mut Desk, id: &ProposalId, out: &Path, cancel: &Cancel) -> Result<Certified, TuneError> {
    let dossier = desk.dossier(id).map_err(refused)?;
    let selection = dossier.selection().map_err(refused)?;
    let standing = &dossier.standing;
    let Some(result) = standing
        .result
        .filter(|_| matches!(standing.state, State::Decided | State::Certified | State::Used))
    else {
        return Err(TuneError::data(
            format!(
                "{id} is {}: only committed decisions are certified",
                standing.state.word()
            ),
            format!("decide and commit first: `automem curate decide {id} --accept --filter selected --commit`"),
        ));
    };
    let items = taken(desk, &dossier)?;
    refuse_gate_seeds(&items, selection)?;
    let readers = readers(&selection.runs)?;
    let mut report = Report::default();
    let mut dropped = Vec::new();
    let mut examples = Vec::new();
    for item in &items {
        if cancel.is_cancelled() {
            return Err(TuneError::Cancelled);
        }
        let source = source(item, selection)?;
        let reader = readers.get(&source.run).ok_or_else(|| missing(item))?;
        let messages = conversation::read(reader, item.episode, item.step, item.phase)?;
        let is = digest_of(&messages);
        if is != item.digest {
            return Err(TuneError::data(
                format!(
                    "item {} is not what {} holds: its digest is {is}, not {}",
                    item.id,
                    reader.path().display(),
                    item.digest
                ),
                "the run was exchanged or the selection edited; list the candidates anew with `automem curate`",
            ));
        }
        match clean(item.phase, &messages) {
            Ok(cleaned) => examples.extend(report.count(Ok(cleaned)).map(|cleaned| Example {
                conversations: cleaned.conversation,
                source: Some(source),
            })),
            Err(why) => {
                dropped.push((item.id.clone(), why.word()));
                report.count(Err(why));
            }
        }
    }
    if examples.is_empty() {
        return Err(TuneError::data(
            format!(
                "{id}: the postprocess dropped every accepted item ({})",
                reasons(&report.dropped)
            ),
            "accept items whose answer holds a memory operation",
        ));
    }
    let bytes = dataset::to_bytes(&examples);
    let digest = crate::types::Digest::of(&bytes);
    let path = out.join(format!("{id}-{digest}.json"));
    dataset::write(&path, &bytes)?;
    let path = path.canonicalize().unwrap_or(path);
    let count = u32::try_from(examples.len()).unwrap_or(u32::MAX);
    let certified = standing
        .dataset
        .as_ref()
        .is_some_and(|(file, known, _)| *known == digest && Path::new(file) == path);
    if !certified && standing.state != State::Used {
        let what = What::Certified {
            result,
            dataset: path.display().to_string(),
            digest,
            examples: count,
        };
        desk.append(id, standing.seq, &person(), what).map_err(refused)?;
    }
    Ok(Certified {
        dataset: path,
        report,
        dropped,
        short: selection.minimum.saturating_sub(count),
    })
}

fn refused(error: crate::review::ReviewError) -> TuneError {
    TuneError::Review(error)
}

/// The accepted items.
fn taken(desk: &Desk, dossier: &Dossier) -> Result<Vec<Item>, TuneError> {
    let items = desk.items(dossier).map_err(refused)?;
    let taken = dossier.standing.items.iter().flat_map(|all| all.taken());
    let taken: Vec<Item> = taken.filter_map(|at| items.get(at).cloned()).collect();
    match taken.is_empty() {
        true => Err(TuneError::data(
            format!("{}: no item is accepted", dossier.proposal.id),
            "accept some first (`automem curate decide`)",
        )),
        false => Ok(taken),
    }
}

fn refuse_gate_seeds(items: &[Item], selection: &SelectionContent) -> Result<(), TuneError> {
    let on_gate: Vec<&Item> = items
        .iter()
        .filter(|item| selection.gate_seeds.contains(&item.seed))
        .collect();
    match on_gate.first() {
        None => Ok(()),
        Some(first) => Err(TuneError::data(
            format!(
                "{} accepted items are on seeds of the gate, such as {} (seed {})",
                on_gate.len(),
                first.id,
                first.seed
            ),
            "reject them: a model that was trained on a gate's seeds cannot be measured on them",
        )),
    }
}

fn readers(runs: &[SelectedRun]) -> Result<HashMap<RunId, Reader>, TuneError> {
    let mut readers = HashMap::new();
    for run in runs {
        let reader = Reader::open(&run.path)?;
        if reader.meta().id != run.id {
            return Err(TuneError::data(
                format!(
                    "{} is another run ({}) than the one that was looked at ({})",
                    run.path,
                    reader.meta().id,
                    run.id
                ),
                "put the run back, or list the candidates anew with `automem curate`",
            ));
        }
        readers.insert(run.id.clone(), reader);
    }
    Ok(readers)
}

fn source(item: &Item, selection: &SelectionContent) -> Result<Source, TuneError> {
    let run = selection.runs.get(item.run as usize).ok_or_else(|| missing(item))?;
    Ok(Source {
        run: run.id.clone(),
        episode: item.episode,
        seed: item.seed,
        step: item.step,
        phase: item.phase,
        digest: item.digest,
    })
}

fn missing(item: &Item) -> TuneError {
    TuneError::data(
        format!("item {} is from a run that the selection does not name", item.id),
        "list the candidates anew with `automem curate`",
    )
}

/// `3 fence, 1 no_memory_op`.
fn reasons(dropped: &BTreeMap<String, u32>) -> String {
    let reasons: Vec<String> = dropped
        .iter()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    reasons.join(", ")
}
