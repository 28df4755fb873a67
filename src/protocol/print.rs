//! Writes tags in the one form that models are taught.

use super::tag::Tag;

/// An operation as a model should write it. Tags inside arguments are made harmless by a space
/// after their `<`; pipes in any argument but the last become slashes.
///
/// ```
/// # use automem::protocol::print_op;
/// assert_eq!(print_op("APPEND", &["notes.txt", "a | b"]), "<|APPEND|>notes.txt|a | b<|END|>");
/// ```
pub fn print_op<S: AsRef<str>>(name: &str, args: &[S]) -> String {
    let mut text = format!("<|{name}|>");
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            text.push('|');
        }
        let arg = arg.as_ref();
        if i + 1 < args.len() && arg.contains('|') {
            push_harmless(&mut text, &arg.replace('|', "/"));
        } else {
            push_harmless(&mut text, arg);
        }
    }
    text.push_str("<|END|>");
    text
}

/// An action as a model should write it.
pub fn print_action(action: &str) -> String {
    let mut text = "<|ACTION|>".to_owned();
    push_harmless(&mut text, action);
    text.push_str("<|END|>");
    text
}

fn push_harmless(out: &mut String, text: &str) {
    let mut done = 0;
    for (at, _) in text.match_indices('<') {
        // A bracket at the very end could join with the end tag that follows.
        if Tag::at(text, at).is_some() || at + 1 == text.len() || text[at + 1..].starts_with(['|', '/', '｜']) {
            out.push_str(&text[done..=at]);
            out.push(' ');
            done = at + 1;
        }
    }
    out.push_str(&text[done..]);
}
