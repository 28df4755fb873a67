//! Places in a text, and the known word that is closest to a wrong one.

/// Line and column (in characters) of a byte offset, both from 1.
pub(crate) fn line_column(text: &str, offset: usize) -> (u32, u32) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[start..].chars().count() + 1;
    (as_u32(line), as_u32(column))
}

fn as_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// `did you mean ...?` when a known word is close, else the list of what there is.
pub(crate) fn hint_among(word: &str, known: &[&str]) -> String {
    match similar::get_close_matches(word, known, 1, 0.6).first() {
        Some(close) => format!("did you mean `{close}`?"),
        None => format!("there are: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_characters_from_one() {
        let text = "ab\nlé x\n";
        assert_eq!(line_column(text, 0), (1, 1));
        assert_eq!(line_column(text, text.find('x').unwrap()), (2, 4));
        assert_eq!(line_column(text, 999), (3, 1));
    }

    #[test]
    fn the_nearest_name_is_offered() {
        assert_eq!(
            hint_among("obsevation", &["step", "observation"]),
            "did you mean `observation`?"
        );
        assert_eq!(hint_among("zzz", &["a", "b"]), "there are: a, b");
    }
}
