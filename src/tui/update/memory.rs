//! The memory pane: its tree, the open file and its lines, differences, what happens outside.

use std::collections::BTreeMap;
use std::path::Path;

use ratatui::layout::Rect;

use super::filter;
use crate::agent;
use crate::tui::data::{BlameLine, DiffLine, Effect};
use crate::tui::filter::Filter;
use crate::tui::inspector;
use crate::tui::keymap::Action;
use crate::tui::layout::Pane;
use crate::tui::memory_diff::{Against, DiffWish, MemoryDiff};
use crate::tui::overlay::{Command, Entry, Overlay, Picker};
use crate::tui::panes::{DiffText, Outside, Wanted};
use crate::tui::state::{Mood, State};
use crate::tui::theme::{Slot, Theme};
use crate::tui::watch::Watch;
use crate::tui::widgets::document::Document;
use crate::tui::widgets::list::Scroll;
use crate::tui::widgets::text;
use crate::types::{Digest, EpisodeNo, StepNo};

/// Steps that a list of reads shows at most: the newest ones.
const MOST_READS: usize = 500;

pub(super) fn act(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::MemoryDiff => compare(state),
        Action::Mark => mark(state),
        Action::OnlyThis => return only_this(state),
        Action::Readers => readers(state),
        Action::Open if in_file(state) => writer(state),
        _ => {}
    }
    Vec::new()
}

/// Whether a line of a file is selected.
fn in_file(state: &State) -> bool {
    let memory = state.watch.as_ref().map(|watch| &watch.memory);
    memory.is_some_and(|memory| memory.in_file && memory.against.is_none())
}

/// The next thing to compare with, then the files again.
fn compare(state: &mut State) {
    let Some(watch) = &mut state.watch else {
        return;
    };
    let pane = &mut watch.memory;
    let marked = pane.marked.map(Against::Marked);
    pane.against = match pane.against {
        None => Some(Against::Previous),
        Some(Against::Previous) => Some(marked.unwrap_or(Against::Start)),
        Some(Against::Marked(_)) => Some(Against::Start),
        Some(Against::Start) => None,
    };
    pane.diff_text.scroll = Scroll::default();
    if pane.against.is_none() {
        pane.diff = None;
        pane.diff_asked = None;
    }
}

fn mark(state: &mut State) {
    let Some(watch) = &mut state.watch else {
        return;
    };
    let step = watch.cursor;
    watch.memory.marked = Some(step);
    if matches!(watch.memory.against, Some(Against::Marked(_))) {
        watch.memory.against = Some(Against::Marked(step));
    }
    state.say(
        Mood::Info,
        format!("step {step} is marked: go to another step, and d compares the two"),
    );
}

/// Filters the stream for the file that is open.
fn only_this(state: &mut State) -> Vec<Effect> {
    let path = state.watch.as_ref().and_then(|watch| {
        let memory = watch.memory_shown.as_ref()?;
        watch.memory.open_path(memory).map(str::to_owned)
    });
    match path {
        Some(path) => {
            if let Some(watch) = &mut state.watch {
                watch.focus_on(Pane::Actions);
            }
            filter::set(state, Filter::of_file(&path))
        }
        None => {
            state.say(Mood::Info, "no file is open");
            Vec::new()
        }
    }
}

/// The selected line: its text, and who wrote it as of the cursor, where that is known. A line that
/// the cursor's own step wrote has no blame yet.
fn selected(watch: &Watch) -> Option<(String, Option<&BlameLine>, bool)> {
    let memory = watch.memory_shown.as_ref()?;
    let pane = &watch.memory;
    let path = pane.open_path(memory)?;
    let file = memory.files.get(path)?;
    let line = pane.open.document.line_at(pane.open.scroll.selected);
    let text = file.text.lines().nth(line)?.to_owned();
    let changed = file.changed.iter().any(|range| range.contains(&line)) && memory.step == watch.cursor;
    let last = watch.steps().previous()?;
    let blame = pane
        .blame
        .as_ref()
        .filter(|blame| blame.episode == watch.episode && blame.path == path && blame.step == watch.cursor.min(last));
    Some((text, blame.and_then(|blame| blame.lines.get(line)), changed))
}

/// Goes to the step that wrote the selected line.
fn writer(state: &mut State) {
    let Some(watch) = &mut state.watch else {
        return;
    };
    let said = match selected(watch) {
        None => "the file is empty".to_owned(),
        Some((_, _, true)) => format!("this step, {}, wrote the line", watch.cursor),
        Some((_, None, _)) => "who wrote it is still being looked up".to_owned(),
        Some((_, Some(BlameLine { step: None, .. }), _)) => "the line was there from the start".to_owned(),
        Some((text, Some(BlameLine { step: Some(step), .. }), _)) => {
            let step = *step;
            let memory = watch.memory_shown.as_ref();
            let path = memory
                .and_then(|memory| watch.memory.open_path(memory))
                .map(str::to_owned);
            let from = watch.cursor;
            watch.memory.chosen.clone_from(&path);
            watch.memory.wanted_line = Some(text);
            watch.playing = false;
            watch.follow = false;
            watch.go(step);
            watch.actions.wanted = path.map(|path| (step, Wanted::Write(path)));
            format!("step {step} wrote the line (you were at step {from})")
        }
    };
    state.say(Mood::Info, said);
}

/// Lists the steps that read the selected line.
fn readers(state: &mut State) {
    let Some(watch) = &state.watch else {
        return;
    };
    let (line, blame) = match selected(watch) {
        Some((line, Some(blame), _)) => (line, blame),
        Some((.., changed)) => {
            let said = if changed {
                "this step wrote the line: later steps may read it"
            } else {
                "who read it is still being looked up"
            };
            state.say(Mood::Info, said);
            return;
        }
        None => {
            state.say(Mood::Info, "the file is empty");
            return;
        }
    };
    if blame.reads == 0 {
        state.say(Mood::Info, "nobody has read the line since");
        return;
    }
    let steps = blame
        .read_at
        .iter()
        .rev()
        .flat_map(|(first, last)| (*first..=*last).rev());
    let entries = steps.take(MOST_READS).map(|step| {
        let action = watch.mark(StepNo(step)).map_or("", |mark| &mark.action);
        Entry {
            place: "",
            keys: format!("step {step}"),
            help: format!("read it, then played {}", text::clean(action)),
            command: Command::GoTo(StepNo(step)),
        }
    });
    let entries: Vec<Entry> = entries.collect();
    let title = format!("{} reads of `{}`", blame.reads, text::cut(&text::clean(&line), 40));
    state.overlays.push(Overlay::Steps(title, Picker::of_entries(entries)));
}

/// What has to be loaded for the pane; its derived texts are brought up to date.
pub(super) fn settle(watch: &mut Watch, theme: &Theme, area: Rect) -> Vec<Effect> {
    let mut effects = Vec::new();
    let Some(last) = watch.steps().previous() else {
        return effects;
    };
    let (episode, steps) = (watch.episode, watch.steps());
    let pane = &mut watch.memory;
    if pane.heat_asked != Some((episode, steps)) {
        pane.heat_asked = Some((episode, steps));
        effects.push(Effect::LoadHeat { episode, upto: steps });
    }
    let step = watch.cursor.min(last);
    if let Some(against) = pane.against {
        let wish = DiffWish::new(episode, step, against);
        if pane.diff_asked != Some(wish) {
            pane.diff_asked = Some(wish);
            effects.push(Effect::LoadMemoryDiff(wish));
        }
    }
    let gone = pane
        .against
        .and(pane.diff.as_ref())
        .into_iter()
        .flat_map(|diff| &diff.files);
    let gone = gone.map(|(path, _)| path.clone());
    let added = pane.outside.iter().filter(|(_, what)| **what == Outside::Added);
    pane.extra = gone.chain(added.map(|(path, _)| path.clone())).collect();
    diff_text(&mut pane.diff_text, pane.against.and(pane.diff.as_ref()), theme, area);
    effects
}

/// Wraps and colours a difference once.
fn diff_text(shown: &mut DiffText, diff: Option<&MemoryDiff>, theme: &Theme, area: Rect) {
    let Some(diff) = diff else {
        shown.key = None;
        return;
    };
    let key = Some((theme.name().to_owned(), area.width, diff.wish));
    if shown.key != key {
        let (mut body, mut spans) = (String::new(), Vec::new());
        for line in &diff.lines {
            let (sign, said, style) = match line {
                DiffLine::File(name) => ("── ", name.as_str(), theme.bold(Slot::Heading)),
                DiffLine::Gap => ("⋯", "", theme.style(Slot::Faint)),
                DiffLine::Same(said) => ("  ", said.as_str(), theme.style(Slot::Dim)),
                DiffLine::Added(said) => ("+ ", said.as_str(), theme.style(Slot::Added)),
                DiffLine::Removed(said) => ("- ", said.as_str(), theme.style(Slot::Removed)),
            };
            let start = body.len();
            body.push_str(sign);
            body.push_str(&inspector::text_of(said).replace('\n', "⏎"));
            spans.push((start..body.len(), style));
            body.push('\n');
        }
        body.pop();
        if diff.lines.is_empty() {
            body = "nothing changed".to_owned();
        }
        shown.document = Document::new(body, spans, usize::from(area.width));
        shown.key = key;
    }
    let most = shown.document.len().saturating_sub(usize::from(area.height));
    shown.scroll.top = shown.scroll.top.min(most);
}

/// The row at which a file's difference begins.
pub(super) fn row_of_file(watch: &Watch, path: &str) -> Option<usize> {
    let pane = &watch.memory;
    let diff = pane.diff.as_ref()?;
    let line = diff.lines.iter().position(|line| match line {
        DiffLine::File(name) => name.strip_prefix(path).is_some_and(|rest| rest.starts_with(' ')),
        _ => false,
    })?;
    Some(pane.diff_text.document.row_of_line(line))
}

/// Which directory is to be watched: that of the episode that shows, else of one that this process plays.
pub(super) fn lookout(state: &mut State) -> Option<Effect> {
    let live = state.live.as_mut()?;
    let shown = state.watch.as_ref().filter(|watch| watch.path == live.path);
    let plays = |episode: &EpisodeNo| live.episodes.get(episode).is_some_and(|episode| !episode.ended);
    let shown = shown.map(|watch| watch.episode).filter(plays);
    let wanted = match shown.or_else(|| live.running()) {
        Some(episode) if !live.is_over() => live
            .episodes
            .get(&episode)
            .filter(|episode| !episode.root.is_empty())
            .map(|episode| agent::memory_folder(&live.path).join(&*episode.root)),
        _ => None,
    };
    if live.lookout == wanted {
        return None;
    }
    live.lookout.clone_from(&wanted);
    Some(Effect::Lookout(wanted))
}

/// What the files of the live memory hold was looked at.
pub(super) fn on_disk(state: &mut State, root: &Path, files: &BTreeMap<String, Digest>) {
    let Some(live) = &mut state.live else {
        return;
    };
    if live.lookout.as_deref() != Some(root) {
        return;
    }
    let name = root.file_name().and_then(|name| name.to_str());
    let Some(episode) = live.episodes.values_mut().find(|episode| Some(&*episode.root) == name) else {
        return;
    };
    let new = episode.compare(files);
    let Some(first) = new.first() else {
        return;
    };
    let what = episode.outside.get(first).map_or("changed", |what| what.word());
    let more = match new.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    state.say(
        Mood::Info,
        format!("{first} was {what} outside{more}: it will be recorded at the agent's next step"),
    );
}

/// Takes over what is known of edits from outside, for the episode that shows.
pub(super) fn take_outside(state: &mut State) {
    let (Some(watch), Some(live)) = (state.watch.as_deref_mut(), &state.live) else {
        return;
    };
    let same = live.path == watch.path && watch.at_end() && !live.is_over();
    let outside = same.then(|| live.episodes.get(&watch.episode)).flatten();
    let outside = outside
        .map(|episode| &episode.outside)
        .filter(|outside| !outside.is_empty());
    match outside {
        Some(outside) if *outside != watch.memory.outside => watch.memory.outside.clone_from(outside),
        None if !watch.memory.outside.is_empty() => watch.memory.outside.clear(),
        _ => {}
    }
}

/// Selects the line that the cursor went after, once its step is here.
pub(super) fn select_wanted(watch: &mut Watch, path: &Path, height: usize) {
    let Some(memory) = watch.memory_shown.as_ref().filter(|memory| memory.step == watch.cursor) else {
        return;
    };
    let pane = &mut watch.memory;
    let Some(wanted) = pane.wanted_line.take() else {
        return;
    };
    let Some(file) = path.to_str().and_then(|path| memory.files.get(path)) else {
        return;
    };
    let written = |line: &usize| file.changed.iter().any(|range| range.contains(line));
    let lines: Vec<usize> = (0..)
        .zip(file.text.lines())
        .filter(|(_, text)| *text == wanted)
        .map(|(at, _)| at)
        .collect();
    if let Some(line) = lines.iter().copied().find(written).or_else(|| lines.first().copied()) {
        let row = pane.open.document.row_of_line(line);
        pane.open.scroll.select(row, pane.open.document.len(), height);
    }
}
