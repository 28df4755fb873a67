//! The training set: read, made into tokens, parted.
//!
//! Owns what a conversation must be to be trained on, which are kept back, and the order of the rest. Must not load
//! weights.

use std::path::Path;

use super::super::TrainError;
use super::model::Sample;
use super::random::Random;
use crate::jobs::Cancel;
use crate::llm::LlmError;
use crate::llm::llama::ChatTokens;
use crate::tune::dataset::{self, Entry, Example};
use crate::types::{ChatRole, Digest, Message};

/// A set in tokens.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Set {
    /// To train on.
    pub(super) train: Vec<Sample>,
    /// To measure on.
    pub(super) held_out: Vec<Sample>,
    /// Left out because they do not fit.
    pub(super) too_long: u32,
}

impl Set {
    /// Tokens of the longest conversation.
    pub(super) fn longest(&self) -> usize {
        let all = self.train.iter().chain(&self.held_out);
        all.map(|sample| sample.tokens.len()).max().unwrap_or(0)
    }
}

fn unfit(path: &Path, what: impl std::fmt::Display, hint: &str) -> TrainError {
    TrainError::Unfit {
        what: format!("{}: {what}", path.display()),
        hint: hint.to_owned(),
    }
}

const FORM: &str = "a training set is a JSON list of {\"conversations\": [{\"role\": .., \"content\": ..}, ..]} \
                    that end with an answer of the assistant; `automem tune postprocess` writes one";

/// Reads a set, and takes the digest of its file. Any conversation that ends with an answer can be trained on; whether it
/// is one that the postprocess would leave is for those who certify.
///
/// # Errors
/// When it cannot be read or is of another form, with the place.
pub(super) fn read(path: &Path) -> Result<(Vec<Example>, Digest), TrainError> {
    let entries = dataset::entries(path)?;
    let mut examples = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let place = index + 1;
        let example = match entry {
            Entry::Example(example) => *example,
            Entry::Broken(why) => {
                return Err(unfit(
                    path,
                    format!("conversation {place} cannot be read ({why})"),
                    FORM,
                ));
            }
        };
        if let Some(wrong) = wrong_with(&example.conversations) {
            return Err(unfit(path, format!("conversation {place} {wrong}"), FORM));
        }
        examples.push(example);
    }
    if examples.is_empty() {
        return Err(unfit(path, "it is empty", "select and accept some examples first"));
    }
    Ok((examples, dataset::file_digest(path)?))
}

fn wrong_with(messages: &[Message]) -> Option<&'static str> {
    match messages {
        [] | [_] => Some("has no prompt with an answer"),
        [.., last] if last.role != ChatRole::Assistant => Some("does not end with an answer of the assistant"),
        [.., last] if last.content.trim().is_empty() => Some("ends with an empty answer"),
        _ => None,
    }
}

/// How a set is made into tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// Tokens of a conversation at most.
    pub(super) cutoff: usize,
    /// Share that is kept back.
    pub(super) held_out: f64,
    pub(super) seed: u64,
}

/// Makes a set into tokens. Conversations that do not fit are left out and counted: a prompt that is cut would be
/// another prompt.
///
/// # Errors
/// When the template refuses a conversation, or nothing fits.
pub(super) fn tokens(
    path: &Path,
    examples: &[Example],
    cut: Cut,
    tokenise: &dyn Fn(&[Message]) -> Result<ChatTokens, LlmError>,
    cancel: &Cancel,
) -> Result<Set, TrainError> {
    let (mut samples, mut too_long, mut shortest) = (Vec::new(), 0, usize::MAX);
    for (index, example) in examples.iter().enumerate() {
        if cancel.is_cancelled() {
            return Err(TrainError::Cancelled);
        }
        let ChatTokens { tokens, prompt } = tokenise(&example.conversations).map_err(|error| {
            unfit(
                path,
                format!("conversation {}: {error}", index + 1),
                "leave it out, or use a model with another template",
            )
        })?;
        if tokens.len() > cut.cutoff {
            shortest = shortest.min(tokens.len());
            too_long += 1;
        } else {
            samples.push(Sample { tokens, target: prompt });
        }
    }
    if samples.is_empty() {
        return Err(unfit(
            path,
            format!(
                "no conversation fits the cutoff of {} tokens; the shortest has {shortest}",
                cut.cutoff
            ),
            "raise the cutoff, or use a model with a longer context",
        ));
    }
    let held_out = kept_back(samples.len(), cut.held_out);
    let mut order: Vec<usize> = (0..samples.len()).collect();
    Random::of(cut.seed, &[0x22]).shuffle(&mut order);
    let mut back = order[..held_out].to_vec();
    back.sort_unstable();
    let (mut train, mut kept) = (Vec::new(), Vec::new());
    for (index, sample) in samples.into_iter().enumerate() {
        if back.binary_search(&index).is_ok() {
            kept.push(sample);
        } else {
            train.push(sample);
        }
    }
    Ok(Set {
        train,
        held_out: kept,
        too_long,
    })
}

/// How many are kept back: the share, at least one if any is wanted, and never all.
fn kept_back(count: usize, share: f64) -> usize {
    if share > 0.0 && count > 1 {
        ((count as f64 * share).round() as usize).clamp(1, count - 1)
    } else {
        0
    }
}

/// The order of an epoch, counted from 0.
pub(super) fn order(count: usize, seed: u64, epoch: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    Random::of(seed, &[0x33, u64::from(epoch)]).shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(words: &str) -> serde_json::Value {
        serde_json::json!({"conversations": [{"role": "user", "content": "q"}, {"role": "assistant", "content": words}]})
    }

    fn read_text(text: &str) -> Result<Vec<Example>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.json");
        std::fs::write(&path, text).unwrap();
        read(&path)
            .map(|(examples, _)| examples)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_no_set_is_refused_with_the_place() {
        for (text, said) in [
            ("", "no JSON"),
            ("{}", "no list"),
            ("[]", "empty"),
            ("[1]", "conversation 1"),
            (r#"[{"conversations": []}]"#, "no prompt"),
            (
                r#"[{"conversations": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}]"#,
                "does not end with an answer",
            ),
            (
                r#"[{"conversations": [{"role": "user", "content": "a"}, {"role": "assistant", "content": " "}]}]"#,
                "empty answer",
            ),
            (
                r#"[{"conversations": [{"role": "robot", "content": "a"}]}]"#,
                "conversation 1",
            ),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(error.contains(said) && error.contains("set.json"), "{text}: {error}");
        }
        let two = serde_json::json!([example("yes"), {"conversations": "no"}]).to_string();
        assert!(read_text(&two).unwrap_err().contains("conversation 2"));
        assert!(
            read(Path::new("/nowhere/set.json"))
                .unwrap_err()
                .to_string()
                .contains("/nowhere")
        );
    }

    fn parted(count: usize, cut: Cut) -> Result<Set, TrainError> {
        let list: Vec<_> = (0..count).map(|index| example(&"x".repeat(index + 1))).collect();
        let examples = read_text(&serde_json::json!(list).to_string()).unwrap();
        let tokenise = |messages: &[Message]| {
            let length = messages[1].content.len();
            Ok(ChatTokens {
                tokens: vec![7; length + 2],
                prompt: 2,
            })
        };
        tokens(Path::new("set.json"), &examples, cut, &tokenise, &Cancel::new())
    }

    #[test]
    fn sets_are_parted_the_same_way_every_time() {
        let cut = Cut {
            cutoff: 22,
            held_out: 0.2,
            seed: 3,
        };
        let set = parted(30, cut).unwrap();
        assert_eq!((set.train.len(), set.held_out.len(), set.too_long), (16, 4, 10));
        assert_eq!(set.longest(), 22);
        assert_eq!(parted(30, cut).unwrap(), set);
        assert_ne!(parted(30, Cut { seed: 4, ..cut }).unwrap(), set);
        assert_eq!(parted(1, cut).unwrap().held_out.len(), 0);
        assert_eq!(parted(2, Cut { held_out: 0.01, ..cut }).unwrap().held_out.len(), 1);
        assert_eq!(parted(2, Cut { held_out: 0.0, ..cut }).unwrap().held_out.len(), 0);
        let error = parted(3, Cut { cutoff: 2, ..cut }).unwrap_err().to_string();
        assert!(
            error.contains("cutoff of 2") && error.contains("shortest has 3"),
            "{error}"
        );
        assert_ne!(order(20, 1, 0), order(20, 1, 1));
        assert_eq!(order(20, 1, 1), order(20, 1, 1));
    }
}
