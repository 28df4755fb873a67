//! Reads tags out of a model's answer, tolerant of what models write, in time linear in its length.
//!
//! One pass from `<` to `<`. At most one tag is open at a time; the next opening tag ends an
//! unclosed one, so that a slip never swallows what follows it.

use std::ops::Range;

use super::highlight::{Mark, TagKind};
use super::tag::Tag;
use super::{Item, OpSyntax, Parsed, Problem, ProblemKind};

/// Problems that are told one by one; a hostile text can have millions.
pub const MAX_PROBLEMS: usize = 50;
/// Longest `ACTION: text` line; longer ones are prose.
const MAX_LINE_ACTION: usize = 80;
/// Tags that wrap a model's thinking.
const THINKING: &[&str] = &["think", "thinking", "thought", "reasoning"];
/// Beginnings of chat templates' own tokens, which small models leak: noise, no tags of ours.
const TEMPLATE_TOKENS: &[&str] = &[
    "im_",
    "eot",
    "eom",
    "endof",
    "end_of",
    "begin_of",
    "start_header",
    "end_header",
    "user",
    "assistant",
    "system",
    "tool",
    "bos",
    "eos",
    "pad",
    "channel",
    "message",
    "return",
];

/// Reads all tags of a text. Never fails and never panics: what is wrong is in
/// [`Parsed::problems`].
pub fn parse(text: &str, vocabulary: &[OpSyntax]) -> Parsed {
    Parser::new(text, vocabulary, false).run().0
}

/// The same pass with marks for the screen.
pub(super) fn parse_with_marks(text: &str, vocabulary: &[OpSyntax]) -> (Parsed, Vec<Mark>) {
    Parser::new(text, vocabulary, true).run()
}

/// What a tag's name means.
enum Token<'v> {
    Op(&'v OpSyntax),
    Action,
    Done,
    End,
    CloseOp(&'v OpSyntax),
    CloseAction,
    Think,
    CloseThink,
    Unknown,
    Noise,
}

/// What an open tag will become.
#[derive(Clone, Copy)]
enum What<'v> {
    Op(&'v OpSyntax),
    Action,
}

/// A tag whose end has not come yet.
struct Open<'v> {
    start: usize,
    content: usize,
    what: What<'v>,
    /// End of a `</think>` that stood in the content: if the tag turns out unclosed, it was
    /// only thought about.
    thought_until: Option<usize>,
}

struct Parser<'a> {
    text: &'a str,
    vocabulary: &'a [OpSyntax],
    found: Parsed,
    open: Option<Open<'a>>,
    /// Everything before is dealt with; what stands between tags is looked through for lines.
    gap: usize,
    /// Indices of items that were lines.
    line_actions: Vec<usize>,
    tag_action: bool,
    /// An end tag that comes now is no news: a broken tag was reported, or DONE was overdone.
    end_expected: bool,
    marks: Option<Vec<Mark>>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, vocabulary: &'a [OpSyntax], with_marks: bool) -> Self {
        Self {
            text,
            vocabulary,
            found: Parsed::default(),
            open: None,
            gap: 0,
            line_actions: Vec::new(),
            tag_action: false,
            end_expected: false,
            marks: with_marks.then(Vec::new),
        }
    }

    fn run(mut self) -> (Parsed, Vec<Mark>) {
        let mut at = 0;
        while let Some(start) = self.next_bracket(at) {
            at = match Tag::at(self.text, start) {
                None => start + 1,
                Some(tag) if !tag.complete => self.half_tag(start, &tag),
                Some(tag) => self.tag(start, &tag),
            };
        }
        self.break_open(self.text.len());
        self.look_for_lines(self.text.len());
        if self.tag_action && !self.line_actions.is_empty() {
            // A tag says it better than a line of prose.
            let lines = std::mem::take(&mut self.line_actions);
            let mut index = 0;
            self.found.items.retain(|_| {
                index += 1;
                lines.binary_search(&(index - 1)).is_err()
            });
        }
        (self.found, self.marks.unwrap_or_default())
    }

    fn next_bracket(&self, from: usize) -> Option<usize> {
        self.text.get(from..)?.find('<').map(|i| from + i)
    }

    fn token(&self, tag: &Tag<'_>) -> Token<'a> {
        let is = |name: &str| tag.name.eq_ignore_ascii_case(name);
        let op = self.vocabulary.iter().find(|op| op.answers_to(tag.name));
        match op {
            Some(op) if tag.closing => Token::CloseOp(op),
            Some(op) => Token::Op(op),
            None if is("END") => Token::End,
            None if is("DONE") => Token::Done,
            None if is("ACTION") && tag.closing => Token::CloseAction,
            None if is("ACTION") => Token::Action,
            None if THINKING.iter().any(|name| is(name)) && tag.closing => Token::CloseThink,
            None if THINKING.iter().any(|name| is(name)) => Token::Think,
            None if self.looks_meant(tag) => Token::Unknown,
            None => Token::Noise,
        }
    }

    /// Whether a tag of no known name was meant as one of ours.
    fn looks_meant(&self, tag: &Tag<'_>) -> bool {
        let capitals = tag.name.len() > 1 && !tag.name.bytes().any(|byte| byte.is_ascii_lowercase());
        let template = TEMPLATE_TOKENS.iter().any(|start| {
            tag.name
                .get(..start.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(start))
        });
        !template && !tag.closing && (tag.bars == 2 || capitals)
    }

    /// Deals with a whole tag; returns where to go on.
    fn tag(&mut self, start: usize, tag: &Tag<'_>) -> usize {
        let token = self.token(tag);
        if let Some(open) = &mut self.open {
            let closes = match (&token, open.what) {
                (Token::End, _) | (Token::CloseAction, What::Action) => true,
                (Token::CloseOp(close), What::Op(op)) => close.name == op.name,
                _ => false,
            };
            if closes {
                self.close(start, tag.end);
                return tag.end;
            }
            match token {
                Token::Op(_) | Token::Action | Token::Done => {}
                Token::Unknown if tag.bars == 2 => {}
                Token::CloseThink => {
                    open.thought_until = Some(tag.end);
                    return tag.end;
                }
                _ => return tag.end,
            }
            self.break_open(start);
        }
        let span = start..tag.end;
        match token {
            Token::Op(op) if op.args.is_empty() => return self.bare_op(op, span),
            Token::Op(op) => self.open_tag(span, What::Op(op), TagKind::Op),
            Token::Action => self.open_tag(span, What::Action, TagKind::Action),
            Token::Done => {
                self.look_for_lines(start);
                self.mark(span.clone(), TagKind::Done);
                self.item(Item::Done { span });
                self.end_expected = true;
            }
            Token::End | Token::CloseOp(_) | Token::CloseAction => self.stray_end(span),
            Token::Think => return self.skip_thinking(span),
            Token::CloseThink if self.found.thinking.is_none() => self.all_was_thinking(tag.end),
            Token::Unknown => {
                let vocabulary = self.vocabulary;
                let message = || {
                    let known: Vec<_> = vocabulary.iter().map(|op| op.name).chain(["ACTION", "DONE"]).collect();
                    format!("there is no <|{}|> here; there are {}", tag.name, known.join(", "))
                };
                self.mark(span.clone(), TagKind::Broken);
                self.problem(span, ProblemKind::UnknownTag, message);
                self.end_expected = true;
            }
            Token::CloseThink | Token::Noise => {}
        }
        tag.end
    }

    /// `<|NAME` that does not go on as a tag: worth a word if the name is ours.
    fn half_tag(&mut self, start: usize, tag: &Tag<'_>) -> usize {
        if self.open.is_none() {
            let how = match self.token(tag) {
                Token::Op(op) => Some(op.usage()),
                Token::Action => Some("<|ACTION|>text<|END|>".to_owned()),
                Token::Done => Some(super::DONE.to_owned()),
                Token::End => Some("<|END|>".to_owned()),
                _ => None,
            };
            if let Some(how) = how {
                let span = start..tag.end;
                self.mark(span.clone(), TagKind::Broken);
                let message = || format!("<|{} is not a whole tag and did not run; write {how}", tag.name);
                self.problem(span, ProblemKind::UnclosedTag, message);
                self.end_expected = true;
            }
        }
        tag.end
    }

    fn open_tag(&mut self, span: Range<usize>, what: What<'a>, kind: TagKind) {
        self.end_expected = false;
        self.mark(span.clone(), kind);
        self.open = Some(Open {
            start: span.start,
            content: span.end,
            what,
            thought_until: None,
        });
    }

    /// An operation without arguments is whole without an end tag; one that follows belongs to it.
    fn bare_op(&mut self, op: &OpSyntax, mut span: Range<usize>) -> usize {
        self.end_expected = false;
        self.mark(span.clone(), TagKind::Op);
        let rest = &self.text[span.end..];
        let next = span.end + (rest.len() - rest.trim_start().len());
        if self.text[next..].starts_with('<')
            && let Some(tag) = Tag::at(self.text, next).filter(|tag| tag.complete)
            && match self.token(&tag) {
                Token::End => true,
                Token::CloseOp(close) => close.name == op.name,
                _ => false,
            }
        {
            self.mark(next..tag.end, TagKind::End);
            span.end = tag.end;
        }
        self.look_for_lines(span.start);
        let end = span.end;
        let (name, args) = (op.name.to_owned(), Vec::new());
        self.item(Item::Op { name, args, span });
        end
    }

    /// The end tag at `start..end` closes the open tag.
    fn close(&mut self, start: usize, end: usize) {
        let Some(open) = self.open.take() else { return };
        self.look_for_lines(open.start);
        self.mark(start..end, TagKind::End);
        let span = open.start..end;
        let content = &self.text[open.content..start];
        match open.what {
            What::Action => {
                self.mark(open.content..start, TagKind::ActionText);
                let text = unwrap_action(content);
                if text.is_empty() {
                    let message = || "<|ACTION|> has no text; write <|ACTION|>text<|END|>".to_owned();
                    self.problem(span, ProblemKind::MissingArguments, message);
                } else {
                    self.tag_action = true;
                    let text = text.to_owned();
                    self.item(Item::Action { text, span });
                }
            }
            What::Op(op) => self.close_op(op, open.content, content, span),
        }
        self.gap = end;
    }

    fn close_op(&mut self, op: &OpSyntax, at: usize, content: &str, span: Range<usize>) {
        let first = content.find('|').unwrap_or(content.len());
        self.mark(at..at + first, TagKind::File);
        self.mark(at + first..at + content.len(), TagKind::Text);
        let pieces = op.args.len() + usize::from(!op.rest);
        let mut args: Vec<String> = content
            .splitn(pieces, '|')
            .zip(op.args.iter().copied().chain(std::iter::once("")))
            .map(|(piece, arg)| clean_argument(piece, arg))
            .collect();
        if args.len() > op.args.len() {
            let surplus = args.pop().unwrap_or_default();
            if !surplus.is_empty() {
                let message = || {
                    format!(
                        "<|{}|> takes no more than {}; the rest was ignored",
                        op.name,
                        op.usage()
                    )
                };
                self.problem(span.clone(), ProblemKind::ExtraArguments, message);
            }
        }
        if args.len() < op.required() || args.iter().all(String::is_empty) {
            let message = || format!("<|{}|> did not run: write {}", op.name, op.usage());
            self.problem(span, ProblemKind::MissingArguments, message);
            return;
        }
        let name = op.name.to_owned();
        self.item(Item::Op { name, args, span });
    }

    /// The open tag, if any, has no end: `at` is where its text stops.
    fn break_open(&mut self, at: usize) {
        let Some(open) = self.open.take() else { return };
        if let Some(end) = open.thought_until.filter(|_| self.found.thinking.is_none()) {
            self.all_was_thinking(end);
            return;
        }
        self.look_for_lines(open.start);
        self.gap = at;
        if let Some(marks) = &mut self.marks
            && let Some(mark) = marks.last_mut().filter(|mark| mark.0.start == open.start)
        {
            mark.1 = TagKind::Broken;
        }
        let message = || {
            let (name, usage) = match open.what {
                What::Op(op) => (op.name, op.usage()),
                What::Action => ("ACTION", "<|ACTION|>text<|END|>".to_owned()),
            };
            format!("<|{name}|> was not closed with <|END|> and did not run; write {usage}")
        };
        self.problem(open.start..at, ProblemKind::UnclosedTag, message);
    }

    fn stray_end(&mut self, span: Range<usize>) {
        let line = self.text[self.gap..span.start]
            .rfind('\n')
            .map_or(self.gap, |i| self.gap + i + 1);
        if let Some(found) = self.line_action(line..span.start) {
            self.look_for_lines(line);
            self.mark(span.clone(), TagKind::End);
            self.push_line_action(found, line..span.end);
            return;
        }
        if !self.end_expected {
            let message = || "an end tag ends nothing; write the opening tag first".to_owned();
            self.mark(span.clone(), TagKind::Broken);
            self.problem(span.clone(), ProblemKind::StrayEnd, message);
        }
        self.look_for_lines(line);
        self.gap = span.end;
        self.end_expected = false;
    }

    fn skip_thinking(&mut self, span: Range<usize>) -> usize {
        self.look_for_lines(span.start);
        let mut at = span.end;
        let mut end = None;
        while let Some(start) = self.next_bracket(at) {
            at = start + 1;
            if let Some(tag) = Tag::at(self.text, start).filter(|tag| tag.complete && tag.closing) {
                if matches!(self.token(&tag), Token::CloseThink) {
                    end = Some(tag.end);
                    break;
                }
                at = tag.end;
            }
        }
        let range = span.start..end.unwrap_or(self.text.len());
        if end.is_none() {
            let message =
                || "your thinking has no end, so nothing after it was read; close it and answer in short".to_owned();
            self.problem(range.clone(), ProblemKind::UnclosedThinking, message);
        }
        self.mark(range.clone(), TagKind::Thinking);
        self.gap = range.end;
        self.found.thinking.get_or_insert(range.clone());
        range.end
    }

    /// A `</think>` without beginning: the chat template had opened it before the answer.
    fn all_was_thinking(&mut self, end: usize) {
        self.found = Parsed {
            thinking: Some(0..end),
            ..Parsed::default()
        };
        self.line_actions.clear();
        self.tag_action = false;
        self.end_expected = false;
        self.gap = end;
        if let Some(marks) = &mut self.marks {
            marks.clear();
        }
        self.mark(0..end, TagKind::Thinking);
    }

    /// Looks for `ACTION: text` lines between the last tag and `until`.
    fn look_for_lines(&mut self, until: usize) {
        let mut start = self.gap;
        while start < until {
            let end = self.text[start..until].find('\n').map_or(until, |i| start + i);
            let whole = end == self.text.len() || self.text.as_bytes()[end] == b'\n';
            if whole && let Some(found) = self.line_action(start..end) {
                self.push_line_action(found, start..end);
            }
            start = end + 1;
        }
        self.gap = self.gap.max(until);
    }

    fn push_line_action(&mut self, found: Range<usize>, line: Range<usize>) {
        self.mark(found.clone(), TagKind::ActionText);
        self.line_actions.push(self.found.items.len());
        self.found.items.push(Item::Action {
            text: self.text[found].to_owned(),
            span: line.clone(),
        });
        self.gap = line.end;
    }

    /// Where the action of an `ACTION: text` line stands, if it is one.
    fn line_action(&self, line: Range<usize>) -> Option<Range<usize>> {
        let at_start = line.start == 0 || self.text.as_bytes()[line.start - 1] == b'\n';
        let text = self.text.get(line.clone())?;
        let decoration = |c: char| c.is_whitespace() || "*_#>-`".contains(c);
        // Bounded: a line of a million stars is prose.
        let lead = text
            .bytes()
            .take(16)
            .take_while(|byte| decoration(char::from(*byte)))
            .count();
        let rest = text.get(lead..)?;
        let word = rest.get(..6).filter(|word| word.eq_ignore_ascii_case("action"))?;
        let rest = rest[word.len()..].trim_start_matches(['*', '_', ' ']);
        let rest = rest.strip_prefix(':').or_else(|| rest.strip_prefix('：'))?;
        let action = unwrap_action(rest);
        if !at_start || action.is_empty() || action.len() > MAX_LINE_ACTION || action.contains('<') {
            return None;
        }
        let start = line.start + (action.as_ptr() as usize - text.as_ptr() as usize);
        Some(start..start + action.len())
    }

    fn item(&mut self, item: Item) {
        self.gap = item.span().end;
        self.end_expected = false;
        self.found.items.push(item);
    }

    fn problem(&mut self, span: Range<usize>, kind: ProblemKind, message: impl FnOnce() -> String) {
        if self.found.problems.len() < MAX_PROBLEMS {
            let message = message();
            self.found.problems.push(Problem { span, kind, message });
        } else {
            self.found.more_problems += 1;
        }
    }

    fn mark(&mut self, span: Range<usize>, kind: TagKind) {
        if let Some(marks) = &mut self.marks
            && !span.is_empty()
        {
            marks.push((span, kind));
        }
    }
}

/// Takes whitespace and the wrapping that models like off an action.
fn unwrap_action(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let inner = ["**", "`", "\"", "'", "*", "_"]
            .iter()
            .find_map(|wrap| text.strip_prefix(wrap)?.strip_suffix(wrap))
            .or_else(|| text.strip_prefix("**"))
            .or_else(|| text.strip_suffix("**"))
            .map(str::trim);
        match inner {
            Some(inner) => text = inner,
            None => return text,
        }
    }
}

/// An argument as the operation gets it: trimmed, and file names without quotes.
fn clean_argument(piece: &str, arg: &str) -> String {
    let mut text = piece.trim();
    if arg.trim_end_matches('?').ends_with("file") {
        for quote in ["`", "\"", "'"] {
            if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
                text = inner.trim();
            }
        }
    }
    text.to_owned()
}
