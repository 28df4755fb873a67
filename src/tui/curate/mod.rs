//! The Curate screen: the list of data selections, and the open one with its items, as a value.
//!
//! Owns what shows and what is selected. What keys do is in `update`; what is decided lies in the workspace's
//! database alone.

mod balance;
mod form;
mod talk;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use balance::{Balance, Side};
pub(crate) use form::{SelectForm, SelectRequest};
pub(crate) use talk::{Page, Talk, TalkWish, Wanted};

use super::layout::CuratePane;
use super::widgets::list::Scroll;
use crate::review::{Dossier, Item, ItemVerdict, ProposalId, Reason, SelectionContent, Standing, State, Verdict, What};
use balance::Index;

/// Conversations that are kept.
const KEPT: usize = 64;

/// The screen.
#[derive(Debug, Default)]
pub(crate) struct CurateScreen {
    /// Selections have been looked for.
    pub(crate) loaded: bool,
    /// All of them: what waits for a person first.
    pub(crate) list: Vec<Standing>,
    /// Where the list is scrolled to.
    pub(crate) scroll: Scroll,
    /// The open one.
    pub(crate) open: Option<Box<OpenSelection>>,
    /// The one whose opening was asked for.
    pub(crate) opening: Option<ProposalId>,
    /// Items of the one whose opening was asked for.
    pub(crate) items: Option<(ProposalId, Arc<Vec<Item>>)>,
    /// The dialog as it was left.
    pub(crate) form: Option<SelectForm>,
    /// A selection is being made.
    pub(crate) selecting: bool,
    /// What a job of this screen does.
    pub(crate) working: Option<String>,
    /// What was found when a selection was certified: lines.
    pub(crate) reports: BTreeMap<ProposalId, Vec<String>>,
}

/// News of a data selection that is made or certified.
#[derive(Debug, Clone)]
pub(crate) enum CurateNews {
    /// What the job does, and how far that is; 0 of 0 when unknown.
    Does {
        /// In words.
        word: String,
        /// Done.
        done: u64,
        /// All.
        total: u64,
    },
    /// A selection was proposed.
    Proposed(ProposalId),
    /// A selection was certified: what was counted.
    Certified {
        /// Which.
        proposal: ProposalId,
        /// Counts in words, a line each.
        report: Vec<String>,
    },
    /// The job failed, or was stopped: cause and next step.
    Failed(String),
}

impl CurateScreen {
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

    /// The one under the cursor.
    pub(crate) fn selected(&self) -> Option<&Standing> {
        self.list.get(self.scroll.selected)
    }
}

/// Items that the next verdict is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Chosen {
    /// The current one.
    #[default]
    Current,
    /// Those from this row to the current one.
    From(usize),
    /// All that the filter shows.
    Shown,
}

/// An open data selection.
#[derive(Debug)]
pub(crate) struct OpenSelection {
    /// The proposal, its log, its standing.
    pub(crate) dossier: Arc<Dossier>,
    /// Its items.
    pub(crate) items: Arc<Vec<Item>>,
    /// The filter as it was typed; empty shows all.
    pub(crate) filter: String,
    /// Places of the items that show, in order.
    pub(crate) shown: Vec<u32>,
    /// Where they are scrolled to.
    pub(crate) scroll: Scroll,
    /// Items that the next verdict is about.
    pub(crate) chosen: Chosen,
    /// The pane with the focus.
    pub(crate) focus: CuratePane,
    /// The item that a line of text is being written about; `None` for the whole.
    pub(crate) asking: Option<usize>,
    /// The conversation as it is drawn.
    pub(crate) page: Page,
    /// Where the balance is scrolled to.
    pub(crate) side: Scroll,
    /// What the set is made of.
    pub(crate) balance: Balance,
    talks: BTreeMap<u32, Result<Arc<Talk>, String>>,
    asked: Option<u32>,
    index: Index,
}

impl OpenSelection {
    /// Opens it at its first item that waits and that its author selected.
    pub(crate) fn new(dossier: Arc<Dossier>, items: Arc<Vec<Item>>) -> Self {
        let gate = dossier.selection().map_or(&[][..], |content| &content.gate_seeds);
        let index = Index::new(&items, gate);
        let mut open = Self {
            filter: String::new(),
            shown: (0..).take(items.len()).collect(),
            scroll: Scroll::default(),
            chosen: Chosen::Current,
            focus: CuratePane::Items,
            asking: None,
            page: Page::default(),
            side: Scroll::default(),
            balance: Balance::default(),
            talks: BTreeMap::new(),
            asked: None,
            index,
            dossier,
            items,
        };
        open.weigh();
        let first = |wanted: bool| {
            (0..open.items.len()).find(|at| open.verdict(*at).is_none() && (!wanted || open.items[*at].selected))
        };
        open.scroll.selected = first(true).or_else(|| first(false)).unwrap_or(0);
        open
    }

    /// Its standing.
    pub(crate) fn standing(&self) -> &Standing {
        &self.dossier.standing
    }

    /// What it suggests.
    pub(crate) fn content(&self) -> Option<&SelectionContent> {
        self.dossier.selection().ok()
    }

    /// Whether verdicts are taken.
    pub(crate) fn is_gate(&self) -> bool {
        self.standing().state == State::Pending
    }

    /// Takes in a newer standing.
    pub(crate) fn take(&mut self, dossier: Arc<Dossier>) {
        self.dossier = dossier;
        self.page.key = None;
        self.weigh();
    }

    fn weigh(&mut self) {
        let Ok(content) = self.dossier.selection() else { return };
        let verdicts = self.dossier.standing.items.as_ref();
        self.balance = Balance::of(&self.index, &self.items, verdicts, content);
    }

    /// What was decided on an item.
    pub(crate) fn verdict(&self, at: usize) -> Option<ItemVerdict> {
        let items = self.standing().items.as_ref()?;
        items.verdicts.get(at).copied().flatten()
    }

    /// Why an item was rejected, and what was said with its verdict.
    pub(crate) fn because(&self, at: usize) -> Option<(Option<Reason>, &str)> {
        let seq = self.verdict(at)?.seq;
        let entries = &self.dossier.entries;
        let entry = entries.binary_search_by_key(&seq, |entry| entry.seq).ok()?;
        match &entries[entry].what {
            What::Judged { verdict, comment, .. } => {
                let reason = match verdict {
                    Verdict::Reject { reason } => Some(*reason),
                    _ => None,
                };
                Some((reason, comment))
            }
            _ => None,
        }
    }

    /// The item that keys are about, with its place.
    pub(crate) fn current(&self) -> Option<(usize, &Item)> {
        let at = *self.shown.get(self.scroll.selected)? as usize;
        Some((at, self.items.get(at)?))
    }

    /// Places of the items that the next verdict is about.
    pub(crate) fn chosen(&self) -> Vec<u32> {
        let current = self.scroll.selected;
        match self.chosen {
            Chosen::Current => self.shown.get(current).copied().into_iter().collect(),
            Chosen::From(anchor) => {
                let last = self.shown.len().saturating_sub(1);
                let (from, to) = (anchor.min(current), anchor.max(current).min(last));
                self.shown.get(from..=to).unwrap_or_default().to_vec()
            }
            Chosen::Shown => self.shown.clone(),
        }
    }

    /// How many these are.
    pub(crate) fn count_chosen(&self) -> usize {
        match self.chosen {
            Chosen::Current => usize::from(self.current().is_some()),
            Chosen::From(anchor) => anchor.abs_diff(self.scroll.selected) + 1,
            Chosen::Shown => self.shown.len(),
        }
    }

    /// Whether a row is among them.
    pub(crate) fn is_chosen(&self, row: usize) -> bool {
        match self.chosen {
            Chosen::Current => false,
            Chosen::From(anchor) => {
                (anchor.min(self.scroll.selected)..=anchor.max(self.scroll.selected)).contains(&row)
            }
            Chosen::Shown => true,
        }
    }

    /// Shows the items at these places only; the cursor stays with its item, or goes to the next that shows.
    pub(crate) fn show(&mut self, filter: &str, shown: Vec<u32>) {
        let current = self.current().map(|(at, _)| at as u32);
        filter.clone_into(&mut self.filter);
        self.shown = shown;
        self.chosen = Chosen::Current;
        let row = current.map_or(0, |at| self.shown.partition_point(|other| *other < at));
        self.scroll.selected = row.min(self.shown.len().saturating_sub(1));
    }

    /// The next row without a verdict, else the next one.
    pub(crate) fn next_after(&self, row: usize) -> usize {
        let waits = |at: &u32| self.verdict(*at as usize).is_none();
        let rest = self.shown.get(row + 1..).unwrap_or_default();
        let next = rest.iter().position(waits).map_or(row + 1, |further| row + 1 + further);
        next.min(self.shown.len().saturating_sub(1))
    }

    /// The conversation of an item, if it is here.
    pub(crate) fn talk(&self, at: usize) -> Option<&Result<Arc<Talk>, String>> {
        self.talks.get(&(at as u32))
    }

    /// Takes in a conversation.
    pub(crate) fn take_talk(&mut self, at: u32, talk: Result<Arc<Talk>, String>) {
        let current = self.current().map_or(0, |(at, _)| at as u32);
        self.talks.insert(at, talk);
        while self.talks.len() > KEPT {
            let first = self.talks.first_key_value().map(|(at, _)| *at);
            let last = self.talks.last_key_value().map(|(at, _)| *at);
            match (first, last) {
                (Some(first), Some(last)) if current.abs_diff(first) > current.abs_diff(last) => {
                    self.talks.remove(&first)
                }
                (_, Some(last)) => self.talks.remove(&last),
                _ => return,
            };
        }
        if at == current {
            self.page.key = None;
        }
    }

    /// The conversations that are wanted and not here: of the current item and of the next.
    pub(crate) fn wanted(&mut self) -> Option<TalkWish> {
        let (at, _) = self.current()?;
        let at = at as u32;
        if self.talks.contains_key(&at) || self.asked == Some(at) {
            return None;
        }
        self.asked = Some(at);
        let content = self.dossier.selection().ok()?;
        let rows = self.scroll.selected..(self.scroll.selected + 3).min(self.shown.len());
        let wanted = self.shown.get(rows)?.iter().filter(|at| !self.talks.contains_key(at));
        let wanted = wanted.filter_map(|at| {
            let item = self.items.get(*at as usize)?;
            Some(Wanted {
                at: *at,
                run: content.runs.get(item.run as usize)?.path.clone().into(),
                episode: item.episode,
                step: item.step,
                phase: item.phase,
                digest: item.digest,
            })
        });
        Some(TalkWish {
            proposal: self.standing().id.clone(),
            wanted: wanted.collect(),
        })
    }
}
