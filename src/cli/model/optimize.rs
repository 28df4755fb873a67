//! `automem model optimize`: the quantisation that suits this machine, measured, and what it loses.

use std::process::ExitCode;

use crate::llm::LlmError;
use crate::llm::optimize::{self, Keep};

/// Arguments of `automem model optimize`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A name from `automem model list`, or the path of a GGUF file
    model: String,
    /// What to keep beside the original: the fastest, the one most like the original, or both. Without it a terminal
    /// is asked, and else nothing is kept
    #[arg(long)]
    keep: Option<KeepArg>,
    /// Quantisations to try; by default Q4_0 and Q8_0
    #[arg(long, value_name = "TYPE", value_delimiter = ',')]
    to: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum KeepArg {
    Fastest,
    MostAlike,
    Both,
}

#[cfg(feature = "llama")]
impl KeepArg {
    fn word(self) -> &'static str {
        match self {
            Self::Fastest => "fastest",
            Self::MostAlike => "most-alike",
            Self::Both => "both",
        }
    }
}

impl From<KeepArg> for Keep {
    fn from(keep: KeepArg) -> Self {
        match keep {
            KeepArg::Fastest => Self::Fastest,
            KeepArg::MostAlike => Self::MostAlike,
            KeepArg::Both => Self::Both,
        }
    }
}

/// Everything that can be refused before a byte is written.
fn checked(args: &Args) -> anyhow::Result<Work> {
    let workspace = super::workspace()?;
    let found = super::find(&args.model, &workspace)?;
    let current = match found.info {
        Ok(info) => info.quantisation,
        Err(error) => return Err(error.into()),
    };
    let told = |cause: String| anyhow::anyhow!("{}: {cause}", found.path.display());
    let kinds = optimize::targets(&current, &args.to).map_err(told)?;
    let names: Vec<String> = kinds
        .iter()
        .map(|kind| format!("{}-{}", found.name, kind.to_lowercase()))
        .collect();
    let folder = workspace.models_dir();
    for name in names.iter().filter(|_| args.keep.is_some()) {
        let path = crate::llm::catalog::path_of(&folder, name);
        if let Some(path) = path.filter(|path| path.exists()) {
            return Err(LlmError::File {
                path: path.display().to_string(),
                cause: "it is there already".to_owned(),
                hint: "remove it first, or name other quantisations with --to".to_owned(),
            }
            .into());
        }
    }
    Ok(Work {
        name: found.name,
        path: found.path,
        bytes: found.bytes,
        current,
        kinds,
        names,
        folder,
    })
}

/// What is to be done.
#[cfg_attr(
    not(feature = "llama"),
    allow(dead_code, reason = "a viewer only checks what was asked")
)]
struct Work {
    name: String,
    path: std::path::PathBuf,
    bytes: u64,
    current: String,
    kinds: Vec<String>,
    names: Vec<String>,
    folder: std::path::PathBuf,
}

#[cfg(not(feature = "llama"))]
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    checked(args)?;
    anyhow::bail!("this build of automem is a viewer without llama.cpp; build it with its default features to quantise")
}

#[cfg(feature = "llama")]
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    use std::io::IsTerminal;

    use crate::llm::llama::optimize::{Doing, Effort, optimize};

    let work = checked(args)?;
    let cancel = super::cancel_on_signals()?;
    let terminal = std::io::stderr().is_terminal();
    if optimize::adds_to_loss(&work.current) {
        eprintln!(
            "{} is in {} already: what is lost now adds to what was lost then. A model in F16 or BF16 is the better start.",
            work.name, work.current
        );
    }
    let effort = Effort::default();
    let tried = optimize(&work.path, &work.kinds, &work.folder, effort, &cancel, &mut |doing| {
        if terminal {
            let line = match doing {
                Doing::Writing(kind, bytes) => format!("writing {kind}: {}", super::bytes_text(bytes)),
                Doing::Measuring(kind, pair, of) => {
                    format!("measuring {kind} and the original in turn: {pair} of {of}")
                }
                Doing::Comparing(kind) => format!("comparing {kind} with the original"),
            };
            eprint!("\r\x1b[2K{line}");
        }
    });
    if terminal {
        eprint!("\r\x1b[2K");
    }
    let tried = match tried {
        Err(LlmError::Cancelled) => anyhow::bail!("it was stopped; nothing is kept"),
        tried => tried?,
    };
    let asks = args.keep.is_none() && !args.json && terminal && std::io::stdin().is_terminal();
    if !args.json {
        super::super::output::print_text(&told::table(&work.current, work.bytes, &tried.candidates))?;
    }
    let keep = match args.keep {
        Some(keep) => Some(keep),
        None if asks => match told::ask(&cancel) {
            Some(answer) => answer,
            None => anyhow::bail!("it was stopped; nothing is kept"),
        },
        None => None,
    };
    let chosen = keep.map_or_else(Vec::new, |keep| optimize::choose(&tried.candidates, keep.into()));
    let mut kept = Vec::new();
    for at in chosen {
        let path = tried.keep(&tried.candidates[at], &work.names[at])?;
        kept.push((work.names[at].clone(), path));
    }
    told::end(args, &work, &tried.candidates, keep, &kept)?;
    Ok(ExitCode::SUCCESS)
}

/// How it is told.
#[cfg(feature = "llama")]
mod told {
    use std::path::PathBuf;
    use std::time::Duration;

    use serde_json::json;

    use super::super::super::output;
    use super::super::bytes_text;
    use super::{Args, KeepArg, Work};
    use crate::jobs::Cancel;
    use crate::llm::optimize::Candidate;

    /// The candidates, each with the original as it was in the same minutes.
    pub(super) fn table(current: &str, bytes: u64, candidates: &[Candidate]) -> String {
        let mut text = format!("{current} (the original): {}\n", bytes_text(bytes));
        for tried in candidates {
            let (new, old, alike) = (tried.speed, tried.original, tried.alike);
            let line = |what: &str, new: f64, old: f64| {
                format!(
                    "  {what} {new:>8.1} tokens/s, the original {old:.1} ({:.2} times)\n",
                    new / old
                )
            };
            text.push_str(&format!("{}: {}\n", tried.quantisation, bytes_text(tried.bytes)));
            text.push_str(&line("prompts", new.prompt_tokens_per_s, old.prompt_tokens_per_s));
            text.push_str(&line("answers", new.decode_tokens_per_s, old.decode_tokens_per_s));
            text.push_str(&format!(
                "  expects the original's next token at {:.1} % of {} places; log-probability of the text {:+.3} a token\n",
                alike.same_next_percent, alike.places, alike.log_prob_change
            ));
        }
        text
    }

    /// Asks what to keep; nothing when the answer is empty or the input ends. `None` after Ctrl-C.
    pub(super) fn ask(cancel: &Cancel) -> Option<Option<KeepArg>> {
        loop {
            eprint!("Keep the [f]astest, the [m]ost alike, [b]oth, or [n]one? ");
            // Reading a line cannot be interrupted; another thread does it, and ends with the program.
            let (line, lines) = crossbeam_channel::bounded(1);
            std::thread::spawn(move || {
                let mut text = String::new();
                let read = std::io::stdin().read_line(&mut text);
                // Nobody waits any more after Ctrl-C.
                let _ = line.send(read.map(|_| text).unwrap_or_default());
            });
            let answer = loop {
                if cancel.is_cancelled() {
                    eprintln!();
                    return None;
                }
                match lines.recv_timeout(Duration::from_millis(50)) {
                    Ok(answer) => break answer,
                    Err(crossbeam_channel::RecvTimeoutError::Timeout) => {}
                    Err(crossbeam_channel::RecvTimeoutError::Disconnected) => break String::new(),
                }
            };
            match answer.trim().to_lowercase().as_str() {
                "f" | "fastest" => return Some(Some(KeepArg::Fastest)),
                "m" | "most-alike" => return Some(Some(KeepArg::MostAlike)),
                "b" | "both" => return Some(Some(KeepArg::Both)),
                "" | "n" | "none" => return Some(None),
                _ => {}
            }
        }
    }

    pub(super) fn end(
        args: &Args,
        work: &Work,
        candidates: &[Candidate],
        keep: Option<KeepArg>,
        kept: &[(String, PathBuf)],
    ) -> anyhow::Result<()> {
        if args.json {
            let kept: Vec<_> = kept
                .iter()
                .map(|(name, path)| json!({"name": name, "path": path}))
                .collect();
            return output::print_json(&json!({
                "model": work.name, "quantisation": work.current, "bytes": work.bytes,
                "adds_to_loss": crate::llm::optimize::adds_to_loss(&work.current),
                "candidates": candidates, "keep": keep.map(KeepArg::word), "kept": kept,
            }));
        }
        let mut text = String::new();
        for (name, path) in kept {
            text.push_str(&format!("{name} is kept: {}\n", path.display()));
        }
        if kept.is_empty() {
            text.push_str(match keep {
                None => "Nothing is kept; --keep fastest, most-alike or both keeps one.\n",
                Some(_) => {
                    "None is faster than the original, so nothing is kept; `automem model quantize` writes one all the same.\n"
                }
            });
        }
        output::print_text(&text)
    }
}
