//! The Review screen: the list of proposals, and the open one with its diff, as a value.
//!
//! Owns what shows, what is selected and what was seen. What keys do is in `update`; what is decided
//! lies in the workspace's database alone.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::effects::ColourRequest;
use super::layout::{self, ReviewPane};
use super::panes::OpenText;
use super::widgets::diff::{Diff, Shape, Side};
use super::widgets::list::Scroll;
use super::widgets::syntax::Spans;
use crate::review::{Dossier, Part, PartId, PartStanding, ProposalId, Standing, State, Verdict};

/// Columns of the diff's pane from which both texts stand beside each other.
const BESIDE: u16 = 110;
/// Lines around the screen whose colours are asked for with those on it.
const AROUND: usize = 40;

/// The screen.
#[derive(Debug, Default)]
pub(crate) struct ReviewScreen {
    /// Proposals have been looked for.
    pub(crate) loaded: bool,
    /// All of them: what waits for a person first.
    pub(crate) list: Vec<Standing>,
    /// Where the list is scrolled to.
    pub(crate) scroll: Scroll,
    /// The open one.
    pub(crate) open: Option<Box<OpenReview>>,
    /// The one whose opening was asked for.
    pub(crate) opening: Option<ProposalId>,
}

impl ReviewScreen {
    /// How many wait for a person.
    pub(crate) fn waiting(&self) -> usize {
        self.list.iter().filter(|standing| standing.waits()).count()
    }

    /// Takes in the list; the selection stays with its proposal.
    pub(crate) fn take(&mut self, mut list: Vec<Standing>) {
        list.sort_by_key(|standing| (!standing.waits(), !standing.state.is_open()));
        let selected = self.selected().map(|standing| standing.id.clone());
        self.list = list;
        self.loaded = true;
        let at = selected.and_then(|id| self.list.iter().position(|standing| standing.id == id));
        self.scroll.selected = at
            .unwrap_or(self.scroll.selected)
            .min(self.list.len().saturating_sub(1));
    }

    /// The selected proposal.
    pub(crate) fn selected(&self) -> Option<&Standing> {
        self.list.get(self.scroll.selected)
    }
}

/// Parts that one verdict is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Selection {
    /// The current one.
    #[default]
    Current,
    /// Those from this one to the current one.
    From(usize),
    /// All that wait; all, when none waits.
    Waiting,
}

/// Colours of one text, as far as known.
#[derive(Debug, Default)]
struct Coloured {
    lines: Vec<Option<Spans>>,
    asked: Vec<Range<usize>>,
}

/// An open proposal.
#[derive(Debug)]
pub(crate) struct OpenReview {
    /// The proposal, its log, its standing.
    pub(crate) dossier: Arc<Dossier>,
    /// The parts in their files.
    pub(crate) diff: Diff,
    /// The pane with the focus.
    pub(crate) focus: ReviewPane,
    /// A person's choice of unified or side by side; `None` leaves it to the width.
    pub(crate) beside: Option<bool>,
    /// Where the diff is scrolled to; the selected screen row is the cursor.
    pub(crate) scroll: Scroll,
    /// Parts that the next verdict is about.
    pub(crate) selection: Selection,
    /// Rows of each part that were on the screen without a gap from its first; `MAX` when all were.
    seen: BTreeMap<PartId, usize>,
    /// Parts that were not on the screen as a whole.
    pub(crate) unseen: usize,
    /// Why, from whom, what shows it.
    pub(crate) why: OpenText,
    /// Lines of that text that lead to a step, and to which of the evidence.
    pub(crate) links: Vec<(usize, usize)>,
    /// Where the gate's table is scrolled to.
    pub(crate) gate: Scroll,
    /// The part that a line of text is being written about.
    pub(crate) asking: Option<PartId>,
    colours: HashMap<(usize, Side), Coloured>,
    shape: Shape,
}

impl OpenReview {
    /// Opens it at its first part that waits.
    pub(crate) fn new(dossier: Arc<Dossier>) -> Self {
        let mut open = Self {
            diff: diff_of(&dossier),
            focus: ReviewPane::Diff,
            beside: None,
            scroll: Scroll::default(),
            selection: Selection::Current,
            seen: BTreeMap::new(),
            unseen: dossier.standing.parts.len(),
            why: OpenText::default(),
            links: Vec::new(),
            gate: Scroll::default(),
            asking: None,
            colours: HashMap::new(),
            shape: Shape::default(),
            dossier,
        };
        if open.standing().state != State::Pending {
            open.focus = ReviewPane::Gate;
        }
        open
    }

    /// Its standing.
    pub(crate) fn standing(&self) -> &Standing {
        &self.dossier.standing
    }

    /// Its parts and what was decided on them.
    pub(crate) fn parts(&self) -> &[PartStanding] {
        &self.dossier.standing.parts
    }

    /// Whether verdicts are taken.
    pub(crate) fn is_gate(&self) -> bool {
        self.standing().state == State::Pending
    }

    /// Takes in a newer standing. The cursor stays with its part, also when that was split or joined.
    pub(crate) fn take(&mut self, dossier: Arc<Dossier>) {
        let same = texts(&self.dossier.standing).eq(texts(&dossier.standing));
        let current = self.current().map(|(_, part)| part.part.id.clone());
        let offset = self.scroll.selected.saturating_sub(self.scroll.top);
        self.dossier = dossier;
        self.why.key = None;
        if same {
            return;
        }
        let mut diff = diff_of(&self.dossier);
        diff.inherit(&self.diff);
        diff.fit(self.shape);
        self.diff = diff;
        self.selection = Selection::Current;
        let found = current.and_then(|id| place_of(self.parts(), &id));
        if let Some(part) = found {
            let row = self.diff.rows_of(part).start;
            self.scroll.selected = row;
            self.scroll.top = row.saturating_sub(offset);
        }
        self.count_unseen();
    }

    /// The part that keys are about.
    pub(crate) fn current(&self) -> Option<(usize, &PartStanding)> {
        let at = self.diff.part_at(self.scroll.selected)?;
        Some((at, self.parts().get(at)?))
    }

    /// The parts that the next verdict is about.
    pub(crate) fn chosen(&self) -> Vec<usize> {
        let Some((current, _)) = self.current() else {
            return Vec::new();
        };
        match self.selection {
            Selection::Current => vec![current],
            Selection::From(anchor) => {
                let last = self.parts().len().saturating_sub(1);
                (anchor.min(current)..=anchor.max(current).min(last)).collect()
            }
            Selection::Waiting => {
                let waits = |at: &usize| self.parts()[*at].decision.is_none();
                let all = 0..self.parts().len();
                let waiting: Vec<usize> = all.clone().filter(waits).collect();
                if waiting.is_empty() { all.collect() } else { waiting }
            }
        }
    }

    /// Goes to a part, its first row on the screen.
    pub(crate) fn go(&mut self, part: usize, height: usize) {
        let rows = self.diff.rows_of(part);
        self.scroll.select(rows.start, self.diff.len(), height);
        // As much of it as fits.
        let wanted = rows.end.min(rows.start + height.saturating_sub(1));
        if self.scroll.top + height < wanted {
            self.scroll.top = wanted.saturating_sub(height);
        }
    }

    /// The next part without a verdict, else the next one.
    pub(crate) fn next_after(&self, part: usize) -> usize {
        let parts = self.parts();
        let waits = (part + 1..parts.len()).find(|at| parts[*at].decision.is_none());
        waits.unwrap_or(part + 1).min(parts.len().saturating_sub(1))
    }

    /// Whether both texts stand beside each other in a pane of this width.
    pub(crate) fn is_beside(&self, columns: u16) -> bool {
        self.beside.unwrap_or(columns >= BESIDE)
    }

    /// Fits everything to the screen.
    pub(crate) fn fit(&mut self, size: (u16, u16)) {
        let area = layout::review(size, self.focus).inner(ReviewPane::Diff);
        if area.area() == 0 {
            return;
        }
        let shape = Shape {
            columns: area.width,
            beside: self.is_beside(area.width),
        };
        let height = usize::from(area.height);
        if self.shape != shape {
            let current = self.diff.part_at(self.scroll.selected);
            let first = self.shape == Shape::default();
            self.shape = shape;
            self.diff.fit(shape);
            // What was seen of a part was counted in other rows.
            self.seen.retain(|_, rows| *rows == usize::MAX);
            let waits = self.parts().iter().position(|part| part.decision.is_none());
            let part = if first { Some(waits.unwrap_or(0)) } else { current };
            if let Some(part) = part {
                self.go(part, height);
            }
            self.count_unseen();
        }
        let len = self.diff.len();
        self.scroll.selected = self.scroll.selected.min(len.saturating_sub(1));
        self.scroll.top = self.scroll.top.min(len.saturating_sub(height));
        let screen = self.scroll.visible(len, height);
        self.diff.refine(&screen);
    }

    /// What is on the screen has been seen. Gives whether that changed what is unseen.
    pub(crate) fn saw(&mut self, size: (u16, u16)) -> bool {
        let height = usize::from(layout::review(size, self.focus).inner(ReviewPane::Diff).height);
        let screen = self.scroll.visible(self.diff.len(), height);
        let before = self.unseen;
        for part in self.diff.parts_in(&screen) {
            let Some(id) = self.dossier.standing.parts.get(part).map(|part| part.part.id.clone()) else {
                continue;
            };
            let rows = self.diff.rows_of(part);
            let from = screen.start.saturating_sub(rows.start);
            let to = screen.end.min(rows.end) - rows.start;
            let seen = self.seen.entry(id).or_default();
            if from <= *seen && to > *seen {
                *seen = if to >= rows.len() { usize::MAX } else { to };
            }
        }
        self.count_unseen();
        before != self.unseen
    }

    /// Whether a part was on the screen as a whole.
    pub(crate) fn has_seen(&self, id: &PartId) -> bool {
        self.seen.get(id) == Some(&usize::MAX)
    }

    fn count_unseen(&mut self) {
        let parts = &self.dossier.standing.parts;
        self.unseen = parts.iter().filter(|part| !self.has_seen(&part.part.id)).count();
    }

    /// Colours on the screen that nobody asked for yet.
    pub(crate) fn wanted_colours(&mut self, height: usize) -> Vec<ColourRequest> {
        let screen = self.scroll.visible(self.diff.len(), height);
        let mut wanted = Vec::new();
        let sources = self.diff.sources(&screen, 2 * AROUND).into_iter();
        for ((file, side), lines) in sources.flat_map(|(of, runs)| runs.into_iter().map(move |lines| (of, lines))) {
            let known = self.colours.entry((file, side)).or_default();
            let covers = |asked: &Range<usize>| asked.start <= lines.start && lines.end <= asked.end;
            if known.asked.iter().any(covers) {
                continue;
            }
            let lines = lines.start.saturating_sub(AROUND)..lines.end + AROUND;
            known.asked.push(lines.clone());
            let path = self.diff.files[file].path.clone();
            let text = match side {
                Side::Old => Arc::clone(&self.diff.files[file].base),
                Side::New => self
                    .dossier
                    .files()
                    .and_then(|files| files.files.get(&path))
                    .map_or("", String::as_str)
                    .into(),
            };
            wanted.push(ColourRequest {
                proposal: self.standing().id.clone(),
                file,
                side,
                path,
                text,
                lines,
            });
        }
        wanted
    }

    /// Takes in colours of some lines.
    pub(crate) fn take_colours(&mut self, file: usize, side: Side, from: usize, spans: Vec<Spans>) {
        let known = self.colours.entry((file, side)).or_default();
        let end = from + spans.len();
        if known.lines.len() < end {
            known.lines.resize(end, None);
        }
        for (line, spans) in (from..).zip(spans) {
            known.lines[line] = Some(spans);
        }
    }

    /// The colours of a line.
    pub(crate) fn colours(
        &self,
        file: usize,
        side: Side,
        line: usize,
    ) -> Option<&[(Range<usize>, super::theme::Slot)]> {
        self.colours.get(&(file, side))?.lines.get(line)?.as_deref()
    }
}

/// The parts with the texts that come in.
fn texts(standing: &Standing) -> impl Iterator<Item = (&PartId, Option<&str>)> {
    standing.parts.iter().map(|part| (&part.part.id, own_text(part)))
}

/// What a person put in a part's place.
pub(crate) fn own_text(part: &PartStanding) -> Option<&str> {
    match &part.decision.as_ref()?.verdict {
        Verdict::Edit { text } => Some(text),
        _ => None,
    }
}

fn diff_of(dossier: &Dossier) -> Diff {
    let parts = dossier.standing.parts.iter();
    let parts: Vec<(Part, Option<String>)> = parts
        .map(|part| (part.part.clone(), own_text(part).map(str::to_owned)))
        .collect();
    match dossier.files() {
        Some(files) => Diff::new(&files.base, parts),
        None => Diff::new(&std::collections::BTreeMap::new(), parts),
    }
}

/// Where a part is now: itself, its first piece, or what it is a piece of.
fn place_of(parts: &[PartStanding], id: &PartId) -> Option<usize> {
    let of = |whole: &PartId, piece: &PartId| {
        let rest = piece.0.strip_prefix(&*whole.0);
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    let find = |fits: &dyn Fn(&PartId) -> bool| parts.iter().position(|part| fits(&part.part.id));
    find(&|other| other == id)
        .or_else(|| find(&|other| of(id, other)))
        .or_else(|| find(&|other| of(other, id)))
}
