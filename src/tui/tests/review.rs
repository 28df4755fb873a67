//! The Review screen: its list, its panes, what was seen, and what the texts may hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::llm::Usage;
use crate::review::{
    Content, Dossier, Draft, Entry, Evidence, GateReport, Origin, Outcome, Pair, Proposal, RevisionContent, Score, Seq,
    Standing, What,
};
use crate::tui::coloring;
use crate::tui::effects::Ask;
use crate::tui::layout::ReviewPane;
use crate::tui::review::OpenReview;
use crate::types::Digest;

pub(super) type Files = BTreeMap<String, String>;

pub(super) fn files(texts: &[(&str, &str)]) -> Files {
    let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
    texts.iter().map(owned).collect()
}

const MANIFEST: &str = "name = \"crafter-v0\"\nversion = \"0.1\"\nenv = \"crafter\"\n\n[budgets]\nlog_turns = 3\nplan_turns = 3\n\n[files.\"map.txt\"]\npolicy = \"append\"\n\n[files.\"goals.txt\"]\npolicy = \"replace\"\n";
const LOG: &str = "# LOG\nYou keep notes in files.\nWrite what you see to map.txt.\nFiles: {{ files }}\nBe short.\n\nStep {{ step }}.\nEnd with <|DONE|>.\n";

pub(super) fn base() -> Files {
    files(&[
        ("scaffold.toml", MANIFEST),
        ("prompts/log.md", LOG),
        ("METHOD.md", "# Method\nNotes.\n"),
    ])
}

/// Three files change: four hunks, one of them a new file.
pub(super) fn revised() -> Files {
    let manifest = MANIFEST.replace(
        "policy = \"append\"\n",
        "policy = \"upsert\"\nkey = \"x,y\"\nmax_lines = 200\n",
    );
    let log = LOG
        .replace(
            "Write what you see to map.txt.",
            "Write what is new to map.txt, one line a place.",
        )
        .replace("End with", "Never write a line twice. End with");
    files(&[
        ("scaffold.toml", &manifest),
        ("prompts/log.md", &log),
        ("METHOD.md", "# Method\nNotes.\n"),
        (
            "hooks.star",
            "def hook(state, event):  # nothing twice\n    return state, []\n",
        ),
    ])
}

pub(super) fn proposal(id: &str, base: Files, files: Files) -> Proposal {
    Proposal::new(id.into(), "2026-11-29T20:37:51Z".into(), Draft {
            author: "rules".into(),
            title: "Keep the map as one line a place".into(),
            rationale: "# What is wrong\nThe map file grows by 138 characters a step, and most of it is written again.\n\n# What changes\n- `map.txt` is upserted by its place.\n- The prompt asks for what is new.\n".into(),
            evidence: vec![
                Evidence {
                    run: "/runs/crafter-42.db".into(),
                    episode: EpisodeNo(0),
                    step: StepNo(12),
                    note: "the same line for the third time".into(),
                },
                Evidence {
                    run: "/runs/crafter-42.db".into(),
                    episode: EpisodeNo(1),
                    step: StepNo(40),
                    note: "reads 4 kB to find one line".into(),
                },
            ],
            usage: Usage {
                prompt: 48_210,
                cached: 30_000,
                completion: 2_100,
                dollars: Some(0.31),
            },
            origin: Some(Origin {
                optimization: "crafter-auto".into(),
                iteration: 2,
                attempt: 1,
                continues: None,
            }),
            content: Content::Revision(Box::new(RevisionContent {
                line: "crafter-auto".into(),
                parent: "crafter-v0".into(),
                parent_digest: Digest::of("parent"),
                base,
                files,
            })),
        })
}

pub(super) fn entry(seq: u64, what: What) -> Entry {
    Entry {
        seq: Seq(seq),
        proposal: "p3".into(),
        time: "2026-11-29T20:40:00Z".into(),
        by: "ada".into(),
        what,
    }
}

pub(super) fn dossier_of(proposal: Proposal, whats: Vec<What>) -> Arc<Dossier> {
    let first = entry(1, What::Proposed);
    let rest = (2..).zip(whats).map(|(seq, what)| entry(seq, what));
    let entries: Vec<Entry> = std::iter::once(first).chain(rest).collect();
    let standing = Standing::of(&proposal, &entries);
    Arc::new(Dossier {
        proposal,
        entries,
        standing,
    })
}

pub(super) fn dossier(whats: Vec<What>) -> Arc<Dossier> {
    dossier_of(proposal("p3", base(), revised()), whats)
}

/// The same log with more entries.
pub(super) fn after(before: &Dossier, whats: Vec<What>) -> Arc<Dossier> {
    let known = before.entries.iter().skip(1).map(|entry| entry.what.clone());
    dossier_of(before.proposal.clone(), known.chain(whats).collect())
}

/// The screen with this proposal open, drawn once.
pub(super) fn reviewing(size: (u16, u16), dossier: Arc<Dossier>) -> State {
    let mut state = State::new(size, testing::theme(), Screen::Review);
    state.review.take(vec![dossier.standing.clone()]);
    state.review.opening = Some(dossier.standing.id.clone());
    update(&mut state, Event::Data(Data::Dossier(dossier)));
    show(&mut state);
    state
}

/// What the loop does for a frame: settled, with colours, drawn, seen.
pub(super) fn show(state: &mut State) -> String {
    for effect in settle(state) {
        if let Effect::Colour(wish) = effect
            && let Some(data) = coloring::at_once(wish)
        {
            update(state, Event::Data(data));
        }
    }
    let shown = text(state);
    crate::tui::update::saw(state);
    shown
}

/// Presses keys with a frame after each.
pub(super) fn walk(state: &mut State, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for key in keys.split(' ') {
        effects.extend(update(state, Event::Key(event(key))));
        show(state);
    }
    effects
}

pub(super) fn opened(state: &State) -> &OpenReview {
    state.review.open.as_ref().unwrap()
}

pub(super) fn gate() -> GateReport {
    let score = |progression: f64| {
        Some(Score {
            progression,
            total_reward: progression * 22.0,
            steps: 200,
            tokens: 184_000,
            seconds: 71.0,
        })
    };
    let pair = |seed, parent, revision| Pair {
        seed,
        parent: score(parent),
        revision: score(revision),
    };
    GateReport {
        pairs: vec![
            pair(42, 0.18, 0.27),
            pair(43, 0.22, 0.22),
            pair(44, 0.27, 0.22),
            Pair {
                seed: 45,
                parent: score(0.18),
                revision: None,
            },
        ],
        parent_run: "parent.db".into(),
        revision_run: "revision.db".into(),
        parent_reused: true,
        parent_mean: 0.2125,
        parent_error: 0.021,
        revision_mean: 0.2367,
        revision_error: 0.017,
        difference: 0.0133,
        interval: (-0.05, 0.09),
        wins: 1,
        losses: 1,
        ties: 1,
        sign_p: 1.0,
        outcome: Outcome::NotBetter,
    }
}

#[test]
fn a_proposal_at_both_sizes() {
    let mut state = reviewing((80, 24), dossier(Vec::new()));
    insta::assert_snapshot!("review_80x24_diff", show(&mut state));
    for (key, name) in [("Tab", "hunks"), ("Tab", "why"), ("Tab", "gate")] {
        press(&mut state, key);
        insta::assert_snapshot!(format!("review_80x24_{name}"), show(&mut state));
    }
    let mut state = reviewing((160, 48), dossier(Vec::new()));
    insta::assert_snapshot!("review_160x48", show(&mut state));
    let mut state = reviewing((200, 60), dossier(Vec::new()));
    insta::assert_snapshot!("review_200x60", show(&mut state));
}

#[test]
fn without_colours_and_on_light_ground_signs_and_words_stay() {
    for (theme, depth, name) in [
        ("dark", Depth::Mono, "review_no_color"),
        ("light", Depth::True, "review_light"),
        ("dark", Depth::Ansi16, "review_16"),
    ] {
        let mut state = reviewing((80, 24), dossier(Vec::new()));
        state.theme = Theme::load(theme, depth).unwrap();
        show(&mut state);
        let drawn = drawn(&state);
        insta::assert_snapshot!(name, export(&drawn, Format::Ansi, &state.theme));
        let shown = text(&state);
        for said in ["GATE", "waits", "- policy", "+ policy"] {
            assert!(shown.contains(said), "{said} in {shown}");
        }
    }
}

#[test]
fn the_list_shows_what_waits_first_and_what_is_over() {
    let mut state = State::new((80, 24), testing::theme(), Screen::Review);
    assert!(text(&state).contains("looking for proposals"));
    update(&mut state, Event::Data(Data::Proposals(Vec::new())));
    settle(&mut state);
    insta::assert_snapshot!("review_empty_80x24", text(&state));
    let result = Digest::of("r");
    let standing = |id: &str, whats: Vec<What>| {
        let mut standing = dossier(whats).standing.clone();
        standing.id = id.into();
        standing
    };
    let commit = || What::Committed { result };
    let checked = || What::Checked {
        result,
        problems: Vec::new(),
    };
    let gated = || What::Gated {
        report: Box::new(gate()),
    };
    let started = || What::GateStarted {
        result,
        run: "r.db".into(),
    };
    let list = vec![
        standing("p1", vec![What::Discarded { why: "no".into() }]),
        standing("p2", vec![commit(), checked(), started(), gated()]),
        standing("p4", Vec::new()),
        standing("p5", vec![commit(), checked(), started()]),
    ];
    update(&mut state, Event::Data(Data::Proposals(list)));
    settle(&mut state);
    assert_eq!(state.review.selected().unwrap().id, "p4".into());
    insta::assert_snapshot!("review_list_80x24", text(&state));
    state.size = (160, 48);
    insta::assert_snapshot!("review_list_160x48", text(&state));
    let effects = press(&mut state, "Down Enter");
    assert!(
        matches!(&effects[..], [Effect::Review(Ask::Open(id))] if *id == "p2".into()),
        "{effects:?}"
    );
}

#[test]
fn a_badge_says_what_waits_and_takes_no_focus() {
    let mut state = testing::watching((80, 24), 10, 3);
    update(
        &mut state,
        Event::Data(Data::Proposals(vec![dossier(Vec::new()).standing.clone()])),
    );
    assert_eq!(state.screen, Screen::Watch);
    assert!(text(&state).lines().next().unwrap().contains("●1"), "{}", text(&state));
    // What is typed before it is opened is for the screen that shows.
    let effects = press(&mut state, "y n A *");
    assert!(
        !effects.iter().any(|effect| matches!(effect, Effect::Review(_))),
        "{effects:?}"
    );
    press(&mut state, "3");
    assert_eq!(state.screen, Screen::Review);
    assert!(text(&state).contains("3 Review ●1"));
    assert!(press(&mut state, "y A").is_empty(), "the list takes no verdicts");
    // What was pressed while it was being opened reached the list, not the gate.
    press(&mut state, "Enter y");
    update(&mut state, Event::Data(Data::Dossier(dossier(Vec::new()))));
    assert!(opened(&state).parts().iter().all(|part| part.decision.is_none()));
    press(&mut state, "F2");
    assert_eq!(state.screen, Screen::Watch);
}

#[test]
fn a_hunk_is_seen_when_all_of_it_was_on_the_screen() {
    let old = "x\n".to_owned();
    let long: String = (0..60).map(|n| format!("line {n}\n")).collect();
    let mut state = reviewing(
        (80, 24),
        dossier_of(
            proposal(
                "p3",
                files(&[("a.md", &old), ("b.md", "b\n")]),
                files(&[("a.md", &long), ("b.md", "c\n")]),
            ),
            Vec::new(),
        ),
    );
    assert_eq!(opened(&state).unseen, 2);
    walk(&mut state, "G");
    assert_eq!(
        opened(&state).unseen,
        1,
        "the end of the long one was seen, not its middle"
    );
    walk(&mut state, "g PgDn PgDn");
    assert_eq!(opened(&state).unseen, 1);
    walk(&mut state, "PgDn");
    assert_eq!(opened(&state).unseen, 0);
    // Behind a question nothing is seen.
    let mut state = State::new((80, 24), testing::theme(), Screen::Review);
    state.review.opening = Some("p3".into());
    update(&mut state, Event::Data(Data::Dossier(dossier(Vec::new()))));
    press(&mut state, "?");
    show(&mut state);
    assert_eq!(opened(&state).unseen, 4);
    walk(&mut state, "Esc");
    assert!(opened(&state).unseen < 4);
}

#[test]
fn the_cursor_goes_through_hunks_lines_and_folds() {
    let old: String = (1..=80).map(|n| format!("line {n}\n")).collect();
    let new = old.replace("line 20\n", "twenty\n").replace("line 60\n", "sixty\n");
    let proposal = proposal("p3", files(&[("a.md", &old)]), files(&[("a.md", &new)]));
    let mut state = reviewing((80, 24), dossier_of(proposal, Vec::new()));
    let at = |state: &State| opened(state).current().unwrap().0;
    assert_eq!(at(&state), 0);
    walk(&mut state, "J");
    assert_eq!(at(&state), 1);
    walk(&mut state, "J");
    assert!(state.message.as_ref().unwrap().text.contains("last hunk"));
    walk(&mut state, "K K");
    assert!(state.message.as_ref().unwrap().text.contains("first hunk"));
    let rows = opened(&state).diff.len();
    walk(&mut state, "g Down Enter");
    assert_eq!(opened(&state).diff.len(), rows + 15, "one fold is open");
    walk(&mut state, "z");
    assert_eq!(opened(&state).diff.len(), 80 + 5);
    walk(&mut state, "z");
    assert_eq!(opened(&state).diff.len(), rows);
    // Side by side and back, with the same hunk under the cursor.
    walk(&mut state, "G K d");
    assert_eq!(at(&state), 0);
    assert!(text(&state).contains('│'), "{}", text(&state));
    walk(&mut state, "d Tab Down");
    assert_eq!((at(&state), opened(&state).focus), (1, ReviewPane::Hunks));
    walk(&mut state, "Enter");
    assert_eq!((at(&state), opened(&state).focus), (1, ReviewPane::Diff));
}

#[test]
fn evidence_leads_into_watch_and_back() {
    let mut state = reviewing((80, 24), dossier(Vec::new()));
    walk(&mut state, "Tab Tab");
    let effects = walk(&mut state, "Enter");
    assert!(effects.is_empty());
    let effects = walk(&mut state, "] ] Enter");
    assert_eq!(
        effects,
        [Effect::Open {
            path: "/runs/crafter-42.db".into(),
            episode: EpisodeNo(1),
            step: Some(StepNo(40)),
        }]
    );
    let mut run = testing::opened(60);
    run.step = Some(StepNo(40));
    update(&mut state, Event::Data(Data::Opened(Box::new(run))));
    settle(&mut state);
    assert_eq!((state.screen, cursor(&state)), (Screen::Watch, 40));
    press(&mut state, "Esc");
    assert_eq!(state.screen, Screen::Review);
    assert_eq!(opened(&state).focus, ReviewPane::Why, "as it was left");
    let effects = walk(&mut state, "Esc q");
    assert!(effects.contains(&Effect::Review(Ask::Close)), "{effects:?}");
    assert!(state.review.open.is_none());
}

#[test]
fn colours_come_later_and_only_for_what_shows() {
    let mut state = State::new((80, 24), testing::theme(), Screen::Review);
    let old: String = (1..=5_000).map(|n| format!("a{n} = {n}\n")).collect();
    let new = old.replace("a40 = 40\n", "a40 = 41\n").replace("a4000 = 4000\n", "");
    let proposal = proposal("p3", files(&[("a.py", &old)]), files(&[("a.py", &new)]));
    state.review.opening = Some("p3".into());
    update(&mut state, Event::Data(Data::Dossier(dossier_of(proposal, Vec::new()))));
    let wishes: Vec<_> = settle(&mut state)
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Colour(wish) => Some(wish),
            _ => None,
        })
        .collect();
    assert!((2..5).contains(&wishes.len()), "around both hunks: {}", wishes.len());
    assert!(
        wishes.iter().all(|wish| wish.lines.len() < 200),
        "{:?}",
        wishes[0].lines
    );
    assert!(settle(&mut state).is_empty(), "asked once");
    for data in wishes.into_iter().filter_map(coloring::at_once) {
        update(&mut state, Event::Data(data));
    }
    let colour = state.theme.color(crate::tui::theme::Slot::Key);
    assert!(
        drawn(&state)
            .content()
            .iter()
            .any(|cell| cell.fg == colour && cell.symbol() == "4")
    );
}

#[test]
fn hostile_text_reaches_no_cell_of_a_proposal() {
    let evil = "\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}abc\r\n漢字\u{0}\t";
    let mut bad = proposal(
        "p3",
        files(&[("a.md", &evil.repeat(40)), (evil, "x\n")]),
        files(&[("a.md", &evil.repeat(39)), (evil, &evil.repeat(4_000))]),
    );
    bad.draft.title = evil.repeat(20);
    bad.draft.author = evil.into();
    bad.draft.rationale = evil.repeat(200);
    bad.draft.evidence[0].note = evil.into();
    bad.draft.evidence[0].run = evil.into();
    if let Some(origin) = &mut bad.draft.origin {
        origin.optimization = evil.into();
    }
    let dossier = dossier_of(
        bad,
        vec![What::Commented {
            part: None,
            text: evil.into(),
        }],
    );
    for size in [(60, 16), (80, 24), (160, 48)] {
        let mut state = reviewing(size, Arc::clone(&dossier));
        for keys in ["d", "J", "G", "Tab", "Tab", "Tab", "x", "Esc", "Tab", "c"] {
            walk(&mut state, keys);
            for cell in drawn(&state).content() {
                let fine = |c: char| !c.is_control() && c != '\u{202e}';
                assert!(cell.symbol().chars().all(fine), "{:?}", cell.symbol());
            }
        }
        press(&mut state, "Esc Esc Esc");
        drawn(&state);
    }
}

#[test]
fn five_thousand_hunks_and_one_of_a_hundred_thousand_bytes() {
    let old: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
    let new: String = (0..10_000)
        .map(|n| {
            if n % 2 == 0 {
                format!("new {n}\n")
            } else {
                format!("line {n}\n")
            }
        })
        .collect();
    let mut state = reviewing(
        (80, 24),
        dossier_of(
            proposal("p3", files(&[("a.md", &old)]), files(&[("a.md", &new)])),
            Vec::new(),
        ),
    );
    assert!(text(&state).contains("hunk 1 of 5000"), "{}", text(&state));
    walk(&mut state, "G K PgUp");
    let effects = walk(&mut state, "* y");
    let [Effect::Review(Ask::Append(_, _, whats))] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(whats.len(), 5_000);
    let long = format!("{}\n", "漢字 word ".repeat(9_000));
    let mut state = reviewing(
        (80, 24),
        dossier_of(
            proposal("p3", files(&[("a.md", "x\n")]), files(&[("a.md", &long)])),
            Vec::new(),
        ),
    );
    walk(&mut state, "PgDn G");
    assert_eq!(opened(&state).unseen, 1);
}

#[test]
fn below_the_least_size_it_says_so_and_no_key_decides() {
    let mut state = reviewing((80, 24), dossier(Vec::new()));
    state.size = (59, 15);
    assert!(walk(&mut state, "y n A").is_empty());
    assert!(text(&state).contains("needs 60x16"));
    state.size = (60, 16);
    assert!(show(&mut state).contains("GATE"));
}
