//! The table itself: place, keys, action, label, help, rank in the hint line, condition.

use super::{Action as A, Binding, Kind, Place as P, Screen};
use crate::tui::state::State;
use crate::tui::take_over::Side;

const fn key(
    place: P,
    keys: &'static [&'static str],
    action: A,
    label: &'static str,
    help: &'static str,
    rank: u8,
) -> Binding {
    Binding {
        place,
        keys,
        action,
        label,
        help,
        rank,
        when: always,
    }
}

const fn key_if(
    when: fn(&State) -> bool,
    place: P,
    keys: &'static [&'static str],
    action: A,
    label: &'static str,
    help: &'static str,
    rank: u8,
) -> Binding {
    Binding {
        place,
        keys,
        action,
        label,
        help,
        rank,
        when,
    }
}

fn always(_: &State) -> bool {
    true
}

/// Every key there is.
#[rustfmt::skip]
pub(crate) static TABLE: &[Binding] = &[
    // even while something is typed
    key(P::Always, &["C-c"], A::Quit, "quit", "Quit; asks if a run is being played", 0),
    key(P::Always, &["C-z"], A::Suspend, "suspend", "Suspend to the shell; `fg` comes back", 0),
    key(P::Always, &["C-l"], A::Redraw, "redraw", "Draw the whole screen anew", 0),

    // everywhere
    key(P::Global, &["?"], A::Help, "keys", "The keys of this place; type to filter, Enter runs one", 1),
    key(P::Global, &[":", "C-p"], A::Palette, "command", "Run a command by name; `:120` goes to step 120", 8),
    key(P::Global, &["1", "F1"], A::Show(Screen::Runs), "runs", "All runs", 0),
    key_if(State::has_watch, P::Global, &["2", "F2"], A::Show(Screen::Watch), "watch", "The run that is open", 0),
    key(P::Global, &["Esc"], A::Back, "back", "Back", 0),
    key(P::Global, &["q"], A::Quit, "quit", "Back, then quit; asks if a run is being played", 9),
    key(P::Global, &["Y"], A::Copy, "copy", "Copy what is selected to the clipboard (OSC 52)", 0),
    key(P::Global, &["P"], A::SaveScreen, "save screen", "Save this screen as text (.txt), with colours (.ansi) or as a picture (.svg)", 0),
    key(P::Global, &["T"], A::NextTheme, "theme", "The next colour theme", 0),

    // runs
    key(P::Runs, &["Enter"], A::Open, "open", "Open the episode", 2),
    key(P::Runs, &["Up", "k"], A::Up, "move", "The one above", 3),
    key(P::Runs, &["Down", "j"], A::Down, "move", "The one below", 3),
    key(P::Runs, &["PgUp"], A::PageUp, "page", "A page up", 0),
    key(P::Runs, &["PgDn"], A::PageDown, "page", "A page down", 0),
    key(P::Runs, &["Home", "g"], A::Top, "first", "The first", 0),
    key(P::Runs, &["End", "G"], A::Bottom, "last", "The last", 0),
    key(P::Runs, &["n"], A::NewRun, "new run", "Start a new run", 4),
    key(P::Runs, &["/"], A::Filter, "filter", "Show only what contains a text", 5),
    key(P::Runs, &["s"], A::Sort, "sort", "Sort by another column", 6),
    key(P::Runs, &["C-r"], A::Reload, "reload", "Look for runs again", 0),
    key(P::Runs, &["c"], A::Columns, "columns", "Choose the columns", 0),
    key_if(State::selects_several, P::Runs, &["Left", "h"], A::Fold, "episodes", "Hide the run's episodes", 7),
    key_if(State::selects_several, P::Runs, &["Right", "l"], A::Unfold, "episodes", "Show the run's episodes", 7),
    key_if(State::selects_live, P::Runs, &["Space"], A::PlayPause, "pause/go on", "Pause the run after this step, or let it go on", 5),
    key_if(State::selects_live, P::Runs, &["x"], A::StopRun, "stop", "Stop the run for good; asks first", 7),
    key_if(State::selects_resumable, P::Runs, &["r"], A::ResumeRun, "resume", "Go on with the run", 5),
    key_if(State::selects_run, P::Runs, &["d"], A::Delete, "delete", "Delete the run; asks first, and u brings it back until the program ends", 7),
    key_if(State::can_undo, P::Start, &["u"], A::Undo, "undelete", "Bring the run back that was deleted last", 5),
    key_if(State::can_undo, P::Runs, &["u"], A::Undo, "undelete", "Bring the run back that was deleted last", 4),
    key(P::Runs, &["o"], A::Sample, "sample", "Open a run that comes with the program", 0),

    // what to start
    key(P::Start, &["Enter"], A::Accept, "start", "Do what is selected", 2),
    key(P::Start, &["Up", "k"], A::Up, "choose", "The choice above", 3),
    key(P::Start, &["Down", "j"], A::Down, "choose", "The choice below", 3),
    key(P::Start, &["n"], A::NewRun, "more choices", "Choose world, seeds, scaffold, model, steps", 4),
    key(P::Start, &["Left", "h"], A::StepBy(-1), "seed", "The seed before", 4),
    key(P::Start, &["Right", "l"], A::StepBy(1), "seed", "Another seed", 4),

    // the dialog that starts a run: letters are typed
    key(P::Form, &["Enter"], A::Accept, "start", "Start the run and watch it", 1),
    key(P::Form, &["C-b"], A::Background, "start in background", "Start the run at full speed and stay here", 3),
    key(P::Form, &["Up", "S-Tab"], A::Up, "field", "The field above", 4),
    key(P::Form, &["Down", "Tab"], A::Down, "field", "The field below", 4),
    key(P::Form, &["Left"], A::ChoiceBy(-1), "choose", "The choice before, or a smaller number", 5),
    key(P::Form, &["Right"], A::ChoiceBy(1), "choose", "The next choice, or a larger number", 5),
    key(P::Form, &["Backspace"], A::Erase, "erase", "Erase a letter", 0),
    key(P::Form, &["C-w"], A::EraseWord, "erase word", "Erase a word", 0),
    key(P::Form, &["C-u"], A::EraseAll, "erase all", "Erase all", 0),
    key(P::Form, &["Esc"], A::Cancel, "close", "Close; what was written is kept", 2),

    // columns of the list
    key(P::Columns, &["Space", "Enter"], A::Toggle, "show/hide", "Show or hide the column", 2),
    key(P::Columns, &["Up", "k"], A::Up, "column", "The column above", 3),
    key(P::Columns, &["Down", "j"], A::Down, "column", "The column below", 3),
    key(P::Columns, &["a"], A::EraseAll, "all that fit", "As many columns as fit, again", 4),
    key(P::Columns, &["Esc", "q"], A::Cancel, "close", "Close", 5),

    // watch: the cursor
    key(P::Watch, &["Left", "h"], A::StepBy(-1), "move", "The step before", 4),
    key(P::Watch, &["Right", "l"], A::StepBy(1), "move", "The next step", 4),
    key(P::Watch, &["[", "C-Left"], A::EventBy(-1), "event", "The event before (see the timeline's marks)", 5),
    key(P::Watch, &["]", "C-Right"], A::EventBy(1), "event", "The next event", 5),
    key(P::Watch, &["Home", "g"], A::First, "first", "The first step", 0),
    key(P::Watch, &["End", "G"], A::Last, "last", "The last step", 0),
    key_if(State::has_episodes, P::Watch, &["H"], A::EpisodeBy(-1), "episode", "The episode before", 7),
    key_if(State::has_episodes, P::Watch, &["L"], A::EpisodeBy(1), "episode", "The next episode", 7),
    key_if(State::replays, P::Watch, &["Space"], A::PlayPause, "play/pause", "Play or pause the replay", 2),
    key_if(State::plays_live, P::Watch, &["Space"], A::PlayPause, "pause/go on", "Pause the agent after this step, or let it go on", 2),
    key_if(State::replays, P::Watch, &["."], A::OneStep, "step", "One step, then pause", 3),
    key_if(State::plays_live, P::Watch, &["."], A::OneStep, "step", "Let the agent take one step", 3),
    key(P::Watch, &["+"], A::Faster, "speed", "Faster", 0),
    key(P::Watch, &["-"], A::Slower, "speed", "Slower", 0),
    key(P::Watch, &["="], A::NormalSpeed, "normal speed", "Normal speed", 0),
    key_if(State::can_follow, P::Watch, &["f"], A::Follow, "follow", "Follow the live end, or stay here", 6),
    key_if(State::plays_live, P::Watch, &["t"], A::TakeOver, "take over", "Play in the agent's place, edit its memory, tell it something; all of it is recorded", 6),
    key_if(State::replays, P::Watch, &["t"], A::TakeOver, "take over", "Play in the agent's place: at the live end of a run that is being played", 0),
    // watch: panes
    key(P::Watch, &["Tab"], A::FocusNext, "pane", "The next pane", 7),
    key(P::Watch, &["S-Tab"], A::FocusPrevious, "pane before", "The pane before", 0),
    key(P::Watch, &["z"], A::Zoom, "zoom", "This pane over the whole width, and back", 0),
    key(P::Watch, &["v"], A::View, "view", "Game: the agent's view, the whole map with its trail, the text the model saw", 7),
    key_if(State::has_pictures, P::Watch, &["V"], A::Picture, "pictures", "Game: as pictures, half-blocks, letters, letters without colour", 0),
    key(P::Watch, &["d"], A::Diff, "diff", "Scaffold: its files, or the difference to another one", 0),
    key(P::Watch, &["/"], A::Search, "search", "Search everything in the run", 6),
    key_if(State::has_hits, P::Watch, &["n"], A::HitBy(1), "next match", "The next place that was found", 0),
    key_if(State::has_hits, P::Watch, &["N"], A::HitBy(-1), "match before", "The place before that was found", 0),

    key(P::Watch, &["F"], A::Filter, "filter", "Actions: show only some, such as `op:APPEND phase:LOG`; [ ] go through them", 7),
    key_if(State::has_filter, P::Watch, &["X"], A::ClearFilter, "no filter", "Actions: show everything again", 5),

    key(P::Watch, &["i"], A::Insight, "metrics", "Metrics as of this step, what goes wrong in the run, and what its failures go back to", 7),

    // metrics, findings, faults
    key(P::Insight, &["Enter"], A::Open, "its steps", "Go to the first step that shows it, then to the next", 2),
    key(P::Insight, &["n"], A::HitBy(1), "next step", "The next step that shows it", 4),
    key(P::Insight, &["N"], A::HitBy(-1), "step before", "The step before that shows it", 0),
    key(P::Insight, &["Tab", "S-Tab"], A::Part, "findings/numbers", "Findings and faults, or the numbers", 3),
    key(P::Insight, &["Up", "k"], A::Up, "choose", "The one above", 5),
    key(P::Insight, &["Down", "j"], A::Down, "choose", "The one below", 5),
    key(P::Insight, &["PgUp"], A::PageUp, "page", "A page up", 0),
    key(P::Insight, &["PgDn"], A::PageDown, "page", "A page down", 0),
    key(P::Insight, &["Left", "h"], A::StepBy(-1), "step", "The step before", 6),
    key(P::Insight, &["Right", "l"], A::StepBy(1), "step", "The next step", 6),
    key(P::Insight, &["Esc", "i", "q"], A::Cancel, "close", "Close; what was measured is kept, a look at the run under way ends", 1),

    // panes
    key(P::Game, &["Up", "k"], A::Up, "scroll", "Scroll the text or the map up", 0),
    key(P::Game, &["Down", "j"], A::Down, "scroll", "Scroll the text or the map down", 0),
    key_if(State::shows_map, P::Game, &["<"], A::PanBy(-4), "pan", "The map to the west", 0),
    key_if(State::shows_map, P::Game, &[">"], A::PanBy(4), "pan", "The map to the east", 0),
    key(P::Game, &["PgUp"], A::PageUp, "page", "A page up", 0),
    key(P::Game, &["PgDn"], A::PageDown, "page", "A page down", 0),

    key(P::MemoryTree, &["Enter"], A::Open, "open", "Read the file, or fold the folder", 3),
    key(P::MemoryTree, &["Up", "k"], A::Up, "file", "The file above", 0),
    key(P::MemoryTree, &["Down", "j"], A::Down, "file", "The file below", 0),
    key(P::MemoryTree, &["PgUp"], A::PageUp, "scroll", "Scroll the open file up", 0),
    key(P::MemoryTree, &["PgDn"], A::PageDown, "scroll", "Scroll the open file down", 0),
    key(P::MemoryTree, &["h"], A::Fold, "fold", "Fold the folder", 0),
    key(P::MemoryTree, &["l"], A::Unfold, "unfold", "Unfold the folder", 0),
    key(P::MemoryTree, &["d"], A::MemoryDiff, "diff", "What changed: against the step before, the marked step, the start; then the files again", 4),
    key(P::MemoryTree, &["m"], A::Mark, "mark", "Mark this step, to compare others with it", 0),
    key(P::MemoryTree, &["o"], A::OnlyThis, "its steps", "Actions: show only what touched this file; [ ] go through it", 6),
    key_if(State::plays_live, P::MemoryTree, &["e"], A::EditMemory, "edit", "Edit the open file in VISUAL or EDITOR, while the agent waits; recorded as yours", 6),
    key_if(State::plays_live, P::MemoryFile, &["e"], A::EditMemory, "edit", "Edit the file in VISUAL or EDITOR, while the agent waits; recorded as yours", 6),
    key(P::MemoryFile, &["Esc"], A::Back, "to the files", "Back to the files", 3),
    key(P::MemoryFile, &["Enter"], A::Open, "its step", "Go to the step that wrote this line", 2),
    key(P::MemoryFile, &["r"], A::Readers, "its reads", "The steps that read this line, to go to one", 3),
    key(P::MemoryFile, &["Up", "k"], A::Up, "line", "The line above", 0),
    key(P::MemoryFile, &["Down", "j"], A::Down, "line", "The line below", 0),
    key(P::MemoryFile, &["d"], A::MemoryDiff, "diff", "What changed: against the step before, the marked step, the start; then the file again", 4),
    key(P::MemoryFile, &["m"], A::Mark, "mark", "Mark this step, to compare others with it", 0),
    key(P::MemoryFile, &["o"], A::OnlyThis, "its steps", "Actions: show only what touched this file; [ ] go through it", 6),
    key(P::MemoryFile, &["PgUp"], A::PageUp, "page", "A page up", 0),
    key(P::MemoryFile, &["PgDn"], A::PageDown, "page", "A page down", 0),

    key(P::Actions, &["Enter"], A::Open, "prompt", "The exact prompt and answer of the turn", 3),
    key(P::Actions, &["Up", "k"], A::Up, "row", "The row above; over the top the step before", 0),
    key(P::Actions, &["Down", "j"], A::Down, "row", "The row below; over the end the next step", 0),
    key(P::Actions, &["PgUp"], A::PageUp, "page", "A page up", 0),
    key(P::Actions, &["PgDn"], A::PageDown, "page", "A page down", 0),

    key(P::ScaffoldTree, &["Enter"], A::Open, "open", "Read the file, or fold the folder", 3),
    key(P::ScaffoldTree, &["Up", "k"], A::Up, "file", "The file above", 0),
    key(P::ScaffoldTree, &["Down", "j"], A::Down, "file", "The file below", 0),
    key(P::ScaffoldTree, &["PgUp"], A::PageUp, "scroll", "Scroll the open file up", 0),
    key(P::ScaffoldTree, &["PgDn"], A::PageDown, "scroll", "Scroll the open file down", 0),
    key(P::ScaffoldTree, &["h"], A::Fold, "fold", "Fold the folder", 0),
    key(P::ScaffoldTree, &["l"], A::Unfold, "unfold", "Unfold the folder", 0),
    key(P::ScaffoldFile, &["Esc"], A::Back, "to the files", "Back to the files", 3),
    key(P::ScaffoldFile, &["Up", "k"], A::Up, "scroll", "A line up", 0),
    key(P::ScaffoldFile, &["Down", "j"], A::Down, "scroll", "A line down", 0),
    key(P::ScaffoldFile, &["PgUp"], A::PageUp, "page", "A page up", 0),
    key(P::ScaffoldFile, &["PgDn"], A::PageDown, "page", "A page down", 0),

    key(P::Timeline, &["r"], A::EventKind(Kind::Reward), "rewards", "Events are rewards", 3),
    key(P::Timeline, &["m"], A::EventKind(Kind::Write), "memory writes", "Events are memory writes", 3),
    key(P::Timeline, &["e"], A::EventKind(Kind::Error), "errors", "Events are errors and invalid actions", 3),
    key(P::Timeline, &["a"], A::EventKind(Kind::All), "all", "Events are all of them", 3),

    // the exact prompt and answer
    key(P::Inspector, &["Esc"], A::Back, "close", "Back to the stream", 2),
    key(P::Inspector, &["Enter", "Space"], A::Fold, "fold", "Fold or unfold the part under the cursor", 3),
    key(P::Inspector, &["z"], A::FoldAll, "fold all", "Fold all parts, or unfold them", 6),
    key(P::Inspector, &["["], A::EventBy(-1), "part", "The part before", 0),
    key(P::Inspector, &["]"], A::EventBy(1), "part", "The next part", 0),
    key_if(State::has_hits, P::Inspector, &["n"], A::HitBy(1), "next match", "The next place in this text that was searched for", 0),
    key_if(State::has_hits, P::Inspector, &["N"], A::HitBy(-1), "match before", "The place before in this text that was searched for", 0),
    key(P::Inspector, &["Up", "k"], A::Up, "line", "A line up", 0),
    key(P::Inspector, &["Down", "j"], A::Down, "line", "A line down", 0),
    key(P::Inspector, &["PgUp"], A::PageUp, "page", "A page up", 0),
    key(P::Inspector, &["PgDn"], A::PageDown, "page", "A page down", 0),
    key(P::Inspector, &["Home", "g"], A::Top, "top", "The beginning", 0),
    key(P::Inspector, &["End", "G"], A::Bottom, "end", "The end", 0),
    key(P::Inspector, &["Left", "h"], A::TurnBy(-1), "turn", "The turn before", 4),
    key(P::Inspector, &["Right", "l"], A::TurnBy(1), "turn", "The next turn", 4),
    key(P::Inspector, &["Tab", "S-Tab"], A::Part, "prompt/answer", "Prompt or answer", 5),

    // lists with a filter
    key(P::Picker, &["Enter"], A::Accept, "run", "Run what is selected", 1),
    key(P::Picker, &["Up"], A::Up, "choose", "The one above", 2),
    key(P::Picker, &["Down"], A::Down, "choose", "The one below", 2),
    key(P::Picker, &["PgUp"], A::PageUp, "page", "A page up", 0),
    key(P::Picker, &["PgDn"], A::PageDown, "page", "A page down", 0),
    key(P::Picker, &["Esc"], A::Cancel, "close", "Close", 3),
    key(P::Picker, &["Backspace"], A::Erase, "erase", "Erase a letter", 0),
    key(P::Picker, &["C-w"], A::EraseWord, "erase word", "Erase a word", 0),
    key(P::Picker, &["C-u"], A::EraseAll, "erase all", "Erase all", 0),

    // lines of text
    key(P::Line, &["Enter"], A::Accept, "go", "Do it", 1),
    key(P::Line, &["Esc"], A::Cancel, "leave", "Leave it", 2),
    key(P::Line, &["Backspace"], A::Erase, "erase", "Erase a letter", 0),
    key(P::Line, &["C-w"], A::EraseWord, "erase word", "Erase a word", 0),
    key(P::Line, &["C-u"], A::EraseAll, "erase all", "Erase all", 0),

    // a person plays: letters are typed
    key(P::TakeOver, &["Enter"], A::Accept, "play it", "Play one step with the selected action", 1),
    key(P::TakeOver, &["Esc"], A::Cancel, "give back", "Give the game back to the agent, which waits", 2),
    key(P::TakeOver, &["Tab"], A::Toggle, "walk/list", "Arrows walk at once, or choose from the list", 3),
    key(P::TakeOver, &["C-e"], A::EditMemory, "edit memory", "Edit a memory file in VISUAL or EDITOR, or make a new one; recorded as yours", 4),
    key(P::TakeOver, &["C-t"], A::Tell, "tell", "Tell the agent something in its next prompt", 5),
    key(P::TakeOver, &["Up"], A::Up, "choose", "The action above", 6),
    key(P::TakeOver, &["Down"], A::Down, "choose", "The action below", 6),
    key(P::TakeOver, &["PgUp"], A::PageUp, "page", "A page up", 0),
    key(P::TakeOver, &["PgDn"], A::PageDown, "page", "A page down", 0),
    key(P::TakeOver, &["Backspace"], A::Erase, "erase", "Erase a letter", 0),
    key(P::TakeOver, &["C-w"], A::EraseWord, "erase word", "Erase a word", 0),
    key(P::TakeOver, &["C-u"], A::EraseAll, "erase all", "Erase all", 0),
    key(P::Walk, &["Left"], A::Walk(Side::West), "walk", "Walk one step to the west, or left", 1),
    key(P::Walk, &["Right"], A::Walk(Side::East), "walk", "Walk one step to the east, or right", 1),
    key(P::Walk, &["Up"], A::Walk(Side::North), "walk", "Walk one step to the north, or up", 1),
    key(P::Walk, &["Down"], A::Walk(Side::South), "walk", "Walk one step to the south, or down", 1),

    // questions
    key(P::Confirm, &["y"], A::Yes, "yes", "Yes", 1),
    key(P::Confirm, &["n", "Esc", "q"], A::No, "no", "No", 2),
    key_if(State::asks_to_forget, P::Confirm, &["f"], A::Forget, "forget", "Only take it off the list", 3),
    key_if(State::asks_about_leftovers, P::Confirm, &["x"], A::Remove, "remove", "Remove them for good", 3),
];
