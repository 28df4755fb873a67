//! Turns the bytes of tokens into text, whole characters at a time, and finds where an answer ends.
//!
//! Owns incomplete characters and stop texts. Must not know tokens.

/// The text of an answer as it grows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextStream {
    text: String,
    pending: Vec<u8>,
    stops: Vec<String>,
    stopped: bool,
}

impl TextStream {
    /// An empty answer that ends after any of the stop texts (empty ones are ignored).
    pub fn new(stops: impl IntoIterator<Item = String>) -> Self {
        Self {
            stops: stops.into_iter().filter(|stop| !stop.is_empty()).collect(),
            ..Self::default()
        }
    }

    /// Adds a token's bytes; gives back the text that became complete by it. After a stop text nothing is added.
    /// Bytes that can never become a character are replaced by U+FFFD.
    pub fn push(&mut self, bytes: &[u8]) -> &str {
        let before = self.text.len();
        if !self.stopped {
            self.pending.extend_from_slice(bytes);
            self.take_complete();
            self.cut_at_stop(before);
        }
        &self.text[before..]
    }

    /// Ends the answer; gives back what was left of an incomplete character.
    pub fn finish(&mut self) -> &str {
        let before = self.text.len();
        if !self.stopped && !self.pending.is_empty() {
            self.text.push('\u{fffd}');
        }
        self.pending.clear();
        &self.text[before..]
    }

    /// Whether a stop text came up; the text ends with it.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text, taken.
    pub fn into_text(self) -> String {
        self.text
    }

    fn take_complete(&mut self) {
        loop {
            match std::str::from_utf8(&self.pending) {
                Ok(text) => {
                    self.text.push_str(text);
                    self.pending.clear();
                    return;
                }
                Err(error) => {
                    let good = error.valid_up_to();
                    self.text.push_str(&String::from_utf8_lossy(&self.pending[..good]));
                    let Some(bad) = error.error_len() else {
                        self.pending.drain(..good);
                        return;
                    };
                    self.text.push('\u{fffd}');
                    self.pending.drain(..good + bad);
                }
            }
        }
    }

    fn cut_at_stop(&mut self, before: usize) {
        let end = self
            .stops
            .iter()
            .filter_map(|stop| {
                // Only a stop text that ends in the new part can be new.
                let mut from = before.saturating_sub(stop.len());
                while !self.text.is_char_boundary(from) {
                    from -= 1;
                }
                self.text[from..].find(stop.as_str()).map(|at| from + at + stop.len())
            })
            .min();
        if let Some(end) = end {
            self.text.truncate(end);
            self.stopped = true;
            self.pending.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_stay_whole() {
        let mut stream = TextStream::new([]);
        let bytes = "é🙂x".as_bytes();
        let parts: Vec<String> = bytes.iter().map(|byte| stream.push(&[*byte]).to_owned()).collect();
        assert_eq!(parts, ["", "é", "", "", "", "🙂", "x"]);
        assert_eq!(stream.finish(), "");
    }

    #[test]
    fn broken_bytes_are_replaced() {
        let mut stream = TextStream::new([]);
        assert_eq!(stream.push(b"a\xffb\xe2\x82"), "a\u{fffd}b");
        assert_eq!(stream.finish(), "\u{fffd}");
        assert_eq!(stream.text(), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn the_answer_ends_with_the_first_stop() {
        let mut stream = TextStream::new(["<|END|>".to_owned(), "never".to_owned(), String::new()]);
        assert_eq!(stream.push(b"go <|EN"), "go <|EN");
        assert!(!stream.stopped());
        assert_eq!(stream.push(b"D|>\nand <|END|>"), "D|>");
        assert!(stream.stopped());
        assert_eq!(stream.push(b"more"), "");
        assert_eq!(stream.finish(), "");
        assert_eq!(stream.into_text(), "go <|END|>");
    }

    #[test]
    fn a_stop_may_begin_in_a_wide_character() {
        let mut stream = TextStream::new(["é!".to_owned()]);
        stream.push("aé".as_bytes());
        assert_eq!(stream.push(b"!z"), "!");
        assert!(stream.stopped());
    }

    proptest! {
        #[test]
        fn pieces_make_the_text(text in ".{0,60}", cuts in prop::collection::vec(1_usize..5, 0..60), stop in "[a-c]{1,2}") {
            let mut stream = TextStream::new([stop.clone()]);
            let mut pieces = String::new();
            let mut rest = text.as_bytes();
            let mut cuts = cuts.into_iter();
            while !rest.is_empty() {
                let cut = cuts.next().unwrap_or(3).min(rest.len());
                pieces.push_str(stream.push(&rest[..cut]));
                rest = &rest[cut..];
            }
            pieces.push_str(stream.finish());
            prop_assert_eq!(&pieces, stream.text());
            let expected = text.find(&stop).map_or(text.as_str(), |at| &text[..at + stop.len()]);
            prop_assert_eq!(stream.text(), expected);
        }
    }
}
