//! Quotas: how large memory and what is shown of it may get, and how too much is cut.

use crate::types::{OpOutcome, OpStatus};

/// How much a memory directory may hold and an operation may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files together.
    pub directory_bytes: u64,
    /// Bytes of what one operation gives back to the model, its notice included.
    pub result_bytes: usize,
    /// Number of files.
    pub files: usize,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            file_bytes: 256 * 1024,
            directory_bytes: 4 * 1024 * 1024,
            result_bytes: 8 * 1024,
            files: 256,
        }
    }
}

/// Room kept for the notice that says how much is missing.
const NOTICE: usize = 64;

/// The beginning of a long result, up to a line end, and a notice of what is missing.
pub(super) fn cut_end(status: OpStatus, text: String, limit: usize) -> OpOutcome {
    if text.len() <= limit {
        return OpOutcome { status, text, cut: 0 };
    }
    let room = floor_char_boundary(&text, limit.saturating_sub(NOTICE));
    let keep = text[..room].rfind('\n').map_or(room, |end| end + 1);
    let cut = (text.len() - keep) as u64;
    let notice = format!("[... {cut} more bytes; use TAIL or SEARCH]");
    join(status, &[&text[..keep], &notice], cut, limit)
}

/// The end of a long result, from a line start on, with the notice before it.
pub(super) fn cut_start(status: OpStatus, text: String, limit: usize) -> OpOutcome {
    if text.len() <= limit {
        return OpOutcome { status, text, cut: 0 };
    }
    let wanted = text.len() - limit.saturating_sub(NOTICE).min(text.len());
    let room = (wanted..=text.len())
        .find(|i| text.is_char_boundary(*i))
        .unwrap_or(text.len());
    // A last line longer than the limit is cut inside.
    let keep = match text[room..].find('\n') {
        Some(end) if room + end + 1 < text.len() => room + end + 1,
        _ => room,
    };
    let cut = keep as u64;
    let notice = format!("[... {cut} bytes before this; use SEARCH]");
    join(status, &[&notice, &text[keep..]], cut, limit)
}

fn join(status: OpStatus, parts: &[&str; 2], cut: u64, limit: usize) -> OpOutcome {
    let between = if parts[0].is_empty() || parts[0].ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let mut text = format!("{}{between}{}", parts[0], parts[1]);
    text.truncate(floor_char_boundary(&text, limit));
    OpOutcome { status, text, cut }
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cuts_at_a_line_and_says_so() {
        let text = "0123456789\n".repeat(20);
        let outcome = cut_end(OpStatus::Ok, text.clone(), 100);
        assert_eq!(
            outcome.text,
            "0123456789\n".repeat(3) + "[... 187 more bytes; use TAIL or SEARCH]"
        );
        assert_eq!(outcome.cut, 187);
        let outcome = cut_start(OpStatus::Ok, text, 100);
        assert_eq!(
            outcome.text,
            "[... 187 bytes before this; use SEARCH]\n".to_owned() + &"0123456789\n".repeat(3)
        );
        assert_eq!(outcome.cut, 187);
    }

    proptest! {
        #[test]
        fn never_longer_than_the_limit(text in "[aé漢\n]{0,300}", limit in 0_usize..200) {
            for cut in [cut_end, cut_start] {
                let outcome = cut(OpStatus::Ok, text.clone(), limit);
                prop_assert!(outcome.text.len() <= limit || text.len() <= limit);
                prop_assert_eq!(outcome.cut == 0, text.len() <= limit);
            }
        }
    }
}
