//! Checks a grammar in llama.cpp's GBNF before llama.cpp sees it.
//!
//! Owns the syntax (`grammars/README.md` of llama.cpp): llama.cpp prints its complaints on the terminal and says
//! only "null" to the caller, so faults are found and named here. Must not interpret grammars.

use std::collections::{BTreeMap, BTreeSet};

/// llama.cpp's bound on repetitions.
const MOST_REPETITIONS: u64 = 2000;
/// Groups within groups that are accepted.
const DEEPEST: usize = 200;

/// What is wrong with a grammar, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the grammar is wrong at line {line}, column {column}: {message}")]
pub struct GrammarError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// What a rule's alternatives begin with, as far as left recursion needs it.
#[derive(Debug, Default)]
struct Rule {
    /// Rules that may come first.
    first: BTreeSet<String>,
    /// It can match nothing.
    empty: bool,
}

/// An alternative while it is read.
#[derive(Debug, Clone, Copy, Default)]
struct Symbol {
    /// The symbol can match nothing.
    empty: bool,
}

/// Checks a grammar.
///
/// # Errors
/// The first fault: wrong syntax, a rule that is named but not defined, no `root`, a rule that begins with itself.
pub fn check(grammar: &str) -> Result<(), GrammarError> {
    let mut parser = Parser {
        text: grammar,
        at: 0,
        rules: BTreeMap::new(),
        named: BTreeMap::new(),
        depth: 0,
    };
    parser.grammar()?;
    if !parser.rules.contains_key("root") {
        return Err(parser.error_at(0, "there is no rule `root`"));
    }
    let undefined = (parser.named.iter()).find(|(name, _)| !parser.rules.contains_key(*name));
    if let Some((name, at)) = undefined {
        return Err(parser.error_at(*at, &format!("the rule `{name}` is not defined")));
    }
    match parser.left_recursion() {
        Some(name) => {
            let message = format!("the rule `{name}` begins with itself, so it would never end");
            Err(parser.error_at(parser.named.get(&name).copied().unwrap_or(0), &message))
        }
        None => Ok(()),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    rules: BTreeMap<String, Rule>,
    /// Where each rule is first named.
    named: BTreeMap<String, usize>,
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn error(&self, message: &str) -> GrammarError {
        self.error_at(self.at, message)
    }

    fn error_at(&self, at: usize, message: &str) -> GrammarError {
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        GrammarError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.to_owned(),
        }
    }

    /// Skips blanks and comments, over line ends where they mean nothing.
    fn space(&mut self, newlines: bool) {
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => self.at += 1,
                '#' => {
                    while self.peek().is_some_and(|c| c != '\n' && c != '\r') {
                        self.next();
                    }
                }
                '\r' | '\n' if newlines => self.at += 1,
                _ => return,
            }
        }
    }

    fn grammar(&mut self) -> Result<(), GrammarError> {
        if self.text.contains('\0') {
            return Err(self.error("it contains a zero byte"));
        }
        self.space(true);
        while self.peek().is_some() {
            let name = self.name()?;
            self.space(false);
            if !self.eat("::=") {
                return Err(self.error("`::=` is expected after a rule's name"));
            }
            self.space(true);
            let rule = self.alternates(false)?;
            self.rules.insert(name, rule);
            if !(self.eat("\r\n") || self.eat("\n") || self.eat("\r") || self.peek().is_none()) {
                return Err(self.error("a line end is expected after a rule"));
            }
            self.space(true);
        }
        Ok(())
    }

    fn name(&mut self) -> Result<String, GrammarError> {
        let len = self.rest().find(|c| !is_word(c)).unwrap_or(self.rest().len());
        if len == 0 {
            return Err(self.error("a rule's name is expected"));
        }
        let name = self.rest()[..len].to_owned();
        self.at += len;
        Ok(name)
    }

    fn alternates(&mut self, nested: bool) -> Result<Rule, GrammarError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("groups are nested too deeply"));
        }
        let mut rule = Rule::default();
        loop {
            rule.empty |= self.sequence(&mut rule.first, nested)?;
            if self.peek() != Some('|') {
                break;
            }
            self.at += 1;
            self.space(true);
        }
        self.depth -= 1;
        Ok(rule)
    }

    /// Reads a sequence; says whether it can match nothing.
    fn sequence(&mut self, first: &mut BTreeSet<String>, nested: bool) -> Result<bool, GrammarError> {
        let mut empty_so_far = true;
        let mut last: Option<Symbol> = None;
        loop {
            if let Some(repeats) = self.repetition(nested)? {
                let Some(symbol) = last.as_mut() else {
                    return Err(self.error("there is nothing here to repeat"));
                };
                symbol.empty |= repeats.0 == 0;
                self.space(nested);
                continue;
            }
            empty_so_far &= last.take().is_none_or(|symbol| symbol.empty);
            let mut ignored = BTreeSet::new();
            let into = if empty_so_far { &mut *first } else { &mut ignored };
            let Some(symbol) = self.symbol(into)? else {
                return Ok(empty_so_far);
            };
            last = Some(symbol);
            self.space(nested);
        }
    }

    /// Reads `*`, `+`, `?` or `{m,n}`: the least and the most times.
    fn repetition(&mut self, nested: bool) -> Result<Option<(u64, u64)>, GrammarError> {
        let simple = match self.peek() {
            Some('*') => Some((0, u64::MAX)),
            Some('+') => Some((1, u64::MAX)),
            Some('?') => Some((0, 1)),
            Some('{') => None,
            _ => return Ok(None),
        };
        self.at += 1;
        if simple.is_some() {
            return Ok(simple);
        }
        self.space(nested);
        let least = self
            .number()?
            .ok_or_else(|| self.error("a number is expected after `{`"))?;
        self.space(nested);
        let mut most = least;
        if self.eat(",") {
            self.space(nested);
            most = self.number()?.unwrap_or(u64::MAX);
            self.space(nested);
        }
        if !self.eat("}") {
            return Err(self.error("`}` is expected"));
        }
        if most < least {
            return Err(self.error("the most times are fewer than the least"));
        }
        Ok(Some((least, most)))
    }

    fn number(&mut self) -> Result<Option<u64>, GrammarError> {
        let rest = self.rest();
        let len = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if len == 0 {
            return Ok(None);
        }
        let number = rest[..len].parse::<u64>().unwrap_or(u64::MAX);
        if number > MOST_REPETITIONS {
            return Err(self.error(&format!("at most {MOST_REPETITIONS} repetitions are possible")));
        }
        self.at += len;
        Ok(Some(number))
    }

    /// Reads one symbol; `None` at the end of the sequence.
    fn symbol(&mut self, first: &mut BTreeSet<String>) -> Result<Option<Symbol>, GrammarError> {
        let Some(c) = self.peek() else { return Ok(None) };
        match c {
            '"' => {
                self.at += 1;
                let start = self.at;
                while self.peek() != Some('"') {
                    self.character()?;
                }
                let empty = self.at == start;
                self.at += 1;
                Ok(Some(Symbol { empty }))
            }
            '[' => self.class().map(Some),
            '.' => {
                self.at += 1;
                Ok(Some(Symbol::default()))
            }
            '<' | '!' => Err(self.error("token names (`<...>`) are not supported here; write the text in quotes")),
            '(' => {
                self.at += 1;
                self.space(true);
                let group = self.alternates(true)?;
                if !self.eat(")") {
                    return Err(self.error("`)` is expected"));
                }
                first.extend(group.first);
                Ok(Some(Symbol { empty: group.empty }))
            }
            c if is_word(c) => {
                let at = self.at;
                let name = self.name()?;
                self.named.entry(name.clone()).or_insert(at);
                first.insert(name);
                // Whether the rule can match nothing is known only when all are read; see `left_recursion`.
                Ok(Some(Symbol::default()))
            }
            _ => Ok(None),
        }
    }

    fn class(&mut self) -> Result<Symbol, GrammarError> {
        self.at += 1;
        self.eat("^");
        let start = self.at;
        while self.peek() != Some(']') {
            let low = self.character()?;
            if self.rest().starts_with('-') && !self.rest().starts_with("-]") {
                self.at += 1;
                if self.character()? < low {
                    return Err(self.error("the range runs backwards"));
                }
            }
        }
        if self.at == start {
            return Err(self.error("the set of characters is empty"));
        }
        self.at += 1;
        Ok(Symbol::default())
    }

    /// Reads one character of a text or a set, escapes resolved.
    fn character(&mut self) -> Result<u32, GrammarError> {
        let unfinished = "the grammar ends inside a text or a set";
        match self.next() {
            None => Err(self.error(unfinished)),
            Some('\\') => {
                let digits = match self.next() {
                    Some('x') => 2,
                    Some('u') => 4,
                    Some('U') => 8,
                    Some('t') => return Ok(9),
                    Some('r') => return Ok(13),
                    Some('n') => return Ok(10),
                    Some(c @ ('\\' | '"' | '[' | ']')) => return Ok(u32::from(c)),
                    Some(c) => return Err(self.error(&format!("`\\{c}` is not an escape"))),
                    None => return Err(self.error(unfinished)),
                };
                let code = self
                    .rest()
                    .get(..digits)
                    .and_then(|hex| u32::from_str_radix(hex, 16).ok());
                let code = code.ok_or_else(|| self.error(&format!("{digits} hexadecimal digits are expected")))?;
                self.at += digits;
                Ok(code)
            }
            Some(c) => Ok(u32::from(c)),
        }
    }

    /// A rule that can begin with itself. Rules that can match nothing are taken as if they always did only where
    /// that is written in the rule itself.
    fn left_recursion(&self) -> Option<String> {
        for start in self.rules.keys() {
            let mut seen = BTreeSet::new();
            let mut next: Vec<&String> = self.rules.get(start)?.first.iter().collect();
            while let Some(name) = next.pop() {
                if name == start {
                    return Some(start.clone());
                }
                if seen.insert(name) {
                    next.extend(self.rules.get(name).into_iter().flat_map(|rule| &rule.first));
                }
            }
        }
        None
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn real_grammars_pass() {
        for good in [
            "root ::= \"yes\" | \"no\"\n",
            "# a comment\nroot ::= op+ done? \n  \nop ::= \"<|\" [A-Z]+ \"|>\" [^|<\\n]{1,80} \"<|END|>\" ws\nws ::= [ \\t\\n]*\ndone ::= (\"a\" |\n \"b\"){0,3}",
            "root ::= .* \"\\x41\\u00e9\" item{2} item{2,}\r\nitem ::= \"é\"",
            "root ::= list\nlist ::= \"a\" list | \"b\"",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn faults_are_placed() {
        for (bad, line, column, words) in [
            ("root = \"a\"", 1, 6, "::="),
            ("root ::= \"a", 1, 12, "ends inside"),
            ("root ::= thing", 1, 10, "`thing` is not defined"),
            ("start ::= \"a\"", 1, 1, "`root`"),
            ("root ::= \"a\"\nb ::= (\"x\" | [0-9]", 2, 19, "`)`"),
            ("root ::= *", 1, 11, "nothing here to repeat"),
            ("root ::= \"a\"{9999}", 1, 14, "at most"),
            ("root ::= \"\\q\"", 1, 13, "not an escape"),
            ("root ::= a\na ::= \"x\"? a", 2, 7, "begins with itself"),
            ("root ::= \"a\" }", 1, 14, "line end"),
            ("root ::= <think>", 1, 10, "token names"),
        ] {
            let error = check(bad).unwrap_err();
            assert!(error.message.contains(words), "{bad}: {error}");
            if words != "begins with itself" {
                assert_eq!((error.line, error.column), (line, column), "{bad}: {error}");
            }
        }
    }

    proptest! {
        #[test]
        fn anything_is_answered(text in "(root|[a-c]| ::= |\"|\\[|\\]|\\(|\\)|\\||\\*|\\{|\\}|[0-9]|,|\\\\|\\n|é|-){0,40}") {
            let _ = check(&text);
        }
    }
}
