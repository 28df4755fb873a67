//! The house keeps its shape: imports go leftwards only, and no file grows past 600 lines.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

/// Modules from left to right; siblings that must not import each other stand in one group.
const ORDER: &[&[&str]] = &[
    &["types"],
    &["config"],
    &["jobs"],
    &["protocol"],
    &["env", "memory", "llm", "store"],
    &["scaffold"],
    &["agent"],
    &["exchange"],
    &["analysis"],
    &["review"],
    &["gate"],
    &["meta"],
    &["evolve", "tune"],
    &["improve"],
    &["tui"],
    &["cli"],
];

const MOST_LINES: usize = 600;

fn rank(module: &str) -> Option<usize> {
    ORDER.iter().position(|group| group.contains(&module))
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What stands before the file's unit tests, without comments.
fn code_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(at, line)| (at + 1, line))
}

/// The house's modules that a line of code names: `crate::x`, also inside `use crate::{x, y}`.
fn modules_named(code: &str) -> Vec<String> {
    let mut named = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let rest = &rest[..rest.find(';').unwrap_or(rest.len())];
        let word = |text: &str| -> String {
            text.chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect()
        };
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 0;
            for part in list.split_inclusive([',', '{', '}']) {
                if depth == 0 {
                    named.push(word(part.trim_start()));
                }
                depth += part.matches('{').count() as i32 - part.matches('}').count() as i32;
            }
        } else {
            named.push(word(rest));
        }
    }
    named.retain(|name| !name.is_empty());
    named
}

fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

#[test]
fn imports_go_leftwards_only() {
    let root = source_root();
    let mut wrong = Vec::new();
    for path in sources(&root) {
        let inside = path.strip_prefix(&root).unwrap();
        let module = inside.components().next().unwrap().as_os_str().to_string_lossy();
        let module = module.trim_end_matches(".rs").to_owned();
        if matches!(module.as_str(), "lib" | "main") {
            continue;
        }
        let Some(own) = rank(&module) else {
            wrong.push(format!("{}: the house has no room `{module}`", inside.display()));
            continue;
        };
        let text = std::fs::read_to_string(&path).unwrap();
        let code: Vec<&str> = code_of(&text).map(|(_, line)| line).collect();
        for named in modules_named(&code.join("\n")) {
            let Some(other) = rank(&named) else { continue };
            if named != module && other >= own {
                wrong.push(format!("{}: {module} imports {named}", inside.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "imports that go the wrong way:\n{}", wrong.join("\n"));
}

#[test]
fn only_the_tui_draws_and_types_stay_plain() {
    let root = source_root();
    let mut wrong = Vec::new();
    for path in sources(&root) {
        let inside = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(&path).unwrap();
        for (line, code) in code_of(&text) {
            if code.contains("ratatui") && !inside.starts_with("tui/") && !inside.starts_with("tui.rs") {
                wrong.push(format!("{inside}:{line}: only tui names ratatui"));
            }
            if code.contains("crossterm") && !code.contains("ratatui::crossterm") {
                wrong.push(format!("{inside}:{line}: crossterm comes in through ratatui"));
            }
            let impure = ["tokio", "std::fs", "std::time", "std::thread", "std::net", "jiff"];
            if inside.starts_with("types/") && impure.iter().any(|name| code.contains(name)) {
                wrong.push(format!("{inside}:{line}: types hold plain data only"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_source_file_passes_600_lines() {
    let root = source_root();
    let long: Vec<String> = sources(&root)
        .into_iter()
        .map(|path| (std::fs::read_to_string(&path).unwrap().lines().count(), path))
        .filter(|(lines, _)| *lines > MOST_LINES)
        .map(|(lines, path)| format!("{} has {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "split these by job:\n{}", long.join("\n"));
}

#[test]
fn the_test_itself_sees_wrong_imports() {
    assert_eq!(modules_named("use crate::tui::App;"), ["tui"]);
    assert_eq!(
        modules_named("use crate::{\n    store::{Reader, Writer},\n    tui,\n};\nfn f() {}"),
        ["store", "tui"]
    );
    assert!(rank("tui") > rank("store"));
}
