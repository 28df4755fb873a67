//! The conversation of a candidate as it is drawn: what is context, what is the target, what the postprocess cuts,
//! what happened later.
//!
//! Owns the page. Everything in it comes from models and is made harmless here.

use std::ops::Range;
use std::path::PathBuf;

use ratatui::style::{Modifier, Style};

use crate::protocol::OpSyntax;
use crate::review::{Item, ProposalId};
use crate::tui::inspector;
use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::document::Document;
use crate::tui::widgets::list::Scroll;
use crate::tui::widgets::text;
use crate::tune::postprocess::{Cut, Dropped};
use crate::types::{Digest, EpisodeNo, Message, Phase, StepNo};

/// Conversations that are wanted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TalkWish {
    /// The selection.
    pub(crate) proposal: ProposalId,
    /// Items, the most urgent first.
    pub(crate) wanted: Vec<Wanted>,
}

/// Where a conversation was recorded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    /// Place of the item.
    pub(crate) at: u32,
    /// The run file.
    pub(crate) run: PathBuf,
    /// The episode.
    pub(crate) episode: EpisodeNo,
    /// The step.
    pub(crate) step: StepNo,
    /// LOG or PLAN.
    pub(crate) phase: Phase,
    /// Digest of the conversation that was proposed.
    pub(crate) digest: Digest,
}

/// A conversation as it was recorded, with what would become of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Talk {
    /// The messages; the last one is the target.
    pub(crate) messages: Vec<Message>,
    /// What the postprocess cuts, in order.
    pub(crate) cuts: Vec<Cut>,
    /// Why the postprocess drops it as a whole.
    pub(crate) dropped: Option<Dropped>,
    /// It is not what was proposed: why.
    pub(crate) changed: Option<String>,
    /// Operations of its scaffold.
    pub(crate) vocabulary: Vec<OpSyntax>,
}

/// The page of the current item.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// What it was made for: place of the item, columns, theme.
    pub(crate) key: Option<(usize, u16, String)>,
    /// Its text.
    pub(crate) document: Document,
    /// Where it is scrolled to.
    pub(crate) scroll: Scroll,
    /// The line that the target begins with.
    pub(crate) target: usize,
}

/// A text with styles that is put together piece by piece.
#[derive(Default)]
struct Sheet {
    text: String,
    spans: Vec<(Range<usize>, Style)>,
    lines: usize,
}

impl Sheet {
    fn line(&mut self, said: &str, style: Style) {
        let said = text::clean(text::head(said, 2_000)).into_owned();
        self.piece(&said, style);
        self.text.push('\n');
        self.lines += 1;
    }

    /// Text that is harmless already.
    fn piece(&mut self, said: &str, style: Style) {
        let start = self.text.len();
        self.text.push_str(said);
        self.lines += said.matches('\n').count();
        if !said.is_empty() {
            self.spans.push((start..self.text.len(), style));
        }
    }
}

impl Talk {
    /// Writes it down. Gives the text, its styles, and the line that the target begins with.
    pub(crate) fn written(&self, item: &Item, theme: &Theme) -> (String, Vec<(Range<usize>, Style)>, usize) {
        let mut sheet = Sheet::default();
        if let Some(why) = &self.changed {
            sheet.line(&format!("✗ {why}"), theme.bold(Slot::Bad));
        }
        let count = self.messages.len();
        let mut target = 0;
        for (at, message) in self.messages.iter().enumerate() {
            let is_target = at + 1 == count;
            let who = message.role.word();
            let (said, style) = if is_target {
                target = sheet.lines;
                let said = format!("━━ {} of {count} · {who} · TARGET: this is trained on", at + 1);
                (said, theme.bold(Slot::Accent))
            } else {
                (
                    format!("── {} of {count} · {who} · context", at + 1),
                    theme.style(Slot::Dim),
                )
            };
            sheet.line(&said, style);
            self.message(at, message, is_target, theme, &mut sheet);
            sheet.line("", Style::new());
        }
        if self.messages.is_empty() {
            sheet.line("the conversation holds no message", theme.style(Slot::Warn));
        }
        self.after(item, theme, &mut sheet);
        (sheet.text, sheet.spans, target)
    }

    fn message(&self, at: usize, message: &Message, is_target: bool, theme: &Theme, sheet: &mut Sheet) {
        let plain = if is_target {
            theme.style(Slot::Text)
        } else {
            theme.style(Slot::Dim)
        };
        // Pieces with and without a cut; what is no boundary of a letter is left out.
        let content = &message.content;
        let mut pieces: Vec<(String, Option<&str>)> = Vec::new();
        let mut from = 0;
        for cut in self.cuts.iter().filter(|cut| cut.message == at) {
            let (Some(before), Some(gone)) = (content.get(from..cut.start), content.get(cut.start..cut.end)) else {
                continue;
            };
            pieces.push((inspector::text_of(before), None));
            pieces.push((inspector::text_of(gone), Some(cut.why.words())));
            from = cut.end;
        }
        pieces.push((inspector::text_of(content.get(from..).unwrap_or_default()), None));
        let whole: String = pieces.iter().map(|(piece, _)| piece.as_str()).collect();
        let marks = inspector::spans(&whole, theme, &self.vocabulary);
        let gone = theme.style(Slot::Faint).add_modifier(Modifier::CROSSED_OUT);
        let mut start = 0;
        for (piece, why) in &pieces {
            match why {
                Some(why) => {
                    sheet.piece(&format!("[cut, {why}: "), theme.bold(Slot::Removed));
                    // Nobody sees that blanks are struck.
                    match piece.trim().is_empty() {
                        true => sheet.piece("blanks", gone),
                        false => sheet.piece(piece, gone),
                    }
                    sheet.piece("]", theme.bold(Slot::Removed));
                }
                None => {
                    let range = start..start + piece.len();
                    coloured(&whole, range, &marks, plain, sheet);
                }
            }
            start += piece.len();
        }
        sheet.piece("\n", plain);
    }

    fn after(&self, item: &Item, theme: &Theme, sheet: &mut Sheet) {
        if let Some(why) = self.dropped {
            sheet.line(
                &format!("✗ the postprocess drops it: {}", why.words()),
                theme.bold(Slot::Bad),
            );
        }
        sheet.line("── what happened later", theme.style(Slot::Dim));
        let note = match item.note.trim() {
            "" => "nothing that is known",
            note => note,
        };
        sheet.line(note, theme.style(Slot::Info));
        let numbers = in_numbers(item);
        if !numbers.is_empty() {
            sheet.line(&numbers, theme.style(Slot::Dim));
        }
        let (said, slot) = match item.selected {
            true => ("selected", Slot::Good),
            false => ("not selected", Slot::Warn),
        };
        sheet.line("── what the author says", theme.style(Slot::Dim));
        sheet.line(
            &format!("{said}, score {:.2}: {}", item.score, item.reason),
            theme.style(slot),
        );
        if item.alike.is_some() {
            sheet.line("others have nearly the same answer", theme.style(Slot::Warn));
        }
    }
}

/// What is known of an item besides its note, as far as there is something.
fn in_numbers(item: &Item) -> String {
    let facts = &item.facts;
    let mut said = Vec::new();
    if facts.reward_after != 0.0 {
        said.push(format!("reward {:+} in the steps after", facts.reward_after));
    }
    if facts.bytes_written > 0 {
        said.push(format!("wrote {}", text::bytes(facts.bytes_written)));
    }
    for (count, what) in [
        (facts.redundant, "redundant writes"),
        (facts.empty, "empty retrievals"),
        (facts.failed, "failed ops"),
        (facts.malformed, "MALFORMED TAGS"),
    ] {
        if count > 0 {
            said.push(format!("{count} {what}"));
        }
    }
    said.join(" · ")
}

/// A part of a text with those of its marks that lie in it.
fn coloured(whole: &str, range: Range<usize>, marks: &[(Range<usize>, Style)], plain: Style, sheet: &mut Sheet) {
    let mut at = range.start;
    for (mark, style) in marks {
        let (start, end) = (mark.start.max(at), mark.end.min(range.end));
        if start >= end {
            continue;
        }
        sheet.piece(whole.get(at..start).unwrap_or_default(), plain);
        sheet.piece(whole.get(start..end).unwrap_or_default(), plain.patch(*style));
        at = end;
    }
    sheet.piece(whole.get(at..range.end).unwrap_or_default(), plain);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::Facts;
    use crate::tui::testing;
    use crate::tune::postprocess::Why;
    use crate::types::ChatRole;

    fn item(note: &str) -> Item {
        Item {
            id: "r:0:17:LOG".into(),
            run: 0,
            episode: EpisodeNo(0),
            seed: 7,
            step: StepNo(17),
            phase: Phase::Log,
            ops: vec!["APPEND".into()],
            digest: Digest::of("x"),
            selected: true,
            score: 0.5,
            reason: "read twice\u{1b}[2J".into(),
            note: note.into(),
            alike: None,
            facts: Facts {
                reward_after: 1.0,
                malformed: 2,
                ..Facts::default()
            },
        }
    }

    #[test]
    fn what_is_cut_is_marked_in_words_and_struck_and_nothing_harmful_is_left() {
        let answer = "Noted.\u{1b}[31m <|APPEND|>map.txt|a tree<|END|><|DONE|> and then I walk";
        let end = answer.find(" and then").unwrap();
        let talk = Talk {
            messages: vec![
                Message::new(ChatRole::User, "Step 17."),
                Message::new(ChatRole::Assistant, answer),
            ],
            cuts: vec![
                Cut {
                    message: 1,
                    start: end,
                    end: answer.len(),
                    why: Why::AfterDone,
                },
                // A range inside of a letter, or past the end, is passed over.
                Cut {
                    message: 1,
                    start: answer.len(),
                    end: answer.len() + 9,
                    why: Why::Fence,
                },
            ],
            vocabulary: testing::vocabulary(),
            ..Talk::default()
        };
        let theme = testing::theme();
        let (said, spans, target) = talk.written(&item("read at step 67, advantage +0.12"), &theme);
        assert!(said.contains("<|DONE|>[cut, after DONE:  and then I walk]\n"), "{said}");
        assert!(said.contains("── 1 of 2 · user · context") && said.contains("━━ 2 of 2 · assistant · TARGET"));
        assert!(
            said.contains("read at step 67") && !said.contains('\u{1b}') && !said.contains("fence"),
            "{said}"
        );
        assert!(
            said.contains("reward +1 in the steps after · 2 MALFORMED TAGS"),
            "{said}"
        );
        assert!(said.lines().nth(target).unwrap().starts_with("━━"), "{target}");
        let struck: Vec<&str> = spans
            .iter()
            .filter(|(_, style)| style.add_modifier.contains(Modifier::CROSSED_OUT))
            .map(|(range, _)| &said[range.clone()])
            .collect();
        assert_eq!(struck, [" and then I walk"]);
        let tag = spans
            .iter()
            .find(|(range, _)| said[range.clone()].contains("APPEND"))
            .unwrap();
        assert_ne!(tag.1.fg, theme.style(Slot::Text).fg);
        assert!(spans.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start));
    }
}
