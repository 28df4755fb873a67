//! Stable names of places and actions: what `config.toml` and `automem config keys` write.
//!
//! A name stays when keys, labels or the order of the table change.

use super::{Action, Kind, Place, Screen};

impl Place {
    /// Its name in `config.toml`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Global => "global",
            Self::Runs => "runs",
            Self::Start => "start",
            Self::Form => "new-run",
            Self::Columns => "columns",
            Self::Watch => "watch",
            Self::Game => "game",
            Self::MemoryTree => "memory-files",
            Self::MemoryFile => "memory-file",
            Self::Actions => "actions",
            Self::ScaffoldTree => "scaffold-files",
            Self::ScaffoldFile => "scaffold-file",
            Self::Timeline => "timeline",
            Self::Inspector => "prompt",
            Self::Picker => "list",
            Self::Line => "text",
            Self::Confirm => "question",
        }
    }
}

impl Action {
    /// Its name in `config.toml`.
    pub(crate) fn name(self) -> &'static str {
        let way = |by: i32, back: &'static str, on: &'static str| if by < 0 { back } else { on };
        match self {
            Self::Quit => "quit",
            Self::Back => "back",
            Self::Suspend => "suspend",
            Self::Redraw => "redraw",
            Self::ClearFilter => "clear-filter",
            Self::OnlyThis => "only-this",
            Self::Readers => "readers",
            Self::MemoryDiff => "memory-diff",
            Self::Mark => "mark",
            Self::FoldAll => "fold-all",
            Self::Help => "help",
            Self::Palette => "command",
            Self::Show(Screen::Runs) => "show-runs",
            Self::Show(Screen::Watch) => "show-watch",
            Self::Copy => "copy",
            Self::SaveScreen => "save-screen",
            Self::NextTheme => "next-theme",
            Self::Up => "up",
            Self::Down => "down",
            Self::PageUp => "page-up",
            Self::PageDown => "page-down",
            Self::Top => "top",
            Self::Bottom => "bottom",
            Self::Open => "open",
            Self::NewRun => "new-run",
            Self::Filter => "filter",
            Self::Sort => "sort",
            Self::Reload => "reload",
            Self::Columns => "columns",
            Self::Toggle => "toggle",
            Self::StopRun => "stop-run",
            Self::ResumeRun => "resume-run",
            Self::Delete => "delete",
            Self::Undo => "undo",
            Self::Sample => "sample",
            Self::ChoiceBy(by) => way(by, "choice-back", "choice-on"),
            Self::Background => "background",
            Self::Forget => "forget",
            Self::Remove => "remove",
            Self::FocusNext => "next-pane",
            Self::FocusPrevious => "previous-pane",
            Self::StepBy(by) => way(by, "step-back", "step-on"),
            Self::EpisodeBy(by) => way(by, "episode-back", "episode-on"),
            Self::First => "first",
            Self::Last => "last",
            Self::EventBy(by) => way(by, "event-back", "event-on"),
            Self::EventKind(Kind::All) => "all-events",
            Self::EventKind(Kind::Reward) => "reward-events",
            Self::EventKind(Kind::Write) => "write-events",
            Self::EventKind(Kind::Error) => "error-events",
            Self::PlayPause => "play-pause",
            Self::OneStep => "one-step",
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NormalSpeed => "normal-speed",
            Self::Follow => "follow",
            Self::Search => "search",
            Self::HitBy(by) => way(by, "match-back", "match-on"),
            Self::View => "view",
            Self::Picture => "pictures",
            Self::PanBy(by) => way(by, "map-west", "map-east"),
            Self::Zoom => "zoom",
            Self::Diff => "diff",
            Self::Fold => "fold",
            Self::Unfold => "unfold",
            Self::TurnBy(by) => way(by, "turn-back", "turn-on"),
            Self::Part => "part",
            Self::Cancel => "cancel",
            Self::Accept => "accept",
            Self::Erase => "erase",
            Self::EraseWord => "erase-word",
            Self::EraseAll => "erase-all",
            Self::Yes => "yes",
            Self::No => "no",
        }
    }
}
