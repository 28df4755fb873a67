//! The meter against episodes whose numbers can be counted by hand.

use crate::analysis::testing::Tale;
use crate::types::{ActionBy, Body, OpStatus, Phase};

fn close(number: Option<f64>, wanted: f64) {
    let number = number.unwrap();
    assert!((number - wanted).abs() < 1e-9, "{number} is not {wanted}");
}

#[test]
fn stuck_and_oscillating_steps_are_told_by_what_the_world_shows() {
    let mut tale = Tale::new(&[]);
    tale.at(0, 0).sees("a", "").does("Do", 0.0, 0.0);
    tale.sees("a", "").does("Move East", 0.0, 0.0);
    tale.at(1, 0).sees("b", "").does("Move West", 0.0, 0.0);
    tale.at(0, 0).sees("c", "").does("Move South", 0.0, 0.0);
    tale.at(0, 1).sees("d", "");
    let metrics = tale.metrics();
    assert_eq!(metrics.steps, 4);
    close(metrics.stuck_rate, 0.25);
    close(metrics.oscillating_rate, 0.25);
    close(metrics.unproductive_rate, 0.5);
}

#[test]
fn sleep_is_not_judged_and_neither_is_a_step_without_an_answer() {
    let mut tale = Tale::new(&[]);
    tale.at(0, 0).asleep(true).sees("a", "").does("Sleep", 0.0, 0.0);
    tale.sees("a", "").does("Noop", 0.0, 0.0);
    assert_eq!(tale.metrics().unproductive_rate, None);
    assert_eq!(tale.metrics().steps, 2);
}

#[test]
fn without_positions_opposite_names_count() {
    let mut tale = Tale::new(&[]);
    tale.sees("a", "").does("north", 0.0, 0.0);
    tale.sees("b", "").does("south", 0.0, 0.0);
    tale.sees("c", "").does("west", 0.0, 0.0).sees("d", "");
    close(tale.metrics().oscillating_rate, 1.0 / 3.0);
    close(tale.metrics().stuck_rate, 0.0);
}

#[test]
fn writes_that_say_nothing_new_are_redundant() {
    let mut tale = Tale::new(&[("a.txt", "wood: 1\n")]);
    tale.sees("a", "").appends("a.txt", "wood: 2").does("Do", 0.0, 0.0);
    tale.sees("b", "").appends("a.txt", "WOOD = 2 [7]").does("Do", 0.0, 0.0);
    tale.sees("c", "").writes("a.txt", "wood: 2\n").does("Do", 0.0, 0.0);
    tale.sees("d", "").writes("a.txt", "wood: 2\n").does("Do", 0.0, 0.0);
    let metrics = tale.metrics();
    close(metrics.redundant_write_rate, 0.5);
    close(metrics.writes_per_step, 1.0);
    close(metrics.chars_written_per_step, (7.0 + 12.0 + 8.0 + 8.0) / 4.0);
    assert_eq!(metrics.files[0].redundant_writes, 2);
    assert!((metrics.memory_bytes - 8.0).abs() < 1e-9);
    close(metrics.files[0].growth_per_step, 0.0);
}

#[test]
fn a_note_that_is_shown_later_informs_the_step() {
    let mut tale = Tale::new(&[("a.txt", "old line\n")]);
    tale.sees("a", "")
        .turn(Phase::Plan, "rules\nold line\n", "go")
        .does("Do", 1.0, 0.1);
    tale.sees("b", "")
        .turn(Phase::Log, "write", "x")
        .appends("a.txt", "tree at -4,0")
        .turn(Phase::Plan, "rules\ntree at -4,0\n", "go")
        .does("Do", 0.0, 0.1);
    tale.sees("c", "")
        .turn(Phase::Plan, "rules\n2: tree at -4,0\n", "I go to -4,0 now")
        .does("Do", 2.0, 0.1);
    tale.sees("d", "")
        .turn(Phase::Plan, "rules\n", "go")
        .does("Do", 4.0, 0.1);
    let metrics = tale.metrics();
    close(metrics.written_line_read_rate, 1.0);
    close(metrics.informed_step_rate, 0.25);
    close(metrics.reward_after_read, 6.0);
    close(metrics.reward_after_no_read, (7.0 + 6.0 + 4.0) / 3.0);
    let prompts = 15.0 + 5.0 + 19.0 + 22.0 + 6.0;
    close(metrics.memory_context_share, (8.0 + 12.0 + 15.0) / prompts);
    close(metrics.context_efficiency, 15.0 / prompts);
    close(metrics.prompt_tokens_per_step, 125.0);
    close(metrics.ms_per_call, 4.0);
}

#[test]
fn retrievals_are_counted_by_what_they_found() {
    let mut tale = Tale::new(&[("a.txt", "one\n")]);
    tale.sees("a", "")
        .appends("a.txt", "two")
        .op(Phase::Plan, "SEARCH", &["a.txt", "x"], OpStatus::Empty, "")
        .op(Phase::Plan, "SEARCH", &["a.txt", "one"], OpStatus::Ok, "1: one\n")
        .op(Phase::Plan, "TAIL", &["b.txt"], OpStatus::Missing, "")
        .op(Phase::Plan, "LIST", &[], OpStatus::Ok, "a.txt")
        .op(Phase::Plan, "READ", &[""], OpStatus::Malformed, "")
        .reads("./a.txt", 0)
        .does("Do", 0.0, 0.0);
    let metrics = tale.metrics();
    close(metrics.empty_retrieval_rate, 0.5);
    close(metrics.hit_rate, 0.5);
    close(metrics.empty_search_rate, 0.5);
    close(metrics.writes_per_search, 0.5);
    close(metrics.failed_op_rate, 1.0 / 7.0);
    assert_eq!(metrics.empty_retrievals, 2);
}

#[test]
fn facts_are_held_against_what_was_seen() {
    let mut tale = Tale::new(&[("a.txt", "")]);
    tale.sees("- tree 2 steps to your east", "")
        .appends("a.txt", "tree at 2,0")
        .appends("a.txt", "Diamonds north of the tree")
        .appends("a.txt", "I need a diamond")
        .does("Do", 0.0, 0.0);
    close(tale.metrics().unsupported_fact_rate, 0.5);
}

#[test]
fn what_an_unfinished_step_did_is_left_out() {
    let mut tale = Tale::new(&[("a.txt", "")]);
    tale.sees("a", "").does("Do", 0.0, 0.0);
    tale.sees("b", "").turn(Phase::Log, "p", "r").appends("a.txt", "one");
    let metrics = tale.metrics();
    assert_eq!((metrics.steps, metrics.files[0].writes), (1, 0));
    assert_eq!(metrics.prompt_tokens_per_step, Some(0.0));
    tale.push(Body::ActionCommitted {
        raw: String::new(),
        validated: "Noop".into(),
        repaired: false,
        by: ActionBy::Fallback,
    });
    tale.does("Noop", 0.0, 0.0);
    let metrics = tale.metrics();
    assert_eq!((metrics.steps, metrics.files[0].writes), (2, 1));
    close(metrics.invalid_action_rate, 0.5);
    tale.push(Body::EpisodeAttempt { attempt: 2 });
    assert_eq!(tale.metrics().steps, 0);
}

#[test]
fn an_episode_without_steps_has_no_rates() {
    let metrics = Tale::new(&[]).metrics();
    assert_eq!(metrics.steps, 0);
    assert_eq!(metrics.unproductive_rate, None);
    assert_eq!(metrics.prompt_tokens_per_step, None);
}
