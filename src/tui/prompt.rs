//! An exact prompt in parts: system, rules, observation, memory, results, earlier turns.
//!
//! Owns where the parts begin and end. They are found by the marks of chat templates, by what the
//! step is known to have shown (observation, results), and by headings; together they are the
//! prompt, byte for byte.

use std::ops::Range;

use crate::types::{Frame, Turn};

/// What a part of a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first words of the system message.
    System,
    /// A section of the system message.
    Rules,
    /// What the scaffold asks for.
    Task,
    /// What the world shows.
    Observation,
    /// Memory files, or their list.
    Memory,
    /// What operations gave back.
    Results,
    /// What the model answered before in this phase.
    Earlier,
}

impl Kind {
    /// In words.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Rules => "rules",
            Self::Task => "task",
            Self::Observation => "observation",
            Self::Memory => "memory shown",
            Self::Results => "tool results",
            Self::Earlier => "earlier turn",
        }
    }

    /// Whether it is the same in every step, so that it begins folded.
    pub(crate) fn is_constant(self) -> bool {
        matches!(self, Self::System | Self::Rules)
    }
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// What it is.
    pub(crate) kind: Kind,
    /// Where it stands.
    pub(crate) range: Range<usize>,
    /// Its heading, for a section of the system message.
    pub(crate) title: String,
}

/// Marks that begin a message in common chat templates, and who speaks then.
const MARKS: [(&str, Speaker); 17] = [
    ("<|im_start|>system", Speaker::System),
    ("<|im_start|>user", Speaker::User),
    ("<|im_start|>tool", Speaker::User),
    ("<|im_start|>assistant", Speaker::Assistant),
    ("<|start_header_id|>system", Speaker::System),
    ("<|start_header_id|>user", Speaker::User),
    ("<|start_header_id|>assistant", Speaker::Assistant),
    ("<|system|>", Speaker::System),
    ("<|user|>", Speaker::User),
    ("<|assistant|>", Speaker::Assistant),
    ("<start_of_turn>user", Speaker::User),
    ("<start_of_turn>model", Speaker::Assistant),
    ("[INST]", Speaker::User),
    ("[/INST]", Speaker::Assistant),
    ("[system]\n", Speaker::System),
    ("[user]\n", Speaker::User),
    ("[assistant]\n", Speaker::Assistant),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    System,
    User,
    Assistant,
}

/// The parts of a turn's prompt, in order. `before` are the step's earlier turns.
pub(crate) fn parts(turn: &Turn, before: &[&Turn], frame: Option<&Frame>) -> Vec<Part> {
    let text = turn.prompt.as_str();
    let mut found: Vec<Part> = Vec::new();
    for (range, speaker) in messages(text) {
        match speaker {
            Speaker::System => sections(text, range, &mut found),
            Speaker::User => asked(text, range, before, frame, &mut found),
            // The mark at the end that asks for the answer belongs to what stands before it.
            Speaker::Assistant if range.end == text.len() && range.len() < 80 && !found.is_empty() => {
                if let Some(last) = found.last_mut() {
                    last.range.end = range.end;
                }
            }
            Speaker::Assistant => found.push(plain(Kind::Earlier, range)),
        }
    }
    found.retain(|part| !part.range.is_empty());
    found
}

fn plain(kind: Kind, range: Range<usize>) -> Part {
    Part {
        kind,
        range,
        title: String::new(),
    }
}

/// The messages of a prompt; what stands before the first mark is a person's.
fn messages(text: &str) -> Vec<(Range<usize>, Speaker)> {
    let mut starts: Vec<(usize, Speaker)> = Vec::new();
    for (mark, speaker) in MARKS {
        for (at, _) in text.match_indices(mark) {
            // A mark of a back end without a template stands on a line of its own.
            let whole = !mark.ends_with('\n') || at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n');
            if whole {
                starts.push((at, speaker));
            }
        }
    }
    starts.sort_by_key(|(at, _)| *at);
    if starts.first().is_none_or(|(at, _)| *at > 0) {
        starts.insert(0, (0, Speaker::User));
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|(at, _)| *at).chain([text.len()]).collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|((start, speaker), end)| (start..end, speaker))
        .collect()
}

/// Splits the system message at its headings.
fn sections(text: &str, message: Range<usize>, found: &mut Vec<Part>) {
    let mut part = plain(Kind::System, message.start..message.end);
    for (at, line) in lines(text, message.clone()) {
        if let Some(title) = line.strip_prefix("# ").or_else(|| line.strip_prefix("## ")) {
            part.range.end = at;
            found.push(std::mem::replace(
                &mut part,
                Part {
                    kind: Kind::Rules,
                    range: at..message.end,
                    title: title.trim().to_owned(),
                },
            ));
        }
    }
    found.push(part);
}

/// Splits a message of the person's side: first by what is known word for word, then by headings.
fn asked(text: &str, message: Range<usize>, before: &[&Turn], frame: Option<&Frame>, found: &mut Vec<Part>) {
    let mut known: Vec<(Range<usize>, Kind)> = Vec::new();
    let mut exact = |needle: &str, kind: Kind| {
        let needle = needle.trim();
        let at = (!needle.is_empty())
            .then(|| text[message.clone()].find(needle))
            .flatten();
        if let Some(at) = at {
            let start = message.start + at;
            let range = with_heading(text, message.start, start)..start + needle.len();
            if known
                .iter()
                .all(|(other, _)| other.end <= range.start || range.end <= other.start)
            {
                known.push((range, kind));
            }
        }
    };
    for turn in before.iter().rev() {
        exact(&turn.tool_results, Kind::Results);
    }
    if let Some(frame) = frame {
        exact(&frame.long, Kind::Observation);
        exact(&frame.short, Kind::Observation);
    }
    for range in memory_lists(text, message.clone()) {
        if known
            .iter()
            .all(|(other, _)| other.end <= range.start || range.end <= other.start)
        {
            known.push((range, Kind::Memory));
        }
    }
    known.sort_by_key(|(range, _)| range.start);
    let mut at = message.start;
    for (range, kind) in known {
        let between = &text[at..range.start];
        // The template's mark, and blank lines, are no parts of their own.
        let is_mark = at == message.start && !between.trim_end().contains('\n') && between.starts_with(['<', '[']);
        let start = if is_mark { at } else { range.start };
        match found.last_mut() {
            Some(last) if at > message.start && between.trim().is_empty() => last.range.end = start,
            _ if at < start => found.push(plain(Kind::Task, at..start)),
            _ => {}
        }
        match found.last_mut() {
            Some(last) if last.kind == kind && last.range.end == start => last.range.end = range.end,
            _ => found.push(plain(kind, start..range.end)),
        }
        at = range.end;
    }
    // What closes the message is no part of its own.
    let rest = &text[at..message.end];
    let closes = rest.trim().is_empty() || ["<|im_end|>", "<|eot_id|>", "<end_of_turn>"].contains(&rest.trim());
    match found.last_mut() {
        Some(last) if closes && at > message.start => last.range.end = message.end,
        _ => found.push(plain(Kind::Task, at..message.end)),
    }
}

/// Where a text begins when the heading right above it belongs to it.
fn with_heading(text: &str, least: usize, start: usize) -> usize {
    let above = &text[least..start];
    let Some(line) = above.strip_suffix('\n') else {
        return start;
    };
    let line_start = line.rfind('\n').map_or(0, |at| at + 1);
    if is_heading(&line[line_start..]) {
        least + line_start
    } else {
        start
    }
}

/// `MEMORY FILES:`, `RESULTS`: capitals alone.
fn is_heading(line: &str) -> bool {
    let line = line.trim().trim_end_matches(':');
    line.len() > 3
        && line.bytes().any(|byte| byte.is_ascii_uppercase())
        && line.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b' ')
}

/// From a heading that speaks of memory to the next blank line or heading.
fn memory_lists(text: &str, message: Range<usize>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open: Option<usize> = None;
    for (at, line) in lines(text, message.clone()) {
        let heading = is_heading(line);
        if let Some(start) = open
            && (heading || line.trim().is_empty())
        {
            found.push(start..at);
            open = None;
        }
        if heading && ["MEMORY", "NOTES", "FILES"].iter().any(|word| line.contains(word)) {
            open = Some(at);
        }
    }
    found.extend(open.map(|start| start..message.end));
    found
}

/// The lines of a range with the place each begins at.
fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = (usize, &str)> {
    let mut at = range.start;
    text[range].split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line.trim_end_matches('\n'))
    })
}

/// Where in a prompt the part that came from the cache ends, and whether that is exact. Token
/// borders are not recorded: between nothing and everything it is the same share of bytes.
pub(crate) fn cached_to(turn: &Turn) -> (usize, bool) {
    let bytes = turn.prompt.len();
    match (turn.cached_tokens, turn.prompt_tokens) {
        (0, _) | (_, 0) => (0, true),
        (cached, all) if cached >= all => (bytes, true),
        (cached, all) => {
            let mut at = (bytes as u64 * u64::from(cached) / u64::from(all)) as usize;
            while !turn.prompt.is_char_boundary(at) {
                at -= 1;
            }
            // It is no better known than a line.
            let line = turn.prompt[..at].rfind('\n').map_or(at, |end| end + 1);
            (line, false)
        }
    }
}

/// Tokens of a part, by its share of the prompt's bytes.
pub(crate) fn tokens(turn: &Turn, part: &Part) -> u32 {
    let share = part.range.len() as u64 * u64::from(turn.prompt_tokens);
    (share / turn.prompt.len().max(1) as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;
    use crate::types::Phase;

    fn turn(prompt: &str, results: &str) -> Turn {
        Turn {
            prompt: prompt.to_owned(),
            spans: Vec::new(),
            tool_results: results.to_owned(),
            ..testing::turn(Phase::Plan, 3, "")
        }
    }

    fn named(turn: &Turn, before: &[&Turn], frame: Option<&Frame>) -> Vec<(Kind, String)> {
        let parts = parts(turn, before, frame);
        let all: String = parts.iter().map(|part| &turn.prompt[part.range.clone()]).collect();
        assert_eq!(all, turn.prompt, "the parts are the prompt");
        parts
            .into_iter()
            .map(|part| (part.kind, turn.prompt[part.range].to_owned()))
            .collect()
    }

    #[test]
    fn a_prompt_falls_into_its_parts() {
        let mut frame = testing::frame(3);
        frame.long = "You see:\n- tree".into();
        frame.short = "- health: 9".into();
        let first = turn("", "[READ a.txt]\none\n\ntwo");
        let text = "<|im_start|>system\nYou play.\n\n# The game\nWalk.\n# Tags\nUse them.<|im_end|>\n\
            <|im_start|>user\nPHASE: PLAN\nSTEP: 3\n\nWHAT THE WORLD SHOWS NOW:\nYou see:\n- tree\n\n- health: 9\n\n\
            MEMORY FILES:\n- a.txt (2 lines)\n\nNow look.<|im_end|>\n\
            <|im_start|>assistant\n<|READ|>a.txt<|END|><|im_end|>\n\
            <|im_start|>user\nRESULTS\n[READ a.txt]\none\n\ntwo\n\nGo on.<|im_end|>\n<|im_start|>assistant\n";
        let found = named(&turn(text, ""), &[&first], Some(&frame));
        let kinds: Vec<Kind> = found.iter().map(|(kind, _)| *kind).collect();
        use Kind::{Earlier, Memory, Observation, Results, Rules, System, Task};
        let expected = [
            System,
            Rules,
            Rules,
            Task,
            Observation,
            Memory,
            Task,
            Earlier,
            Results,
            Task,
        ];
        assert_eq!(kinds, expected);
        let of = |kind: Kind| found.iter().find(|(other, _)| *other == kind).unwrap().1.clone();
        assert!(of(Observation).starts_with("WHAT THE WORLD SHOWS NOW:\nYou see:"));
        assert!(of(Observation).trim_end().ends_with("- health: 9"));
        assert!(of(Results).contains("user\nRESULTS\n[READ a.txt]") && of(Results).ends_with("two"));
        assert_eq!(of(Memory), "MEMORY FILES:\n- a.txt (2 lines)\n");
        assert!(found.last().unwrap().1.ends_with("<|im_start|>assistant\n"));
    }

    #[test]
    fn any_text_comes_back_whole() {
        for text in [
            "",
            "plain",
            "[system]\nRules.\n\n[user]\nPHASE: LOG\n",
            "a [user]\nb",
            "<|im_start|>user\nMEMORY:\n<|im_end|>\n<|im_start|>assistant\n",
            "<|im_start|>assistant\n",
            "[INST] x [/INST] y [INST] é",
        ] {
            named(&turn(text, ""), &[], None);
        }
    }

    #[test]
    fn the_cached_part_is_a_share_unless_it_is_nothing_or_all() {
        let mut turn = turn("0123456789", "");
        (turn.cached_tokens, turn.prompt_tokens) = (3, 10);
        assert_eq!(cached_to(&turn), (3, false));
        turn.prompt = "01\n3456789".into();
        turn.cached_tokens = 5;
        assert_eq!(cached_to(&turn), (3, false), "at a line's beginning");
        turn.cached_tokens = 0;
        assert_eq!(cached_to(&turn), (0, true));
        turn.cached_tokens = 10;
        assert_eq!(cached_to(&turn), (10, true));
        turn.prompt = "éé".into();
        (turn.cached_tokens, turn.prompt_tokens) = (1, 4);
        assert_eq!(cached_to(&turn), (0, false), "never inside of a letter");
        let part = plain(Kind::Task, 0..2);
        assert_eq!(tokens(&turn, &part), 2);
    }
}
