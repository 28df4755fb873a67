//! Keys in a gate: what each of them writes, and what it refuses.

use super::review::{after, base, dossier, dossier_of, files, gate, opened, proposal, reviewing, revised, show, walk};
use super::*;
use crate::review::{Dossier, PartId, Reason, Seq, Verdict, What};
use crate::scaffold::ProblemAt;
use crate::tui::effects::{Ask, EditOf};
use crate::tui::layout::ReviewPane;
use crate::tui::take_over::{EditOutcome, Edited};
use crate::types::Digest;

fn whats(effects: &[Effect]) -> Vec<What> {
    let of = |effect: &Effect| match effect {
        Effect::Review(Ask::Append(id, _, whats)) => {
            assert_eq!(*id, "p3".into());
            Some(whats.clone())
        }
        _ => None,
    };
    effects.iter().filter_map(of).flatten().collect()
}

/// Writes down what was asked for, as the edge does.
fn answer(state: &mut State, effects: &[Effect]) -> std::sync::Arc<Dossier> {
    let dossier = after(&opened(state).dossier, whats(effects));
    update(state, Event::Data(Data::Dossier(std::sync::Arc::clone(&dossier))));
    show(state);
    dossier
}

fn do_keys(state: &mut State, keys: &str) -> Vec<What> {
    let mut all = Vec::new();
    for key in keys.split(' ') {
        let effects = walk(state, key);
        all.extend(whats(&effects));
        if !whats(&effects).is_empty() {
            answer(state, &effects);
        }
    }
    all
}

fn decided(part: &str, dossier: &Dossier, verdict: Verdict, comment: &str) -> What {
    let id: PartId = part.into();
    let found = dossier.standing.parts.iter().find(|slot| slot.part.id == id).unwrap();
    What::Decided {
        digest: found.part.digest,
        part: id,
        verdict,
        comment: comment.to_owned(),
        policy: None,
    }
}

fn said(state: &State) -> &str {
    state.message.as_ref().map_or("", |message| message.text.as_str())
}

#[test]
fn y_and_n_decide_and_move_on() {
    let dossier = dossier(Vec::new());
    let mut state = reviewing((80, 24), std::sync::Arc::clone(&dossier));
    let other = Verdict::Reject { reason: Reason::Other };
    assert_eq!(
        do_keys(&mut state, "y n y"),
        [
            decided("scaffold.toml#1", &dossier, Verdict::Accept, ""),
            decided("hooks.star#1", &dossier, other, ""),
            decided("prompts/log.md#1", &dossier, Verdict::Accept, ""),
        ]
    );
    assert_eq!(opened(&state).current().unwrap().0, 3);
    // A verdict may be given again; then it goes on to what waits.
    do_keys(&mut state, "K K n");
    assert_eq!(opened(&state).current().unwrap().0, 3);
    let shown = show(&mut state);
    assert!(shown.contains("3 of 4 decided"), "{shown}");
}

#[test]
fn a_reason_is_chosen_and_words_may_follow() {
    let dossier = dossier(Vec::new());
    let mut state = reviewing((80, 24), std::sync::Arc::clone(&dossier));
    walk(&mut state, "x");
    insta::assert_snapshot!("review_80x24_reasons", text(&state));
    walk(&mut state, "Down Enter");
    write(&mut state, "it forgets water");
    let reason = Verdict::Reject {
        reason: Reason::Harmful,
    };
    assert_eq!(
        whats(&walk(&mut state, "Enter")),
        [decided("scaffold.toml#1", &dossier, reason, "it forgets water")]
    );
    // Leaving either question decides nothing.
    assert!(whats(&walk(&mut state, "x Esc x Enter Esc")).is_empty());
    assert!(state.overlays.is_empty());
    // Other words are a reason, too.
    walk(&mut state, "x");
    write(&mut state, "breaks 1");
    let found = whats(&walk(&mut state, "Enter Enter"));
    assert!(
        matches!(&found[..], [What::Decided { verdict: Verdict::Reject { reason: Reason::Other }, comment, .. }] if comment == "breaks 1"),
        "{found:?}"
    );
    // A word of the reason finds it.
    walk(&mut state, "x");
    write(&mut state, "broad");
    let found = whats(&walk(&mut state, "Enter Enter"));
    assert!(
        matches!(
            &found[..],
            [What::Decided {
                verdict: Verdict::Reject {
                    reason: Reason::TooBroad
                },
                ..
            }]
        ),
        "{found:?}"
    );
}

#[test]
fn a_range_and_everything_that_waits() {
    let mut state = reviewing((80, 24), dossier(Vec::new()));
    walk(&mut state, "v J J");
    assert!(text(&state).contains("3 selected"), "{}", text(&state));
    assert_eq!(do_keys(&mut state, "n").len(), 3);
    assert!(said(&state).contains("3 hunks rejected"), "{}", said(&state));
    assert_eq!(do_keys(&mut state, "* y").len(), 1, "only one waits");
    assert_eq!(do_keys(&mut state, "* y").len(), 4, "none waits: all");
    walk(&mut state, "v Esc");
    assert_eq!(opened(&state).chosen().len(), 1);
    walk(&mut state, "v v * *");
    assert_eq!(opened(&state).chosen().len(), 1);
}

#[test]
fn no_verdict_is_given_on_a_hunk_that_is_not_on_the_screen() {
    let old: String = (1..=90).map(|n| format!("line {n}\n")).collect();
    let new = old.replace("line 80\n", "eighty\n");
    let proposal = proposal("p3", files(&[("a.md", &old)]), files(&[("a.md", &new)]));
    let mut state = reviewing((80, 24), dossier_of(proposal, Vec::new()));
    walk(&mut state, "z g");
    assert!(!text(&state).contains("hunk 1 of 1 -1"), "{}", text(&state));
    for key in ["y", "n", "x", "e"] {
        walk(&mut state, "g");
        assert!(walk(&mut state, key).is_empty() && state.overlays.is_empty(), "{key}");
        assert!(said(&state).contains("look at it"), "{}", said(&state));
        assert!(text(&state).contains("hunk 1 of 1 -1"));
    }
    assert_eq!(do_keys(&mut state, "y").len(), 1);
}

#[test]
fn a_hunk_is_split_and_the_cursor_stays_with_it() {
    let mut state = reviewing((80, 24), dossier(Vec::new()));
    let split = What::Split {
        part: "scaffold.toml#1".into(),
    };
    assert_eq!(do_keys(&mut state, "s"), [split]);
    assert_eq!(opened(&state).parts().len(), 6);
    assert_eq!(*opened(&state).current().unwrap().1.part.id.0, *"scaffold.toml#1.1");
    do_keys(&mut state, "J y");
    assert!(do_keys(&mut state, "s").is_empty());
    assert!(said(&state).contains("cannot be split"), "{}", said(&state));
    // Another that is no single line: a whole new file.
    walk(&mut state, "J");
    assert!(do_keys(&mut state, "s").is_empty());
}

#[test]
fn an_edit_goes_to_the_editor_and_its_text_is_the_verdict() {
    let dossier = dossier(Vec::new());
    let mut state = reviewing((80, 24), std::sync::Arc::clone(&dossier));
    let effects = walk(&mut state, "e");
    let [Effect::Edit(request)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(request.path, "hunk-scaffold.toml");
    let EditOf::Hunk { text, .. } = &request.of else {
        panic!("{request:?}");
    };
    assert_eq!(text, "policy = \"upsert\"\nkey = \"x,y\"\nmax_lines = 200\n");
    let came = |outcome, trouble: Option<&str>| {
        Event::Data(Data::Edited(Box::new(Edited {
            request: request.clone(),
            outcome,
            trouble: trouble.map(str::to_owned),
        })))
    };
    // The line end that the text had comes back.
    let effects = update(&mut state, came(EditOutcome::Saved("policy = \"upsert\"".into()), None));
    assert_eq!(effects[0], Effect::TakeBack);
    let text = "policy = \"upsert\"\n".to_owned();
    assert_eq!(
        whats(&effects),
        [decided("scaffold.toml#1", &dossier, Verdict::Edit { text }, "")]
    );
    answer(&mut state, &effects);
    let shown = text_of(&mut state);
    assert!(shown.contains("◆ edited") && !shown.contains("max_lines"), "{shown}");
    // What changes nothing, or comes from an editor that failed, is no verdict.
    for event in [
        came(EditOutcome::Unchanged, None),
        came(EditOutcome::Removed, None),
        came(EditOutcome::Saved("half".into()), Some("the editor ended with code 3")),
        came(EditOutcome::Failed("no".into()), None),
    ] {
        let effects = update(&mut state, event);
        assert_eq!(effects, [Effect::TakeBack]);
        assert!(!said(&state).is_empty());
    }
    // An edited hunk is edited on.
    let effects = walk(&mut state, "K e");
    let Some(Effect::Edit(again)) = effects.last() else {
        panic!("{effects:?}");
    };
    assert!(matches!(&again.of, EditOf::Hunk { text, .. } if text == "policy = \"upsert\"\n"));
}

fn text_of(state: &mut State) -> String {
    walk(state, "K K K");
    show(state)
}

#[test]
fn a_removed_file_has_no_text_to_edit() {
    let proposal = proposal(
        "p3",
        files(&[("a.md", "a\n"), ("b.md", "b\n")]),
        files(&[("a.md", "a\n")]),
    );
    let mut state = reviewing((80, 24), dossier_of(proposal, Vec::new()));
    assert!(walk(&mut state, "e").is_empty());
    assert!(said(&state).contains("removes a file"));
}

#[test]
fn comments_are_about_the_hunk_or_the_whole() {
    let mut state = reviewing((80, 24), dossier(Vec::new()));
    walk(&mut state, "J c");
    write(&mut state, "why this?");
    let part: PartId = "hooks.star#1".into();
    let about = |part: Option<PartId>, text: &str| What::Commented {
        part,
        text: text.to_owned(),
    };
    let effects = walk(&mut state, "Enter");
    assert_eq!(whats(&effects), [about(Some(part), "why this?")]);
    answer(&mut state, &effects);
    assert!(show(&mut state).contains("why this?"));
    walk(&mut state, "Tab Tab c");
    write(&mut state, "good");
    assert_eq!(whats(&walk(&mut state, "Enter")), [about(None, "good")]);
    assert!(whats(&walk(&mut state, "c Enter")).is_empty(), "nothing was said");
}

#[test]
fn undo_takes_back_the_last_one_again_and_again() {
    let mut state = reviewing((80, 24), dossier(Vec::new()));
    assert!(walk(&mut state, "u").is_empty());
    assert!(said(&state).contains("nothing to take back"));
    do_keys(&mut state, "s y y");
    for _ in 0..3 {
        let effects = walk(&mut state, "u");
        let [Effect::Review(Ask::Undo(id, seen))] = &effects[..] else {
            panic!("{effects:?}");
        };
        assert_eq!((id, *seen), (&"p3".into(), opened(&state).standing().seq));
        let open = opened(&state);
        let seq = open.standing().last_undoable(&open.dossier.entries).unwrap();
        let dossier = after(&open.dossier, vec![What::Undone { seq }]);
        update(&mut state, Event::Data(Data::Dossier(dossier)));
        show(&mut state);
    }
    assert!(opened(&state).parts().iter().all(|part| part.decision.is_none()));
    assert_eq!(opened(&state).parts().len(), 4);
    assert!(walk(&mut state, "u").is_empty());
}

#[test]
fn commit_waits_until_all_is_seen_and_decided_and_takes_another_key() {
    let old: String = (1..=400).map(|n| format!("line {n}\n")).collect();
    let new = old
        .replace("line 20\n", "20\n")
        .replace("line 200\n", "200\n")
        .replace("line 380\n", "380\n");
    let proposal = proposal("p3", files(&[("a.md", &old)]), files(&[("a.md", &new)]));
    let mut state = reviewing((80, 24), dossier_of(proposal, Vec::new()));
    let shown = show(&mut state);
    assert!(shown.contains("unseen"), "{shown}");
    assert!(walk(&mut state, "A").is_empty());
    assert!(said(&state).contains("were not on the screen"), "{}", said(&state));
    walk(&mut state, "J J");
    assert!(show(&mut state).contains("all seen"));
    walk(&mut state, "A");
    assert!(said(&state).contains("3 hunks wait"), "{}", said(&state));
    do_keys(&mut state, "K K y n y");
    walk(&mut state, "A");
    insta::assert_snapshot!("review_80x24_commit", text(&state));
    // No key of habit commits.
    for key in ["y", "A", "Enter", "Space", "n"] {
        assert!(walk(&mut state, key).is_empty(), "{key}");
    }
    walk(&mut state, "Esc");
    assert!(state.overlays.is_empty());
    let seen = opened(&state).standing().seq;
    walk(&mut state, "A");
    // What others write meanwhile was not in the summary: the desk will refuse.
    let more = after(
        &opened(&state).dossier,
        vec![What::Commented {
            part: None,
            text: "wait".into(),
        }],
    );
    update(&mut state, Event::Data(Data::Dossier(more)));
    assert_eq!(walk(&mut state, "C"), [Effect::Review(Ask::Commit("p3".into(), seen))]);
    assert!(opened(&state).standing().seq > seen);
}

fn committed(more: Vec<What>) -> State {
    let mut before = dossier(Vec::new());
    let parts: Vec<PartId> = before.standing.parts.iter().map(|part| part.part.id.clone()).collect();
    let accept = |id: &PartId| decided(&id.0, &before, Verdict::Accept, "");
    let all: Vec<What> = parts.iter().map(accept).collect();
    before = after(&before, all);
    before = after(
        &before,
        vec![What::Committed {
            result: Digest::of("r"),
        }],
    );
    reviewing((80, 24), after(&before, more))
}

fn checked(problems: Vec<ProblemAt>) -> What {
    What::Checked {
        result: Digest::of("r"),
        problems,
    }
}

fn started() -> What {
    What::GateStarted {
        result: Digest::of("r"),
        run: "r.db".into(),
    }
}

#[test]
fn after_the_commit_no_verdict_is_taken_and_it_says_why() {
    let mut state = committed(Vec::new());
    assert_eq!(opened(&state).focus, ReviewPane::Gate);
    walk(&mut state, "Tab");
    for key in ["y", "n", "s", "e", "x", "v", "*", "A"] {
        assert!(walk(&mut state, key).is_empty(), "{key}");
        assert!(
            said(&state).contains("are committed: u takes"),
            "{key}: {}",
            said(&state)
        );
    }
    assert!(matches!(&walk(&mut state, "u")[..], [Effect::Review(Ask::Undo(..))]));
    assert_eq!(walk(&mut state, "r"), [Effect::Review(Ask::Check("p3".into()))]);
    assert!(
        walk(&mut state, "p").is_empty(),
        "only what passed its check is promoted"
    );
}

#[test]
fn a_stale_proposal_refuses_and_says_why() {
    let mut stale = (*dossier(Vec::new())).clone();
    stale.standing.state = crate::review::State::Stale;
    stale.standing.why = "crafter-auto is not what it was made from any more".into();
    let mut state = reviewing((80, 24), std::sync::Arc::new(stale));
    walk(&mut state, "Tab");
    assert!(walk(&mut state, "y").is_empty());
    assert!(said(&state).contains("not what it was made from"), "{}", said(&state));
    assert!(show(&mut state).contains("STALE"));
}

#[test]
fn what_the_check_found_is_told() {
    let problem = ProblemAt {
        file: "hooks.star".into(),
        line: 3,
        column: 5,
        message: "`stat` is not defined".into(),
        hint: "did you mean `state`?".into(),
    };
    let mut state = committed(vec![checked(vec![problem])]);
    let shown = show(&mut state);
    assert!(
        shown.contains("hooks.star:3:5") && shown.contains("CHECK-FAILED"),
        "{shown}"
    );
    // The news of it comes by itself.
    let mut state = committed(Vec::new());
    let news = after(&opened(&state).dossier, vec![checked(Vec::new())]);
    update(&mut state, Event::Data(Data::Dossier(news)));
    assert!(said(&state).contains("passed its check"), "{}", said(&state));
}

#[test]
fn a_gate_that_does_not_say_so_is_overruled_with_a_reason_only() {
    let report = Box::new(gate());
    let mut state = committed(vec![checked(Vec::new()), started(), What::Gated { report }]);
    insta::assert_snapshot!("review_80x24_gated", show(&mut state));
    walk(&mut state, "p Enter");
    assert!(said(&state).contains("needs a reason"), "{}", said(&state));
    walk(&mut state, "p");
    write(&mut state, "fewer tokens");
    assert!(walk(&mut state, "Enter").is_empty());
    assert!(text(&state).contains("fewer tokens"));
    assert!(walk(&mut state, "y Enter p").is_empty());
    assert_eq!(
        walk(&mut state, "C"),
        [Effect::Review(Ask::Promote("p3".into(), "fewer tokens".into()))]
    );
    let mut better = gate();
    better.outcome = crate::review::Outcome::Better;
    let report = Box::new(better);
    let mut state = committed(vec![checked(Vec::new()), started(), What::Gated { report }]);
    assert_eq!(
        walk(&mut state, "p C"),
        [Effect::Review(Ask::Promote("p3".into(), String::new()))]
    );
}

#[test]
fn it_is_discarded_and_a_promotion_taken_back_after_a_question() {
    let mut state = committed(vec![checked(Vec::new())]);
    walk(&mut state, "D");
    write(&mut state, "later");
    let effects = walk(&mut state, "Enter C");
    assert_eq!(whats(&effects), [What::Discarded { why: "later".into() }]);
    let (from, to) = (None, Digest::of("r"));
    let promoted = What::Promoted {
        to,
        overrule: "why not".into(),
        policy: None,
    };
    let mut state = committed(vec![checked(Vec::new()), What::Applying { from, to }, promoted]);
    assert!(show(&mut state).contains("It is the head of crafter-auto"));
    walk(&mut state, "u");
    write(&mut state, "worse");
    assert!(walk(&mut state, "Enter Esc").is_empty());
    walk(&mut state, "u Enter");
    assert_eq!(
        walk(&mut state, "C"),
        [Effect::Review(Ask::Demote("p3".into(), String::new()))]
    );
}

#[test]
fn what_others_decide_meanwhile_shows_and_the_place_stays() {
    let mut state = reviewing((80, 24), dossier(Vec::new()));
    walk(&mut state, "J J");
    let theirs = vec![
        What::Split {
            part: "scaffold.toml#1".into(),
        },
        decided("hooks.star#1", &dossier(Vec::new()), Verdict::Accept, "mine"),
    ];
    let news = after(&opened(&state).dossier, theirs);
    update(&mut state, Event::Data(Data::Dossier(news)));
    let shown = show(&mut state);
    assert_eq!(*opened(&state).current().unwrap().1.part.id.0, *"prompts/log.md#1");
    assert!(shown.contains("1 of 6 decided"), "{shown}");
    // The next key is about what is there now.
    let effects = walk(&mut state, "y");
    assert!(
        matches!(&effects[..], [Effect::Review(Ask::Append(_, seen, _))] if *seen == Seq(3)),
        "{effects:?}"
    );
    assert_eq!(base().len() + 1, revised().len());
}

#[test]
fn a_recipe_is_decided_on_in_its_own_words() {
    let text = |rank: u32| {
        files(&[(
            "recipe.toml",
            &format!("version = 1\nenv = \"crafter\"\n\n[[train]]\nrank = {rank}\n"),
        )])
    };
    let mut recipe = proposal("p3", text(8), text(16));
    if let crate::review::Content::Revision(content) = recipe.draft.content {
        recipe.draft.content = crate::review::Content::Recipe(content);
    }
    let recipe = crate::review::Proposal::new("p3".into(), recipe.created.clone(), recipe.draft);
    let first = dossier_of(recipe, Vec::new());
    let mut state = reviewing((160, 48), std::sync::Arc::clone(&first));
    let said = super::text(&state);
    assert!(said.contains("rank = 16") && said.contains("checked → used"), "{said}");
    assert!(!said.contains("promoted"), "{said}");
    let part = &first.standing.parts[0].part;
    let accepted = What::Decided {
        part: part.id.clone(),
        digest: part.digest,
        verdict: Verdict::Accept,
        comment: String::new(),
        policy: None,
    };
    let decided = after(&first, vec![accepted]);
    update(&mut state, Event::Data(Data::Dossier(std::sync::Arc::clone(&decided))));
    show(&mut state);
    press(&mut state, "A");
    assert!(
        super::text(&state).contains("nothing is trained by this"),
        "{}",
        super::text(&state)
    );
    press(&mut state, "Esc");
    let result = crate::types::Digest::of("r");
    let checked = after(
        &decided,
        vec![
            What::Committed { result },
            What::Checked {
                result,
                problems: Vec::new(),
            },
        ],
    );
    update(&mut state, Event::Data(Data::Dossier(checked)));
    show(&mut state);
    let said = super::text(&state);
    assert!(said.contains("can be trained by"), "{said}");
    assert!(!state.can_promote());
}
