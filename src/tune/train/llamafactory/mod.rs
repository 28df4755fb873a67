//! Training at scale: LLaMA-Factory, started by us where it is installed, else with everything laid out for it.
//!
//! Owns the folder that LLaMA-Factory trains by, and following its log. The adapter it leaves is brought into a GGUF
//! file. Must not train itself.

mod files;
mod follow;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod yaml;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use self::files::Laid;
use self::follow::Follower;
use super::super::dataset;
use super::folder::Folder;
use super::{TrainBackend, TrainError, TrainJob, TrainNews, Trained};
use crate::jobs::Cancel;
use crate::jobs::process::{self, Ended, Heard};
use crate::llm::adapter::{self, peft};
use crate::llm::gguf::Header;
use crate::protocol::sanitize::clean_line;

/// The program.
const PROGRAM: &str = "llamafactory-cli";
/// What it said, as it came.
const LOG: &str = "llamafactory.log";
/// Lines of output that an error quotes.
const QUOTED: usize = 5;

/// LLaMA-Factory as a back end.
#[derive(Debug, Clone, Default)]
pub struct LlamaFactory {
    /// The base model as LLaMA-Factory loads it: a name on the hub, or a folder.
    pub hf_model: String,
    /// LLaMA-Factory's name of the chat template; `None` guesses it from the GGUF file.
    pub template: Option<String>,
    /// Folders in which the program is looked for; `None` takes those of PATH.
    pub path: Option<std::ffi::OsString>,
}

impl LlamaFactory {
    /// Lays out the folder that LLaMA-Factory trains by, below the job's. What it trained before stays.
    ///
    /// # Errors
    /// When the set, the configuration or the model cannot be trained with, or nothing can be written.
    fn lay_out(&self, job: &TrainJob) -> Result<(Laid, Header), TrainError> {
        job.config.check()?;
        if job.out.symlink_metadata().is_ok() && adapter::inspect(&job.out).is_err() {
            return Err(TrainError::Unfit {
                what: format!("{}: something that is no adapter is there already", job.out.display()),
                hint: "let the adapter go elsewhere (--out)".to_owned(),
            });
        }
        if self.hf_model.trim().is_empty() {
            return Err(TrainError::Unfit {
                what: "LLaMA-Factory loads the base model from Hugging Face's form, which was not named".to_owned(),
                hint: "give its name or folder: --hf-model Qwen/Qwen2.5-32B-Instruct".to_owned(),
            });
        }
        let header = Header::open(&job.base)?;
        peft::check(&job.base, &header)?;
        let template = match &self.template {
            Some(template) => template.clone(),
            None => files::template(&header)?,
        };
        let examples = dataset::read(&job.data)?;
        let folder = job.folder.join("llamafactory");
        let laid = files::lay_out(&folder, job, &self.hf_model, &template, &examples)?;
        Ok((laid, header))
    }

    /// The program's file.
    fn program(&self) -> Option<PathBuf> {
        let path = self.path.clone().or_else(|| std::env::var_os("PATH"))?;
        std::env::split_paths(&path)
            .map(|folder| folder.join(PROGRAM))
            .find(|program| program.is_file())
    }

    /// Runs the program until it ends; gives what was heard of the loss.
    fn run(
        &self,
        laid: &Laid,
        job: &TrainJob,
        cancel: &Cancel,
        news: &mut dyn FnMut(TrainNews),
    ) -> Result<Follower, TrainError> {
        let path = laid.folder.join(LOG);
        let cannot = |source| TrainError::File {
            path: path.clone(),
            done: "written",
            source,
        };
        let mut log = File::options().create(true).append(true).open(&path).map_err(cannot)?;
        let mut follower = Follower::new(&laid.adapter, laid.steps, job.config.epochs);
        let mut last: Vec<String> = Vec::new();
        let mut command = Command::new("sh");
        command.arg(files::SCRIPT).current_dir(&laid.folder);
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        let mut hear = |heard: Heard<'_>| {
            if let Heard::Line { text, .. } = heard {
                // A log that cannot be written any more does not stop the training.
                let _ = writeln!(log, "{text}");
                // A bar is drawn over itself: what counts is what stands there last.
                let text = clean_line(text.trim_end().rsplit('\r').next().unwrap_or_default()).into_owned();
                if !text.trim().is_empty() {
                    last.push(text.clone());
                    last.drain(..last.len().saturating_sub(QUOTED));
                    follower.line(&text, news);
                    news(TrainNews::Line { text });
                }
            }
            follower.look(news);
        };
        let ended = process::run(command, String::new(), None, cancel, &mut hear);
        follower.look(news);
        let said = match last.is_empty() {
            true => "it wrote nothing".to_owned(),
            false => format!("it wrote last: {}", last.join(" ␊ ")),
        };
        let failed = |how: String| {
            TrainError::Program(format!(
                "{PROGRAM} {how} ({said}); its whole log is {}. Mend what it names, then start the training again: \
                 checkpoints are gone on with",
                path.display()
            ))
        };
        match ended {
            Ok(Ended::Code(Some(0))) => Ok(follower),
            Ok(Ended::Code(Some(code))) => Err(failed(format!("failed with code {code}"))),
            Ok(Ended::Code(None) | Ended::TimedOut) => Err(failed("was ended by a signal".to_owned())),
            Ok(Ended::Cancelled) => Err(TrainError::Cancelled),
            Err(error) => Err(failed(format!("could not be started: {error}"))),
        }
    }
}

impl TrainBackend for LlamaFactory {
    fn name(&self) -> &'static str {
        "llamafactory"
    }

    fn train(
        &mut self,
        job: &TrainJob,
        cancel: &Cancel,
        news: &mut dyn FnMut(TrainNews),
    ) -> Result<Trained, TrainError> {
        let mut folder = Folder::open(job)?;
        let mut unlogged = None;
        let mut tell = |told: TrainNews| {
            // The program is not ended for that; what came of it counts as failed then.
            if let Err(error) = folder.log(&told) {
                unlogged.get_or_insert(error);
            }
            news(told);
        };
        let result = self.train_in(job, cancel, &mut tell);
        if let Err(error) = &result
            && !matches!(error, TrainError::Cancelled)
        {
            // Whoever follows the log learns of it there.
            tell(TrainNews::Line {
                text: format!("ended: {error}"),
            });
        }
        match unlogged {
            Some(error) => result.and(Err(error)),
            None => result,
        }
    }
}

impl LlamaFactory {
    /// Trains in a folder that is this process's.
    fn train_in(
        &self,
        job: &TrainJob,
        cancel: &Cancel,
        news: &mut dyn FnMut(TrainNews),
    ) -> Result<Trained, TrainError> {
        let began = Instant::now();
        let (laid, header) = self.lay_out(job)?;
        if self.program().is_none() {
            return Err(TrainError::Program(by_hand(&laid, job)));
        }
        news(TrainNews::Planned {
            steps: laid.steps,
            examples: laid.examples,
            held_out: laid.held_out,
            too_long: 0,
            parameters: files::parameters(&header, &job.config),
            memory: 0,
            checkpointing: true,
            done: 0,
            device: format!("LLaMA-Factory on {} GPU(s)", job.config.gpus),
        });
        let follower = self.run(&laid, job, cancel, news)?;
        let adapter = peft::import(&laid.adapter, &header)?;
        let digest = adapter::write(&job.out, &adapter)?;
        let trained = Trained {
            adapter: job.out.clone(),
            digest,
            loss: follower.loss(),
            held_out: follower.held_out(),
        };
        news(TrainNews::Done {
            steps: follower.steps(),
            loss: trained.loss,
            held_out: trained.held_out,
            adapter: trained.adapter.clone(),
            digest,
            seconds: began.elapsed().as_secs_f64(),
            peak_rss: 0,
        });
        Ok(trained)
    }
}

/// What to do where the program is not installed.
fn by_hand(laid: &Laid, job: &TrainJob) -> String {
    format!(
        "{PROGRAM} is not on the PATH, so nothing was trained; everything it needs is in {folder}. Copy that folder to a \
         machine with LLaMA-Factory, run `sh {script}` in it, copy its `{adapter}` back, then run `automem adapter \
         import {back} --base {base} --out {out}`",
        folder = laid.folder.display(),
        script = files::SCRIPT,
        adapter = files::ADAPTER,
        back = laid.adapter.display(),
        base = job.base.display(),
        out = job.out.display(),
    )
}

/// Puts a text in its place, whole.
fn put(path: &Path, text: &[u8]) -> Result<(), TrainError> {
    Ok(dataset::write(path, text).map(|_| ())?)
}
