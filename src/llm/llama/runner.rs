//! The engine thread from inside: continuous batching over one context.
//!
//! Owns the context, its cache and the jobs in progress. Each tick evaluates one token of every answer that is being
//! written, together with a chunk of the prompts that wait, so that cancelling and progress are never further away than one tick.
//! Must not wait for anybody but new jobs.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use llama_cpp_2::DecodeError;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;

use super::answer::Answer;
use super::backend;
use super::engine::{EngineSettings, Job, Reply, failed};
use super::weights::{Adapter, Weights};
use crate::llm::chat::LlmError;
use crate::llm::decoding::slots::SlotTable;

/// Tokens a batch may have.
pub(super) const BATCH: usize = 512;
/// Prompt tokens a tick evaluates in exact mode.
const EXACT_CHUNK: usize = 128;
/// Prompt tokens a tick evaluates while answers are being written, which must not stall, and the fewest it evaluates at all:
/// llama.cpp's attention over fewer rows takes a path that is several times slower a token.
const LEAST_CHUNK: usize = 64;
/// How long a tick should take at most.
const TICK: Duration = Duration::from_millis(250);

pub(super) struct Runner<'m> {
    weights: &'m Weights,
    context: LlamaContext<'m>,
    settings: EngineSettings,
    table: SlotTable,
    batch: LlamaBatch<'static>,
    queue: VecDeque<(Job, bool)>,
    active: Vec<Answer>,
    chunk: usize,
}

impl<'m> Runner<'m> {
    /// Makes the context, with the adapter if there is one.
    pub(super) fn new(
        weights: &'m Weights,
        adapter: Option<&Adapter>,
        settings: EngineSettings,
    ) -> Result<Self, LlmError> {
        let backend = backend::backend()?;
        let threads = i32::try_from(settings.threads.max(1)).unwrap_or(1);
        let batch = u32::try_from(BATCH).unwrap_or(u32::MAX);
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(settings.cells))
            .with_n_batch(batch)
            .with_n_ubatch(batch)
            .with_n_seq_max(settings.slots.max(1))
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_flash_attention_policy(match settings.flash {
                None => llama_cpp_sys_2::LLAMA_FLASH_ATTN_TYPE_AUTO,
                Some(false) => llama_cpp_sys_2::LLAMA_FLASH_ATTN_TYPE_DISABLED,
                Some(true) => llama_cpp_sys_2::LLAMA_FLASH_ATTN_TYPE_ENABLED,
            })
            // One pool of cells for all slots, so that a long prompt can use what short ones leave.
            .with_kv_unified(true)
            .with_no_perf(true);
        let _turn = weights.turn();
        let mut context = weights.new_context(backend, params).map_err(|_| {
            let cells = settings.cells;
            failed(
                format!("a context of {cells} tokens could not be made; try a smaller one, or free some memory"),
                false,
            )
        })?;
        if let Some(adapter) = adapter {
            adapter.set(&mut context).map_err(|cause| failed(cause, false))?;
        }
        Ok(Self {
            table: SlotTable::new(
                settings.slots as usize,
                context.n_ctx() as usize,
                settings.partial_reuse,
            ),
            weights,
            context,
            settings,
            batch: LlamaBatch::new(BATCH, 1),
            queue: VecDeque::new(),
            active: Vec::new(),
            chunk: if settings.exact { EXACT_CHUNK } else { LEAST_CHUNK },
        })
    }

    /// Serves jobs until nobody can send any more and all are done.
    pub(super) fn run(&mut self, jobs: &Receiver<Job>) {
        loop {
            if self.active.is_empty() && self.queue.is_empty() {
                match jobs.recv() {
                    Ok(job) => self.queue.push_back((job, false)),
                    Err(_) => return,
                }
            }
            // No more jobs and no more senders are the same here: what there is gets done.
            while let Ok(job) = jobs.try_recv() {
                self.queue.push_back((job, false));
            }
            self.drop_cancelled();
            self.admit();
            self.tick();
        }
    }

    /// Cancelled jobs end here: while they wait and between ticks.
    fn drop_cancelled(&mut self) {
        self.queue.retain(|(job, _)| {
            let cancelled = job.cancel.is_cancelled();
            if cancelled {
                let _ = job.reply.send(Reply::Failed(LlmError::Cancelled));
            }
            !cancelled
        });
        let table = &mut self.table;
        self.active.retain(|answer| {
            let cancelled = answer.is_cancelled();
            if cancelled {
                answer.fail(LlmError::Cancelled);
                table.release(answer.slot());
            }
            !cancelled
        });
    }

    /// Takes jobs from the queue, first come first served, as long as there is room.
    fn admit(&mut self) {
        if self.settings.exact && self.active.is_empty() {
            self.forget_everything();
        }
        while let Some((job, _)) = self.queue.front() {
            if self.settings.exact && !self.active.is_empty() {
                break;
            }
            let room = job.sampling.max_tokens as usize;
            let Some(admission) = self.table.admit(job.key, &job.tokens, room) else {
                break;
            };
            let Some((job, _)) = self.queue.pop_front() else { break };
            let (slot, cached) = (admission.slot, admission.cached);
            let prepared = self.prepare(slot, cached, admission.copy_from, &admission.evict);
            match Answer::new(job, self.weights, slot, cached) {
                Ok(answer) if prepared => self.active.push(answer),
                Ok(answer) => {
                    answer.fail(failed("its cache could not be rearranged".to_owned(), true));
                    self.abandon(slot);
                }
                Err(()) => self.abandon(slot),
            }
        }
        if self.active.is_empty() {
            // Nothing is in the way, so what does not fit now never will. Callers check this, so it is only a safeguard.
            if let Some((job, _)) = self.queue.pop_front() {
                let needed = job.tokens.len().saturating_add(job.sampling.max_tokens as usize);
                let _ = job.reply.send(Reply::Failed(LlmError::ContextOverflow {
                    needed: u32::try_from(needed).unwrap_or(u32::MAX),
                    available: self.context.n_ctx(),
                }));
            }
        }
        for (job, told) in &mut self.queue {
            if !*told {
                *told = true;
                let _ = job.reply.send(Reply::Waiting);
            }
        }
    }

    /// Brings the cache into the state that the slot table has planned.
    fn prepare(&mut self, slot: usize, cached: usize, copy_from: Option<usize>, evict: &[usize]) -> bool {
        let keep = if copy_from.is_some() { 0 } else { cached };
        let mut good = self.cut(slot, keep);
        if let Some(source) = copy_from {
            good &= self
                .context
                .copy_kv_cache_seq(sequence(source), sequence(slot), Some(0), u32::try_from(cached).ok())
                .is_ok();
        }
        for other in evict {
            good &= self.cut(*other, 0);
        }
        good
    }

    /// Takes everything from a position on out of a sequence.
    fn cut(&mut self, slot: usize, from: usize) -> bool {
        let from = u32::try_from(from).unwrap_or(u32::MAX);
        let slot = u32::try_from(slot).unwrap_or(u32::MAX);
        self.context.clear_kv_cache_seq(Some(slot), Some(from), None) == Ok(true)
    }

    /// Gives a slot back whose cache is not what the table says.
    fn abandon(&mut self, slot: usize) {
        self.cut(slot, 0);
        self.table.forget(slot);
    }

    fn forget_everything(&mut self) {
        self.context.clear_kv_cache();
        self.table.clear();
    }

    /// One batch: evaluated, drawn from, told.
    fn tick(&mut self) {
        self.fill();
        let tokens = self.batch.n_tokens();
        if tokens == 0 {
            return;
        }
        let weights = self.weights;
        let turn = weights.turn();
        // Waiting for another context says nothing about the speed of this one.
        let began = Instant::now();
        let mut result = self.context.decode(&mut self.batch);
        if result == Err(DecodeError::NoKvCacheSlot) {
            for slot in self.table.evict_idle() {
                self.cut(slot, 0);
            }
            result = self.context.decode(&mut self.batch);
        }
        drop(turn);
        match result {
            Ok(()) => self.advance(began),
            Err(error) => self.fail_all(&error),
        }
    }

    /// Puts the next tokens of all answers and a chunk of the prompts into the batch.
    fn fill(&mut self) {
        self.batch.clear();
        let mut left = BATCH;
        let writing = self.active.iter().filter(|answer| answer.is_writing()).count();
        for answer in &mut self.active {
            if answer.is_writing() && left > 0 {
                left -= answer.put(&mut self.batch, 1);
            }
        }
        // Neither an answer of this context nor one of another may wait long for a prompt.
        let hurried = writing > 0 || self.weights.is_contended();
        let chunk = if hurried && !self.settings.exact {
            self.chunk.min(LEAST_CHUNK)
        } else {
            self.chunk
        };
        let mut left = left.min(chunk);
        for answer in &mut self.active {
            if !answer.is_writing() && left > 0 {
                left -= answer.put(&mut self.batch, left);
            }
        }
    }

    /// After a successful evaluation: notes what is in the cache, draws, tells, ends what is over.
    fn advance(&mut self, began: Instant) {
        let mut prompts = 0;
        let mut over = Vec::new();
        for (index, answer) in self.active.iter_mut().enumerate() {
            let put = answer.evaluated();
            if put.is_empty() {
                continue;
            }
            prompts += if answer.is_writing() { 0 } else { put.len() };
            self.table.extend(answer.slot(), &put);
            if answer.draw(&self.context, self.weights) {
                over.push(index);
            }
        }
        for index in over.into_iter().rev() {
            let answer = self.active.remove(index);
            self.table.release(answer.slot());
            answer.tell_end();
        }
        if prompts > 0 && !self.settings.exact {
            self.chunk = next_chunk(self.chunk, prompts, began.elapsed());
        }
    }

    fn fail_all(&mut self, error: &DecodeError) {
        for answer in self.active.drain(..) {
            answer.fail(failed(format!("evaluating tokens did not work ({error})"), true));
        }
        // What is in the cache is unknown now.
        self.forget_everything();
    }
}

/// The chunk for the next tick: twice or half as large when that keeps a tick nearer to its time.
fn next_chunk(chunk: usize, evaluated: usize, took: Duration) -> usize {
    if took > TICK {
        (chunk / 2).max(LEAST_CHUNK)
    } else if evaluated >= chunk && took * 2 < TICK {
        (chunk * 2).min(BATCH)
    } else {
        chunk
    }
}

/// A slot's sequence id.
fn sequence(slot: usize) -> i32 {
    i32::try_from(slot).unwrap_or(i32::MAX)
}

/// Adds a token of a sequence to a batch; false when it is full.
pub(super) fn add(batch: &mut LlamaBatch<'_>, token: i32, position: usize, slot: usize, wants_logits: bool) -> bool {
    let position = i32::try_from(position).unwrap_or(i32::MAX);
    batch
        .add(LlamaToken(token), position, &[sequence(slot)], wants_logits)
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_the_speed() {
        let fast = Duration::from_millis(20);
        let slow = Duration::from_millis(400);
        assert_eq!(next_chunk(64, 64, fast), 128);
        assert_eq!(next_chunk(64, 10, fast), 64, "a short prompt says little");
        assert_eq!(next_chunk(512, 512, fast), 512);
        assert_eq!(next_chunk(128, 128, slow), 64);
        assert_eq!(next_chunk(64, 64, slow), 64);
        assert_eq!(next_chunk(64, 64, Duration::from_millis(200)), 64);
    }
}
