//! What is counted, and what metrics make of the counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Defines the counts once: the struct and how two are added.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts over finished steps. Counts of several episodes add up.
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        pub(super) struct Tally {
            $($(#[$doc])* pub(super) $name: f64,)*
        }

        impl std::ops::AddAssign for Tally {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counts! {
    steps,
    /// Steps whose action can be judged: the world showed what came of it, and the agent was awake.
    judged,
    stuck,
    oscillating,
    invalid,
    rejected,
    writes,
    log_writes,
    redundant_writes,
    chars_written,
    retrievals,
    empty_retrievals,
    searches,
    empty_searches,
    failed_ops,
    ops,
    calls,
    call_ms,
    step_ms,
    prompt_tokens,
    cached_tokens,
    completion_tokens,
    prompt_bytes,
    memory_bytes,
    used_bytes,
    overflows,
    lines_written,
    lines_read,
    facts,
    unsupported_facts,
    /// Steps whose PLAN was shown a line the model wrote in an earlier step.
    informed,
    /// Of those, the ones that can be judged, and that were unproductive.
    informed_judged,
    informed_unproductive,
    reward_after_informed,
    reward_after_others,
}

/// Counts of one memory file.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct FileTally {
    pub(super) episodes: f64,
    pub(super) start_bytes: f64,
    pub(super) bytes: f64,
    pub(super) lines: f64,
    pub(super) writes: f64,
    pub(super) redundant_writes: f64,
    pub(super) chars_written: f64,
    pub(super) retrievals: f64,
    pub(super) empty_retrievals: f64,
    pub(super) whole_reads: f64,
}

impl std::ops::AddAssign for FileTally {
    fn add_assign(&mut self, other: Self) {
        self.episodes += other.episodes;
        self.start_bytes += other.start_bytes;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.writes += other.writes;
        self.redundant_writes += other.redundant_writes;
        self.chars_written += other.chars_written;
        self.retrievals += other.retrievals;
        self.empty_retrievals += other.empty_retrievals;
        self.whole_reads += other.whole_reads;
    }
}

/// All that metrics are made of, for one episode or several.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Totals {
    pub(super) tally: Tally,
    pub(super) files: BTreeMap<String, FileTally>,
    pub(super) episodes: f64,
    /// Sums over episodes.
    pub(super) progression: f64,
    pub(super) reward: f64,
    pub(super) storage: f64,
}

/// Steps after a read over which reward is summed, the step of the read included.
pub const REWARD_STEPS: usize = 10;

/// What an agent did with its steps and its memory, in numbers. `docs/METRICS.md` defines each; rates are
/// shares from 0 to 1, and `None` where there was nothing to take the share of. Only finished steps count.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Metrics {
    /// Finished steps.
    pub steps: u64,
    /// The field's score, 0 to 1, at the end; the mean over episodes.
    pub progression: f64,
    /// Sum of rewards; the mean over episodes.
    #[serde(rename = "return")]
    pub total_return: f64,
    /// Actions that left the observation as it was or undid the move before.
    pub unproductive_rate: Option<f64>,
    /// Of all judged actions, those that left the observation as it was.
    pub stuck_rate: Option<f64>,
    /// Of all judged actions, those that undid the move before.
    pub oscillating_rate: Option<f64>,
    /// Steps in which the fallback was played for want of a valid action.
    pub invalid_action_rate: Option<f64>,
    /// Steps in which the scaffold's gate sent an action back.
    pub rejected_action_rate: Option<f64>,
    /// Writes of the model that told memory nothing new.
    pub redundant_write_rate: Option<f64>,
    /// The same for each step.
    pub redundant_writes_per_step: Option<f64>,
    /// Writes of the model for each step.
    pub writes_per_step: Option<f64>,
    /// Characters the model wrote into memory for each step.
    pub chars_written_per_step: Option<f64>,
    /// Writes in LOG for each SEARCH.
    pub writes_per_search: Option<f64>,
    /// Writes in LOG for each retrieval of any kind.
    pub writes_per_retrieval: Option<f64>,
    /// Retrievals for each step.
    pub retrievals_per_step: Option<f64>,
    /// Retrievals that found nothing.
    pub empty_retrieval_rate: Option<f64>,
    /// How many those were.
    pub empty_retrievals: u64,
    /// SEARCHes that found nothing.
    pub empty_search_rate: Option<f64>,
    /// Retrievals that found something.
    pub hit_rate: Option<f64>,
    /// Operations of the model that were refused, malformed or failed.
    pub failed_op_rate: Option<f64>,
    /// Lines the model wrote that a later step's prompt showed it.
    pub written_line_read_rate: Option<f64>,
    /// Steps whose PLAN was shown a line the model wrote in an earlier step.
    pub informed_step_rate: Option<f64>,
    /// Unproductive actions among those of such steps.
    pub unproductive_after_read_rate: Option<f64>,
    /// Mean reward over ten steps from such a step on.
    pub reward_after_read: Option<f64>,
    /// The same from every other step on.
    pub reward_after_no_read: Option<f64>,
    /// Share of the prompts' bytes that are lines of memory.
    pub memory_context_share: Option<f64>,
    /// Share of the prompts' bytes that are lines of memory which the answer used.
    pub context_efficiency: Option<f64>,
    /// Facts the model wrote that name something no observation had shown.
    pub unsupported_fact_rate: Option<f64>,
    /// Prompt tokens for each step.
    pub prompt_tokens_per_step: Option<f64>,
    /// Of those, taken from the KV cache.
    pub cached_tokens_per_step: Option<f64>,
    /// Answer tokens for each step.
    pub completion_tokens_per_step: Option<f64>,
    /// Model calls for each step.
    pub calls_per_step: Option<f64>,
    /// Prompts that did not fit the context.
    pub context_overflows: u64,
    /// Milliseconds of a step.
    pub ms_per_step: Option<f64>,
    /// Milliseconds of a model call.
    pub ms_per_call: Option<f64>,
    /// Bytes of all memory files at the end; the mean over episodes.
    pub memory_bytes: f64,
    /// Bytes that memory grew by for each step.
    pub memory_growth_per_step: Option<f64>,
    /// Memory files, by path.
    pub files: Vec<FileMetrics>,
}

/// One memory file in numbers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FileMetrics {
    /// Its path.
    pub path: String,
    /// Bytes at the end; the mean over episodes that had it.
    pub bytes: f64,
    /// Lines at the end that are not blank; the mean likewise.
    pub lines: f64,
    /// Bytes it grew by for each step.
    pub growth_per_step: Option<f64>,
    /// Writes of the model.
    pub writes: u64,
    /// Of those, the redundant ones.
    pub redundant_writes: u64,
    /// Characters the model wrote into it for each step.
    pub chars_written_per_step: Option<f64>,
    /// Retrievals that named it.
    pub retrievals: u64,
    /// Of those, the ones that found nothing.
    pub empty_retrievals: u64,
    /// Of those, the ones that showed all of it.
    pub whole_reads: u64,
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

impl Totals {
    /// Adds another episode's.
    pub(super) fn add(&mut self, other: &Self) {
        self.tally += other.tally;
        for (path, file) in &other.files {
            *self.files.entry(path.clone()).or_default() += *file;
        }
        self.episodes += other.episodes;
        self.progression += other.progression;
        self.reward += other.reward;
        self.storage += other.storage;
    }

    pub(super) fn metrics(&self) -> Metrics {
        let t = &self.tally;
        let per_step = |count| share(count, t.steps);
        let mean = |sum| share(sum, self.episodes).unwrap_or(0.0);
        let grown: f64 = self.files.values().map(|file| file.bytes - file.start_bytes).sum();
        Metrics {
            steps: t.steps as u64,
            progression: mean(self.progression),
            total_return: mean(self.reward),
            unproductive_rate: share(t.stuck + t.oscillating, t.judged),
            stuck_rate: share(t.stuck, t.judged),
            oscillating_rate: share(t.oscillating, t.judged),
            invalid_action_rate: per_step(t.invalid),
            rejected_action_rate: per_step(t.rejected),
            redundant_write_rate: share(t.redundant_writes, t.writes),
            redundant_writes_per_step: per_step(t.redundant_writes),
            writes_per_step: per_step(t.writes),
            chars_written_per_step: per_step(t.chars_written),
            writes_per_search: share(t.log_writes, t.searches),
            writes_per_retrieval: share(t.log_writes, t.retrievals),
            retrievals_per_step: per_step(t.retrievals),
            empty_retrieval_rate: share(t.empty_retrievals, t.retrievals),
            empty_retrievals: t.empty_retrievals as u64,
            empty_search_rate: share(t.empty_searches, t.searches),
            hit_rate: share(t.retrievals - t.empty_retrievals, t.retrievals),
            failed_op_rate: share(t.failed_ops, t.ops),
            written_line_read_rate: share(t.lines_read, t.lines_written),
            informed_step_rate: per_step(t.informed),
            unproductive_after_read_rate: share(t.informed_unproductive, t.informed_judged),
            reward_after_read: share(t.reward_after_informed, t.informed),
            reward_after_no_read: share(t.reward_after_others, t.steps - t.informed),
            memory_context_share: share(t.memory_bytes, t.prompt_bytes),
            context_efficiency: share(t.used_bytes, t.prompt_bytes),
            unsupported_fact_rate: share(t.unsupported_facts, t.facts),
            prompt_tokens_per_step: per_step(t.prompt_tokens),
            cached_tokens_per_step: per_step(t.cached_tokens),
            completion_tokens_per_step: per_step(t.completion_tokens),
            calls_per_step: per_step(t.calls),
            context_overflows: t.overflows as u64,
            ms_per_step: per_step(t.step_ms),
            ms_per_call: share(t.call_ms, t.calls),
            memory_bytes: mean(self.storage),
            memory_growth_per_step: per_step(grown),
            files: self
                .files
                .iter()
                .map(|(path, file)| FileMetrics {
                    path: path.clone(),
                    bytes: share(file.bytes, file.episodes).unwrap_or(0.0),
                    lines: share(file.lines, file.episodes).unwrap_or(0.0),
                    growth_per_step: per_step(file.bytes - file.start_bytes),
                    writes: file.writes as u64,
                    redundant_writes: file.redundant_writes as u64,
                    chars_written_per_step: per_step(file.chars_written),
                    retrievals: file.retrievals as u64,
                    empty_retrievals: file.empty_retrievals as u64,
                    whole_reads: file.whole_reads as u64,
                })
                .collect(),
        }
    }
}
