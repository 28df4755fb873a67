//! `automem env nethack` and `minihack`: actions by their names, one JSON object a frame.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::Value;

use super::{is_broken_pipe, read_actions, write_line};
use crate::cli::output;
use crate::env::{self, Address, World};
use crate::protocol::sanitize::clean_line;
use crate::types::{Action, Frame, WorldSpec};

/// Arguments of `automem env nethack` and `automem env minihack`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The task [default: the world's first]
    #[arg(long)]
    task: Option<String>,
    /// The engine: balrog-nle or nle [default: balrog-nle]
    #[arg(long)]
    engine: Option<String>,
    /// Seed of the episode
    #[arg(long)]
    seed: u64,
    /// Actions to play, one name a line; `-` reads them from stdin
    #[arg(long, value_name = "FILE")]
    actions: PathBuf,
    /// Where the trace goes; `-` is stdout
    #[arg(long, value_name = "OUT")]
    trace: PathBuf,
}

/// A frame in the trace.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// Which action led here, from 0; -1 for the reset.
    i: i64,
    action: Option<&'a str>,
    long: &'a str,
    short: &'a str,
    reward: f64,
    terminated: bool,
    truncated: bool,
    progression: f64,
    end_reason: &'a Value,
}

/// Plays and writes.
pub(super) fn run(name: &str, args: &Args) -> anyhow::Result<ExitCode> {
    let text = read_actions(&args.actions)?;
    let address = name
        .parse::<Address>()?
        .with(args.task.clone(), args.engine.clone())?
        .to_string();
    let mut world = env::open(&address)?;
    let actions = parse_actions(&text, world.spec())
        .with_context(|| format!("{}: a line is no action", args.actions.display()))?;
    if args.trace.as_os_str() == "-" {
        let out = std::io::stdout().lock();
        return match play(&mut *world, args.seed, &actions, BufWriter::new(out)) {
            Ok(_) => Ok(ExitCode::SUCCESS),
            Err(error) if error.downcast_ref().is_some_and(is_broken_pipe) => Ok(ExitCode::SUCCESS),
            Err(error) => Err(error),
        };
    }
    let file = File::create(&args.trace)
        .with_context(|| format!("{} could not be created; choose another --trace", args.trace.display()))?;
    let played = play(&mut *world, args.seed, &actions, BufWriter::new(file))
        .with_context(|| format!("{} holds what came before", args.trace.display()))?;
    let left = actions.len() - played.steps;
    let rest = if left > 0 {
        format!("; the game was over, {left} actions were left")
    } else {
        String::new()
    };
    output::print_text(&format!(
        "{} steps, progression {:.4}{rest}: {}\n",
        played.steps,
        played.progression,
        args.trace.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

struct Played {
    steps: usize,
    progression: f64,
}

/// Writes a line a frame; stops where the game is over. What was played before a failure is written.
fn play(world: &mut dyn World, seed: u64, actions: &[Action], mut out: impl Write) -> anyhow::Result<Played> {
    let mut frame = world.reset(seed)?;
    write_frame(&mut out, -1, None, &frame)?;
    let mut steps = 0;
    for action in actions {
        if frame.terminated || frame.truncated {
            break;
        }
        frame = match world.step(action) {
            Ok(frame) => frame,
            Err(error) => {
                out.flush()?;
                return Err(anyhow::Error::new(error).context(format!("action {steps}, `{action}`")));
            }
        };
        write_frame(&mut out, steps as i64, Some(action), &frame)?;
        steps += 1;
    }
    out.flush()?;
    Ok(Played {
        steps,
        progression: frame.progression,
    })
}

fn write_frame(out: &mut impl Write, i: i64, action: Option<&Action>, frame: &Frame) -> std::io::Result<()> {
    write_line(
        out,
        &Line {
            i,
            action: action.map(Action::as_str),
            long: &frame.long,
            short: &frame.short,
            reward: frame.reward,
            terminated: frame.terminated,
            truncated: frame.truncated,
            progression: frame.progression,
            end_reason: frame.info.get("end_reason").unwrap_or(&Value::Null),
        },
    )
}

/// One action a line; empty lines are passed over.
fn parse_actions(text: &str, spec: &WorldSpec) -> anyhow::Result<Vec<Action>> {
    let mut actions = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let word = line.trim();
        if word.is_empty() {
            continue;
        }
        let action = Action::from(word);
        if !spec.actions.contains(&action) {
            let shown: String = clean_line(word).chars().take(40).collect();
            let known: Vec<&str> = spec.actions.iter().map(Action::as_str).collect();
            bail!(
                "line {}: `{shown}` is no action of {}; there are: {}",
                n + 1,
                spec.name,
                known.join(", ")
            );
        }
        actions.push(action);
    }
    Ok(actions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named() {
        let world = env::open("crafter").unwrap();
        assert_eq!(
            parse_actions("Noop\n\n Move West \r\n", world.spec()).unwrap(),
            [Action::from("Noop"), Action::from("Move West")]
        );
        let error = parse_actions("Noop\nSing\u{1b}[2J", world.spec())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("line 2") && error.contains("Move West") && !error.contains('\u{1b}'),
            "{error}"
        );
    }

    #[test]
    fn a_line_a_frame_is_written_until_the_end() {
        let mut world = env::open("crafter").unwrap();
        let mut out = Vec::new();
        let actions = vec![Action::from("Noop"); 3000];
        let played = play(&mut *world, 42, &actions, &mut out).unwrap();
        let lines: Vec<Value> = String::from_utf8(out)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(played.steps < 3000 && lines.len() == played.steps + 1);
        assert_eq!((&lines[0]["i"], &lines[0]["action"]), (&Value::from(-1), &Value::Null));
        assert_eq!(lines[1]["i"], 0);
        assert_eq!(lines[1]["action"], "Noop");
        let last = lines.last().unwrap();
        assert!(last["terminated"] == true || last["truncated"] == true, "{last}");
    }
}
