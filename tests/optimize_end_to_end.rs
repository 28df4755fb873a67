//! Loop 1 without a network: crafter-v0, the scripted player and the reviser of rules, through the real program.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use automem::config::Workspace;
use automem::review::{Desk, State};
use automem::store::Reader;
use common::{automem, run_fails, run_json, run_ok};
use serde_json::Value;

/// Seeds and steps of the whole loop: few, so that it is fast.
const SEEDS: &str = "42..44";
const STEPS: &str = "300";

fn workspace(home: &Path) -> Workspace {
    Workspace::at(home.join("workspace"))
}

/// `automem optimize` at work, its JSON lines in a file.
struct Optimizing {
    child: Child,
    told: PathBuf,
}

impl Optimizing {
    fn spawn(home: &Path, args: &[&str]) -> Self {
        let told = home.join(format!("told-{}.jsonl", std::fs::read_dir(home).unwrap().count()));
        let out = std::fs::File::create(&told).unwrap();
        let errors = std::fs::File::create(told.with_extension("err")).unwrap();
        let child = automem(home)
            .arg("optimize")
            .args(args)
            .arg("--json")
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors)
            .spawn()
            .unwrap();
        Self { child, told }
    }

    fn begin(home: &Path, seeds: &str, steps: &str, more: &[&str]) -> Self {
        let mut args = vec![
            "--env",
            "crafter",
            "--scaffold",
            "crafter-v0",
            "--meta",
            "rules",
            "--workers",
            "2",
            "--seeds",
            seeds,
            "--max-steps",
            steps,
        ];
        args.extend(more);
        Self::spawn(home, &args)
    }

    /// What was told so far.
    fn news(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.told).unwrap();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Waits until something is told.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            if let Some(found) = self.news().into_iter().find(&is_it) {
                return found;
            }
            let over = self.child.try_wait().unwrap();
            assert!(
                over.is_none() && begin.elapsed() < Duration::from_secs(180),
                "{over:?} {}\n{}",
                std::fs::read_to_string(&self.told).unwrap(),
                std::fs::read_to_string(self.told.with_extension("err")).unwrap()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn until_news(&mut self, word: &str) -> Value {
        self.until(|news| news["news"] == word)
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end; gives what was told and the exit code.
    fn end(mut self) -> (Vec<Value>, Option<i32>) {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begin.elapsed() < Duration::from_secs(180), "{:?}", self.news().last());
            std::thread::sleep(Duration::from_millis(20));
        };
        (self.news(), status.code())
    }
}

impl Drop for Optimizing {
    fn drop(&mut self) {
        // One that is over already cannot be killed: that is well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn kinds(news: &[Value]) -> Vec<&str> {
    news.iter().filter_map(|news| news["news"].as_str()).collect()
}

/// Findings lead to a proposal; a person decides part by part; the gate is played; what is better is promoted.
#[test]
fn from_findings_to_promotion() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let mut optimizing = Optimizing::begin(home, SEEDS, STEPS, &["--iterations", "1"]);
    let waiting = optimizing.until_news("waiting");
    assert_eq!(waiting["proposal"], "p1");
    let list = run_json(home, &["proposals", "list", "--json"]);
    assert_eq!(list["proposals"][0]["state"], "pending");
    let shown = run_json(home, &["proposals", "show", "p1", "--json"]);
    assert_eq!(shown["author"], "rules");
    assert!(!shown["evidence"].as_array().unwrap().is_empty());
    // The steps it rests on are there.
    let step = &shown["evidence"][0];
    let (episode, at) = (step["episode"].to_string(), step["step"].to_string());
    run_ok(
        home,
        &[
            "show",
            "--episode",
            &episode,
            "--step",
            &at,
            step["run"].as_str().unwrap(),
        ],
    );
    let parts = shown["parts"].as_array().unwrap();
    assert!(parts.len() > 2);
    for part in parts {
        let (id, digest) = (part["id"].as_str().unwrap(), part["digest"].as_str().unwrap());
        let base = ["proposals", "decide", "p1", "--part", id, "--digest", digest];
        if id.starts_with("METHOD.md") {
            let reject = ["--reject", "unneeded: the title says it"];
            run_ok(home, &[&base[..], &reject[..]].concat());
        } else {
            run_ok(home, &[&base[..], &["--accept"][..]].concat());
        }
    }
    let gated = optimizing.until_news("gated");
    let report = &gated["report"];
    assert_eq!(report["pairs"].as_array().unwrap().len(), 3);
    assert_eq!(report["outcome"], "better", "{report}");
    let (news, code) = optimizing.end();
    assert_eq!(code, Some(0));
    assert_eq!(news.last().unwrap()["promoted"][0], "p1");

    // Fewer than half the redundant writes a step, and no less far.
    let (old, new) = (
        report["parent_run"].as_str().unwrap(),
        report["revision_run"].as_str().unwrap(),
    );
    let metrics = run_json(home, &["metrics", old, new, "--json"]);
    let of = |n: usize, key: &str| metrics["runs"][n]["metrics"][key].as_f64().unwrap();
    let redundant = |n| of(n, "redundant_writes_per_step");
    println!("redundant writes a step {:.3} -> {:.3}", redundant(0), redundant(1));
    println!("progression {:.3} -> {:.3}", of(0, "progression"), of(1, "progression"));
    assert!(
        redundant(1) * 2.0 < redundant(0),
        "{} against {}",
        redundant(1),
        redundant(0)
    );
    assert!(of(1, "progression") >= of(0, "progression"));

    // It is what was decided: the head is the checked result, METHOD.md is the parent's.
    let shown = run_json(home, &["proposals", "show", "p1", "--json"]);
    assert_eq!(
        (&shown["state"], &shown["extent"]),
        (&"promoted".into(), &"part".into())
    );
    let line = run_json(home, &["scaffold", "show", "crafter-v0-auto", "--json"]);
    assert!(line.to_string().contains("only what is new"));
    let method = std::fs::read_to_string(home.join("workspace/scaffolds/crafter-v0-auto/METHOD.md")).unwrap();
    assert!(method.starts_with("# crafter-v0\n"));
    let ledger = run_json(home, &["optimize", "ledger", "--json"]);
    let row = &ledger["rows"][0];
    assert_eq!(ledger["rows"].as_array().unwrap().len(), 1);
    assert_eq!((&row["proposal"], &row["outcome"]), (&"p1".into(), &"better".into()));
    assert_eq!(row["parent_mean"], report["parent_mean"]);
    assert!(row["revision_tokens"].as_u64().unwrap() > 0 && row["revision_seconds"].as_f64().unwrap() > 0.0);
    let list = run_json(home, &["optimize", "list", "--json"]);
    assert_eq!(list["optimizations"][0]["over"], true);

    // The same evaluation is not played twice; another one is.
    let again = Optimizing::begin(
        home,
        SEEDS,
        STEPS,
        &["--iterations", "1", "--line", "other", "--policy", "reject"],
    );
    let (news, code) = again.end();
    assert_eq!(code, Some(0));
    let parent = news.iter().find(|news| news["news"] == "parent").unwrap();
    assert_eq!(parent["reused"], *old);
    assert!(!kinds(&news).contains(&"gated"), "{:?}", kinds(&news));
    let settled = news.iter().find(|news| news["news"] == "settled").unwrap();
    assert_eq!(settled["ending"], "refused");
    // Three attempts, each continued once, none twice the same.
    let titles: Vec<&Value> = news
        .iter()
        .filter(|news| news["news"] == "proposed")
        .map(|news| &news["title"])
        .collect();
    assert!(titles.len() > 1 && titles.len() <= 6, "{titles:?}");
    assert!(
        titles.iter().enumerate().all(|(n, title)| !titles[..n].contains(title)),
        "{titles:?}"
    );
    let log = run_json(home, &["proposals", "log", "p2", "--json"]);
    assert!(
        log["log"]
            .as_array()
            .unwrap()
            .iter()
            .any(|entry| entry["policy"] == "reject")
    );
    let mut other = Optimizing::begin(home, SEEDS, "20", &["--line", "third"]);
    let parent = other.until_news("parent");
    assert_eq!(parent["reused"], Value::Null);
    other.kill();
}

/// Killed during the gate and while it waits: nothing is applied, nothing is lost, and it goes on.
#[test]
fn killed_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let mut optimizing = Optimizing::begin(home, "42,43", "200", &["--iterations", "1"]);
    optimizing.until_news("waiting");
    optimizing.kill();
    let list = run_json(home, &["optimize", "list", "--json"]);
    let name = list["optimizations"][0]["name"].as_str().unwrap().to_owned();
    assert_eq!(name, "crafter-v0-1");
    assert_eq!(
        (&list["optimizations"][0]["over"], &list["optimizations"][0]["at_work"]),
        (&false.into(), &false.into())
    );
    assert_eq!(
        run_json(home, &["proposals", "list", "--json"])["proposals"][0]["state"],
        "pending"
    );
    assert!(!home.join("workspace/scaffolds").exists());

    // It is decided while nothing runs.
    run_ok(home, &["proposals", "decide", "p1", "--all", "--accept"]);
    let mut optimizing = Optimizing::spawn(home, &["--resume"]);
    optimizing.until(|news| news["news"] == "gate" && news["side"] == "revision");
    let file = loop {
        let shown = run_json(home, &["proposals", "list", "--json"]);
        if shown["proposals"][0]["state"] == "gating" {
            let runs = std::fs::read_dir(home.join("workspace/runs")).unwrap();
            let mut names = runs.map(|entry| entry.unwrap().path());
            if let Some(path) = names
                .find(|path| path.to_string_lossy().contains("-p1-") && path.extension().is_some_and(|e| e == "db"))
            {
                let steps = Reader::open(&path).and_then(|reader| reader.episodes());
                if steps.is_ok_and(|all| all.iter().map(|episode| episode.steps).sum::<u32>() > 10) {
                    break path;
                }
            }
        }
        assert!(
            optimizing.child.try_wait().unwrap().is_none(),
            "it was over before it was killed"
        );
        std::thread::sleep(Duration::from_millis(5));
    };
    optimizing.kill();
    // Where it is: the gate of p1, which nobody plays.
    let finished = Reader::open(&file).unwrap().is_finished();
    if !finished {
        assert_eq!(
            run_json(home, &["proposals", "list", "--json"])["proposals"][0]["state"],
            "gating"
        );
    }
    assert!(!home.join("workspace/scaffolds/crafter-v0-auto").exists());
    let mut optimizing = Optimizing::spawn(home, &["--resume", &name]);
    if !finished {
        let going_on = optimizing.until(|news| news["resumed"] == true);
        assert_eq!(going_on["run"], file.to_str().unwrap());
    }
    // The result is that of one which was left alone. What follows is the next attempt, which nobody decides on.
    let report = optimizing.until_news("gated")["report"].clone();
    optimizing.until_news("settled");
    optimizing.kill();
    let alone = tempfile::tempdir().unwrap();
    let policy = ["--iterations", "1", "--policy", "accept"];
    let mut left_alone = Optimizing::begin(alone.path(), "42,43", "200", &policy);
    let whole = left_alone.until_news("gated")["report"].clone();
    left_alone.kill();
    for key in [
        "parent_mean",
        "revision_mean",
        "difference",
        "interval",
        "sign_p",
        "outcome",
        "wins",
    ] {
        assert_eq!(report[key], whole[key], "{key}");
    }
    let ledger = run_json(home, &["optimize", "ledger", "--json"]);
    assert_eq!(ledger["rows"][0]["proposal"], "p1");
    let text = run_fails(home, &["optimize", "--resume", "crafter-v0-9"], 1);
    assert!(text.contains("crafter-v0-1"), "{text}");
}

/// The head changes while a proposal waits: it is stale, the new head is evaluated, and another revision is proposed.
#[test]
fn a_parent_that_changes_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    run_ok(home, &["scaffold", "new", "mine", "--from", "crafter-v0"]);
    let args = [
        "--env",
        "crafter",
        "--scaffold",
        "mine",
        "--seeds",
        "42",
        "--max-steps",
        "40",
    ];
    let mut optimizing = Optimizing::spawn(home, &args);
    optimizing.until_news("waiting");
    let busy = run_fails(home, &["optimize", "--resume"], 1);
    assert!(busy.contains("another automem process"), "{busy}");
    let prompt = home.join("workspace/scaffolds/mine/prompts/plan.md");
    let text = std::fs::read_to_string(&prompt).unwrap();
    std::fs::write(&prompt, format!("{text}Think of the night.\n")).unwrap();
    let settled = optimizing.until_news("settled");
    assert_eq!(settled["ending"], "stale");
    let second = optimizing.until(|news| news["news"] == "waiting" && news["proposal"] == "p2");
    assert!(second["parts"].as_u64().unwrap() > 0);
    let desk = Desk::open(&workspace(home)).unwrap();
    let stands = |id: &str| desk.dossier(&id.into()).unwrap().standing.state;
    assert_eq!((stands("p1"), stands("p2")), (State::Stale, State::Pending));

    // Ctrl-C ends it and says how to go on.
    let pid = optimizing.child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let errors = optimizing.told.with_extension("err");
    let (_, code) = optimizing.end();
    assert_eq!(code, Some(130));
    let text = std::fs::read_to_string(errors).unwrap();
    assert!(text.contains("automem optimize --resume mine-1"), "{text}");
    assert_eq!(stands("p2"), State::Pending);
}

#[test]
fn what_cannot_be_asked_for_is_refused_before_anything_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let base = ["optimize", "--env", "crafter", "--scaffold", "crafter-v0"];
    let told = |more: &[&str], code| run_fails(home, &[&base[..], more].concat(), code);
    let text = told(&["--meta", "oracle"], 1);
    assert!(text.contains("rules") && text.contains("oracle"), "{text}");
    let text = told(&["--line", "crafter-v1"], 2);
    assert!(text.contains("crafter-v1 already") && text.contains("--line"), "{text}");
    assert!(told(&["--line", "../x"], 2).contains("no name"));
    assert!(told(&["--line", "crafter-v0"], 2).contains("stays what it is"));
    assert!(told(&["--iterations", "0"], 2).contains("--iterations"));
    told(&["--seeds", ""], 2);
    told(&["--policy", "maybe"], 2);
    let text = run_fails(home, &["optimize", "--env", "nethack", "--scaffold", "crafter-v0"], 2);
    assert!(text.contains("is for crafter"), "{text}");
    let text = run_fails(home, &["optimize", "--scaffold", "nosuch"], 1);
    assert!(text.contains("nosuch"), "{text}");
    let text = run_fails(home, &["optimize", "--resume"], 1);
    assert!(text.contains("no optimization is unfinished"), "{text}");
    assert_eq!(
        run_json(home, &["optimize", "list", "--json"])["optimizations"],
        serde_json::json!([])
    );
    // A workspace that cannot be made.
    std::fs::write(home.join("file"), "in the way").unwrap();
    let output = automem(home)
        .args(base)
        .env("AUTOMEM_HOME", home.join("file/workspace"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("file/workspace"), "{text}");
}
