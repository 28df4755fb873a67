//! Blame against small episodes and random edits.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::types::{AgentName, At, EpisodeNo, OpOutcome, TurnNo};

fn at(step: u32) -> At {
    At {
        episode: EpisodeNo(0),
        step: StepNo(step),
        agent: AgentName::from("agent"),
        memory_root: "ep_00".into(),
    }
}

/// An episode told in a few words.
struct Story {
    blame: Blame,
    files: MemoryFiles,
}

impl Story {
    fn new(files: &[(&str, &str)]) -> Self {
        let files: MemoryFiles = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), Arc::from(*text)))
            .collect();
        let mut story = Self {
            blame: Blame::new(),
            files: files.clone(),
        };
        story.push(
            0,
            Body::EpisodeStarted {
                seed: 1,
                inherited: files,
            },
        );
        story
    }

    fn push(&mut self, step: u32, body: Body) {
        self.blame.push(&Event { at: at(step), body }).unwrap();
    }

    fn op(&mut self, step: u32, op: &str, args: &[&str], shown: &str, cut: u64, changes: Vec<MemoryChange>) {
        let op = MemoryOp {
            phase: if changes.is_empty() { Phase::Plan } else { Phase::Log },
            turn: TurnNo(0),
            op: op.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            by: Author::Model,
            outcome: OpOutcome {
                status: OpStatus::Ok,
                text: shown.to_owned(),
                cut,
            },
            changes,
        };
        self.push(step, Body::MemoryOp { op: Box::new(op) });
    }

    fn change(&mut self, path: &str, text: Option<&str>) -> Vec<MemoryChange> {
        let before = self.files.get(path).cloned();
        let change = MemoryChange::between(path, before.as_deref(), text);
        if let Some(change) = &change {
            change.apply(&mut self.files).unwrap();
        }
        change.into_iter().collect()
    }

    fn write(&mut self, step: u32, path: &str, text: &str) {
        let changes = self.change(path, Some(text));
        self.op(step, "WRITE", &[path, text], "wrote", 0, changes);
    }

    fn read(&mut self, step: u32, op: &str, args: &[&str], shown: &str) {
        self.op(step, op, args, shown, 0, Vec::new());
    }

    /// `step by text reads` a line.
    fn told(&self, path: &str) -> Vec<String> {
        let lines = self.blame.file(path).unwrap();
        lines
            .iter()
            .map(|line| {
                let reads: Vec<_> = line.read_at.iter().map(ToString::to_string).collect();
                let by = match (line.by, line.phase) {
                    (Author::Model, Some(phase)) => phase.word(),
                    (Author::Human, None) => "human",
                    (Author::Scaffold, None) => "initial",
                    _ => "?",
                };
                format!("{} {} {by} {:?} [{}]", line.line, line.step, line.text, reads.join(" "))
            })
            .collect()
    }
}

#[test]
fn lines_remember_who_wrote_and_who_read_them() {
    let mut story = Story::new(&[("a.txt", "# map\n")]);
    story.write(3, "a.txt", "# map\ntree at 1,2\n");
    story.write(5, "a.txt", "# map\ntree at 1,2\nwater at 3,4\n");
    story.read(6, "READ", &["./a.txt"], "# map\ntree at 1,2\nwater at 3,4\n");
    story.read(7, "SEARCH", &["a.txt", "tree"], "2: tree at 1,2\n");
    story.read(8, "TAIL", &["a.txt", "1"], "water at 3,4\n");
    story.read(8, "TAIL", &["a.txt", "1"], "water at 3,4\n");
    story.read(9, "SEARCH", &["*", "at"], "2: tree at 1,2\n3: water at 3,4\n");
    let changes = story.change("a.txt", Some("# map\nTREE at 1,2\nwater at 3,4\n"));
    story.push(10, Body::HumanEdited { changes });
    assert_eq!(
        story.told("a.txt"),
        [
            "1 0 initial \"# map\" [6]",
            "2 10 human \"TREE at 1,2\" []",
            "3 5 LOG \"water at 3,4\" [6 8 9]",
        ]
    );
    story.push(10, Body::EpisodeAttempt { attempt: 2 });
    assert_eq!(story.told("a.txt"), ["1 0 initial \"# map\" []"]);
}

#[test]
fn unchanged_lines_keep_their_origin_in_a_rewrite() {
    let mut story = Story::new(&[]);
    story.write(1, "a.txt", "one\ntwo\nthree\nfour\n");
    story.read(2, "READ", &["a.txt"], "one\ntwo\nthree\nfour\n");
    story.write(3, "a.txt", "zero\none\n2\nthree\nfive\nfour and more\n");
    assert_eq!(
        story.told("a.txt"),
        [
            "1 3 LOG \"zero\" []",
            "2 1 LOG \"one\" [2]",
            "3 3 LOG \"2\" []",
            "4 1 LOG \"three\" [2]",
            "5 3 LOG \"five\" []",
            "6 3 LOG \"four and more\" []",
        ]
    );
}

#[test]
fn a_line_that_is_cut_off_was_not_read() {
    let mut story = Story::new(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "one\n")]);
    story.op(
        1,
        "READ",
        &["a.txt"],
        "one\n[... 10 more bytes; use TAIL or SEARCH]",
        10,
        Vec::new(),
    );
    story.op(
        2,
        "TAIL",
        &["a.txt", "9"],
        "[... 8 bytes before this; use SEARCH]\nthree\n",
        8,
        Vec::new(),
    );
    story.read(3, "SEARCH", &["*", "one"], "a.txt:\n1: one\nb.txt:\n1: one\n");
    story.read(3, "READ", &["b.txt"], "on\n");
    story.read(4, "SHOW_TOP", &["a.txt"], "top: \n two \n");
    assert_eq!(
        story.told("a.txt"),
        [
            "1 0 initial \"one\" [1 3]",
            "2 0 initial \"two\" [4]",
            "3 0 initial \"three\" [2]"
        ]
    );
    assert_eq!(story.told("b.txt"), ["1 0 initial \"one\" [3]"]);
}

#[test]
fn a_missing_line_end_makes_no_new_line() {
    let mut story = Story::new(&[("a.txt", "one")]);
    story.write(1, "a.txt", "one\ntwo");
    story.write(2, "a.txt", "one\ntwo more\n");
    assert_eq!(
        story.told("a.txt"),
        ["1 0 initial \"one\" []", "2 2 LOG \"two more\" []"]
    );
}

#[test]
fn what_does_not_fit_is_an_error() {
    let mut story = Story::new(&[("a.txt", "one\n")]);
    let change = MemoryChange::between("a.txt", Some("some other text"), Some("some text")).unwrap();
    for change in [
        change.clone(),
        MemoryChange {
            path: "b.txt".into(),
            ..change
        },
    ] {
        let body = Body::HumanEdited { changes: vec![change] };
        assert!(story.blame.push(&Event { at: at(1), body }).is_err());
    }
    assert_eq!(story.blame.text("a.txt").unwrap(), "one\n");
}

#[test]
fn a_hundred_thousand_steps_are_folded_in_passing() {
    let mut story = Story::new(&[("log.txt", ""), ("plan.txt", "")]);
    for step in 1..=100_000 {
        let line = format!("step {step}\n");
        let change = MemoryChange {
            path: "log.txt".into(),
            edit: Edit::Append { text: line },
            before_digest: None,
            after_digest: None,
        };
        story.op(step, "APPEND", &["log.txt", ""], "added", 0, vec![change]);
        story.write(step, "plan.txt", &format!("goal {}\nthen\nrest\n", step / 10));
        let shown = format!("goal {}\nthen\nrest\n", step / 10);
        story.read(step, "READ", &["plan.txt"], &shown);
    }
    let plan = story.blame.file("plan.txt").unwrap();
    assert_eq!((plan[0].step, plan[1].step), (StepNo(100_000), StepNo(1)));
    assert_eq!(plan[1].read_at.len(), 100_000);
    assert_eq!(
        story.blame.lines("log.txt").unwrap()[49_999].origin().step,
        StepNo(50_000)
    );
}

proptest! {
    #[test]
    fn the_text_is_always_the_files_text(
        texts in prop::collection::vec((0_u8..3, "[ab\n]{0,12}|(one\n|two\n|x|\r\n){0,6}"), 1..20),
        gone in any::<u8>(),
    ) {
        let mut story = Story::new(&[("0", "one\ntwo\nthree"), ("1", "")]);
        for (step, (file, text)) in texts.iter().enumerate() {
            let path = file.to_string();
            let text = (usize::from(gone) % 20 != step).then_some(text.as_str());
            let changes = story.change(&path, text);
            story.op(step as u32, "WRITE", &[&path], "", 0, changes);
            for path in ["0", "1", "2"] {
                let text = story.blame.text(path);
                prop_assert_eq!(text.as_deref(), story.files.get(path).map(|text| &**text));
                let Some(lines) = story.blame.lines(path) else { continue };
                let texts: Vec<_> = lines.iter().map(Line::text).collect();
                prop_assert_eq!(texts, story.files[path].lines().collect::<Vec<_>>());
                prop_assert!(lines.iter().all(|line| line.origin().step.0 <= step as u32));
            }
        }
    }

    #[test]
    fn a_read_of_a_whole_file_marks_every_line(text in "[ab \n]{0,30}") {
        let mut story = Story::new(&[("a", &text)]);
        story.read(1, "READ", &["a"], &text);
        let lines = story.blame.lines("a").unwrap();
        prop_assert!(lines.iter().all(|line| line.read_count() == 1));
    }
}
