//! The list of runs: the dialog, several runs at once, deleting and undoing, keys that were changed.

use super::*;
use crate::config::KeySetting;
use crate::tui::columns::Column;
use crate::tui::data::{Here, RunState, StartRequest};
use crate::tui::keymap::Keymap;
use crate::tui::overlay::Confirm;

fn list() -> State {
    let mut state = testing::listing((160, 48), testing::entries());
    state.runs.here = Here {
        models: vec!["big".into()],
        adapters: vec!["notes-1".into()],
        worlds: vec!["crafter".into()],
        scaffolds: vec![
            ("crafter-tiny".into(), "crafter".into()),
            ("crafter-v0".into(), "crafter".into()),
        ],
        last: None,
    };
    state
}

/// A run of this process appears, in front or behind.
fn start(state: &mut State, id: u32, name: &str, show: bool) -> Vec<Effect> {
    let path = format!("/home/ada/.automem/runs/{name}").into();
    let (id, paced) = (LiveId(id), true);
    let effects = update(state, Event::Data(Data::Started { id, path, paced, show }));
    settle(state);
    effects
}

fn select(state: &mut State, name: &str) {
    let rows = &state.runs.rows;
    let at = rows
        .iter()
        .position(|row| state.runs.entries[row.entry].path.ends_with(name));
    state.runs.scroll.selected = at.unwrap();
}

fn observed(state: &mut State, id: u32, episode: u32, step: u32) {
    let at = At {
        episode: EpisodeNo(episode),
        step: StepNo(step),
        agent: "agent".into(),
        memory_root: format!("ep_{episode:02}").into(),
    };
    let mut frame = testing::frame(step);
    frame.progression = 3.0 / 22.0;
    let frame = std::sync::Arc::new(frame);
    let bodies = [
        Body::Observed { frame },
        Body::StepFinished {
            reward: 0.0,
            terminated: false,
            truncated: false,
            progression: 3.0 / 22.0,
            state_patch: None,
            ms: 1.0,
        },
    ];
    for body in bodies {
        update(state, Event::Live(LiveId(id), RunEvent { at: at.clone(), body }));
    }
}

#[test]
fn the_dialog_starts_what_is_written_and_keeps_errors() {
    let mut state = list();
    press(&mut state, "n Down Down");
    press(&mut state, "C-u");
    write(&mut state, "openai:some");
    press(&mut state, "Down Right");
    press(&mut state, "Down C-u");
    write(&mut state, "1..x");
    let effects = press(&mut state, "Enter");
    assert!(effects.is_empty(), "{effects:?}");
    let screen = text(&state);
    assert!(screen.contains("`x` is no seed"), "{screen}");
    press(&mut state, "Backspace");
    write(&mut state, "4");
    press(&mut state, "Down Right Down Right Right");
    let effects = press(&mut state, "Enter");
    let wanted = StartRequest {
        world: "crafter".into(),
        scaffold: "crafter-v0".into(),
        model: "openai:some".into(),
        specialist: Some("notes-1".into()),
        seeds: "1..4".into(),
        max_steps: 400,
        workers: 3,
        show: true,
    };
    assert_eq!(effects, [Effect::Start(wanted)]);
    // While it is being started no second one is.
    assert!(press(&mut state, "Enter").is_empty());
    let error = "no model is called openai:some; `automem model list` shows them".to_owned();
    update(&mut state, Event::Data(Data::StartFailed(error)));
    let screen = text(&state);
    assert!(screen.contains("no model is called"), "{screen}");
    insta::assert_snapshot!("form_160x48", screen);
    state.size = (80, 24);
    insta::assert_snapshot!("form_80x24", text(&state));
    // Esc keeps what was written for the next time.
    press(&mut state, "Esc");
    assert!(state.overlays.is_empty());
    press(&mut state, "n");
    assert!(text(&state).contains("openai:some"));
}

#[test]
fn letters_are_typed_in_the_dialog_and_a_model_that_is_not_here_is_fetched() {
    let mut state = list();
    press(&mut state, "n q ? 1");
    assert_eq!(state.screen, Screen::Runs);
    assert!(text(&state).contains("crafterq?1"));
    press(&mut state, "C-w");
    write(&mut state, "crafter");
    press(&mut state, "Tab Tab Left");
    assert!(text(&state).contains("smollm2-135m"));
    let effects = press(&mut state, "C-b");
    assert!(
        matches!(&effects[0], Effect::PullModel(request) if request.scaffold == "crafter-tiny" && !request.show),
        "{effects:?}"
    );
    update(&mut state, Event::Data(Data::Failed("no network; try again".into())));
    let screen = text(&state);
    assert!(screen.contains("✗ no network; try again"), "{screen}");
    assert!(!press(&mut state, "Enter").is_empty(), "the dialog can be tried again");
}

#[test]
fn the_last_choice_is_offered_again() {
    let mut state = list();
    let last = StartRequest {
        world: "crafter".into(),
        scaffold: "crafter-tiny".into(),
        model: "big".into(),
        specialist: None,
        seeds: "7,9".into(),
        max_steps: 77,
        workers: 2,
        show: true,
    };
    state.runs.here.last = Some(last.clone());
    press(&mut state, "n");
    assert_eq!(press(&mut state, "Enter"), [Effect::Start(last)]);
}

#[test]
fn two_runs_play_and_each_is_opened_paused_and_stopped_from_the_list() {
    let mut state = list();
    start(&mut state, 1, "a.db", true);
    assert!(state.opening);
    update(&mut state, Event::Data(Data::Opened(Box::new(testing::opened(3)))));
    press(&mut state, "1");
    start(&mut state, 2, "c.db", false);
    assert_eq!(state.lives().count(), 2);
    assert_eq!(state.live.as_ref().unwrap().id, LiveId(1));
    observed(&mut state, 2, 0, 130);
    update(&mut state, Event::Rates(vec![(LiveId(2), EpisodeNo(0), 85.4)]));
    for entry in &mut state.runs.entries {
        if ["a.db", "c.db"].iter().any(|name| entry.path.ends_with(name)) {
            entry.state = RunState::Running;
            entry.episodes[0].end = None;
        }
    }
    select(&mut state, "c.db");
    let screen = text(&state);
    assert!(screen.contains("131/2000"), "{screen}");
    assert!(screen.contains("● running 85/s"), "{screen}");
    assert!(screen.contains("3/22"), "{screen}");
    insta::assert_snapshot!("runs_live_160x48", screen);
    state.size = (80, 24);
    insta::assert_snapshot!("runs_live_80x24", text(&state));
    state.size = (160, 48);
    assert_eq!(
        press(&mut state, "Space"),
        [Effect::Control(LiveId(2), ControlRequest::Pause)]
    );
    update(&mut state, Event::Control(LiveId(2), ControlView::Paused));
    assert!(text(&state).contains("‖ paused"));
    assert_eq!(
        press(&mut state, "Space"),
        [Effect::Control(LiveId(2), ControlRequest::Resume)]
    );
    // A run that is played cannot be deleted.
    press(&mut state, "d");
    assert!(state.overlays.is_empty());
    assert!(state.message.as_ref().unwrap().text.contains("x stops it first"));
    press(&mut state, "x");
    assert_eq!(
        press(&mut state, "y"),
        [Effect::Control(LiveId(2), ControlRequest::Stop)]
    );
    // The other one comes to the front when it is opened, and both leave when the program does.
    let mut opened = testing::opened(3);
    opened.path = state
        .runs
        .entries
        .iter()
        .find(|entry| entry.path.ends_with("c.db"))
        .unwrap()
        .path
        .clone();
    update(&mut state, Event::Data(Data::Opened(Box::new(opened))));
    assert_eq!(state.live.as_ref().unwrap().id, LiveId(2));
    let effects = press(&mut state, "C-c y");
    for id in [1, 2] {
        assert!(effects.contains(&Effect::Control(LiveId(id), ControlRequest::Leave)));
    }
    update(&mut state, Event::Control(LiveId(1), ControlView::Finished));
    assert!(state.behind.is_empty());
}

#[test]
fn going_to_an_episode_that_plays_says_how_it_stands_and_follows_it() {
    let mut state = live((160, 48));
    let mut second = state.watch.as_ref().unwrap().episodes[0].clone();
    (second.episode, second.seed) = (EpisodeNo(1), 43);
    state.watch.as_mut().unwrap().episodes.push(second);
    observed(&mut state, 0, 1, 130);
    update(&mut state, Event::Rates(vec![(LiveId(0), EpisodeNo(1), 12.0)]));
    let effects = press(&mut state, "L");
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Open { episode, .. } if *episode == EpisodeNo(1)))
    );
    let said = "episode 2 of 2: seed 43, step 131 of 2000, 14%, 12 steps/s";
    assert_eq!(state.message.as_ref().unwrap().text, said);
    let mut opened = testing::opened(3);
    opened.timeline.episode = EpisodeNo(1);
    opened.timeline.finished = false;
    opened.step = None;
    opened.path = state.watch.as_ref().unwrap().path.clone();
    update(&mut state, Event::Data(Data::Opened(Box::new(opened))));
    settle(&mut state);
    assert!(state.watch.as_ref().unwrap().follow);
    assert!(text(&state).contains(said));
}

#[test]
fn what_happens_behind_the_open_run_draws_nothing() {
    let mut state = live((160, 48));
    state
        .behind
        .push(LiveRun::new("/elsewhere/b.db".into(), true).numbered(LiveId(7)));
    state.redraw = false;
    observed(&mut state, 7, 0, 1);
    assert!(!state.redraw);
    assert_eq!(state.behind[0].episodes[&EpisodeNo(0)].steps, 2);
}

#[test]
fn deleting_asks_and_is_undone() {
    let mut state = list();
    press(&mut state, "d");
    let screen = text(&state);
    assert!(
        screen.contains("Delete a.db?") && screen.contains("y delete it"),
        "{screen}"
    );
    assert!(press(&mut state, "n").is_empty());
    assert_eq!(state.runs.entries.len(), 4);
    let path = state.runs.entries[0].path.clone();
    assert_eq!(press(&mut state, "d y"), [Effect::Delete(path.clone())]);
    let deleted = Data::Deleted {
        path: path.clone(),
        deleted: 1,
    };
    let effects = update(&mut state, Event::Data(deleted));
    assert_eq!(effects, [Effect::ListRuns]);
    assert_eq!(state.runs.entries.len(), 3);
    assert!(text(&state).contains("u brings it back"));
    assert!(text(&state).contains("1 deleted"));
    assert_eq!(press(&mut state, "u"), [Effect::Undo]);
    update(&mut state, Event::Data(Data::Restored { path, deleted: 0 }));
    assert!(state.message.as_ref().unwrap().text.contains("a.db is back"));
    assert!(press(&mut state, "u").is_empty());
}

#[test]
fn deleting_the_open_run_closes_it() {
    let mut state = list();
    update(&mut state, Event::Data(Data::Opened(Box::new(testing::opened(3)))));
    let path = state.watch.as_ref().unwrap().path.clone();
    press(&mut state, "1");
    let effects = update(
        &mut state,
        Event::Data(Data::Deleted {
            path: path.clone(),
            deleted: 1,
        }),
    );
    assert!(effects.contains(&Effect::Close(path)));
    assert!(state.watch.is_none());
    press(&mut state, "2");
    assert_eq!(state.screen, Screen::Runs);
}

#[test]
fn a_run_elsewhere_may_only_be_forgotten() {
    let mut state = list();
    state.runs.entries[0].elsewhere = true;
    let path = state.runs.entries[0].path.clone();
    press(&mut state, "d");
    let screen = text(&state);
    assert!(
        screen.contains("or only forget it?") && screen.contains("f only forget it"),
        "{screen}"
    );
    insta::assert_snapshot!("delete_elsewhere_160x48", screen);
    assert_eq!(press(&mut state, "f"), [Effect::Forget(path.clone())]);
    update(&mut state, Event::Data(Data::Forgotten(path)));
    assert!(text(&state).contains("a.db is forgotten"));
    assert_eq!(state.runs.deleted, 0);
}

#[test]
fn leftovers_are_offered_and_no_key_typed_before_answers() {
    let mut state = list();
    let left = vec!["/w/runs/x.db".into(), "/w/runs/y.db".into()];
    update(&mut state, Event::Data(Data::Leftovers(left)));
    assert!(state.overlays.is_empty());
    assert!(text(&state).contains("2 deleted runs are left in the trash: u says which"));
    press(&mut state, "u");
    let screen = text(&state);
    assert!(
        screen.contains("x.db, y.db") && screen.contains("x remove them for good"),
        "{screen}"
    );
    assert!(press(&mut state, "Esc").is_empty());
    assert_eq!(press(&mut state, "u x"), [Effect::Leftovers { restore: false }]);
    assert_eq!(press(&mut state, "u y"), [Effect::Leftovers { restore: true }]);
}

#[test]
fn a_run_that_was_interrupted_is_resumed() {
    let mut state = list();
    assert!(press(&mut state, "r").is_empty());
    select(&mut state, "c.db");
    assert!(matches!(&press(&mut state, "r")[..], [Effect::Resume(path)] if path.ends_with("c.db")));
}

#[test]
fn columns_are_chosen() {
    let mut state = list();
    press(&mut state, "c Space Down Space");
    assert!(!state.runs.columns.contains(&Column::Began) && !state.runs.columns.contains(&Column::World));
    press(&mut state, "Esc");
    let heading = |state: &State| text(state).lines().nth(2).unwrap_or_default().to_owned();
    assert!(heading(&state).starts_with("│   seed "), "{}", heading(&state));
    press(&mut state, "c a Esc");
    assert!(heading(&state).starts_with("│ began "), "{}", heading(&state));
    for _ in 0..20 {
        press(&mut state, "c Space Down Esc");
    }
    assert!(text(&state).contains("Runs"));
}

#[test]
fn episodes_of_a_run_unfold() {
    let mut state = list();
    select(&mut state, "b.db");
    press(&mut state, "l");
    insta::assert_snapshot!("runs_unfolded_160x48", text(&state));
    press(&mut state, "j j");
    let effects = press(&mut state, "Enter");
    assert!(matches!(&effects[0], Effect::Open { episode, .. } if *episode == EpisodeNo(1)));
    press(&mut state, "h");
    assert_eq!(state.runs.rows.len(), 4);
}

#[test]
fn changed_keys_work_and_the_help_shows_them() {
    let mut state = list();
    let changes = [
        KeySetting::for_test("runs", "new-run", &["F9"]),
        KeySetting::for_test("runs", "delete", &[]),
        KeySetting::for_test("global", "help", &["F1"]),
        KeySetting::for_test("global", "show-runs", &["1"]),
        KeySetting::for_test("question", "yes", &["j"]),
    ];
    state.keymap = Keymap::with(&changes).unwrap();
    let hints = text(&state);
    assert!(hints.contains("F9 new run") && hints.contains("F1 keys"), "{hints}");
    assert!(!hints.contains("n new run"));
    press(&mut state, "n");
    assert!(state.overlays.is_empty());
    assert!(press(&mut state, "d").is_empty() && state.overlays.is_empty());
    press(&mut state, "F1");
    let help = text(&state);
    assert!(help.contains("F9") && !help.contains("Delete the run"), "{help}");
    press(&mut state, "Esc :");
    write(&mut state, "new run");
    press(&mut state, "Esc F9");
    assert!(matches!(state.overlays.last(), Some(Overlay::Form(_))));
    press(&mut state, "Esc");
    state
        .overlays
        .push(Overlay::Confirm(Confirm::DeleteRun("/w/a.db".into())));
    assert!(text(&state).contains("j delete it"));
    assert_eq!(press(&mut state, "j"), [Effect::Delete("/w/a.db".into())]);
}
