//! The conversation of a candidate, read back verbatim from a run.
//!
//! Owns which turn of a phase is the target, and how messages are found in prompts of runs that do not say where they
//! stand. Must not change a byte of them.

use std::borrow::Cow;
use std::ops::Range;

use super::TuneError;
use crate::store::Reader;
use crate::types::{Author, Body, ChatRole, Digest, EpisodeNo, Message, Phase, Role, Span, StepNo, Turn, TurnNo};

/// The turn whose answer is the target of a phase, among the events of a step: LOG's last one; of PLAN the last one that
/// asked memory for something, because committing an action is not the specialist's work. Turns of a gameplay model
/// do not count.
pub fn target<'a>(events: impl Iterator<Item = &'a Body> + Clone, phase: Phase) -> Option<&'a Turn> {
    let mut found = None;
    let mut asked: Vec<TurnNo> = Vec::new();
    for body in events.clone() {
        match body {
            // What came before belongs to an attempt that was given up.
            Body::EpisodeAttempt { .. } => asked.clear(),
            Body::MemoryOp { op } if op.phase == phase && op.by == Author::Model => asked.push(op.turn),
            _ => {}
        }
    }
    for body in events {
        match body {
            Body::EpisodeAttempt { .. } => found = None,
            Body::TurnFinished { turn } if turn.phase == phase && turn.role != Role::Gameplay => {
                if phase == Phase::Log || asked.contains(&turn.turn) {
                    found = Some(&**turn);
                }
            }
            _ => {}
        }
    }
    found
}

/// Where the messages stand in a turn's prompt; `None` where that can neither be read nor found out.
pub fn spans_of(turn: &Turn) -> Option<Cow<'_, [Span]>> {
    match turn.spans.is_empty() {
        false => Some(Cow::Borrowed(&turn.spans)),
        true => spans_in(&turn.prompt).map(Cow::Owned),
    }
}

/// Where messages stand in a prompt in one of the forms that earlier programs wrote: ChatML, and the scripted players'
/// `[role]` lines. A text in which roles do not alternate is not guessed at.
pub fn spans_in(prompt: &str) -> Option<Vec<Span>> {
    let spans = if prompt.starts_with('[') {
        bracketed(prompt)
    } else {
        chat_ml(prompt)
    };
    spans.filter(|spans| alternate(spans))
}

/// `<|im_start|>role\ncontent<|im_end|>\n`, and the beginning of the answer at the end.
fn chat_ml(prompt: &str) -> Option<Vec<Span>> {
    const OPEN: &str = "<|im_start|>";
    const CLOSE: &str = "<|im_end|>";
    let mut spans = Vec::new();
    let mut at = prompt.find(OPEN)?;
    loop {
        let head = at + OPEN.len();
        let line = prompt.get(head..)?.find('\n')? + head;
        let role = role_of(prompt.get(head..line)?)?;
        let rest = prompt.get(line + 1..)?;
        match (rest.find(CLOSE), rest.find(OPEN)) {
            (None, None) => return (role == ChatRole::Assistant).then_some(spans),
            (Some(close), open) => {
                if open.is_some_and(|open| open < close) {
                    return None;
                }
                spans.push(span(role, line + 1..line + 1 + close)?);
                at = line + 1 + open?;
            }
            (None, Some(_)) => return None,
        }
    }
}

/// `[role]\ncontent\n\n`, one after the other.
fn bracketed(prompt: &str) -> Option<Vec<Span>> {
    const HEADS: [(&str, ChatRole); 3] = [
        ("[system]\n", ChatRole::System),
        ("[user]\n", ChatRole::User),
        ("[assistant]\n", ChatRole::Assistant),
    ];
    let head_at = |at: usize| {
        let rest = prompt.get(at..)?;
        HEADS.iter().find(|(head, _)| rest.starts_with(head))
    };
    let mut spans = Vec::new();
    let mut at = 0;
    while at < prompt.len() {
        let (head, role) = head_at(at)?;
        let start = at + head.len();
        let mut from = start;
        let end = loop {
            let end = prompt.get(from..)?.find("\n\n")? + from;
            if end + 2 == prompt.len() || head_at(end + 2).is_some() {
                break end;
            }
            from = end + 1;
        };
        spans.push(span(*role, start..end)?);
        at = end + 2;
    }
    Some(spans)
}

fn role_of(word: &str) -> Option<ChatRole> {
    [ChatRole::System, ChatRole::User, ChatRole::Assistant]
        .into_iter()
        .find(|role| role.word() == word)
}

fn span(role: ChatRole, range: Range<usize>) -> Option<Span> {
    Some(Span {
        role,
        start: range.start.try_into().ok()?,
        end: range.end.try_into().ok()?,
    })
}

/// System messages first, then user and assistant in turn, the user last.
fn alternate(spans: &[Span]) -> bool {
    let said = spans.iter().skip_while(|span| span.role == ChatRole::System);
    let mut wanted = ChatRole::User;
    for span in said {
        if span.role != wanted {
            return false;
        }
        wanted = match wanted {
            ChatRole::User => ChatRole::Assistant,
            _ => ChatRole::User,
        };
    }
    wanted == ChatRole::Assistant
}

/// The texts of a turn's conversation: the messages it saw, then its answer.
pub fn texts(turn: &Turn) -> Option<Vec<(ChatRole, &str)>> {
    let spans = spans_of(turn)?;
    let mut from = 0;
    let mut texts = Vec::with_capacity(spans.len() + 1);
    for span in spans.iter() {
        if span.start < std::mem::replace(&mut from, span.end) {
            return None;
        }
        texts.push((span.role, turn.prompt.get(span.start as usize..span.end as usize)?));
    }
    texts.push((ChatRole::Assistant, turn.response.as_str()));
    Some(texts)
}

/// Digest over roles and texts.
pub fn digest_of(messages: &[Message]) -> Digest {
    digest_of_texts(messages.iter().map(|message| (message.role, message.content.as_str())))
}

/// The same over borrowed texts.
pub fn digest_of_texts<'a>(texts: impl IntoIterator<Item = (ChatRole, &'a str)>) -> Digest {
    let parts = texts
        .into_iter()
        .flat_map(|(role, text)| [role.word().as_bytes(), text.as_bytes()]);
    Digest::of_parts(parts)
}

/// The conversation of a phase: what the target's model saw, message by message, and its answer.
///
/// # Errors
/// When the run cannot be read, has no such phase, or does not show its messages.
pub fn read(reader: &Reader, episode: EpisodeNo, step: StepNo, phase: Phase) -> Result<Vec<Message>, TuneError> {
    let record = reader.step(episode, step)?;
    let place = || {
        format!(
            "{}: {} of step {step} of episode {episode}",
            reader.path().display(),
            phase.word()
        )
    };
    let Some(turn) = target(record.events.iter(), phase) else {
        return Err(TuneError::data(
            format!("{} holds no answer to train on", place()),
            "list the run's candidates anew with `automem curate`",
        ));
    };
    let Some(texts) = texts(turn) else {
        return Err(TuneError::data(
            format!("{} does not show where its messages stand", place()),
            "play the run anew with this program, which writes it down",
        ));
    };
    Ok(texts.into_iter().map(|(role, text)| Message::new(role, text)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said<'a>(prompt: &'a str, spans: &[Span]) -> Vec<(ChatRole, &'a str)> {
        let said = |span: &Span| (span.role, &prompt[span.start as usize..span.end as usize]);
        spans.iter().map(said).collect()
    }

    #[test]
    fn known_renderings_are_read_back() {
        let prompt = "<s><|im_start|>system\nrules<|im_end|>\n<|im_start|>user\ngo\n<|im_end|>\n<|im_start|>assistant\n<|READ|>a<|END|><|im_end|>\n<|im_start|>user\n\n<|im_end|>\n<|im_start|>assistant\n<think>\n";
        assert_eq!(
            said(prompt, &spans_in(prompt).unwrap()),
            [
                (ChatRole::System, "rules"),
                (ChatRole::User, "go\n"),
                (ChatRole::Assistant, "<|READ|>a<|END|>"),
                (ChatRole::User, "\n")
            ]
        );
        let prompt = "[system]\nrules\n\nmore\n\n\n[user]\n[x]\n\n[a]\n\n";
        assert_eq!(
            said(prompt, &spans_in(prompt).unwrap()),
            [(ChatRole::System, "rules\n\nmore\n"), (ChatRole::User, "[x]\n\n[a]")]
        );
    }

    #[test]
    fn what_is_not_clear_is_not_guessed() {
        for prompt in [
            "",
            "You play.",
            "[user]\nhi",
            "[user]\nhi\n\n[user]\nho\n\n",
            "[system]\nrules\n\n",
            "[user]\nhi\n\n[assistant]\nho\n\n",
            "<|im_start|>user\nhi<|im_end|>\n",
            "<|im_start|>user\nhi <|im_start|>user\nho<|im_end|>\n<|im_start|>assistant\n",
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>user\nho<|im_end|>\n<|im_start|>assistant\n",
            "<|im_start|>robot\nhi<|im_end|>\n<|im_start|>assistant\n",
        ] {
            assert_eq!(spans_in(prompt), None, "{prompt}");
        }
    }

    proptest! {
        #[test]
        fn chats_in_either_form_come_back(texts in prop::collection::vec("[a-z<>| \n]{0,12}", 1..6), system in any::<bool>()) {
            let mut texts = texts;
            if texts.len() % 2 == 0 {
                texts.pop();
            }
            let mut chat: Vec<(ChatRole, String)> = texts
                .into_iter()
                .enumerate()
                .map(|(n, text)| (if n % 2 == 0 { ChatRole::User } else { ChatRole::Assistant }, text))
                .collect();
            if system {
                chat.insert(0, (ChatRole::System, "rules".into()));
            }
            let expected: Vec<(ChatRole, &str)> = chat.iter().map(|(role, text)| (*role, text.as_str())).collect();
            let mut ml: String = chat.iter().map(|(role, text)| format!("<|im_start|>{}\n{text}<|im_end|>\n", role.word())).collect();
            ml.push_str("<|im_start|>assistant\n");
            prop_assert_eq!(said(&ml, &spans_in(&ml).unwrap()), expected.clone());
            let lines: String = chat.iter().map(|(role, text)| format!("[{}]\n{text}\n\n", role.word())).collect();
            prop_assert_eq!(said(&lines, &spans_in(&lines).unwrap()), expected);
        }

        #[test]
        fn no_text_makes_it_panic(prompt in "(\\[user\\]\n|\\[system\\]\n|<\\|im_start\\|>|<\\|im_end\\|>|user\n|é|\n){0,12}") {
            if let Some(spans) = spans_in(&prompt) {
                said(&prompt, &spans);
            }
        }
    }
}
