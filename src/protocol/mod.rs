//! The tags a model speaks: parse them as models really write them, print them as we teach them.
//!
//! Owns the form of tags ([`parse`], [`print_op`], [`highlight`]), the grammar that makes a model
//! write them ([`gbnf`]), and the cleaning of text that nobody vouches for ([`sanitize`]).
//! Must not know what an operation does: the vocabulary comes in as [`OpSyntax`].
//!
//! An operation is `<|OP|>arg|arg<|END|>`, an action is `<|ACTION|>text<|END|>`, and `<|DONE|>`
//! ends a phase. Models also write bars only on one side or none, lower case, `<|END|}`,
//! `</OP>`, fences and thinking around tags, or `ACTION: text` on a line of its own; all of that
//! is understood. What is broken is reported to the model and never guessed.

mod grammar;
#[cfg(test)]
mod grammar_tests;
mod highlight;
mod parse;
mod print;
pub mod sanitize;
mod tag;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use grammar::{GrammarSpec, gbnf};
pub use highlight::{TagKind, highlight};
pub use parse::{MAX_PROBLEMS, parse};
pub use print::{print_action, print_op};

/// The tag that ends a phase.
pub const DONE: &str = "<|DONE|>";

/// How an operation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpSyntax {
    /// Its name in capitals.
    pub name: &'static str,
    /// Other names it answers to, in capitals.
    pub aliases: &'static [&'static str],
    /// Names of its arguments in order. A name that ends in `?` is optional (those come last).
    /// `file` (a file that may exist), `new_file` and `n` (a count) tell the grammar what to allow;
    /// everything else is free text.
    pub args: &'static [&'static str],
    /// The last argument takes everything up to the end tag, pipes included.
    pub rest: bool,
}

impl OpSyntax {
    /// Whether this is the operation's name or one of its aliases, in any case.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }

    /// How many arguments it must have.
    pub fn required(&self) -> usize {
        self.args.iter().filter(|arg| !arg.ends_with('?')).count()
    }

    /// How a model should write it, with all arguments: `<|APPEND|>file|text<|END|>`. Optional ones
    /// are not set apart: small models copy brackets.
    pub fn usage(&self) -> String {
        let args: Vec<_> = self.args.iter().map(|arg| arg.trim_end_matches('?')).collect();
        format!("<|{}|>{}<|END|>", self.name, args.join("|"))
    }
}

/// What a text holds, in the order written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parsed {
    /// Well-formed tags.
    pub items: Vec<Item>,
    /// What is broken; at most [`MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// Problems beyond those.
    pub more_problems: usize,
    /// The thinking block, its tags included. Nothing inside is parsed.
    pub thinking: Option<Range<usize>>,
}

impl Parsed {
    /// The first action, if there is one.
    pub fn action(&self) -> Option<&str> {
        self.items.iter().find_map(|item| match item {
            Item::Action { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }

    /// Whether the model said that it is done.
    pub fn is_done(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Done { .. }))
    }

    /// The operations with their arguments, in the order written.
    pub fn ops(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.items.iter().filter_map(|item| match item {
            Item::Op { name, args, .. } => Some((name.as_str(), args.as_slice())),
            _ => None,
        })
    }
}

/// One well-formed tag. Spans are byte offsets into the parsed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// An operation.
    Op {
        /// Its own name in capitals, whatever alias was written.
        name: String,
        /// Its arguments, trimmed; as many as required, optional ones if given.
        args: Vec<String>,
        /// From the opening tag to the end of the closing one.
        span: Range<usize>,
    },
    /// The end of a phase.
    Done {
        /// The tag.
        span: Range<usize>,
    },
    /// An action.
    Action {
        /// Its text, trimmed, quotes and other wrapping taken off.
        text: String,
        /// From the opening tag to the end of the closing one, or the line.
        span: Range<usize>,
    },
}

impl Item {
    /// Where it stands.
    pub fn span(&self) -> &Range<usize> {
        match self {
            Self::Op { span, .. } | Self::Done { span } | Self::Action { span, .. } => span,
        }
    }
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands.
    pub span: Range<usize>,
    /// What kind it is.
    pub kind: ProblemKind,
    /// One short sentence for the model.
    pub message: String,
}

/// What can be wrong with a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// It has no end tag; it was not run.
    UnclosedTag,
    /// Its name is none of the vocabulary's; it was not run.
    UnknownTag,
    /// It has too few arguments, or none; it was not run.
    MissingArguments,
    /// It has too many arguments; it was run without the surplus.
    ExtraArguments,
    /// An end tag that ends nothing.
    StrayEnd,
    /// Thinking goes on to the end of the text; nothing after its start was read.
    UnclosedThinking,
}
