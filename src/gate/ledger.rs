//! The ledger: one line of JSON a gate, in `ledger.jsonl` of the workspace.
//!
//! Rows are appended and flushed to the disk, never changed. A reader passes over what it cannot read (the last line
//! of a killed process) and counts it.

use std::fs::OpenOptions;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::Workspace;
use crate::review::{GateReport, Origin, Outcome, ProposalId};
use crate::store::StoreError;
use crate::types::Digest;

/// What was played against what it is to beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A scaffold's next version (loop 1).
    #[default]
    Revision,
    /// A memory specialist (loop 2): `revision` names its adapter.
    Specialist,
}

impl Kind {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Revision => "revision",
            Self::Specialist => "specialist",
        }
    }
}

/// A gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was played.
    #[serde(default)]
    pub kind: Kind,
    /// When it was over, RFC 3339, UTC.
    pub time: String,
    /// The optimization or tuning.
    pub optimization: String,
    /// Which iteration, from 1.
    pub iteration: u32,
    /// Which fresh attempt of it, from 1.
    pub attempt: u32,
    /// The proposal.
    pub proposal: ProposalId,
    /// Name of the parent.
    pub parent: String,
    /// Digest of its files.
    pub parent_digest: Digest,
    /// Name of the revision.
    pub revision: String,
    /// Digest of its files.
    pub revision_digest: Digest,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The parent's mean progression.
    pub parent_mean: f64,
    /// Its standard error.
    pub parent_error: f64,
    /// The revision's mean progression.
    pub revision_mean: f64,
    /// Its standard error.
    pub revision_error: f64,
    /// Mean of the paired differences.
    pub difference: f64,
    /// 95 % interval of that mean.
    pub interval: (f64, f64),
    /// Two-sided sign test.
    pub sign_p: f64,
    /// By the paper's rule.
    pub outcome: Outcome,
    /// Tokens of the parent's episodes.
    pub parent_tokens: u64,
    /// Tokens of the revision's episodes.
    pub revision_tokens: u64,
    /// Seconds of the parent's episodes, added up.
    pub parent_seconds: f64,
    /// Seconds of the revision's episodes, added up.
    pub revision_seconds: f64,
    /// The parent's run file.
    pub parent_run: String,
    /// The revision's run file.
    pub revision_run: String,
    /// Tokens the revisers of the optimization have used so far.
    pub reviser_tokens: u64,
    /// What they have cost so far, where that is known.
    pub dollars: Option<f64>,
}

/// What names a gate beside its numbers.
#[derive(Debug, Clone)]
pub struct Head<'a> {
    /// Where in an optimization.
    pub origin: &'a Origin,
    /// What was played.
    pub kind: Kind,
    /// The proposal.
    pub proposal: &'a ProposalId,
    /// The parent's name and digest.
    pub parent: (&'a str, Digest),
    /// The revision's name and digest.
    pub revision: (&'a str, Digest),
    /// Tokens and dollars the revisers have used so far.
    pub cost: (u64, Option<f64>),
}

impl Row {
    /// The row of a gate that is over now.
    pub fn of(head: &Head<'_>, report: &GateReport) -> Self {
        let tokens = |side: fn(&crate::review::Pair) -> Option<crate::review::Score>| -> u64 {
            report.pairs.iter().filter_map(side).map(|score| score.tokens).sum()
        };
        let seconds = |side: fn(&crate::review::Pair) -> Option<crate::review::Score>| -> f64 {
            report.pairs.iter().filter_map(side).map(|score| score.seconds).sum()
        };
        Self {
            kind: head.kind,
            time: jiff::Timestamp::now().to_string(),
            optimization: head.origin.optimization.clone(),
            iteration: head.origin.iteration,
            attempt: head.origin.attempt,
            proposal: head.proposal.clone(),
            parent: head.parent.0.to_owned(),
            parent_digest: head.parent.1,
            revision: head.revision.0.to_owned(),
            revision_digest: head.revision.1,
            seeds: report.pairs.iter().map(|pair| pair.seed).collect(),
            parent_mean: report.parent_mean,
            parent_error: report.parent_error,
            revision_mean: report.revision_mean,
            revision_error: report.revision_error,
            difference: report.difference,
            interval: report.interval,
            sign_p: report.sign_p,
            outcome: report.outcome,
            parent_tokens: tokens(|pair| pair.parent),
            revision_tokens: tokens(|pair| pair.revision),
            parent_seconds: seconds(|pair| pair.parent),
            revision_seconds: seconds(|pair| pair.revision),
            parent_run: report.parent_run.clone(),
            revision_run: report.revision_run.clone(),
            reviser_tokens: head.cost.0,
            dollars: head.cost.1,
        }
    }
}

/// The ledger of a workspace.
#[derive(Debug, Clone)]
pub struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// The ledger of this workspace; the file is made with the first row.
    pub fn of(workspace: &Workspace) -> Self {
        Self {
            path: workspace.root().join("ledger.jsonl"),
        }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its rows, oldest first, and how many lines could not be read.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn rows(&self) -> Result<(Vec<Row>, usize), StoreError> {
        let text = match std::fs::read(&self.path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(error) => return Err(StoreError::io(&self.path, "read", &error)),
        };
        let lines: Vec<Option<Row>> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| serde_json::from_str(line).ok())
            .collect();
        let faults = lines.iter().filter(|row| row.is_none()).count();
        Ok((lines.into_iter().flatten().collect(), faults))
    }

    /// Adds a row, unless the gate has one already (an earlier process added it and was killed).
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&self, row: &Row) -> Result<(), StoreError> {
        let same = |other: &Row| {
            other.optimization == row.optimization
                && other.proposal == row.proposal
                && other.revision_digest == row.revision_digest
                && other.revision_run == row.revision_run
        };
        if self.rows()?.0.iter().any(same) {
            return Ok(());
        }
        let fail = |error: std::io::Error| StoreError::io(&self.path, "written", &error);
        let mut line = serde_json::to_string(row).map_err(|error| fail(error.into()))?;
        line.push('\n');
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(&self.path)
            .map_err(fail)?;
        if file.metadata().map_err(fail)?.len() > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1)).map_err(fail)?;
            file.read_exact(&mut last).map_err(fail)?;
            if last != *b"\n" {
                line.insert(0, '\n');
            }
        }
        file.write_all(line.as_bytes()).map_err(fail)?;
        file.sync_data().map_err(fail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::{Pair, Score};

    fn row(proposal: &str) -> Row {
        let score = Some(Score {
            progression: 0.5,
            total_reward: 11.0,
            steps: 300,
            tokens: 1000,
            seconds: 1.5,
        });
        let pairs = [42, 43].map(|seed| Pair {
            seed,
            parent: score,
            revision: score,
        });
        let report = crate::gate::report(pairs.to_vec(), "a.db".into(), "b.db".into(), true);
        let origin = Origin {
            optimization: "crafter-v0-1".into(),
            iteration: 1,
            attempt: 2,
            continues: None,
        };
        let head = Head {
            origin: &origin,
            kind: Kind::Revision,
            proposal: &proposal.into(),
            parent: ("crafter-v0", Digest::of("a")),
            revision: ("crafter-v0-auto", Digest::of("b")),
            cost: (70_000, Some(0.25)),
        };
        Row::of(&head, &report)
    }

    #[test]
    fn rows_are_added_once_and_a_torn_line_costs_one_row() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::of(&Workspace::at(dir.path()));
        assert_eq!(ledger.rows().unwrap(), (vec![], 0));
        let (one, two) = (row("p1"), row("p2"));
        ledger.add(&one).unwrap();
        ledger.add(&one).unwrap();
        assert_eq!(ledger.rows().unwrap(), (vec![one.clone()], 0));
        assert_eq!((one.parent_tokens, one.parent_seconds), (2000, 3.0));
        let mut file = OpenOptions::new().append(true).open(ledger.path()).unwrap();
        file.write_all(br#"{"time": "2026-11"#).unwrap();
        assert_eq!(ledger.rows().unwrap(), (vec![one.clone()], 1));
        ledger.add(&two).unwrap();
        assert_eq!(ledger.rows().unwrap(), (vec![one, two], 1));
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told() {
        let ledger = Ledger::of(&Workspace::at("/nonexistent/workspace"));
        let error = ledger.add(&row("p1")).unwrap_err().to_string();
        assert!(error.contains("ledger.jsonl") && error.contains("written"), "{error}");
    }
}
