//! `automem train`: trains a LoRA adapter from a set of conversations.
//!
//! Owns how a training is asked for and how it is told of. A folder that holds a checkpoint is gone on with.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use super::interrupt::cancel_on_signals;
use super::output::print_text;
use crate::config::Workspace;
use crate::llm::catalog;
use crate::protocol::sanitize::{clean, clean_line};
use crate::tune::recipe::TrainConfig;
use crate::tune::train::failure::{Failure, FailureLine};
use crate::tune::train::folder::read_job;
use crate::tune::train::llamafactory::LlamaFactory;
use crate::tune::train::{TrainBackend, TrainError, TrainJob, TrainNews, Trained};

/// Share of the conversations that is kept back, unless asked otherwise.
const HELD_OUT: f64 = 0.1;

/// Arguments of `automem train`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The base model: a name in the workspace, or FILE.gguf
    #[arg(long, value_name = "MODEL", required_unless_present = "job")]
    base: Option<String>,
    /// The training set: a JSON list of conversations, as `automem tune postprocess` writes it
    #[arg(long, value_name = "FILE", required_unless_present = "job")]
    data: Option<PathBuf>,
    /// RANK:ALPHA:DROPOUT:LR:EPOCHS:BATCH:GRAD_ACCUM:CUTOFF:LR_SCHED:WARMUP:SAVE:NUM_GPUS:TARGET, for example
    /// 8:16:0.05:2e-4:3:1:8:2048:cosine:0.05:false:1:ATTN
    #[arg(long, value_name = "LINE", required_unless_present = "job")]
    recipe: Option<String>,
    /// Where the adapter goes [default: the workspace's adapters, under the training's name]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Name of the training: a folder in the workspace's trainings; one with a checkpoint is gone on with [default: the
    /// adapter's]
    #[arg(long)]
    name: Option<String>,
    /// Share of the conversations that is kept back to measure on, 0 to 0.5
    #[arg(long, value_name = "SHARE", default_value_t = HELD_OUT)]
    held_out: f64,
    /// Seed of order, start and dropout [default: the recipe's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    /// Memory it may take, in MiB [default: three quarters of what is free]
    #[arg(long, value_name = "MIB")]
    memory: Option<u64>,
    /// Who trains
    #[arg(long, value_enum, default_value = "native")]
    backend: BackEnd,
    /// The base model as LLaMA-Factory loads it: a name on the hub, or a folder (with --backend llamafactory)
    #[arg(long, value_name = "NAME")]
    hf_model: Option<String>,
    /// LLaMA-Factory's name of the chat template [default: guessed from the base model]
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    /// A whole job instead of the options: the job.json of a training's folder
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "data", "recipe", "out", "name", "seed", "threads", "memory"])]
    job: Option<PathBuf>,
    /// Print JSON lines: what happens, then what came of it
    #[arg(long)]
    json: bool,
    /// Stop, with a checkpoint, when the standard input is closed (for the program itself)
    #[arg(long, hide = true)]
    until_stdin_closes: bool,
}

/// Who trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum BackEnd {
    /// This program, on this machine
    Native,
    /// LLaMA-Factory: its files are laid out, and it is run where it is installed
    Llamafactory,
}

/// Trains.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let job = match &args.job {
        Some(path) => read_job(path),
        None => Ok(job_of(&args)?),
    };
    let cancel = cancel_on_signals()?;
    if args.until_stdin_closes {
        stand_back();
        let cancel = cancel.clone();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            cancel.cancel();
        });
    }
    let mut teller = Teller {
        json: args.json,
        terminal: std::io::stderr().is_terminal(),
        stdout_is_open: true,
    };
    let trained = job.and_then(|job| {
        let mut backend = match args.backend {
            BackEnd::Native => native()?,
            BackEnd::Llamafactory => Box::new(LlamaFactory {
                hf_model: args.hf_model.clone().unwrap_or_default(),
                template: args.template.clone(),
                ..LlamaFactory::default()
            }),
        };
        backend.train(&job, &cancel, &mut |news| teller.tell(&news))
    });
    teller.ended(trained)
}

/// Somebody else runs this beside their own work: it gives way to that.
fn stand_back() {
    #[cfg(unix)]
    let _ = rustix::process::nice(10);
}

#[cfg(feature = "train")]
fn native() -> Result<Box<dyn TrainBackend>, TrainError> {
    Ok(Box::<crate::tune::train::native::NativeTrainer>::default())
}

#[cfg(not(feature = "train"))]
fn native() -> Result<Box<dyn TrainBackend>, TrainError> {
    Err(TrainError::Unfit {
        what: "this build of automem is without the native trainer".to_owned(),
        hint: "build it with its default features (cmake, clang and libclang-dev are needed)".to_owned(),
    })
}

/// The job that the options describe.
fn job_of(args: &Args) -> anyhow::Result<TrainJob> {
    let (Some(base), Some(data), Some(recipe)) = (&args.base, &args.data, &args.recipe) else {
        bail!("give --base, --data and --recipe, or --job");
    };
    let workspace = Workspace::find()?;
    let mut config = TrainConfig::parse_line(recipe)?;
    if let Some(seed) = args.seed {
        config.seed = seed;
    }
    let name = match (&args.name, &args.out) {
        (Some(name), _) => name.clone(),
        (None, Some(out)) => out
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .with_context(|| format!("{} cannot be an adapter's file", out.display()))?,
        (None, None) => bail!("give the training a --name, or the adapter a file with --out"),
    };
    let adapters = workspace.adapters_dir();
    // The rule for names of models holds for trainings too: they become files.
    let Some(own) = catalog::path_of(&adapters, &name) else {
        bail!("`{name}` cannot be a training's name; use letters, digits, `-`, `_` and `.` (--name)");
    };
    Ok(TrainJob {
        base: absolute(&base_of(base, &workspace)?)?,
        data: absolute(data)?,
        config,
        out: absolute(args.out.as_deref().unwrap_or(&own))?,
        folder: absolute(&workspace.trainings_dir().join(&name))?,
        name,
        held_out: args.held_out,
        threads: args.threads,
        memory: args.memory.map(|mebibytes| mebibytes.saturating_mul(1 << 20)),
    })
}

/// A job is gone on with from any folder.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is no path", path.display()))
}

fn base_of(spec: &str, workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let path = PathBuf::from(spec);
    if path.is_file() {
        return Ok(path);
    }
    let models = workspace.models_dir();
    match catalog::path_of(&models, spec).filter(|path| path.is_file()) {
        Some(path) => Ok(path),
        None => bail!(
            "there is no model `{spec}`: it is no file, and {} has none of this name; `automem model list` shows them",
            models.display()
        ),
    }
}

/// Tells of a training.
struct Teller {
    json: bool,
    terminal: bool,
    stdout_is_open: bool,
}

impl Teller {
    fn line(&mut self, value: &impl serde::Serialize) {
        let printed = serde_json::to_string(value).map(|line| print_text(&(line + "\n")));
        // The training goes on without a reader; its log has everything.
        self.stdout_is_open &= matches!(printed, Ok(Ok(())));
    }

    fn tell(&mut self, news: &TrainNews) {
        if self.json {
            if self.stdout_is_open {
                self.line(news);
            }
            return;
        }
        let (text, stays) = words(news);
        if self.terminal {
            eprint!("\r\x1b[K{}", clean_line(&text));
            if stays {
                eprintln!();
            }
        } else {
            eprintln!("{}", clean_line(&text));
        }
    }

    fn ended(&mut self, trained: Result<Trained, TrainError>) -> anyhow::Result<ExitCode> {
        match trained {
            Ok(trained) if self.json => {
                // The last of the news has said it.
                let _ = trained;
                Ok(ExitCode::SUCCESS)
            }
            Ok(trained) => {
                print_text(&clean(&format!(
                    "{} ({})\n",
                    trained.adapter.display(),
                    trained.digest.short()
                )))?;
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => {
                if self.json && self.stdout_is_open {
                    self.line(&FailureLine {
                        failed: Failure::from(&error),
                    });
                }
                match error {
                    TrainError::Cancelled => bail!("stopped; the same command goes on from the last checkpoint"),
                    error => Err(error.into()),
                }
            }
        }
    }
}

/// News in words, and whether the line stays.
pub(super) fn words(news: &TrainNews) -> (String, bool) {
    match news {
        TrainNews::Planned {
            steps,
            examples,
            held_out,
            too_long,
            parameters,
            memory,
            checkpointing,
            done,
            device,
        } => {
            let mut text = format!(
                "{steps} updates over {examples} conversations on {device}, {held_out} held out; {parameters} numbers are trained; about {} MiB",
                memory >> 20
            );
            if *checkpointing {
                text.push_str(", layers are computed twice to save memory");
            }
            if *too_long > 0 {
                text.push_str(&format!(
                    "; {too_long} conversations are longer than the cutoff and left out"
                ));
            }
            if *done > 0 {
                text.push_str(&format!("; going on after update {done}"));
            }
            (text, true)
        }
        TrainNews::Step {
            step,
            of,
            epoch,
            loss,
            lr,
            tokens_per_second,
            ..
        } => (
            format!(
                "update {step} of {of}  epoch {epoch:.2}  loss {loss:.4}  rate {lr:.2e}  {tokens_per_second:.0} tokens/s"
            ),
            step == of,
        ),
        TrainNews::HeldOut { step, loss } => (format!("held-out loss after update {step}: {loss:.4}"), true),
        TrainNews::Saved { step } => (format!("checkpoint after update {step}"), false),
        TrainNews::Line { text } => (text.clone(), true),
        TrainNews::Done {
            steps,
            loss,
            seconds,
            peak_rss,
            ..
        } => (
            format!(
                "{steps} updates, loss {loss:.4}, {seconds:.0} s, at most {} MiB",
                peak_rss >> 20
            ),
            true,
        ),
    }
}
