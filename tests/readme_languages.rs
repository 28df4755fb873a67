//! The README in Chinese keeps up with the one in English: the same headings' depth, commands and links.
#![allow(clippy::unwrap_used, clippy::expect_used)]

fn read(name: &str) -> String {
    std::fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The commands of a document's code blocks, without their comments.
fn commands(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if inside {
            let command = line.split(" #").next().unwrap().trim();
            found.push(command.to_owned());
        }
    }
    found
}

/// What stands in backquotes in its prose, each thing once.
fn named(text: &str) -> std::collections::BTreeSet<String> {
    let prose: String = text.split("```").step_by(2).collect();
    prose
        .split('`')
        .skip(1)
        .step_by(2)
        .map(|word| word.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

fn headings(text: &str) -> Vec<usize> {
    let prose: String = text.split("```").step_by(2).collect();
    let depth = |line: &str| line.chars().take_while(|c| *c == '#').count();
    prose.lines().map(depth).filter(|depth| *depth > 0).collect()
}

#[test]
fn both_languages_tell_the_same_commands() {
    let (english, chinese) = (read("README.md"), read("README.zh-CN.md"));
    assert!(commands(&english).len() > 10);
    assert_eq!(commands(&english), commands(&chinese), "mend README.zh-CN.md");
    let (ours, theirs) = (named(&english), named(&chinese));
    let lacks: Vec<_> = ours.difference(&theirs).collect();
    assert!(lacks.is_empty(), "README.zh-CN.md does not name {lacks:?}");
    assert_eq!(headings(&english), headings(&chinese));
    assert!(chinese.contains("(README.md)"), "the way back");
}
