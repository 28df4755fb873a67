//! Taking over: the panel and what its keys ask for.

use super::*;
use crate::tui::data::EditRequest;
use crate::tui::take_over::{EditOutcome, Edited, Side, Standing};
use crate::types::{Action, MemoryChange};

/// A live run that is paused between two steps, with the panel open.
fn taken(size: (u16, u16)) -> State {
    let mut state = live(size);
    let effects = press(&mut state, "t");
    assert!(
        effects.contains(&Effect::Control(LiveId(0), ControlRequest::Pause)),
        "{effects:?}"
    );
    assert_eq!(Standing::of(&state), Standing::Plays);
    update(&mut state, Event::Control(LiveId(0), ControlView::Paused));
    settle(&mut state);
    assert_eq!(Standing::of(&state), Standing::Waits(StepNo(3)));
    state
}

fn acts(effects: &[Effect]) -> Vec<&str> {
    let acts = effects.iter().filter_map(|effect| match effect {
        Effect::Act(LiveId(0), EpisodeNo(0), action) => Some(&*action.0),
        _ => None,
    });
    acts.collect()
}

fn request(state: &mut State, keys: &str) -> EditRequest {
    let effects = press(state, keys);
    let asked = effects.into_iter().find_map(|effect| match effect {
        Effect::Edit(request) => Some(request),
        _ => None,
    });
    asked.expect("an edit is asked for")
}

fn said(state: &State) -> String {
    state
        .message
        .as_ref()
        .map(|message| message.text.clone())
        .unwrap_or_default()
}

#[test]
fn the_panel_at_both_sizes() {
    let mut state = taken((80, 24));
    insta::assert_snapshot!("take_over_80x24", text(&state));
    press(&mut state, "Tab");
    assert!(text(&state).contains("arrows walk"));
    let mut state = taken((160, 48));
    press(&mut state, "C-t");
    write(&mut state, "mind the lava");
    press(&mut state, "Enter");
    insta::assert_snapshot!("take_over_160x48", text(&state));
    press(&mut state, "C-e");
    insta::assert_snapshot!("take_over_files_160x48", text(&state));
    for (columns, rows) in [
        (60, 16),
        (80, 17),
        (100, 32),
        (200, 60),
        (400, 150),
        (59, 16),
        (1, 1),
        (80, 24),
    ] {
        update(&mut state, Event::Resize(columns, rows));
        settle(&mut state);
        press(&mut state, "Down");
        drawn(&state);
    }
    press(&mut state, "Esc");
    assert!(text(&state).contains("your move"));
}

#[test]
fn enter_plays_one_step_and_waits_for_its_end() {
    let mut state = taken((80, 24));
    write(&mut state, "east");
    assert_eq!(acts(&press(&mut state, "Enter")), ["Move East"]);
    assert_eq!(Standing::of(&state), Standing::Finishes(StepNo(3)));
    assert!(acts(&press(&mut state, "Enter")).is_empty(), "one step at a time");
    assert!(said(&state).contains("step 3 is still being played"));
    // The step is committed, and the next one is seen.
    for body in testing::events(3) {
        tell(&mut state, body);
    }
    assert_eq!(Standing::of(&state), Standing::Waits(StepNo(4)));
    press(&mut state, "C-u Tab");
    assert_eq!(acts(&press(&mut state, "Right")), ["Move East"]);
    press(&mut state, "Esc");
    assert!(state.overlays.is_empty() && said(&state).contains("lets it go on"));
    assert!(press(&mut state, "Space").contains(&Effect::Control(LiveId(0), ControlRequest::Resume)));
}

#[test]
fn what_cannot_be_played_says_why() {
    let mut state = taken((80, 24));
    write(&mut state, "fly");
    assert!(acts(&press(&mut state, "Enter")).is_empty());
    assert!(said(&state).contains("`fly`"));
    press(&mut state, "Tab");
    assert!(acts(&press(&mut state, "Up")).is_empty(), "this world knows no north");
    assert!(said(&state).contains("no action that walks there"));
    assert_eq!(
        Side::East.action(&[Action::from("Move East")]),
        Some(&Action::from("Move East"))
    );
    // The agent goes on, or the run is over, while the panel is open.
    update(&mut state, Event::Control(LiveId(0), ControlView::Running));
    press(&mut state, "Tab C-u");
    assert!(acts(&press(&mut state, "Enter")).is_empty() && said(&state).contains("pause it first"));
    let end = crate::types::EndReason::Terminated;
    tell(&mut state, Body::EpisodeFinished { end });
    update(&mut state, Event::Control(LiveId(0), ControlView::Finished));
    settle(&mut state);
    assert!(text(&state).contains("the episode is over"));
    assert!(acts(&press(&mut state, "Enter")).is_empty() && said(&state).contains("nothing more"));
    press(&mut state, "C-e C-t");
    assert_eq!(state.overlays.len(), 1, "nothing can be edited or said");
    press(&mut state, "Esc");
    assert!(state.overlays.is_empty());
}

#[test]
fn a_recording_and_the_past_cannot_be_taken_over() {
    let mut state = testing::watching((80, 24), 60, 23);
    assert!(press(&mut state, "t").is_empty());
    assert!(state.overlays.is_empty() && said(&state).contains("run is over"));
    state.watch.as_mut().unwrap().finished = false;
    press(&mut state, "t");
    assert!(said(&state).contains("resume it"));
    let mut state = live((80, 24));
    press(&mut state, "Home t");
    assert!(said(&state).contains("End goes to the live end"), "{}", said(&state));
    assert!(state.overlays.is_empty());
}

#[test]
fn an_edit_shows_at_once_and_until_it_is_recorded() {
    let mut state = taken((160, 48));
    let asked = request(&mut state, "C-e Enter");
    let of = crate::tui::effects::EditOf::Memory(LiveId(0), EpisodeNo(0));
    assert_eq!((asked.path.as_str(), &asked.of), ("notes/map.txt", &of));
    assert!(asked.root.ends_with("crafter-42.memory/ep_00"), "{asked:?}");
    let edited = |request: &EditRequest, outcome| {
        Event::Data(Data::Edited(Box::new(Edited {
            request: request.clone(),
            outcome,
            trouble: None,
        })))
    };
    let text_now = "the lake is south\n";
    let effects = update(&mut state, edited(&asked, EditOutcome::Saved(text_now.into())));
    assert_eq!(effects, [Effect::TakeBack]);
    settle(&mut state);
    let screen = text(&state);
    assert!(
        screen.contains("the lake is south") && screen.contains("edit◆"),
        "{screen}"
    );
    assert!(screen.contains("recorded next step"), "{screen}");
    press(&mut state, "Esc q");
    assert!(
        said(&state).contains("edit of notes/map.txt is not recorded"),
        "{}",
        said(&state)
    );
    press(&mut state, "n t");
    let before = testing::memory(2).files["notes/map.txt"].text.clone();
    let change = MemoryChange::between("notes/map.txt", Some(&before), Some(text_now)).unwrap();
    tell(&mut state, Body::HumanEdited { changes: vec![change] });
    settle(&mut state);
    let screen = text(&state);
    assert!(
        screen.contains("the lake is south") && !screen.contains("recorded next step"),
        "{screen}"
    );
    assert!(screen.contains("◆ a person edited notes/map.txt"), "{screen}");
    // What could not be taken changes nothing.
    let why = "it is no UTF-8 text".to_owned();
    let kept = "/x/goals.txt.not-taken~".into();
    update(&mut state, edited(&asked, EditOutcome::Refused { why, kept }));
    assert!(said(&state).contains("goals.txt.not-taken~") && said(&state).contains("UTF-8"));
}

#[test]
fn a_new_file_needs_a_name_that_memory_can_have() {
    let mut state = taken((80, 24));
    press(&mut state, "C-e");
    write(&mut state, "../x.txt");
    assert!(press(&mut state, "Enter").is_empty());
    assert!(said(&state).contains("leave the memory directory"), "{}", said(&state));
    press(&mut state, "C-e");
    write(&mut state, "12");
    assert_eq!(request(&mut state, "Enter").path, "12", "a number is a name here");
    // The file that is open, from its pane.
    press(&mut state, "Esc Tab");
    assert_eq!(request(&mut state, "e").path, "notes/map.txt");
}

#[test]
fn what_is_said_waits_until_it_went_out() {
    let mut state = taken((160, 48));
    press(&mut state, "C-t");
    write(&mut state, "mind the lava");
    let effects = press(&mut state, "Enter");
    let said_it = Effect::Say(LiveId(0), EpisodeNo(0), "mind the lava".into());
    assert!(effects.contains(&said_it), "{effects:?}");
    assert!(text(&state).contains("“mind the lava” · next prompt"));
    press(&mut state, "C-t");
    write(&mut state, "mind the lava");
    assert!(!press(&mut state, "Enter").contains(&said_it), "it waits already");
    tell(
        &mut state,
        Body::HumanSaid {
            text: "mind the lava".into(),
        },
    );
    settle(&mut state);
    let screen = text(&state);
    assert!(
        !screen.contains("· next prompt") && screen.contains("◆ a person says: mind the lava"),
        "{screen}"
    );
}

#[test]
fn what_a_scaffold_does_reads_well_in_the_stream() {
    let mut state = testing::watching((160, 48), 60, 23);
    let mut record = testing::record(23);
    let mut kept = record.events.iter_mut().filter_map(|body| match body {
        Body::MemoryOp { op } => Some(op),
        _ => None,
    });
    let op = kept.next().unwrap();
    (op.op, op.by) = ("UPKEEP".into(), crate::types::Author::Scaffold);
    op.args = vec!["map.txt".into()];
    record.events.push(Body::ActionRejected {
        raw: "Sleep".into(),
        reason: "not while a zombie is near".into(),
    });
    record.events.push(Body::HookFailed {
        hook: "after_log".into(),
        message: "hooks.star:12:3: no such key".into(),
    });
    let watch = state.watch.as_mut().unwrap();
    watch.records.put(StepNo(23), std::sync::Arc::new(record), StepNo(23));
    let screen = text(&state);
    for words in [
        "UPKEEP map.txt by the scaffold",
        "✗ rejected `Sleep`: not while a zombie is near",
        "✗ hook after_log failed: hooks.star:12:3",
    ] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
}

#[test]
fn the_script_of_a_scaffold_shows_what_it_changed() {
    let mut state = testing::watching((160, 48), 60, 23);
    let mut record = testing::record(23);
    for body in &mut record.events {
        if let Body::StepFinished { state_patch, .. } = body {
            *state_patch = Some(serde_json::json!({"set": {"seen": 3, "place": [1, 2]}, "unset": ["goal"]}));
        }
    }
    let watch = state.watch.as_mut().unwrap();
    watch.records.put(StepNo(23), std::sync::Arc::new(record), StepNo(23));
    let rows = crate::tui::stream::rows_of(watch, StepNo(23));
    let row = rows
        .iter()
        .position(|row| matches!(row.row, crate::tui::stream::Row::Script(3, _)));
    watch.actions.row = row.expect("a row of the script");
    press(&mut state, "Tab Tab");
    assert!(text(&state).contains("3 values"), "{}", text(&state));
    press(&mut state, "Enter");
    let screen = text(&state);
    assert!(
        screen.contains("What step 23 changed") && screen.contains("[1,2]") && screen.contains("gone"),
        "{screen}"
    );
}

#[test]
fn a_specialist_is_chosen_from_the_list_by_name_or_from_the_palette() {
    let mut state = live((160, 48));
    state.runs.here.adapters = vec!["notes-1".into(), "notes-2".into()];
    let effects = press(&mut state, "S");
    assert!(effects.contains(&Effect::ListRuns), "{effects:?}");
    let screen = text(&state);
    assert!(screen.contains("notes-2: an adapter of the workspace"), "{screen}");
    let asks = |name: Option<&str>| Effect::Exchange(LiveId(0), name.map(str::to_owned));
    assert_eq!(press(&mut state, "Down Enter"), [asks(Some("notes-1"))]);
    press(&mut state, "S");
    write(&mut state, "openai:big");
    assert!(text(&state).contains("Take openai:big as the memory specialist"));
    assert_eq!(press(&mut state, "Enter"), [asks(Some("openai:big"))]);
    for (typed, wanted) in [
        ("specialist notes-2", Some("notes-2")),
        ("specialist none", None),
        ("specialist a/b.gguf", Some("a/b.gguf")),
    ] {
        press(&mut state, ":");
        write(&mut state, typed);
        assert_eq!(press(&mut state, "Enter"), [asks(wanted)], "{typed}");
    }
    // What is loaded meanwhile shows, and what came of it.
    let what = "loading notes-2".to_owned();
    let (done, total) = (0, 0);
    update(&mut state, Event::Data(Data::Progress { what, done, total }));
    assert!(text(&state).contains("loading notes-2"));
    update(
        &mut state,
        Event::Data(Data::Exchanged("notes-2 is the memory specialist".into())),
    );
    assert!(state.job.is_none() && said(&state).starts_with("notes-2 is"));
    // A run that nobody plays has nothing to exchange.
    let mut replay = testing::watching((160, 48), 6, 3);
    assert!(press(&mut replay, "S").is_empty());
    press(&mut replay, ":");
    write(&mut replay, "specialist notes-2");
    assert!(press(&mut replay, "Enter").is_empty());
}
