//! Tools that give numbers and named problems of a run.
//!
//! Owns asking for an analysis once a run. What it means is `analysis`'s.

use std::fmt::Write;

use super::args::Args;
use super::error::{Fault, MetaError};
use super::runs::Runs;
use crate::analysis::{self, Analysis};

type Told = Result<String, Fault>;

pub(super) fn metrics(runs: &mut Runs<'_>, args: &Args<'_>) -> Told {
    let analysis = analysed(runs, args)?;
    serde_json::to_string_pretty(&analysis.metrics)
        .map_err(|error| Fault::Fatal(MetaError::Other(format!("the metrics could not be written: {error}"))))
}

pub(super) fn findings(runs: &mut Runs<'_>, args: &Args<'_>) -> Told {
    let analysis = analysed(runs, args)?;
    let mut out = String::new();
    for finding in &analysis.findings {
        let places: Vec<String> = finding
            .steps
            .iter()
            .map(|place| format!("{}:{}", place.episode, place.step))
            .collect();
        let _ = writeln!(
            out,
            "[{}] {}\n  {}\n  files: {}; steps (episode:step): {}\n  try: {}",
            finding.severity.word(),
            finding.title,
            finding.detail,
            if finding.files.is_empty() {
                "-".to_owned()
            } else {
                finding.files.join(", ")
            },
            if places.is_empty() {
                "-".to_owned()
            } else {
                places.join(" ")
            },
            finding.advice
        );
    }
    if analysis.findings.is_empty() {
        out.push_str("The rules found nothing; look at the steps yourself.\n");
    }
    if !analysis.faults.is_empty() {
        let faults = serde_json::to_string_pretty(&analysis.faults).unwrap_or_default();
        let _ = writeln!(out, "\nFailures, traced back:\n{faults}");
    }
    Ok(out)
}

fn analysed<'a>(runs: &'a mut Runs<'_>, args: &Args<'_>) -> Result<&'a Analysis, Fault> {
    let number = args.number("run")?;
    let path = runs.run(number)?.path.clone();
    let number = number.unwrap_or(0) as usize;
    let slot = runs
        .analyses
        .get_mut(number)
        .ok_or_else(|| Fault::Told(format!("There is no run {number}.")))?;
    if slot.is_none() {
        *slot = Some(analysis::analyse(&path, runs.cancel, &mut |_| {})?);
    }
    slot.as_ref()
        .ok_or_else(|| Fault::Told("The run could not be looked through.".to_owned()))
}
