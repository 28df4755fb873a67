//! Which quantisation of a model to keep on this machine, decided from what was measured.
//!
//! Owns the text that models are compared on, the figures and the choice. Must not load, measure or write: that is done
//! by the back end.

use std::path::Path;

use serde::Serialize;

use super::chat::LlmError;
use super::gguf::{Header, tensor_type};

/// Quantisations that a model can be written in: those that need no importance matrix.
pub const TARGETS: [&str; 9] = [
    "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K_M", "Q5_K_M", "Q6_K", "F16",
];

/// What is tried unless asked otherwise: llama.cpp repacks the first for the processor, the second loses least.
pub const USUAL: [&str; 2] = ["Q4_0", "Q8_0"];

/// The text that models are compared on: some prose, and what an agent reads and writes.
pub const TEXT: &str = "\
The ferry left the harbour before sunrise, while the lamps along the quay were still burning. On deck an old woman \
counted the crates of apples again, because the number in her book and the number in front of her did not agree. She \
had sold fruit in the town across the bay for thirty years and had never lost a crate. At last she found it: a boy had \
taken one as a seat and fallen asleep on it. She did not wake him. When the ferry reached the other side, she gave him \
two apples and asked him to carry the rest to the market.

A note on how plants grow: a seed needs water, air and warmth. The root comes first and holds the plant in the ground; \
then the stem rises towards the light, and the first leaves open. Leaves use sunlight to turn water and a gas from the \
air into sugar. Without light the plant becomes pale and long, and after a few weeks it dies.

Step 41. You see:
- grass 1 step to your north
- tree 2 steps to your east
- water 4 steps to your south
- zombie 5 steps to your west
You face grass at your front. Your status: health: 7/9, food: 4/9, drink: 3/9, energy: 8/9. Your inventory: \
sapling: 1, wood: 3.

map.txt: the lake is south of the start; three trees stand in a row east of it; a zombie was seen in the west.
goals.txt: 1. drink before drink falls below 3. 2. collect wood until there are five. 3. place a table and make a wood \
pickaxe beside it.

Drink is low, and the water is four steps to the south, so the next thing to do is to walk south and drink. The zombie \
is still far away. After that, go back to the trees, collect two more wood and place the table. Action: Move South
";

/// Tokens a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Speed {
    /// Of prompts.
    pub prompt_tokens_per_s: f64,
    /// Of answers.
    pub decode_tokens_per_s: f64,
}

impl Speed {
    /// Seconds for what a turn of an agent usually costs: 300 new tokens of prompt, 100 of answer.
    pub fn turn_seconds(&self) -> f64 {
        300.0 / self.prompt_tokens_per_s + 100.0 / self.decode_tokens_per_s
    }
}

/// What a model expects at each place of a text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expected {
    /// The likeliest next token.
    pub best: Vec<i32>,
    /// Natural logarithm of the probability of the token that does come next.
    pub log_prob: Vec<f64>,
}

impl Expected {
    /// Adds a place: the logits there and the token that comes next, if one does.
    pub fn push(&mut self, logits: &[f32], next: Option<i32>) {
        let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        self.best
            .push(best.and_then(|(token, _)| i32::try_from(token).ok()).unwrap_or(-1));
        let Some(logit) = next.and_then(|next| logits.get(usize::try_from(next).ok()?)) else {
            return;
        };
        let most = best.map_or(0.0, |(_, most)| f64::from(*most));
        let sum: f64 = logits.iter().map(|logit| (f64::from(*logit) - most).exp()).sum();
        self.log_prob.push(f64::from(*logit) - most - sum.ln());
    }
}

/// How alike a model is to another on [`TEXT`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Alike {
    /// Places that were compared, one a token of the text.
    pub places: usize,
    /// At how many of 100 both expect the same next token.
    pub same_next_percent: f64,
    /// Mean change of the natural logarithm of the probability of the text's own next token; below 0 the text surprises
    /// the new model more.
    pub log_prob_change: f64,
}

impl Alike {
    /// Compares what two models expect of the same tokens; `None` when the tokens cannot have been the same.
    pub fn of(original: &Expected, candidate: &Expected) -> Option<Self> {
        let places = original.best.len();
        let as_long = places == candidate.best.len() && original.log_prob.len() == candidate.log_prob.len();
        if places == 0 || !as_long {
            return None;
        }
        let same = original
            .best
            .iter()
            .zip(&candidate.best)
            .filter(|(a, b)| a == b)
            .count();
        let changes = original.log_prob.iter().zip(&candidate.log_prob).map(|(a, b)| b - a);
        Some(Self {
            places,
            same_next_percent: same as f64 * 100.0 / places as f64,
            log_prob_change: changes.sum::<f64>() / original.log_prob.len().max(1) as f64,
        })
    }
}

/// A quantisation that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// Its quantisation.
    pub quantisation: String,
    /// Bytes of its file.
    pub bytes: u64,
    /// Its speed.
    #[serde(flatten)]
    pub speed: Speed,
    /// The original's speed, measured in turn with it.
    pub original: Speed,
    /// What it loses.
    #[serde(flatten)]
    pub alike: Alike,
}

impl Candidate {
    /// Whether a turn takes less time than with the original.
    pub fn is_faster(&self) -> bool {
        self.speed.turn_seconds() < self.original.turn_seconds()
    }

    /// How much of the original's time a turn takes, so that candidates that were measured at other times compare.
    fn share(&self) -> f64 {
        self.speed.turn_seconds() / self.original.turn_seconds()
    }
}

/// Which candidates to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The one that needs the least time for a turn.
    Fastest,
    /// The one that expects the original's next token most often.
    MostAlike,
    /// Both of these.
    Both,
}

/// The places of the candidates to keep. Those that are not faster than the original are left out: they gain nothing.
pub fn choose(candidates: &[Candidate], keep: Keep) -> Vec<usize> {
    let faster = || {
        candidates
            .iter()
            .enumerate()
            .filter(|(_, candidate)| candidate.is_faster())
    };
    let by_share = |a: &Candidate, b: &Candidate| a.share().total_cmp(&b.share());
    let fastest = faster().min_by(|a, b| by_share(a.1, b.1)).map(|(at, _)| at);
    let most_alike = faster()
        .min_by(|(_, a), (_, b)| {
            let percent = b.alike.same_next_percent.total_cmp(&a.alike.same_next_percent);
            percent.then_with(|| by_share(a, b))
        })
        .map(|(at, _)| at);
    let mut chosen: Vec<usize> = match keep {
        Keep::Fastest => fastest.into_iter().collect(),
        Keep::MostAlike => most_alike.into_iter().collect(),
        Keep::Both => fastest.into_iter().chain(most_alike).collect(),
    };
    chosen.dedup();
    chosen
}

/// The quantisations to try, checked: known, none twice, none the model is in already.
///
/// # Errors
/// What is wrong and what to do, for people.
pub fn targets(current: &str, asked: &[String]) -> Result<Vec<String>, String> {
    if asked.is_empty() {
        return Ok(USUAL
            .iter()
            .filter(|kind| **kind != current)
            .map(|kind| (*kind).to_owned())
            .collect());
    }
    let mut targets: Vec<String> = Vec::new();
    for kind in asked.iter().map(|kind| kind.trim().to_uppercase()) {
        if !TARGETS.contains(&kind.as_str()) {
            return Err(format!(
                "`{kind}` is no quantisation it can be written in; choose of {}",
                TARGETS.join(", ")
            ));
        }
        if kind == current {
            return Err(format!("it is in {kind} already; choose another with --to"));
        }
        if !targets.contains(&kind) {
            targets.push(kind);
        }
    }
    Ok(targets)
}

/// Whether writing it again quantises what has been quantised, so that the losses add up.
pub fn adds_to_loss(current: &str) -> bool {
    !matches!(current, "F32" | "F16" | "BF16")
}

/// Bytes that a model will have in another quantisation, about, and rather too many.
pub fn bytes_in(header: &Header, kind: &str) -> u64 {
    let bits = |name: &str| {
        let name = name.trim_end_matches("_M");
        let found = (0..64).filter_map(tensor_type).find(|kind| kind.name == name);
        found.map_or(16.0, |kind| kind.bytes as f64 * 8.0 / kind.block as f64)
    };
    // Mixed quantisations keep some tensors finer, and the tables of tokens never go below Q6_K.
    let (mixed, table) = (if kind.ends_with("_M") { 1.15 } else { 1.0 }, bits("Q6_K"));
    let sum: f64 = header
        .tensors
        .iter()
        .map(|tensor| {
            let bits = match tensor.dims.len() {
                0 | 1 => 32.0,
                _ if matches!(tensor.name.as_str(), "token_embd.weight" | "output.weight") => bits(kind).max(table),
                _ => bits(kind) * mixed,
            };
            tensor.elements() as f64 * bits / 8.0
        })
        .sum();
    header.data_start + (sum * 1.02) as u64
}

/// Refuses a file for which a folder has no room.
///
/// # Errors
/// [`LlmError::File`] with both figures.
pub fn check_room(folder: &Path, needed: u64) -> Result<(), LlmError> {
    match free_bytes(folder) {
        Some(free) if free < needed => Err(LlmError::File {
            path: folder.display().to_string(),
            cause: format!(
                "about {} MB are needed and {} MB are free",
                needed.div_ceil(1_000_000),
                free / 1_000_000
            ),
            hint: "make room on that disk, or keep models elsewhere (AUTOMEM_HOME)".to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Bytes that are free for us where a folder lies; `None` where the system does not tell.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let told = rustix::fs::statvfs(folder).ok()?;
    Some(told.f_bavail.saturating_mul(told.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests;
