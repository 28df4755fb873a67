//! `automem model optimize` and what it is made of: refusals without a model, and the whole with the small one.
//!
//! Needs the small model for that: `automem model pull smollm2-135m`, or `AUTOMEM_TEST_MODEL=FILE.gguf`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::Path;

use common::run_fails;

/// A whole GGUF file that says it is in Q4_0, without a single tensor.
fn model_in_q4_0(path: &Path) {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    let key = b"general.file_type";
    bytes.extend((key.len() as u64).to_le_bytes());
    bytes.extend(key);
    bytes.extend(4_u32.to_le_bytes());
    bytes.extend(2_u32.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn names(models: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(models).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_written() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let told = run_fails(home, &["model", "optimize", "nothing"], 1);
    assert!(
        told.contains("nothing") && told.contains("automem model pull"),
        "{told}"
    );
    std::fs::write(home.join("text.gguf"), "no model at all").unwrap();
    let told = run_fails(home, &["model", "optimize", "text.gguf"], 1);
    assert!(told.contains("not a GGUF file"), "{told}");

    let models = home.join("workspace/models");
    model_in_q4_0(&models.join("mine.gguf"));
    let told = run_fails(home, &["model", "optimize", "mine", "--to", "q4_0"], 1);
    assert!(told.contains("it is in Q4_0 already"), "{told}");
    let told = run_fails(home, &["model", "optimize", "mine", "--to", "Q8_0,Q9"], 1);
    assert!(
        told.contains("`Q9` is no quantisation") && told.contains("Q4_K_M"),
        "{told}"
    );
    std::fs::write(models.join("mine-q8_0.gguf"), "another").unwrap();
    let told = run_fails(
        home,
        &["model", "optimize", "mine", "--to", "Q8_0", "--keep", "both"],
        1,
    );
    assert!(
        told.contains("mine-q8_0.gguf") && told.contains("there already"),
        "{told}"
    );
    run_fails(home, &["model", "optimize", "mine", "--keep", "best"], 2);
    assert_eq!(names(&models), ["mine-q8_0.gguf", "mine.gguf"]);
    assert_eq!(
        std::fs::read_to_string(models.join("mine-q8_0.gguf")).unwrap(),
        "another"
    );
}

#[cfg(feature = "llama")]
mod with_a_model {
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use super::*;
    use automem::jobs::Cancel;
    use automem::llm::LlmError;
    use automem::llm::llama::optimize::{Doing, Effort, optimize};
    use common::automem;

    fn model() -> Option<PathBuf> {
        let named = std::env::var_os("AUTOMEM_TEST_MODEL").map(PathBuf::from);
        let pulled = automem::config::Workspace::find()
            .ok()
            .map(|workspace| workspace.models_dir().join("smollm2-135m.gguf"));
        let found = named.or(pulled).filter(|path| path.is_file());
        if found.is_none() {
            eprintln!("left out: no model; `automem model pull smollm2-135m` fetches it");
        }
        found
    }

    #[test]
    fn candidates_are_measured_and_only_the_kept_one_stays() {
        let Some(model) = model() else { return };
        let folder = tempfile::tempdir().unwrap();
        let effort = Effort { pairs: 1, seconds: 0.1 };
        let kinds = ["Q8_0".to_owned(), "Q4_0".to_owned()];
        let mut written = 0;
        let tried = optimize(&model, &kinds, folder.path(), effort, &Cancel::new(), &mut |doing| {
            if let Doing::Writing(_, bytes) = doing {
                written = written.max(bytes);
            }
        })
        .unwrap();
        assert!(written > 0);
        let [near, fast] = &tried.candidates[..] else {
            panic!("{:?}", tried.candidates)
        };
        for candidate in [near, fast] {
            let speeds = [candidate.speed, candidate.original];
            assert!(
                speeds.iter().all(|speed| speed.turn_seconds().is_finite()),
                "{candidate:?}"
            );
            assert!(candidate.alike.places > 300, "{candidate:?}");
        }
        // What Q4_1 holds fits into Q8_0 almost whole, into Q4_0 less well.
        assert!(near.alike.same_next_percent > 85.0, "{near:?}");
        assert!(
            near.alike.same_next_percent > fast.alike.same_next_percent,
            "{near:?} {fast:?}"
        );
        assert!(near.alike.log_prob_change.abs() < fast.alike.log_prob_change.abs());
        assert!(near.bytes > fast.bytes);

        let kept = tried.keep(fast, "mine-q4_0").unwrap();
        assert_eq!(std::fs::metadata(&kept).unwrap().len(), fast.bytes);
        let told = tried.keep(near, "mine-q4_0").unwrap_err().to_string();
        assert!(told.contains("there already"), "{told}");
        assert_eq!(std::fs::metadata(&kept).unwrap().len(), fast.bytes);
        drop(tried);
        assert_eq!(names(folder.path()), ["mine-q4_0.gguf"]);
    }

    #[test]
    fn cancelled_it_leaves_nothing() {
        let Some(model) = model() else { return };
        let folder = tempfile::tempdir().unwrap();
        let cancel = Cancel::new();
        let effort = Effort { pairs: 1, seconds: 0.1 };
        let kinds = ["Q4_0".to_owned()];
        let result = optimize(&model, &kinds, folder.path(), effort, &cancel, &mut |_| cancel.cancel());
        assert!(matches!(result, Err(LlmError::Cancelled)));
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[cfg(unix)]
    #[test]
    fn ctrl_c_leaves_nothing() {
        let Some(model) = model() else { return };
        let home = tempfile::tempdir().unwrap();
        let models = home.path().join("workspace/models");
        let mut child = automem(home.path())
            .args([
                "model",
                "optimize",
                model.to_str().unwrap(),
                "--to",
                "Q4_0",
                "--keep",
                "fastest",
            ])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while names(&models).is_empty() && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(names(&models).len(), 1, "it works in a hidden folder");
        let pid = child.id().to_string();
        std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1));
        assert!(began.elapsed() < Duration::from_secs(120));
        assert_eq!(names(&models), [""; 0]);
    }
}
