//! Ctrl-C and SIGTERM: the first asks the run to stop after its step, the second leaves at once.

use crate::agent::Controls;
use crate::jobs::Cancel;

/// Listens for the rest of the process's life.
///
/// # Errors
/// When the signals cannot be listened to.
#[cfg(unix)]
pub(super) fn stop_on_signals(controls: &Controls) -> anyhow::Result<()> {
    use anyhow::Context as _;
    use signal_hook::consts::{SIGINT, SIGTERM};

    let mut signals =
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).context("Ctrl-C could not be listened to")?;
    let controls = controls.clone();
    std::thread::spawn(move || {
        for (n, signal) in signals.forever().enumerate() {
            if n == 0 {
                eprintln!("\nstopping after this step; once more leaves at once (what was committed is safe)");
                controls.stop();
            } else {
                controls.abort();
                std::process::exit(128 + signal);
            }
        }
    });
    Ok(())
}

/// Elsewhere the system's own way of ending a process applies; committed steps are safe.
#[cfg(not(unix))]
pub(super) fn stop_on_signals(_: &Controls) -> anyhow::Result<()> {
    Ok(())
}

/// A flag that Ctrl-C and SIGTERM set; the second time the process leaves at once.
///
/// # Errors
/// When the signals cannot be listened to.
pub(super) fn cancel_on_signals() -> anyhow::Result<Cancel> {
    use anyhow::Context as _;

    let cancel = Cancel::new();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // This one first: it sees the flag as it was before.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, cancel.flag())
            .and_then(|_| signal_hook::flag::register(signal, cancel.flag()))
            .context("Ctrl-C cannot be listened to")?;
    }
    Ok(cancel)
}
