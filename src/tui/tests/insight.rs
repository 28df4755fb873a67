//! The panel of metrics, findings and faults.

use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::analysis::{Analyst, Severity};
use crate::jobs::Cancel;
use crate::tui::insight::{InsightNews, InsightView};

/// A sample run, measured.
fn measured(name: &str) -> InsightView {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sample-runs").join(name);
    let mut analyst = Analyst::new(&path);
    analyst.go_on(&Cancel::new(), &mut |_| {}).unwrap();
    InsightView {
        analysis: analyst.analysis(),
        episode: EpisodeNo(0),
        course: analyst.course(EpisodeNo(0)).unwrap().clone(),
    }
}

fn tell_news(state: &mut State, news: impl FnOnce(PathBuf) -> InsightNews) -> Vec<Effect> {
    let path = state.watch.as_ref().unwrap().path.clone();
    let mut effects = update(state, Event::Data(Data::Insight(news(path))));
    effects.extend(settle(state));
    effects
}

/// The panel over a run of 60 steps, with what was found out of another run that is longer.
fn open(size: (u16, u16), name: &str) -> State {
    let mut state = testing::watching(size, 60, 23);
    let effects = press(&mut state, "i");
    assert!(
        matches!(
            &effects[..],
            [Effect::Analyse {
                episode: EpisodeNo(0),
                ..
            }]
        ),
        "{effects:?}"
    );
    assert!(text(&state).contains("measuring the run"), "{}", text(&state));
    tell_news(&mut state, |path| InsightNews::Progress(path, 30, 60));
    assert!(text(&state).contains("30 of 60 steps"));
    let view = Arc::new(measured(name));
    assert_eq!(tell_news(&mut state, |path| InsightNews::Known(path, view)), []);
    state
}

#[test]
fn findings_lead_to_their_steps() {
    let mut state = open((80, 24), "scripted.db");
    insta::assert_snapshot!("insight_80x24", text(&state));
    press(&mut state, "Enter");
    assert_eq!(cursor(&state), 1);
    assert!(state.message.as_ref().unwrap().text.contains("1 of 12"));
    press(&mut state, "Enter n");
    assert_eq!(cursor(&state), 3);
    press(&mut state, "N");
    assert_eq!(cursor(&state), 2);
    press(&mut state, "j Enter");
    assert_eq!(cursor(&state), 1, "another one begins with its first step");
    press(&mut state, "Right");
    assert_eq!(cursor(&state), 2);
    let effects = press(&mut state, "Esc");
    assert!(state.overlays.is_empty());
    assert_eq!(effects, [], "nothing is under way");
    assert_eq!(press(&mut state, "i"), [], "what is known is not asked for again");
}

#[test]
fn the_panel_at_160_by_48() {
    let mut state = open((160, 48), "scripted.db");
    press(&mut state, "End");
    for _ in 0..8 {
        press(&mut state, "j");
    }
    insta::assert_snapshot!("insight_160x48", text(&state));
    press(&mut state, "Tab");
    insta::assert_snapshot!("insight_numbers_160x48", text(&state));
}

#[test]
fn numbers_are_those_up_to_the_cursor() {
    let mut state = open((80, 24), "scripted.db");
    press(&mut state, "Tab");
    insta::assert_snapshot!("insight_numbers_80x24", text(&state));
    assert!(text(&state).contains("to step 23"));
    press(&mut state, "Left Left");
    assert!(text(&state).contains("to step 21"));
    press(&mut state, "PgDn PgDn PgDn");
    assert!(text(&state).contains("memory growth"), "{}", text(&state));
}

#[test]
fn a_look_under_way_is_cancelled_by_closing_and_asked_for_again() {
    let mut state = testing::watching((80, 24), 60, 23);
    press(&mut state, "i");
    assert_eq!(press(&mut state, "Esc"), [Effect::CancelAnalysis]);
    tell_news(&mut state, InsightNews::Stopped);
    assert!(matches!(&press(&mut state, "i")[..], [Effect::Analyse { .. }]));
    let said = "it is damaged; copy it again".to_owned();
    tell_news(&mut state, |path| InsightNews::Failed(path, said));
    assert!(text(&state).contains("it is damaged"), "{}", text(&state));
    assert_eq!(settle(&mut state), [], "a failure is not tried again by itself");
}

#[test]
fn a_run_that_grows_is_measured_on() {
    let mut state = live((80, 24));
    let effects = press(&mut state, "i");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Analyse { .. })));
    let watch = state.watch.as_mut().unwrap();
    watch.marks.push(testing::mark(3));
    assert!(
        !settle(&mut state)
            .iter()
            .any(|effect| matches!(effect, Effect::Analyse { .. })),
        "one look at a time"
    );
    let mut view = measured("smollm2.db");
    view.analysis.metrics.episodes[0].steps = 3;
    view.analysis
        .findings
        .retain(|finding| finding.severity == Severity::High);
    let known = |path| InsightNews::Known(path, Arc::new(view));
    let effects = tell_news(&mut state, known);
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Analyse { .. })),
        "{effects:?}"
    );
}

#[test]
fn news_of_another_run_is_no_news() {
    let mut state = testing::watching((80, 24), 60, 23);
    press(&mut state, "i");
    let news = InsightNews::Failed("other.db".into(), "no".to_owned());
    update(&mut state, Event::Data(Data::Insight(news)));
    assert!(state.watch.as_ref().unwrap().insight.progress.is_some());
    assert!(state.message.is_none());
}
