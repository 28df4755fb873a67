//! What `scaffold check` finds, and that what we ship passes it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;

use automem::config::Workspace;
use automem::scaffold::{Scaffold, StepVars, SystemVars, Template, check};

type Files = BTreeMap<String, String>;

fn v0() -> Files {
    let nowhere = Workspace::at("/nonexistent");
    Scaffold::named("crafter-v0", &nowhere).unwrap().files().clone()
}

fn edited(path: &str, from: &str, to: &str) -> Files {
    let mut files = v0();
    let text = files.get_mut(path).unwrap();
    assert!(text.contains(from), "{path} lacks {from}");
    *text = text.replacen(from, to, 1);
    files
}

/// The only problem of these files, as `file:line:column message (hint)`.
fn only(files: &Files) -> String {
    let problems = check(files);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    problems[0].to_string()
}

#[test]
fn what_we_ship_passes() {
    let names = Scaffold::shipped();
    assert_eq!(
        names,
        [
            "crafter-tiny",
            "crafter-v0",
            "crafter-v1",
            "minihack-v0",
            "minihack-v1",
            "nethack-v0",
            "nethack-v1",
        ]
    );
    // Both play the same game by the same script.
    let script = |name| Scaffold::named(name, &Workspace::at("/nonexistent")).unwrap().files()["hooks.star"].clone();
    assert_eq!(script("minihack-v1"), script("nethack-v1"));
    for name in names {
        let scaffold = Scaffold::named(&name, &Workspace::at("/nonexistent")).unwrap();
        assert_eq!(scaffold.problems(), vec![], "{name}");
        assert_eq!(scaffold.manifest().name, name);
        assert!(scaffold.files().contains_key("METHOD.md"));
    }
}

#[test]
fn what_is_shipped_is_what_lies_in_the_folder() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scaffolds/crafter-v0");
    assert_eq!(Scaffold::load(&folder).unwrap().files(), &v0());
}

#[test]
fn every_problem_says_where_and_what_to_do() {
    let manifest = "scaffold.toml";
    let table: &[(Files, &str)] = &[
        (
            edited(manifest, "log_turns", "log_turn"),
            "scaffold.toml:7:1: unknown key `log_turn` in [budgets] (did you mean `log_turns`?)",
        ),
        (
            edited(manifest, "env = \"crafter\"", "env = \"crafter"),
            "scaffold.toml:3:",
        ),
        (
            edited(manifest, "api = 1", "api = 9"),
            "scaffold.toml:4:7: this scaffold is written for version 9",
        ),
        (
            edited(manifest, "log_turns = 3", "log_turns = \"3\""),
            "scaffold.toml:7:13: invalid type",
        ),
        (
            edited(manifest, "plan_turns = 4", "plan_turns = 0"),
            "scaffold.toml:8:14: 0 is out of range (1 to 100)",
        ),
        (
            edited(manifest, "order = \"written\"", "order = \"writen\""),
            "unknown value `writen` (did you mean `written`?)",
        ),
        (
            edited(
                manifest,
                "order = \"written\"",
                "log = [\"READ\", \"WRITE\", \"APEND\", \"SEARCH\", \"CREATE\", \"APPEND\"]",
            ),
            "scaffold.toml:20:25: unknown operation `APEND` (did you mean `APPEND`?)",
        ),
        (
            edited(manifest, "order = \"written\"", "log = [\"READ\", \"WRITE\"]"),
            "LOG lacks SEARCH, APPEND, CREATE",
        ),
        (
            edited(manifest, "policy = \"append\"", "policy = \"upsert\""),
            "policy `upsert` needs a `key`",
        ),
        (
            edited(manifest, "policy = \"append\"", "policy = \"append\"\nkey = \"(\""),
            "is not a pattern",
        ),
        (
            edited(manifest, "policy = \"append\"", "retention = \"session\""),
            "retention `session` is not carried out by this version",
        ),
        (
            edited(manifest, "actions_log.txt", "../x"),
            "`../x` cannot be a memory file",
        ),
        (
            edited(manifest, "[ops]", "[prompt]\ninline = [\"map_note.txt\"]\n\n[ops]"),
            "(did you mean `map_notes.txt`?)",
        ),
        (
            edited(manifest, "name = \"crafter-v0\"\n", ""),
            "scaffold.toml: the key `name` is missing",
        ),
        (
            edited("prompts/log.md", "{{ step }}", "{{ stepp }}"),
            "prompts/log.md:2:10: unknown variable `stepp` (did you mean `step`?)",
        ),
        (
            edited(
                "prompts/log.md",
                "{% if unchanged > 0 %}",
                "{% if unchanged > 0 %}{% if false %}{{ zzz }}{% endif %}",
            ),
            "unknown variable `zzz`",
        ),
        (
            edited("prompts/plan.md", "{{ file.path }}", "{{ file.pth }}"),
            "prompts/plan.md:17:6",
        ),
        (edited("prompts/plan.md", "{% endfor %}", ""), "prompts/plan.md:"),
        (
            edited("prompts/plan.md", "{{ step }}", "{{ step | nosuch }}"),
            "only minijinja's own filters",
        ),
        (
            edited("prompts/plan.md", "{{ step }}", "{% include \"gone.md\" %}"),
            "prompts/plan.md:2:",
        ),
    ];
    for (files, expected) in table {
        let found = only(files);
        assert!(found.contains(expected), "expected {expected:?}, found {found:?}");
    }
}

#[test]
fn whole_files_can_be_wrong() {
    let mut files = v0();
    files.remove("prompts/plan.md");
    assert!(only(&files).contains("prompts/plan.md: the template is missing"));

    let mut files = v0();
    files.insert(
        "prompts/plan.md".into(),
        "{% if previous_action == 'never' %}x{% endif %}".into(),
    );
    assert!(only(&files).contains("gives an empty prompt"));

    let mut files = v0();
    files.insert(
        "hooks.star".into(),
        "def hook(state, event):\n    return state, [notes(1)]\n".into(),
    );
    assert!(
        only(&files).starts_with("hooks.star:2:20: Use of undefined variable `notes`"),
        "{}",
        only(&files)
    );

    assert!(
        check(&Files::new())
            .iter()
            .any(|problem| problem.message == "the manifest is missing")
    );
}

#[test]
fn several_problems_are_all_reported() {
    let mut files = edited("prompts/log.md", "{{ step }}", "{{ stepp }} {{ stepp }}");
    files.get_mut("scaffold.toml").unwrap().push_str("\n[nothing]\n");
    assert_eq!(check(&files).len(), 3);
    assert!(
        Scaffold::from_files(files)
            .unwrap_err()
            .to_string()
            .contains("and 2 more")
    );
}

#[test]
fn the_tiny_scaffold_stays_small_and_mostly_constant() {
    let scaffold = Scaffold::named("crafter-tiny", &Workspace::at("/nonexistent")).unwrap();
    let actions = [
        "Noop",
        "Move West",
        "Move East",
        "Move North",
        "Move South",
        "Do",
        "Sleep",
        "Place Stone",
        "Place Table",
        "Place Furnace",
        "Place Plant",
        "Make Wood Pickaxe",
        "Make Stone Pickaxe",
        "Make Iron Pickaxe",
        "Make Wood Sword",
        "Make Stone Sword",
        "Make Iron Sword",
    ];
    let system = scaffold
        .render(
            Template::System,
            &SystemVars {
                actions: actions.map(str::to_owned).to_vec(),
                fallback: "Noop".into(),
                ..SystemVars::default()
            },
        )
        .unwrap();
    let long = |n: usize| {
        let seen = [
            "- grass 1 step to your west",
            "- water 12 steps to your north-east",
            "- tree 3 steps to your south",
        ];
        let lines: Vec<&str> = seen.iter().copied().cycle().take(n).collect();
        format!("You see:\n{}\n\nYou face tree at your front.", lines.join("\n"))
    };
    let short = "Your status:\n- health: 9/9\n- food: 9/9\n- drink: 9/9\n- energy: 9/9\n\nYour inventory:\n- sapling: 1\n- wood: 5\n- stone: 3\n- wood_pickaxe: 1";
    let render = |n: usize, note: usize| {
        let vars = StepVars {
            step: 123,
            previous_action: "Make Wood Pickaxe".into(),
            observation_long: long(n),
            observation_short: short.into(),
            unchanged: 2,
            inlined: vec![automem::scaffold::Inlined {
                path: "notes.txt".into(),
                text: "a".repeat(note),
                cut: true,
            }],
            ..StepVars::default()
        };
        [Template::Log, Template::Plan].map(|template| scaffold.render(template, &vars).unwrap())
    };
    let tokens = |text: &str| text.len() as f64 / 3.5;
    // The most that can come: everything in sight, a full note, a second turn with its results.
    let most = render(20, 140)
        .map(|text| tokens(&system) + tokens(&text))
        .into_iter()
        .fold(0.0, f64::max);
    let second_turn = 48.0 + 160.0 / 3.5 + 20.0;
    assert!(most + second_turn < 600.0, "{most} + {second_turn}");
    // What usually comes: the rules, which stay in the cache, are at least half.
    for text in render(8, 60) {
        assert!(tokens(&system) > tokens(&text), "{} {}", tokens(&system), tokens(&text));
    }
}

/// The manifest of crafter-v0 with more at its end.
fn more(text: &str) -> Files {
    let mut files = v0();
    files.get_mut("scaffold.toml").unwrap().push_str(text);
    files
}

#[test]
fn the_parts_for_hooks_are_checked_too() {
    let script = |mut files: Files| {
        files.insert("hooks.star".into(), "def hook(state, event):\n    return None\n".into());
        files
    };
    for (files, told) in [
        (
            more("[vars]\nstep = 1\n"),
            "`step` cannot be a variable of the scaffold's own",
        ),
        (
            more("[hooks]\ntick = 5\n"),
            "unknown key `tick` in [hooks] (did you mean `ticks`?)",
        ),
        (
            more("[ops.custom.MARK]\nargs = [\"x\"]\n"),
            "nothing carries out the operation MARK",
        ),
        (
            script(more("[ops.custom.mark]\nargs = [\"x\"]\n")),
            "`mark` cannot be the name of an operation",
        ),
        (
            script(more("[ops.custom.READ]\nargs = [\"x\"]\n")),
            "READ is there already",
        ),
        (
            script(more("[ops.custom.MARK]\nargs = [\"x\"]\npatterns = [\"(\"]\n")),
            "`(` is not a pattern",
        ),
        (
            script(more("[ops.custom.MARK]\nargs = [\"x\"]\nafter = \"APEND\"\n")),
            "did you mean `APPEND`?",
        ),
        (
            script(more("[ops.custom.MARK]\narg = [\"x\"]\n")),
            "unknown key `arg` in [ops.custom.\"MARK\"]",
        ),
        (
            more("[[prompt.when]]\nphase = \"PLAN\"\nmatches = \"x\"\ntemplate = \"plan_x.md\"\n"),
            "there is no template `plan_x.md`",
        ),
        (
            more("[[prompt.when]]\nphase = \"PLAM\"\nmatches = \"x\"\ntemplate = \"plan.md\"\n"),
            "unknown value `PLAM`",
        ),
        (more("[variants.a]\ntask = \"(\"\n"), "`(` is not a pattern"),
        (
            more("[variants.a]\ntask = \"a\"\ninitial = { \"nothing.txt\" = \"\" }\n"),
            "[files] does not plan `nothing.txt`",
        ),
        (more("[actions]\nrepairs = {}\n"), "unknown key `repairs` in [actions]"),
        (
            more("[results]\nheaders = \"\"\n"),
            "unknown key `headers` in [results]",
        ),
    ] {
        let problem = only(&files);
        assert!(problem.contains(told), "{told}: {problem}");
        assert!(problem.starts_with("scaffold.toml"), "{problem}");
    }
}

#[test]
fn a_variant_is_worked_in_for_its_task_only() {
    let files =
        more("[variants.a]\ntask = \"^maze\"\nfallback = \"Do\"\ninitial = { \"strategy.txt\" = \"left hand\" }\n");
    let scaffold = Scaffold::from_files(files).unwrap();
    let initial = |scaffold: &Scaffold| scaffold.initial_memory()["strategy.txt"].to_string();
    let maze = scaffold.for_task("maze-3");
    assert_eq!(
        (initial(&maze).as_str(), maze.manifest().actions.fallback.as_deref()),
        ("left hand", Some("Do"))
    );
    assert_eq!(maze.digest(), scaffold.digest());
    assert_eq!(initial(&scaffold.for_task("cave")), "");
}
