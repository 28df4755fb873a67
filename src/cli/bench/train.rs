//! Training: tokens a second, processor time of an update, memory.

#[cfg(feature = "train")]
use anyhow::Context as _;

use super::Figure;

/// Tokens of a conversation, tokens a second and memory in MiB that must be reached: what a first trial reached.
#[cfg(feature = "train")]
const FLOOR: [(usize, f64, f64); 3] = [(256, 184.0, 1126.0), (512, 127.0, 1843.0), (1024, 124.0, 3686.0)];

/// Share of this machine's own matrix speed that training must reach. Floors in tokens are of a machine that multiplied at
/// 70 to 90 GFLOP/s a core, of which that trial used 42 to 65 %.
#[cfg(feature = "train")]
const SHARE: f64 = 50.0;

/// Arguments of the bench.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A model's name or the path of a GGUF file; the floor is one of SmolLM2-135M on two cores
    #[arg(long, default_value = "smollm2-135m")]
    model: String,
    /// Updates measured at each length, after one that is not
    #[arg(long, default_value_t = 3)]
    updates: u32,
}

#[cfg(not(feature = "train"))]
pub(super) fn measure(_: &Args) -> anyhow::Result<Vec<Figure>> {
    anyhow::bail!("this build of automem is without the native trainer; build it with its default features")
}

#[cfg(feature = "train")]
pub(super) fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
    use crate::llm::catalog;
    use crate::tune::train::native::Workbench;

    let models = crate::config::Workspace::find()?.models_dir();
    let named = catalog::path_of(&models, &args.model).filter(|path| path.is_file());
    let model = named.unwrap_or_else(|| args.model.clone().into());
    let longest = FLOOR.iter().map(|(length, ..)| *length).max().unwrap_or(0);
    let mut bench = Workbench::open(&model, longest + 1)?;
    let peak = bench.peak()?;
    let mut figures = vec![Figure::new(
        "this machine multiplies 1024 x 1024 matrices at",
        peak / 1e9,
        "GFLOP/s",
    )];
    // From short to long: the most memory so far is then the length's own.
    for (length, speed, memory) in FLOOR {
        bench.update(length, false)?;
        let (mut seconds, before) = (Vec::new(), processor_seconds());
        for _ in 0..args.updates.max(1) {
            seconds.push(bench.update(length, false)?);
        }
        let spent = before.and_then(|before| Some(processor_seconds()? - before));
        // What else the machine does can only make it slower.
        let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let figure = |what: &str, value: f64, unit: &str| Figure::new(format!("{what}, {length} tokens"), value, unit);
        figures.push(figure("training", length as f64 / best, "tokens/s").at_least(speed));
        let share = 100.0 * bench.work(length) / best / peak;
        figures.push(figure("of that speed, training", share, "%").at_least(SHARE));
        if let Some(spent) = spent {
            figures.push(figure("processor time of an update", spent / seconds.len() as f64, "s"));
        }
        if let Some(peak) = crate::jobs::memory::peak() {
            figures.push(figure("most memory", peak as f64 / f64::from(1 << 20), "MiB").at_most(memory));
        }
    }
    // Last, since it takes less memory.
    let seconds = bench.update(longest, true).context("with checkpointing")?;
    figures.push(Figure::new(
        format!("with layers computed twice, {longest} tokens"),
        longest as f64 / seconds,
        "tokens/s",
    ));
    Ok(figures)
}

/// Processor time of this process so far; only Linux tells it so.
#[cfg(feature = "train")]
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    // Linux counts a hundred a second for programs, whatever it does inside.
    Some(ticks as f64 / 100.0)
}
