//! What has to be settled for the whole process before llama.cpp computes.
//!
//! Owns OpenMP's waiting. Must not touch models.

/// Loops a waiting OpenMP thread makes before it sleeps. Its default (300,000) keeps a core busy between
/// tokens, which takes it from the screen, the worlds and the store: with one busy neighbour on two cores decoding ran
/// at 13-18 tokens/s, with 1,000 at 22; alone it gained a little too.
#[cfg(target_os = "linux")]
const SPIN_COUNT: &str = "1000";

/// Bounds how long OpenMP's threads spin, unless the user has settled that (any `OMP_*` or `GOMP_*` variable). To be called
/// first of all in `main`.
///
/// libgomp reads its variables when the program is loaded, before `main` runs, so that setting them
/// here would be too late (and, in a process with threads, unsafe). So the program starts itself once more with the variable set:
/// the same process id, terminal, arguments and folder. When that fails it goes on as it is, which costs
/// only speed.
pub fn prepare_process() {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;

        let settled = std::env::vars_os().any(|(name, _)| {
            let name = name.as_encoded_bytes();
            name.starts_with(b"OMP_") || name.starts_with(b"GOMP_")
        });
        if settled {
            return;
        }
        let Ok(program) = std::env::current_exe() else { return };
        let mut arguments = std::env::args_os();
        let mut command = std::process::Command::new(program);
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        // `exec` only returns when it failed.
        let _ = command.args(arguments).env("GOMP_SPINCOUNT", SPIN_COUNT).exec();
    }
}

/// Threads to compute with: one a physical core that this process may use, and on larger machines one fewer,
/// for the screen and the worlds.
pub fn default_threads() -> u32 {
    let allowed = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = physical_cores().map_or(allowed, |cores| cores.clamp(1, allowed));
    let threads = if threads > 4 { threads - 1 } else { threads };
    u32::try_from(threads).unwrap_or(1)
}

/// Physical cores, where the system tells.
fn physical_cores() -> Option<usize> {
    let mut cores = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir("/sys/devices/system/cpu").ok()? {
        let siblings = entry.ok()?.path().join("topology/thread_siblings_list");
        if let Ok(text) = std::fs::read_to_string(siblings) {
            cores.insert(text);
        }
    }
    (!cores.is_empty()).then_some(cores.len())
}
