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
use crate::llm::optimize::{TARGETS, bytes_in, check_room};

/// How often cancelling and progress are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What usually helps against errors of the file system.
const DISK: &str = "check that the disk has room and the folder can be written";

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
    let target = free_name(from, folder, name)?;
    let work = work_folder(folder)?;
    let made = work.path().join("model.gguf");
    write(from, kind, &made, threads, cancel, progress)?;
    put(&made, &target)?;
    Ok(target)
}

fn wrong(path: &Path, cause: impl Into<String>, hint: impl Into<String>) -> LlmError {
    LlmError::File {
        path: path.display().to_string(),
        cause: cause.into(),
        hint: hint.into(),
    }
}

/// Where a model of this name will lie.
pub(super) fn free_name(from: &Path, folder: &Path, name: &str) -> Result<PathBuf, LlmError> {
    let target = catalog::path_of(folder, name).ok_or_else(|| {
        let cause = format!("`{name}` cannot be a model's name");
        wrong(from, cause, "use letters, digits, `-` and `_`")
    })?;
    if target.exists() {
        return Err(wrong(
            &target,
            "it is there already",
            "choose another name, or remove it first",
        ));
    }
    Ok(target)
}

/// A hidden folder for files that are not whole yet; it goes when it is dropped.
pub(super) fn work_folder(folder: &Path) -> Result<tempfile::TempDir, LlmError> {
    std::fs::create_dir_all(folder).map_err(|error| wrong(folder, error.to_string(), DISK))?;
    tempfile::Builder::new()
        .prefix(".pull-")
        .tempdir_in(folder)
        .map_err(|error| wrong(folder, error.to_string(), DISK))
}

/// Writes the model in another quantisation to `made`, a place nobody looks at yet.
pub(super) fn write(
    from: &Path,
    kind: &str,
    made: &Path,
    threads: u32,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<(), LlmError> {
    let header = Header::open(from)?;
    let known = (0..64).find(|number| file_type_name(*number) == Some(kind) && TARGETS.contains(&kind));
    let Some(file_type) = known else {
        let hint = format!("choose one of {}", TARGETS.join(", "));
        return Err(wrong(
            from,
            format!("`{kind}` is no quantisation it can be written in"),
            hint,
        ));
    };
    // Its own folder is a hidden one inside of the models'.
    if let Some(folder) = made.parent().and_then(Path::parent) {
        check_room(folder, bytes_in(&header, kind))?;
    }
    let (source, output) = (from.to_owned(), made.to_owned());
    let worker = std::thread::spawn(move || run(&source, &output, file_type, threads));
    while !worker.is_finished() {
        if cancel.is_cancelled() {
            return Err(LlmError::Cancelled);
        }
        progress(std::fs::metadata(made).map_or(0, |metadata| metadata.len()));
        std::thread::sleep(LOOK);
    }
    worker
        .join()
        .map_err(|_| "llama.cpp failed".to_owned())
        .and_then(|result| result)
        .map_err(|cause| {
            let hint =
                "check that the disk has room; not every model can be written in every quantisation, so try Q8_0";
            wrong(from, cause, hint)
        })?;
    Header::open(made).map(|_| ())
}

/// Gives a whole file its name, safe on the disk; never in the place of another.
pub(super) fn put(made: &Path, target: &Path) -> Result<(), LlmError> {
    let named = std::fs::File::open(made)
        .and_then(|file| file.sync_all())
        .and_then(|()| {
            // A second name fails where there is one already. Not every file system knows second names.
            match std::fs::hard_link(made, target) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists && !target.exists() => {
                    std::fs::rename(made, target)
                }
                other => other,
            }
        });
    named.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            wrong(target, "it is there already", "choose another name, or remove it first")
        }
        _ => wrong(target, error.to_string(), DISK),
    })
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
