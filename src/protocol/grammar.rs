//! A grammar in llama.cpp's GBNF that leaves a model no choice but well-formed tags.
//!
//! llama.cpp walks the grammar for every token it draws, so it is kept small: one rule an
//! operation, one for names, one for each length of free text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::OpSyntax;
use crate::types::Phase;

/// llama.cpp refuses repetitions beyond 2000 rules; slow long before.
const MOST_CHARS: usize = 1000;
const MOST_OPS: usize = 100;

/// What the model may write.
#[derive(Debug, Clone, PartialEq)]
pub struct GrammarSpec {
    /// The phase: LOG ends with `<|DONE|>`, PLAN reads or commits an action.
    pub phase: Phase,
    /// The operations of the phase.
    pub ops: Vec<OpSyntax>,
    /// The files there are, for arguments named `file`; with none, any plain name ending in
    /// `.txt` goes.
    pub files: Vec<String>,
    /// The actions of the world, for PLAN.
    pub actions: Vec<String>,
    /// Operations an answer must have at least (LOG).
    pub min_ops: usize,
    /// Operations an answer may have at most. 0 leaves only `<|DONE|>` or an action.
    pub max_ops: usize,
    /// Characters of free text an argument may have.
    pub text_chars: usize,
}

impl GrammarSpec {
    /// A specification with the usual bounds: 1 to 3 operations, 120 characters of text.
    pub fn new(phase: Phase, ops: Vec<OpSyntax>) -> Self {
        Self {
            phase,
            ops,
            files: Vec::new(),
            actions: Vec::new(),
            min_ops: 1,
            max_ops: 3,
            text_chars: 120,
        }
    }
}

/// The grammar of a specification.
///
/// LOG: `min_ops` to `max_ops` operations, one a line, then `<|DONE|>`.
/// PLAN: 1 to `max_ops` operations, one a line, or exactly one of the actions.
/// Free text has no line end, no control character and no `<`.
pub fn gbnf(spec: &GrammarSpec) -> String {
    let ops = !spec.ops.is_empty() && spec.max_ops > 0;
    let max = spec.max_ops.min(MOST_OPS);
    let mut out = String::new();
    let root = match spec.phase {
        Phase::Log if ops => format!("(op \"\\n\"){{{},{max}}} \"<|DONE|>\"", spec.min_ops.min(max)),
        Phase::Log => "\"<|DONE|>\"".to_owned(),
        Phase::Plan if ops => {
            let action = if spec.actions.is_empty() { "" } else { "action | " };
            let more = if max > 1 {
                format!(" (\"\\n\" op){{0,{}}}", max - 1)
            } else {
                String::new()
            };
            format!("{action}op{more}")
        }
        Phase::Plan => "action".to_owned(),
    };
    let _ = writeln!(out, "root ::= {root}");
    if spec.phase == Phase::Plan && (!spec.actions.is_empty() || !ops) {
        let actions = if spec.actions.is_empty() {
            "[A-Za-z] [A-Za-z ]{0,39}".to_owned()
        } else {
            choice(&spec.actions)
        };
        let _ = writeln!(out, "action ::= \"<|ACTION|>\" ({actions}) \"<|END|>\"");
    }
    if ops {
        op_rules(&mut out, spec);
    }
    out
}

fn op_rules(out: &mut String, spec: &GrammarSpec) {
    let mut needed = BTreeSet::new();
    let mut ops = Vec::new();
    for op in &spec.ops {
        let mut line = literal(&format!("<|{}|>", op.name));
        for (i, arg) in op.args.iter().enumerate() {
            let last = i + 1 == op.args.len();
            let (name, optional) = arg.strip_suffix('?').map_or((*arg, false), |name| (name, true));
            let rule = match name {
                "file" if spec.files.is_empty() => "newfile",
                "file" => "file",
                "new_file" => "newfile",
                "n" => "count",
                _ if last && op.rest => "text",
                _ => "word",
            };
            let bar = if i > 0 { "\"|\" " } else { "" };
            // An optional argument is left out: shorter answers, fewer slips.
            if !optional {
                needed.insert(rule);
                let _ = write!(line, " {bar}{rule}");
            }
        }
        line.push_str(" \"<|END|>\"");
        ops.push(line);
    }
    let _ = writeln!(out, "op ::= {}", ops.join(" | "));
    let chars = spec.text_chars.clamp(1, MOST_CHARS);
    for rule in needed {
        let body = match rule {
            "file" => choice(&spec.files),
            "newfile" => "[a-z] [a-z_]{0,19} \".txt\"".to_owned(),
            "count" => "[1-9] [0-9]?".to_owned(),
            "text" => format!("[^<| \\x01-\\x1F\\x7F] [^<\\x01-\\x1F\\x7F]{{0,{}}}", chars - 1),
            _ => format!(
                "[^<| \\x01-\\x1F\\x7F] [^<|\\x01-\\x1F\\x7F]{{0,{}}}",
                chars.min(40) - 1
            ),
        };
        let _ = writeln!(out, "{rule} ::= {body}");
    }
}

fn choice(texts: &[String]) -> String {
    texts.iter().map(|text| literal(text)).collect::<Vec<_>>().join(" | ")
}

/// A GBNF string. Control characters cannot stand in one and are left out.
fn literal(text: &str) -> String {
    let mut out = "\"".to_owned();
    for c in text.chars().filter(|c| !c.is_control()) {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}
