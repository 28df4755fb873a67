//! Workers that fail: what is said, and how it goes on.

use super::*;

/// A worker that is a shell script: it answers the first requests well, then does what is told.
fn script(good_steps: usize, then: &str) -> Vec<String> {
    let mut text = format!("read l; echo '{HELLO}'; read l; echo '{FRAME}'; ");
    for _ in 0..good_steps {
        text.push_str(&format!("read l; echo '{FRAME}'; "));
    }
    text.push_str(then);
    vec!["sh".to_owned(), "-c".to_owned(), text]
}

/// Opens, resets and plays until it fails.
fn failure(command: Vec<String>) -> (usize, String, WorkerWorld) {
    let mut world = WorkerWorld::open(command, brisk()).unwrap();
    world.reset(1).unwrap();
    for n in 0..9 {
        match world.step(&Action::from("a")) {
            Ok(_) => {}
            Err(error) => {
                let error = error.to_string();
                assert!(!error.contains('\u{1b}'), "{error}");
                assert!(matches!(
                    world.step(&Action::from("a")),
                    Err(WorldError::NotReset { .. })
                ));
                return (n, error, world);
            }
        }
    }
    panic!("it did not fail");
}

#[test]
fn each_way_to_fail_is_told_with_its_last_words() {
    let words = r"printf 'no \033[2Jmap\n' >&2; ";
    for (good, then, at, said) in [
        (2, "read l; exit 3", 2, "exit status: 3"),
        (0, "read l; kill -9 $$", 0, "signal: 9"),
        (3, "read l; sleep 600", 3, "within 600 ms"),
        (1, "read l; exec >&-; sleep 600", 1, "closed its output"),
        (
            1,
            "read l; printf 'go \\033[1m north\\n'; sleep 600",
            1,
            "go ␛[1m north",
        ),
        (
            1,
            "echo surprise; sleep 0.2; read l; sleep 600",
            1,
            "nobody asked for: `surprise`",
        ),
        (
            1,
            "read l; head -c 300000 /dev/zero | tr '\\0' x; sleep 600",
            1,
            "more than 100000 bytes",
        ),
        (1, "read l; yes", 1, "said: `y`"),
    ] {
        // The last words come before what fails.
        let (step, error, _) = failure(script(good, &format!("{words}{then}")));
        // What comes unasked may be taken for an answer once.
        let late = then.contains("surprise") && step == at;
        assert!(step == at || late, "{then}: step {step}");
        if !then.contains("surprise") || error.contains("nobody") {
            assert!(error.contains(said), "{then}: {error}");
        }
        assert!(error.contains("no ␛[2Jmap"), "{then}: {error}");
        assert!(error.chars().count() < 1000, "{then}: {error}");
    }
}

#[test]
fn only_the_end_of_the_last_words_is_kept() {
    let (_, error, _) = failure(script(0, "seq 1 100000 >&2; read l; exit 1"));
    assert!(error.contains("\n100000") && error.len() < 9_000, "{}", error.len());
}

#[test]
fn what_does_not_greet_is_no_world() {
    for (command, said) in [
        ("/no/such/program", "could not be started"),
        ("true", "exit status: 0"),
        ("cat", "none of"),
        ("echo hello", "hello"),
        ("sh -c 'sleep 600'", "within"),
        ("sh -c 'echo oops >&2; exit 1'", "oops"),
    ] {
        let words = shlex::split(command).unwrap();
        let limits = Limits {
            hello: Duration::from_millis(500),
            ..brisk()
        };
        let error = WorkerWorld::open(words, limits).err().unwrap().to_string();
        assert!(error.contains(said), "{command}: {error}");
    }
    assert!(matches!(open("a 'b"), Err(WorldError::Address { .. })));
    assert!(matches!(
        WorkerWorld::open(Vec::<String>::new(), brisk()),
        Err(WorldError::Engine { .. })
    ));
}

#[test]
fn a_reset_starts_a_dead_worker_anew_and_its_actions_lead_back() {
    let (step, _, mut world) = failure(script(2, "read l; exit 3"));
    assert_eq!(step, 2);
    let again = |world: &mut WorkerWorld| {
        let mut frames = vec![world.reset(1).unwrap()];
        for _ in 0..2 {
            frames.push(world.step(&Action::from("a")).unwrap());
        }
        frames
    };
    let first = again(&mut world);
    assert!(world.step(&Action::from("a")).is_err());
    let second = again(&mut world);
    assert_eq!(first, second);
    // Made here, they tell equal frames apart.
    let mut digests = digests_of(&first);
    digests.dedup();
    assert_eq!(digests.len(), 3);
}

#[test]
fn what_breaks_the_protocol_fails_its_check() {
    let limits = Limits {
        hello: Duration::from_millis(500),
        reset: Duration::from_millis(500),
        step: Duration::from_millis(500),
        close: Duration::from_millis(200),
        line_bytes: 10_000,
    };
    let options = CheckOptions {
        limits,
        ..CheckOptions::default()
    };
    let failing = |script: &str| -> Vec<&'static str> {
        let report = check(["sh", "-c", script], options);
        assert!(!report.passed());
        let failed = report.checks.iter().filter(|check| check.outcome == Outcome::Failed);
        failed.map(|check| check.name).collect()
    };
    // It greets and says no more; it does not even greet; it babbles; it does not end.
    let silent = failing(&format!("read l; echo '{HELLO}'; read l; read l"));
    assert!(!silent.contains(&"greets") && silent.contains(&"every action can be played"));
    assert_eq!(failing("exit 1"), ["greets"]);
    let babbling = failing(&format!(
        "read l; echo '{HELLO}'; while read l; do echo '{FRAME}'; echo '{FRAME}'; done"
    ));
    assert!(babbling.contains(&"says nothing unasked"), "{babbling:?}");
    let lasting = failing(&format!(
        "read l; echo '{HELLO}'; while read l; do echo '{FRAME}'; done; sleep 600"
    ));
    assert!(lasting.contains(&"ends with its input"), "{lasting:?}");
    assert!(lasting.contains(&"answers what is no request with an error, and goes on"));
}

fn lives(pid: u32) -> bool {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::test_kill_process(pid).is_ok()
}

#[test]
fn dropping_a_world_ends_its_worker_and_all_it_started() {
    // One that ends when told, one that does not, one that left somebody behind.
    for then in ["read l", "trap '' TERM; while :; do sleep 1; done", "sleep 600 & wait"] {
        let mut world = WorkerWorld::open(script(0, then), brisk()).unwrap();
        world.reset(1).unwrap();
        let pid = world.process().unwrap();
        let group = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        assert!(lives(pid), "{then}");
        drop(world);
        assert!(!lives(pid), "{then}: it lives, or was not waited for");
        let until = std::time::Instant::now() + Duration::from_secs(5);
        while rustix::process::test_kill_process_group(group).is_ok() {
            assert!(std::time::Instant::now() < until, "{then}: its child lives");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
