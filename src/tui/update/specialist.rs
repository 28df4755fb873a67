//! Exchanging the memory specialist of a run that is being played.

use crate::agent::{NO_SPECIALIST, wanted};
use crate::tui::data::Effect;
use crate::tui::overlay::{Overlay, Picker};
use crate::tui::state::{Mood, State};

/// Opens the list, and has it read anew: a training may have ended in between.
pub(super) fn open(state: &mut State) -> Vec<Effect> {
    let picker = Picker::of_specialists(&state.runs.here.adapters);
    super::push(state, Overlay::Specialists(picker));
    vec![Effect::ListRuns]
}

/// Has a specialist loaded, which takes over when it is there.
pub(super) fn exchange(state: &mut State, name: &str) -> Vec<Effect> {
    let Some(live) = state.live_here() else {
        state.say(
            Mood::Info,
            "nobody plays this run here: a specialist is exchanged while it is played",
        );
        return Vec::new();
    };
    let id = live.id;
    match wanted(Some(name)) {
        None if name != NO_SPECIALIST => Vec::new(),
        spec => vec![Effect::Exchange(id, spec.map(str::to_owned))],
    }
}
