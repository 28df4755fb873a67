//! Episodes told in a few words, for tests of metrics, rules and faults.

use std::sync::Arc;

use super::{Fault, Finding, Meter, Metrics, conclude};
use crate::types::*;

const THINGS: &[&str] = &["water", "tree", "stone", "diamond"];

/// An episode as it is told.
pub(super) struct Tale {
    pub(super) meter: Meter,
    files: MemoryFiles,
    step: StepNo,
    position: Option<(i32, i32)>,
    asleep: bool,
}

impl Tale {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let files: MemoryFiles = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), Arc::from(*text)))
            .collect();
        let mut tale = Self {
            meter: Meter::new(THINGS),
            files: files.clone(),
            step: StepNo(0),
            position: None,
            asleep: false,
        };
        tale.push(Body::EpisodeStarted {
            seed: 1,
            inherited: files,
        });
        tale
    }

    pub(super) fn push(&mut self, body: Body) {
        self.meter.take(self.step, &body).unwrap();
    }

    pub(super) fn at(&mut self, x: i32, y: i32) -> &mut Self {
        self.position = Some((x, y));
        self
    }

    pub(super) fn asleep(&mut self, asleep: bool) -> &mut Self {
        self.asleep = asleep;
        self
    }

    /// The world shows something; the agent's state follows in `short`.
    pub(super) fn sees(&mut self, long: &str, short: &str) -> &mut Self {
        let view = self.position.map_or(View::Text, |player| {
            View::Tiles(TileView {
                set: "crafter".into(),
                width: 1,
                height: 1,
                cells: vec![0],
                window: Rect { x: 0, y: 0, w: 1, h: 1 },
                player,
                facing: (0, 1),
                light: 1.0,
                asleep: self.asleep,
            })
        });
        self.push(Body::Observed {
            frame: Arc::new(Frame {
                long: long.into(),
                short: short.into(),
                view,
                reward: 0.0,
                terminated: false,
                truncated: false,
                progression: 0.0,
                info: serde_json::Value::Null,
                digest: Digest::default(),
            }),
        });
        self
    }

    pub(super) fn turn(&mut self, phase: Phase, prompt: &str, response: &str) -> &mut Self {
        self.push(Body::TurnFinished {
            turn: Box::new(Turn {
                phase,
                turn: TurnNo(0),
                role: Role::Agent,
                model: "test".into(),
                prompt: prompt.into(),
                spans: Vec::new(),
                response: response.into(),
                tool_results: String::new(),
                prompt_tokens: 100,
                cached_tokens: 60,
                completion_tokens: 7,
                prompt_ms: 1.0,
                ms: 4.0,
                sampling: Sampling::default(),
                grammar: false,
                stop: StopReason::End,
            }),
        });
        self
    }

    /// An operation of the model, with the file it leaves behind where it writes one.
    pub(super) fn op(&mut self, phase: Phase, op: &str, args: &[&str], status: OpStatus, result: &str) -> &mut Self {
        self.op_with(phase, op, args, status, result, 0, Vec::new())
    }

    #[allow(clippy::too_many_arguments, reason = "a test's words for one event")]
    fn op_with(
        &mut self,
        phase: Phase,
        op: &str,
        args: &[&str],
        status: OpStatus,
        result: &str,
        cut: u64,
        changes: Vec<MemoryChange>,
    ) -> &mut Self {
        self.push(Body::MemoryOp {
            op: Box::new(MemoryOp {
                phase,
                turn: TurnNo(0),
                op: op.into(),
                args: args.iter().map(|arg| (*arg).to_owned()).collect(),
                by: Author::Model,
                outcome: OpOutcome {
                    status,
                    text: result.into(),
                    cut,
                },
                changes,
            }),
        });
        self
    }

    /// LOG writes a whole file.
    pub(super) fn writes(&mut self, path: &str, text: &str) -> &mut Self {
        let before = self.files.get(path).cloned();
        let changes: Vec<_> = MemoryChange::between(path, before.as_deref(), Some(text))
            .into_iter()
            .collect();
        for change in &changes {
            change.apply(&mut self.files).unwrap();
        }
        let status = if changes.is_empty() {
            OpStatus::Unchanged
        } else {
            OpStatus::Ok
        };
        self.op_with(Phase::Log, "WRITE", &[path, text], status, "", 0, changes)
    }

    /// LOG adds a line.
    pub(super) fn appends(&mut self, path: &str, line: &str) -> &mut Self {
        let text = format!("{}{line}\n", self.files.get(path).map_or("", |text| text));
        let before = self.files.get(path).cloned();
        let change = MemoryChange::between(path, before.as_deref(), Some(&text)).unwrap();
        change.apply(&mut self.files).unwrap();
        self.op_with(Phase::Log, "APPEND", &[path, line], OpStatus::Ok, "", 0, vec![change])
    }

    /// PLAN reads a whole file, of which some may be cut off.
    pub(super) fn reads(&mut self, path: &str, cut: u64) -> &mut Self {
        let text = self.files.get(path).map_or(String::new(), ToString::to_string);
        self.op_with(Phase::Plan, "READ", &[path], OpStatus::Ok, &text, cut, Vec::new())
    }

    /// The step ends.
    pub(super) fn does(&mut self, action: &str, reward: f64, progression: f64) -> &mut Self {
        self.push(Body::ActionCommitted {
            raw: action.into(),
            validated: action.into(),
            repaired: false,
            by: ActionBy::Model,
        });
        self.push(Body::StepFinished {
            reward,
            terminated: false,
            truncated: false,
            progression,
            state_patch: None,
            ms: 10.0,
        });
        self.step = self.step.next();
        self
    }

    pub(super) fn ends(&mut self, end: EndReason) -> &mut Self {
        self.push(Body::EpisodeFinished { end });
        self
    }

    pub(super) fn metrics(&self) -> Metrics {
        self.meter.metrics()
    }

    pub(super) fn concluded(&self) -> (Vec<Finding>, Vec<Fault>) {
        conclude(&[(EpisodeNo(0), self.meter.clone())])
    }

    /// The ids of what the rules find.
    pub(super) fn ids(&self) -> Vec<String> {
        self.concluded().0.into_iter().map(|finding| finding.id).collect()
    }
}
