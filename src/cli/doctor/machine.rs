//! Models, back end, folders, themes and runs.

use std::path::Path;

use super::{Finding, State};
use crate::config::Workspace;
use crate::jobs::memory;
use crate::llm::catalog;
use crate::store::Registry;
use crate::tui::{Depth, Themes};

const MODELS: &str = "models";
const BACK_END: &str = "back end";
const FOLDERS: &str = "folders";
const THEMES: &str = "themes";
const RUNS: &str = "runs";

/// Tokens of context a model must hold to be of use here.
const CONTEXT: u64 = 4096;
/// Free bytes below which a run may not fit, and below which nothing does.
const LITTLE: u64 = 1 << 30;
const NOTHING: u64 = 50 << 20;

/// Each model file: whether it can be read, and whether it fits into memory.
pub(super) fn models(workspace: &Workspace) -> Vec<Finding> {
    let found = catalog::installed(workspace);
    let free = memory::available();
    if found.is_empty() {
        let known = catalog::KNOWN.first().map_or("NAME", |known| known.name);
        let said = format!("none in {}", workspace.models_dir().display());
        return vec![
            Finding::new(MODELS, "local models", State::Note, said).fix(format!("automem model pull {known}")),
        ];
    }
    found
        .into_iter()
        .map(|model| match &model.info {
            Ok(info) => {
                let needed = model.bytes + info.kv_bytes_per_token.unwrap_or(0) * CONTEXT;
                let said = format!("{} {}", info.quantisation, size(model.bytes));
                match free {
                    Some(free) if needed > free => {
                        let said = format!("{said}; needs about {}, {} are free", size(needed), size(free));
                        Finding::new(MODELS, model.name, State::Warn, said)
                            .fix("close other programs, or take a smaller model or quantisation")
                    }
                    _ => Finding::ok(MODELS, model.name, said),
                }
            }
            Err(error) => Finding::new(MODELS, model.name.clone(), State::Broken, error.to_string()).fix(format!(
                "fetch it again (`automem model pull`), or delete {}",
                model.path.display()
            )),
        })
        .collect()
}

/// What this build computes with.
pub(super) fn back_end() -> Vec<Finding> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let llama = if cfg!(feature = "llama") {
        let on = if cfg!(feature = "cuda") {
            "CUDA"
        } else if cfg!(feature = "metal") {
            "Metal"
        } else if cfg!(feature = "vulkan") {
            "Vulkan"
        } else {
            "the CPU"
        };
        Finding::ok(BACK_END, "llama.cpp", format!("built in, on {on}"))
    } else {
        Finding::new(
            BACK_END,
            "llama.cpp",
            State::Note,
            "not in this build: local models cannot be played",
        )
        .fix("build with `--features llama` (needs cmake, clang and libclang)")
    };
    vec![llama, processor(threads)]
}

fn processor(threads: usize) -> Finding {
    let (vectors, slow) = vectors();
    let said = format!("{threads} threads, {vectors}");
    if slow {
        Finding::new(BACK_END, "processor", State::Warn, said)
            .fix("local models will be slow: take the smallest, or a model server")
    } else {
        Finding::ok(BACK_END, "processor", said)
    }
}

#[cfg(target_arch = "x86_64")]
fn vectors() -> (String, bool) {
    let mut has = Vec::new();
    for (name, there) in [
        ("AVX2", std::arch::is_x86_feature_detected!("avx2")),
        ("FMA", std::arch::is_x86_feature_detected!("fma")),
        ("AVX-512", std::arch::is_x86_feature_detected!("avx512f")),
    ] {
        if there {
            has.push(name);
        }
    }
    if has.is_empty() {
        ("no AVX2".to_owned(), true)
    } else {
        (has.join(", "), false)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn vectors() -> (String, bool) {
    (std::env::consts::ARCH.to_owned(), false)
}

/// The folders that are written to.
pub(super) fn folders(workspace: &Workspace) -> Vec<Finding> {
    let mut out: Vec<Finding> = [
        ("workspace", workspace.root().to_owned()),
        ("runs", workspace.runs_dir()),
        ("models", workspace.models_dir()),
        ("scaffolds", workspace.scaffolds_dir()),
    ]
    .into_iter()
    .map(|(name, path)| folder(name, &path))
    .collect();
    if let Some(free) = free_space(workspace.root()) {
        let said = format!("{} free", size(free));
        let fix = "delete old runs or models, or set AUTOMEM_HOME to a folder on a larger disk";
        out.push(match free {
            0..NOTHING => Finding::new(FOLDERS, "disk", State::Broken, said).fix(fix),
            NOTHING..LITTLE => Finding::new(FOLDERS, "disk", State::Warn, said).fix(fix),
            _ => Finding::ok(FOLDERS, "disk", said),
        });
    }
    out
}

fn folder(name: &str, path: &Path) -> Finding {
    let shown = path.display();
    let fix = format!("make it a folder that you may write to: mkdir -p {shown}; chmod u+rwx {shown}");
    if !path.exists() {
        // What is not there is made when it is needed, if it can be.
        let above = path.ancestors().find(|above| above.exists());
        return match above.map(writable) {
            Some(Ok(())) => Finding::ok(FOLDERS, name, format!("{shown} (made when it is needed)")),
            Some(Err(error)) => {
                Finding::new(FOLDERS, name, State::Broken, format!("{shown} cannot be made: {error}")).fix(fix)
            }
            None => Finding::new(FOLDERS, name, State::Broken, format!("{shown} cannot be made")).fix(fix),
        };
    }
    match writable(path) {
        Ok(()) => Finding::ok(FOLDERS, name, shown.to_string()),
        Err(error) => Finding::new(
            FOLDERS,
            name,
            State::Broken,
            format!("{shown} cannot be written to: {error}"),
        )
        .fix(fix),
    }
}

/// Whether a file can be made in the folder; it is gone again at once.
fn writable(folder: &Path) -> std::io::Result<()> {
    tempfile::Builder::new()
        .prefix(".automem-doctor")
        .tempfile_in(folder)
        .map(|_| ())
}

/// A person's own themes.
pub(super) fn themes(workspace: &Workspace) -> Vec<Finding> {
    let themes = Themes::of(workspace);
    let shipped = Themes::default().names();
    themes
        .names()
        .into_iter()
        .filter_map(|name| match themes.load(&name, Depth::True) {
            Ok(_) if shipped.contains(&name) => None,
            Ok(_) => Some(Finding::ok(THEMES, name, "can be used")),
            Err(error) => {
                Some(Finding::new(THEMES, name, State::Broken, error.to_string()).fix("mend the file, or take it away"))
            }
        })
        .collect()
}

/// Runs that were left open, and those that cannot be read.
pub(super) fn runs(workspace: &Workspace) -> Vec<Finding> {
    // Opening the list would make it.
    if !workspace.database().exists() && !workspace.runs_dir().exists() {
        return vec![Finding::ok(RUNS, "runs", "none yet")];
    }
    let listed = Registry::open(workspace).and_then(|registry| registry.runs());
    let listed = match listed {
        Ok(listed) => listed,
        Err(error) => {
            let fix = format!(
                "move {} away; the runs themselves are not in it",
                workspace.database().display()
            );
            return vec![Finding::new(RUNS, "list of runs", State::Broken, error.to_string()).fix(fix)];
        }
    };
    let mut out = vec![Finding::ok(RUNS, "runs", listed.len().to_string())];
    for run in listed {
        let name = run
            .path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let path = run.path.display();
        match run.content {
            Ok(content) if !content.finished && !content.live => {
                out.push(
                    Finding::new(RUNS, name, State::Note, "was interrupted and can be resumed")
                        .fix(format!("automem resume {path}")),
                );
            }
            Ok(_) => {}
            Err(error) => out.push(
                Finding::new(RUNS, name, State::Warn, error.to_string())
                    .fix(format!("restore {path} from a copy, or delete it")),
            ),
        }
    }
    out
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes / 1000),
        1_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

/// Free bytes of the disk that holds the folder, or will.
#[cfg(unix)]
fn free_space(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|above| above.exists())?;
    let stat = rustix::fs::statvfs(there).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(not(unix))]
fn free_space(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_cannot_be_read_is_broken_and_an_empty_folder_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        let none = models(&workspace);
        assert_eq!(none[0].state, State::Note);
        assert!(none[0].fix.as_ref().unwrap().contains("model pull"));
        std::fs::create_dir_all(workspace.models_dir()).unwrap();
        std::fs::write(workspace.models_dir().join("cut.gguf"), b"GGUF\x03\0\0\0").unwrap();
        let found = models(&workspace);
        assert_eq!((found[0].name.as_str(), found[0].state), ("cut", State::Broken));
    }

    #[test]
    fn folders_that_are_not_there_yet_are_fine_and_a_file_in_their_place_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path().join("new/place"));
        let found = folders(&workspace);
        assert!(
            found
                .iter()
                .all(|finding| finding.state != State::Broken || finding.name == "disk"),
            "{found:?}"
        );
        assert!(!dir.path().join("new").exists(), "looking makes nothing");
        std::fs::write(dir.path().join("new"), "a file").unwrap();
        let found = folders(&workspace);
        assert_eq!(found[0].state, State::Broken, "{found:?}");
        assert!(found[0].fix.is_some());
    }

    #[test]
    fn a_theme_that_is_wrong_says_where() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        assert!(themes(&workspace).iter().all(|finding| finding.name != "mine"));
        std::fs::create_dir(dir.path().join("themes")).unwrap();
        std::fs::write(dir.path().join("themes/mine.toml"), "inherits = \"drak\"\n").unwrap();
        let found = themes(&workspace);
        let mine = found.iter().find(|finding| finding.name == "mine").unwrap();
        assert_eq!(mine.state, State::Broken);
        assert!(mine.said.contains("mine.toml:1:12"), "{}", mine.said);
    }
}
