//! Colours of source text: syntect says what a piece is, the theme's slots say how that looks.
//!
//! Owns parsing line by line with checkpoints, so that a long file is only parsed as far as it is
//! looked at. Must not know where the text is shown.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::paint;
use crate::tui::theme::Slot;

/// Lines between two checkpoints.
const EVERY: usize = 64;
/// Bytes of a line beyond which it is left plain.
const LONGEST: usize = 2_000;

/// The coloured pieces of a line, sorted, apart.
pub(crate) type Spans = Vec<(Range<usize>, Slot)>;

fn syntaxes() -> &'static SyntaxSet {
    static SET: OnceLock<SyntaxSet> = OnceLock::new();
    SET.get_or_init(two_face::syntax::extra_newlines)
}

/// Scopes and what they look like; the first one that fits counts.
fn roles() -> &'static [(Scope, Slot)] {
    static ROLES: OnceLock<Vec<(Scope, Slot)>> = OnceLock::new();
    ROLES.get_or_init(|| {
        [
            ("comment", Slot::Faint),
            ("string", Slot::Quote),
            ("constant", Slot::Key),
            ("keyword", Slot::Heading),
            ("storage", Slot::Heading),
            ("markup.heading", Slot::Heading),
            ("markup.raw", Slot::Quote),
            ("markup.underline", Slot::Info),
            ("entity.name.section", Slot::Heading),
            ("entity.name", Slot::Accent),
            ("support", Slot::Accent),
            ("variable.function", Slot::Accent),
            ("entity.other.attribute-name", Slot::Argument),
        ]
        .into_iter()
        .filter_map(|(name, slot)| Some((Scope::new(name).ok()?, slot)))
        .collect()
    })
}

/// The syntax of a file, by its name; `None` for plain text. Starlark is read as Python.
fn syntax_of(path: &str) -> Option<&'static SyntaxReference> {
    let ending = path.rsplit_once('.')?.1.to_ascii_lowercase();
    let token = match ending.as_str() {
        "star" | "bzl" | "py" => "py",
        "j2" | "jinja" | "jinja2" | "markdown" | "txt" => "md",
        "md" | "toml" | "json" | "yaml" | "yml" | "sh" => ending.as_str(),
        _ => return None,
    };
    syntaxes().find_syntax_by_extension(token)
}

/// Colours one text, as far as it is asked for.
pub(crate) struct Painter {
    text: Arc<str>,
    starts: Vec<usize>,
    /// Prompts hold tags of templates and of the protocol.
    templates: bool,
    /// The state before every [`EVERY`]th line, as far as known.
    checkpoints: Vec<(ParseState, ScopeStack)>,
}

impl Painter {
    /// `None` for what has no colours.
    pub(crate) fn new(path: &str, text: Arc<str>) -> Option<Self> {
        let syntax = syntax_of(path)?;
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).filter(|at| *at < text.len()).collect();
        Some(Self {
            starts,
            templates: syntax.name == "Markdown",
            checkpoints: vec![(ParseState::new(syntax), ScopeStack::new())],
            text,
        })
    }

    /// Colours of these lines. Parses from the last checkpoint before them.
    pub(crate) fn lines(&mut self, lines: Range<usize>) -> Vec<Spans> {
        let end = lines.end.min(self.starts.len());
        let mut out = Vec::new();
        if lines.start >= end {
            return out;
        }
        let point = (lines.start / EVERY).min(self.checkpoints.len() - 1);
        let (mut state, mut stack) = self.checkpoints[point].clone();
        for line in point * EVERY..end {
            if line == self.checkpoints.len() * EVERY {
                self.checkpoints.push((state.clone(), stack.clone()));
            }
            let text = self.line(line);
            let spans = parse(text, &mut state, &mut stack);
            if line >= lines.start {
                out.push(if self.templates { with_tags(text, spans) } else { spans });
            }
        }
        out
    }

    fn line(&self, line: usize) -> &str {
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        &self.text[self.starts[line]..end]
    }
}

fn parse(text: &str, state: &mut ParseState, stack: &mut ScopeStack) -> Spans {
    let mut spans = Spans::new();
    if text.len() > LONGEST {
        return spans;
    }
    // A line that cannot be parsed stays plain; the next one begins in the same state.
    let Ok(ops) = state.parse_line(text, syntaxes()) else {
        return spans;
    };
    let end = text.trim_end_matches(['\n', '\r']).len();
    let mut at = 0;
    let mut put = |range: Range<usize>, stack: &ScopeStack| {
        let range = range.start.min(end)..range.end.min(end);
        if range.is_empty() {
            return;
        }
        if let Some(slot) = slot_of(stack) {
            match spans.last_mut() {
                Some((last, same)) if last.end == range.start && *same == slot => last.end = range.end,
                _ => spans.push((range, slot)),
            }
        }
    };
    for (place, op) in ops {
        put(at..place.max(at), stack);
        at = place.max(at);
        if stack.apply(&op).is_err() {
            return spans;
        }
    }
    put(at..end, stack);
    spans
}

/// The narrowest scope that looks like something.
fn slot_of(stack: &ScopeStack) -> Option<Slot> {
    stack.as_slice().iter().rev().find_map(|scope| {
        let role = roles().iter().find(|(role, _)| role.is_prefix_of(*scope));
        role.map(|(_, slot)| *slot)
    })
}

/// Tags stand over what the language says.
fn with_tags(text: &str, spans: Spans) -> Spans {
    let tags = paint::tags(text);
    if tags.is_empty() {
        return spans;
    }
    let mut out = Spans::new();
    for (range, slot) in spans {
        let mut start = range.start;
        for (tag, _) in tags
            .iter()
            .filter(|(tag, _)| tag.start < range.end && range.start < tag.end)
        {
            if start < tag.start {
                out.push((start..tag.start, slot));
            }
            start = start.max(tag.end);
        }
        if start < range.end {
            out.push((start..range.end, slot));
        }
    }
    out.extend(tags);
    out.sort_by_key(|(range, _)| range.start);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str, text: &str) -> Vec<(String, Slot)> {
        let lines = Painter::new(path, text.into()).unwrap().lines(0..usize::MAX);
        let lines = text.split_inclusive('\n').zip(lines);
        lines
            .flat_map(|(line, spans)| spans.into_iter().map(|(range, slot)| (line[range].to_owned(), slot)))
            .collect()
    }

    fn has(path: &str, text: &str, piece: &str, slot: Slot) {
        let found = parts(path, text);
        assert!(
            found.iter().any(|(said, is)| said.contains(piece) && *is == slot),
            "{piece} as {slot:?} in {found:?}"
        );
    }

    #[test]
    fn every_kind_of_file_of_a_scaffold_has_its_colours() {
        let star = "def hook(state, event):  # why\n    return \"x\", 12\n";
        has("hooks.star", star, "def", Slot::Heading);
        has("hooks.star", star, "hook", Slot::Accent);
        has("hooks.star", star, "# why", Slot::Faint);
        has("hooks.star", star, "\"x\"", Slot::Quote);
        has("hooks.star", star, "12", Slot::Key);
        has(
            "scaffold.toml",
            "[budgets] # n\nturns = 3\nname = \"a\"\n",
            "3",
            Slot::Key,
        );
        has(
            "scaffold.toml",
            "[budgets] # n\nturns = 3\nname = \"a\"\n",
            "\"a\"",
            Slot::Quote,
        );
        has("scaffold.toml", "[budgets] # n\n", "# n", Slot::Faint);
        let prompt = "# LOG\nSee {{ files }} and <|DONE|>, *now*.\n";
        has("prompts/log.md", prompt, "LOG", Slot::Heading);
        has("prompts/log.md", prompt, "{{ files }}", Slot::Accent);
        has("prompts/log.md", prompt, "<|DONE|>", Slot::Tag);
        assert!(Painter::new("map.dat", "x".into()).is_none());
    }

    #[test]
    fn looking_at_the_end_first_gives_the_same_colours() {
        let text: String = (0..500)
            .map(|n| {
                if n == 70 {
                    "x = \"\"\"\n".to_owned()
                } else if n == 300 {
                    "\"\"\"\n".to_owned()
                } else {
                    format!("a{n} = {n}\n")
                }
            })
            .collect();
        let text: Arc<str> = text.into();
        let all = Painter::new("a.py", Arc::clone(&text)).unwrap().lines(0..500);
        let mut painter = Painter::new("a.py", text).unwrap();
        for part in [450..470, 100..120, 0..3, 290..310, 450..470] {
            assert_eq!(painter.lines(part.clone()), all[part.clone()], "{part:?}");
        }
        assert_eq!(all[150], [(0..10, Slot::Quote)], "inside of the long string");
        assert!(painter.lines(500..900).is_empty());
    }

    #[test]
    fn spans_are_sorted_and_apart_whatever_the_text() {
        let long = "y".repeat(LONGEST + 1);
        for text in [
            "漢字 `x` {{ 漢 }}\r\n",
            "\u{1b}[2J# a\n",
            "",
            "\n\n",
            long.as_str(),
            "**{{ a }} b** {{ c\n",
        ] {
            for path in ["a.md", "a.py", "a.toml", "a.json"] {
                let mut painter = Painter::new(path, text.into()).unwrap();
                for (line, spans) in text.split_inclusive('\n').zip(painter.lines(0..9)) {
                    assert!(line.len() <= LONGEST || spans.is_empty());
                    for (range, _) in &spans {
                        assert!(
                            line.get(range.clone()).is_some_and(|part| !part.is_empty()),
                            "{path} {text:?}"
                        );
                    }
                    assert!(
                        spans.windows(2).all(|two| two[0].0.end <= two[1].0.start),
                        "{path} {spans:?}"
                    );
                }
            }
        }
    }
}
