//! The postprocess against its table of cases, and against chance.

use proptest::prelude::*;

use super::*;

/// A target, and what it becomes or why it is dropped.
type Case = (&'static str, Phase, &'static str, Result<&'static str, Dropped>);

const LOG: Phase = Phase::Log;
const PLAN: Phase = Phase::Plan;
const NO_OP: Result<&str, Dropped> = Err(Dropped::NoMemoryOp);
const ONLY: Result<&str, Dropped> = Err(Dropped::ActionOnly);
const FENCED: Result<&str, Dropped> = Err(Dropped::Fence);

const APPEND: &str = "<|APPEND|>a.txt|tree<|END|>";

#[rustfmt::skip]
const CASES: &[Case] = &[
    // DONE
    ("as it should be", LOG, "<|APPEND|>a.txt|tree<|END|>\n<|DONE|>", Ok("<|APPEND|>a.txt|tree<|END|>\n<|DONE|>")),
    ("done alone", LOG, "<|DONE|>", Ok("<|DONE|>")),
    ("done with words before", LOG, "Nothing new.\n<|DONE|>", Ok("Nothing new.\n<|DONE|>")),
    ("done with text after", LOG, "<|DONE|>\nI wrote nothing.", Ok("<|DONE|>")),
    ("op, done, text", LOG, "<|APPEND|>a.txt|tree<|END|><|DONE|> That is all.", Ok("<|APPEND|>a.txt|tree<|END|><|DONE|>")),
    ("ops after done", LOG, "<|DONE|>\n<|APPEND|>a.txt|tree<|END|>", Ok("<|DONE|>")),
    ("two times done", LOG, "<|APPEND|>a.txt|tree<|END|><|DONE|><|DONE|>", Ok("<|APPEND|>a.txt|tree<|END|><|DONE|>")),
    ("action after done", LOG, "<|DONE|>\n<|ACTION|>Noop<|END|>", Ok("<|DONE|>")),
    ("done of a plan is no op", PLAN, "<|DONE|>", NO_OP),
    ("done in lower case", LOG, "<|append|>a.txt|tree<|end|>\n<|done|>\nok", Ok("<|append|>a.txt|tree<|end|>\n<|done|>")),
    ("done with one bar", LOG, "<DONE|> x", Ok("<DONE|>")),
    // actions
    ("op, then action", PLAN, "<|READ|>a.txt<|END|>\n<|ACTION|>Noop<|END|>", Ok("<|READ|>a.txt<|END|>")),
    ("op, words, action, words", PLAN, "Look.\n<|READ|>a.txt<|END|>\nI go.\n<|ACTION|>Noop<|END|>\nDone.", Ok("Look.\n<|READ|>a.txt<|END|>")),
    ("action first", PLAN, "<|ACTION|>Noop<|END|>\n<|READ|>a.txt<|END|>", NO_OP),
    ("action between ops", PLAN, "<|READ|>a.txt<|END|>\n<|ACTION|>Noop<|END|>\n<|READ|>b.txt<|END|>", Ok("<|READ|>a.txt<|END|>")),
    ("two actions", PLAN, "<|READ|>a.txt<|END|><|ACTION|>Noop<|END|><|ACTION|>Do<|END|>", Ok("<|READ|>a.txt<|END|>")),
    ("action only", PLAN, "<|ACTION|>Noop<|END|>", ONLY),
    ("action with reasons only", PLAN, "The tree is near.\n<|ACTION|>Do<|END|>", ONLY),
    ("action line", PLAN, "<|READ|>a.txt<|END|>\nACTION: Noop\nbye", Ok("<|READ|>a.txt<|END|>")),
    ("action line only", PLAN, "ACTION: Noop", ONLY),
    ("action in the other form", PLAN, "<|READ|>a.txt<|END|>\n<ACTION>Noop</ACTION>", Ok("<|READ|>a.txt<|END|>")),
    ("action in lower case", PLAN, "<|read|>a.txt<|end|>\n<|action|>noop<|end|>", Ok("<|read|>a.txt<|end|>")),
    ("action in log, after the ops", LOG, "<|APPEND|>a.txt|tree<|END|>\n<|ACTION|>Noop<|END|>", Ok(APPEND)),
    ("action in log, before done", LOG, "<|APPEND|>a.txt|tree<|END|>\n<|ACTION|>Noop<|END|>\n<|DONE|>", Err(Dropped::ActionInLog)),
    ("action only in log", LOG, "<|ACTION|>Noop<|END|>", ONLY),
    ("no action", PLAN, "<|READ|>a.txt<|END|>", Ok("<|READ|>a.txt<|END|>")),
    // tails
    ("text after the last op", LOG, "<|APPEND|>a.txt|tree<|END|>\nThat is new.", Ok(APPEND)),
    ("blanks after the last op", LOG, "<|APPEND|>a.txt|tree<|END|>  \r\n\n", Ok(APPEND)),
    ("text between ops stays", PLAN, "<|READ|>a<|END|>\nand\n<|READ|>b<|END|>\nbut", Ok("<|READ|>a<|END|>\nand\n<|READ|>b<|END|>")),
    ("unclosed tag after an op", LOG, "<|APPEND|>a.txt|tree<|END|>\n<|APPEND|>b.txt|cow", Ok(APPEND)),
    ("unclosed tag only", LOG, "<|APPEND|>b.txt|cow", NO_OP),
    ("CRLF", PLAN, "Look.\r\n<|READ|>a.txt<|END|>\r\n<|ACTION|>Noop<|END|>\r\n", Ok("Look.\r\n<|READ|>a.txt<|END|>")),
    ("tokens of a chat template leak", LOG, "<|APPEND|>a.txt|tree<|END|><|im_end|>", Ok(APPEND)),
    ("PLAN with a done after its op", PLAN, "<|READ|>a.txt<|END|><|DONE|>", Ok("<|READ|>a.txt<|END|>")),
    // broken tags
    ("broken bar at the end", LOG, "<|APPEND|>a.txt|tree<|END|} ok", Ok("<|APPEND|>a.txt|tree<|END|}")),
    ("no bars", PLAN, "<READ>a.txt<END> x", Ok("<READ>a.txt<END>")),
    ("closed by its own name", PLAN, "<READ>a.txt</READ> x", Ok("<READ>a.txt</READ>")),
    ("missing arguments are no op", LOG, "<|APPEND|><|END|>", NO_OP),
    ("an op that a scaffold added", LOG, "<|UPSERT|>map.txt|12,7|tree<|END|> ok", Ok("<|UPSERT|>map.txt|12,7|tree<|END|>")),
    // thinking
    ("thinking before ops stays", PLAN, "<think>\nwest <|ACTION|>Do<|END|>\n</think>\n<|READ|>a<|END|>\nok", Ok("<think>\nwest <|ACTION|>Do<|END|>\n</think>\n<|READ|>a<|END|>")),
    ("thinking only", PLAN, "<think><|READ|>a<|END|></think>", NO_OP),
    ("unclosed thinking", PLAN, "<think><|READ|>a<|END|>", NO_OP),
    ("thinking without beginning", PLAN, "hm <|READ|>a<|END|></think><|READ|>b<|END|> ok", Ok("hm <|READ|>a<|END|></think><|READ|>b<|END|>")),
    // nothing
    ("only prose", LOG, "I see a tree.", NO_OP),
    ("empty", LOG, "", Err(Dropped::Invalid)),
    ("blanks", PLAN, " \n", Err(Dropped::Invalid)),
    // fences
    ("fence with a language", LOG, "```xml\n<|APPEND|>a.txt|tree<|END|>\n```", Ok(APPEND)),
    ("fence without a language", LOG, "```\n<|APPEND|>a.txt|tree<|END|>\n```\n", Ok(APPEND)),
    ("words, fence, words", PLAN, "Look:\n```\n<|READ|>a<|END|>\n```\nthen\n<|READ|>b<|END|>", Ok("Look:\n<|READ|>a<|END|>\nthen\n<|READ|>b<|END|>")),
    ("two fences", LOG, "```\n<|READ|>a<|END|>\n```\n```text\n<|APPEND|>a.txt|tree<|END|>\n```\n", Ok("<|READ|>a<|END|>\n<|APPEND|>a.txt|tree<|END|>")),
    ("fence around op and done", LOG, "```\n<|APPEND|>a.txt|tree<|END|>\n<|DONE|>\n```", Ok("<|APPEND|>a.txt|tree<|END|>\n<|DONE|>")),
    ("fence around op and action", PLAN, "```\n<|READ|>a<|END|>\n<|ACTION|>Noop<|END|>\n```", Ok("<|READ|>a<|END|>")),
    ("fence on one line", LOG, "```<|APPEND|>a.txt|tree<|END|>```", Ok(APPEND)),
    ("fence with a language on one line", LOG, "```xml <|APPEND|>a.txt|tree<|END|> ```", Ok(APPEND)),
    ("fence with CRLF", LOG, "```\r\n<|APPEND|>a.txt|tree<|END|>\r\n```\r\n", Ok(APPEND)),
    ("indented fence", LOG, "  ```\n  <|APPEND|>a.txt|tree<|END|>\n  ```", Ok("  <|APPEND|>a.txt|tree<|END|>")),
    ("four backticks", LOG, "````\n<|APPEND|>a.txt|tree<|END|>\n````", Ok(APPEND)),
    ("fence that is not closed", LOG, "```\n<|APPEND|>a.txt|tree<|END|>", FENCED),
    ("fence that is not opened, after the op", LOG, "<|APPEND|>a.txt|tree<|END|>\n```", Ok(APPEND)),
    ("fence around prose before", LOG, "```\nhm\n```\n<|APPEND|>a.txt|tree<|END|>", FENCED),
    ("fence around prose after", LOG, "<|APPEND|>a.txt|tree<|END|>\n```\nhm\n```", Ok(APPEND)),
    ("fence in what is written", LOG, "<|APPEND|>a.txt|```\ncode\n```<|END|>", FENCED),
    ("fence around an op that writes a fence", LOG, "```\n<|WRITE|>a|```x```<|END|>\n```", FENCED),
    ("tags inside a fence inside text that is cut", PLAN, "<|READ|>a<|END|>\n<|ACTION|>Noop<|END|>\n```\n<|READ|>b<|END|>\n```", Ok("<|READ|>a<|END|>")),
    ("fence around only an action", PLAN, "```\n<|ACTION|>Noop<|END|>\n```", ONLY),
    ("characters of several bytes", LOG, "Bäume:\n```\n<|APPEND|>a.txt|木<|END|>\n```\n木", Ok("Bäume:\n<|APPEND|>a.txt|木<|END|>")),
];

fn chat(target: &str) -> Vec<Message> {
    vec![
        Message::new(ChatRole::System, "```rules```"),
        Message::new(ChatRole::User, "go"),
        Message::new(ChatRole::Assistant, target),
    ]
}

fn last(cleaned: Cleaned) -> String {
    cleaned.conversation.into_iter().next_back().unwrap().content
}

#[test]
fn every_case_of_the_table() {
    assert!(CASES.len() >= 40);
    for (name, phase, target, expected) in CASES {
        let got = clean(*phase, &chat(target)).map(last);
        assert_eq!(got.as_deref(), expected.as_ref().map(|text| *text), "{name}");
    }
}

#[test]
fn fences_are_unwrapped_in_all_answers_and_other_messages_are_left_alone() {
    let mut messages = chat("<|READ|>b<|END|>\n```\nhm\n```");
    messages.splice(
        2..2,
        [
            Message::new(
                ChatRole::Assistant,
                "```\n<|READ|>a<|END|>\n```\nAnd <|ACTION|>Noop<|END|> follows.",
            ),
            Message::new(ChatRole::User, "```\n<|READ|>x<|END|>\n```"),
        ],
    );
    let cleaned = clean(PLAN, &messages).unwrap();
    let said: Vec<&str> = cleaned
        .conversation
        .iter()
        .map(|message| message.content.as_str())
        .collect();
    assert_eq!(
        said,
        [
            "```rules```",
            "go",
            "<|READ|>a<|END|>\nAnd <|ACTION|>Noop<|END|> follows.",
            "```\n<|READ|>x<|END|>\n```",
            "<|READ|>b<|END|>"
        ]
    );
    let why: Vec<(usize, Why)> = cleaned.cuts.iter().map(|cut| (cut.message, cut.why)).collect();
    assert_eq!(why, [(2, Why::Fence), (2, Why::Fence), (4, Why::Tail)]);
    messages[2].content = "```\nhm\n```".into();
    assert_eq!(clean(PLAN, &messages), Err(Dropped::Fence));
}

#[test]
fn what_is_no_conversation_is_dropped() {
    let user = || Message::new(ChatRole::User, "go");
    let answer = || Message::new(ChatRole::Assistant, APPEND);
    for messages in [vec![], vec![user()], vec![answer()], vec![user(), answer(), user()]] {
        assert_eq!(clean(LOG, &messages), Err(Dropped::Invalid));
        assert_eq!(certify(&messages), [Violation::Invalid]);
    }
}

#[test]
fn violations_are_found() {
    for (target, expected) in [
        ("<|READ|>a<|END|>", vec![]),
        ("<|DONE|>", vec![]),
        ("hm", vec![Violation::NoMemoryOp]),
        ("<|READ|>a<|END|> hm", vec![Violation::Tail]),
        ("<|READ|>a<|END|><|ACTION|>x<|END|>", vec![Violation::Action]),
        ("<|ACTION|>x<|END|>", vec![Violation::Action, Violation::NoMemoryOp]),
        ("```\n<|READ|>a<|END|>\n```", vec![Violation::Fence, Violation::Tail]),
        ("```\n```\n<|READ|>a<|END|>", vec![Violation::Fence]),
    ] {
        assert_eq!(certify(&chat(target)), expected, "{target}");
    }
}

#[test]
fn the_phase_is_told_by_the_answer() {
    for (target, phase) in [
        ("<|DONE|>", LOG),
        ("<|READ|>a<|END|><|DONE|>", LOG),
        ("<|READ|>a<|END|>", PLAN),
        ("<|ACTION|>x<|END|><|DONE|>", PLAN),
    ] {
        assert_eq!(phase_of(&chat(target)), phase, "{target}");
    }
}

#[test]
fn counts_add_up() {
    let mut report = Report::default();
    for (_, phase, target, _) in CASES {
        report.count(clean(*phase, &chat(target)));
    }
    let dropped: u32 = report.dropped.values().sum();
    assert_eq!(report.raw as usize, CASES.len());
    assert_eq!((report.output + dropped, report.violations), (report.raw, 0));
    assert_eq!(report.valid + report.dropped["invalid"], report.raw);
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<|APPEND|>a|b<|END|>",
        "<|READ|>a<|END|>",
        "<|ACTION|>Noop<|END|>",
        "<|DONE|>",
        "```",
        "```xml",
        "\n```\n",
        "\n",
        " ",
        "ACTION: Noop",
        "<think>",
        "</think>",
        "<|READ|>",
        "<|END|}",
        "<|UPSERT|>a|b<|END|>",
        "hm",
        "木",
        "`",
        "\r\n",
    ]);
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_comes_out_is_cuts_of_what_came_in_and_clean(
        target in pieces(),
        middle in pieces(),
        plan in any::<bool>(),
    ) {
        let phase = if plan { PLAN } else { LOG };
        let mut messages = chat(&target);
        messages.splice(2..2, [Message::new(ChatRole::Assistant, middle), Message::new(ChatRole::User, "on")]);
        if let Ok(cleaned) = clean(phase, &messages) {
            prop_assert_eq!(certify(&cleaned.conversation), vec![]);
            for (at, (was, is)) in messages.iter().zip(&cleaned.conversation).enumerate() {
                let cuts: Vec<Cut> = cleaned.cuts.iter().filter(|cut| cut.message == at).cloned().collect();
                prop_assert!(cuts.iter().all(|cut| cut.start < cut.end && cut.end <= was.content.len()));
                prop_assert!(cuts.windows(2).all(|pair| pair[0].end <= pair[1].start));
                prop_assert_eq!(apply(&was.content, &cuts), is.content.as_str());
            }
            let again = clean(phase, &cleaned.conversation).unwrap();
            prop_assert!(again.cuts.is_empty());
            prop_assert_eq!(again.conversation, cleaned.conversation);
        }
    }
}
