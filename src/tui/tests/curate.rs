//! The Curate screen: its list, its panes, verdicts on one and on many, committing, and what the texts may hold.

use std::sync::Arc;

use super::review::{dossier, dossier_of, entry};
use super::*;
use crate::llm::Usage;
use crate::review::{
    Content, Dossier, Draft, Facts, Item, Judgement, Places, Proposal, Reason, SelectedRun, SelectionContent, Standing,
    Verdict, What, items_digest,
};
use crate::tui::curate::{Chosen, CurateNews, OpenSelection, Talk};
use crate::tui::effects::Ask;
use crate::tui::layout::CuratePane;
use crate::tune::postprocess::{Cut, Why};
use crate::types::{ChatRole, Digest, Message};

/// Items of three episodes, the last one on a seed of the gate; every fourth is a PLAN.
pub(super) fn items(count: u32) -> Vec<Item> {
    let one = |n: u32| {
        let plan = n % 4 == 3;
        let ops: &[&str] = match n % 4 {
            0 => &["APPEND"],
            1 => &["UPSERT", "APPEND"],
            2 => &[],
            _ => &["READ", "SEARCH"],
        };
        let episode = match n {
            n if n * 10 < count * 6 => 0,
            n if n * 10 < count * 9 => 1,
            _ => 2,
        };
        Item {
            id: format!("019ad3f2:{episode}:{n}:{}", if plan { "PLAN" } else { "LOG" }),
            run: 0,
            episode: EpisodeNo(episode),
            seed: [101, 102, 42][episode as usize],
            step: StepNo(n + 1),
            phase: if plan { Phase::Plan } else { Phase::Log },
            ops: ops.iter().map(|&op| op.to_owned()).collect(),
            digest: Digest::of(n.to_le_bytes()),
            selected: n % 3 != 2,
            score: f64::from(n % 7) / 7.0,
            reason: if n % 3 == 2 {
                "not read again".into()
            } else {
                "read 2 times, advantage +0.12".into()
            },
            note: format!("read at step {}, reward +1 after it", n + 9),
            alike: (n % 5 == 0).then_some(n / 10),
            facts: Facts {
                later_reads: 2,
                first_read: Some(StepNo(n + 9)),
                reward_after: 1.0,
                bytes_written: 17,
                ..Facts::default()
            },
        }
    };
    (0..count).map(one).collect()
}

pub(super) fn proposal(items: &[Item], minimum: u32) -> Proposal {
    let content = SelectionContent {
        env: "crafter".into(),
        scaffold: "crafter-v1".into(),
        runs: vec![SelectedRun {
            path: "/runs/traces.db".into(),
            id: "019ad3f2".into(),
        }],
        criteria: "phases = [\"LOG\", \"PLAN\"]\n".into(),
        items: items_digest(items),
        count: items.len() as u32,
        selected: items.iter().filter(|item| item.selected).count() as u32,
        gate_seeds: vec![42, 43],
        minimum,
    };
    let draft = Draft {
        author: "rules".into(),
        title: "What was read again later".into(),
        rationale: String::new(),
        evidence: Vec::new(),
        usage: Usage::default(),
        origin: None,
        content: Content::Selection(Box::new(content)),
    };
    Proposal::new("p7".into(), "2026-11-30T07:10:00Z".into(), draft)
}

pub(super) fn judged(items: &[Item], places: &[u32], reject: Option<Reason>) -> What {
    let places: Places = places.iter().copied().collect();
    What::Judged {
        digest: items_digest(places.iter().map(|at| &items[at])),
        items: places,
        verdict: reject.map_or(Verdict::Accept, |reason| Verdict::Reject { reason }),
        comment: String::new(),
        filter: String::new(),
        policy: None,
    }
}

/// A conversation whose answer goes on after it is done.
fn talk() -> Talk {
    let answer = "I note the tree.\n<|APPEND|>notes/map.txt|12,7 tree<|END|>\n<|DONE|>\nThen I will walk east.";
    let end = answer.find("\nThen").unwrap();
    Talk {
        messages: vec![
            Message::new(ChatRole::System, "You play Crafter and keep notes in files."),
            Message::new(
                ChatRole::User,
                "PHASE: LOG\nStep 9. You saw:\n- tree 2 steps to your north-east\nWrite what you want to remember.",
            ),
            Message::new(ChatRole::Assistant, answer),
        ],
        cuts: vec![Cut {
            message: 2,
            start: end,
            end: answer.len(),
            why: Why::AfterDone,
        }],
        vocabulary: testing::vocabulary(),
        ..Talk::default()
    }
}

/// The screen with this selection open, its conversations here, drawn once.
fn curating(size: (u16, u16), dossier: Arc<Dossier>, items: Vec<Item>) -> State {
    let mut state = State::new(size, testing::theme(), Screen::Curate);
    let id = dossier.standing.id.clone();
    update(&mut state, Event::Data(Data::Proposals(vec![dossier.standing.clone()])));
    assert!(matches!(
        press(&mut state, "Enter").as_slice(),
        [Effect::Review(Ask::Open(_))]
    ));
    update(&mut state, Event::Data(Data::Items(id, Arc::new(items))));
    update(&mut state, Event::Data(Data::Dossier(dossier)));
    let effects = settle(&mut state);
    answer(&mut state, effects);
    state
}

/// Answers what is asked of whoever reads conversations.
fn answer(state: &mut State, effects: Vec<Effect>) {
    for effect in effects {
        if let Effect::Talk(wish) = effect {
            for wanted in wish.wanted {
                let talk = Ok(Arc::new(talk()));
                let (proposal, at) = (wish.proposal.clone(), wanted.at);
                update(state, Event::Data(Data::Talk { proposal, at, talk }));
            }
        }
    }
    settle(state);
}

fn some(whats: &[(u32, Option<Reason>)]) -> (Arc<Dossier>, Vec<Item>) {
    let items = items(40);
    let whats = whats
        .iter()
        .map(|(at, reject)| judged(&items, &[*at], *reject))
        .collect();
    (dossier_of(proposal(&items, 300), whats), items)
}

fn open(state: &State) -> &OpenSelection {
    state.curate.open.as_ref().unwrap()
}

pub(super) fn shown(size: (u16, u16)) -> State {
    let (dossier, items) = some(&[
        (0, None),
        (1, None),
        (3, Some(Reason::Harmful)),
        (4, Some(Reason::Other)),
    ]);
    curating(size, dossier, items)
}

#[test]
fn the_screen_at_both_sizes() {
    let mut state = shown((80, 24));
    insta::assert_snapshot!("curate_80x24_items", text(&state));
    press(&mut state, "Tab");
    insta::assert_snapshot!("curate_80x24_talk", text(&state));
    press(&mut state, "Tab");
    insta::assert_snapshot!("curate_80x24_balance", text(&state));
    let state = shown((160, 48));
    insta::assert_snapshot!("curate_160x48", text(&state));
}

#[test]
fn the_list_and_an_empty_screen_say_what_to_do() {
    let mut state = State::new((80, 24), testing::theme(), Screen::Curate);
    update(&mut state, Event::Data(Data::Proposals(Vec::new())));
    insta::assert_snapshot!("curate_empty_80x24", text(&state));
    assert!(press(&mut state, "Enter j G").is_empty());
    let (dossier, _) = some(&[(0, None)]);
    update(&mut state, Event::Data(Data::Proposals(vec![dossier.standing.clone()])));
    insta::assert_snapshot!("curate_list_80x24", text(&state));
}

#[test]
fn meaning_is_there_without_colours() {
    let mut state = shown((160, 48));
    state.theme = Theme::load("light", Depth::Mono).unwrap();
    let said = text(&state);
    for word in [
        "✓ accepted",
        "✗ harmful",
        "✗ rejected",
        "· waits",
        "GATE",
        "[cut, after DONE:",
        "TARGET",
        "context",
    ] {
        assert!(said.contains(word), "{word}\n{said}");
    }
    let struck = drawn(&state)
        .content
        .iter()
        .filter(|cell| cell.modifier.contains(ratatui::style::Modifier::CROSSED_OUT))
        .count();
    assert!(struck > 10, "{struck}");
}

#[test]
fn selections_wait_in_curate_and_not_in_review() {
    let (selection, _) = some(&[]);
    let revision = dossier(Vec::new());
    let mut state = State::new((80, 24), testing::theme(), Screen::Runs);
    let all: Vec<Standing> = vec![selection.standing.clone(), revision.standing.clone()];
    update(&mut state, Event::Data(Data::Proposals(all)));
    assert_eq!((state.review.waiting(), state.curate.waiting()), (1, 1));
    let said = text(&state);
    assert!(said.contains("3 Review ●1") && said.contains("4 Curate ●1"), "{said}");
    press(&mut state, "3");
    assert_eq!(state.review.list.len(), 1);
    // What is opened by its name goes where its kind is at home.
    update(&mut state, Event::Data(Data::Items("p7".into(), Arc::new(items(40)))));
    state.review.opening = Some("p7".into());
    update(&mut state, Event::Data(Data::Dossier(selection)));
    assert!(state.review.open.is_none() && state.curate.open.is_some());
    assert_eq!(state.screen, Screen::Curate);
}

#[test]
fn a_verdict_is_written_and_the_cursor_moves_on_to_what_waits() {
    let mut state = shown((160, 48));
    // The first that waits and was selected.
    assert_eq!(open(&state).current().unwrap().0, 6);
    let effects = press(&mut state, "y");
    let Some(Effect::Review(Ask::Judge(id, seen, _, judgement))) = effects.first() else {
        panic!("{effects:?}");
    };
    assert_eq!((id.to_string().as_str(), seen.0), ("p7", 5));
    assert_eq!((judgement.items.to_string().as_str(), judgement.reject), ("6", None));
    assert_eq!(open(&state).current().unwrap().0, 7);
    press(&mut state, "K K K K K");
    assert_eq!(open(&state).current().unwrap().0, 2);
    let effects = press(&mut state, "n");
    assert!(matches!(&effects[0], Effect::Review(Ask::Judge(_, _, _, one)) if one.reject == Some(Reason::Other)));
    // 3 and 4 have a verdict.
    assert_eq!(open(&state).current().unwrap().0, 5);
    press(&mut state, "x");
    write(&mut state, "harm");
    press(&mut state, "Enter");
    write(&mut state, "it lies");
    let effects = press(&mut state, "Enter");
    let judgement = effects.iter().find_map(|effect| match effect {
        Effect::Review(Ask::Judge(_, _, _, judgement)) => Some(judgement),
        _ => None,
    });
    let judgement = judgement.unwrap();
    assert_eq!(
        (judgement.reject, judgement.comment.as_str()),
        (Some(Reason::Harmful), "it lies")
    );
    let effects = press(&mut state, "u");
    assert!(matches!(effects[0], Effect::Review(Ask::Undo(..))), "{effects:?}");
}

#[test]
fn many_are_decided_on_after_a_question_with_the_count() {
    let mut state = shown((80, 24));
    press(&mut state, "/");
    write(&mut state, "phase:LOG waiting");
    press(&mut state, "Enter");
    let count = open(&state).shown.len();
    assert!(count > 10 && count < 40);
    assert!(text(&state).contains(&format!("{count} of 40")));
    let effects = press(&mut state, "* y");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Review(_))));
    insta::assert_snapshot!("curate_80x24_bulk", text(&state));
    // Keys of habit do not confirm.
    assert!(press(&mut state, "y Enter Space").is_empty());
    press(&mut state, "Esc");
    assert_eq!(
        open(&state).chosen,
        Chosen::Shown,
        "the question left, what is selected stays"
    );
    press(&mut state, "y");
    let effects = press(&mut state, "C");
    let Some(Effect::Review(Ask::Judge(_, seen, items, judgement))) = effects.first() else {
        panic!("{effects:?}");
    };
    assert_eq!(
        (judgement.items.len(), judgement.filter.as_str()),
        (count, "phase:LOG waiting")
    );
    assert_eq!((seen.0, items.len()), (5, 40));
    assert_eq!(open(&state).chosen, Chosen::Current);
    // A range asks, too; Esc ends it.
    press(&mut state, "X g v J J");
    assert_eq!(open(&state).count_chosen(), 3);
    press(&mut state, "n");
    assert!(text(&state).contains("Reject 3 items?"), "{}", text(&state));
    press(&mut state, "Esc Esc");
    assert_eq!(open(&state).chosen, Chosen::Current);
    press(&mut state, "/");
    write(&mut state, "op:NOTHING");
    press(&mut state, "Enter");
    assert!(text(&state).contains("nothing fits the filter; X shows all items"));
    assert!(
        press(&mut state, "y * n")
            .iter()
            .all(|effect| !matches!(effect, Effect::Review(_)))
    );
}

#[test]
fn fewer_than_the_minimum_need_a_reason_and_gate_seeds_are_refused() {
    let mut state = shown((80, 24));
    press(&mut state, "A");
    assert!(text(&state).contains("fewer than the minimum"), "{}", text(&state));
    press(&mut state, "Enter");
    assert!(state.message.as_ref().unwrap().text.contains("need a reason"));
    press(&mut state, "A");
    write(&mut state, "a first try");
    press(&mut state, "Enter");
    insta::assert_snapshot!("curate_80x24_commit", text(&state));
    assert!(press(&mut state, "y A Enter").is_empty());
    let effects = press(&mut state, "C");
    let Some(Effect::Review(Ask::CommitItems(_, seen, Some(said)))) = effects.first() else {
        panic!("{effects:?}");
    };
    assert_eq!(seen.0, 5);
    assert_eq!(said, "2 accepted, fewer than the minimum of 300, because: a first try");
    let items = items(40);
    let enough: Vec<u32> = (0..30).collect();
    let whole = dossier_of(proposal(&items, 30), vec![judged(&items, &enough, None)]);
    let mut state = curating((80, 24), Arc::clone(&whole), items.clone());
    press(&mut state, "A");
    let effects = press(&mut state, "C");
    assert!(
        matches!(&effects[..], [Effect::Review(Ask::CommitItems(_, _, None))]),
        "{effects:?}"
    );
    let leaks = dossier_of(
        proposal(&items, 30),
        vec![judged(&items, &(0..40).collect::<Vec<_>>(), None)],
    );
    let mut state = curating((80, 24), leaks, items.clone());
    press(&mut state, "A");
    assert!(state.overlays.is_empty());
    assert!(
        state
            .message
            .as_ref()
            .unwrap()
            .text
            .contains("GATE SEED: 4 accepted items")
    );
    assert!(text(&state).contains("gate seed in the set"));
    // Committed, no verdict is taken, and it can be certified.
    let result = Digest::of("r");
    let decided = super::review::after(&whole, vec![What::Committed { result }]);
    let mut state = curating((160, 48), decided, items);
    press(&mut state, "y");
    assert!(
        state
            .message
            .as_ref()
            .unwrap()
            .text
            .contains("u takes the commitment back")
    );
    let effects = press(&mut state, "r");
    assert!(matches!(effects[0], Effect::Review(Ask::Check(_))));
    let report = vec!["30 items, 29 kept, 1 dropped: no op left".to_owned()];
    let proposal = "p7".into();
    update(
        &mut state,
        Event::Data(Data::Curate(CurateNews::Certified { proposal, report })),
    );
    assert!(text(&state).contains("30 items, 29 kept"));
}

#[test]
fn an_item_leads_into_its_run_and_back() {
    let mut state = shown((160, 48));
    let effects = press(&mut state, "Enter");
    let path = std::path::PathBuf::from("/runs/traces.db");
    let at = |step: u32| Effect::Open {
        path: path.clone(),
        episode: EpisodeNo(0),
        step: Some(StepNo(step)),
    };
    assert_eq!(effects[0], at(7));
    let mut opened = testing::opened(60);
    opened.path.clone_from(&path);
    update(&mut state, Event::Data(Data::Opened(Box::new(opened))));
    assert_eq!(state.screen, Screen::Watch);
    press(&mut state, "Esc");
    assert_eq!(state.screen, Screen::Curate);
    assert_eq!(open(&state).current().unwrap().0, 6);
    assert_eq!(press(&mut state, "]")[0], at(15));
    press(&mut state, "c");
    write(&mut state, "a fine one");
    let effects = press(&mut state, "Enter");
    assert!(
        matches!(&effects[0], Effect::Review(Ask::Append(_, _, whats)) if matches!(&whats[0], What::Commented { part: Some(part), .. } if &*part.0 == "019ad3f2:0:6:LOG")),
        "{effects:?}"
    );
}

#[test]
fn conversations_are_asked_for_once_and_only_around_the_cursor() {
    let (dossier, items) = some(&[]);
    let mut state = State::new((160, 48), testing::theme(), Screen::Curate);
    state.curate.opening = Some("p7".into());
    update(&mut state, Event::Data(Data::Items("p7".into(), Arc::new(items))));
    update(&mut state, Event::Data(Data::Dossier(dossier)));
    let first = settle(&mut state);
    let [Effect::Talk(wish)] = first.as_slice() else {
        panic!("{first:?}");
    };
    assert_eq!(wish.wanted.iter().map(|one| one.at).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(settle(&mut state).is_empty());
    assert!(text(&state).contains("reading the conversation"));
    let failed = Err("/runs/traces.db: there is no such file\u{1b}[2J; restore it".to_owned());
    let (proposal, at) = ("p7".into(), 0);
    update(
        &mut state,
        Event::Data(Data::Talk {
            proposal,
            at,
            talk: failed,
        }),
    );
    settle(&mut state);
    assert!(text(&state).contains("✗ /runs/traces.db: there is no such file"));
    answer(&mut state, first);
    assert!(press(&mut state, "J").is_empty(), "it is here already");
    assert!(text(&state).contains("2 of 3 · user · context"));
}

#[test]
fn other_hands_and_texts_of_models_do_no_harm() {
    let mut items = items(40);
    items[0].reason = "\u{1b}]0;title\u{7}because".into();
    items[0].ops = vec!["\u{1b}[31mEVIL".into()];
    items[0].note = "read\r\u{9b}2J".into();
    let dossier = dossier_of(proposal(&items, 300), Vec::new());
    let mut state = curating((160, 48), Arc::clone(&dossier), items.clone());
    let harmless = |state: &State| {
        let cells = drawn(state).content;
        cells.iter().all(|cell| !cell.symbol().chars().any(char::is_control))
    };
    assert!(harmless(&state));
    // Somebody else accepts: it shows, and the cursor stays.
    let now = super::review::after(&dossier, vec![judged(&items, &[0, 1, 2], None)]);
    update(&mut state, Event::Data(Data::Dossier(now)));
    settle(&mut state);
    assert_eq!(
        (open(&state).current().unwrap().0, open(&state).balance.accepted.count),
        (0, 3)
    );
    press(&mut state, "Tab");
    assert_eq!(open(&state).focus, CuratePane::Talk);
    press(&mut state, "Esc Esc");
    assert!(state.curate.open.is_none());
    let _ = (entry(1, What::Proposed), Judgement::clone);
}

#[test]
fn a_hundred_thousand_items_are_scrolled_and_filtered() {
    let many = items(100_000);
    let dossier = dossier_of(proposal(&many, 300), Vec::new());
    let mut state = curating((200, 60), dossier, many);
    let began = std::time::Instant::now();
    for _ in 0..30 {
        press(&mut state, "PgDn");
        text(&state);
    }
    press(&mut state, "G");
    assert_eq!(open(&state).current().unwrap().0, 99_999);
    let each = began.elapsed().as_secs_f64() * 1000.0 / 31.0;
    // Unoptimized and on a busy machine; drawing every row would take hundreds of times as long.
    assert!(each < 200.0, "{each} ms a frame");
}
