//! One training from a job to an adapter: plan, updates, measurements, checkpoints.
//!
//! Owns their order. Everything that is random follows from the seed and the number of the update, so that a training
//! that goes on is the one that was not interrupted. Must not know threads or who listens.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use candle_core::{DType, Device, Tensor};

use super::super::{TrainError, TrainJob, TrainNews, Trained};
use super::arch::Arch;
use super::checkpoint::{self, Identity, Progress};
use super::data::{self, Cut, Set};
use super::estimate::{Plan, Size};
use super::export::export;
use super::lora::{Adapter, Dropout, Kind};
use super::model::{Model, Pass, Sample};
use super::optim::{AdamW, clip};
use super::random::Random;
use super::schedule::learning_rate;
use super::weights::Weights;
use crate::jobs::{Cancel, memory};
use crate::llm::gguf::{Header, ModelInfo};
use crate::llm::{adapter, llama};
use crate::tune::dataset;

/// Where news go; an error ends the training.
pub(super) type Tell<'a> = dyn FnMut(TrainNews) -> Result<(), TrainError> + 'a;

/// What is wrong inside of the arithmetic, for people.
pub(super) fn arithmetic(error: candle_core::Error) -> TrainError {
    TrainError::Program(format!(
        "the trainer's arithmetic failed: {error}. If memory ran out, lower the cutoff or the rank; what was saved is kept"
    ))
}

/// The device with its name: the first GPU where this build knows one.
pub(super) fn device() -> Result<(Device, String), TrainError> {
    let opened = if candle_core::utils::cuda_is_available() {
        Device::new_cuda(0).map(|device| (device, "cuda:0"))
    } else if candle_core::utils::metal_is_available() {
        Device::new_metal(0).map(|device| (device, "metal"))
    } else {
        Ok((Device::Cpu, "cpu"))
    };
    let (device, name) = opened.map_err(arithmetic)?;
    Ok((device, name.to_owned()))
}

/// A training with everything that is settled.
struct Run<'a> {
    job: &'a TrainJob,
    cancel: &'a Cancel,
    model: Model,
    set: Set,
    plan: Plan,
    steps: u32,
    identity: Identity,
    /// Name of the base model, for the adapter.
    base: Option<String>,
    adapter: Adapter,
    adam: AdamW,
    progress: Progress,
    saved: u32,
    began: Instant,
    last_save: Instant,
    save_every: Duration,
    /// Seconds that earlier processes worked.
    before: f64,
}

/// Trains, or goes on.
///
/// # Errors
/// Why there is no adapter.
pub(super) fn run(
    job: &TrainJob,
    cancel: &Cancel,
    save_every: Duration,
    tell: &mut Tell<'_>,
) -> Result<Trained, TrainError> {
    let began = Instant::now();
    let mut run = Run::prepare(job, cancel, save_every, began, tell)?;
    match run.updates(tell) {
        Ok(()) => run.finish(tell),
        Err(TrainError::Cancelled) => {
            // What was done since the last checkpoint is not lost.
            if run.progress.step > run.saved {
                run.save(tell)?;
            }
            Err(TrainError::Cancelled)
        }
        Err(error) => Err(error),
    }
}

/// Whether the adapter may be written there: over nothing, or over an adapter.
fn check_out(out: &Path) -> Result<(), TrainError> {
    if out.symlink_metadata().is_ok() && adapter::inspect(out).is_err() {
        return Err(TrainError::Unfit {
            what: format!("{}: something that is no adapter is there already", out.display()),
            hint: "let the adapter go elsewhere (--out)".to_owned(),
        });
    }
    Ok(())
}

fn batches(job: &TrainJob) -> usize {
    job.config.batch.max(1) as usize * job.config.accumulation.max(1) as usize
}

impl<'a> Run<'a> {
    fn prepare(
        job: &'a TrainJob,
        cancel: &'a Cancel,
        save_every: Duration,
        began: Instant,
        tell: &mut Tell<'_>,
    ) -> Result<Self, TrainError> {
        let config = &job.config;
        config.check()?;
        if !(0.0..=0.5).contains(&job.held_out) {
            return Err(TrainError::Unfit {
                what: format!("a share of {} cannot be held out", job.held_out),
                hint: "hold out 0 to 0.5".to_owned(),
            });
        }
        check_out(&job.out)?;
        let header = Header::open(&job.base)?;
        let arch = Arch::read(&job.base, &header)?;
        let (examples, data_digest) = data::read(&job.data)?;
        let tokenizer = llama::ChatTokenizer::open(&job.base)?;
        let cut = Cut {
            cutoff: (config.cutoff as usize).min(arch.context.unwrap_or(usize::MAX)),
            held_out: job.held_out,
            seed: config.seed,
        };
        let tokenise = |messages: &[crate::types::Message]| tokenizer.conversation(messages);
        let set = data::tokens(&job.data, &examples, cut, &tokenise, cancel)?;
        drop((examples, tokenizer));

        let (device, device_name) = device()?;
        let modules: BTreeSet<String> = config.targets.modules().into_iter().collect();
        let info = ModelInfo::of(&header);
        let plan = plan(job, &arch, &info, &modules, set.longest(), &device)?;
        let base = info
            .title
            .or_else(|| job.base.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        let steps = u32::try_from(set.train.len().div_ceil(batches(job))).unwrap_or(u32::MAX);
        let steps = steps.saturating_mul(config.epochs);

        let place = (DType::F32, &device);
        let mut adapter = Adapter::new(&arch, &modules, config.rank as usize, config.alpha, config.seed, place)
            .map_err(arithmetic)?;
        let mut adam = AdamW::new(&adapter.tensors()).map_err(arithmetic)?;
        let identity = Identity::new(
            config,
            dataset::file_digest(&job.base)?,
            data_digest,
            job.held_out,
            &device_name,
        );
        let progress = checkpoint::load(&job.folder, &identity, &mut adapter, &mut adam)?.unwrap_or_default();
        tell(TrainNews::Planned {
            steps,
            examples: u32::try_from(set.train.len()).unwrap_or(u32::MAX),
            held_out: u32::try_from(set.held_out.len()).unwrap_or(u32::MAX),
            too_long: set.too_long,
            parameters: adapter.parameters(),
            memory: plan.bytes,
            checkpointing: plan.checkpointing,
            done: progress.step,
            device: device_name,
        })?;
        let weights = Weights::load(&job.base, &arch, &device, &|| cancel.is_cancelled())
            .map_err(|error| cancelled_or(error, cancel))?;
        let model = Model::new(arch, weights, set.longest()).map_err(arithmetic)?;
        Ok(Self {
            job,
            cancel,
            model,
            set,
            plan,
            steps,
            identity,
            base,
            adapter,
            adam,
            saved: progress.step,
            before: progress.seconds,
            progress,
            began,
            last_save: Instant::now(),
            save_every,
        })
    }

    /// Updates an epoch has.
    fn steps_an_epoch(&self) -> u32 {
        self.steps / self.job.config.epochs.max(1)
    }

    fn updates(&mut self, tell: &mut Tell<'_>) -> Result<(), TrainError> {
        if self.progress.step == 0 {
            self.measure(tell)?;
        }
        while self.progress.step < self.steps {
            let (epoch, first) = self.place();
            let order = data::order(self.set.train.len(), self.job.config.seed, epoch);
            let group: Vec<usize> = order.into_iter().skip(first).take(batches(self.job)).collect();
            self.update(epoch, first, &group, tell)?;
            let ended = self.progress.step.is_multiple_of(self.steps_an_epoch());
            if ended {
                self.measure(tell)?;
            }
            if ended || self.last_save.elapsed() >= self.save_every {
                self.save(tell)?;
            }
        }
        Ok(())
    }

    /// The epoch of the next update, and its first conversation in the epoch's order.
    fn place(&self) -> (u32, usize) {
        let an_epoch = self.steps_an_epoch().max(1);
        let (epoch, within) = (self.progress.step / an_epoch, self.progress.step % an_epoch);
        (epoch, within as usize * batches(self.job))
    }

    fn update(&mut self, epoch: u32, first: usize, group: &[usize], tell: &mut Tell<'_>) -> Result<(), TrainError> {
        let began = Instant::now();
        let config = &self.job.config;
        let step = self.progress.step + 1;
        let samples: Vec<&Sample> = group.iter().filter_map(|index| self.set.train.get(*index)).collect();
        let supervised: usize = samples.iter().map(|sample| sample.supervised()).sum();
        let mut gradients: Vec<Option<Tensor>> = vec![None; self.adapter.count];
        let (mut loss, mut tokens) = (0.0, 0);
        for (index, sample) in samples.iter().enumerate() {
            let dropout = (config.dropout > 0.0).then(|| Dropout {
                share: config.dropout,
                seed: Random::of(config.seed, &[0x44, u64::from(step), index as u64]).seed(),
            });
            let pass = Pass {
                weight: 1.0 / supervised.max(1) as f64,
                dropout,
                checkpointing: self.plan.checkpointing,
                gradients: &mut gradients,
            };
            loss += self.run_model(sample, Some(pass))?;
            tokens += sample.tokens.len() - 1;
        }
        loss /= supervised.max(1) as f64;
        let gradients: Option<Vec<Tensor>> = gradients.into_iter().collect();
        let mut gradients = gradients.ok_or_else(|| TrainError::Program("a matrix got no gradient".to_owned()))?;
        let grad_norm = clip(&mut gradients).map_err(arithmetic)?;
        if !loss.is_finite() || !grad_norm.is_finite() {
            return Err(TrainError::NotANumber {
                step,
                loss: if loss.is_finite() { grad_norm } else { loss },
                kept: self.saved,
            });
        }
        let lr = learning_rate(config, step, self.steps);
        self.adam
            .update(self.adapter.tensors_mut(), gradients, lr, step)
            .map_err(arithmetic)?;
        self.progress.step = step;
        self.progress.losses.push(loss);
        self.progress.seconds = self.before + self.began.elapsed().as_secs_f64();
        tell(TrainNews::Step {
            step,
            of: self.steps,
            epoch: f64::from(epoch) + (first + group.len()) as f64 / self.set.train.len() as f64,
            loss,
            lr,
            grad_norm,
            tokens_per_second: tokens as f64 / began.elapsed().as_secs_f64().max(1e-9),
        })
    }

    fn run_model(&self, sample: &Sample, pass: Option<Pass<'_>>) -> Result<f64, TrainError> {
        self.model
            .run(&self.adapter, sample, pass, &|| self.cancel.is_cancelled())
            .map_err(|error| cancelled_or(error, self.cancel))
    }

    /// The loss on what is kept back.
    fn measure(&mut self, tell: &mut Tell<'_>) -> Result<(), TrainError> {
        let (mut loss, mut supervised) = (0.0, 0);
        for sample in &self.set.held_out {
            loss += self.run_model(sample, None)?;
            supervised += sample.supervised();
        }
        if supervised == 0 {
            return Ok(());
        }
        let (step, loss) = (self.progress.step, loss / supervised as f64);
        if !loss.is_finite() {
            return Err(TrainError::NotANumber {
                step,
                loss,
                kept: self.saved,
            });
        }
        self.progress.held_out = Some(loss);
        tell(TrainNews::HeldOut { step, loss })
    }

    fn save(&mut self, tell: &mut Tell<'_>) -> Result<(), TrainError> {
        checkpoint::save(
            &self.job.folder,
            &self.identity,
            &self.progress,
            &self.adapter,
            &self.adam,
        )?;
        self.saved = self.progress.step;
        self.last_save = Instant::now();
        tell(TrainNews::Saved {
            step: self.progress.step,
        })
    }

    /// Writes the adapter.
    fn finish(&mut self, tell: &mut Tell<'_>) -> Result<Trained, TrainError> {
        let file = export(&self.model.arch, &self.adapter, self.base.clone()).map_err(arithmetic)?;
        if let Some(above) = self.job.out.parent() {
            std::fs::create_dir_all(above).map_err(|source| TrainError::File {
                path: above.to_owned(),
                done: "made",
                source,
            })?;
        }
        let digest = adapter::write(&self.job.out, &file)?;
        let losses = &self.progress.losses;
        let last = &losses[losses.len() - losses.len().div_ceil(10)..];
        let trained = Trained {
            adapter: self.job.out.clone(),
            digest,
            loss: last.iter().sum::<f64>() / last.len().max(1) as f64,
            held_out: self.progress.held_out,
        };
        tell(TrainNews::Done {
            steps: self.progress.step,
            loss: trained.loss,
            held_out: trained.held_out,
            adapter: trained.adapter.clone(),
            digest,
            seconds: self.before + self.began.elapsed().as_secs_f64(),
            peak_rss: memory::peak().unwrap_or(0),
        })?;
        Ok(trained)
    }
}

fn cancelled_or(error: candle_core::Error, cancel: &Cancel) -> TrainError {
    if cancel.is_cancelled() {
        TrainError::Cancelled
    } else {
        arithmetic(error)
    }
}

fn plan(
    job: &TrainJob,
    arch: &Arch,
    info: &ModelInfo,
    modules: &BTreeSet<String>,
    longest: usize,
    device: &Device,
) -> Result<Plan, TrainError> {
    let rank = job.config.rank as usize;
    let (mut ranks, mut trained) = (0, 0);
    for kind in Kind::ALL {
        for (module, width) in kind.modules().iter().zip(kind.widths(arch)) {
            if modules.contains(module.peft) {
                ranks += rank;
                trained += (arch.layers * rank * (width + kind.inputs(arch))) as u64;
            }
        }
    }
    let size = Size {
        arch,
        base: info.parameters,
        trained,
        ranks,
        longest,
    };
    // What a GPU has free is not known here; it says when it has no more.
    let free = || {
        memory::available()
            .filter(|_| device.is_cpu())
            .map(|bytes| bytes / 4 * 3)
    };
    size.plan(job.memory.or_else(free))
}
