//! Where this program itself lies, for work it does in a child process of its own.
//!
//! Owns that path. Must not start anything.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process is the program itself, under whatever name it was installed.
static IS_THE_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Says that this process is the program itself: it then starts itself as the child.
pub fn this_is_the_program() {
    IS_THE_PROGRAM.store(true, Ordering::Relaxed);
}

/// This program; for another program that uses the library, the `automem` beside it.
///
/// # Errors
/// When there is none.
pub fn program() -> io::Result<PathBuf> {
    let here = std::env::current_exe()?;
    if IS_THE_PROGRAM.load(Ordering::Relaxed) {
        return Ok(here);
    }
    let name = format!("automem{}", std::env::consts::EXE_SUFFIX);
    here.ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("there is no {name} beside {}", here.display()),
            )
        })
}
