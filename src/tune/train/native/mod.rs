//! The native trainer: LoRA from the GGUF file that inference runs, in this process.
//!
//! Gradients are written by hand, layer by layer, so that frozen weights never get one. Must not know screens or verbs.
//!
//! | module | its one job |
//! |---|---|
//! | `arch` | what a model file says about its shape, and whether that is supported |
//! | `weights` | the frozen weights, dequantised |
//! | `lora` | the trainable matrices: start, effect, gradient |
//! | `ops` | the operations of a layer and their gradients |
//! | `attention` | causal attention in blocks, rotary embedding |
//! | `layer` | a layer forwards and back |
//! | `model` | the loss of a conversation and its gradient |
//! | `data` | the set in tokens, parted and ordered |
//! | `optim`, `schedule` | AdamW, the learning rate |
//! | `estimate` | memory before it is taken |
//! | `checkpoint` | a training that can be gone on with |
//! | `export` | the adapter's file |
//! | `measure` | how fast this machine trains |
//! | `run` | one training from a job to an adapter |

mod arch;
mod attention;
mod checkpoint;
mod data;
mod estimate;
mod export;
mod layer;
mod lora;
mod measure;
mod model;
mod ops;
mod optim;
mod random;
mod run;
mod schedule;
#[cfg(test)]
mod tests;
#[cfg(test)]
#[allow(unreachable_pub, reason = "shared with tests of the program")]
mod tiny;
mod weights;

use std::time::Duration;

pub use measure::Workbench;

use super::folder::{Folder, last_line};
use super::{TrainBackend, TrainError, TrainJob, TrainNews, Trained};
use crate::jobs::Cancel;
use crate::llm::llama::default_threads;

/// Times between two checkpoints within an epoch.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// Trains in this process, on threads of its own.
#[derive(Debug, Clone)]
pub struct NativeTrainer {
    save_every: Duration,
}

impl Default for NativeTrainer {
    fn default() -> Self {
        Self { save_every: SAVE_EVERY }
    }
}

impl NativeTrainer {
    /// One that saves a checkpoint so often, besides at the end of each epoch.
    pub fn saving_every(save_every: Duration) -> Self {
        Self { save_every }
    }
}

impl TrainBackend for NativeTrainer {
    fn name(&self) -> &'static str {
        "native"
    }

    fn train(
        &mut self,
        job: &TrainJob,
        cancel: &Cancel,
        news: &mut dyn FnMut(TrainNews),
    ) -> Result<Trained, TrainError> {
        let mut folder = Folder::open(job)?;
        let threads = job.threads.unwrap_or_else(default_threads).max(1) as usize;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("train-{index}"))
            .build()
            .map_err(|error| TrainError::Program(format!("threads to train with could not be started: {error}")))?;
        let (sender, receiver) = crossbeam_channel::unbounded();
        let save_every = self.save_every;
        std::thread::scope(|scope| {
            let work = scope.spawn(move || {
                let mut tell = |news: TrainNews| {
                    folder.log(&news)?;
                    // Whoever listened has gone; the log has it.
                    let _ = sender.send(news);
                    Ok(())
                };
                let result = pool.install(|| run::run(job, cancel, save_every, &mut tell));
                if let Err(error) = &result
                    && let Some(last) = last_line(error)
                {
                    // That it ended is told either way.
                    let _ = tell(last);
                }
                result
            });
            for told in receiver {
                news(told);
            }
            work.join().unwrap_or_else(|_| {
                Err(TrainError::Program(
                    "the trainer stopped by a fault of its own; what was saved is kept".to_owned(),
                ))
            })
        })
    }
}
