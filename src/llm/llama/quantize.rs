//! Writes a model again in another quantisation.
//!
//! Owns the call into llama.cpp and that only a whole file gets the new name. The quantisation decides the speed on a CPU:
//! the small model as it is shipped (Q4_1) evaluates prompts at a third of the speed of Q4_0, which llama.cpp
//! repacks for the processor when it loads it. Quantising what is quantised already loses a little quality.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::backend;
use crate::jobs::Cancel;
use crate::llm::catalog;
use crate::llm::chat::LlmError;
use crate::llm::gguf::{Header, file_type_name};

/// How often cancelling and progress are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Quantisations that can be asked for: those that need no importance matrix.
pub const TARGETS: [&str; 9] = [
    "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K_M", "Q5_K_M", "Q6_K", "F16",
];

/// Writes `from` in the quantisation `kind` into `folder` under `name`; gives back the new file. `progress` gets the bytes
/// written so far. llama.cpp cannot be stopped while it does this: when cancelled, the caller goes on at once and what is
/// still written is thrown away.
///
/// # Errors
/// [`LlmError::File`] when `from` is no usable model, the name is taken or impossible, or the result is not whole.
pub fn quantize(
    from: &Path,
    kind: &str,
    folder: &Path,
    name: &str,
    threads: u32,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<PathBuf, LlmError> {
    let wrong = |path: &Path, cause: String, hint: &str| LlmError::File {
        path: path.display().to_string(),
        cause,
        hint: hint.to_owned(),
    };
    Header::open(from)?;
    let known = (0..64).find(|number| file_type_name(*number) == Some(kind) && TARGETS.contains(&kind));
    let Some(file_type) = known else {
        let hint = format!("choose one of {}", TARGETS.join(", "));
        return Err(wrong(
            from,
            format!("`{kind}` is no quantisation it can be written in"),
            &hint,
        ));
    };
    let Some(target) = catalog::path_of(folder, name) else {
        return Err(wrong(
            from,
            format!("`{name}` cannot be a model's name"),
            "use letters, digits, `-` and `_`",
        ));
    };
    if target.exists() {
        return Err(wrong(
            &target,
            "it is there already".to_owned(),
            "choose another name, or remove it first",
        ));
    }
    let disk = "check that the disk has room and the folder can be written";
    std::fs::create_dir_all(folder).map_err(|error| wrong(folder, error.to_string(), disk))?;
    let work = tempfile::Builder::new()
        .prefix(".pull-")
        .tempdir_in(folder)
        .map_err(|error| wrong(folder, error.to_string(), disk))?;
    let made = work.path().join("model.gguf");

    let (source, output) = (from.to_owned(), made.clone());
    let worker = std::thread::spawn(move || run(&source, &output, file_type, threads));
    while !worker.is_finished() {
        if cancel.is_cancelled() {
            return Err(LlmError::Cancelled);
        }
        progress(std::fs::metadata(&made).map_or(0, |metadata| metadata.len()));
        std::thread::sleep(LOOK);
    }
    worker
        .join()
        .map_err(|_| "llama.cpp failed".to_owned())
        .and_then(|result| result)
        .map_err(|cause| {
            wrong(
                from,
                cause,
                "not every model can be written in every quantisation; try Q8_0",
            )
        })?;
    Header::open(&made)?;
    let flushed = std::fs::File::open(&made).and_then(|file| file.sync_all());
    flushed
        .and_then(|()| std::fs::rename(&made, &target))
        .map_err(|error| wrong(&target, error.to_string(), disk))?;
    Ok(target)
}

#[allow(unsafe_code, reason = "the wrapper crate does not offer quantising")]
fn run(from: &Path, to: &Path, file_type: u64, threads: u32) -> Result<(), String> {
    backend::backend().map_err(|error| error.to_string())?;
    backend::forget_log();
    let path = |path: &Path| {
        let text = path.to_str().ok_or("the path is not valid UTF-8")?;
        CString::new(text).map_err(|_| "the path contains a zero byte")
    };
    let (from, to) = (path(from)?, path(to)?);
    // SAFETY: it fills a struct of numbers and null pointers and has no conditions.
    let mut params = unsafe { llama_cpp_sys_2::llama_model_quantize_default_params() };
    params.ftype = llama_cpp_sys_2::llama_ftype::try_from(file_type).map_err(|_| "an unknown file type".to_owned())?;
    params.nthread = i32::try_from(threads).unwrap_or(1);
    params.allow_requantize = true;
    // SAFETY: both texts end with a zero byte and live until the call returns, and so does `params`, whose pointers are null.
    // llama.cpp catches its own exceptions here and reports them by the result.
    let result = unsafe { llama_cpp_sys_2::llama_model_quantize(from.as_ptr(), to.as_ptr(), &raw const params) };
    if result == 0 {
        Ok(())
    } else {
        Err(format!("llama.cpp could not write it: {}", backend::last_errors()))
    }
}
