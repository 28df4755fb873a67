//! `automem export`: a run as lines of JSON.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

use crate::store::Reader;
use crate::types::{Body, Event};

/// Write a run as JSON lines, one event a line.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run file
    run: PathBuf,
    /// Where to write; `-` is stdout
    #[arg(long, value_name = "OUT")]
    jsonl: PathBuf,
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let reader = Reader::open(&args.run)?;
    if args.jsonl == Path::new("-") {
        return match write(&reader, std::io::stdout().lock()) {
            Err(error) if is_closed(&error) => Ok(ExitCode::SUCCESS),
            other => other.map(|_| ExitCode::SUCCESS),
        };
    }
    // Whole or not at all: a half-written file never takes the name.
    let folder = match args.jsonl.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let cannot = || format!("{} cannot be written; choose another place", args.jsonl.display());
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
    let count = write(&reader, &mut file).with_context(cannot)?;
    file.persist(&args.jsonl).with_context(cannot)?;
    eprintln!("{count} events written to {}", args.jsonl.display());
    Ok(ExitCode::SUCCESS)
}

/// Writes every event: the run's start, each episode, the run's end.
fn write(reader: &Reader, out: impl Write) -> anyhow::Result<u64> {
    let mut out = BufWriter::new(out);
    let mut count = 0;
    let mut line = |event: &Event| -> anyhow::Result<()> {
        serde_json::to_writer(&mut out, event)?;
        out.write_all(b"\n")?;
        count += 1;
        Ok(())
    };
    let (ends, starts): (Vec<Event>, Vec<Event>) = reader
        .run_events()?
        .into_iter()
        .partition(|event| event.body == Body::RunFinished);
    starts.iter().try_for_each(&mut line)?;
    for episode in reader.episodes()? {
        for event in reader.episode_events(episode.episode)? {
            line(&event?)?;
        }
    }
    ends.iter().try_for_each(&mut line)?;
    out.flush()?;
    Ok(count)
}

fn is_closed(error: &anyhow::Error) -> bool {
    let closed = |kind| kind == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| closed(error.kind()))
            || cause
                .downcast_ref::<serde_json::Error>()
                .and_then(serde_json::Error::io_error_kind)
                .is_some_and(closed)
    })
}
