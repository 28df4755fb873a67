//! Draws random answers from the grammars we write and reads them with our own parser.

use proptest::prelude::*;
use proptest::test_runner::RngAlgorithm;
use proptest::test_runner::TestRng;

use super::tests::VOCABULARY;
use super::*;
use crate::types::Phase;

/// Draws from the part of GBNF that `gbnf` writes: literals, classes, groups, choices, `?`, `{m,n}`.
struct Draw<'a> {
    rules: Vec<(&'a str, &'a str)>,
    rng: TestRng,
}

impl<'a> Draw<'a> {
    fn new(grammar: &'a str, seed: [u8; 32]) -> Self {
        let rules = grammar
            .lines()
            .map(|line| line.split_once(" ::= ").expect(line))
            .collect();
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        Self { rules, rng }
    }

    fn below(&mut self, n: usize) -> usize {
        self.rng.next_u32() as usize % n
    }

    fn rule(&mut self, name: &str) -> String {
        let body = self.rules.iter().find(|(rule, _)| *rule == name).expect(name).1;
        let mut at = 0;
        let text = self.choice(body, &mut at);
        assert_eq!(at, body.len(), "{body}");
        text
    }

    /// Draws every alternative and keeps one, so that the whole body is read.
    fn choice(&mut self, body: &str, at: &mut usize) -> String {
        let mut all = vec![self.sequence(body, at)];
        while body[*at..].starts_with('|') {
            *at += 1;
            all.push(self.sequence(body, at));
        }
        let one = self.below(all.len());
        all.swap_remove(one)
    }

    fn sequence(&mut self, body: &str, at: &mut usize) -> String {
        let mut out = String::new();
        loop {
            *at += body[*at..].len() - body[*at..].trim_start().len();
            match body[*at..].chars().next() {
                None | Some('|' | ')') => return out,
                Some(_) => {}
            }
            let start = *at;
            let first = self.item(body, at);
            let (min, max, after) = repetition(body, *at);
            let times = min + self.below(max - min + 1);
            for i in 0..times {
                if i == 0 {
                    out.push_str(&first);
                } else {
                    let mut again = start;
                    out.push_str(&self.item(body, &mut again));
                }
            }
            *at = after;
        }
    }

    fn item(&mut self, body: &str, at: &mut usize) -> String {
        let rest = &body[*at..];
        if let Some(inside) = rest.strip_prefix('"') {
            let mut out = String::new();
            let mut chars = inside.char_indices();
            while let Some((i, c)) = chars.next() {
                match c {
                    '"' => {
                        *at += i + 2;
                        return out;
                    }
                    '\\' => match chars.next().expect("escape").1 {
                        'n' => out.push('\n'),
                        c => out.push(c),
                    },
                    c => out.push(c),
                }
            }
            panic!("open string in {body}");
        }
        if let Some(inside) = rest.strip_prefix('[') {
            let end = inside.find(']').expect("class");
            *at += end + 2;
            return self.class(&inside[..end]).to_string();
        }
        if rest.starts_with('(') {
            *at += 1;
            let out = self.choice(body, at);
            assert!(body[*at..].starts_with(')'));
            *at += 1;
            return out;
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        assert!(end > 0, "{rest}");
        *at += end;
        self.rule(&rest[..end])
    }

    fn class(&mut self, class: &str) -> char {
        let candidates: Vec<char> = "abz_AZ0189 |<>{}/-.,\n\t\u{1b}é漢"
            .chars()
            .filter(|c| {
                let (negated, members) = class.strip_prefix('^').map_or((false, class), |rest| (true, rest));
                in_class(*c, members) != negated
            })
            .collect();
        candidates[self.below(candidates.len())]
    }
}

fn in_class(c: char, members: &str) -> bool {
    let members = members
        .replace("\\x01-\\x1F", "\u{1}-\u{1f}")
        .replace("\\x7F", "\u{7f}");
    let members: Vec<char> = members.chars().collect();
    let mut i = 0;
    while i < members.len() {
        if members.get(i + 1) == Some(&'-') && i + 2 < members.len() {
            if (members[i]..=members[i + 2]).contains(&c) {
                return true;
            }
            i += 3;
        } else {
            if members[i] == c {
                return true;
            }
            i += 1;
        }
    }
    false
}

fn repetition(body: &str, at: usize) -> (usize, usize, usize) {
    let rest = &body[at..];
    if rest.starts_with('?') {
        return (0, 1, at + 1);
    }
    let Some(inner) = rest.strip_prefix('{') else {
        return (1, 1, at);
    };
    let end = inner.find('}').expect("repetition");
    let (min, max) = inner[..end].split_once(',').expect("bounds");
    (min.parse().expect("min"), max.parse().expect("max"), at + end + 2)
}

#[test]
fn the_grammars_as_written() {
    let mut spec = GrammarSpec::new(Phase::Plan, VOCABULARY[..3].to_vec());
    spec.actions = vec!["Noop".into(), "Say \"hi\"".into()];
    spec.files = vec!["a.txt".into(), "b.txt".into()];
    assert_eq!(
        gbnf(&spec),
        r#"root ::= action | op ("\n" op){0,2}
action ::= "<|ACTION|>" ("Noop" | "Say \"hi\"") "<|END|>"
op ::= "<|SEARCH|>" file "|" text "<|END|>" | "<|READ|>" file "<|END|>" | "<|TAIL|>" file "<|END|>"
file ::= "a.txt" | "b.txt"
text ::= [^<| \x01-\x1F\x7F] [^<\x01-\x1F\x7F]{0,119}
"#
    );
    spec.max_ops = 0;
    assert_eq!(
        gbnf(&spec),
        "root ::= action\naction ::= \"<|ACTION|>\" (\"Noop\" | \"Say \\\"hi\\\"\") \"<|END|>\"\n"
    );
    let mut spec = GrammarSpec::new(Phase::Log, vec![VOCABULARY[4]]);
    spec.text_chars = 40;
    assert_eq!(
        gbnf(&spec),
        r#"root ::= (op "\n"){1,3} "<|DONE|>"
op ::= "<|APPEND|>" newfile "|" text "<|END|>"
newfile ::= [a-z] [a-z_]{0,19} ".txt"
text ::= [^<| \x01-\x1F\x7F] [^<\x01-\x1F\x7F]{0,39}
"#
    );
    spec.max_ops = 0;
    assert_eq!(gbnf(&spec), "root ::= \"<|DONE|>\"\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_a_grammar_allows_is_understood(
        seed in any::<[u8; 32]>(),
        plan in any::<bool>(),
        max_ops in 0_usize..4,
        files in prop::collection::vec("[a-z]{1,5}\\.txt", 0..3),
        actions in prop::collection::vec("[A-Z][a-z]{1,5}", 1..4),
    ) {
        let phase = if plan { Phase::Plan } else { Phase::Log };
        let spec = GrammarSpec { files, actions: actions.clone(), max_ops, ..GrammarSpec::new(phase, VOCABULARY.to_vec()) };
        let text = Draw::new(&gbnf(&spec), seed).rule("root");
        let parsed = parse(&text, VOCABULARY);
        prop_assert!(parsed.problems.is_empty(), "{text}\n{parsed:?}");
        let ops = parsed.ops().count();
        prop_assert!(ops <= max_ops);
        if plan {
            let action = parsed.action();
            prop_assert_eq!(parsed.items.len(), ops + usize::from(action.is_some()));
            prop_assert_eq!(ops == 0, action.is_some());
            prop_assert!(action.is_none_or(|action| actions.iter().any(|known| known == action)));
        } else {
            prop_assert_eq!(ops == 0, max_ops == 0);
            prop_assert!(parsed.is_done() && parsed.items.len() == ops + 1);
        }
    }
}
