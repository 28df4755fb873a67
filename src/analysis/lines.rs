//! A file as a list of lines that remember where they come from.
//!
//! Owns how an edit moves the origins of lines. The text of all lines together is the file's text,
//! byte for byte.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::types::{ApplyError, Author, Edit, Phase, StepNo};

/// Who wrote something, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The step; 0 for what an episode started with, too.
    pub step: StepNo,
    /// The phase; `None` outside the agent's loop (initial files, a person's edit).
    pub phase: Option<Phase>,
    /// Whose hand it was.
    pub by: Author,
}

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// With its line end, if it has one.
    whole: String,
    origin: Origin,
    /// Runs of consecutive steps, first and last: a line that is read every step stays small.
    reads: Vec<(u32, u32)>,
}

impl Line {
    fn new(whole: &str, origin: Origin) -> Self {
        Self {
            whole: whole.to_owned(),
            origin,
            reads: Vec::new(),
        }
    }

    /// Its text without the line end.
    pub fn text(&self) -> &str {
        let text = self.whole.strip_suffix('\n').unwrap_or(&self.whole);
        text.strip_suffix('\r').unwrap_or(text)
    }

    /// Its text with the line end.
    pub fn whole(&self) -> &str {
        &self.whole
    }

    /// Who wrote it.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The steps that read it, in order, each once.
    pub fn read_at(&self) -> impl Iterator<Item = StepNo> {
        self.reads.iter().flat_map(|&(first, last)| (first..=last).map(StepNo))
    }

    /// The same as runs of consecutive steps, first and last.
    pub fn read_runs(&self) -> &[(u32, u32)] {
        &self.reads
    }

    /// How many steps read it.
    pub fn read_count(&self) -> usize {
        self.reads.iter().map(|(first, last)| (last - first) as usize + 1).sum()
    }

    /// Notes that a step read it; false when it had done so already.
    pub(super) fn mark_read(&mut self, step: StepNo) -> bool {
        match self.reads.last_mut() {
            Some((_, last)) if *last == step.0 => return false,
            Some((_, last)) if last.checked_add(1) == Some(step.0) => *last = step.0,
            _ => self.reads.push((step.0, step.0)),
        }
        true
    }
}

/// All lines of a new text.
pub(super) fn new_lines(text: &str, origin: Origin) -> Vec<Line> {
    text.split_inclusive('\n').map(|line| Line::new(line, origin)).collect()
}

/// Applies an edit of an existing file; lines that it leaves alone keep their origin and reads.
pub(super) fn edit(path: &str, lines: &mut Vec<Line>, edit: &Edit, origin: Origin) -> Result<(), ApplyError> {
    let wrong = |why| ApplyError {
        path: path.to_owned(),
        why,
    };
    match edit {
        Edit::Append { text } => append(lines, text, origin),
        Edit::Replace { text } | Edit::Create { text } => {
            let end = lines.len();
            rewrite(lines, 0, end, text, origin);
        }
        Edit::Splice { at, deleted, inserted } => {
            let at = usize::try_from(*at).map_err(|_| wrong("the offset is beyond the end"))?;
            let (first, start) = find(lines, at).ok_or_else(|| wrong("the offset is beyond the end"))?;
            let mut end = first;
            let mut old = String::new();
            while old.len() < at - start + deleted.len() && end < lines.len() {
                old.push_str(&lines[end].whole);
                end += 1;
            }
            let rest = old
                .get(at - start..)
                .and_then(|rest| rest.strip_prefix(deleted.as_str()))
                .ok_or_else(|| wrong("another text stands there"))?;
            let mut new = format!("{}{inserted}{rest}", &old[..at - start]);
            if !new.is_empty() && !new.ends_with('\n') && end < lines.len() {
                // The line end was taken away: the next line becomes part of this one.
                new.push_str(&lines[end].whole);
                end += 1;
            }
            rewrite(lines, first, end, &new, origin);
        }
        Edit::Delete => lines.clear(),
    }
    Ok(())
}

/// The line that holds the byte at `at` (or ends there, at the end of the file), and its offset.
fn find(lines: &[Line], at: usize) -> Option<(usize, usize)> {
    let mut start = 0;
    for (i, line) in lines.iter().enumerate() {
        if at < start + line.whole.len() {
            return Some((i, start));
        }
        start += line.whole.len();
    }
    if at != start {
        return None;
    }
    match lines.last() {
        Some(last) if !last.whole.ends_with('\n') => Some((lines.len() - 1, start - last.whole.len())),
        _ => Some((lines.len(), start)),
    }
}

fn append(lines: &mut Vec<Line>, text: &str, origin: Origin) {
    let mut pieces = text.split_inclusive('\n');
    if let Some(last) = lines.last_mut().filter(|last| !last.whole.ends_with('\n'))
        && let Some(piece) = pieces.next()
    {
        last.whole.push_str(piece);
        // A line end that was missing makes no other line of it.
        if piece != "\n" {
            last.origin = origin;
            last.reads.clear();
        }
    }
    lines.extend(pieces.map(|piece| Line::new(piece, origin)));
}

/// Replaces the lines `first..end` by those of a text, keeping the lines that are in both.
fn rewrite(lines: &mut Vec<Line>, first: usize, end: usize, text: &str, origin: Origin) {
    let new: Vec<&str> = text.split_inclusive('\n').collect();
    let old: Vec<&str> = lines[first..end].iter().map(|line| &*line.whole).collect();
    let same_start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same_start..], &new[same_start..]);
    let same_end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&old[..old.len() - same_end], &new[..new.len() - same_end]);
    let changes = capture_diff_slices(Algorithm::Myers, old, new);
    let from = first + same_start;
    let to = from + old.len();
    let mut put = Vec::with_capacity(new.len());
    for change in changes {
        match change {
            DiffOp::Equal { old_index, len, .. } => {
                put.extend(lines[from + old_index..from + old_index + len].iter().cloned());
            }
            DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } => {
                put.extend(
                    new[new_index..new_index + new_len]
                        .iter()
                        .map(|line| Line::new(line, origin)),
                );
            }
            DiffOp::Delete { .. } => {}
        }
    }
    lines.splice(from..to, put);
}
