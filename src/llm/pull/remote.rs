//! A model from the network, from its address to its name in the workspace.
//!
//! Owns what is checked before it gets that name: its checksum and its head. Must not speak HTTP.

use std::path::Path;

use super::address::RemoteFile;
use super::fetch::{self, Fetched};
use super::partial::Partial;
use super::{PullError, PullProgress, Pulled, checksum, flush_folder, pulled};
use crate::jobs::Cancel;
use crate::llm::gguf::Header;
use crate::llm::http::{NoResult, Runtime};

/// Fetches a model, or what is missing of it. What has come stays when it is cancelled or breaks off.
pub(super) fn pull(
    remote: &RemoteFile,
    name: &str,
    target: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<Pulled, PullError> {
    let there = std::fs::metadata(target).ok().map(|metadata| metadata.len());
    if let (Some(bytes), Some(expected)) = (there, &remote.sha256)
        && checksum(target, bytes, cancel, progress)? == *expected
    {
        return Ok(pulled(name, target.to_owned(), expected.clone(), true));
    }
    let (mut part, mut fetched) = fetch(remote, Partial::open(target)?, there, cancel, progress)?;
    if let (true, Some(bytes), Some(expected)) = (fetched.maybe_there, there, expected(remote, &fetched)) {
        if checksum(target, bytes, cancel, progress)? == expected {
            part.remove();
            return Ok(pulled(name, target.to_owned(), expected, true));
        }
        // The same size, but other bytes.
        (part, fetched) = fetch(remote, part, None, cancel, progress)?;
    }
    let found = checksum(part.path(), part.length(), cancel, progress)?;
    if let Some(expected) = expected(remote, &fetched).filter(|expected| *expected != found) {
        part.remove();
        return Err(PullError::Checksum {
            what: remote.shown().to_owned(),
            found,
            expected,
        });
    }
    if let Err(error) = Header::open(part.path()) {
        // All of it has come and it is none: going on with it would never help.
        part.remove();
        return Err(PullError::Remote {
            from: remote.shown().to_owned(),
            message: format!("it came whole, but is no usable model: {error}"),
            hint: "nothing was kept".to_owned(),
        });
    }
    part.flush()?;
    part.become_model(target)?;
    if let Some(folder) = target.parent() {
        flush_folder(folder);
    }
    Ok(pulled(name, target.to_owned(), found, false))
}

fn expected(remote: &RemoteFile, fetched: &Fetched) -> Option<String> {
    remote.sha256.clone().or_else(|| fetched.sha256.clone())
}

fn fetch(
    remote: &RemoteFile,
    mut part: Partial,
    there: Option<u64>,
    cancel: &Cancel,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<(Partial, Fetched), PullError> {
    let path = part.path().to_owned();
    let lost = |message: String| PullError::Remote {
        from: remote.shown().to_owned(),
        message,
        hint: "run the same command again".to_owned(),
    };
    let runtime = Runtime::start().map_err(|error| lost(format!("no thread for the network: {error}")))?;
    let file = remote.clone();
    let ended = runtime.run(cancel, progress, |teller| async move {
        let result = fetch::fetch(&file, &mut part, there, &mut |progress| teller.tell(progress)).await;
        (part, result)
    });
    match ended {
        Ok((part, Ok(fetched))) => Ok((part, fetched)),
        Ok((part, Err(error))) => {
            if part.length() == 0 {
                part.remove();
            }
            Err(error)
        }
        Err(NoResult::Cancelled) => match std::fs::metadata(&path).map_or(0, |metadata| metadata.len()) {
            0 => {
                Partial::remove_at(&path);
                Err(PullError::Cancelled)
            }
            kept => Err(PullError::Paused { kept }),
        },
        Err(NoResult::Broken) => Err(lost("the fetch broke down".to_owned())),
    }
}
