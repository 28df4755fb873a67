//! `automem worker`: a world of this program as a worker, on stdin and stdout.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::env::{self, World, WorldError, worker};

/// Arguments of `automem worker`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The world
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(env::WORLDS.iter().copied()))]
    world: String,
    /// The task [default: the world's first]
    #[arg(long)]
    task: Option<String>,
    /// The engine [default: the world's usual one]
    #[arg(long)]
    engine: Option<String>,
    /// Where NetHack's files are [default: AUTOMEM_NETHACK, else where `automem setup nethack` puts them]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Serves until it is told to close. Where there is no world, every request is answered with why.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let output = replies()?;
    let input = io::stdin().lock();
    if input.is_terminal() {
        eprintln!(
            "This is for another program, which writes requests here, one a line: {{\"do\":\"hello\",\"protocol\":1}} \
             is the first. Ctrl-D ends it."
        );
    }
    let (served, code) = match open(&args) {
        Ok(mut world) => (worker::serve(&mut *world, input, output), ExitCode::SUCCESS),
        Err(why) => (worker::refuse(&why, input, output), ExitCode::FAILURE),
    };
    match served {
        // Whoever asked went away.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(code),
        other => Ok(other.map(|()| code)?),
    }
}

/// Opens a world in this process.
fn open(args: &Args) -> Result<Box<dyn World>, WorldError> {
    let (task, engine) = (args.task.as_deref(), args.engine.as_deref());
    let data = || match &args.data {
        Some(data) => Ok(data.clone()),
        None => env::nethack::install::data_dir(),
    };
    match args.world.as_str() {
        "nethack" => {
            if let Some(task) = task.filter(|task| *task != env::nethack::TASK) {
                return Err(WorldError::Variant {
                    world: "nethack".to_owned(),
                    what: "task",
                    name: task.to_owned(),
                    known: env::nethack::TASK.to_owned(),
                });
            }
            Ok(Box::new(env::nethack::NetHack::open(engine, &data()?)?))
        }
        "minihack" => Ok(Box::new(env::minihack::MiniHack::open(task, engine, &data()?)?)),
        name => {
            let address = env::Address::Built {
                name: name.to_owned(),
                task: args.task.clone(),
                engine: args.engine.clone(),
            };
            env::open(&address.to_string())
        }
    }
}

/// Where replies go. What else is printed in this process, by a game's library too, goes to stderr, so that replies
/// stand alone.
#[cfg(unix)]
fn replies() -> io::Result<std::fs::File> {
    let replies = rustix::io::dup(io::stdout())?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(replies.into())
}

#[cfg(not(unix))]
fn replies() -> io::Result<io::Stdout> {
    Ok(io::stdout())
}
