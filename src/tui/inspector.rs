//! The exact prompt and answer of one turn, in parts that fold, with tags highlighted.

use std::ops::Range;

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::folded::{Folded, Section};
use super::keymap::Action;
use super::layout;
use super::prompt::{self, Kind};
use super::theme::{Slot, Theme};
use super::widgets::list::Scroll;
use super::widgets::text;
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
    /// What the model saw, in parts.
    pub(crate) prompt: Folded,
    /// What it answered, and what that gave.
    pub(crate) answer: Folded,
    /// Where they are scrolled to; what is selected is the row that keys go on from.
    pub(crate) scroll: [Scroll; 2],
    /// What to bring onto the screen once the width is known: what is new in the prompt, or the
    /// first place of a search.
    pub(crate) reveal: Option<Reveal>,
}

/// What the inspector shows first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reveal {
    /// A part of the prompt.
    Section(usize),
    /// The first place that holds a text.
    Found(String),
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
        let before: Vec<&Turn> = record.turns().take(index).collect();
        let parts = prompt::parts(&turn, &before, record.frame().map(|frame| &**frame));
        // What is new: the results of the turn before, else all that is not the same every time.
        let results = parts.iter().rposition(|part| part.kind == Kind::Results);
        let fresh = |part: &prompt::Part| !part.kind.is_constant() && part.kind != Kind::Earlier;
        let newest = results.or_else(|| parts.iter().position(fresh));
        let prompt = prompt_sections(&turn, &parts, theme, vocabulary);
        let body = text_of(&turn.response);
        let mut answer = vec![Section {
            head: None,
            style: Style::new(),
            spans: spans(&body, theme, vocabulary),
            body,
            open: true,
        }];
        if !turn.tool_results.is_empty() {
            let body = text_of(&turn.tool_results);
            answer.push(Section {
                head: Some(format!(
                    "given back to the model · {} B",
                    text::grouped(turn.tool_results.len() as u64)
                )),
                style: theme.bold(Slot::Heading),
                spans: vec![(0..body.len(), theme.style(Slot::Dim))],
                body,
                open: true,
            });
        }
        Some(Self {
            episode,
            step: record.step,
            index,
            count: record.turns().count(),
            part: Part::default(),
            prompt: Folded::new(prompt),
            answer: Folded::new(answer),
            scroll: [Scroll::default(); 2],
            reveal: newest.map(Reveal::Section),
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
    pub(crate) fn focused(&mut self) -> (&mut Folded, &mut Scroll) {
        match self.part {
            Part::Prompt => (&mut self.prompt, &mut self.scroll[0]),
            Part::Answer => (&mut self.answer, &mut self.scroll[1]),
        }
    }

    /// Moves, folds and searches in the text with the focus; false when a search found nothing.
    pub(crate) fn act(&mut self, action: Action, size: (u16, u16), searched: Option<&str>) -> bool {
        let area = areas(layout::frame(size).body)[usize::from(self.part == Part::Answer)];
        let height = usize::from(layout::shrink(area).height).max(1);
        let (folded, scroll) = self.focused();
        let len = folded.document().len();
        let page = height.saturating_sub(1).max(1) as isize;
        let section = folded.section_at(scroll.selected);
        match action {
            Action::Up => scroll.select_by(-1, len, height),
            Action::Down => scroll.select_by(1, len, height),
            Action::PageUp => scroll.select_by(-page, len, height),
            Action::PageDown => scroll.select_by(page, len, height),
            Action::Top => scroll.select(0, len, height),
            Action::Bottom => scroll.select(len, len, height),
            Action::EventBy(by) => {
                let head = folded.row_of(section);
                let to = match (by < 0, head < scroll.selected) {
                    // From inside of a part its own head comes first.
                    (true, true) => section,
                    (true, false) => section.saturating_sub(1),
                    (false, _) => (section + 1).min(folded.sections().len().saturating_sub(1)),
                };
                let row = folded.row_of(to);
                scroll.select(row, len, height);
            }
            Action::Fold => {
                folded.toggle(section);
                let (row, len) = (folded.row_of(section), folded.document().len());
                scroll.select(row, len, height);
            }
            Action::FoldAll => {
                folded.toggle_all();
                let (row, len) = (folded.row_of(section), folded.document().len());
                scroll.select(row, len, height);
            }
            Action::HitBy(by) => {
                let found = searched.and_then(|text| folded.find(text, Some(scroll.selected), by > 0));
                let Some(row) = found else { return false };
                scroll.select(row, len, height);
            }
            Action::Part => {
                self.part = match self.part {
                    Part::Prompt => Part::Answer,
                    Part::Answer => Part::Prompt,
                }
            }
            _ => {}
        }
        true
    }

    /// Wraps both texts for their places and keeps what is selected on the screen.
    pub(crate) fn fit(&mut self, size: (u16, u16)) {
        let areas = areas(layout::frame(size).body).map(layout::shrink);
        for (folded, area) in [&mut self.prompt, &mut self.answer].into_iter().zip(areas) {
            folded.fit(usize::from(area.width));
        }
        match self.reveal.take() {
            Some(Reveal::Section(section)) => {
                let row = self.prompt.row_of(section);
                self.scroll[0] = Scroll {
                    top: row,
                    selected: row,
                };
            }
            Some(Reveal::Found(text)) => self.reveal_found(&text, areas),
            None => {}
        }
        for ((folded, area), scroll) in [&self.prompt, &self.answer]
            .into_iter()
            .zip(areas)
            .zip(&mut self.scroll)
        {
            let (len, height) = (folded.document().len(), usize::from(area.height));
            scroll.selected = scroll.selected.min(len.saturating_sub(1));
            scroll.top = scroll.top.min(len.saturating_sub(height));
        }
    }

    /// The first place that a search found: in the answer, else in the prompt, whose parts with it open.
    fn reveal_found(&mut self, text: &str, areas: [Rect; 2]) {
        self.prompt.open_those_with(text);
        let places = [self.prompt.find(text, None, true), self.answer.find(text, None, true)];
        for (index, row) in places.into_iter().enumerate() {
            let Some(row) = row else { continue };
            let len = [&self.prompt, &self.answer][index].document().len();
            self.scroll[index].select(row, len, usize::from(areas[index].height));
            self.part = [Part::Prompt, Part::Answer][index];
        }
    }
}

/// The prompt's parts with their heads: what they are, how long, and whether they came from the cache.
fn prompt_sections(turn: &Turn, parts: &[prompt::Part], theme: &Theme, vocabulary: &[OpSyntax]) -> Vec<Section> {
    let (cached, exact) = prompt::cached_to(turn);
    let about = if exact { "" } else { "≈" };
    let section = |part: &prompt::Part| {
        let raw = &turn.prompt[part.range.clone()];
        let share = match (part.range.end <= cached, part.range.start < cached) {
            _ if turn.prompt_tokens == 0 => String::new(),
            (true, _) => format!(" · {about}cached"),
            (false, true) => format!(
                " · {about}{}% cached",
                100 * (cached - part.range.start) / part.range.len().max(1)
            ),
            (false, false) => " · new".to_owned(),
        };
        let tokens = match turn.prompt_tokens {
            0 => String::new(),
            _ => format!(" · ≈{} tok", text::grouped(prompt::tokens(turn, part).into())),
        };
        let title = match part.title.as_str() {
            "" => String::new(),
            title => format!(" · {}", text::clean(text::head(title, 60))),
        };
        let bytes = text::grouped(part.range.len() as u64);
        let (mut body, mut marked) = (text_of(raw), None);
        if part.range.start < cached && cached < part.range.end {
            let before = text_of(&turn.prompt[part.range.start..cached]);
            let line = format!(
                "\n╌╌ {about} up to here from the cache: {} of {} tokens ╌╌\n",
                text::grouped(turn.cached_tokens.into()),
                text::grouped(turn.prompt_tokens.into())
            );
            marked = Some(before.len()..before.len() + line.len());
            body = format!("{before}{line}{}", text_of(&turn.prompt[cached..part.range.end]));
        }
        let mut inside = spans(&body, theme, vocabulary);
        if let Some(range) = marked {
            inside.retain(|(other, _)| other.end <= range.start || range.end <= other.start);
            inside.push((range, theme.style(Slot::Info)));
            inside.sort_by_key(|(range, _)| range.start);
        }
        Section {
            head: Some(format!("{}{title} · {bytes} B{tokens}{share}", part.kind.word())),
            style: theme.bold(Slot::Heading),
            spans: inside,
            body,
            open: !part.kind.is_constant() && part.kind != Kind::Earlier,
        }
    };
    parts.iter().map(section).collect()
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

/// Styles of the tags and of the chat template's own marks.
pub(crate) fn spans(text: &str, theme: &Theme, vocabulary: &[OpSyntax]) -> Vec<(Range<usize>, Style)> {
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
        let answer = inspector.answer.document().text();
        assert!(!answer.contains('\u{1b}'));
        assert!(answer.contains("<|APPEND|>"));
        assert!(Inspector::open(EpisodeNo(0), &record, 99, &theme, &testing::vocabulary()).is_none());
    }

    #[test]
    fn template_marks_are_told_from_tags() {
        let text = "<|im_start|>user\n<|READ|>a<|END|><|im_end|>";
        let found: Vec<_> = template_marks(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["<|im_start|>", "<|im_end|>"]);
        let text = "[system]\nRules.\n\n[user]\nPHASE: LOG\n";
        assert_eq!(template_marks(text), [0..8, 17..23]);
    }
}

#[cfg(test)]
mod fold_tests {
    use super::*;
    use crate::tui::testing;

    fn opened() -> Inspector {
        let mut record = testing::record(3);
        for body in &mut record.events {
            if let crate::types::Body::TurnFinished { turn } = body {
                turn.prompt = "<|im_start|>system\nYou play.\n# The game\nWalk about.<|im_end|>\n<|im_start|>user\nSay.<|im_end|>\n".into();
                (turn.prompt_tokens, turn.cached_tokens) = (20, 5);
            }
        }
        Inspector::open(EpisodeNo(0), &record, 0, &testing::theme(), &testing::vocabulary()).unwrap()
    }

    #[test]
    fn heads_say_what_a_part_is_and_what_came_from_the_cache() {
        let mut inspector = opened();
        let text = inspector.prompt.document().text().to_owned();
        let heads: Vec<&str> = text.lines().filter(|line| line.starts_with(['▾', '▸'])).collect();
        assert_eq!(heads.len(), 3, "{text}");
        assert!(heads[0].starts_with("▸ system · 29 B · ≈"), "{}", heads[0]);
        assert!(heads[0].contains("% cached"), "{}", heads[0]);
        assert!(heads[1].starts_with("▸ rules · The game"), "{}", heads[1]);
        assert!(
            heads[2].starts_with("▾ task") && heads[2].ends_with("new"),
            "{}",
            heads[2]
        );
        inspector.prompt.toggle_all();
        inspector.prompt.toggle_all();
        let text = inspector.prompt.document().text();
        assert!(text.contains("≈ up to here from the cache: 5 of 20 tokens"), "{text}");
        assert!(text.contains("Walk about."));
    }

    #[test]
    fn a_place_that_was_found_opens_the_part_that_holds_it() {
        let mut inspector = opened();
        inspector.reveal = Some(Reveal::Found("WALK".into()));
        inspector.fit((80, 24));
        assert_eq!(inspector.part, Part::Prompt);
        let row = inspector.scroll[0].selected;
        assert!(inspector.prompt.document().row_text(row).contains("Walk about."));
    }
}
