//! Trainings of the workspace as Lab shows them, read from their folders and followed while they grow.
//!
//! Owns folding a log into what is drawn, and the thread that looks for new lines, whichever process writes them. Must
//! not train or change anything.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::data::{Data, Event, LabNews};
use crate::config::Workspace;
use crate::store::Claim;
use crate::tune::train::{TrainJob, TrainNews};

/// How often it is looked for new lines.
const POLL: Duration = Duration::from_millis(500);
/// The claim that whoever trains has on a training's folder.
const CLAIM: &str = "training";
/// Updates that are kept one by one; a longer training is thinned out.
const KEPT: usize = 4_096;
/// Bytes of a log that are read at once.
const CHUNK: u64 = 4 << 20;

/// How a training stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Somebody works on it.
    Running,
    /// Its adapter is there.
    Done,
    /// Nobody has worked on it for a while; it can be gone on with.
    Stopped,
    /// It cannot be gone on with like this.
    Failed,
}

impl Stage {
    /// A sign and a word.
    pub(crate) fn word(self) -> (&'static str, &'static str) {
        match self {
            Self::Running => ("▶", "running"),
            Self::Done => ("✓", "done"),
            Self::Stopped => ("‖", "stopped"),
            Self::Failed => ("✗", "failed"),
        }
    }
}

/// An update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// Which.
    pub(crate) step: u32,
    /// Its loss.
    pub(crate) loss: f64,
    /// Its learning rate.
    pub(crate) lr: f64,
}

/// What is there at the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finished {
    /// The adapter's file.
    pub(crate) adapter: PathBuf,
    /// Start of its digest.
    pub(crate) digest: String,
    /// Mean loss of the last tenth.
    pub(crate) loss: f64,
    /// Held-out loss at the end.
    pub(crate) held_out: Option<f64>,
    /// Seconds in all.
    pub(crate) seconds: f64,
    /// Most memory, in bytes; 0 where it is not known.
    pub(crate) peak: u64,
}

/// What was planned.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Planned {
    /// Conversations to train on, kept back, and too long.
    pub(crate) examples: (u32, u32, u32),
    /// Trainable numbers.
    pub(crate) parameters: u64,
    /// Memory by estimate, in bytes.
    pub(crate) memory: u64,
    /// Where it is computed.
    pub(crate) device: String,
}

/// A training as its folder tells it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Training {
    /// Name of its folder.
    pub(crate) name: String,
    /// What is trained; `None` where that cannot be read.
    pub(crate) job: Option<TrainJob>,
    /// How it stands.
    pub(crate) stage: Stage,
    /// What was planned.
    pub(crate) planned: Option<Planned>,
    /// Updates, in order.
    pub(crate) points: Vec<Point>,
    /// Losses on what is kept back: after which update, and how much.
    pub(crate) held_out: Vec<(u32, f64)>,
    /// The last update and all of them.
    pub(crate) at: (u32, u32),
    /// Passes over the data.
    pub(crate) epoch: f64,
    /// Tokens a second.
    pub(crate) speed: f64,
    /// The update of the last checkpoint.
    pub(crate) saved: u32,
    /// What is there at the end.
    pub(crate) finished: Option<Finished>,
    /// Seconds that are left, where that can be told.
    pub(crate) left: Option<f64>,
    /// The last line of another program's log.
    pub(crate) line: String,
    /// What cannot be read, or what went wrong.
    pub(crate) fault: Option<String>,
    /// Every so many updates one is kept.
    every: u32,
}

impl Training {
    /// One of which nothing is known yet.
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            job: None,
            stage: Stage::Stopped,
            planned: None,
            points: Vec::new(),
            held_out: Vec::new(),
            at: (0, 0),
            epoch: 0.0,
            speed: 0.0,
            saved: 0,
            finished: None,
            left: None,
            line: String::new(),
            fault: None,
            every: 1,
        }
    }

    /// Takes in a line of its log; what is none is passed over.
    fn line_of(&mut self, line: &[u8]) {
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(line) else {
            return;
        };
        // The last line of one that failed.
        if let Some(failed) = value.get("failed") {
            let words = ["what", "message", "hint", "why"]
                .into_iter()
                .filter_map(|name| failed.get(name)?.as_str());
            let words: Vec<&str> = words.collect();
            let kind = failed.get("kind").and_then(serde_json::Value::as_str);
            self.fault = Some(match words.is_empty() {
                true => kind.unwrap_or("it failed").replace('_', " "),
                false => words.join("; "),
            });
        } else if let Ok(news) = serde_json::from_value::<TrainNews>(value) {
            self.take(news);
        }
    }

    /// Takes in news.
    pub(crate) fn take(&mut self, news: TrainNews) {
        match news {
            TrainNews::Planned {
                steps,
                examples,
                held_out,
                too_long,
                parameters,
                memory,
                done,
                device,
                ..
            } => {
                self.at = (done, steps);
                // What came after the last checkpoint is done again.
                self.points.retain(|point| point.step <= done);
                self.held_out.retain(|(step, _)| *step <= done);
                self.planned = Some(Planned {
                    examples: (examples, held_out, too_long),
                    parameters,
                    memory,
                    device,
                });
                self.finished = None;
                self.fault = None;
            }
            TrainNews::Step {
                step,
                of,
                epoch,
                loss,
                lr,
                tokens_per_second,
                ..
            } => {
                self.at = (step, of);
                (self.epoch, self.speed) = (epoch, tokens_per_second);
                if !loss.is_finite() {
                    self.fault = Some(format!("the loss of update {step} is {loss}"));
                } else if step % self.every == 0 || step == of {
                    self.points.push(Point { step, loss, lr });
                }
                if self.points.len() > KEPT {
                    self.every *= 2;
                    let every = self.every;
                    self.points.retain(|point| point.step % every == 0);
                }
            }
            TrainNews::HeldOut { step, loss } => self.held_out.push((step, loss)),
            TrainNews::Saved { step } => self.saved = step,
            TrainNews::Line { text } => self.line = text,
            TrainNews::Done {
                steps,
                loss,
                held_out,
                adapter,
                digest,
                seconds,
                peak_rss,
            } => {
                self.at = (steps, steps.max(self.at.1));
                self.finished = Some(Finished {
                    adapter,
                    digest: digest.short().to_string(),
                    loss,
                    held_out,
                    seconds,
                    peak: peak_rss,
                });
            }
        }
    }

    /// The loss over updates as one line: each value draws the mean a little.
    pub(crate) fn smoothed(&self) -> Vec<f64> {
        let keep = 1.0 - 1.0 / (self.points.len() as f64 / 20.0).clamp(1.0, 50.0);
        let (mut mean, mut weight) = (0.0, 0.0);
        let mut next = |point: &Point| {
            mean = keep * mean + (1.0 - keep) * point.loss;
            weight = keep * weight + (1.0 - keep);
            mean / weight
        };
        self.points.iter().map(&mut next).collect()
    }
}

/// A log that is read on from where the last look ended.
#[derive(Debug)]
struct Followed {
    training: Training,
    /// Bytes that are taken in: up to the last whole line.
    read: u64,
    job: Option<SystemTime>,
    log: Option<SystemTime>,
    /// When updates were seen: time and update, the oldest and the newest.
    seen: Option<(SystemTime, u32)>,
}

/// Reads what is new of all trainings.
#[derive(Debug)]
pub(super) struct Reader {
    folder: PathBuf,
    all: BTreeMap<String, Followed>,
}

impl Reader {
    /// Trainings of a workspace.
    pub(super) fn new(workspace: &Workspace) -> Self {
        Self {
            folder: workspace.trainings_dir(),
            all: BTreeMap::new(),
        }
    }

    /// Looks; gives all trainings, the one that was worked on last first.
    pub(super) fn look(&mut self) -> Vec<Training> {
        let folders = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names: Vec<String> = folders
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        self.all.retain(|name, _| names.contains(name));
        for name in names {
            let path = self.folder.join(&name);
            let followed = self.all.entry(name.clone()).or_insert_with(|| Followed {
                training: Training::new(name),
                read: 0,
                job: None,
                log: None,
                seen: None,
            });
            followed.look(&path);
        }
        let mut all: Vec<&Followed> = self.all.values().collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.log.max(one.job)));
        all.into_iter().map(|one| one.training.clone()).collect()
    }
}

impl Followed {
    fn look(&mut self, folder: &Path) {
        let changed = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
        let job = folder.join("job.json");
        let time = changed(&job);
        if time != self.job || self.training.job.is_none() {
            self.job = time;
            self.training.job = None;
            match std::fs::read_to_string(&job)
                .map_err(|error| error.to_string())
                .and_then(|text| {
                    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
                    serde_json::from_value(value).map_err(|error| error.to_string())
                }) {
                Ok(job) => {
                    self.training.job = Some(job);
                    self.training.fault.take_if(|fault| fault.starts_with("job.json"));
                }
                Err(why) => self.training.fault = Some(format!("job.json cannot be read: {why}")),
            }
        }
        let log = folder.join("train.jsonl");
        self.log = changed(&log);
        if let Err(error) = self.read_on(&log)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            self.training.fault = Some(format!("train.jsonl cannot be read: {error}"));
        }
        self.judge(Claim::is_held(&Workspace::at(folder), CLAIM));
    }

    fn read_on(&mut self, log: &Path) -> std::io::Result<()> {
        let mut file = std::fs::File::open(log)?;
        let len = file.metadata()?.len();
        if len < self.read {
            // It was begun anew.
            self.read = 0;
            let job = self.training.job.take();
            self.training = Training::new(std::mem::take(&mut self.training.name));
            self.training.job = job;
        }
        while self.read < len {
            file.seek(SeekFrom::Start(self.read))?;
            let mut bytes = Vec::new();
            file.by_ref().take(CHUNK).read_to_end(&mut bytes)?;
            // A last line without an end is still being written.
            let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
                return Ok(());
            };
            for line in bytes[..end].split(|byte| *byte == b'\n') {
                self.training.line_of(line);
            }
            self.read += end as u64 + 1;
        }
        Ok(())
    }

    /// How it stands, and how long it will take.
    fn judge(&mut self, held: bool) {
        let (at, of) = self.training.at;
        let pace = |from: SystemTime, steps: u32| {
            let seconds = self.log?.duration_since(from).ok()?.as_secs_f64();
            (steps > 0).then(|| seconds / f64::from(steps))
        };
        // Seen here, else from the beginning, which counts pauses, too.
        let seconds = match self.seen {
            Some((from, step)) if at > step + 1 => pace(from, at - step),
            _ => self.job.and_then(|from| pace(from, at)),
        };
        if self.seen.is_none_or(|(_, step)| step > at) {
            self.seen = self.log.map(|time| (time, at));
        }
        let training = &mut self.training;
        training.stage = match (&training.finished, &training.fault) {
            (Some(_), _) => Stage::Done,
            _ if held => Stage::Running,
            (None, Some(_)) => Stage::Failed,
            (None, None) => Stage::Stopped,
        };
        training.left = match training.stage {
            // Whole ten seconds: it is an estimate, and the screen is drawn when it changes.
            Stage::Running => seconds.map(|each| (each * f64::from(of.saturating_sub(at)) / 10.0).ceil() * 10.0),
            _ => None,
        };
    }
}

/// Follows all trainings until it is dropped.
#[derive(Debug)]
pub(super) struct Follower {
    _stop: Sender<()>,
}

impl Follower {
    /// Starts to follow; `None` where there is no thread for it.
    pub(super) fn start(workspace: &Workspace, events: Sender<Event>) -> Option<Self> {
        let (stop, stopped) = bounded::<()>(0);
        let mut reader = Reader::new(workspace);
        let follow = move || {
            let mut told: Option<Vec<Training>> = None;
            loop {
                let now = reader.look();
                if told.as_ref() != Some(&now) {
                    told = Some(now.clone());
                    if events.send(Event::Data(Data::Lab(LabNews::Trainings(now)))).is_err() {
                        return;
                    }
                }
                if stopped.recv_timeout(POLL) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("trainings".into())
            .spawn(follow)
            .ok()?;
        Some(Self { _stop: stop })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::types::Digest;

    fn step(step: u32, loss: f64) -> TrainNews {
        TrainNews::Step {
            step,
            of: 10,
            epoch: 0.1,
            loss,
            lr: 1e-4,
            grad_norm: 1.0,
            tokens_per_second: 130.0,
        }
    }

    fn planned(done: u32) -> TrainNews {
        TrainNews::Planned {
            steps: 10,
            examples: 40,
            held_out: 4,
            too_long: 1,
            parameters: 460_000,
            memory: 900 << 20,
            checkpointing: false,
            done,
            device: "cpu".into(),
        }
    }

    #[test]
    fn a_log_is_followed_line_by_line_and_a_torn_one_waits() {
        let room = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(room.path());
        let mut reader = Reader::new(&workspace);
        assert!(reader.look().is_empty());
        let folder = room.path().join("trainings/crafter-1");
        std::fs::create_dir_all(&folder).unwrap();
        let told = reader.look();
        assert!(told[0].fault.as_ref().unwrap().contains("job.json"), "{told:?}");
        let job = r#"{"name":"crafter-1","base":"m.gguf","data":"d.json","config":{"rank":8,"alpha":16.0,"dropout":0.0,
            "learning_rate":2e-3,"epochs":2,"batch":1,"accumulation":4,"cutoff":1024,"schedule":"cosine","warmup":0.05,
            "save":false,"gpus":0,"targets":"attn","seed":1},"out":"a.gguf","folder":".","held_out":0.1,"threads":null,"memory":null}"#;
        std::fs::write(folder.join("job.json"), job).unwrap();
        let mut log = std::fs::File::create(folder.join("train.jsonl")).unwrap();
        let claim = Claim::take(&Workspace::at(&folder), CLAIM).unwrap().unwrap();
        let line = |news: &TrainNews| serde_json::to_string(news).unwrap() + "\n";
        let mut write = |text: &str| log.write_all(text.as_bytes()).unwrap();
        write(&line(&planned(0)));
        write(&line(&step(1, 3.0)));
        let next = line(&step(2, 2.0));
        write(&next[..20]);
        let mut look = || reader.look().remove(0);
        let now = look();
        assert_eq!(now.job.as_ref().unwrap().config.rank, 8);
        assert_eq!(
            (now.at, now.points.len(), now.stage),
            ((1, 10), 1, Stage::Running),
            "{:?}",
            now.fault
        );
        write(&next[20..]);
        write("no json\n");
        write(&line(&TrainNews::HeldOut { step: 2, loss: 2.5 }));
        write(&line(&step(3, 1.0)));
        let now = look();
        assert_eq!(
            (now.at, now.points.len(), now.held_out.as_slice()),
            ((3, 10), 3, &[(2, 2.5)][..])
        );
        // It goes on from its checkpoint: what came after that is done again.
        write(&line(&planned(2)));
        let now = look();
        assert_eq!((now.at, now.points.len(), now.stage), ((2, 10), 2, Stage::Running));
        drop(claim);
        assert_eq!(look().stage, Stage::Stopped);
        write(&line(&step(3, 1.1)));
        write("{\"failed\":{\"kind\":\"unfit\",\"what\":\"no tensor\",\"hint\":\"take another\"}}\n");
        let now = look();
        assert_eq!(
            (now.stage, now.fault.as_deref()),
            (Stage::Failed, Some("no tensor; take another"))
        );
        write(&line(&TrainNews::Done {
            steps: 10,
            loss: 0.4,
            held_out: Some(0.6),
            adapter: "a.gguf".into(),
            digest: Digest::of("a"),
            seconds: 61.0,
            peak_rss: 1 << 30,
        }));
        let now = look();
        assert_eq!((now.stage, now.at, now.points[2].loss), (Stage::Done, (10, 10), 1.1));
    }

    #[test]
    fn a_long_training_is_thinned_out_and_what_is_no_number_is_said() {
        let mut training = Training::new("x".into());
        for n in 1..=20_000 {
            training.take(step(n, 2.0 - f64::from(n) / 20_000.0));
        }
        assert!(training.points.len() <= KEPT && training.points.len() > KEPT / 3);
        let smooth = training.smoothed();
        assert!(smooth.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9));
        training.take(step(20_001, f64::NAN));
        assert!(training.fault.as_ref().unwrap().contains("20001"));
    }
}
