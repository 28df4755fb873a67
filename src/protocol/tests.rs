//! The parser against what models really write, and against what nobody should write.

use proptest::prelude::*;

use super::*;

const fn op(name: &'static str, args: &'static [&'static str], rest: bool) -> OpSyntax {
    OpSyntax {
        name,
        aliases: &[],
        args,
        rest,
    }
}

pub(super) const VOCABULARY: &[OpSyntax] = &[
    OpSyntax {
        name: "SEARCH",
        aliases: &["GREP"],
        args: &["file", "text"],
        rest: true,
    },
    op("READ", &["file"], false),
    op("TAIL", &["file", "n?"], false),
    op("LIST", &[], false),
    op("APPEND", &["file", "text"], true),
    op("WRITE", &["file", "text"], true),
    op("CREATE", &["new_file", "text?"], true),
];

/// Items in short: `READ(a.txt)`, `DONE`, `ACTION(x)`, and kinds of problems with `!`.
fn short(text: &str) -> String {
    let parsed = parse(text, VOCABULARY);
    let items = parsed.items.iter().map(|item| {
        let text = match item {
            Item::Op { name, args, .. } => format!("{name}({})", args.join(",")),
            Item::Done { .. } => "DONE".to_owned(),
            Item::Action { text, .. } => format!("ACTION({text})"),
        };
        (item.span().start, text)
    });
    let problems = parsed
        .problems
        .iter()
        .map(|problem| (problem.span.start, format!("!{:?}", problem.kind)));
    let mut all: Vec<_> = items.chain(problems).collect();
    all.sort_by_key(|(start, _)| *start);
    all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ")
}

#[test]
fn slips_of_real_models() {
    let cases = [
        // As taught.
        ("<|READ|>a.txt<|END|>", "READ(a.txt)"),
        (
            "<|APPEND|>a.txt|wood | stone<|END|>\n<|DONE|>",
            "APPEND(a.txt,wood | stone) DONE",
        ),
        ("I go east.\n<|ACTION|>east<|END|>", "ACTION(east)"),
        ("", ""),
        ("I am not sure what to do.", ""),
        // Bars, case, brackets.
        (
            "<SEARCH>a.txt|Do<END>\n<APPEND>a.txt|x<END>\n<DONE>",
            "SEARCH(a.txt,Do) APPEND(a.txt,x) DONE",
        ),
        ("<|READ>a.txt<END|>", "READ(a.txt)"),
        ("<READ|>a.txt<|END>", "READ(a.txt)"),
        (
            "<|SEARCH|>a.txt|east<|END|}\n<|ACTION|>east<|END|}",
            "SEARCH(a.txt,east) ACTION(east)",
        ),
        ("<|append|>a.txt|x<|end|>\n<|done|>", "APPEND(a.txt,x) DONE"),
        ("<|Read|> a.txt <|End|>", "READ(a.txt)"),
        ("<| READ |>a.txt<| END |>", "READ(a.txt)"),
        ("<｜READ｜>a.txt<｜END｜>", "READ(a.txt)"),
        ("<|grep|>a.txt|x<|END|>", "SEARCH(a.txt,x)"),
        // Closing tags of other families.
        ("<ACTION>east</ACTION>", "ACTION(east)"),
        ("<|ACTION|>east</|ACTION|>", "ACTION(east)"),
        ("<|READ|>a.txt</READ>", "READ(a.txt)"),
        ("<READ>a.txt<|/READ|>", "READ(a.txt)"),
        ("<|GREP|>a.txt|x</SEARCH>", "SEARCH(a.txt,x)"),
        ("<|READ|>a.txt</APPEND><|END|>", "READ(a.txt</APPEND>)"),
        ("<|READ|>a.txt</END>", "READ(a.txt)"),
        ("<DONE/>", "DONE"),
        ("<|DONE|><|END|>", "DONE"),
        // Fences and quotes.
        ("```\n<|READ|>a.txt<|END|>\n```", "READ(a.txt)"),
        ("```xml\n<|ACTION|>\n`Move North`\n<|END|>\n```", "ACTION(Move North)"),
        ("**<|ACTION|>**east**<|END|>**", "ACTION(east)"),
        ("<|READ|>`a.txt`<|END|>", "READ(a.txt)"),
        ("<|READ|>\"a.txt\"<|END|>", "READ(a.txt)"),
        ("<|ACTION|>\"Noop\"<|END|>", "ACTION(Noop)"),
        ("<|ACTION|> Do\n<|END|>", "ACTION(Do)"),
        // An action on its own line.
        ("ACTION: east", "ACTION(east)"),
        ("I think.\nAction: Move North\n", "ACTION(Move North)"),
        ("**Action:** Move North", "ACTION(Move North)"),
        ("- **ACTION**: `Do`", "ACTION(Do)"),
        ("ACTION: Move North<|END|>", "ACTION(Move North)"),
        ("a\nACTION: Noop<|END|>\nmore", "ACTION(Noop)"),
        ("my next ACTION: east", ""),
        ("ACTION:\neast", ""),
        ("Actions: east", ""),
        ("ACTION: first\n<|ACTION|>second<|END|>", "ACTION(second)"),
        ("<|ACTION|>first<|END|>\nACTION: second", "ACTION(first)"),
        ("ACTION: <|ACTION|>east<|END|>", "ACTION(east)"),
        ("ACTION: <|READ|>a.txt<|END|>", "READ(a.txt)"),
        ("<|APPEND|>a.txt|\nACTION: east\n<|END|>", "APPEND(a.txt,ACTION: east)"),
        // Thinking.
        ("<think>try <|READ|>a.txt<|END|></think><|DONE|>", "DONE"),
        ("<thinking>hm</thinking>\nACTION: Do", "ACTION(Do)"),
        ("<think>hm</think>\nI am not sure.", ""),
        ("maybe <|READ|>a.txt<|END|>?</think><|DONE|>", "DONE"),
        (
            "I could use <|READ|> first</think>\n<|ACTION|>east<|END|>",
            "ACTION(east)",
        ),
        ("I could use <|READ|> first</think>\nACTION: east", "ACTION(east)"),
        ("<think>never ends <|DONE|>", "!UnclosedThinking"),
        ("<|DONE|><think>never ends <|READ|>a<|END|>", "DONE !UnclosedThinking"),
        (
            "<|APPEND|>a.txt|</think> is a tag<|END|>",
            "APPEND(a.txt,</think> is a tag)",
        ),
        ("<|READ|>a.txt<|END|>\n<think>and</think><|DONE|>", "READ(a.txt) DONE"),
        // Arguments.
        ("<|TAIL|>a.txt<|END|>", "TAIL(a.txt)"),
        ("<|TAIL|>a.txt|5<|END|>", "TAIL(a.txt,5)"),
        ("<|CREATE|>a.txt<|END|>", "CREATE(a.txt)"),
        ("<|CREATE|>a.txt|b|c<|END|>", "CREATE(a.txt,b|c)"),
        ("<|LIST|>", "LIST()"),
        ("<|LIST|><|END|>", "LIST()"),
        ("<|LIST|>\n<|END|>\n<|DONE|>", "LIST() DONE"),
        ("<LIST></LIST>", "LIST()"),
        ("<|LIST|>\nACTION: Do", "LIST() ACTION(Do)"),
        ("<|SEARCH|>|wood<|END|>", "SEARCH(,wood)"),
        ("<|WRITE|>a.txt|one\ntwo\n<|END|>", "WRITE(a.txt,one\ntwo)"),
        ("<|READ|><|END|>", "!MissingArguments"),
        ("<|APPEND|>a.txt<|END|>", "!MissingArguments"),
        ("<|APPEND|> | <|END|>", "!MissingArguments"),
        ("<|ACTION|> <|END|>", "!MissingArguments"),
        ("<|READ|>a.txt|b.txt<|END|>", "READ(a.txt) !ExtraArguments"),
        ("<|READ|>a.txt|<|END|>", "READ(a.txt)"),
        // Broken tags do not swallow whole ones.
        ("<|READ|>a.txt", "!UnclosedTag"),
        ("<|ACTION|>east", "!UnclosedTag"),
        ("<|APPEND|>a.txt|x\n<|DONE|>", "!UnclosedTag DONE"),
        (
            "<|APPEND|>a.txt|x\n<|READ|>b.txt<|END|><|END|><|DONE|>",
            "!UnclosedTag READ(b.txt) !StrayEnd DONE",
        ),
        ("<|READ|>a <|READ|>b<|END|>", "!UnclosedTag READ(b)"),
        ("<|READ|>a.txt\nACTION: east", "!UnclosedTag"),
        ("<|READ a.txt<|END|>\n<|DONE|>", "!UnclosedTag DONE"),
        ("<|READ|a.txt|>", "!UnclosedTag"),
        ("<|END", "!UnclosedTag"),
        ("<|DONE", "!UnclosedTag"),
        ("<|END|>", "!StrayEnd"),
        // Unknown tags, and what is none.
        ("<|UPSERT|>a|b<|END|><|DONE|>", "!UnknownTag DONE"),
        ("<UPSERT>a|b<END>", "!UnknownTag"),
        ("<|READ|>a.txt <|UPSERT|>b|c<|END|>", "!UnclosedTag !UnknownTag"),
        (
            "<|APPEND|>a.txt|use <b>bold</b> and x < y<|END|>",
            "APPEND(a.txt,use <b>bold</b> and x < y)",
        ),
        ("<b>bold</b> a < b > c <|im_end|> <|endoftext|>", ""),
        ("1 < 2 <| <|| |> <> </> <3", ""),
    ];
    for (text, wanted) in cases {
        assert_eq!(short(text), wanted, "{text:?}");
    }
}

#[test]
fn thinking_has_a_span() {
    let text = "<think>a</think>b";
    assert_eq!(parse(text, VOCABULARY).thinking, Some(0..16));
    let text = "a</think>b";
    assert_eq!(parse(text, VOCABULARY).thinking, Some(0..9));
    assert_eq!(parse("<think>a", VOCABULARY).thinking, Some(0..8));
}

#[test]
fn the_message_says_how_to_write_it() {
    let parsed = parse("<|TAIL|><|END|>", VOCABULARY);
    assert_eq!(
        parsed.problems[0].message,
        "<|TAIL|> did not run: write <|TAIL|>file|n<|END|>"
    );
    let parsed = parse("<|FLY|>up<|END|>", &VOCABULARY[..2]);
    assert_eq!(
        parsed.problems[0].message,
        "there is no <|FLY|> here; there are SEARCH, READ, ACTION, DONE"
    );
}

/// Millions of pieces in all, ten megabytes on one line: a quadratic parser would not come back.
#[test]
fn hostile_texts_take_linear_time() {
    const SIZE: usize = 150_000;
    let pieces = [
        "x",
        "<",
        "<|",
        "<|READ|>",
        "<|END|>",
        "<|LIST|>",
        "<|LIST|>  ",
        "<|DONE|>",
        "</think>",
        "<think>",
        "<think></think>",
        "ACTION: a\n",
        "ACTION:",
        "*",
        "\n",
        "<|READ",
        "<|NOPE|>",
        "<|READ|></think>",
        "\0\u{1b}[2J",
        "漢<",
        "<|ACTION|>a<|END|>",
        "a|",
        "ACTION: a<|END|>",
    ];
    for piece in pieces {
        let text = piece.repeat(SIZE / piece.len());
        let parsed = parse(&text, VOCABULARY);
        assert!(parsed.problems.len() <= MAX_PROBLEMS);
        let open = format!("<|APPEND|>a.txt|{text}");
        parse(&open, VOCABULARY);
    }
    let million = "<|".repeat(1_000_000);
    assert_eq!(parse(&million, VOCABULARY), Parsed::default());
    let line = format!("<|APPEND|>a.txt|{}<|END|>", "x|".repeat(5_000_000));
    let parsed = parse(&line, VOCABULARY);
    assert!(matches!(&parsed.items[..], [Item::Op { args, .. }] if args[1].len() == 10_000_000));
}

/// Text without any tag and without anything that could become one.
fn noise() -> impl Strategy<Value = String> {
    "([a-z ,.!|>}漢é\n0-9]|< |``|\\*\\*){0,40}".prop_filter("no line action", |text| !text.contains("action"))
}

/// Pieces that tags are made of, in any order.
fn rubble() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<"),
        Just("|"),
        Just(">"),
        Just("}"),
        Just("/"),
        Just("<|"),
        Just("|>"),
        Just("READ"),
        Just("<|READ|>"),
        Just("<|APPEND|>"),
        Just("<|END|>"),
        Just("</READ>"),
        Just("<|DONE|>"),
        Just("<|ACTION|>"),
        Just("ACTION: x"),
        Just("\n"),
        Just("<think>"),
        Just("</think>"),
        Just("a.txt"),
        Just("漢"),
        Just("｜"),
        Just("\0"),
        Just(" "),
        Just("<|LIST|>"),
        Just("<|NOPE|>"),
        Just("`"),
        Just("**"),
        Just("<LIST>"),
        Just("end"),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn check_spans(text: &str) -> Result<(), TestCaseError> {
    let parsed = parse(text, VOCABULARY);
    let mut end = 0;
    for item in &parsed.items {
        let span = item.span();
        prop_assert!(span.start >= end && span.start < span.end, "{:?}", parsed);
        prop_assert!(text.get(span.clone()).is_some());
        end = span.end;
    }
    let mut start = 0;
    for problem in &parsed.problems {
        prop_assert!(text.get(problem.span.clone()).is_some());
        prop_assert!(problem.span.start >= start, "{:?}", parsed);
        start = problem.span.start;
    }
    let mut end = 0;
    for (span, _) in highlight(text, VOCABULARY) {
        prop_assert!(span.start >= end && !span.is_empty());
        prop_assert!(text.get(span.clone()).is_some());
        end = span.end;
    }
    Ok(())
}

proptest! {
    #[test]
    fn never_panics(text in any::<String>()) {
        check_spans(&text)?;
    }

    #[test]
    fn never_panics_on_rubble(text in rubble()) {
        check_spans(&text)?;
    }

    #[test]
    fn printed_ops_are_read_back(file in "[a-z_]{1,8}\\.txt", text in "[a-z|<>/é漢\n]([a-zA-Z |<>/{}é漢\n]|<\\|END\\|>|<END>){0,30}") {
        let args = [file, text.trim().to_owned()];
        prop_assume!(!args[1].is_empty());
        let printed = print_op("APPEND", &args);
        let parsed = parse(&printed, VOCABULARY);
        prop_assert!(parsed.problems.is_empty(), "{:?}", parsed);
        let [Item::Op { name, args: read, span }] = &parsed.items[..] else {
            return Err(TestCaseError::fail(format!("{parsed:?}")));
        };
        prop_assert_eq!(name, "APPEND");
        prop_assert_eq!(span, &(0..printed.len()));
        prop_assert_eq!(&read[0], &args[0]);
        // Only a space after `<` may have been put in, to disarm a tag.
        let plain = |text: &str| text.replace("< ", "<").trim().to_owned();
        prop_assert_eq!(plain(&read[1]), plain(&args[1]));
        if !args[1].contains('<') {
            prop_assert_eq!(read, &args);
        }
    }

    #[test]
    fn printed_actions_are_read_back(action in "[A-Z][a-z]{0,8}( [A-Z][a-z]{1,8}){0,2}") {
        let parsed = parse(&print_action(&action), VOCABULARY);
        prop_assert_eq!(parsed.action(), Some(&*action));
    }

    #[test]
    fn noise_around_tags_changes_nothing(before in noise(), after in noise(), between in noise()) {
        let tags = ["<|READ|>a.txt<|END|>", "<|APPEND|>b.txt|c<|END|>", "<|ACTION|>Noop<|END|>", DONE];
        let text = format!("{before}{}{between}{}{after}{}{before}{}{after}", tags[0], tags[1], tags[2], tags[3]);
        let parsed = parse(&text, VOCABULARY);
        let found: Vec<_> = parsed.items.iter().map(|item| &text[item.span().clone()]).collect();
        prop_assert_eq!(found, tags);
        prop_assert!(parsed.problems.is_empty(), "{:?}", parsed);
    }

}
