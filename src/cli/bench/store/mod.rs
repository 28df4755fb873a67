//! `automem bench store`: size of a run, time to open it and to reach any step or file.

mod dungeon;
mod probe;
mod reference;
mod stopwatch;
mod synthetic;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use self::stopwatch::Stopwatch;
use self::synthetic::{Player, Style};
use super::Figure;
use crate::jobs::Cancel;
use crate::store::{Reader, Writer};
use crate::types::{EpisodeNo, Event, RunMeta};

/// Measures the run file.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Also build a run from a recording of the reference (a debug.jsonl, plain or zstd)
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// Steps of the long run
    #[arg(long, default_value_t = 100_000)]
    steps: u32,
    /// Keep the runs that were made in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Read a run at random places and print what it took (what the bench starts a process for)
    #[arg(long, value_name = "RUN", hide = true)]
    probe: Option<PathBuf>,
}

impl Args {
    /// The run to read at random places, when that is all this process is for.
    pub(super) fn probed(&self) -> Option<&Path> {
        self.probe.as_deref()
    }
}

/// Reads a run at random places and prints what it took.
pub(super) fn probe(run: &Path) -> anyhow::Result<ExitCode> {
    probe::run(run)
}

/// Runs the bench.
pub(super) fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
    let temporary = tempfile::tempdir().context("there is no place for temporary files; set TMPDIR")?;
    let folder = args.keep.as_deref().unwrap_or(temporary.path());
    let mut figures = Vec::new();
    let wide = |steps: u32| Player::new(Style::Reference).take(steps as usize).map(Ok);
    let one = write(&folder.join("1000.db"), wide(1000))?;
    let two = write(&folder.join("2000.db"), wide(2000))?;
    figures.push(Figure::new("size, 2,000 steps like the reference's", two.megabytes(), "MB").at_most(1.0));
    figures.push(Figure::new(
        "size, second half against first",
        two.megabytes() / one.megabytes() - 1.0,
        "times",
    ));
    figures.push(Figure::new(
        "commits, prompts as long as the reference's",
        two.rate(),
        "steps/s",
    ));
    if let Some(file) = &args.reference {
        let half = write(&folder.join("half.db"), reference::steps(file)?.take(1000))?;
        let path = folder.join("reference.db");
        let all = write(&path, reference::steps(file)?)?;
        figures.push(Figure::new("reference run: steps", f64::from(all.steps), ""));
        figures.push(Figure::new("reference run: text stored", all.text as f64 / 1e6, "MB"));
        figures.push(Figure::new("reference run: size", all.megabytes(), "MB").at_most(1.0));
        figures.push(Figure::new(
            "reference run: size of 1,000 steps",
            half.megabytes(),
            "MB",
        ));
        figures.push(Figure::new("reference run: commits", all.rate(), "steps/s"));
        figures.extend(probed(&path, "reference run: ")?);
        figures.extend(searched(&path)?);
    }
    let path = folder.join("long.db");
    let long = write(&path, Player::new(Style::Short).take(args.steps as usize).map(Ok))?;
    figures.push(Figure::new("long run: steps", f64::from(long.steps), ""));
    figures.push(Figure::new("long run: size", long.megabytes(), "MB"));
    figures.push(Figure::new("long run: commits", long.rate(), "steps/s").at_least(1000.0));
    figures.push(Figure::new(
        "long run: commits, processor time",
        f64::from(long.steps) / long.cpu,
        "steps/s",
    ));
    figures.push(Figure::new("long run: slowest commit", long.slowest, "ms"));
    figures.extend(probed(&path, "long run: ")?);
    if let Some(walk) = dungeon::Walk::new() {
        let path = folder.join("nethack.db");
        let long = write(&path, walk.take(args.steps as usize))?;
        figures.push(Figure::new("NetHack run: steps", f64::from(long.steps), ""));
        figures.push(Figure::new("NetHack run: size", long.megabytes(), "MB"));
        figures.push(Figure::new("NetHack run: commits", long.rate(), "steps/s"));
        figures.extend(probed(&path, "NetHack run: ")?);
    }
    Ok(figures)
}

/// How long a search of the whole run takes: for a text that is nowhere, for one that is in every
/// prompt, and until a search that is cancelled at once has ended.
fn searched(path: &Path) -> anyhow::Result<Vec<Figure>> {
    let reader = Reader::open(path)?;
    let mut worst = 0f64;
    let mut figures = Vec::new();
    for (name, text) in [
        ("nowhere", "xylophone"),
        ("in some steps", "zombie"),
        ("everywhere", "memory"),
    ] {
        let start = Stopwatch::start();
        let hits = reader.search(text, &Cancel::new(), &mut |_| {})?;
        let ms = start.wall();
        worst = worst.max(ms);
        figures.push(Figure::new(format!("search, a text that is {name}"), ms, "ms"));
        figures.push(Figure::new(format!("search, hits {name}"), hits.len() as f64, ""));
    }
    figures.push(Figure::new("search_ms", worst, "ms").at_most(1000.0));
    let cancel = Cancel::new();
    let from_here = cancel.clone();
    let cancelled = std::thread::scope(|scope| {
        let search = scope.spawn(|| Reader::open(path)?.search("memory", &cancel, &mut |_| {}));
        std::thread::sleep(std::time::Duration::from_millis(40));
        let start = Stopwatch::start();
        from_here.cancel();
        let _ = search.join();
        start.wall()
    });
    figures.push(Figure::new("search, until a cancelled one has ended", cancelled, "ms").at_most(100.0));
    Ok(figures)
}

/// What writing a run took.
struct Written {
    steps: u32,
    bytes: u64,
    text: usize,
    seconds: f64,
    cpu: f64,
    slowest: f64,
}

impl Written {
    fn megabytes(&self) -> f64 {
        self.bytes as f64 / 1e6
    }

    fn rate(&self) -> f64 {
        f64::from(self.steps) / self.seconds
    }
}

/// Writes a made-up run: with prompts like the reference's, or short ones.
pub(super) fn synthetic_run(path: &Path, steps: u32, like_the_reference: bool) -> anyhow::Result<()> {
    let style = match like_the_reference {
        true => Style::Reference,
        false => Style::Short,
    };
    write(path, Player::new(style).take(steps as usize).map(Ok)).map(|_| ())
}

/// Writes a made-up run of several episodes with short prompts.
pub(super) fn synthetic_episodes(path: &Path, episodes: u32, steps: u32) -> anyhow::Result<()> {
    let steps = (0..episodes).flat_map(|episode| {
        Player::new(Style::Short).take(steps as usize).map(move |mut events| {
            for event in &mut events {
                event.at.episode = EpisodeNo(episode);
                event.at.memory_root = format!("ep_{episode:02}").into();
            }
            Ok(events)
        })
    });
    write(path, steps).map(|_| ())
}

/// Writes a run; only the store's own time counts.
fn write(path: &Path, steps: impl Iterator<Item = anyhow::Result<Vec<Event>>>) -> anyhow::Result<Written> {
    let meta: RunMeta = synthetic::meta();
    let mut writer = Writer::create(path, &meta)?;
    let mut written = Written {
        steps: 0,
        bytes: 0,
        text: 0,
        seconds: 0.0,
        cpu: 0.0,
        slowest: 0.0,
    };
    for events in steps {
        let events = events?;
        written.text += events.iter().map(reference::text_of).sum::<usize>();
        let start = Stopwatch::start();
        writer.commit(&events)?;
        written.seconds += start.wall() / 1e3;
        written.cpu += start.cpu() / 1e3;
        written.slowest = written.slowest.max(start.wall());
        written.steps += 1;
    }
    let start = Stopwatch::start();
    writer.finish()?;
    written.seconds += start.wall() / 1e3;
    written.cpu += start.cpu() / 1e3;
    written.bytes = std::fs::metadata(path)?.len();
    Ok(written)
}

/// Reads the run in a process of its own, so that its memory is only the reader's.
fn probed(path: &Path, prefix: &str) -> anyhow::Result<Vec<Figure>> {
    let program = std::env::current_exe().context("this program cannot find itself")?;
    let output = std::process::Command::new(program)
        .args(["bench", "store", "--probe"])
        .arg(path)
        .output()
        .context("the reading process cannot be started")?;
    if !output.status.success() {
        bail!(
            "the reading process failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let mut figures: Vec<Figure> =
        serde_json::from_slice(&output.stdout).context("the reading process said something odd")?;
    for figure in &mut figures {
        figure.name.insert_str(0, prefix);
    }
    Ok(figures)
}
