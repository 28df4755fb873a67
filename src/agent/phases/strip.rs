//! What the gameplay model is shown of a specialist's answer: everything but actions.

use std::ops::Range;

use crate::protocol::{self, Item, OpSyntax, ProblemKind};

/// How often a text is looked through: what is taken away may bring together what becomes an action.
const ROUNDS: usize = 8;

/// The text without its actions, trimmed: tags, `ACTION:` lines, and opening tags without an end together with the rest of
/// their line. Code fences that are left with nothing inside go too. Empty when nothing else was said.
pub fn without_actions(text: &str, vocabulary: &[OpSyntax]) -> String {
    let mut text = text.to_owned();
    for _ in 0..ROUNDS {
        let spans = action_spans(&text, vocabulary);
        if spans.is_empty() {
            return without_empty_fences(&text).trim().to_owned();
        }
        for span in spans.into_iter().rev() {
            text.replace_range(span, "");
        }
    }
    String::new()
}

/// Where actions stand, in order, without overlap.
fn action_spans(text: &str, vocabulary: &[OpSyntax]) -> Vec<Range<usize>> {
    let parsed = protocol::parse(text, vocabulary);
    let actions = parsed.items.iter().filter_map(|item| match item {
        Item::Action { span, .. } => Some(span.clone()),
        _ => None,
    });
    let unclosed = parsed
        .problems
        .iter()
        .filter(|problem| problem.kind == ProblemKind::UnclosedTag)
        .filter_map(|problem| {
            let broken = text.get(problem.span.clone())?;
            let name = broken.trim_start_matches(['<', '|', ' ']);
            let is_action = name
                .get(..ACTION.len())
                .is_some_and(|name| name.eq_ignore_ascii_case(ACTION));
            let end = broken.find('\n').unwrap_or(broken.len());
            is_action.then(|| problem.span.start..problem.span.start + end)
        });
    let mut spans: Vec<Range<usize>> = actions.chain(unclosed).filter(|span| !span.is_empty()).collect();
    spans.sort_by_key(|span| span.start);
    let mut end = 0;
    spans.retain(|span| {
        let apart = span.start >= end;
        end = end.max(span.end);
        apart
    });
    spans
}

const ACTION: &str = "ACTION";

/// The text without pairs of fences that hold only blanks.
fn without_empty_fences(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    let mut kept: Vec<&str> = Vec::with_capacity(lines.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if is_fence(line) {
            let blank = lines[at + 1..].iter().take_while(|line| line.trim().is_empty()).count();
            let closes = lines.get(at + 1 + blank).is_some_and(|line| line.trim() == "```");
            // A fence that closes another one is no opening: an even number of them stands before this one.
            let opens = kept.iter().filter(|line| is_fence(line)).count() % 2 == 0;
            if closes && opens {
                at += blank + 2;
                continue;
            }
        }
        kept.push(line);
        at += 1;
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VOCABULARY: &[OpSyntax] = &[OpSyntax {
        name: "SEARCH",
        aliases: &[],
        args: &["file", "text"],
        rest: true,
    }];

    #[test]
    fn actions_go_and_the_rest_stays() {
        let search = "<|SEARCH|>notes.txt|water<|END|>";
        let table: &[(&str, String, String)] = &[
            (
                "last",
                format!("Look.\n{search}\n<|ACTION|>Do<|END|>"),
                format!("Look.\n{search}"),
            ),
            ("first", format!("<|ACTION|>Do<|END|>\n{search}"), search.to_owned()),
            (
                "middle",
                format!("{search} <|ACTION|>Do<|END|> and more"),
                format!("{search}  and more"),
            ),
            (
                "several",
                "a <|ACTION|>Do<|END|> b <|ACTION|>Noop<|END|> c".to_owned(),
                "a  b  c".to_owned(),
            ),
            ("alone", " <|ACTION|>Move West<|END|> ".to_owned(), String::new()),
            ("half an end", "so <|ACTION|>Do<|END|}".to_owned(), "so".to_owned()),
            ("lower case", "<action>Do</action> yes".to_owned(), "yes".to_owned()),
            (
                "a line",
                "I go.\nACTION: Move West\nBye".to_owned(),
                "I go.\n\nBye".to_owned(),
            ),
            (
                "a line beside a tag",
                "ACTION: Noop\n<|ACTION|>Do<|END|>".to_owned(),
                String::new(),
            ),
            (
                "without an end",
                format!("{search}\n<|ACTION|>Move West\nbecause"),
                format!("{search}\n\nbecause"),
            ),
            ("in a fence", "```\n<|ACTION|>Do<|END|>\n```".to_owned(), String::new()),
            (
                "in a fence with more",
                format!("```\n{search}\n<|ACTION|>Do<|END|>\n```"),
                format!("```\n{search}\n\n```"),
            ),
            (
                "put together by what goes",
                "<|ACT<|ACTION|>x<|END|>ION|>y<|END|>".to_owned(),
                String::new(),
            ),
            ("none", "Nothing to do.".to_owned(), "Nothing to do.".to_owned()),
            (
                "a fence that has none",
                "```\ncode\n```\n```\n```".to_owned(),
                "```\ncode\n```".to_owned(),
            ),
        ];
        for (what, text, left) in table {
            assert_eq!(without_actions(text, VOCABULARY), *left, "{what}");
        }
    }

    proptest! {
        /// Whatever a specialist writes, no action of it reaches the gameplay model, and nothing is added.
        #[test]
        fn no_action_is_left(parts in prop::collection::vec(prop::sample::select(vec![
            "<|ACTION|>", "<|END|>", "<|END|}", "Do", "ACTION: Noop", "\n", " ", "<|SEARCH|>", "a|b", "<action>", "</action>", "```", "<|ACT", "ION|>", "<think>", "</think>", "é",
        ]), 0..24)) {
            let text = parts.concat();
            let left = without_actions(&text, VOCABULARY);
            prop_assert!(protocol::parse(&left, VOCABULARY).action().is_none(), "{text:?} -> {left:?}");
            prop_assert!(left.len() <= text.len());
        }
    }
}
