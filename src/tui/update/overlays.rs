//! Actions on what lies over the screen.

use super::{
    act as act_below, curate, filter, insight, lab, load_theme, push, quit_now, review, runs, search, specialist,
    take_over, watch,
};
use crate::review::Reason;
use crate::tui::data::{ControlRequest, Effect};
use crate::tui::keymap::{Action, Screen};
use crate::tui::overlay::{Command, Confirm, LineFor, LinePrompt, Overlay, Picker, erase_word};
use crate::tui::state::{Mood, State};
use crate::types::StepNo;

/// Rows of a list that lies over the screen.
pub(crate) fn picker_rows(size: (u16, u16)) -> usize {
    usize::from(size.1).saturating_sub(8).max(1)
}

/// A letter is typed.
pub(super) fn write(state: &mut State, c: char) -> Vec<Effect> {
    match state.overlays.last_mut() {
        Some(
            Overlay::Help(picker)
            | Overlay::Palette(picker)
            | Overlay::Steps(_, picker)
            | Overlay::Files(picker)
            | Overlay::Specialists(picker)
            | Overlay::Reasons(picker),
        ) => {
            picker.filter.push(c);
            picker.scroll = Default::default();
        }
        Some(Overlay::Line(line)) => line.text.push(c),
        Some(Overlay::TakeOver(panel)) => panel.write(c),
        Some(Overlay::Form(form)) if !form.starting => form.fields.write(c),
        Some(Overlay::Optimize(form)) => form.fields.write(c),
        Some(Overlay::Select(form)) => form.fields.write(c),
        _ => return Vec::new(),
    }
    state.redraw = true;
    edited(state);
    Vec::new()
}

/// The text of the top line changed: a filter holds at once.
fn edited(state: &mut State) {
    if let Some(Overlay::Line(line)) = state.overlays.last()
        && line.purpose == LineFor::Filter
    {
        state.runs.filter = line.text.clone();
        state.runs.arrange();
    }
}

pub(super) fn act(state: &mut State, action: Action) -> Vec<Effect> {
    state.redraw = true;
    let Some(mut top) = state.overlays.pop() else {
        return Vec::new();
    };
    if matches!(action, Action::Cancel | Action::Back | Action::No) {
        return close(state, &top);
    }
    let top_is_reasons = matches!(top, Overlay::Reasons(_));
    let effects = match &mut top {
        Overlay::Help(picker)
        | Overlay::Palette(picker)
        | Overlay::Steps(_, picker)
        | Overlay::Files(picker)
        | Overlay::Specialists(picker)
        | Overlay::Reasons(picker) => {
            let own = (top_is_reasons && picker.matches().is_empty()).then(|| picker.filter.trim().to_owned());
            match (action, own) {
                // Words that are none of the reasons are one.
                (Action::Accept, Some(text)) => {
                    let purpose = LineFor::Reject(Reason::Other);
                    push(state, Overlay::Line(LinePrompt { purpose, text }));
                    return Vec::new();
                }
                (Action::Accept, None) => return run(state, picker),
                _ => {}
            }
            pick(picker, action, picker_rows(state.size));
            Vec::new()
        }
        Overlay::Line(line) => {
            match action {
                Action::Accept => {
                    let (purpose, text) = (line.purpose, std::mem::take(&mut line.text));
                    return accept_line(state, purpose, text);
                }
                Action::Erase => {
                    line.text.pop();
                }
                Action::EraseWord => erase_word(&mut line.text),
                Action::EraseAll => line.text.clear(),
                _ => {}
            }
            Vec::new()
        }
        Overlay::Confirm(confirm) => {
            return match (&*confirm, action) {
                (Confirm::QuitWhileLive | Confirm::QuitWhileOptimizing, Action::Yes) => quit_now(state),
                (Confirm::StopRun(id), Action::Yes) => vec![Effect::Control(*id, ControlRequest::Stop)],
                (Confirm::DeleteRun(path) | Confirm::DeleteElsewhere(path), Action::Yes) => {
                    vec![Effect::Delete(path.clone())]
                }
                (Confirm::DeleteElsewhere(path), Action::Forget) => vec![Effect::Forget(path.clone())],
                (Confirm::Leftovers(_), Action::Yes) => vec![Effect::Leftovers { restore: true }],
                (Confirm::Leftovers(_), Action::Remove) => vec![Effect::Leftovers { restore: false }],
                _ => {
                    state.overlays.push(top);
                    Vec::new()
                }
            };
        }
        Overlay::Seal(seal) => {
            if action == Action::Seal {
                let seal = (**seal).clone();
                return match state.screen {
                    Screen::Curate => curate::sealed(state, seal),
                    _ => review::sealed(state, seal),
                };
            }
            Vec::new()
        }
        Overlay::Inspector(inspector) => {
            if let Action::TurnBy(by) = action {
                let (index, part) = (inspector.index, inspector.part);
                let next = watch::inspect_beside(state, inspector, by);
                match next {
                    Some(mut next) => {
                        next.part = part;
                        **inspector = next;
                    }
                    None => state.say(Mood::Info, if index == 0 { "the first turn" } else { "the last turn" }),
                }
            } else {
                let searched = state.searched().map(str::to_owned);
                if !inspector.act(action, state.size, searched.as_deref()) {
                    state.say(Mood::Info, "not in the parts that are open; z opens all");
                }
            }
            Vec::new()
        }
        Overlay::Form(form) => {
            let effects = runs::form(state, form, action);
            state.runs.form = Some((**form).clone());
            effects
        }
        Overlay::Optimize(form) => {
            let begun = lab::form(state, form, action);
            state.lab.form = Some((**form).clone());
            if let Some(effects) = begun {
                return effects;
            }
            Vec::new()
        }
        Overlay::Select(form) => {
            let begun = curate::form(state, form, action);
            state.curate.form = Some((**form).clone());
            if let Some(effects) = begun {
                return effects;
            }
            Vec::new()
        }
        Overlay::TakeOver(panel) => {
            let (effects, over) = take_over::act(state, panel, action);
            state.overlays.push(top);
            state.overlays.extend(over);
            return effects;
        }
        Overlay::Insight(panel) => insight::act(state, panel, action),
        Overlay::Columns(selected) => {
            runs::choose_column(state, selected, action);
            Vec::new()
        }
    };
    state.overlays.push(top);
    edited(state);
    effects
}

fn close(state: &mut State, top: &Overlay) -> Vec<Effect> {
    if let Overlay::Line(line) = top
        && line.purpose == LineFor::Filter
    {
        state.runs.filter.clear();
        state.runs.arrange();
    }
    if let Overlay::TakeOver(_) = top {
        take_over::closed(state);
    }
    if let Overlay::Insight(_) = top {
        return insight::closed(state);
    }
    if let Overlay::Optimize(form) = top {
        let mut form = (**form).clone();
        form.fields.error = None;
        state.lab.form = Some(form);
    }
    if let Overlay::Select(form) = top {
        let mut form = (**form).clone();
        form.fields.error = None;
        state.curate.form = Some(form);
    }
    if let Overlay::Form(form) = top {
        let mut form = (**form).clone();
        form.fields.error = None;
        form.starting = false;
        state.runs.form = Some(form);
    }
    Vec::new()
}

fn pick(picker: &mut Picker, action: Action, height: usize) {
    let len = picker.matches().len();
    match action {
        Action::Up => picker.scroll.select_by(-1, len, height),
        Action::Down => picker.scroll.select_by(1, len, height),
        Action::PageUp => picker.scroll.select_by(-(height as isize), len, height),
        Action::PageDown => picker.scroll.select_by(height as isize, len, height),
        Action::Erase => {
            picker.filter.pop();
            picker.scroll = Default::default();
        }
        Action::EraseWord => {
            erase_word(&mut picker.filter);
            picker.scroll = Default::default();
        }
        Action::EraseAll => {
            picker.filter.clear();
            picker.scroll = Default::default();
        }
        _ => {}
    }
}

/// Runs the selected entry at the place the list was opened from.
fn run(state: &mut State, picker: &Picker) -> Vec<Effect> {
    let entries = picker.matches();
    let Some(entry) = entries.get(picker.scroll.selected) else {
        let text = format!("nothing is called `{}`", picker.filter);
        state.say(Mood::Bad, text);
        return Vec::new();
    };
    match &entry.command {
        Command::Act(action) => act_below(state, *action),
        Command::Edit(path) => take_over::edit(state, path),
        Command::Exchange(name) => specialist::exchange(state, name),
        Command::GoTo(step) => go_to(state, *step),
        Command::Reject(reason) => {
            review::because(state, *reason);
            Vec::new()
        }
        Command::UseTheme(name) => load_theme(state, Some(name.clone())),
    }
}

fn go_to(state: &mut State, step: StepNo) -> Vec<Effect> {
    match &mut state.watch {
        Some(watch) if state.screen == Screen::Watch => {
            watch.follow = false;
            watch.playing = false;
            watch.go(step);
            if watch.cursor != step {
                let said = format!("the episode has {} steps", watch.steps());
                state.say(Mood::Info, said);
            }
        }
        _ => state.say(Mood::Info, "open a run first"),
    }
    Vec::new()
}

fn accept_line(state: &mut State, purpose: LineFor, text: String) -> Vec<Effect> {
    match purpose {
        LineFor::Filter => Vec::new(),
        LineFor::Save if text.trim().is_empty() => Vec::new(),
        LineFor::Save => vec![Effect::SaveScreen(text.trim().to_owned())],
        LineFor::Tell => take_over::tell(state, &text),
        LineFor::Search => search::start(state, text),
        LineFor::Reject(_) | LineFor::Comment | LineFor::Discard if state.screen == Screen::Curate => {
            curate::said(state, purpose, text.trim())
        }
        LineFor::Items | LineFor::Fewer => curate::said(state, purpose, text.trim()),
        LineFor::Reject(_) | LineFor::Comment | LineFor::Overrule | LineFor::Discard | LineFor::Demote => {
            review::said(state, purpose, text.trim())
        }
        LineFor::Stream => filter::accept(state, text),
    }
}

/// Opens the inspector over everything else.
pub(super) fn inspect(state: &mut State, inspector: crate::tui::inspector::Inspector) {
    push(state, Overlay::Inspector(Box::new(inspector)));
}
