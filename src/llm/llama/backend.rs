//! llama.cpp as a library of this process: started once, its log kept off the terminal.
//!
//! Owns the library's start and its log. Must not load models.

use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use llama_cpp_2::llama_backend::LlamaBackend;

use crate::llm::chat::LlmError;

/// The name in errors and records.
pub(super) const NAME: &str = "llama.cpp";

/// Lines of the log that are kept for error messages.
const KEPT_LINES: usize = 40;

static LOG: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// The library, started at the first call.
pub(super) fn backend() -> Result<&'static LlamaBackend, LlmError> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let started = BACKEND.get_or_init(|| {
        keep_log_off_the_terminal();
        LlamaBackend::init().map_err(|error| error.to_string())
    });
    started.as_ref().map_err(|message| LlmError::Backend {
        backend: NAME,
        message: format!("it could not be started: {message}"),
        retryable: false,
    })
}

/// Forgets the log, so that what comes next belongs to what is done next.
pub(super) fn forget_log() {
    LOG.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// The last errors and warnings of the log, in one line; empty when there are none.
pub(super) fn last_errors() -> String {
    let log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lines: Vec<&str> = log.iter().rev().take(3).map(String::as_str).collect();
    lines.reverse();
    lines.join("; ")
}

#[allow(
    unsafe_code,
    reason = "llama.cpp is a C library; the wrapper crate offers no log that can be read"
)]
fn keep_log_off_the_terminal() {
    /// Called by llama.cpp, from any thread.
    unsafe extern "C" fn keep(level: llama_cpp_sys_2::ggml_log_level, text: *const c_char, _: *mut c_void) {
        let wanted = level == llama_cpp_sys_2::GGML_LOG_LEVEL_ERROR || level == llama_cpp_sys_2::GGML_LOG_LEVEL_WARN;
        if !wanted || text.is_null() {
            return;
        }
        // SAFETY: llama.cpp passes a text that ends with a zero byte and lives until this returns; null was ruled out.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        let line = text.trim();
        if line.is_empty() {
            return;
        }
        // A panic must not unwind into C, so a poisoned lock is taken as it is.
        let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() >= KEPT_LINES {
            log.pop_front();
        }
        log.push_back(line.chars().take(300).collect());
    }
    // SAFETY: the function is a static one of the type llama.cpp expects, and the data pointer that it gets back is not used.
    // llama.cpp hands the same function on to ggml.
    unsafe { llama_cpp_sys_2::llama_log_set(Some(keep), std::ptr::null_mut()) };
}
