#[cfg(unix)]
mod bad;

use std::io::{BufReader, PipeReader};
use std::time::Duration;

use super::client::WorkerWorld;
use super::connection::{Connection, Limits};
use super::*;
use crate::env::crafter::Crafter;
use crate::env::{World, WorldError};
use crate::types::{Action, Digest, Frame, View};

/// Limits in which a silent worker is soon found out.
fn brisk() -> Limits {
    Limits {
        hello: Duration::from_secs(5),
        reset: Duration::from_secs(5),
        step: Duration::from_millis(600),
        close: Duration::from_secs(2),
        line_bytes: 100_000,
    }
}

/// Pipes to a world that is served by a thread.
fn served(mut world: impl World + 'static) -> Connection {
    let (to_worker, from_us) = pipes();
    let (to_us, from_worker) = pipes();
    std::thread::spawn(move || serve(&mut world, BufReader::new(to_worker), from_worker));
    Connection::over(from_us, to_us, Limits::default().line_bytes).unwrap()
}

fn pipes() -> (PipeReader, std::io::PipeWriter) {
    std::io::pipe().unwrap()
}

fn crafter() -> WorkerWorld {
    WorkerWorld::over("crafter", Box::new(|| Ok(served(Crafter::new()))), Limits::default()).unwrap()
}

#[test]
fn a_served_world_is_the_world() {
    let (mut native, mut worker) = (Crafter::new(), crafter());
    assert_eq!(worker.spec(), native.spec());
    let actions = native.spec().actions.clone();
    assert!(matches!(worker.step(&actions[0]), Err(WorldError::NotReset { .. })));
    for seed in [1, u64::MAX] {
        assert_eq!(worker.reset(seed).unwrap(), native.reset(seed).unwrap());
        for n in 0..400 {
            if n % 50 == 0 {
                let sung = worker.step(&Action::from("Sing"));
                assert!(matches!(sung, Err(WorldError::UnknownAction { .. })), "{n}");
            }
            let action = &actions[n * 7 % actions.len()];
            let frame = worker.step(action).unwrap();
            assert_eq!(frame, native.step(action).unwrap(), "{n}");
            if frame.terminated {
                assert!(n > 50, "it died at once");
                assert!(matches!(worker.step(action), Err(WorldError::NotReset { .. })));
                break;
            }
        }
    }
}

/// Asks a served Crafter lines that are none.
#[test]
fn a_bad_line_is_answered_and_the_world_lives_on() {
    let mut connection = served(Crafter::new());
    let long = "x".repeat(200_000);
    let deep = "[".repeat(60_000);
    for (line, said) in [
        ("{", "no request"),
        ("null", "no request"),
        ("[1]", "no request"),
        ("\u{1b}[2J", "no request"),
        (r#"{"do":"dance"}"#, "there is no `dance`"),
        (r#"{"do":"reset"}"#, "lacks `seed`"),
        (r#"{"do":"reset","seed":-1}"#, "no request"),
        (r#"{"do":"step"}"#, "lacks `action`"),
        (r#"{"do":"hello","protocol":9}"#, "version 1"),
        (&long, "at most"),
        (&deep, "no request"),
    ] {
        let reply = connection
            .ask_line(line.as_bytes().to_vec(), Duration::from_secs(5))
            .unwrap();
        match Reply::read(&reply).unwrap() {
            Reply::Failed { kind, message } => {
                assert_eq!(kind, FailureKind::Protocol, "{message}");
                assert!(message.contains(said), "{message}");
            }
            other => panic!("{line:.40}: {other:?}"),
        }
    }
    let hello = connection
        .ask(&Request::Hello { protocol: PROTOCOL }, Duration::from_secs(5))
        .unwrap();
    assert!(matches!(hello, Reply::Hello(spec) if spec.name == "crafter"));
}

#[test]
fn a_world_that_is_not_there_says_why() {
    let connect = || {
        let (to_worker, from_us) = pipes();
        let (to_us, from_worker) = pipes();
        let why = WorldError::Engine {
            world: "nethack".to_owned(),
            message: "libnethack.so is missing; `automem setup nethack` fetches it".to_owned(),
        };
        std::thread::spawn(move || refuse(&why, BufReader::new(to_worker), from_worker));
        Connection::over(from_us, to_us, 1000)
    };
    let error = WorkerWorld::over("nethack", Box::new(connect), brisk()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "nethack failed: libnethack.so is missing; `automem setup nethack` fetches it"
    );
}

#[test]
fn crafter_keeps_to_the_contract() {
    let report = check::check_over(&mut || Ok(served(Crafter::new())), CheckOptions::default());
    let not: Vec<_> = report
        .checks
        .iter()
        .filter(|check| check.outcome != Outcome::Passed)
        .collect();
    assert!(not.is_empty(), "{not:#?}");
    assert_eq!(report.world.unwrap().name, "crafter");
}

/// What a world may do wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Defect {
    None,
    PlaysBeforeReset,
    ForgetsTheSeed,
    LacksAnAction,
    PlaysAnything,
    MovesWhenRefusing,
    DiffersByProcess,
    PlaysOn,
}

/// A world of nine steps.
struct Nine {
    spec: crate::types::WorldSpec,
    defect: Defect,
    at: Option<u32>,
    instance: usize,
    resets: usize,
}

impl Nine {
    fn new(defect: Defect, instance: usize) -> Self {
        let Ok(Reply::Hello(spec)) = Reply::read(HELLO.as_bytes()) else {
            panic!("no greeting")
        };
        Self {
            spec: *spec,
            defect,
            at: None,
            instance,
            resets: 0,
        }
    }

    fn frame(&self, at: u32) -> Frame {
        let Ok(Reply::Shown(shown)) = Reply::read(FRAME.as_bytes()) else {
            panic!("no frame")
        };
        let mut long = format!("step {at}");
        if self.defect == Defect::DiffersByProcess && at == 5 {
            long.push_str(&self.instance.to_string());
        }
        if self.defect == Defect::ForgetsTheSeed {
            long.push_str(&self.resets.to_string());
        }
        Frame {
            terminated: at >= 9,
            digest: Digest::of(&long),
            long,
            ..shown.frame
        }
    }
}

impl World for Nine {
    fn spec(&self) -> &crate::types::WorldSpec {
        &self.spec
    }

    fn reset(&mut self, _seed: u64) -> Result<Frame, WorldError> {
        self.at = Some(0);
        self.resets += 1;
        Ok(self.frame(0))
    }

    fn step(&mut self, action: &Action) -> Result<Frame, WorldError> {
        let world = self.spec.name.clone();
        let at = match (self.at, self.defect) {
            (Some(at), Defect::PlaysOn) => at,
            (None, Defect::PlaysBeforeReset) => 0,
            (Some(at), _) if at < 9 => at,
            _ => return Err(WorldError::NotReset { world }),
        };
        let known = self.spec.actions.contains(action);
        let lacks = self.defect == Defect::LacksAnAction && action.as_str() == "b";
        if (!known && self.defect != Defect::PlaysAnything) || lacks {
            if self.defect == Defect::MovesWhenRefusing {
                self.at = Some(at + 1);
            }
            let action = action.to_string();
            return Err(WorldError::UnknownAction { action, world });
        }
        self.at = Some(at + 1);
        Ok(self.frame(at + 1))
    }
}

#[test]
fn each_defect_fails_its_check() {
    for (defect, must_fail) in [
        (Defect::None, None),
        (Defect::PlaysBeforeReset, Some("refuses a step before the first reset")),
        (Defect::ForgetsTheSeed, Some("equal seeds give equal beginnings")),
        (Defect::LacksAnAction, Some("every action can be played")),
        (
            Defect::PlaysAnything,
            Some("refuses an action it does not have, and goes on"),
        ),
        (
            Defect::MovesWhenRefusing,
            Some("refuses an action it does not have, and goes on"),
        ),
        (
            Defect::DiffersByProcess,
            Some("equal seeds and actions give equal episodes in two processes"),
        ),
        (Defect::PlaysOn, Some("refuses a step after the end, and begins again")),
    ] {
        let mut instances = 0;
        let report = check::check_over(
            &mut || {
                instances += 1;
                Ok(served(Nine::new(defect, instances)))
            },
            CheckOptions::default(),
        );
        let failed: Vec<_> = report
            .checks
            .iter()
            .filter(|check| check.outcome != Outcome::Passed)
            .collect();
        assert_eq!(report.passed(), must_fail.is_none(), "{defect:?}: {failed:#?}");
        let found = must_fail.is_none_or(|name| failed.iter().any(|check| check.name == name));
        assert!(
            found && failed.iter().all(|check| !check.told.is_empty()),
            "{defect:?}: {failed:#?}"
        );
    }
}

/// A small greeting and frame, as a small worker writes them.
const HELLO: &str = r#"{"protocol":1,"world":{"name":"tiny","actions":["a","b"],"instruction_prompt":"Play."}}"#;
const FRAME: &str = r#"{"frame":{"long":"here","reward":0,"terminated":false,"truncated":false}}"#;

#[test]
fn what_a_small_worker_leaves_out_is_filled_in() {
    let Ok(Reply::Hello(spec)) = Reply::read(HELLO.as_bytes()) else {
        panic!("no greeting")
    };
    assert_eq!(spec.task, "default");
    assert_eq!(spec.fallback, Action::from("a"));
    assert_eq!(spec.step_limit, DEFAULT_STEP_LIMIT);
    let Ok(Reply::Shown(shown)) = Reply::read(FRAME.as_bytes()) else {
        panic!("no frame")
    };
    assert!(!shown.has_digest && shown.frame.view == View::Text && shown.frame.short.is_empty());
    assert_eq!(shown.frame.info, serde_json::json!({}));
}

#[test]
fn wrong_greetings_are_refused_in_words() {
    let with = |from: &str, to: &str| HELLO.replace(from, to);
    for (line, said) in [
        (with("\"protocol\":1,", ""), "lacks `protocol`"),
        (with("\"protocol\":1", "\"protocol\":2"), "version 2"),
        (r#"{"protocol":3,"planet":{}}"#.to_owned(), "version 3"),
        (r#"{"protocol":4,"world":7}"#.to_owned(), "version 4"),
        (with(r#"["a","b"]"#, "[]"), "no actions"),
        (with(r#"["a","b"]"#, r#"["a","a"]"#), "twice"),
        (with(r#"["a","b"]"#, r#"["a",""]"#), "empty"),
        (with(r#"["a","b"]"#, "[\"a\\u001b[2J\"]"), "control"),
        (with(r#"["a","b"]"#, &format!("[\"{}\"]", "x".repeat(300))), "200"),
        (with("tiny", "../tiny"), "letters"),
        (with("tiny", ""), "empty"),
        (with("\"name\"", "\"fallback\":\"c\",\"name\""), "fallback"),
        (with("\"name\"", "\"step_limit\":0,\"name\""), "step limit"),
        (
            with("\"instruction_prompt\":\"Play.\"", "\"x\":1"),
            "instruction_prompt",
        ),
    ] {
        let problem = Reply::read(line.as_bytes()).unwrap_err();
        assert!(problem.contains(said), "{line}\n{problem}");
    }
}

#[test]
fn wrong_frames_are_refused_in_words() {
    let with = |to: &str| FRAME.replace("\"reward\":0", to);
    let view = |view: &str| with(&format!("\"reward\":0,\"view\":{view}"));
    for (line, said) in [
        ("{}".to_owned(), "none of"),
        ("7".to_owned(), "expected"),
        ("hello".to_owned(), "expected"),
        (with("\"reward\":NaN"), "expected"),
        (with("\"reward\":1e999"), ""),
        (with("\"reward\":\"1\""), "invalid type"),
        (with("\"rewards\":0"), "reward"),
        (with("\"reward\":0,\"progression\":1.5"), "from 0 to 1"),
        (with("\"reward\":0,\"progression\":-0.1"), "from 0 to 1"),
        (with("\"reward\":0,\"info\":[1]"), "no object"),
        (with("\"reward\":0,\"digest\":\"x\""), "digest"),
        (view("7"), "view"),
        (view(r#"{"kind":"hologram"}"#), "none of `tiles`"),
        (view(r#"{"width":2}"#), "none of `tiles`"),
        (
            view(r#"{"kind":"grid","width":2,"rows":["abc"],"colours":["77"]}"#),
            "row 0",
        ),
        (
            view(r#"{"kind":"grid","width":2,"rows":["a\u001b"],"colours":["77"]}"#),
            "control",
        ),
        (
            view(r#"{"width":2,"rows":["ab"],"colours":["7g"],"kind":"grid"}"#),
            "colour",
        ),
        (
            view(r#"{"kind":"grid","width":60000,"rows":[""],"colours":[""]}"#),
            "500",
        ),
        (view(r#"{"kind":"picture","width":1,"height":1,"rgb":"AAA="}"#), "bytes"),
        (view(r#"{"kind":"picture","width":1,"height":1,"rgb":"?"}"#), "base64"),
        (
            view(r#"{"kind":"picture","width":60000,"height":60000,"rgb":""}"#),
            "2048",
        ),
        (
            view(
                r#"{"kind":"tiles","set":"s","width":2,"height":2,"cells":"000","window":{"x":0,"y":0,"w":1,"h":1},"player":[0,0],"facing":[0,1],"light":1,"asleep":false}"#,
            ),
            "3 tiles",
        ),
    ] {
        let problem = Reply::read(line.as_bytes()).unwrap_err();
        assert!(problem.contains(said), "{line}\n{problem}");
    }
    let both = format!("{}{}", &FRAME[..FRAME.len() - 1], r#","error":{}}"#);
    assert!(Reply::read(both.as_bytes()).unwrap_err().contains("more than one"));
}

#[test]
fn views_are_read_wherever_their_kind_stands() {
    for view in [
        r#"{"kind":"grid","width":2,"rows":["ab"],"colours":["7."],"cursor":[1,0]}"#,
        r#"{"width":2,"rows":["ab"],"colours":["7."],"cursor":[1,0],"kind":"grid","more":[1.5]}"#,
    ] {
        let line = FRAME.replace("\"reward\":0", &format!("\"reward\":0.1,\"view\":{view}"));
        let Ok(Reply::Shown(shown)) = Reply::read(line.as_bytes()) else {
            panic!("{:?}", Reply::read(line.as_bytes()))
        };
        assert!(matches!(&shown.frame.view, View::Grid(grid) if grid.cursor == Some((1, 0))));
    }
}

#[test]
fn terminal_bytes_become_signs() {
    let line = FRAME
        .replace("here", "\\u001b[31mred\\n\\tor\\u202e not")
        .replace("\"reward\":0", "\"reward\":0,\"info\":{\"a\\u0007\":[\"\\u001b\"]}");
    let Ok(Reply::Shown(shown)) = Reply::read(line.as_bytes()) else {
        panic!("no frame")
    };
    assert_eq!(shown.frame.long, "␛[31mred\n\tor\u{fffd} not");
    assert_eq!(shown.frame.info, serde_json::json!({"a␇": ["␛"]}));
}

proptest::proptest! {
    #[test]
    fn no_line_breaks_the_reader(line: Vec<u8>, text in "\\PC*|.*|[{}\\[\\]\":,a-z0-9]*") {
        let _ = Reply::read(&line);
        let _ = Reply::read(text.as_bytes());
        let _ = Request::read(&line);
        let _ = Request::read(text.as_bytes());
    }

    #[test]
    fn any_text_is_shown_without_what_a_terminal_acts_on(chars: Vec<char>) {
        let text: String = chars.into_iter().collect();
        let frame = FRAME.replace("\"here\"", &serde_json::to_string(&text).unwrap());
        let Ok(Reply::Shown(shown)) = Reply::read(frame.as_bytes()) else {
            panic!("{text:?}")
        };
        let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
        proptest::prop_assert!(shown.frame.long.chars().all(plain));
        proptest::prop_assert_eq!(shown.frame.long.chars().count(), text.chars().count());
        proptest::prop_assert!(checked::quoted(text.as_bytes()).chars().all(|c| !c.is_control()));
    }
}

fn digests_of(frames: &[Frame]) -> Vec<Digest> {
    frames.iter().map(|frame| frame.digest).collect()
}
