//! Server-sent events, byte by byte as they come.
//!
//! Owns lines and events (the WHATWG's HTML standard, "Interpreting an event stream"). Must not know what they say.

/// Bytes an event may have; a longer one is no answer of a chat server.
pub(in crate::llm) const LONGEST_EVENT: usize = 4 << 20;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::llm) struct SseEvent {
    /// Its data, the lines joined with line ends.
    pub(in crate::llm) data: String,
    /// It came in a field `error`, as old llama.cpp servers send it, or as an event of that name.
    pub(in crate::llm) is_error: bool,
}

/// An event had no end within [`LONGEST_EVENT`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm) struct TooLong;

/// Takes bytes, gives events.
#[derive(Debug, Default)]
pub(in crate::llm) struct SseParser {
    line: Vec<u8>,
    data: String,
    has_data: bool,
    is_error: bool,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    begun: bool,
}

impl SseParser {
    /// Adds bytes; gives the events that ended in them.
    pub(in crate::llm) fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let follows_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                byte => self.line.push(byte),
            }
            if self.line.len() + self.data.len() > LONGEST_EVENT {
                return Err(TooLong);
            }
        }
        Ok(events)
    }

    /// The stream is over: gives the event that was not ended by an empty line, if any.
    pub(in crate::llm) fn finish(&mut self) -> Option<SseEvent> {
        let last = self.end_line();
        last.or_else(|| self.dispatch())
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        // A line is whole, and so are the characters in it, however the network cut it.
        let line = String::from_utf8_lossy(&line);
        let line = match self.begun {
            false => line.trim_start_matches('\u{feff}'),
            true => &line,
        };
        self.begun = true;
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.add(value),
            "error" => {
                self.is_error = true;
                self.add(value);
            }
            "event" => self.is_error |= value == "error",
            // A comment, or a field that means nothing here.
            _ => {}
        }
        None
    }

    fn add(&mut self, value: &str) {
        if self.has_data {
            self.data.push('\n');
        }
        self.data.push_str(value);
        self.has_data = true;
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let data = std::mem::take(&mut self.data);
        let is_error = std::mem::take(&mut self.is_error);
        std::mem::take(&mut self.has_data).then_some(SseEvent { data, is_error })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(parts: &[&[u8]]) -> Vec<String> {
        let mut parser = SseParser::default();
        let mut events: Vec<SseEvent> = parts.iter().flat_map(|part| parser.push(part).unwrap()).collect();
        events.extend(parser.finish());
        events.into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn events_are_read() {
        let text = "\u{feff}: hello\n\ndata: one\r\n\r\nid: 7\ndata:two\ndata:  three\n\n:\ndata\n\nretry: 1\n\n";
        assert_eq!(all(&[text.as_bytes()]), ["one", "two\n three", ""]);
        assert_eq!(all(&[b"data: a\rdata: b\r\r", b"data: last"]), ["a\nb", "last"]);
        assert!(all(&[b"", b"\n\n\r\r\n"]).is_empty());
    }

    #[test]
    fn errors_are_told_apart() {
        let mut parser = SseParser::default();
        let events = parser
            .push(b"error: {}\n\nevent: error\ndata: x\n\ndata: y\n\n")
            .unwrap();
        let errors: Vec<bool> = events.iter().map(|event| event.is_error).collect();
        assert_eq!(errors, [true, true, false]);
    }

    #[test]
    fn lines_without_end_are_refused() {
        let mut parser = SseParser::default();
        let part = vec![b'x'; 1 << 20];
        let results: Vec<bool> = (0..5).map(|_| parser.push(&part).is_ok()).collect();
        assert_eq!(results, [true, true, true, true, false]);
        let mut parser = SseParser::default();
        let line = [b"data: ", vec![b'x'; 1 << 20].as_slice(), b"\n"].concat();
        assert!(
            (0..5).any(|_| parser.push(&line).is_err()),
            "many lines are not better than one"
        );
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_the_network_cuts(
            datas in prop::collection::vec("[a-zé漢🙂 :{}\"]{0,12}", 0..6),
            end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
            cuts in prop::collection::vec(1_usize..7, 0..80),
        ) {
            let text: String = datas.iter().map(|data| format!(": ping{end}data: {data}{end}{end}")).collect();
            let mut rest = text.as_bytes();
            let mut parts = Vec::new();
            let mut cuts = cuts.into_iter();
            while !rest.is_empty() {
                let (part, after) = rest.split_at(cuts.next().unwrap_or(5).min(rest.len()));
                parts.push(part);
                rest = after;
            }
            prop_assert_eq!(all(&parts), datas);
        }
    }
}
