//! Both forms there and back, what is refused and where, and the way of a recipe over the desk.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::config::Workspace;
use crate::review::{Desk, State, Verdict, What};
use crate::tune::TuneError;
use crate::types::Phase;

fn config() -> TrainConfig {
    prior("crafter", 135_000_000).train.remove(0)
}

fn says(error: TuneError) -> String {
    error.to_string()
}

#[test]
fn the_references_lines_are_its_priors() {
    const LARGE: u64 = 32_000_000_000;
    let lines = [
        (
            "crafter",
            "256:512:0.0:5.0e-5:4:2:8:16384:cosine:0.05:false:2:ATTN",
            600,
        ),
        (
            "minihack",
            "128:256:0.0:5.0e-5:3:2:4:16384:cosine:0.05:false:2:ALL",
            300,
        ),
        ("nethack", "256:512:0.0:5.0e-5:1:2:8:16384:cosine:0.05:false:2:ALL", 800),
    ];
    for (env, line, examples) in lines {
        let recipe = prior(env, LARGE);
        assert_eq!(recipe.train[0].line(), line);
        assert_eq!(TrainConfig::parse_line(line).unwrap(), recipe.train[0]);
        assert_eq!(recipe.data.min_target_examples, examples);
    }
    for parameters in [
        0,
        135_000_000,
        494_000_000,
        1_500_000_000,
        7_000_000_000,
        LARGE,
        u64::MAX,
    ] {
        for env in ["crafter", "minihack", "nethack", "another"] {
            let recipe = prior(env, parameters);
            assert_eq!(recipe.wrong(), []);
            assert_eq!(read(&write(&recipe)).unwrap(), recipe);
        }
    }
    let small = config();
    assert_eq!(
        (small.rank, small.learning_rate, small.cutoff, small.gpus),
        (8, 2e-3, 2048, 1)
    );
}

#[test]
fn a_line_may_name_matrices() {
    let line = |target: &str| TrainConfig::parse_line(&format!("8:16:0:2e-3:1:1:1:512:Linear:0:False:1:{target}"));
    let names = vec!["q_proj".to_owned(), "v_proj".to_owned()];
    for target in ["q_proj+v_proj", "q_proj,v_proj", " q_proj + v_proj "] {
        assert_eq!(line(target).unwrap().targets, Targets::Names(names.clone()));
    }
    assert_eq!(line("mlp").unwrap().targets, Targets::Mlp);
    assert_eq!(line("ATTN").unwrap().schedule, Schedule::Linear);
}

#[test]
fn every_bad_field_is_named_with_its_place() {
    let good: Vec<&str> = "8:16:0.0:2.0e-3:1:1:1:512:cosine:0.05:false:1:ATTN"
        .split(':')
        .collect();
    let cases = [
        (0, "x", "field 1 (RANK)"),
        (0, "0", "`rank` is 0; give 1 to 1024"),
        (0, "1025", "`rank` is 1025"),
        (1, "", "field 2 (ALPHA)"),
        (1, "0", "`alpha` is 0"),
        (1, "inf", "`alpha` is inf"),
        (2, "1", "`dropout` is 1"),
        (2, "nan", "`dropout` is NaN"),
        (3, "5,0e-5", "field 4 (LR)"),
        (3, "0", "`learning_rate` is 0"),
        (3, "1.5", "up to 1"),
        (4, "-1", "field 5 (EPOCHS)"),
        (4, "101", "`epochs` is 101"),
        (5, "0", "`batch` is 0"),
        (6, "0", "`accumulation` is 0"),
        (7, "63", "`cutoff` is 63; give 64"),
        (7, "99999999999", "field 8 (CUTOFF)"),
        (8, "step", "`constant`"),
        (9, "0.6", "`warmup` is 0.6"),
        (10, "maybe", "field 11 (SAVE)"),
        (11, "0", "`gpus` is 0"),
        (12, "q_proj+head", "field 13 (TARGET)"),
        (12, "q_proj+q_proj", "twice"),
        (12, "", "ATTN, MLP, ALL"),
    ];
    for (at, bad, expected) in cases {
        let mut fields = good.clone();
        fields[at] = bad;
        let error = says(TrainConfig::parse_line(&fields.join(":")).unwrap_err());
        assert!(error.contains(expected) && error.contains("; "), "{at} {bad}: {error}");
    }
    assert!(TrainConfig::parse_line(&good.join(":")).is_ok());
    let error = says(TrainConfig::parse_line("8:16").unwrap_err());
    assert!(
        error.contains("2 fields, not 13") && error.contains("RANK:ALPHA"),
        "{error}"
    );
    assert!(!says(TrainConfig::parse_line("\u{1b}[2J").unwrap_err()).contains('\u{1b}'));
}

#[test]
fn a_file_is_read_line_by_line() {
    let mut recipe = prior("crafter", 135_000_000);
    recipe.data.source = DataSource::Reuse("p7".to_owned());
    recipe.data.brief = "Take what was read again.\nAvoid \"\"\"lists\"\"\" and C:\\paths.\n".to_owned();
    recipe.train.push(TrainConfig {
        targets: Targets::Names(vec!["q_proj".to_owned()]),
        ..config()
    });
    let text = write(&recipe);
    assert_eq!(read(&text).unwrap(), recipe);
    assert!(
        text.contains("\nlearning_rate = 2.0e-3\n") && text.contains("\nsource = { reuse = \"p7\" }\n"),
        "{text}"
    );
    assert!(text.contains("\nTake what was read again.\n"), "{text}");
    // One changed value is one changed line.
    recipe.train[1].rank = 32;
    let changed = write(&recipe);
    let differ = text.lines().zip(changed.lines()).filter(|(a, b)| a != b).count();
    assert_eq!((differ, text.lines().count()), (1, changed.lines().count()));
}

#[test]
fn what_is_wrong_in_a_file_is_named_with_its_line() {
    let text = write(&prior("crafter", 135_000_000));
    let line_of = |text: &str, part: &str| text.lines().position(|line| line.contains(part)).unwrap() + 1;
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let cases = [
        ("rank = 8", "rank = 0", "`rank` is 0"),
        ("rank = 8", "rank = \"eight\"", "invalid type"),
        ("rank = 8", "ranc = 8", "unknown field `ranc`"),
        ("alpha = 16.0", "alpha = nan", "`alpha` is NaN"),
        ("targets = \"attn\"", "targets = \"head\"", "unknown variant `head`"),
        ("targets = \"attn\"", "targets = { names = [] }", "names no matrix"),
        (
            "source = \"regenerate\"",
            "source = { reuse = \"seven\" }",
            "names no proposal",
        ),
        (
            "min_target_examples = 300",
            "min_target_examples = 0",
            "`min_target_examples` is 0",
        ),
        ("selector = \"rules\"", "selector = \" \"", "names nobody"),
        ("version = 1", "version = 2", "this program knows 1"),
        ("env = \"crafter\"", "env = \"\"", "names no world"),
        ("similarity = 0.9", "similarity = 1.1", "`similarity` is 1.1"),
        ("max_empty = 0", "max_empty = 0\nper_op = 0", "nothing is left"),
        ("phases = [\"LOG\", \"PLAN\"]", "phases = []", "`phases` is empty"),
        ("position = [0.0, 1.0]", "position = [0.9, 0.1]", "from 0.9 to 0.1"),
        ("seed = 42", "seed = -1", "invalid value"),
    ];
    for (from, to, expected) in cases {
        let text = with(from, to);
        let error = says(read(&text).unwrap_err());
        assert!(error.contains(expected), "{to}: {error}");
        let line = line_of(&text, to.lines().last().unwrap());
        assert!(error.starts_with(&format!("line {line}, column ")), "{to}: {error}");
    }
    let three = format!("{text}{}", text[text.find("\n[[train]]").unwrap()..].repeat(2));
    assert!(says(read(&three).unwrap_err()).contains("3 training configurations"));
    let none = text[..text.find("\n[[train]]").unwrap()].to_owned();
    assert!(says(read(&none).unwrap_err()).contains("missing field `train`"));
    assert!(says(read("rank = ").unwrap_err()).starts_with("line 1, column "));
    // All of them at once, for a proposal.
    let files = |text: String| BTreeMap::from([(FILE.to_owned(), text)]);
    let many = files(with("rank = 8", "rank = 0").replace("warmup = 0.05", "warmup = 2"));
    assert_eq!(check(&many).len(), 2);
    assert_eq!(check(&files(text.clone())), []);
    assert!(check(&BTreeMap::new())[0].message.contains("no recipe"));
    let mut more = files(text);
    more.insert("notes.md".to_owned(), String::new());
    assert!(check(&more)[0].to_string().starts_with("notes.md: "));
}

#[test]
fn a_recipe_is_proposed_decided_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(folder.path().join("w"));
    let mut desk = Desk::open(&workspace).unwrap();
    let before = prior("crafter", 135_000_000);
    let mut after = before.clone();
    after.train[0].rank = 16;
    after.train[0].epochs = 5;
    let first = desk
        .propose(draft("crafter-lora", None, &before, "a start", "rules"), "rules")
        .unwrap();
    assert_eq!(desk.dossier(&first).unwrap().standing.parts.len(), 1);
    let draft = draft("crafter-lora", Some(&before), &after, "more rank", "rules");
    assert!(draft.title.contains("16:16:0.0:2.0e-3:5:"), "{}", draft.title);
    let id = desk.propose(draft, "rules").unwrap();
    let mut decide = |texts: [&str; 2]| {
        let parts = desk.dossier(&id).unwrap().standing.parts;
        assert_eq!(parts.len(), 2);
        for (slot, text) in parts.iter().zip(texts) {
            let seen = desk.dossier(&id).unwrap().standing.seq;
            let what = What::Decided {
                part: slot.part.id.clone(),
                digest: slot.part.digest,
                verdict: Verdict::Edit { text: text.to_owned() },
                comment: String::new(),
                policy: None,
            };
            desk.append(&id, seen, "ann", what).unwrap();
        }
        let seen = desk.dossier(&id).unwrap().standing.seq;
        let committed = desk.commit(&id, seen, "ann").unwrap();
        check_proposal(&mut desk, &id, "ann").unwrap();
        let standing = desk.dossier(&id).unwrap().standing;
        // A second look changes nothing.
        check_proposal(&mut desk, &id, "ann").unwrap();
        assert_eq!(desk.dossier(&id).unwrap().standing.state, standing.state);
        let undo = What::Undone { seq: committed.seq };
        let seen = desk.dossier(&id).unwrap().standing.seq;
        desk.append(&id, seen, "ann", undo).unwrap();
        (standing.state, standing.problems)
    };
    let (state, problems) = decide(["rank = 0\n", "epochs = 5\n"]);
    assert_eq!(state, State::CheckFailed);
    assert!(problems[0].to_string().contains("`rank` is 0"), "{:?}", problems[0]);
    assert_eq!(decide(["rank = 32\n", "epochs = 6\n"]), (State::Checked, vec![]));
}

fn any_config() -> impl Strategy<Value = TrainConfig> {
    let targets = prop_oneof![
        Just(Targets::Attn),
        Just(Targets::Mlp),
        Just(Targets::All),
        prop::sample::subsequence(config::target_names().collect::<Vec<_>>(), 1..=7)
            .prop_map(|names| Targets::Names(names.into_iter().map(str::to_owned).collect())),
    ];
    let schedule = prop::sample::select(vec![Schedule::Cosine, Schedule::Linear, Schedule::Constant]);
    let whole = (
        1_u32..=1024,
        1_u32..=100,
        1_u32..=1024,
        1_u32..=4096,
        64_u32..=1 << 20,
        1_u32..=1024,
    );
    let decimal = (1e-9_f64..1e6, 0.0_f64..1.0, 1e-12_f64..=1.0, 0.0_f64..=0.5);
    (whole, decimal, schedule, targets, any::<bool>(), 0..=i64::MAX as u64).prop_map(
        |(whole, (alpha, dropout, learning_rate, warmup), schedule, targets, save, seed)| TrainConfig {
            rank: whole.0,
            alpha,
            dropout,
            learning_rate,
            epochs: whole.1,
            batch: whole.2,
            accumulation: whole.3,
            cutoff: whole.4,
            schedule,
            warmup,
            save,
            gpus: whole.5,
            targets,
            seed,
        },
    )
}

proptest! {
    #[test]
    fn lines_come_back(config in any_config()) {
        let back = TrainConfig::parse_line(&config.line()).unwrap();
        prop_assert_eq!(TrainConfig { seed: config.seed, ..back }, config);
    }

    #[test]
    fn files_come_back(
        configs in prop::collection::vec(any_config(), 1..=2),
        brief in "(\\PC|[\\n\"\\\\\\t\\r]){0,30}",
        reuse in prop::option::of(0_u32..1000),
        advantage in prop::option::of(-10.0_f64..10.0),
        most in prop::option::of(1_u32..1000),
    ) {
        let mut recipe = prior("crafter", 0);
        recipe.train = configs;
        recipe.data.brief = brief;
        if let Some(number) = reuse {
            recipe.data.source = DataSource::Reuse(format!("p{number}"));
        }
        recipe.data.rules.min_advantage = advantage;
        recipe.data.rules.per_episode = most;
        recipe.data.rules.phases = vec![Phase::Plan];
        prop_assert_eq!(read(&write(&recipe)).unwrap(), recipe);
    }

    #[test]
    fn any_text_is_read_or_refused(line in "\\PC{0,60}", fields in prop::collection::vec("[0-9a-zA-Z.+-]{0,6}", 13)) {
        for text in [line, fields.join(":")] {
            let _ = TrainConfig::parse_line(&text);
            let _ = read(&text);
        }
    }
}
