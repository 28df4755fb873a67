//! One answer in progress inside the engine.
//!
//! Owns how far a job is: its prompt, its draw, its grammar, its text. Must not evaluate.

use std::time::Instant;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel as Weights;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

use super::engine::{Finished, Job, Reply, failed, ms};
use super::runner;
use crate::llm::chat::LlmError;
use crate::llm::decoding::draw::{Draw, Mask};
use crate::llm::decoding::stream::TextStream;
use crate::types::StopReason;

pub(super) struct Answer {
    job: Job,
    slot: usize,
    cached: usize,
    /// Prompt tokens in the cache.
    done: usize,
    /// Tokens in the cache, drawn ones included: the next position.
    position: usize,
    /// The drawn token that is to be evaluated next.
    next: Option<i32>,
    /// What is in the batch now.
    put: Vec<i32>,
    /// Where the batch's logits for this answer are.
    logits_at: Option<i32>,
    draw: Draw,
    grammar: Option<Grammar>,
    text: TextStream,
    drawn: u32,
    began: Instant,
    first: Option<Instant>,
    stop: StopReason,
    /// The drawn tokens, and how much likelier each was than the next best.
    #[cfg(test)]
    margins: Vec<(i32, f32)>,
}

impl Answer {
    /// Begins a job in a slot whose cache has been prepared. When it cannot begin, that has been told already.
    pub(super) fn new(mut job: Job, weights: &Weights, slot: usize, cached: usize) -> Result<Self, ()> {
        let grammar = match job.grammar.take() {
            None => None,
            Some(text) => match Grammar::new(weights, &text) {
                Ok(grammar) => Some(grammar),
                Err(error) => {
                    let _ = job.reply.send(Reply::Failed(error));
                    return Err(());
                }
            },
        };
        let answer = Self {
            draw: Draw::new(&job.sampling),
            text: TextStream::new(std::mem::take(&mut job.stops)),
            job,
            slot,
            cached,
            done: cached,
            position: cached,
            next: None,
            put: Vec::new(),
            logits_at: None,
            grammar,
            drawn: 0,
            began: Instant::now(),
            first: None,
            stop: StopReason::End,
            #[cfg(test)]
            margins: Vec::new(),
        };
        answer.tell_progress();
        Ok(answer)
    }

    pub(super) fn slot(&self) -> usize {
        self.slot
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.job.cancel.is_cancelled()
    }

    /// Whether the prompt is through and a drawn token waits.
    pub(super) fn is_writing(&self) -> bool {
        self.next.is_some()
    }

    /// Puts up to `most` tokens into the batch; gives back how many.
    pub(super) fn put(&mut self, batch: &mut LlamaBatch<'_>, most: usize) -> usize {
        self.put.clear();
        self.logits_at = None;
        if let Some(token) = self.next {
            self.put.push(token);
        } else {
            let end = self.job.tokens.len().min(self.done + most);
            self.put.extend_from_slice(&self.job.tokens[self.done..end]);
        }
        let last_of_all = self.next.is_some() || self.done + self.put.len() == self.job.tokens.len();
        for (index, token) in self.put.iter().enumerate() {
            let wants_logits = last_of_all && index + 1 == self.put.len();
            let at = batch.n_tokens();
            if !runner::add(batch, *token, self.position + index, self.slot, wants_logits) {
                // The batch is as large as what is put into it, so this does not happen; if it did, the rest would wait.
                self.put.truncate(index);
                break;
            }
            if wants_logits {
                self.logits_at = Some(at);
            }
        }
        self.put.len()
    }

    /// The batch has been evaluated: what of it was this answer's.
    pub(super) fn evaluated(&mut self) -> Vec<i32> {
        let put = std::mem::take(&mut self.put);
        self.position += put.len();
        if self.next.is_none() && !put.is_empty() {
            self.done += put.len();
            self.tell_progress();
        }
        put
    }

    /// Draws the next token if the batch gave logits for one; says whether the answer is over.
    pub(super) fn draw(&mut self, context: &LlamaContext<'_>, weights: &Weights) -> bool {
        let Some(at) = self.logits_at.take() else {
            return false;
        };
        let logits = context.get_logits_ith(at);
        let mask = self.grammar.as_mut().map(|grammar| grammar as &mut dyn Mask);
        let Some(token) = self.draw.pick(logits, mask) else {
            // The grammar is at its end in a vocabulary without an end-of-turn token.
            self.stop = StopReason::End;
            return true;
        };
        self.first.get_or_insert_with(Instant::now);
        #[cfg(test)]
        self.margins
            .push((i32::try_from(token).unwrap_or(-1), super::tests::margin(logits)));
        self.drawn += 1;
        let token = LlamaToken(i32::try_from(token).unwrap_or(i32::MAX));
        let vocab = weights.vocab();
        if vocab.is_eog(token) && !self.job.endless {
            self.stop = StopReason::End;
            return true;
        }
        if let Some(grammar) = &mut self.grammar
            && !grammar.accept(token)
        {
            // It was allowed a moment ago; without its state the rest cannot be constrained.
            self.stop = StopReason::Stop;
            return true;
        }
        // Control tokens are shown as their text: the record keeps what was drawn, and it goes back in as plain text.
        let bytes = vocab.token_to_piece(token, true, None);
        let new = self.text.push(&bytes);
        if !new.is_empty() && self.job.reply.send(Reply::Text(new.to_owned())).is_err() {
            // Whoever asked is gone without having cancelled (it panicked): nobody needs the rest.
            self.stop = StopReason::Cancelled;
            return true;
        }
        if self.text.stopped() {
            self.stop = StopReason::Stop;
            return true;
        }
        if self.drawn >= self.job.sampling.max_tokens {
            self.stop = StopReason::Length;
            return true;
        }
        self.next = Some(token.0);
        false
    }

    /// Tells that the answer is over.
    pub(super) fn tell_end(mut self) {
        let rest = self.text.finish();
        if !rest.is_empty() {
            let _ = self.job.reply.send(Reply::Text(rest.to_owned()));
        }
        let now = Instant::now();
        let first = self.first.unwrap_or(now);
        let _ = self.job.reply.send(Reply::Done(Finished {
            text: self.text.into_text(),
            cached: count(self.cached),
            completion: self.drawn,
            prompt_ms: ms(self.began, first),
            decode_ms: ms(first, now),
            stop: self.stop,
            #[cfg(test)]
            margins: self.margins,
        }));
    }

    /// Tells that the answer failed.
    pub(super) fn fail(&self, error: LlmError) {
        let _ = self.job.reply.send(Reply::Failed(error));
    }

    fn tell_progress(&self) {
        let _ = self.job.reply.send(Reply::Prompt {
            done: count(self.done),
            total: count(self.job.tokens.len()),
            cached: count(self.cached),
        });
    }
}

/// A count as it is reported.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A grammar as it stands after the tokens so far.
struct Grammar(LlamaSampler);

impl Grammar {
    fn new(weights: &Weights, text: &str) -> Result<Self, LlmError> {
        LlamaSampler::grammar(weights, text, "root")
            .map(Self)
            .map_err(|error| failed(format!("it does not accept the grammar ({error})"), false))
    }

    /// Goes on by one allowed token. Never to be called with an end-of-turn token.
    fn accept(&mut self, token: LlamaToken) -> bool {
        self.0.try_accept(token).is_ok()
    }
}

impl Mask for Grammar {
    fn allowed(&mut self, tokens: &[u32]) -> Vec<bool> {
        let data = tokens
            .iter()
            .map(|token| LlamaTokenData::new(LlamaToken(i32::try_from(*token).unwrap_or(i32::MAX)), 0.0, 0.0))
            .collect();
        let mut array = LlamaTokenDataArray::new(data, false);
        array.apply_sampler(&mut self.0);
        array.data.iter().map(|data| data.logit().is_finite()).collect()
    }
}
