//! Where things stand on the screen: a pure function of its size and of what has the focus.

use ratatui::layout::Rect;

use super::lab::LabPane;
use super::watch::Watch;

/// Columns and rows below which nothing is drawn but what is needed.
pub(crate) const LEAST: (u16, u16) = (60, 16);
/// Columns from which the four panes stand side by side.
const FOUR: u16 = 140;
/// Columns and rows from which the four panes stand two by two.
const GRID: (u16, u16) = (100, 32);

/// A pane of the watch screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Pane {
    /// The game.
    Game,
    /// The memory.
    Memory,
    /// The stream of actions.
    Actions,
    /// The scaffold.
    Scaffold,
    /// The timeline.
    Timeline,
}

impl Pane {
    /// In the order of Tab.
    pub(crate) const ALL: [Self; 5] = [Self::Game, Self::Memory, Self::Actions, Self::Scaffold, Self::Timeline];

    /// Its name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Game => "Game",
            Self::Memory => "Memory",
            Self::Actions => "Actions",
            Self::Scaffold => "Scaffold",
            Self::Timeline => "Timeline",
        }
    }
}

/// A pane of an open proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ReviewPane {
    /// The difference.
    Diff,
    /// The list of its hunks.
    Hunks,
    /// Rationale and evidence.
    Why,
    /// The gate, and what became of the proposal.
    Gate,
}

impl ReviewPane {
    /// In the order of Tab.
    pub(crate) const ALL: [Self; 4] = [Self::Diff, Self::Hunks, Self::Why, Self::Gate];

    /// Its name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Diff => "Diff",
            Self::Hunks => "Hunks",
            Self::Why => "Why",
            Self::Gate => "Gate",
        }
    }
}

/// A pane of an open data selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CuratePane {
    /// The list of items.
    Items,
    /// The conversation of the one under the cursor.
    Talk,
    /// What the set is made of.
    Balance,
}

impl CuratePane {
    /// In the order of Tab.
    pub(crate) const ALL: [Self; 3] = [Self::Items, Self::Talk, Self::Balance];

    /// Its name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Items => "Items",
            Self::Talk => "Conversation",
            Self::Balance => "Balance",
        }
    }
}

/// The parts of a screen of panes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Panes<P> {
    /// What stands over everything; empty where nothing does.
    pub(crate) banner: Rect,
    /// The line of tabs, where only one pane shows.
    pub(crate) tabs: Option<Rect>,
    /// The panes that show.
    pub(crate) panes: Vec<(P, Rect)>,
}

/// The parts of Lab.
pub(crate) type LabLayout = Panes<LabPane>;
/// The parts of an open proposal.
pub(crate) type ReviewLayout = Panes<ReviewPane>;
/// The parts of an open data selection.
pub(crate) type CurateLayout = Panes<CuratePane>;

impl<P: PartialEq> Panes<P> {
    /// One pane under a line of tabs.
    fn tabbed(banner: Rect, body: Rect, focus: P) -> Self {
        let tabs = Rect {
            height: body.height.min(1),
            ..body
        };
        let pane = Rect {
            y: body.y + tabs.height,
            height: body.height.saturating_sub(1),
            ..body
        };
        Self {
            banner,
            tabs: Some(tabs),
            panes: vec![(focus, pane)],
        }
    }

    /// The inside of a pane; empty when it does not show.
    pub(crate) fn inner(&self, pane: P) -> Rect {
        match self.panes.iter().find(|(shown, _)| *shown == pane) {
            Some((_, area)) if self.tabs.is_none() => shrink(*area),
            Some((_, area)) => *area,
            None => Rect::default(),
        }
    }
}

/// The parts of Lab for a terminal of the given size.
pub(crate) fn lab(size: (u16, u16), focus: LabPane) -> LabLayout {
    let body = frame(size).body;
    if size.0 < FOUR || size.1 < GRID.1 {
        return Panes::tabbed(Rect::default(), body, focus);
    }
    let left = body.width / 2;
    let upper = body.height * 58 / 100;
    let (chart, gates) = (body.height * 27 / 100, body.height * 32 / 100);
    let part = |x: u16, width: u16, y: u16, height: u16| Rect::new(body.x + x, body.y + y, width, height);
    Panes {
        banner: Rect::default(),
        tabs: None,
        panes: vec![
            (LabPane::Lineage, part(0, left, 0, upper)),
            (LabPane::Optimizations, part(0, left, upper, body.height - upper)),
            (LabPane::Chart, part(left, body.width - left, 0, chart)),
            (LabPane::Gates, part(left, body.width - left, chart, gates)),
            (
                LabPane::Trainings,
                part(left, body.width - left, chart + gates, body.height - chart - gates),
            ),
        ],
    }
}

/// The parts of an open proposal for a terminal of the given size.
pub(crate) fn review(size: (u16, u16), focus: ReviewPane) -> ReviewLayout {
    let (banner, body) = under_banner(frame(size).body);
    if size.0 < FOUR {
        return Panes::tabbed(banner, body, focus);
    }
    let side = (body.width * 27 / 100).clamp(40, 60);
    let (hunks, gate) = (body.height * 30 / 100, body.height * 34 / 100);
    let part = |x: u16, width: u16, y: u16, height: u16| Rect::new(body.x + x, body.y + y, width, height);
    Panes {
        banner,
        tabs: None,
        panes: vec![
            (ReviewPane::Diff, part(side, body.width - side, 0, body.height)),
            (ReviewPane::Hunks, part(0, side, 0, hunks)),
            (ReviewPane::Why, part(0, side, hunks, body.height - hunks - gate)),
            (ReviewPane::Gate, part(0, side, body.height - gate, gate)),
        ],
    }
}

/// The parts of an open data selection for a terminal of the given size. On a narrow one the items stand over the
/// conversation, with a row between them, so that a verdict is about something that is on the screen.
pub(crate) fn curate(size: (u16, u16), focus: CuratePane) -> CurateLayout {
    let body = frame(size).body;
    let (banner, body) = under_banner(body);
    let part = |x: u16, width: u16, y: u16, height: u16| Rect::new(body.x + x, body.y + y, width, height);
    if size.0 < FOUR {
        let mut plan = Panes::tabbed(banner, body, focus);
        if focus == CuratePane::Items {
            let items = (body.height * 36 / 100).max(3);
            plan.panes = vec![
                (CuratePane::Items, part(0, body.width, 1, items)),
                (
                    CuratePane::Talk,
                    part(0, body.width, items + 2, body.height.saturating_sub(items + 2)),
                ),
            ];
        }
        return plan;
    }
    let side = (body.width * 38 / 100).clamp(56, 84);
    let balance = (body.height * 42 / 100).clamp(12, 24);
    Panes {
        banner,
        tabs: None,
        panes: vec![
            (CuratePane::Items, part(0, side, 0, body.height - balance)),
            (CuratePane::Balance, part(0, side, body.height - balance, balance)),
            (CuratePane::Talk, part(side, body.width - side, 0, body.height)),
        ],
    }
}

/// A row for a banner, and what is below it.
fn under_banner(body: Rect) -> (Rect, Rect) {
    let banner = Rect {
        height: body.height.min(1),
        ..body
    };
    let body = Rect {
        y: body.y + banner.height,
        height: body.height.saturating_sub(1),
        ..body
    };
    (banner, body)
}

/// Whether the terminal is too small to draw anything useful.
pub(crate) fn too_small(size: (u16, u16)) -> bool {
    size.0 < LEAST.0 || size.1 < LEAST.1
}

/// The parts that every screen has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    /// First row.
    pub(crate) header: Rect,
    /// Between them.
    pub(crate) body: Rect,
    /// Last row.
    pub(crate) hints: Rect,
}

/// The parts that every screen has.
pub(crate) fn frame((columns, rows): (u16, u16)) -> Frame {
    Frame {
        header: Rect::new(0, 0, columns, 1),
        body: Rect::new(0, 1, columns, rows.saturating_sub(2)),
        hints: Rect::new(0, rows.saturating_sub(1), columns, 1),
    }
}

/// The parts of the watch screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WatchLayout {
    /// The line of tabs, where only one pane shows.
    pub(crate) tabs: Option<Rect>,
    /// The panes that show.
    pub(crate) panes: Vec<(Pane, Rect)>,
    /// The timeline.
    pub(crate) timeline: Rect,
    /// Whether panes have borders.
    pub(crate) bordered: bool,
}

impl WatchLayout {
    /// The inside of a pane; empty when it does not show.
    pub(crate) fn inner(&self, pane: Pane) -> Rect {
        let area = self
            .panes
            .iter()
            .find(|(shown, _)| *shown == pane)
            .map(|(_, area)| *area);
        match area {
            Some(area) if self.bordered => shrink(area),
            Some(area) => area,
            None => Rect::default(),
        }
    }
}

/// The inside of a border.
pub(crate) fn shrink(area: Rect) -> Rect {
    Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    }
}

/// The parts of the watch screen for a terminal of the given size.
pub(crate) fn watch(size: (u16, u16), watch: &Watch) -> WatchLayout {
    let body = frame(size).body;
    let deep = if size.1 >= 30 { 2 } else { 1 };
    let timeline = Rect {
        y: body.bottom().saturating_sub(deep),
        height: deep.min(body.height),
        ..body
    };
    let body = Rect {
        height: body.height.saturating_sub(deep),
        ..body
    };
    let many = size.0 >= FOUR || (size.0 >= GRID.0 && size.1 >= GRID.1);
    if !many {
        let tabs = Rect { height: 1, ..body };
        let pane = Rect {
            y: body.y + 1,
            height: body.height.saturating_sub(1),
            ..body
        };
        return WatchLayout {
            tabs: Some(tabs),
            panes: vec![(watch.pane, pane)],
            timeline,
            bordered: false,
        };
    }
    let panes = if watch.zoom {
        vec![(watch.pane, body)]
    } else if size.0 >= FOUR {
        side_by_side(body)
    } else {
        two_by_two(body)
    };
    WatchLayout {
        tabs: None,
        panes,
        timeline,
        bordered: true,
    }
}

fn side_by_side(body: Rect) -> Vec<(Pane, Rect)> {
    // The game gets what its pictures need: 4, 6 or 8 pixels a tile, nine tiles, two borders.
    let game = match (body.width, body.height) {
        (250.., 42..) => 74,
        (190.., 30..) => 56,
        _ => 38,
    };
    let rest = body.width - game;
    let memory = rest * 28 / 100;
    let scaffold = rest * 26 / 100;
    let widths = [
        (Pane::Game, game),
        (Pane::Memory, memory),
        (Pane::Actions, rest - memory - scaffold),
        (Pane::Scaffold, scaffold),
    ];
    let mut x = body.x;
    widths
        .into_iter()
        .map(|(pane, width)| {
            let area = Rect { x, width, ..body };
            x += width;
            (pane, area)
        })
        .collect()
}

fn two_by_two(body: Rect) -> Vec<(Pane, Rect)> {
    let left = (body.width * 44 / 100).max(40);
    let game = body.height.saturating_sub(10).clamp(16, 24).min(body.height);
    let actions = body.height * 60 / 100;
    let part = |x: u16, width: u16, y: u16, height: u16| Rect::new(body.x + x, body.y + y, width, height);
    let right = body.width - left;
    vec![
        (Pane::Game, part(0, left, 0, game)),
        (Pane::Memory, part(0, left, game, body.height - game)),
        (Pane::Actions, part(left, right, 0, actions)),
        (Pane::Scaffold, part(left, right, actions, body.height - actions)),
    ]
}

/// Splits the inside of a pane with a tree above and a text below: the tree gets what it needs,
/// up to two fifths. The row between is a rule.
pub(crate) fn tree_and_text(inner: Rect, rows: usize) -> (Rect, Rect, Rect) {
    let most = (inner.height * 2 / 5).max(3).min(inner.height);
    let tree = (rows.min(usize::from(most)) as u16).max(1).min(inner.height);
    let rule = inner.height.saturating_sub(tree).min(1);
    let part = |y: u16, height: u16| Rect {
        y: inner.y + y,
        height,
        ..inner
    };
    (
        part(0, tree),
        part(tree, rule),
        part(tree + rule, inner.height - tree - rule),
    )
}

/// A rectangle in the middle of another.
pub(crate) fn centred(outer: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(outer.width), height.min(outer.height));
    Rect {
        x: outer.x + (outer.width - width) / 2,
        y: outer.y + (outer.height - height) / 2,
        width,
        height,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_cover_the_body_without_overlap() {
        for columns in [140, 160, 200, 260] {
            let body = Rect::new(0, 1, columns, 44);
            let panes = side_by_side(body);
            assert_eq!(panes.iter().map(|(_, area)| area.width).sum::<u16>(), columns);
            assert!(panes.iter().all(|(_, area)| area.width >= 26), "{panes:?}");
        }
        let body = Rect::new(0, 1, 110, 36);
        let cells: u32 = two_by_two(body).iter().map(|(_, area)| area.area()).sum();
        assert_eq!(cells, body.area());
    }

    #[test]
    fn panes_of_a_proposal_cover_the_body() {
        for size in [(80, 24), (139, 60), (140, 24), (200, 60), (400, 150)] {
            for focus in ReviewPane::ALL {
                let plan = review(size, focus);
                let cells: u32 = plan.panes.iter().map(|(_, area)| area.area()).sum();
                let tabs = plan.tabs.map_or(0, |tabs| tabs.area());
                assert_eq!(cells + tabs + plan.banner.area(), frame(size).body.area());
                assert!(plan.inner(focus).height >= 3, "{size:?} {plan:?}");
            }
        }
    }

    #[test]
    fn the_tree_takes_what_it_needs_only() {
        let inner = Rect::new(0, 0, 30, 20);
        assert_eq!(tree_and_text(inner, 3).0.height, 3);
        assert_eq!(tree_and_text(inner, 50).0.height, 8);
        let (tree, rule, text) = tree_and_text(inner, 50);
        assert_eq!(tree.height + rule.height + text.height, 20);
    }
}
