//! Following what LLaMA-Factory says of its training.
//!
//! It writes `trainer_log.jsonl` beside the adapter, a line an update, and prints a Python dictionary for each. The
//! first knows which update of how many, the second the length of the gradient; what both say is told once.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::super::TrainNews;

/// Its log.
const LOG: &str = "trainer_log.jsonl";
/// Bytes of the log that are read at once.
const READ_AT_ONCE: u64 = 1 << 20;

/// What has been heard so far.
pub(super) struct Follower {
    log: PathBuf,
    /// Bytes of the log that were read.
    read: u64,
    /// A line of the log that has not ended yet.
    rest: Vec<u8>,
    /// The log is there: the printed lines only add to it.
    has_log: bool,
    steps: u32,
    planned: u32,
    epochs: u32,
    losses: Vec<f64>,
    held_out: Option<f64>,
    grad_norm: f64,
    began: Instant,
    printed: u32,
}

impl Follower {
    /// Follows a training whose adapter comes to lie in this folder. A log that is there already is read over: it is
    /// of an earlier process.
    pub(super) fn new(adapter: &Path, planned: u32, epochs: u32) -> Self {
        let log = adapter.join(LOG);
        Self {
            read: std::fs::metadata(&log).map_or(0, |file| file.len()),
            log,
            rest: Vec::new(),
            has_log: false,
            steps: 0,
            planned,
            epochs,
            losses: Vec::new(),
            held_out: None,
            grad_norm: 0.0,
            began: Instant::now(),
            printed: 0,
        }
    }

    /// Updates so far.
    pub(super) fn steps(&self) -> u32 {
        self.steps
    }

    /// Mean loss of the last tenth of the updates.
    pub(super) fn loss(&self) -> f64 {
        let last = &self.losses[self.losses.len() - self.losses.len().div_ceil(10)..];
        if last.is_empty() {
            return 0.0;
        }
        last.iter().sum::<f64>() / last.len() as f64
    }

    /// The last loss on what was held out.
    pub(super) fn held_out(&self) -> Option<f64> {
        self.held_out
    }

    /// A line that was printed.
    pub(super) fn line(&mut self, text: &str, news: &mut dyn FnMut(TrainNews)) {
        let Some(values) = dictionary(text) else { return };
        if let Some(norm) = number(&values, &["grad_norm"]) {
            self.grad_norm = norm;
        }
        // Which of the two comes first is a matter of buffers: the log knows more.
        self.look(news);
        if number(&values, &["loss"]).is_some() {
            self.printed += 1;
            if !self.has_log {
                self.update(self.printed, self.planned, &values, news);
            }
        } else if !self.has_log {
            self.measured(&values, news);
        }
    }

    /// Looks whether the log has grown.
    pub(super) fn look(&mut self, news: &mut dyn FnMut(TrainNews)) {
        // While it is not there or cannot be read, the printed lines are all there is.
        let Ok(grown) = self.grown() else { return };
        self.rest.extend(grown);
        let mut from = 0;
        let whole: Vec<u8> = std::mem::take(&mut self.rest);
        while let Some(len) = whole[from..].iter().position(|byte| *byte == b'\n') {
            let line = &whole[from..from + len];
            from += len + 1;
            let Ok(values) = serde_json::from_slice::<Value>(line) else {
                continue;
            };
            let Some(step) = number(&values, &["current_steps"]) else {
                continue;
            };
            self.has_log = true;
            let of = number(&values, &["total_steps"]).unwrap_or(f64::from(self.planned));
            if number(&values, &["loss"]).is_some() {
                self.update(step as u32, of as u32, &values, news);
            } else {
                self.measured(&values, news);
            }
        }
        self.rest = whole[from..].to_vec();
    }

    fn grown(&mut self) -> std::io::Result<Vec<u8>> {
        let len = std::fs::metadata(&self.log)?.len();
        if len < self.read {
            // It was begun anew.
            self.read = 0;
            self.rest.clear();
        }
        if len == self.read {
            return Ok(Vec::new());
        }
        let mut file = File::open(&self.log)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.take(READ_AT_ONCE).read_to_end(&mut bytes)?;
        self.read += bytes.len() as u64;
        Ok(bytes)
    }

    fn update(&mut self, step: u32, of: u32, values: &Value, news: &mut dyn FnMut(TrainNews)) {
        let Some(loss) = number(values, &["loss"]) else { return };
        if step <= self.steps {
            return;
        }
        self.steps = step;
        self.losses.push(loss);
        let share = f64::from(step) / f64::from(of.max(1)) * f64::from(self.epochs);
        news(TrainNews::Step {
            step,
            of: of.max(step),
            epoch: number(values, &["epoch"]).unwrap_or(share),
            loss,
            lr: number(values, &["lr", "learning_rate"]).unwrap_or(0.0),
            grad_norm: self.grad_norm,
            tokens_per_second: number(values, &["throughput"]).unwrap_or_else(|| {
                let tokens = number(values, &["total_tokens"]).unwrap_or(0.0);
                tokens / self.began.elapsed().as_secs_f64().max(1e-3)
            }),
        });
    }

    fn measured(&mut self, values: &Value, news: &mut dyn FnMut(TrainNews)) {
        let Some(loss) = number(values, &["eval_loss"]) else {
            return;
        };
        self.held_out = Some(loss);
        news(TrainNews::HeldOut { step: self.steps, loss });
    }
}

/// The first of these keys that holds a number, or a text that is one.
fn number(values: &Value, keys: &[&str]) -> Option<f64> {
    keys.iter().find_map(|key| {
        let value = values.get(*key)?;
        let number = match value.as_str() {
            Some(text) => text.parse().ok()?,
            None => value.as_f64()?,
        };
        Some(number).filter(|number: &f64| number.is_finite() && *number >= 0.0)
    })
}

/// A Python dictionary of plain values, alone on its line: `{'loss': 1.5, 'epoch': 0.1}`.
fn dictionary(text: &str) -> Option<Value> {
    let text = text.trim();
    if !(text.starts_with('{') && text.ends_with('}') && text.len() < 4096) {
        return None;
    }
    let text = text.replace('\'', "\"").replace("nan", "null").replace("None", "null");
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(work: impl Fn(&mut Follower, &mut dyn FnMut(TrainNews))) -> (Follower, Vec<TrainNews>) {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Vec::new();
        let mut follower = Follower::new(folder.path(), 2, 1);
        work(&mut follower, &mut |news| all.push(news));
        (follower, all)
    }

    fn steps(all: &[TrainNews]) -> Vec<(u32, u32, f64, f64, f64, f64)> {
        let step = |news: &TrainNews| match news {
            TrainNews::Step {
                step,
                of,
                epoch,
                loss,
                lr,
                grad_norm,
                ..
            } => Some((*step, *of, *epoch, *loss, *lr, *grad_norm)),
            _ => None,
        };
        all.iter().filter_map(step).collect()
    }

    #[test]
    fn printed_lines_are_enough() {
        let (follower, all) = heard(|follower, news| {
            for line in [
                "loading the model",
                "{'loss': 2.5, 'grad_norm': 0.7, 'learning_rate': 5e-05, 'epoch': 0.5}",
                "{'eval_loss': 1.9, 'epoch': 0.5}",
                "{'loss': '1.5', 'grad_norm': '0.6', 'learning_rate': '1e-05', 'epoch': '1.0'}",
                "{'train_runtime': 3.2, 'train_loss': 2.0, 'epoch': 1.0}",
                "{'loss': nan, 'epoch': 1.0}",
                "{broken}",
            ] {
                follower.line(line, news);
            }
        });
        assert_eq!(steps(&all), [(1, 2, 0.5, 2.5, 5e-5, 0.7), (2, 2, 1.0, 1.5, 1e-5, 0.6)]);
        assert_eq!(
            (follower.loss(), follower.held_out(), follower.steps()),
            (1.5, Some(1.9), 2)
        );
    }

    #[test]
    fn the_log_and_the_printed_lines_are_told_once() {
        let (follower, all) = heard(|follower, news| {
            std::fs::write(
                &follower.log,
                "{\"current_steps\": 1, \"total_steps\": 4, \"loss\": 2.5, \"lr\": 5e-05, \"epoch\": 0.5}\n{\"curr",
            )
            .unwrap();
            follower.line(
                "{'loss': 2.5, 'grad_norm': 0.7, 'learning_rate': 5e-05, 'epoch': 0.5}",
                news,
            );
            follower.look(news);
            follower.look(news);
            let mut log = File::options().append(true).open(&follower.log).unwrap();
            use std::io::Write;
            writeln!(
                log,
                "ent_steps\": 2, \"total_steps\": 4, \"loss\": 1.5, \"learning_rate\": 1e-05, \"epoch\": 1.0}}"
            )
            .unwrap();
            writeln!(
                log,
                "no json\n{{\"current_steps\": 2, \"total_steps\": 4, \"eval_loss\": 1.8}}"
            )
            .unwrap();
            writeln!(log, "{{\"current_steps\": 4, \"total_steps\": 4, \"epoch\": 2.0}}").unwrap();
            follower.look(news);
            follower.line("{'loss': 1.5, 'grad_norm': 0.6}", news);
        });
        assert_eq!(steps(&all), [(1, 4, 0.5, 2.5, 5e-5, 0.7), (2, 4, 1.0, 1.5, 1e-5, 0.7)]);
        assert_eq!((follower.loss(), follower.held_out()), (1.5, Some(1.8)));
        assert_eq!(Follower::new(Path::new("/nowhere"), 1, 1).loss(), 0.0);
    }

    #[test]
    fn an_earlier_log_is_read_over() {
        let folder = tempfile::tempdir().unwrap();
        let line = "{\"current_steps\": 1, \"total_steps\": 4, \"loss\": 2.5}\n";
        std::fs::write(folder.path().join(LOG), line).unwrap();
        let mut follower = Follower::new(folder.path(), 4, 1);
        follower.look(&mut |news| panic!("{news:?}"));
        assert_eq!(follower.steps(), 0);
        // Begun anew, it is read from its start.
        std::fs::write(folder.path().join(LOG), "{\"current_steps\": 1, \"loss\": 2.5}\n").unwrap();
        follower.look(&mut |_| {});
        assert_eq!(follower.steps(), 1);
    }
}
