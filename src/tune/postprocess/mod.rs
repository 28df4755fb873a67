//! The postprocess: what of a conversation is trained on. Fixed and deterministic.
//!
//! In all of the assistant's messages, code fences around tags are unwrapped. In the last one, the target: LOG is cut
//! after DONE, PLAN before its action; text after the last memory operation is cut. A conversation whose target holds
//! no operation then (DONE of a LOG phase counts as one), nothing but an action, or in which a fence is left, is
//! dropped. What is kept is byte-equal to the trace apart from these cuts.
//!
//! Owns the rules and their counts. Must not read runs or change the text in any other way.

mod edit;
mod fences;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::edit::Editing;
pub use self::vocabulary::vocabulary;
use crate::protocol::{Item, OpSyntax, parse};
use crate::types::{ChatRole, Message, Phase};

/// Why bytes are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// They are a code fence around tags.
    Fence,
    /// They follow DONE.
    AfterDone,
    /// They are PLAN's action, or follow it.
    Action,
    /// They follow the last operation.
    Tail,
}

impl Why {
    /// The word in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fence => "fence",
            Self::AfterDone => "after done",
            Self::Action => "action",
            Self::Tail => "tail",
        }
    }

    /// The same for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Fence => "a code fence around tags",
            Self::AfterDone => "after DONE",
            Self::Action => "the action and what follows",
            Self::Tail => "after the last operation",
        }
    }
}

/// Bytes that are cut from a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The message, from 0.
    pub message: usize,
    /// First byte, in the message as it was recorded.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// Why.
    pub why: Why,
}

/// A conversation that can be trained on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned {
    /// As it is trained on.
    pub conversation: Vec<Message>,
    /// What was cut, in order; no two overlap.
    pub cuts: Vec<Cut>,
}

/// Why a conversation is not trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dropped {
    /// It is no conversation that ends with an answer.
    Invalid,
    /// Its target holds an action and no memory operation.
    ActionOnly,
    /// Its target holds no memory operation.
    NoMemoryOp,
    /// A LOG phase's target commits an action.
    ActionInLog,
    /// A code fence is left.
    Fence,
}

impl Dropped {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::ActionOnly => "action_only",
            Self::NoMemoryOp => "no_memory_op",
            Self::ActionInLog => "action_in_log",
            Self::Fence => "fence",
        }
    }

    /// The same for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Invalid => "it is no conversation that ends with an answer",
            Self::ActionOnly => "its answer holds an action and no memory operation",
            Self::NoMemoryOp => "its answer holds no memory operation",
            Self::ActionInLog => "its answer commits an action in LOG",
            Self::Fence => "a code fence is left in an answer",
        }
    }
}

/// What is wrong with a conversation that is to be trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// It is no conversation that ends with an answer.
    Invalid,
    /// The last answer has no memory operation.
    NoMemoryOp,
    /// The last answer has an action.
    Action,
    /// An answer has a code fence.
    Fence,
    /// Text follows the last operation of the last answer.
    Tail,
}

impl Violation {
    /// In words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Invalid => "it is no conversation of known roles that ends with an answer",
            Self::NoMemoryOp => "the last answer has no memory operation",
            Self::Action => "the last answer has an action",
            Self::Fence => "an answer holds a code fence",
            Self::Tail => "text follows the last operation of the last answer",
        }
    }
}

/// Counts of a whole set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Conversations that came in.
    pub raw: u32,
    /// Of those, conversations at all: known roles, the last one an answer.
    pub valid: u32,
    /// Conversations that came out.
    pub output: u32,
    /// Of those, with something wrong; 0 unless this program has a defect.
    pub violations: u32,
    /// Those that were dropped, by reason.
    pub dropped: BTreeMap<String, u32>,
}

impl Report {
    /// Counts a conversation and hands on what came out.
    pub fn count(&mut self, cleaned: Result<Cleaned, Dropped>) -> Option<Cleaned> {
        self.raw += 1;
        match cleaned {
            Ok(cleaned) => {
                self.valid += 1;
                self.output += 1;
                self.violations += u32::from(!certify(&cleaned.conversation).is_empty());
                Some(cleaned)
            }
            Err(why) => {
                self.valid += u32::from(why != Dropped::Invalid);
                *self.dropped.entry(why.word().to_owned()).or_default() += 1;
                None
            }
        }
    }
}

/// Whether it is a conversation whose last message answers one of the user's.
fn is_conversation(messages: &[Message]) -> bool {
    let asked = messages.iter().any(|message| message.role == ChatRole::User);
    asked
        && messages
            .last()
            .is_some_and(|last| last.role == ChatRole::Assistant && !last.content.trim().is_empty())
}

/// The phase that a conversation is of, by its last answer: one that is over with DONE before any action is LOG's.
pub fn phase_of(messages: &[Message]) -> Phase {
    let last = messages.last().map_or("", |message| message.content.as_str());
    let parsed = parse(last, &vocabulary(messages));
    let first = parsed.items.iter().find(|item| !matches!(item, Item::Op { .. }));
    match first {
        Some(Item::Done { .. }) => Phase::Log,
        _ => Phase::Plan,
    }
}

/// Cleans a conversation.
///
/// # Errors
/// Why it is not trained on.
pub fn clean(phase: Phase, messages: &[Message]) -> Result<Cleaned, Dropped> {
    if !is_conversation(messages) {
        return Err(Dropped::Invalid);
    }
    let vocabulary = vocabulary(messages);
    let mut texts: Vec<Editing<'_>> = messages.iter().map(|message| Editing::new(&message.content)).collect();
    // A cut can bring about what another rule is about; every round cuts something, so this ends.
    loop {
        let mut cut = false;
        for (message, text) in messages.iter().zip(&mut texts) {
            if message.role == ChatRole::Assistant {
                cut |= fences::unwrap(text, &vocabulary);
            }
        }
        if let Some(target) = texts.last_mut() {
            cut |= trim(phase, target, &vocabulary)?;
        }
        if !cut {
            break;
        }
    }
    let cuts = texts
        .iter()
        .enumerate()
        .flat_map(|(message, text)| text.cuts(message))
        .collect();
    let conversation: Vec<Message> = messages
        .iter()
        .zip(texts)
        .map(|(message, text)| Message::new(message.role, text.into_text()))
        .collect();
    match certify(&conversation).first() {
        None => Ok(Cleaned { conversation, cuts }),
        Some(Violation::Fence) => Err(Dropped::Fence),
        Some(Violation::Action) => Err(Dropped::ActionInLog),
        Some(Violation::NoMemoryOp | Violation::Tail) => Err(Dropped::NoMemoryOp),
        Some(Violation::Invalid) => Err(Dropped::Invalid),
    }
}

/// Cuts what does not belong to the target; true when something was.
fn trim(phase: Phase, text: &mut Editing<'_>, vocabulary: &[OpSyntax]) -> Result<bool, Dropped> {
    let items = parse(text.text(), vocabulary).items;
    let length = text.text().len();
    let acts = items.iter().any(|item| matches!(item, Item::Action { .. }));
    let stop = match phase {
        Phase::Log => items.iter().find_map(|item| match item {
            Item::Done { span } => Some((span.end, Why::AfterDone)),
            _ => None,
        }),
        Phase::Plan => items.iter().find_map(|item| match item {
            Item::Action { span, .. } => Some((span.start, Why::Action)),
            _ => None,
        }),
    };
    let (end, why) = stop.unwrap_or((length, Why::Tail));
    let counts = |item: &&Item| match item {
        Item::Op { .. } => true,
        Item::Done { .. } => phase == Phase::Log,
        Item::Action { .. } => false,
    };
    let kept = items.iter().filter(counts).filter(|item| item.span().end <= end);
    let Some(last) = kept.map(|item| item.span().end).max() else {
        let asks = items.iter().any(|item| matches!(item, Item::Op { .. }));
        return Err(match acts && !asks {
            true => Dropped::ActionOnly,
            false => Dropped::NoMemoryOp,
        });
    };
    if last == length {
        return Ok(false);
    }
    text.cut(end..length, why);
    text.cut(last..end, Why::Tail);
    Ok(true)
}

/// What is wrong with a conversation that is to be trained on; empty when all is well.
pub fn certify(messages: &[Message]) -> Vec<Violation> {
    if !is_conversation(messages) {
        return vec![Violation::Invalid];
    }
    let mut wrong = Vec::new();
    let answers = || messages.iter().filter(|message| message.role == ChatRole::Assistant);
    let last = answers().next_back().map_or("", |message| message.content.as_str());
    let items = parse(last, &vocabulary(messages)).items;
    let acts = items.iter().any(|item| matches!(item, Item::Action { .. }));
    if acts {
        wrong.push(Violation::Action);
    }
    if answers().any(|message| message.content.contains(fences::FENCE)) {
        wrong.push(Violation::Fence);
    }
    let done = items.iter().filter(|item| !matches!(item, Item::Action { .. }));
    match done.map(|item| item.span().end).max() {
        None => wrong.push(Violation::NoMemoryOp),
        Some(end) if !acts && last.get(end..).is_some_and(|tail| !tail.trim().is_empty()) => {
            wrong.push(Violation::Tail);
        }
        Some(_) => {}
    }
    wrong
}

/// What cuts leave of a text.
pub fn apply(text: &str, cuts: &[Cut]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for cut in cuts {
        out.push_str(text.get(at..cut.start).unwrap_or_default());
        at = at.max(cut.end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
