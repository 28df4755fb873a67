//! Who writes revisions, from a run to a revision that passes the check: Anthropic's and OpenAI's wire formats served
//! by a local server that looks at what it is sent, a recording, and agents' command lines; and all that goes wrong.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fake_server;
mod meta_teller;
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use automem::agent::players;
use automem::evolve::{ReviserError, ReviserNews, ReviserOptions, Revision, Task, Tried, open_reviser};
use automem::jobs::Cancel;
use automem::llm::openai::RemoteOptions;
use automem::llm::{ModelOptions, Prices, Secret};
use automem::review::check_result;
use automem::scaffold::digest_of;
use automem::types::{EpisodeNo, StepNo};
use fake_server::{FakeServer, json};
use meta_teller::{KEY, Said, Wire, id, said, teller};
use serde_json::{Value, json};
use support::{plan, play, scaffold};

/// One short run of the scripted player, played once for all tests.
fn run() -> &'static Path {
    static RUN: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, run) = RUN.get_or_init(|| {
        let (folder, out) = support::place();
        let mut plan = plan(&out, players::open("crafter").unwrap());
        plan.seeds = vec![42, 43];
        plan.max_steps = 25;
        play(plan);
        (folder, out)
    });
    run
}

fn task() -> Task {
    Task {
        parent: scaffold(),
        runs: vec![run().to_owned()],
        in_use: Vec::new(),
        tried: Vec::new(),
        continuation: false,
        token_budget: 1_000_000,
    }
}

/// The parent's manifest with files that cannot grow without bound.
fn bounded() -> String {
    let text = scaffold().files()["scaffold.toml"].clone();
    text.replace("version = \"0.1.0\"", "version = \"0.2.0\"\nparent = \"crafter-v0\"")
        .replace(
            "policy = \"append\"",
            "policy = \"append\"\nmax_lines = 60\nprune = \"duplicates\"",
        )
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": content }))
}

fn check() -> (&'static str, Value) {
    ("check", json!({}))
}

fn finish() -> (&'static str, Value) {
    let evidence = json!([{"episode": 0, "step": 12, "note": "the log is read whole"}, {"run": 0, "episode": 1, "step": 3, "note": "again"}]);
    let method = "Files are bounded; duplicates go first.";
    (
        "finish",
        json!({ "title": "Bounded files", "analysis": "Files grow and are read whole.", "method": method, "evidence": evidence }),
    )
}

/// A whole conversation that leads to a revision, with every tool in it.
fn story() -> Vec<Said> {
    vec![
        said(
            "I look at the run first.",
            [
                ("list_runs", json!({})),
                ("list_episodes", json!({})),
                ("metrics", json!({})),
                ("findings", json!({"run": 0})),
            ],
        ),
        said(
            "",
            [
                ("read_steps", json!({"from": 3, "to": 5})),
                (
                    "read_steps",
                    json!({"episode": 1, "from": 0, "to": 24, "detail": "short"}),
                ),
                ("read_prompt", json!({"step": 3, "phase": "LOG"})),
                ("memory_files", json!({"episode": 1, "step": 20})),
                ("read_memory_file", json!({"path": "map_notes.txt", "step": 20})),
                ("search", json!({"text": "tree"})),
                (
                    "sql",
                    json!({"query": "SELECT op, count(*) AS n FROM ops GROUP BY op ORDER BY n DESC"}),
                ),
            ],
        ),
        said(
            "Now I write.",
            [
                ("list_scaffold_files", json!({})),
                ("read_scaffold_file", json!({"path": "scaffold.toml"})),
                write("scaffold.toml", &bounded()),
                write("prompts/spare.md", "not needed"),
                ("delete_file", json!({"path": "prompts/spare.md"})),
                ("diff", json!({})),
                check(),
            ],
        ),
        said("Done.", [finish()]),
    ]
}

fn options(records: &Path) -> ReviserOptions {
    let remote = RemoteOptions {
        key: Some(Secret::new(KEY)),
        retries: Some(1),
        backoff: Some(Duration::from_millis(5)),
        ..RemoteOptions::default()
    };
    ReviserOptions {
        models: ModelOptions {
            remote,
            ..ModelOptions::default()
        },
        max_tokens: 4_000,
        prices: Prices {
            input: Some(10.0),
            cached: Some(1.0),
            output: Some(20.0),
        },
        time_limit: Duration::from_secs(30),
        records: Some(records.to_owned()),
    }
}

struct Outcome {
    result: Result<Revision, ReviserError>,
    news: Vec<ReviserNews>,
    records: tempfile::TempDir,
}

impl Outcome {
    fn revision(self) -> Revision {
        self.result.unwrap()
    }

    fn error(&self) -> String {
        self.result.as_ref().unwrap_err().to_string()
    }

    /// The lines of the kept conversation from one side.
    fn kept(&self, from: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.records.path().join("meta-1.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["from"] == from).collect()
    }

    /// The results that the model was told, one after the other.
    fn told(&self) -> String {
        let results = self.kept("results");
        let all = results.iter().flat_map(|line| line["results"].as_array().unwrap());
        all.map(|result| format!("{}\n", result["text"].as_str().unwrap()))
            .collect()
    }
}

fn revise(spec: &str, task: &Task) -> Outcome {
    let records = tempfile::tempdir().unwrap();
    let mut news = Vec::new();
    let result = open_reviser(spec, &options(records.path()))
        .and_then(|mut reviser| reviser.revise(task, &Cancel::new(), &mut |one| news.push(one)));
    let shown = format!("{result:?} {news:?}");
    assert!(!shown.contains(KEY), "the key shows: {shown}");
    Outcome { result, news, records }
}

/// The same story out of a recording.
fn replay(story: &[Said], task: &Task) -> Outcome {
    let file = tempfile::NamedTempFile::new().unwrap();
    let line = |(number, said): (usize, &Said)| {
        let calls: Vec<Value> = said
            .calls
            .iter()
            .enumerate()
            .map(|(n, (name, arguments))| json!({"id": id(number, n), "name": name, "arguments": arguments}))
            .collect();
        let usage = json!({"prompt": 1000, "cached": 900, "completion": 50});
        format!("{}\n", json!({"text": said.text, "calls": calls, "usage": usage}))
    };
    let lines: String = story.iter().enumerate().map(line).collect();
    std::fs::write(file.path(), lines).unwrap();
    revise(&format!("recorded:{}", file.path().display()), task)
}

fn is_good(revision: &Revision) {
    assert_eq!(revision.title, "Bounded files");
    assert_eq!(revision.files["scaffold.toml"], bounded());
    assert!(revision.files["METHOD.md"].contains("duplicates go first"));
    assert!(!revision.files.contains_key("prompts/spare.md"));
    assert_eq!(check_result(&revision.files).unwrap(), []);
    assert_eq!(revision.evidence.len(), 2);
    let first = &revision.evidence[0];
    assert_eq!(
        (first.episode, first.step, first.note.as_str()),
        (EpisodeNo(0), StepNo(12), "the log is read whole")
    );
    assert_eq!(first.run, run().display().to_string());
    // 4 calls: 100 new, 900 cached, 50 answered each.
    let usage = revision.usage;
    assert_eq!((usage.prompt, usage.cached, usage.completion), (4_000, 3_600, 200));
    assert!(
        (usage.dollars.unwrap() - 4.0 * (0.001 + 0.000_9 + 0.001)).abs() < 1e-9,
        "{usage:?}"
    );
}

fn leads_to_a_revision(wire: Wire) {
    let server = teller(wire, story());
    let outcome = revise(&wire.spec(&server), &task());
    let told = outcome.told();
    for part in [
        "seed 42, 25 steps",
        "\"unproductive_rate\"",
        "## step 4",
        "24:",
        "PROMPT\n",
        "map_notes.txt:",
        "op | n\n",
        "places\n",
        "scaffold.toml is replaced",
        "+ max_lines = 60",
        "Nothing is wrong",
    ] {
        assert!(told.contains(part), "`{part}` is not in\n{told}");
    }
    let called = |wanted: &str| {
        outcome
            .news
            .iter()
            .any(|news| matches!(news, ReviserNews::Called { what, .. } if what.starts_with(wanted)))
    };
    assert!(called("sql query=SELECT") && called("record") && called("finish"));
    assert!(
        outcome
            .news
            .iter()
            .any(|news| matches!(news, ReviserNews::Says { text } if text.contains("I look")))
    );
    assert_eq!(
        outcome
            .news
            .iter()
            .filter(|news| matches!(news, ReviserNews::Used { .. }))
            .count(),
        4
    );

    // What was kept of it, played again, gives the same without the server.
    let kept = format!("recorded:{}", outcome.records.path().join("meta-1.jsonl").display());
    let again = revise(&kept, &task());
    let (first, again) = (outcome.revision(), again.revision());
    is_good(&first);
    assert_eq!(first, again);
}

#[test]
fn anthropics_format_leads_to_a_revision() {
    leads_to_a_revision(Wire::Anthropic);
}

#[test]
fn openais_format_leads_to_a_revision() {
    leads_to_a_revision(Wire::OpenAi);
}

#[test]
fn servers_that_fail_are_told_with_cause_and_next_step() {
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        for (status, wanted) in [
            ("401 Unauthorized", "refuses the key"),
            ("500 Internal Server Error", "given up after 2 tries"),
        ] {
            let server = FakeServer::start(move |seen, _, stream| match seen.path.as_str() {
                "/v1/models" => json(stream, "200 OK", r#"{"data": [{"id": "meta"}]}"#),
                _ => json(
                    stream,
                    status,
                    &json!({"error": {"message": format!("no {KEY}")}}).to_string(),
                ),
            });
            let outcome = revise(&wire.spec(&server), &task());
            assert!(outcome.error().contains(wanted), "{}", outcome.error());
        }
    }
}

#[test]
fn a_model_that_talks_nonsense_is_reminded_twice() {
    let outcome = replay(
        &[
            said("Hello!", []),
            said("How are you?", []),
            said("I like \u{1b}[2J trees.", []),
            said("more", []),
        ],
        &task(),
    );
    assert!(matches!(outcome.result, Err(ReviserError::Nothing { .. })));
    let error = outcome.error();
    assert!(
        error.contains("called no tool") && error.contains("trees") && !error.contains('\u{1b}'),
        "{error}"
    );
    assert_eq!(outcome.kept("user").len(), 1 + 2);
}

#[test]
fn one_that_stops_half_way_is_reminded_once() {
    let half = [
        said("", [write("scaffold.toml", &bounded()), check()]),
        said("That is it.", []),
    ];
    let outcome = replay(&[&half[..], &[said("Really.", [])]].concat(), &task());
    assert!(outcome.error().contains("half-way"), "{}", outcome.error());
    assert_eq!(outcome.kept("user").len(), 1 + 1);
    let outcome = replay(&[&half[..], &[said("", [finish()])]].concat(), &task());
    assert_eq!(outcome.revision().title, "Bounded files");
}

#[test]
fn what_was_tried_is_not_taken_again() {
    let mut task = task();
    let mut files = task.parent.files().clone();
    files.insert("scaffold.toml".into(), bounded().replace("0.2.0", "0.3.0"));
    task.tried.push(Tried {
        title: "Bounds".into(),
        files,
        outcome: "mean progression 0.10 against 0.12; the person wrote: too tight".into(),
    });
    let again = said("", [write("scaffold.toml", &bounded()), finish()]);
    let outcome = replay(&vec![again.clone(); 6], &task);
    assert!(matches!(outcome.result, Err(ReviserError::Nothing { .. })));
    assert!(
        outcome.error().contains("This was tried") && outcome.error().contains("too tight"),
        "{}",
        outcome.error()
    );
    assert_eq!(outcome.kept("model").len(), 4, "sent back a bounded number of times");
    let brief = outcome.kept("user")[0]["text"].as_str().unwrap().to_owned();
    assert!(brief.contains("too tight") && brief.contains("fresh attempt"));

    let other = said(
        "",
        [write("scaffold.toml", &bounded().replace("= 60", "= 120")), finish()],
    );
    let outcome = replay(&[again, other], &task);
    assert!(outcome.told().contains("This was tried"));
    assert!(outcome.revision().files["scaffold.toml"].contains("max_lines = 120"));
}

#[test]
fn a_continuation_starts_from_what_is_continued() {
    let mut task = task();
    let mut files = task.parent.files().clone();
    files.insert("scaffold.toml".into(), bounded());
    task.tried.push(Tried {
        title: "Bounds".into(),
        files,
        outcome: "lost".into(),
    });
    task.continuation = true;
    let outcome = replay(
        &[
            said("", [("read_scaffold_file", json!({"path": "scaffold.toml"}))]),
            said(
                "",
                [write("scaffold.toml", &bounded().replace("= 60", "= 90")), finish()],
            ),
        ],
        &task,
    );
    assert!(outcome.told().contains("max_lines = 60"));
    outcome.revision();
}

#[test]
fn the_budget_is_told_and_kept() {
    let mut task = task();
    task.token_budget = 5_000;
    let look = said("", [("list_runs", json!({}))]);
    let outcome = replay(&vec![look; 10], &task);
    match &outcome.result {
        Err(ReviserError::Budget { used, budget, .. }) => assert!(*used <= *budget && *used >= 3_000, "{used}"),
        other => panic!("{other:?}"),
    }
    assert!(outcome.told().contains("of 5000 tokens"));
}

#[test]
fn files_outside_the_scaffold_are_refused() {
    let huge = "x".repeat(300_000);
    let calls = [
        write("../outside.md", "x"),
        write("/tmp/outside.md", "x"),
        write("prompts/../../outside.md", "x"),
        write(".hidden", "x"),
        write("huge.md", &huge),
        write("escape.md", "\u{1b}[2J"),
        ("delete_file", json!({"path": "scaffold.toml"})),
        ("read_scaffold_file", json!({"path": "/etc/passwd"})),
        ("list_scaffold_files", json!({})),
    ];
    let outcome = replay(
        &[
            said("", calls),
            said("", [write("scaffold.toml", &bounded()), finish()]),
        ],
        &task(),
    );
    let results = outcome.kept("results")[0]["results"].as_array().unwrap().clone();
    let failed: Vec<bool> = results
        .iter()
        .map(|result| result["failed"].as_bool().unwrap())
        .collect();
    assert_eq!(failed, [true, true, true, true, true, true, true, true, false]);
    assert!(!outcome.told().contains("outside.md: "));
    let files = outcome.revision().files;
    assert_eq!(
        digest_of(&files.keys().map(|path| (path.clone(), String::new())).collect()),
        digest_of(
            &scaffold()
                .files()
                .keys()
                .map(|path| (path.clone(), String::new()))
                .collect()
        )
    );
}

#[test]
fn mistakes_in_calls_are_told() {
    let calls = [
        ("fly", json!({})),
        ("read_steps", json!("{\"from\": ")),
        ("read_steps", json!({"from": "soon"})),
        ("read_steps", json!({"from": 9_999})),
        ("read_steps", json!({"run": 3, "from": 0})),
        ("read_memory_file", json!({"path": "nothing.txt"})),
        ("sql", json!({"query": "DROP TABLE steps"})),
        ("finish", json!({"title": "x"})),
        (
            "finish",
            json!({"title": "x", "analysis": "y", "method": "z", "evidence": [{"episode": 0, "step": 9_999, "note": ""}]}),
        ),
    ];
    let outcome = replay(
        &[
            said("", calls),
            said("", [write("scaffold.toml", &bounded()), finish()]),
        ],
        &task(),
    );
    let told = outcome.told();
    for part in [
        "no tool `fly`",
        "no JSON object",
        "must be a whole number",
        "has no step 9999",
        "the only run is 0",
        "there is no file `nothing.txt`",
        "Only reading is allowed",
        "`analysis` is missing",
        "Evidence names step 9999",
    ] {
        assert!(told.contains(part), "`{part}` is not in\n{told}");
    }
    outcome.revision();
}

/// Hands the same files in until it is over.
fn stubborn(path: &str, content: &str) -> Outcome {
    let again = said("", [write(path, content), finish()]);
    replay(&vec![again; 6], &task())
}

fn unusable(path: &str, content: &str) -> String {
    let outcome = stubborn(path, content);
    match &outcome.result {
        Err(ReviserError::Unusable { problems, .. }) => {
            assert!(outcome.told().contains("cannot work"));
            problems.iter().map(|problem| format!("{problem}\n")).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn scaffolds_that_cannot_work_are_sent_back_and_never_taken() {
    assert!(unusable("scaffold.toml", "name = ").contains("scaffold.toml:1"));
    let without = bounded().replace("[ops]\n", "[ops]\nlog = [\"READ\", \"SEARCH\"]\n");
    assert!(unusable("scaffold.toml", &without).contains("base verbs"));
    assert!(unusable("prompts/plan.md", "{% if nothing_there %}x{% endif %}").contains("prompts/plan.md:1"));
    assert!(unusable("prompts/plan.md", "{% if false %}x{% endif %}").contains("empty prompt"));
    let endless =
        "def hook(state, event):\n    for i in range(1000000000):\n        state[\"x\"] = i\n    return state, []\n";
    assert!(unusable("hooks.star", endless).contains("hooks.star"));
    let growing =
        "def hook(state, event):\n    x = \"x\"\n    for i in range(60):\n        x = x + x\n    return state, []\n";
    assert!(unusable("hooks.star", growing).contains("hooks.star"));
}

#[test]
fn nothing_new_and_mere_wording_are_sent_back() {
    let outcome = replay(&vec![said("", [finish()]); 6], &task());
    assert!(outcome.error().contains("Nothing is changed"), "{}", outcome.error());
    let system = format!("{}\nBe careful.\n", scaffold().files()["prompts/system.md"]);
    let outcome = stubborn("prompts/system.md", &system);
    assert!(outcome.error().contains("structural"), "{}", outcome.error());
    // A run uses this file.
    let mut task = task();
    task.in_use = vec!["strategy.txt".into()];
    let renamed = bounded().replace("strategy.txt", "plans.txt");
    let outcome = replay(
        &[
            said("", [write("scaffold.toml", &renamed), finish()]),
            said("", [write("scaffold.toml", &bounded()), finish()]),
        ],
        &task,
    );
    assert!(outcome.told().contains("strategy.txt: they must stay") || outcome.told().contains("strategy.txt"));
    outcome.revision();
}

#[test]
fn a_recording_that_runs_out_and_a_cancelled_work_end_clearly() {
    let outcome = replay(&[said("", [("list_runs", json!({}))])], &task());
    assert!(
        outcome.error().contains("1 answers, and all were given"),
        "{}",
        outcome.error()
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "{\"text\": \"late\", \"delay_ms\": 600000}\n").unwrap();
    let records = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    let mut reviser = open_reviser(&format!("recorded:{}", file.path().display()), &options(records.path())).unwrap();
    let other = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        other.cancel();
    });
    let result = reviser.revise(&task(), &cancel, &mut |_| {});
    assert!(matches!(result, Err(ReviserError::Cancelled)), "{result:?}");
}

#[cfg(unix)]
mod command {
    use super::*;

    const REVISION: &str = "printf 'Bounded files\\n\\n## Analysis\\nSee episode 0, step 12: it grows.\\n\\n## Method\\nBounded.\\n' > output/REVISION.md";
    const EDIT: &str = "sed -i.bak 's/policy = \"append\"/policy = \"append\"\\nmax_lines = 60/' output/scaffold/scaffold.toml && rm output/scaffold/*.bak";

    fn of(script: &str) -> Outcome {
        revise(&format!("command:{script}"), &task())
    }

    fn folder(outcome: &Outcome) -> PathBuf {
        outcome.records.path().join("command-1")
    }

    #[test]
    fn a_folder_is_laid_out_and_read_back() {
        let script = format!(
            "grep -c 'mean progression' ; test -f traces/run-0/steps.jsonl && {EDIT} && {REVISION} && echo done"
        );
        let outcome = of(&script);
        let at = folder(&outcome);
        let lines = std::fs::read_to_string(at.join("traces/run-0/steps.jsonl")).unwrap();
        assert_eq!(lines.lines().count(), 50);
        let step: Value = serde_json::from_str(lines.lines().nth(30).unwrap()).unwrap();
        assert_eq!((&step["episode"], &step["step"]), (&json!(1), &json!(5)));
        assert!(step["turns"][0]["response"].is_string() && step["turns"][0].get("prompt").is_none());
        for path in [
            "run.json",
            "metrics.json",
            "findings.json",
            "memory/episode-0-step-24/map_notes.txt",
            "prompts/episode-1-step-24.md",
        ] {
            assert!(at.join("traces/run-0").join(path).is_file(), "{path}");
        }
        assert!(at.join("BRIEF.md").is_file() && at.join("scaffold/scaffold.toml").is_file());
        let says = |wanted: &str| {
            outcome
                .news
                .iter()
                .any(|news| matches!(news, ReviserNews::Says { text } if text.contains(wanted)))
        };
        assert!(says("done"));
        let revision = outcome.revision();
        assert!(revision.files["scaffold.toml"].contains("max_lines = 60"));
        assert_eq!(
            (revision.title.as_str(), revision.files["METHOD.md"].as_str()),
            ("Bounded files", "Bounded.\n")
        );
        assert_eq!((revision.evidence[0].step, revision.evidence.len()), (StepNo(12), 1));
        assert_eq!(check_result(&revision.files).unwrap(), []);
    }

    #[test]
    fn problems_are_told_once_and_may_be_mended() {
        let script = format!(
            "if [ -f BRIEF-2.md ]; then grep -q 'no plain text\\|is a link' BRIEF-2.md && rm output/scaffold/out.md && {EDIT} && {REVISION}; \
             else ln -s /etc/passwd output/scaffold/out.md; fi"
        );
        let outcome = of(&script);
        assert!(
            std::fs::read_to_string(folder(&outcome).join("BRIEF-2.md"))
                .unwrap()
                .contains("REVISION.md is missing")
        );
        assert_eq!(outcome.revision().title, "Bounded files");
    }

    #[test]
    fn what_goes_wrong_is_told() {
        let error = |script: &str| of(script).error();
        assert!(error("no-such-agent-cli -p").contains("was not found"));
        let text = error("echo half; echo 'no credit' >&2; exit 3");
        assert!(text.contains("exit code 3") && text.contains("no credit"), "{text}");
        let text = error(REVISION);
        assert!(text.contains("Nothing is changed"), "{text}");
        let text = error(&format!(
            "{REVISION}; {EDIT}; touch output/scaffold/.hidden; head -c 300000 /dev/zero > output/scaffold/big.md"
        ));
        assert!(text.contains(".hidden") && text.contains("big.md"), "{text}");
        let broken = of(&format!("{REVISION}; echo 'name = ' > output/scaffold/scaffold.toml"));
        assert!(
            matches!(broken.result, Err(ReviserError::Unusable { .. })),
            "{:?}",
            broken.result
        );
    }

    #[test]
    fn one_that_takes_too_long_is_ended() {
        let records = tempfile::tempdir().unwrap();
        let mut options = options(records.path());
        options.time_limit = Duration::from_millis(300);
        let mut reviser = open_reviser("command:echo thinking; sleep 600", &options).unwrap();
        let error = reviser
            .revise(&task(), &Cancel::new(), &mut |_| {})
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("took longer") && error.contains("meta.command_s") && error.contains("thinking"),
            "{error}"
        );
        options.records = None;
        let cancel = Cancel::new();
        cancel.cancel();
        let mut reviser = open_reviser("command:sleep 600", &options).unwrap();
        assert!(matches!(
            reviser.revise(&task(), &cancel, &mut |_| {}),
            Err(ReviserError::Cancelled)
        ));
    }
}

/// The parent's files stay as they are, whatever is written.
#[test]
fn the_parent_is_never_touched() {
    let before: BTreeMap<String, String> = scaffold().files().clone();
    let task = task();
    let _ = replay(&story(), &task).revision();
    assert_eq!(task.parent.files(), &before);
}
