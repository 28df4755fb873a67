//! Code fences around tags: found and unwrapped.
//!
//! A fence inside of an operation is what the operation writes; one in which no tag stands is prose. Both are left
//! alone.

use std::ops::Range;

use super::Why;
use super::edit::Editing;
use crate::protocol::{OpSyntax, parse};

/// What opens and closes a fence.
pub(super) const FENCE: &str = "```";

/// Cuts the marks of all fences that have a tag between them; true when there were some.
pub(super) fn unwrap(text: &mut Editing<'_>, vocabulary: &[OpSyntax]) -> bool {
    if !text.text().contains(FENCE) {
        return false;
    }
    let found = around_tags(text.text(), vocabulary);
    // From the back, so that what stands before keeps its place.
    for range in found.iter().rev() {
        text.cut(range.clone(), Why::Fence);
    }
    !found.is_empty()
}

/// The marks to cut, in order.
fn around_tags(text: &str, vocabulary: &[OpSyntax]) -> Vec<Range<usize>> {
    let parsed = parse(text, vocabulary);
    let tags: Vec<Range<usize>> = parsed.items.iter().map(|item| item.span().clone()).collect();
    let inside = |at: usize| {
        let tag = tags.iter().any(|tag| tag.start < at && at < tag.end);
        tag || parsed.thinking.as_ref().is_some_and(|thinking| thinking.contains(&at))
    };
    let marks: Vec<Range<usize>> = runs(text).filter(|mark| !inside(mark.start)).collect();
    let mut cuts: Vec<Range<usize>> = Vec::new();
    for pair in marks.chunks_exact(2) {
        let [open, close] = pair else { continue };
        let open = opening(text, open.clone());
        if tags.iter().any(|tag| tag.start >= open.end && tag.end <= close.start) {
            let mut close = closing(text, close.clone());
            close.start = close.start.max(open.end);
            cuts.extend([open, close]);
        }
    }
    // Marks on one line may claim the same blank.
    for at in 1..cuts.len() {
        cuts[at].start = cuts[at].start.max(cuts[at - 1].end);
    }
    cuts
}

/// Runs of three backticks or more.
fn runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = text.get(at..)?.find(FENCE)? + at;
        let length = text.get(start..)?.bytes().take_while(|byte| *byte == b'`').count();
        at = start + length;
        Some(start..at)
    })
}

/// An opening mark with its language and, where it has a line of its own, that line.
fn opening(text: &str, mark: Range<usize>) -> Range<usize> {
    let rest = text.get(mark.end..).unwrap_or_default();
    let word = rest
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-+.".contains(byte))
        .count();
    let after = rest.get(word..).unwrap_or_default();
    let blank = after.bytes().take_while(|byte| b" \t\r".contains(byte)).count();
    let follows = after.as_bytes().get(blank);
    let end = match follows {
        Some(b'\n') => mark.end + word + blank + 1,
        None => text.len(),
        // On the line of what it wraps: a language is set apart by a blank or a tag.
        Some(_) if blank > 0 || follows == Some(&b'<') => mark.end + word + blank,
        Some(_) => mark.end,
    };
    let start = match follows {
        Some(b'\n') | None => line_start(text, mark.start),
        Some(_) => mark.start,
    };
    start..end
}

/// A closing mark, with the line end before it where it has a line of its own.
fn closing(text: &str, mark: Range<usize>) -> Range<usize> {
    let rest = text.get(mark.end..).unwrap_or_default();
    let blank = rest.bytes().take_while(|byte| b" \t".contains(byte)).count();
    let ends = matches!(rest.as_bytes().get(blank), None | Some(b'\n' | b'\r'));
    let start = line_start(text, mark.start);
    let own_line = start == 0 || text.as_bytes().get(start - 1) == Some(&b'\n');
    if !ends || !own_line {
        return mark;
    }
    let before = text.get(..start).unwrap_or_default();
    let before = before.strip_suffix('\n').unwrap_or(before);
    let before = before.strip_suffix('\r').unwrap_or(before);
    before.len()..mark.end + blank
}

/// Where the line begins, when only blanks stand between that and `at`; else `at`.
fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let blanks = before.bytes().rev().take_while(|byte| b" \t".contains(byte)).count();
    let start = at - blanks;
    match start == 0 || before.as_bytes().get(start - 1) == Some(&b'\n') {
        true => start,
        false => at,
    }
}
