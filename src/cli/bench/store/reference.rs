//! Events of a recording of the reference: what its run would have been in our form.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use serde_json::Value;

use super::probe::Random;
use super::synthetic::World;
use crate::types::*;

/// The steps of a `_debug.jsonl`, plain or compressed.
pub(super) fn steps(file: &Path) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Vec<Event>>>> {
    let open = || std::fs::File::open(file).with_context(|| format!("{} cannot be read", file.display()));
    let mut start = [0; 4];
    let _ = open()?.read(&mut start)?;
    let source: Box<dyn Read> = if start == [0x28, 0xb5, 0x2f, 0xfd] {
        Box::new(zstd::stream::read::Decoder::new(open()?)?)
    } else {
        Box::new(open()?)
    };
    let mut reader = Recording {
        files: MemoryFiles::new(),
        world: World::new(),
        random: Random(3),
    };
    Ok(BufReader::new(source).lines().map(move |line| {
        let step: Value = serde_json::from_str(&line?).context("the recording holds a line that is no JSON")?;
        Ok(reader.step(&step))
    }))
}

struct Recording {
    files: MemoryFiles,
    world: World,
    random: Random,
}

impl Recording {
    fn step(&mut self, record: &Value) -> Vec<Event> {
        let number = record["step"].as_u64().unwrap_or(0) as u32;
        let memory = &record["memory_debug"];
        let mut bodies = Vec::new();
        if number == 0 {
            bodies.push(Body::EpisodeStarted {
                seed: 0,
                inherited: MemoryFiles::new(),
            });
        }
        let mut frame = self.world.frame(number, "", &mut self.random);
        frame.long = text(&record["obs_long_term_context"]);
        frame.short = text(&record["obs_short_term_context"]);
        bodies.push(Body::Observed { frame: Arc::new(frame) });
        let mut changes = self.changes(&memory["memory_snapshot"]);
        for (phase, key) in [(Phase::Log, "log_phase"), (Phase::Plan, "plan_phase")] {
            let mut chat = String::new();
            let turns = memory[key]["turns"].as_array().map_or(&[][..], |turns| turns);
            for (at, turn) in turns.iter().enumerate() {
                chat.push_str("<|im_start|>user\n");
                chat.push_str(&text(&turn["prompt"]));
                chat.push_str("<|im_end|>\n<|im_start|>assistant\n");
                let response = text(&turn["raw_response"]);
                let results = text(&turn["tool_results"]);
                bodies.push(self.turn(phase, at as u32, &chat, &response, &results));
                chat.push_str(&response);
                chat.push_str("<|im_end|>\n");
                for (name, args) in ops(&response) {
                    let writes = matches!(name, "APPEND" | "WRITE" | "CREATE");
                    bodies.push(Body::MemoryOp {
                        op: Box::new(MemoryOp {
                            phase,
                            turn: TurnNo(at as u32),
                            op: name.to_owned(),
                            args,
                            by: Author::Model,
                            outcome: OpOutcome {
                                status: OpStatus::Ok,
                                text: if writes { "Done.".to_owned() } else { results.clone() },
                                cut: 0,
                            },
                            changes: if writes {
                                std::mem::take(&mut changes)
                            } else {
                                Vec::new()
                            },
                        }),
                    });
                }
            }
        }
        if !changes.is_empty() {
            bodies.push(Body::HumanEdited { changes });
        }
        bodies.push(Body::ActionCommitted {
            raw: text(&record["raw_action"]),
            validated: text(&record["validated_action"]),
            repaired: false,
            by: ActionBy::Model,
        });
        bodies.push(Body::StepFinished {
            reward: record["reward"].as_f64().unwrap_or(0.0),
            terminated: false,
            truncated: false,
            progression: 0.0,
            state_patch: None,
            ms: f64::from(self.random.below(100_000)) / 100.0,
        });
        let at = At {
            episode: EpisodeNo(0),
            step: StepNo(number),
            agent: "agent".into(),
            memory_root: "ep_00".into(),
        };
        bodies.into_iter().map(|body| Event { at: at.clone(), body }).collect()
    }

    fn changes(&mut self, snapshot: &Value) -> Vec<MemoryChange> {
        let now: MemoryFiles = snapshot.as_object().map_or_else(MemoryFiles::new, |files| {
            files
                .iter()
                .map(|(path, file)| (path.clone(), text(file).into()))
                .collect()
        });
        let changed = |path: &String| {
            MemoryChange::between(
                path,
                self.files.get(path).map(|file| &**file),
                now.get(path).map(|file| &**file),
            )
        };
        let gone = self
            .files
            .keys()
            .filter(|path| !now.contains_key(*path))
            .filter_map(changed);
        let changes = now.keys().filter_map(changed).chain(gone).collect();
        self.files = now;
        changes
    }

    fn turn(&mut self, phase: Phase, turn: u32, prompt: &str, response: &str, results: &str) -> Body {
        Body::TurnFinished {
            turn: Box::new(Turn {
                phase,
                turn: TurnNo(turn),
                role: Role::Agent,
                model: "reference".into(),
                prompt: prompt.to_owned(),
                spans: Vec::new(),
                response: response.to_owned(),
                tool_results: results.to_owned(),
                prompt_tokens: (prompt.len() / 4) as u32,
                cached_tokens: (prompt.len() / 8) as u32,
                completion_tokens: (response.len() / 4) as u32,
                prompt_ms: f64::from(self.random.below(100_000)) / 100.0,
                ms: f64::from(self.random.below(100_000)) / 100.0,
                sampling: Sampling::default(),
                grammar: false,
                stop: StopReason::End,
            }),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Operations of an answer, as far as a bench needs them.
fn ops(response: &str) -> Vec<(&str, Vec<String>)> {
    let mut found = Vec::new();
    for piece in response.split("<|").skip(1) {
        if let Some((name, args)) = piece.split_once("|>")
            && matches!(
                name,
                "SEARCH" | "READ" | "TAIL" | "COUNT" | "APPEND" | "WRITE" | "CREATE"
            )
        {
            found.push((name, args.splitn(2, '|').map(str::to_owned).collect()));
        }
    }
    found
}

/// Bytes of the long texts of an event.
pub(super) fn text_of(event: &Event) -> usize {
    match &event.body {
        Body::Observed { frame } => frame.long.len() + frame.short.len(),
        Body::TurnFinished { turn } => turn.prompt.len() + turn.response.len() + turn.tool_results.len(),
        Body::MemoryOp { op } => op.outcome.text.len() + op.args.iter().map(String::len).sum::<usize>(),
        _ => 0,
    }
}
