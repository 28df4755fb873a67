//! Where tags stand in a text, for the screen.

use std::ops::Range;

use super::OpSyntax;
use super::parse::parse_with_marks;

/// What a part of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TagKind {
    /// An operation's opening tag.
    Op,
    /// An operation's first argument, the file as a rule.
    File,
    /// Its other arguments, with their bar.
    Text,
    /// An action's opening tag.
    Action,
    /// An action's text, in a tag or on a line.
    ActionText,
    /// An end tag.
    End,
    /// The end of a phase.
    Done,
    /// Thinking, its tags included.
    Thinking,
    /// A tag that was not understood.
    Broken,
}

pub(super) type Mark = (Range<usize>, TagKind);

/// The parts of a text that are tags, in order and without overlap. The rest is prose.
/// Offsets are bytes, on character boundaries.
pub fn highlight(text: &str, vocabulary: &[OpSyntax]) -> Vec<(Range<usize>, TagKind)> {
    let (_, mut marks) = parse_with_marks(text, vocabulary);
    marks.sort_by_key(|(span, _)| (span.start, span.end));
    let mut end = 0;
    marks.retain(|(span, _)| {
        let keep = span.start >= end;
        if keep {
            end = span.end;
        }
        keep
    });
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOCABULARY: &[OpSyntax] = &[OpSyntax {
        name: "APPEND",
        aliases: &[],
        args: &["file", "text"],
        rest: true,
    }];

    #[test]
    fn every_part_has_its_kind() {
        let text = "<think>a</think> so <|APPEND|>n.txt|b|c<|END|> <|NOPE|> <|ACTION|>Noop<|END|><|DONE|><|APPEND|>";
        let parts: Vec<_> = highlight(text, VOCABULARY)
            .into_iter()
            .map(|(span, kind)| (&text[span], kind))
            .collect();
        assert_eq!(
            parts,
            [
                ("<think>a</think>", TagKind::Thinking),
                ("<|APPEND|>", TagKind::Op),
                ("n.txt", TagKind::File),
                ("|b|c", TagKind::Text),
                ("<|END|>", TagKind::End),
                ("<|NOPE|>", TagKind::Broken),
                ("<|ACTION|>", TagKind::Action),
                ("Noop", TagKind::ActionText),
                ("<|END|>", TagKind::End),
                ("<|DONE|>", TagKind::Done),
                ("<|APPEND|>", TagKind::Broken),
            ]
        );
    }
}
