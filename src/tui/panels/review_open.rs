//! An open proposal: the banner, the diff with what was decided, the list of hunks, the reasons.

use std::path::PathBuf;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::{review, review_gate};
use crate::review::{PartStanding, Reason, State as Standings, Verdict};
use crate::tui::inspector;
use crate::tui::keymap::{Action, Place};
use crate::tui::layout::{self, ReviewPane};
use crate::tui::review::{OpenReview, Selection};
use crate::tui::state::State;
use crate::tui::theme::{Slot, Theme};
use crate::tui::view;
use crate::tui::widgets::diff::{Look, Tone};
use crate::tui::widgets::document::Document;
use crate::tui::widgets::{list, paint, text};

pub(crate) fn draw(state: &State, open: &OpenReview, _: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let plan = layout::review(state.size, open.focus);
    banner(state, open, plan.banner, buf);
    if let Some(area) = plan.tabs {
        let said = more(open, open.focus).unwrap_or_default();
        let all = ReviewPane::ALL.map(|pane| (pane, pane.title()));
        view::tabs(buf, area, &all, open.focus, &said, theme);
    }
    for (pane, area) in &plan.panes {
        let inner = if plan.tabs.is_none() {
            let mut title = vec![Span::raw(pane.title())];
            title.extend(more(open, *pane).map(|said| Span::styled(format!(" · {said}"), theme.style(Slot::Dim))));
            view::pane(buf, *area, title, open.focus == *pane, theme)
        } else {
            *area
        };
        match pane {
            ReviewPane::Diff => diff(state, open, inner, *area, buf),
            ReviewPane::Hunks => hunks(state, open, inner, buf),
            ReviewPane::Why => {
                let scroll = open.why.scroll;
                open.why.document.draw(buf, inner, scroll.top, theme.style(Slot::Text));
                let row = scroll.selected.saturating_sub(scroll.top) as u16;
                if open.focus == ReviewPane::Why && row < inner.height {
                    let row = Rect {
                        y: inner.y + row,
                        height: 1,
                        ..inner
                    };
                    buf.set_style(row, theme.selected(true));
                }
            }
            ReviewPane::Gate => {
                let lines = review_gate::lines(open, usize::from(inner.width), theme);
                for (row, line) in (0..inner.height).zip(lines.iter().skip(open.gate.top)) {
                    text::put_line(buf, inner, row, line);
                }
            }
        }
    }
}

/// What a pane's title says besides its name.
fn more(open: &OpenReview, pane: ReviewPane) -> Option<String> {
    Some(match pane {
        ReviewPane::Diff => {
            let (at, part) = open.current()?;
            let name = text::clean(text::head(&part.part.path, 200)).into_owned();
            format!("hunk {} of {} · {name}", at + 1, open.parts().len())
        }
        ReviewPane::Hunks => format!("{} wait", open.standing().waiting()),
        ReviewPane::Why => match open.links.len() {
            0 => return None,
            1 => "1 step shows it".to_owned(),
            n => format!("{n} steps show it"),
        },
        ReviewPane::Gate => open.standing().state.word().to_owned(),
    })
}

/// Whether this is a gate, and how it stands: in words and in colour.
fn banner(state: &State, open: &OpenReview, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let standing = open.standing();
    let (_, word, slot) = review::standing(standing);
    let name = if open.is_gate() {
        " GATE ".to_owned()
    } else {
        format!(" {} ", word.to_uppercase())
    };
    buf.set_style(area, theme.on(Slot::Text, Slot::Surface));
    let mut right = Vec::new();
    if open.is_gate() {
        let parts = standing.parts.len();
        let decided = parts - standing.waiting();
        match (open.chosen().len(), open.selection) {
            (_, Selection::Current) => {}
            (n, _) => right.push(Span::styled(format!("{n} selected · "), theme.bold(Slot::Human))),
        }
        right.push(Span::styled(
            format!("{decided} of {parts} decided"),
            theme.bold(Slot::Text),
        ));
        if open.unseen > 0 {
            right.push(Span::styled(
                format!(" · {} unseen ", open.unseen),
                theme.bold(Slot::Warn),
            ));
        } else if standing.waiting() == 0 {
            let key = state.keymap.shown(Place::Proposal, Action::Commit);
            right.push(Span::styled(format!(" · {key} commits "), theme.bold(Slot::Good)));
        } else {
            right.push(Span::styled(" · all seen ", theme.style(Slot::Good)));
        }
    } else {
        right.push(Span::styled(
            match standing.state {
                Standings::Stale => "no verdict is taken ".to_owned(),
                _ => format!("{} ", gate_counts(open)),
            },
            theme.style(Slot::Dim),
        ));
    }
    let stop = text::put_right(buf, area, 0, &Line::from(right));
    let left = Rect {
        width: stop.saturating_sub(area.x + 1),
        ..area
    };
    let title = text::clean(text::head(&standing.title, 500)).into_owned();
    let line = Line::from(vec![
        Span::styled(name, theme.bold(slot).add_modifier(Modifier::REVERSED)),
        Span::styled(format!(" {} ", standing.id), theme.bold(Slot::Accent)),
        Span::styled(title, theme.bold(Slot::Text)),
    ]);
    text::put_line(buf, left, 0, &line);
}

fn gate_counts(open: &OpenReview) -> String {
    let count = |fits: fn(&Verdict) -> bool| {
        let decisions = open.parts().iter().filter_map(|part| part.decision.as_ref());
        decisions.filter(|decision| fits(&decision.verdict)).count()
    };
    format!(
        "{} accepted · {} edited · {} rejected",
        count(|verdict| *verdict == Verdict::Accept),
        count(|verdict| matches!(verdict, Verdict::Edit { .. })),
        count(|verdict| matches!(verdict, Verdict::Reject { .. }))
    )
}

/// What was decided on a part: sign, words, colour.
fn verdict(part: &PartStanding) -> (&'static str, String, Slot) {
    let Some(decision) = &part.decision else {
        return ("·", "waits".to_owned(), Slot::Warn);
    };
    match &decision.verdict {
        Verdict::Accept => ("✓", "accepted".to_owned(), Slot::Good),
        Verdict::Edit { .. } => ("◆", "edited".to_owned(), Slot::Human),
        Verdict::Reject { reason: Reason::Other } => ("✗", "rejected".to_owned(), Slot::Bad),
        Verdict::Reject { reason } => ("✗", format!("rejected: {}", reason.word()), Slot::Bad),
    }
}

fn diff(state: &State, open: &OpenReview, area: Rect, border: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let chosen = match open.selection {
        Selection::Current => Vec::new(),
        _ => open.chosen(),
    };
    let head = |at: usize| head(open, at, chosen.binary_search(&at).is_ok(), theme);
    let tone = |at: usize| match open.parts().get(at).and_then(|part| part.decision.as_ref()) {
        Some(decision) => match decision.verdict {
            Verdict::Reject { .. } => Tone::Faded,
            Verdict::Edit { .. } => Tone::Own,
            Verdict::Accept => Tone::Plain,
        },
        None => Tone::Plain,
    };
    let look = Look {
        theme,
        head: &head,
        tone: &tone,
        colours: &|file, side, line| open.colours(file, side, line),
        current: open.current().map(|(at, _)| at),
        cursor: Some((open.scroll.selected, open.focus == ReviewPane::Diff)),
    };
    open.diff.draw(buf, area, open.scroll.top, &look);
    if border != area {
        let (len, height) = (open.diff.len(), usize::from(area.height));
        list::scrollbar(
            buf,
            border,
            open.scroll.top,
            len,
            height,
            theme.style(Slot::BorderFocus),
        );
    }
}

/// The line over a hunk.
fn head(open: &OpenReview, at: usize, chosen: bool, theme: &Theme) -> Line<'static> {
    let Some(part) = open.parts().get(at) else {
        return Line::default();
    };
    let (sign, said, slot) = verdict(part);
    let place = match (part.part.deleted.len(), part.part.inserted.len()) {
        (0, n) => format!("+{n}"),
        (n, 0) => format!("-{n}"),
        (old, new) => format!("-{old} +{new}"),
    };
    let mut spans = vec![
        Span::styled(if chosen { "▐" } else { " " }, theme.bold(Slot::Human)),
        Span::styled(
            format!("hunk {} of {} ", at + 1, open.parts().len()),
            theme.bold(Slot::Title),
        ),
        Span::styled(format!("{place}  "), theme.style(Slot::Dim)),
        Span::styled(format!("{sign} {said}"), theme.bold(slot)),
    ];
    if let Some(decision) = &part.decision {
        if let Some(policy) = &decision.policy {
            let policy = text::clean(text::head(policy, 60)).into_owned();
            spans.push(Span::styled(format!(" by policy {policy}"), theme.style(Slot::Dim)));
        }
        if !decision.comment.is_empty() {
            let comment = text::clean(text::head(&decision.comment, 300)).into_owned();
            spans.push(Span::styled(format!(" “{comment}”"), theme.style(Slot::Dim)));
        }
    }
    let comments = open.standing().comments.iter();
    for comment in comments.filter(|comment| comment.part.as_ref() == Some(&part.part.id)) {
        let said = text::clean(text::head(&comment.text, 300)).into_owned();
        spans.push(Span::styled(format!(" ◆ {said}"), theme.style(Slot::Human)));
    }
    Line::from(spans)
}

fn hunks(state: &State, open: &OpenReview, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let current = open.current().map_or(0, |(at, _)| at);
    let (len, height) = (open.parts().len(), usize::from(area.height));
    let mut scroll = list::Scroll {
        top: current.saturating_sub(height / 2),
        selected: current,
    };
    scroll.reveal(len, height);
    let chosen = match open.selection {
        Selection::Current => Vec::new(),
        _ => open.chosen(),
    };
    let digits = len.to_string().len();
    for (y, at) in (0..).zip(scroll.visible(len, height)) {
        let part = &open.parts()[at];
        let row = Rect {
            y: area.y + y,
            height: 1,
            ..area
        };
        let (sign, said, slot) = verdict(part);
        let unseen = if open.is_gate() && !open.has_seen(&part.part.id) {
            "○"
        } else {
            " "
        };
        let mark = if chosen.binary_search(&at).is_ok() { "▐" } else { " " };
        let said = Line::styled(format!(" {said} "), theme.style(slot));
        let stop = text::put_right(buf, row, 0, &said);
        let left = Rect {
            width: stop.saturating_sub(row.x),
            ..row
        };
        let path = text::clean(text::head(&part.part.path, 300)).into_owned();
        let line = format!("{}:{}", path, part.part.old_start + 1);
        let room = usize::from(left.width).saturating_sub(digits + 6);
        let line = Line::from(vec![
            Span::styled(mark, theme.bold(Slot::Human)),
            Span::styled(
                format!("{unseen}{} ", text::pad_left(&(at + 1).to_string(), digits)),
                theme.style(Slot::Faint),
            ),
            Span::styled(format!("{sign} "), theme.bold(slot)),
            Span::styled(text::cut_left(&line, room).into_owned(), theme.style(Slot::Text)),
        ]);
        text::put_line(buf, left, 0, &line);
        if at == current {
            buf.set_style(row, theme.selected(open.focus == ReviewPane::Hunks));
        }
    }
}

/// Writes the reasons down for their width: rationale, evidence, comments, cost.
pub(crate) fn settle_why(open: &mut OpenReview, size: (u16, u16), theme: &Theme) {
    let area = layout::review(size, open.focus).inner(ReviewPane::Why);
    if area.area() == 0 {
        return;
    }
    let key = Some((PathBuf::from(theme.key()), open.standing().seq.0, area.width));
    if open.why.key != key {
        let (text, spans, links) = why(open, theme);
        open.why.document = Document::new(text, spans, usize::from(area.width));
        open.links = links;
        open.why.key = key;
    }
    let (len, height) = (open.why.document.len(), usize::from(area.height));
    let scroll = &mut open.why.scroll;
    scroll.selected = scroll.selected.min(len.saturating_sub(1));
    scroll.reveal(len, height);
}

type Spans = Vec<(std::ops::Range<usize>, Style)>;

fn why(open: &OpenReview, theme: &Theme) -> (String, Spans, Vec<(usize, usize)>) {
    let draft = &open.dossier.proposal.draft;
    let mut page = Page::default();
    page.line(
        &format!("{} for {}", draft.author, open.standing().line),
        theme.style(Slot::Dim),
    );
    if let Some(origin) = &draft.origin {
        let continued = origin
            .continues
            .as_ref()
            .map_or_else(String::new, |id| format!(", continues {id}"));
        let said = format!(
            "{} · iteration {} · attempt {}{continued}",
            origin.optimization, origin.iteration, origin.attempt
        );
        page.line(&said, theme.style(Slot::Dim));
    }
    page.line("", Style::new());
    let rationale = inspector::text_of(draft.rationale.trim_end());
    let start = page.text.len();
    let inside = paint::spans("rationale.md", &rationale, theme);
    let inside = inside
        .into_iter()
        .map(|(range, style)| (start + range.start..start + range.end, style));
    page.spans.extend(inside);
    page.text.push_str(&rationale);
    page.text.push('\n');
    page.lines += rationale.matches('\n').count() + 1;
    let mut links = Vec::new();
    if !draft.evidence.is_empty() {
        page.line("", Style::new());
        page.line(
            "What shows it (Enter goes there, Esc comes back)",
            theme.bold(Slot::Title),
        );
        for (at, evidence) in draft.evidence.iter().enumerate() {
            let run = evidence.run.rsplit(['/', '\\']).next().unwrap_or_default();
            links.push((page.lines, at));
            let said = format!(
                "→ {run} · episode {} · step {}  {}",
                evidence.episode.0 + 1,
                evidence.step,
                evidence.note
            );
            page.line(&said, theme.style(Slot::Info));
        }
    }
    if !open.standing().comments.is_empty() {
        page.line("", Style::new());
        page.line("Said about it", theme.bold(Slot::Title));
        for comment in &open.standing().comments {
            let about = comment
                .part
                .as_ref()
                .map_or_else(String::new, |part| format!(" on {part}"));
            page.line(
                &format!("◆ {}{about}: {}", comment.by, comment.text),
                theme.style(Slot::Human),
            );
        }
    }
    let cost = review_gate::usage(&draft.usage);
    if !cost.is_empty() {
        page.line("", Style::new());
        page.line(&format!("Its author used {cost}."), theme.style(Slot::Dim));
    }
    (page.text, page.spans, links)
}

/// A text with styles that is written line by line.
#[derive(Default)]
struct Page {
    text: String,
    spans: Spans,
    lines: usize,
}

impl Page {
    fn line(&mut self, said: &str, style: Style) {
        let said = text::clean(text::head(said, 4_000)).into_owned();
        let start = self.text.len();
        self.text.push_str(&said);
        if !said.is_empty() {
            self.spans.push((start..self.text.len(), style));
        }
        self.text.push('\n');
        self.lines += 1;
    }
}
