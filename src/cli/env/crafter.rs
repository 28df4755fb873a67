//! `automem env crafter`: the trace in the form of the recorded oracle.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;

use super::{is_broken_pipe, write_line};
use crate::env::crafter::{ACTIONS, Engine, Mode, Options, Outcome, trace};

/// Arguments of `automem env crafter`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Seed of the episode
    #[arg(long, allow_negative_numbers = true)]
    seed: i128,
    /// Actions to play, one number (0 to 16) a line; `-` reads them from stdin
    #[arg(long, value_name = "FILE")]
    actions: PathBuf,
    /// Where the trace goes; `-` is stdout
    #[arg(long, value_name = "OUT")]
    trace: PathBuf,
    /// Bare environment, or BALROG's wrapper around it
    #[arg(long, value_enum, default_value_t = ModeArg::Balrog)]
    mode: ModeArg,
    /// Side of the picture in pixels, which decides how many random numbers a night step takes
    /// [default: 256 with balrog, 64 with raw]
    #[arg(long, value_parser = clap::value_parser!(u32).range(9..=8192))]
    size: Option<u32>,
    /// Which episode of one environment this stands for
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..))]
    episode: i64,
    /// Steps after which the game itself ends; 0 for no end
    #[arg(long, default_value_t = 10_000)]
    length: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeArg {
    Balrog,
    Raw,
}

/// Plays and writes.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let text = super::read_actions(&args.actions)?;
    let actions = parse_actions(&text).with_context(|| format!("{}: a line is no action", args.actions.display()))?;
    let plain = match args.mode {
        ModeArg::Balrog => Options::BALROG,
        ModeArg::Raw => Options::RAW,
    };
    let options = Options {
        size: args.size.map_or(plain.size, |size| size as usize),
        length: args.length,
        episode: args.episode.into(),
        mode: plain.mode,
    };
    if args.trace.as_os_str() == "-" {
        let out = std::io::stdout().lock();
        return match play(BufWriter::new(out), args.seed, options, &actions) {
            Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
            other => other
                .map(|_| ExitCode::SUCCESS)
                .context("the trace could not be written to stdout"),
        };
    }
    let file = File::create(&args.trace)
        .with_context(|| format!("{} could not be created; choose another --trace", args.trace.display()))?;
    let played = play(BufWriter::new(file), args.seed, options, &actions)
        .with_context(|| format!("{} could not be written; is the disk full?", args.trace.display()))?;
    let left = actions.len() - played.steps;
    let rest = if left > 0 {
        format!("; the game was over, {left} actions were left")
    } else {
        String::new()
    };
    crate::cli::output::print_text(&format!(
        "{} steps, {} of 22 achievements{rest}: {}\n",
        played.steps,
        played.unlocked,
        args.trace.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

struct Played {
    steps: usize,
    unlocked: u32,
}

/// Writes header, one record a state, and the closing line; stops where the game is over.
fn play(mut out: impl Write, seed: i128, options: Options, actions: &[u8]) -> std::io::Result<Played> {
    let mut engine = Engine::new(options, seed);
    let mode = match options.mode {
        Mode::Balrog => "balrog",
        Mode::Raw => "raw",
    };
    let header = trace::header(&engine, &format!("crafter_{mode}_s{seed}"), seed, "file");
    write_line(&mut out, &header)?;
    let mut tracer = trace::Tracer::new();
    let mut outcome = Outcome {
        reward: 0.0,
        done: false,
    };
    write_line(&mut out, &tracer.record(&engine, None, outcome))?;
    let mut steps = 0;
    for &action in actions {
        if outcome.done {
            break;
        }
        outcome = engine.step(action);
        steps += 1;
        write_line(&mut out, &tracer.record(&engine, Some(action), outcome))?;
    }
    write_line(&mut out, &trace::closing(&engine))?;
    out.flush()?;
    Ok(Played {
        steps,
        unlocked: engine.player().unlocked(),
    })
}

/// One action number a line; empty lines are passed over.
fn parse_actions(text: &str) -> anyhow::Result<Vec<u8>> {
    let mut actions = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let word = line.trim();
        if word.is_empty() {
            continue;
        }
        match word.parse::<u8>() {
            Ok(action) if usize::from(action) < ACTIONS.len() => actions.push(action),
            _ => {
                let shown: String = word.chars().filter(|c| !c.is_control()).take(40).collect();
                bail!(
                    "line {}: `{shown}` is not a number from 0 to {}",
                    n + 1,
                    ACTIONS.len() - 1
                );
            }
        }
    }
    Ok(actions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named() {
        assert_eq!(parse_actions("0\n 16 \n\n5").unwrap(), [0, 16, 5]);
        for (text, line) in [
            ("0\n17\n", "line 2"),
            ("x", "line 1"),
            ("\n\n-1", "line 3"),
            ("1 2", "line 1"),
        ] {
            let error = parse_actions(text).unwrap_err().to_string();
            assert!(error.contains(line), "{error}");
        }
    }

    #[test]
    fn play_stops_where_the_game_is_over() {
        let options = Options {
            length: 5,
            ..Options::RAW
        };
        let mut out = Vec::new();
        let played = play(&mut out, 1, options, &[0; 9]).unwrap();
        assert_eq!(played.steps, 5);
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 1 + 6 + 1);
    }
}
