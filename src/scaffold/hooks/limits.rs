//! What a script may use up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits of one call of a script; the first that is met ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Ticks of the interpreter: function calls and loop turns. Deterministic, so it is met first.
    pub ticks: u64,
    /// Bytes of Starlark values.
    pub heap_bytes: u64,
    /// Bytes the child process may have in all beyond what it starts with; set by the operating system.
    pub process_bytes: u64,
    /// Milliseconds of a call as the parent sees it; then the child is killed.
    pub wall_ms: u64,
    /// Seconds of processor time of a call; set by the operating system.
    pub cpu_s: u64,
    /// Bytes of state and effects that a call may give back.
    pub reply_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            ticks: 1_000_000,
            heap_bytes: 64 << 20,
            process_bytes: 512 << 20,
            wall_ms: 5000,
            cpu_s: 4,
            reply_bytes: 1 << 20,
        }
    }
}

impl Limits {
    /// How long the parent waits for a call.
    pub(super) fn wall(&self) -> Duration {
        Duration::from_millis(self.wall_ms)
    }
}

/// Limits the memory of this process to what it has now and `more` bytes.
#[cfg(target_os = "linux")]
pub(super) fn limit_memory(more: u64) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let now: Option<u64> = kilobytes.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse().ok());
    let most = now.unwrap_or(0) * 1024 + more;
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    // A system that refuses still has the parent's clock and the interpreter's own limits.
    let _ = setrlimit(Resource::As, limit);
}

/// Limits the processor time of this process to what it has used and `more` seconds.
#[cfg(target_os = "linux")]
pub(super) fn limit_cpu(more: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // Nanoseconds that the only thread has run, the first number there.
    let used = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let used: u64 = used.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let limit = Rlimit {
        // The limit counts whole seconds: one more, so that a call has what it was promised.
        current: Some(used / 1_000_000_000 + more + 1),
        maximum: getrlimit(Resource::Cpu).maximum,
    };
    let _ = setrlimit(Resource::Cpu, limit);
}

#[cfg(not(target_os = "linux"))]
pub(super) fn limit_memory(_: u64) {}

#[cfg(not(target_os = "linux"))]
pub(super) fn limit_cpu(_: u64) {}
