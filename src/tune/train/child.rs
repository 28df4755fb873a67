//! The native trainer in a process of its own: it cannot take the screen's memory or processors with it, and when it
//! dies, only it dies.
//!
//! Owns the process and its pipes: news come as lines of its output, closing its input asks it to stop (so it also
//! stops when this process dies), and one that does not is ended. Must not train.

use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::failure::FailureLine;
use super::folder::read_news;
use super::{TrainBackend, TrainError, TrainJob, TrainNews, Trained};
use crate::jobs::Cancel;
use crate::protocol::sanitize::clean_line;

/// The option of the `train` verb that says that its input is a leash.
pub const LEASH: &str = "--until-stdin-closes";

/// How often the cancel flag and the process are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Time to write a checkpoint and end, once asked.
const GRACE: Duration = Duration::from_secs(30);
/// Bytes of a line of output.
const LINE_BYTES: u64 = 64 << 10;
/// Lines of errors that are kept.
const ERROR_LINES: usize = 5;

/// Trains in a child process.
#[derive(Debug, Clone)]
pub struct ChildTrainer {
    program: PathBuf,
    grace: Duration,
}

impl ChildTrainer {
    /// Runs this program.
    ///
    /// # Errors
    /// When the system does not say where it lies.
    pub fn new() -> Result<Self, TrainError> {
        std::env::current_exe().map(Self::running).map_err(|error| {
            TrainError::Program(format!(
                "this program cannot find itself ({error}); train with `automem train` on the command line"
            ))
        })
    }

    /// Runs the program that lies here.
    pub fn running(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            grace: GRACE,
        }
    }

    fn start(&self, job: &std::path::Path, threads: Option<u32>) -> std::io::Result<Child> {
        let mut command = Command::new(&self.program);
        command
            .args(["train", "--job"])
            .arg(job)
            .args(["--json", LEASH])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // candle's own threads wait by spinning; products run on rayon's.
            .env("CANDLE_NUM_THREADS", "1");
        if let Some(threads) = threads {
            command.env("RAYON_NUM_THREADS", threads.to_string());
        }
        // A Ctrl-C is for this process; the child is told by its input.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn()
    }
}

/// A child that does not outlive whoever listens to it.
struct Kept {
    child: Child,
    leash: Option<ChildStdin>,
    grace: Duration,
}

impl Kept {
    /// Waits so long for its end, then ends it.
    fn end(&mut self, grace: Duration) -> std::io::Result<ExitStatus> {
        drop(self.leash.take());
        let until = Instant::now() + grace;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() >= until {
                self.child.kill()?;
                return self.child.wait();
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.end(self.grace);
    }
}

enum Line {
    Out(String),
    Error(String),
}

fn listen(from: impl Read + Send + 'static, to: Sender<Line>, make: fn(String) -> Line) -> std::io::Result<()> {
    let read = move || {
        let mut from = BufReader::new(from);
        loop {
            let mut bytes = Vec::new();
            match from.by_ref().take(LINE_BYTES).read_until(b'\n', &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            if to.send(make(text)).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("train-child".into())
        .spawn(read)
        .map(|_| ())
}

/// What a child has said so far.
#[derive(Default)]
struct Heard {
    trained: Option<Trained>,
    failed: Option<TrainError>,
    errors: Vec<String>,
}

impl Heard {
    fn take(&mut self, line: Line, news: &mut dyn FnMut(TrainNews)) {
        let text = match line {
            Line::Error(text) => {
                if self.errors.len() == ERROR_LINES {
                    self.errors.remove(0);
                }
                return self.errors.push(clean_line(&text).into_owned());
            }
            Line::Out(text) => text,
        };
        if let Ok(told) = read_news(&text) {
            if let TrainNews::Done {
                loss,
                held_out,
                adapter,
                digest,
                ..
            } = &told
            {
                self.trained = Some(Trained {
                    adapter: adapter.clone(),
                    digest: *digest,
                    loss: *loss,
                    held_out: *held_out,
                });
            }
            news(told);
        } else if let Ok(line) = serde_json::from_str(&text).and_then(serde_json::from_value::<FailureLine>) {
            self.failed = Some(line.failed.into());
        }
    }

    fn ended(self, status: ExitStatus) -> Result<Trained, TrainError> {
        match (self.failed, self.trained) {
            (Some(error), _) => Err(error),
            (None, Some(trained)) if status.success() => Ok(trained),
            _ => {
                let mut text = format!(
                    "the training's process ended without a word ({status}), perhaps because memory ran out; what was saved is kept, start it again to go on"
                );
                if !self.errors.is_empty() {
                    text.push_str(&format!(". It said: {}", self.errors.join("; ")));
                }
                Err(TrainError::Program(text))
            }
        }
    }
}

impl TrainBackend for ChildTrainer {
    fn name(&self) -> &'static str {
        "native"
    }

    fn train(
        &mut self,
        job: &TrainJob,
        cancel: &Cancel,
        news: &mut dyn FnMut(TrainNews),
    ) -> Result<Trained, TrainError> {
        let program = self.program.clone();
        let broken = |error: std::io::Error| {
            TrainError::Program(format!("{} could not be run to train: {error}", program.display()))
        };
        // Beside the folder: the child writes its own `job.json` once it knows that nobody else works there.
        let mut file = tempfile::Builder::new()
            .prefix("automem-train-")
            .suffix(".json")
            .tempfile()
            .map_err(broken)?;
        let text = serde_json::to_string(job).map_err(|error| broken(error.into()))?;
        file.write_all(text.as_bytes()).map_err(broken)?;
        let mut child = self.start(file.path(), job.threads).map_err(broken)?;
        let (sender, lines) = bounded(256);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut kept = Kept {
            child,
            leash: stdin,
            grace: self.grace,
        };
        if let Some(stdout) = stdout {
            listen(stdout, sender.clone(), Line::Out).map_err(broken)?;
        }
        if let Some(stderr) = stderr {
            listen(stderr, sender.clone(), Line::Error).map_err(broken)?;
        }
        drop(sender);
        let mut heard = Heard::default();
        let status = follow(&mut kept, &lines, cancel, &mut heard, news).map_err(broken)?;
        heard.ended(status)
    }
}

/// Listens until the child is gone and all it said is heard.
fn follow(
    kept: &mut Kept,
    lines: &Receiver<Line>,
    cancel: &Cancel,
    heard: &mut Heard,
    news: &mut dyn FnMut(TrainNews),
) -> std::io::Result<ExitStatus> {
    let mut asked: Option<Instant> = None;
    loop {
        match (cancel.is_cancelled(), asked) {
            (true, None) => {
                // The child sees the end of its input.
                drop(kept.leash.take());
                asked = Some(Instant::now());
            }
            (_, Some(since)) if since.elapsed() >= kept.grace => {
                heard.failed = Some(TrainError::Cancelled);
                return kept.end(Duration::ZERO);
            }
            _ => {}
        }
        match lines.recv_timeout(LOOK) {
            Ok(line) => heard.take(line, news),
            Err(RecvTimeoutError::Timeout) => {}
            // Both pipes are closed: it has ended, or is about to.
            Err(RecvTimeoutError::Disconnected) => return kept.end(kept.grace),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::tune::recipe::TrainConfig;

    const RECIPE: &str = "4:8:0.0:1e-3:1:1:1:128:cosine:0.05:false:1:ATTN";

    /// A program that does what a script says.
    fn trainer(folder: &std::path::Path, script: &str) -> (ChildTrainer, TrainJob) {
        use std::os::unix::fs::PermissionsExt as _;
        let program = folder.join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let job = TrainJob {
            name: "t".to_owned(),
            base: "m.gguf".into(),
            data: "set.json".into(),
            config: TrainConfig::parse_line(RECIPE).unwrap(),
            out: folder.join("a.gguf"),
            folder: folder.join("t"),
            held_out: 0.0,
            threads: Some(3),
            memory: None,
        };
        let trainer = ChildTrainer {
            grace: Duration::from_millis(300),
            ..ChildTrainer::running(program)
        };
        (trainer, job)
    }

    const DONE: &str = r#"{"news":"done","steps":1,"loss":0.5,"held_out":null,"adapter":"/a.gguf","digest":"00000000000000000000000000000001","seconds":1.0,"peak_rss":1}"#;

    #[test]
    fn news_come_through_and_the_end_is_told() {
        let home = tempfile::tempdir().unwrap();
        let script = format!(
            "echo \"$RAYON_NUM_THREADS $CANDLE_NUM_THREADS $1 $2 $4 $5\" >&2\necho no json\necho '{{\"news\":\"saved\",\"step\":1}}'\necho '{DONE}'"
        );
        let (mut trainer, job) = trainer(home.path(), &script);
        let mut all = Vec::new();
        let trained = trainer.train(&job, &Cancel::new(), &mut |news| all.push(news)).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0], TrainNews::Saved { step: 1 });
        assert_eq!((trained.loss, trained.adapter), (0.5, PathBuf::from("/a.gguf")));
    }

    #[test]
    fn failures_say_why() {
        let home = tempfile::tempdir().unwrap();
        let fails = |script: &str| {
            let (mut trainer, job) = trainer(home.path(), script);
            trainer
                .train(&job, &Cancel::new(), &mut |_| {})
                .unwrap_err()
                .to_string()
        };
        let text =
            fails(r#"echo '{"failed":{"kind":"memory","needed":2097152,"available":1048576,"hint":"less"}}'; exit 1"#);
        assert!(text.contains("about 2 MiB") && text.contains("less"), "{text}");
        let text = fails("echo 'error: \x1b[31mbad' >&2; exit 3");
        assert!(
            text.contains("exit status: 3") && text.contains("bad") && !text.contains('\x1b'),
            "{text}"
        );
        assert!(fails("kill -9 $$").contains("signal"));
        // It says that it is done, but fails.
        assert!(fails(&format!("echo '{DONE}'; exit 1")).contains("exit status: 1"));
        let (_, job) = trainer(home.path(), "");
        let error = ChildTrainer::running("/no/such/program").train(&job, &Cancel::new(), &mut |_| {});
        assert!(error.unwrap_err().to_string().contains("/no/such/program"));
    }

    #[test]
    fn cancelling_closes_its_input_and_then_ends_it() {
        let home = tempfile::tempdir().unwrap();
        for (script, polite) in [
            ("cat >/dev/null; echo gone > \"$0.gone\"", true),
            ("trap '' TERM; sleep 600", false),
        ] {
            let (mut trainer, job) = trainer(home.path(), script);
            let cancel = Cancel::new();
            let other = cancel.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(100));
                other.cancel();
            });
            let began = Instant::now();
            let result = trainer.train(&job, &cancel, &mut |_| {});
            assert!(result.is_err());
            assert!(began.elapsed() < Duration::from_secs(10));
            assert_eq!(home.path().join("program.gone").exists(), polite);
            let _ = std::fs::remove_file(home.path().join("program.gone"));
        }
    }
}
