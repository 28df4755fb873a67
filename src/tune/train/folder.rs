//! A training's folder: its job, its log, and that one process at a time works in it.
//!
//! Owns `job.json` and `train.jsonl` (one [`TrainNews`] a line, only ever added to). Must not train.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{TrainError, TrainJob, TrainNews};
use crate::config::Workspace;
use crate::store::Claim;

/// The job.
pub const JOB: &str = "job.json";
/// The log.
pub const LOG: &str = "train.jsonl";

/// A folder that is worked in.
#[derive(Debug)]
pub struct Folder {
    log: File,
    path: PathBuf,
    _claim: Claim,
}

fn failed(path: &Path, done: &'static str) -> impl Fn(std::io::Error) -> TrainError {
    move |source| TrainError::File {
        path: path.to_owned(),
        done,
        source,
    }
}

impl Folder {
    /// Makes the folder if there is none, claims it, and writes the job into it.
    ///
    /// # Errors
    /// When another process works in it, or it cannot be written.
    pub fn open(job: &TrainJob) -> Result<Self, TrainError> {
        let folder = &job.folder;
        std::fs::create_dir_all(folder).map_err(failed(folder, "made"))?;
        let claim = Claim::take(&Workspace::at(folder), "training")
            .map_err(|error| TrainError::Program(format!("the training's folder cannot be used: {error}")))?
            .ok_or_else(|| TrainError::Unfit {
                what: format!("{}: another process works on this training", folder.display()),
                hint: "wait for it, or choose another name".to_owned(),
            })?;
        write_job(job)?;
        let path = folder.join(LOG);
        let mut log = File::options()
            .create(true)
            .append(true)
            .read(true)
            .open(&path)
            .map_err(failed(&path, "written"))?;
        end_line(&mut log).map_err(failed(&path, "written"))?;
        Ok(Self {
            log,
            path,
            _claim: claim,
        })
    }

    /// Adds a line to the log.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn log(&mut self, news: &TrainNews) -> Result<(), TrainError> {
        let failed = failed(&self.path, "written");
        let mut line = serde_json::to_string(news).map_err(|error| failed(std::io::Error::other(error)))?;
        line.push('\n');
        self.log.write_all(line.as_bytes()).map_err(failed)
    }
}

/// What the log says last of a training that failed: whoever follows it learns it there. One that was cancelled can be
/// gone on with, and says nothing.
pub fn last_line(error: &TrainError) -> Option<TrainNews> {
    (!matches!(error, TrainError::Cancelled)).then(|| TrainNews::Line {
        text: format!("ended: {error}"),
    })
}

/// Ends a line that a process was killed in.
fn end_line(log: &mut File) -> std::io::Result<()> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    if log.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    log.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    log.read_exact(&mut last)?;
    if last != *b"\n" { log.write_all(b"\n") } else { Ok(()) }
}

/// Writes the job into its folder, whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub fn write_job(job: &TrainJob) -> Result<PathBuf, TrainError> {
    let path = job.folder.join(JOB);
    std::fs::create_dir_all(&job.folder).map_err(failed(&job.folder, "made"))?;
    let written = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".job-").tempfile_in(&job.folder)?;
        file.write_all(serde_json::to_string_pretty(job)?.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(failed(&path, "written"))?;
    Ok(path)
}

/// Reads a job.
///
/// # Errors
/// When it cannot be read or is none.
pub fn read_job(path: &Path) -> Result<TrainJob, TrainError> {
    let text = std::fs::read_to_string(path).map_err(failed(path, "read"))?;
    serde_json::from_str(&text).map_err(|error| TrainError::Unfit {
        what: format!("{}: it is no training's job ({error})", path.display()),
        hint: "give the job.json of a training's folder".to_owned(),
    })
}

/// Reads a line of a log, or of what a training prints.
///
/// # Errors
/// When it is none.
pub fn read_news(line: &str) -> Result<TrainNews, serde_json::Error> {
    // In two steps: a tagged form with numbers cannot be read at once.
    serde_json::from_str::<serde_json::Value>(line).and_then(serde_json::from_value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::recipe::{Schedule, Targets, TrainConfig};

    fn job(folder: &Path) -> TrainJob {
        TrainJob {
            name: "t".to_owned(),
            base: "m.gguf".into(),
            data: "set.json".into(),
            config: TrainConfig {
                rank: 8,
                alpha: 16.0,
                dropout: 0.05,
                learning_rate: 2e-4,
                epochs: 1,
                batch: 1,
                accumulation: 1,
                cutoff: 64,
                schedule: Schedule::Cosine,
                warmup: 0.05,
                save: false,
                gpus: 1,
                targets: Targets::Names(vec!["q_proj".to_owned()]),
                seed: u64::MAX,
            },
            out: folder.join("a.gguf"),
            folder: folder.join("t"),
            held_out: 0.1,
            threads: Some(2),
            memory: None,
        }
    }

    #[test]
    fn jobs_and_news_come_back_as_they_were() {
        let home = tempfile::tempdir().unwrap();
        let job = job(home.path());
        let mut folder = Folder::open(&job).unwrap();
        assert_eq!(read_job(&job.folder.join(JOB)).unwrap(), job);
        let news = [
            TrainNews::HeldOut {
                step: 3,
                loss: 0.1 + 0.2,
            },
            TrainNews::Saved { step: 3 },
        ];
        for told in &news {
            folder.log(told).unwrap();
        }
        let text = std::fs::read_to_string(job.folder.join(LOG)).unwrap();
        let read: Vec<TrainNews> = text.lines().map(|line| read_news(line).unwrap()).collect();
        assert_eq!(read, news);
        // Nobody else meanwhile; afterwards it is added to, also behind half a line.
        let second = Folder::open(&job).unwrap_err().to_string();
        assert!(second.contains("another process"), "{second}");
        drop(folder);
        std::fs::write(job.folder.join(LOG), format!("{text}{{\"news\":\"sa")).unwrap();
        Folder::open(&job).unwrap().log(&news[1]).unwrap();
        let text = std::fs::read_to_string(job.folder.join(LOG)).unwrap();
        assert_eq!(read_news(text.lines().last().unwrap()).unwrap(), news[1]);
        assert_eq!(text.lines().count(), 4);
    }

    #[test]
    fn what_is_no_job_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("job.json");
        assert!(read_job(&path).unwrap_err().to_string().contains("job.json"));
        std::fs::write(&path, "{\"name\": 3}").unwrap();
        assert!(read_job(&path).unwrap_err().to_string().contains("no training's job"));
        assert!(read_news("{\"news\":\"nothing\"}").is_err());
        assert!(read_news("nothing").is_err());
    }
}
