//! The Memory and Actions panes: filter, places of a search, folded prompts, lines and their steps,
//! differences, heat, edits from outside.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::analysis::Heat;
use crate::tui::data::{BlameLine, BlameView, FilterNews, Place as Hit};
use crate::tui::filter::{Filter, Match};
use crate::tui::inspector::Part;
use crate::tui::memory_diff::{Against, compare};
use crate::tui::stream::{self, Row};
use crate::types::{Digest, StepRecord};

fn tell_data(state: &mut State, data: Data) -> Vec<Effect> {
    let mut effects = update(state, Event::Data(data));
    effects.extend(settle(state));
    effects
}

/// A run of 60 steps, filtered; every fifth step matches.
fn filtered(size: (u16, u16), words: &str) -> State {
    let mut state = testing::watching(size, 60, 23);
    press(&mut state, "Tab Tab F");
    write(&mut state, words);
    let effects = press(&mut state, "Enter");
    let filter = Filter::parse(words).unwrap();
    assert!(
        matches!(&effects[..], [Effect::Filter { filter: asked, .. }] if *asked == filter),
        "{effects:?}"
    );
    assert!(text(&state).contains("looking through the run"));
    let matches = (0..60).step_by(5).map(|step| Match {
        episode: EpisodeNo(0),
        step: StepNo(step),
    });
    let news = FilterNews::Found {
        filter,
        matches: matches.collect(),
        seen: BTreeMap::from([(EpisodeNo(0), StepNo(60))]),
    };
    tell_data(&mut state, Data::Filter(news));
    state
}

#[test]
fn a_filter_shows_only_what_matches_and_leads_from_match_to_match() {
    let mut state = filtered((80, 24), "op:APPEND");
    assert!(text(&state).contains("– of 12 steps"), "{}", text(&state));
    assert!(text(&state).contains("nothing here that the filter shows") || cursor(&state) == 23);
    press(&mut state, "]");
    assert_eq!(cursor(&state), 25);
    insta::assert_snapshot!("filter_80x24", text(&state));
    press(&mut state, "] [ [");
    assert_eq!(cursor(&state), 20);
    // Rows lead to the next match, too.
    press(&mut state, "j");
    assert_eq!(cursor(&state), 25);
    press(&mut state, "k k");
    assert_eq!(cursor(&state), 15);
    let watch = state.watch.as_ref().unwrap();
    let rows = stream::rows_of(watch, StepNo(15));
    assert!(matches!(&rows[..], [only] if matches!(only.row, Row::Op(op) if op.op == "APPEND")));
    press(&mut state, "End ]");
    assert!(state.message.as_ref().unwrap().text.contains("nothing after"));
    let effects = press(&mut state, "X");
    assert!(effects.contains(&Effect::CancelFilter), "{effects:?}");
    assert!(state.watch.as_ref().unwrap().filtering.is_none());
}

#[test]
fn a_filter_at_160_by_48() {
    let mut state = filtered((160, 48), "phase:PLAN role:agent");
    press(&mut state, "]");
    insta::assert_snapshot!("filter_160x48", text(&state));
    press(&mut state, "Esc");
    assert!(!state.has_filter(), "Esc in the stream shows everything again");
}

#[test]
fn what_is_no_filter_goes_back_to_be_mended() {
    let mut state = testing::watching((80, 24), 60, 23);
    press(&mut state, "F");
    write(&mut state, "outcome:bad");
    assert!(press(&mut state, "Enter").is_empty());
    assert!(state.message.as_ref().unwrap().text.contains("refused"));
    assert!(state.overlays.is_empty());
    press(&mut state, "F");
    assert!(matches!(state.overlays.last(), Some(Overlay::Line(line)) if line.text == "outcome:bad"));
    press(&mut state, "C-u Enter");
    assert!(state.overlays.is_empty() && !state.has_filter());
}

#[test]
fn a_filter_keeps_up_with_a_run_that_grows() {
    let mut state = filtered((80, 24), "op:APPEND");
    let watch = state.watch.as_mut().unwrap();
    watch.marks.push(testing::mark(60));
    let effects = settle(&mut state);
    let sift = effects.iter().find_map(|effect| match effect {
        Effect::Sift { steps, filter, .. } => Some((steps.clone(), filter.clone())),
        _ => None,
    });
    let (steps, filter) = sift.expect("new steps are looked at");
    assert_eq!(steps, StepNo(60)..StepNo(61));
    assert!(
        !settle(&mut state)
            .iter()
            .any(|effect| matches!(effect, Effect::Sift { .. })),
        "once"
    );
    let (episode, step) = (EpisodeNo(0), StepNo(60));
    let news = FilterNews::More {
        filter,
        matches: vec![Match { episode, step }],
        episode,
        seen: StepNo(61),
    };
    tell_data(&mut state, Data::Filter(news));
    assert_eq!(
        state.watch.as_ref().unwrap().filtering.as_ref().unwrap().matches.len(),
        13
    );
}

#[test]
fn matches_far_away_are_loaded() {
    let mut state = filtered((80, 24), "op:APPEND");
    let watch = state.watch.as_mut().unwrap();
    watch.marks = (0..100_000).map(testing::mark).collect();
    watch.episodes[0].steps = 100_000;
    let matches = (0..100).map(|n| Match {
        episode: EpisodeNo(0),
        step: StepNo(n * 1000),
    });
    watch.filtering.as_mut().unwrap().matches = matches.collect();
    watch.asked = None;
    let effects = press(&mut state, "]");
    assert_eq!(cursor(&state), 1000);
    let load = effects.iter().find_map(|effect| match effect {
        Effect::Load(request) => Some(request),
        _ => None,
    });
    let around = &load.expect("steps are loaded").around;
    assert!(
        around.contains(&(2000..2001)) && around.contains(&(9000..9001)),
        "{around:?}"
    );
}

fn hit(step: u32, event: usize, what: &str) -> Hit {
    Hit {
        episode: EpisodeNo(0),
        step: StepNo(step),
        event,
        what: what.to_owned(),
    }
}

#[test]
fn every_step_of_n_leads_to_another_row() {
    let mut state = testing::watching((80, 24), 60, 22);
    press(&mut state, "Tab Tab /");
    write(&mut state, "tree");
    press(&mut state, "Enter");
    // Observation, LOG turn (prompt and answer), APPEND (arguments and result) of step 23.
    let hits = vec![
        hit(23, 0, "observation: a tree"),
        hit(23, 1, "LOG prompt 0: a tree"),
        hit(23, 1, "LOG response 0: a tree"),
        hit(23, 2, "LOG APPEND arguments: a tree"),
        hit(23, 2, "LOG APPEND result: a tree"),
        hit(24, 1, "LOG prompt 0: a tree"),
    ];
    tell_data(&mut state, Data::Search(SearchNews::Found(hits)));
    let place = |state: &State| {
        let watch = state.watch.as_ref().unwrap();
        let rows = stream::rows_of(watch, watch.cursor);
        (watch.cursor.0, watch.actions.row, rows[watch.actions.row].event)
    };
    assert_eq!(place(&state), (23, 0, Some(0)));
    assert!(text(&state).contains("observation: a tree"), "{}", text(&state));
    press(&mut state, "n");
    assert_eq!(place(&state), (23, 0, Some(1)));
    assert!(state.message.as_ref().unwrap().text.starts_with("2 of 4: step 23"));
    press(&mut state, "n");
    assert_eq!(place(&state), (23, 1, Some(2)));
    press(&mut state, "n");
    assert_eq!(place(&state), (24, 0, Some(1)));
    press(&mut state, "N");
    assert_eq!(place(&state), (23, 1, Some(2)));
    // What was searched for is marked wherever it shows.
    let theme = testing::theme();
    let marked = drawn(&state);
    let ground = theme.matched().bg;
    let cells = marked.content().iter().filter(|cell| Some(cell.bg) == ground).count();
    assert!(cells >= 4, "{cells}");
}

#[test]
fn an_opened_prompt_begins_at_the_place_that_was_found() {
    let mut state = testing::watching((80, 24), 60, 22);
    press(&mut state, "Tab Tab /");
    write(&mut state, "keep notes");
    press(&mut state, "Enter");
    tell_data(
        &mut state,
        Data::Search(SearchNews::Found(vec![hit(23, 1, "LOG prompt 0")])),
    );
    press(&mut state, "Enter");
    let Some(Overlay::Inspector(inspector)) = state.overlays.last() else {
        panic!("the inspector is open");
    };
    assert_eq!(inspector.part, Part::Prompt);
    let row = inspector.prompt.document().row_text(inspector.scroll[0].selected);
    assert!(row.contains("keep notes"), "{row}");
    press(&mut state, "n");
    press(&mut state, "Esc");
}

#[test]
fn parts_of_a_prompt_fold() {
    let mut state = testing::watching((160, 48), 60, 23);
    press(&mut state, "Tab Tab Enter Tab");
    insta::assert_snapshot!("inspector_160x48", text(&state));
    let shows = |state: &State, what: &str| text(state).contains(what);
    assert!(shows(&state, "▸ system") && !shows(&state, "You play Crafter and"));
    press(&mut state, "g Space");
    assert!(shows(&state, "▾ system") && shows(&state, "You play Crafter and"));
    press(&mut state, "Enter");
    assert!(!shows(&state, "You play Crafter and"));
    press(&mut state, "z");
    assert!(!shows(&state, "Write what you want to remember"));
    press(&mut state, "z");
    assert!(shows(&state, "You play Crafter and") && shows(&state, "Write what you want to remember"));
    press(&mut state, "]");
    let Some(Overlay::Inspector(inspector)) = state.overlays.last() else {
        panic!("the inspector is open");
    };
    assert_eq!(inspector.prompt.section_at(inspector.scroll[0].selected), 1);
}

fn heat(steps: u32) -> Data {
    let mut heat = Heat::default();
    testing::episode_events(steps).iter().for_each(|event| heat.push(event));
    Data::Heat {
        episode: EpisodeNo(0),
        upto: StepNo(steps),
        heat: Arc::new(heat),
    }
}

/// Line `n` of the map was written at step `n + 1` and read twice since.
fn blame(step: u32) -> Data {
    let lines = (1..=step).map(|line| BlameLine {
        step: Some(StepNo(line)),
        by: 'L',
        reads: 2,
        read_at: vec![(line + 1, line + 2)],
    });
    Data::Blame(Box::new(BlameView {
        episode: EpisodeNo(0),
        step: StepNo(step),
        path: "notes/map.txt".into(),
        lines: lines.collect(),
    }))
}

#[test]
fn a_line_leads_to_its_step_and_to_those_that_read_it() {
    let mut state = testing::watching((80, 24), 60, 23);
    press(&mut state, "Tab j j Enter");
    tell_data(&mut state, blame(23));
    press(&mut state, "Enter");
    assert!(state.message.as_ref().unwrap().text.contains("this step, 23, wrote"));
    press(&mut state, "k k k r");
    let Some(Overlay::Steps(title, _)) = state.overlays.last() else {
        panic!("the steps that read the line are listed: {:?}", state.message);
    };
    assert!(title.starts_with("2 reads of `20: went east"), "{title}");
    assert!(text(&state).contains("step 22") && text(&state).contains("step 21"));
    press(&mut state, "Enter");
    assert_eq!(cursor(&state), 22);
    tell_data(&mut state, blame(22));
    press(&mut state, "k k Enter");
    let said = state.message.as_ref().unwrap().text.clone();
    assert!(said.contains("wrote the line (you were at step 22)"), "{said}");
    let step = cursor(&state);
    assert!(step < 22);
    let watch = state.watch.as_ref().unwrap();
    let pane = &watch.memory;
    let line = pane.open.document.line_at(pane.open.scroll.selected);
    assert_eq!(line as u32 + 1, step, "the line that was followed is selected");
    assert_eq!(watch.actions.row, 1, "the row that wrote it is selected");
}

#[test]
fn heat_growth_and_blame_show() {
    for size in [(80, 24), (160, 48)] {
        let mut state = testing::watching(size, 60, 23);
        press(&mut state, "Tab j j");
        tell_data(&mut state, heat(60));
        tell_data(&mut state, blame(23));
        insta::assert_snapshot!(format!("memory_heat_{}x{}", size.0, size.1), text(&state));
    }
}

#[test]
fn the_memory_is_compared_with_the_step_before_a_marked_one_and_the_start() {
    let texts = |step: u32| {
        let files = testing::memory(step).files;
        files
            .into_iter()
            .map(|(path, file)| (path, file.text))
            .collect::<BTreeMap<_, _>>()
    };
    let mut state = testing::watching((80, 24), 60, 20);
    press(&mut state, "Tab m");
    press(&mut state, ":");
    write(&mut state, "23");
    press(&mut state, "Enter");
    let mut seen = Vec::new();
    for name in ["previous", "marked", "start"] {
        let effects = press(&mut state, "d");
        let wish = effects.iter().find_map(|effect| match effect {
            Effect::LoadMemoryDiff(wish) => Some(*wish),
            _ => None,
        });
        let wish = wish.expect("a difference is asked for");
        seen.push(wish.from.map(|step| step.0));
        let before = wish.from.map_or_else(BTreeMap::new, |step| texts(step.0));
        tell_data(
            &mut state,
            Data::MemoryDiff(Box::new(compare(wish, &before, &texts(23)))),
        );
        insta::assert_snapshot!(format!("memory_diff_{name}_80x24"), text(&state));
    }
    assert_eq!(seen, [Some(22), Some(20), None]);
    assert_eq!(state.watch.as_ref().unwrap().memory.against, Some(Against::Start));
    press(&mut state, "Enter PgDn Esc Esc");
    assert_eq!(state.watch.as_ref().unwrap().memory.against, None);
}

#[test]
fn an_edit_from_outside_is_marked_until_it_is_recorded() {
    let mut state = live((160, 48));
    let effects = settle(&mut state);
    let root = state
        .live
        .as_ref()
        .unwrap()
        .lookout
        .clone()
        .expect("the directory is watched");
    assert!(root.ends_with("crafter-42.memory/ep_00"), "{}", root.display());
    assert!(
        !effects.iter().any(|effect| matches!(effect, Effect::Lookout(_))),
        "once"
    );
    let mut files: BTreeMap<String, Digest> = BTreeMap::new();
    for (path, file) in &state.watch.as_ref().unwrap().memory_shown.as_ref().unwrap().files {
        files.insert(path.clone(), Digest::of(&*file.text));
    }
    files.insert("goals.txt".into(), Digest::of("find gold"));
    files.insert("by_hand.txt".into(), Digest::of("x"));
    tell_data(
        &mut state,
        Data::OnDisk {
            root: root.clone(),
            files: files.clone(),
        },
    );
    let said = state.message.as_ref().unwrap().text.clone();
    assert_eq!(
        said,
        "by_hand.txt was added outside and 1 more: it will be recorded at the agent's next step"
    );
    state.message = None;
    insta::assert_snapshot!("outside_160x48", text(&state));
    // A look at another directory says nothing.
    tell_data(
        &mut state,
        Data::OnDisk {
            root: "/elsewhere".into(),
            files: BTreeMap::new(),
        },
    );
    assert!(state.message.is_none());
    let change = crate::types::MemoryChange::between("by_hand.txt", None, Some("x")).unwrap();
    tell(&mut state, Body::HumanEdited { changes: vec![change] });
    settle(&mut state);
    assert!(!state.watch.as_ref().unwrap().memory.outside.contains_key("by_hand.txt"));
}

#[test]
fn a_step_says_what_it_took_and_a_penalty_is_no_star() {
    let mut state = testing::watching((160, 48), 60, 23);
    assert!(text(&state).contains("1.9k+64 tok 3.1 s  ok"), "{}", text(&state));
    let mut record = StepRecord::new(StepNo(23));
    for mut body in testing::events(23) {
        if let Body::StepFinished { reward, .. } = &mut body {
            *reward = -0.1;
        }
        record.push(body);
    }
    let watch = state.watch.as_mut().unwrap();
    watch.records.put(StepNo(23), Arc::new(record), StepNo(23));
    watch.marks[23].reward = -0.1;
    let screen = text(&state);
    assert!(screen.contains("▾ -0.1 penalty"), "{screen}");
    assert!(!screen.contains("★ -0.1"), "{screen}");
    assert!(screen.contains("penalty 1"), "{screen}");
}
