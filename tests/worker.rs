//! Worlds in a child process, with the real binary and with the Python example.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use automem::env::{self, World, WorldError};
use automem::types::{Action, Frame};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_automem");

fn automem(args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).output().unwrap()
}

fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/gymnasium_worker.py");
    path.to_str().unwrap().to_owned()
}

/// Whether Python is here; says so where it is not.
fn python() -> bool {
    let there = Command::new("python3")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !there {
        println!("python3 is not here: the example is not tried");
    }
    there
}

/// The report of `automem env check`, whatever it found.
fn checked(command: &[&str]) -> (Option<i32>, Value) {
    let output = automem(&[&["env", "check", "--json", "--"], command].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let report = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), report)
}

fn all_passed(report: &Value) {
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() >= 10);
    for check in checks {
        assert_eq!(check["outcome"], "passed", "{check}");
    }
}

#[test]
fn crafter_as_a_worker_keeps_to_the_contract() {
    let (code, report) = checked(&[PROGRAM, "worker", "crafter"]);
    all_passed(&report);
    assert_eq!(code, Some(0));
    assert_eq!(report["world"]["name"], "crafter");
}

#[test]
fn the_python_example_keeps_to_the_contract() {
    if !python() {
        return;
    }
    let (code, report) = checked(&["python3", &example(), "--env", "tiny_env:Corridor"]);
    all_passed(&report);
    assert_eq!(code, Some(0));
    assert_eq!(report["world"]["actions"][2], "take");
    let lines = std::fs::read_to_string(example()).unwrap().lines().count();
    assert!(lines <= 120, "the example to copy has {lines} lines");
}

#[test]
fn a_worker_that_fails_is_told_in_words() {
    let output = automem(&["env", "check", "--", "sh", "-c", "echo 'no map' >&2; exit 3"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("FAILED") && text.contains("exit status: 3") && text.contains("no map"),
        "{text}"
    );
    let output = automem(&["env", "check"]);
    assert_eq!(output.status.code(), Some(2), "a command is needed");
}

#[test]
fn a_world_in_a_child_is_the_world() {
    let mut native = env::open("crafter").unwrap();
    let address = format!("worker:'{PROGRAM}' worker crafter");
    let mut worker = env::open(&address).unwrap();
    let mut spec = worker.spec().clone();
    assert_eq!(env::Address::of(&spec).to_string(), address, "a record opens it again");
    spec.command = None;
    assert_eq!(spec, *native.spec());
    assert_eq!(worker.reset(7).unwrap(), native.reset(7).unwrap());
    for action in spec.actions.iter().cycle().take(100) {
        let (theirs, ours) = (worker.step(action).unwrap(), native.step(action).unwrap());
        assert_eq!(theirs, ours, "{action}");
        if ours.terminated {
            break;
        }
    }
}

#[test]
fn lines_that_are_no_requests_do_not_end_a_worker() {
    let mut child = Command::new(PROGRAM)
        .args(["worker", "crafter"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = "hello\n\u{1b}[2J\n{\"do\":\"reset\",\"seed\":1}\n{\"do\":\"close\"}\n";
    input.write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let replies: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(replies.len(), 3);
    assert_eq!(replies[0]["error"]["kind"], "protocol");
    assert_eq!(replies[1]["error"]["kind"], "protocol");
    assert_eq!(replies[2]["frame"]["terminated"], false);
}

#[test]
fn a_world_that_is_not_installed_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("actions"), "").unwrap();
    for world in ["nethack", "minihack"] {
        let output = Command::new(PROGRAM)
            .current_dir(home.path())
            .env("AUTOMEM_NETHACK", home.path().join("nothing"))
            .args(["env", world, "--seed", "1", "--actions", "actions", "--trace", "-"])
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.contains("automem setup nethack") && output.stdout.is_empty(),
            "{error}"
        );
    }
    let output = automem(&["worker", "chess"]);
    assert_eq!(output.status.code(), Some(2));
}

/// An environment that dies at its third step while there is a file `die`.
const FRAGILE: &str = "import os, sys
from tiny_env import Corridor

class Fragile(Corridor):
    def step(self, action):
        if self.steps == 2 and os.path.exists('die'):
            print('the roof comes down', file=sys.stderr, flush=True)
            os._exit(7)
        return super().step(action)
";

fn fragile(folder: &Path) -> PathBuf {
    std::fs::write(folder.join("fragile.py"), FRAGILE).unwrap();
    // A worker's folder is this program's: it is told where to look.
    let start = folder.join("start.sh");
    let text = format!(
        "cd '{}' && exec python3 '{}' --env fragile:Fragile\n",
        folder.display(),
        example()
    );
    std::fs::write(&start, text).unwrap();
    start
}

#[test]
fn a_crash_is_an_error_of_its_step_and_the_actions_lead_back() {
    if !python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let start = fragile(folder.path());
    let mut world = env::open(&format!("worker:sh '{}'", start.display())).unwrap();
    let actions: Vec<Action> = ["east", "west", "wait", "east"].map(Action::from).into();
    let play = |world: &mut dyn World| -> Result<Vec<Frame>, WorldError> {
        let mut frames = vec![world.reset(11)?];
        for action in &actions {
            frames.push(world.step(action)?);
        }
        Ok(frames)
    };
    let whole = play(&mut *world).unwrap();
    std::fs::write(folder.path().join("die"), "").unwrap();
    let error = play(&mut *world).unwrap_err().to_string();
    assert!(
        error.contains("exit status: 7") && error.contains("the roof comes down"),
        "{error}"
    );
    assert!(matches!(world.step(&actions[0]), Err(WorldError::NotReset { .. })));
    std::fs::remove_file(folder.path().join("die")).unwrap();
    assert_eq!(play(&mut *world).unwrap(), whole, "the same frames and digests");
}

#[test]
fn a_worker_is_not_told_the_keys_of_models() {
    let said = Command::new(env!("CARGO_BIN_EXE_automem"))
        .args([
            "env",
            "check",
            "--json",
            "--",
            "sh",
            "-c",
            "echo key=$OPENAI_API_KEY. >&2; exit 3",
        ])
        .env("OPENAI_API_KEY", "sk-secret")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(text.contains("key=.") && !text.contains("sk-secret"), "{text}");
}

#[test]
fn a_scaffold_for_a_world_of_ones_own_is_rehearsed_there() {
    if !python() {
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scaffolds/crafter-v0");
    let mine = room.path().join("mine");
    std::fs::create_dir_all(mine.join("prompts")).unwrap();
    for folder in ["", "prompts"] {
        for entry in std::fs::read_dir(shipped.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::copy(&path, mine.join(folder).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    let manifest = std::fs::read_to_string(shipped.join("scaffold.toml")).unwrap();
    let named = |world: &str| {
        let text = manifest.replace("env = \"crafter\"", &format!("env = \"{world}\""));
        std::fs::write(mine.join("scaffold.toml"), text).unwrap();
    };
    let mine = mine.to_str().unwrap();
    let said = |args: &[&str]| {
        let output = automem(&[&["scaffold", "check", mine], args].concat());
        (
            output.status.code(),
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        )
    };
    named("tiny_env-Corridor");
    let (code, text) = said(&[]);
    assert!(
        code == Some(0) && text.contains("not rehearsed") && text.contains("--env"),
        "{text}"
    );
    let worker = format!("worker:python3 {} --env tiny_env:Corridor", example());
    let (code, text) = said(&["--env", &worker]);
    assert!(code == Some(0) && text.contains("nothing is wrong"), "{text}");
    // Another world than its own, and a slip of the pen.
    let (code, text) = said(&["--env", "crafter"]);
    assert!(code != Some(0) && text.contains("is for tiny_env-Corridor"), "{text}");
    named("crafer");
    let (code, text) = said(&[]);
    assert!(code == Some(1) && text.contains("there is no world `crafer`"), "{text}");
}
