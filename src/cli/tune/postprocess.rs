//! `automem tune postprocess`: what of conversations is trained on, with counts.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::cli::output::print_json;
use crate::jobs::Cancel;
use crate::tune::dataset::{self, Entry, Example};
use crate::tune::postprocess::{Dropped, Report, clean, phase_of};

/// Unwraps code fences around tags, cuts LOG after DONE and PLAN before its action, cuts what follows the last operation,
/// and drops what holds no memory operation then. Prints `{raw, valid, output, violations, dropped}`; exit code 1 when
/// something that came out violates the rules.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A JSON list of {"conversations": [{"role": ..., "content": ...}, ...]}
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Where what is kept is written
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Hold the sources that IN names against these run files first: a changed text is refused
    #[arg(long, value_name = "RUN", num_args = 1..)]
    against: Vec<PathBuf>,
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if !args.against.is_empty() {
        dataset::verify(&args.input, &args.against, &Cancel::new())?;
    }
    let mut report = Report::default();
    let mut kept = Vec::new();
    for entry in dataset::entries(&args.input)? {
        let Entry::Example(example) = entry else {
            report.count(Err(Dropped::Invalid));
            continue;
        };
        let Example { conversations, source } = *example;
        let phase = source
            .as_ref()
            .map_or_else(|| phase_of(&conversations), |source| source.phase);
        if let Some(cleaned) = report.count(clean(phase, &conversations)) {
            kept.push(Example {
                conversations: cleaned.conversation,
                source,
            });
        }
    }
    dataset::write(&args.output, &dataset::to_bytes(&kept))?;
    print_json(&report)?;
    Ok(match report.violations {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}
