//! The exact prompt and answer of one turn, with tags highlighted.

use std::ops::Range;

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::theme::{Slot, Theme};
use super::widgets::document::Document;
use super::widgets::list::Scroll;
use crate::protocol::{self, OpSyntax, TagKind, sanitize};
use crate::types::{EpisodeNo, StepNo, StepRecord, Turn};

/// Which of the two texts has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Part {
    /// What the model saw.
    Prompt,
    /// What it answered, and what its operations gave back.
    #[default]
    Answer,
}

/// A turn under the magnifying glass.
#[derive(Debug)]
pub(crate) struct Inspector {
    /// Episode.
    pub(crate) episode: EpisodeNo,
    /// Step.
    pub(crate) step: StepNo,
    /// The turn's place among all turns of the step.
    pub(crate) index: usize,
    /// Turns of the step.
    pub(crate) count: usize,
    /// The turn.
    pub(crate) turn: Turn,
    /// The text with the focus.
    pub(crate) part: Part,
    /// What the model saw.
    pub(crate) prompt: Document,
    /// What it answered.
    pub(crate) answer: Document,
    /// Where they are scrolled to.
    pub(crate) scroll: [Scroll; 2],
    /// Where in the prompt the last message begins, until it was scrolled to.
    pub(crate) newest: Option<usize>,
}

impl Inspector {
    /// Opens a turn; `None` when the step has no such turn.
    pub(crate) fn open(
        episode: EpisodeNo,
        record: &StepRecord,
        index: usize,
        theme: &Theme,
        vocabulary: &[OpSyntax],
    ) -> Option<Self> {
        let turn = record.turns().nth(index)?.clone();
        let prompt = text_of(&turn.prompt);
        let prompt_spans = spans(&prompt, theme, vocabulary);
        let newest = last_message(&prompt);
        let mut answer = text_of(&turn.response);
        let mut answer_spans = spans(&answer, theme, vocabulary);
        if !turn.tool_results.is_empty() {
            let start = answer.len();
            answer.push_str("\n\n── given back to the model ──\n");
            answer_spans.push((start..answer.len(), theme.style(Slot::Faint)));
            let start = answer.len();
            answer.push_str(&text_of(&turn.tool_results));
            answer_spans.push((start..answer.len(), theme.style(Slot::Dim)));
        }
        Some(Self {
            episode,
            step: record.step,
            index,
            count: record.turns().count(),
            part: Part::default(),
            prompt: Document::new(prompt, prompt_spans, 80),
            answer: Document::new(answer, answer_spans, 80),
            scroll: [Scroll::default(); 2],
            newest: Some(newest),
            turn,
        })
    }

    /// What `Y` copies: the text with the focus.
    pub(crate) fn copy(&self) -> String {
        match self.part {
            Part::Prompt => self.turn.prompt.clone(),
            Part::Answer => self.turn.response.clone(),
        }
    }

    /// The text with the focus and where it is scrolled to.
    pub(crate) fn focused(&mut self) -> (&Document, &mut Scroll) {
        match self.part {
            Part::Prompt => (&self.prompt, &mut self.scroll[0]),
            Part::Answer => (&self.answer, &mut self.scroll[1]),
        }
    }
}

/// Where prompt and answer stand: side by side where there is room, else one over the other.
pub(crate) fn areas(body: Rect) -> [Rect; 2] {
    let body = Rect {
        y: body.y + 1,
        height: body.height.saturating_sub(1),
        ..body
    };
    if body.width >= 120 {
        let left = body.width / 2;
        return [
            Rect { width: left, ..body },
            Rect {
                x: body.x + left,
                width: body.width - left,
                ..body
            },
        ];
    }
    let upper = body.height / 2;
    [
        Rect { height: upper, ..body },
        Rect {
            y: body.y + upper,
            height: body.height - upper,
            ..body
        },
    ]
}

/// A text of many lines that cannot hurt the terminal.
pub(crate) fn text_of(text: &str) -> String {
    let text = sanitize::clean(text);
    if text.contains('\t') {
        text.replace('\t', "    ")
    } else {
        text.into_owned()
    }
}

/// Where the last message of the person's side begins: what is new in a prompt.
fn last_message(prompt: &str) -> usize {
    const SIGNS: [&str; 5] = [
        "<|im_start|>user",
        "\n[user]\n",
        "<|user|>",
        "<|start_header_id|>user",
        "[INST]",
    ];
    SIGNS
        .iter()
        .filter_map(|sign| prompt.rfind(sign))
        .max()
        .map_or(0, |at| if prompt[at..].starts_with('\n') { at + 1 } else { at })
}

/// Styles of the tags and of the chat template's own marks.
fn spans(text: &str, theme: &Theme, vocabulary: &[OpSyntax]) -> Vec<(Range<usize>, Style)> {
    let mut spans: Vec<(Range<usize>, Style)> = protocol::highlight(text, vocabulary)
        .into_iter()
        .map(|(range, kind)| (range, tag_style(kind, theme)))
        .collect();
    for range in template_marks(text) {
        spans.retain(|(other, _)| other.end <= range.start || other.start >= range.end);
        spans.push((range, theme.style(Slot::Faint).add_modifier(Modifier::BOLD)));
    }
    spans.sort_by_key(|(range, _)| range.start);
    spans
}

fn tag_style(kind: TagKind, theme: &Theme) -> Style {
    match kind {
        TagKind::Op => theme.bold(Slot::Tag),
        TagKind::File => theme.style(Slot::Accent),
        TagKind::Text => theme.style(Slot::Argument),
        TagKind::Action | TagKind::ActionText => theme.bold(Slot::Action),
        TagKind::End | TagKind::Done => theme.style(Slot::Tag),
        TagKind::Thinking => theme.style(Slot::Thinking).add_modifier(Modifier::ITALIC),
        TagKind::Broken => theme.style(Slot::Bad).add_modifier(Modifier::UNDERLINED),
    }
}

/// `<|im_start|>system` and its like, in small letters as chat templates write them.
fn template_marks(text: &str) -> Vec<Range<usize>> {
    let mut marks = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find("<|").map(|at| from + at) {
        let Some(end) = text[start..].find("|>").map(|at| start + at + 2) else {
            break;
        };
        let name = &text[start + 2..end - 2];
        let is_mark = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if is_mark {
            marks.push(start..end);
        }
        from = if is_mark { end } else { start + 2 };
    }
    // What a back end without a template writes.
    for name in ["[system]\n", "[user]\n", "[assistant]\n"] {
        for (start, _) in text.match_indices(name) {
            if start == 0 || text.as_bytes().get(start - 1) == Some(&b'\n') {
                marks.push(start..start + name.len() - 1);
            }
        }
    }
    marks.sort_by_key(|range| range.start);
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    #[test]
    fn a_turn_opens_with_its_tags_coloured_and_nothing_harmful() {
        let theme = testing::theme();
        let mut record = testing::record(3);
        let hostile = "\u{1b}[2J<|APPEND|>notes.txt|x\u{7}<|END|>".to_owned();
        for body in &mut record.events {
            if let crate::types::Body::TurnFinished { turn } = body {
                turn.response = hostile.clone();
            }
        }
        let inspector = Inspector::open(EpisodeNo(0), &record, 0, &theme, &testing::vocabulary()).unwrap();
        assert!(!inspector.answer.text().contains('\u{1b}'));
        assert!(inspector.answer.text().contains("<|APPEND|>"));
        assert!(Inspector::open(EpisodeNo(0), &record, 99, &theme, &testing::vocabulary()).is_none());
    }

    #[test]
    fn template_marks_are_told_from_tags() {
        let text = "<|im_start|>user\n<|READ|>a<|END|><|im_end|>";
        let found: Vec<_> = template_marks(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["<|im_start|>", "<|im_end|>"]);
        let text = "[system]\nRules.\n\n[user]\nPHASE: LOG\n";
        assert_eq!(template_marks(text), [0..8, 17..23]);
        assert_eq!(last_message(text), 17);
        assert_eq!(last_message("plain"), 0);
    }
}
