//! Fetches a model file over HTTP: goes on where an earlier fetch stopped, and tries again when the network breaks.
//!
//! Owns redirects (a token goes to the first host alone), ranges and what the server says about the file. Must not
//! judge whether the file is a model, beyond its first four bytes.

use std::path::Path;
use std::time::{Duration, Instant};

use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_RANGE, LAST_MODIFIED,
    LOCATION, RANGE, RETRY_AFTER,
};
use reqwest::{Client, Response, StatusCode, Url};

use super::address::{RemoteFile, is_sha256, show};
use super::partial::{Note, Partial};
use super::{PullError, PullProgress, Stage};
use crate::llm::http;
use crate::llm::retry::{Retries, chance, retry_after};

/// Redirects that are followed.
const MOST_REDIRECTS: usize = 10;
/// Waiting between two tries, all together since something came.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often progress is told.
const TELL: Duration = Duration::from_millis(50);
/// What a GGUF file begins with.
const MAGIC: &[u8] = b"GGUF";

/// What the server said of a file that is here now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fetched {
    /// The SHA-256 the hub has for it.
    pub(super) sha256: Option<String>,
    /// It was not fetched: the model that is there has this size already, and may be the same.
    pub(super) maybe_there: bool,
}

/// Why a try ended.
enum Stop {
    /// It may work in a while.
    Passing { message: String, wait: Option<Duration> },
    /// It stays so.
    Lasting(PullError),
}

impl From<PullError> for Stop {
    fn from(error: PullError) -> Self {
        Self::Lasting(error)
    }
}

/// Fetches a file into `partial`. `there` is the size of the model that has the name now; a file of that size is not
/// fetched when its checksum is known, so that both can be compared.
pub(super) async fn fetch(
    remote: &RemoteFile,
    partial: &mut Partial,
    there: Option<u64>,
    tell: &mut (dyn FnMut(PullProgress) + Send),
) -> Result<Fetched, PullError> {
    let limits = remote.limits;
    let client = http::client(&remote.url, limits.connect)
        .build()
        .map_err(|error| failed(remote, &format!("HTTPS cannot be set up: {}", http::cause(&error)), ""))?;
    let fresh = || Retries::new(limits.retries, limits.backoff, PATIENCE);
    let mut retries = fresh();
    loop {
        let before = partial.length();
        let (message, wait) = match attempt(remote, &client, partial, there, tell).await {
            Ok(fetched) => return Ok(fetched),
            Err(Stop::Lasting(error)) => return Err(error),
            Err(Stop::Passing { message, wait }) => (message, wait),
        };
        if partial.length() > before {
            retries = fresh();
        }
        match retries.wait(wait, chance()) {
            Ok(wait) => tokio::time::sleep(wait).await,
            Err(_) => {
                let kept = partial.length();
                let hint = if kept > 0 {
                    format!(
                        "check the network and run the same command again: it goes on after the {kept} bytes that are here"
                    )
                } else {
                    "check the network (a proxy is taken from HTTPS_PROXY and NO_PROXY) and run the same command again"
                        .to_owned()
                };
                return Err(failed(remote, &message, &hint));
            }
        }
    }
}

fn failed(remote: &RemoteFile, message: &str, hint: &str) -> PullError {
    PullError::Remote {
        from: remote.shown.clone(),
        message: crate::protocol::sanitize::clean_line(message).into_owned(),
        hint: hint.to_owned(),
    }
}

async fn attempt(
    remote: &RemoteFile,
    client: &Client,
    partial: &mut Partial,
    there: Option<u64>,
    tell: &mut (dyn FnMut(PullProgress) + Send),
) -> Result<Fetched, Stop> {
    let note = partial.note(&remote.shown).filter(|note| note.state.is_some());
    let (response, sha256) = request(remote, client, note.as_ref().map(|note| (partial.length(), note))).await?;
    if let (Some(expected), Some(found)) = (&remote.sha256, &sha256)
        && expected != found
    {
        // Known before a byte is fetched.
        let (what, found, expected) = (remote.shown.clone(), found.clone(), expected.clone());
        return Err(PullError::Checksum { what, found, expected }.into());
    }
    let known = remote.sha256.is_some() || sha256.is_some();
    let total = total_of(&response);
    if known && there.is_some() && total == there {
        return Ok(Fetched {
            sha256,
            maybe_there: true,
        });
    }
    let goes_on = match response.status() {
        StatusCode::PARTIAL_CONTENT => note.is_some_and(|note| {
            range_start(&response) == Some(partial.length()) && (note.total.is_none() || note.total == total)
        }),
        // All of it is here already, or what is here is too long.
        StatusCode::RANGE_NOT_SATISFIABLE => {
            if total == Some(partial.length()) {
                return Ok(Fetched {
                    sha256,
                    maybe_there: false,
                });
            }
            partial.restart(&Note::default())?;
            return Err(passing("the file there has another length now; it is fetched anew"));
        }
        _ => false,
    };
    if !goes_on {
        if response.status() == StatusCode::PARTIAL_CONTENT {
            partial.restart(&Note::default())?;
            return Err(passing(
                "the server sent another part than was asked for; it is fetched anew",
            ));
        }
        partial.restart(&Note {
            from: remote.shown.clone(),
            state: state_of(response.headers()),
            total,
        })?;
    }
    room(partial, total)?;
    receive(remote, response, partial, total, tell).await?;
    Ok(Fetched {
        sha256,
        maybe_there: false,
    })
}

/// Sends the request and follows redirects; gives the answer and the SHA-256 that the hub names on the way.
async fn request(
    remote: &RemoteFile,
    client: &Client,
    from: Option<(u64, &Note)>,
) -> Result<(Response, Option<String>), Stop> {
    let mut url = remote.url.clone();
    let mut sha256 = None;
    for _ in 0..=MOST_REDIRECTS {
        // Packed bytes would have other ranges than the file.
        let mut request = client.get(url.clone()).header(ACCEPT_ENCODING, "identity");
        if let Some((start, note)) = from {
            request = request.header(RANGE, format!("bytes={start}-"));
            request = request.header(IF_RANGE, note.state.as_deref().unwrap_or_default());
        }
        if let Some(token) = remote.token.as_ref().filter(|_| url.origin() == remote.url.origin()) {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
            let mut value =
                value.map_err(|_| failed(remote, "HF_TOKEN has characters that no token has", "set it again"))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let response = match tokio::time::timeout(remote.limits.silence, request.send()).await {
            Err(_) => return Err(passing("the server does not answer")),
            Ok(Err(error)) => {
                return Err(passing(&format!(
                    "the server cannot be reached: {}",
                    http::cause(&error)
                )));
            }
            Ok(Ok(response)) => response,
        };
        // The hub names the sum where it sends on to where the bytes lie.
        if remote.page.is_some() && url.origin() == remote.url.origin() {
            sha256 = sha256.or_else(|| linked_sum(response.headers()));
        }
        let status = response.status();
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            url = next_place(remote, &url, &response)?;
            continue;
        }
        if status.is_success() || status == StatusCode::RANGE_NOT_SATISFIABLE {
            return Ok((response, sha256));
        }
        return Err(refused(remote, &response));
    }
    let hint = "check the address in a browser";
    Err(failed(remote, "it is sent from place to place without end", hint).into())
}

fn next_place(remote: &RemoteFile, from: &Url, response: &Response) -> Result<Url, Stop> {
    let to = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let to = to.and_then(|to| from.join(to).ok());
    let hint = "check the address in a browser";
    let to = to.ok_or_else(|| failed(remote, "it is sent on, but not said where to", hint))?;
    let encrypted_until_now = from.scheme() == "https";
    match to.scheme() {
        "https" => Ok(to),
        "http" if !encrypted_until_now => Ok(to),
        _ => Err(failed(
            remote,
            &format!("it is sent on to {}, which is not encrypted", show(&to)),
            hint,
        )
        .into()),
    }
}

fn refused(remote: &RemoteFile, response: &Response) -> Stop {
    let status = response.status();
    let words = format!("HTTP {}", status.as_u16());
    let lasting = |message: &str, hint: &str| Stop::Lasting(failed(remote, message, hint));
    match (status.as_u16(), &remote.page) {
        (404, Some(page)) => lasting(
            &format!("there is no such file ({words})"),
            &format!("look for its name and revision at {page}; a private repository needs HF_TOKEN"),
        ),
        (404 | 410, None) => lasting(
            &format!("there is no such file ({words})"),
            "check the address in a browser",
        ),
        (401 | 403, Some(page)) if remote.token.is_some() => lasting(
            &format!("the token does not open it ({words})"),
            &format!("accept the model's terms at {page}, or set HF_TOKEN to a token that may read it"),
        ),
        (401 | 403, Some(page)) => lasting(
            &format!("it is private, or its terms must be accepted first ({words})"),
            &format!("accept them at {page} and set HF_TOKEN (it is sent to the hub alone and never recorded)"),
        ),
        (401 | 403 | 407, None) => lasting(
            &format!("the server lets nobody in ({words})"),
            "fetch the file with a program that can log in there, and bring it in with --from",
        ),
        (408 | 425 | 429 | 500..=599, _) => {
            let wait = response
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok());
            Stop::Passing {
                message: format!("the server is busy or broken ({words})"),
                wait: wait.and_then(|value| retry_after(value, jiff::Timestamp::now())),
            }
        }
        _ => lasting(
            &format!("the server refuses ({words})"),
            "check the address in a browser",
        ),
    }
}

fn passing(message: &str) -> Stop {
    Stop::Passing {
        message: message.to_owned(),
        wait: None,
    }
}

async fn receive(
    remote: &RemoteFile,
    mut response: Response,
    partial: &mut Partial,
    total: Option<u64>,
    tell: &mut (dyn FnMut(PullProgress) + Send),
) -> Result<(), Stop> {
    let page = text_of(response.headers(), CONTENT_TYPE.as_str()).starts_with("text/html");
    // The first bytes are kept back until they show what they are.
    let mut head = Vec::new();
    let mut told = Instant::now() - TELL;
    loop {
        let chunk = match tokio::time::timeout(remote.limits.silence, response.chunk()).await {
            Err(_) => return Err(passing("nothing more came")),
            Ok(Err(error)) => return Err(passing(&format!("the connection broke: {}", http::cause(&error)))),
            Ok(Ok(chunk)) => chunk,
        };
        let over = chunk.is_none();
        let bytes = chunk.unwrap_or_default();
        if partial.length() == 0 {
            head.extend_from_slice(&bytes);
            if head.len() < MAGIC.len() && !over {
                continue;
            }
            if !head.starts_with(MAGIC) {
                return Err(no_model(remote, &head, page).into());
            }
            partial.append(&std::mem::take(&mut head))?;
        } else {
            partial.append(&bytes)?;
        }
        let done = partial.length();
        if total.is_some_and(|total| done > total) {
            partial.restart(&Note::default())?;
            return Err(passing("more came than the server said there is; it is fetched anew"));
        }
        if told.elapsed() >= TELL || over {
            told = Instant::now();
            tell(PullProgress {
                stage: Stage::Fetching,
                done,
                total: total.unwrap_or(0),
            });
        }
        if over {
            return match total {
                Some(total) if done < total => Err(passing("the connection ended too early")),
                _ => Ok(()),
            };
        }
    }
}

fn no_model(remote: &RemoteFile, head: &[u8], page: bool) -> PullError {
    let start = String::from_utf8_lossy(&head[..head.len().min(16)]).into_owned();
    let (message, hint) = if page || start.trim_start().starts_with('<') {
        (
            "a web page came in place of a model",
            "give the address of the file itself, not of a page about it",
        )
    } else if start.starts_with("version https:") {
        (
            "a Git LFS pointer came in place of a model",
            "give the address that serves the file itself (on a hub: /resolve/, not /raw/)",
        )
    } else {
        ("what came is no GGUF file", "give the address of a .gguf file")
    };
    failed(remote, &format!("{message} (it begins with {start:?})"), hint)
}

/// Whether the rest fits on the disk, as far as that can be told.
fn room(partial: &Partial, total: Option<u64>) -> Result<(), PullError> {
    let needed = total.unwrap_or(0).saturating_sub(partial.length());
    match free_bytes(partial.path()) {
        Some(free) if free < needed => Err(PullError::NoRoom {
            path: partial.path().display().to_string(),
            needed,
            free,
        }),
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(not(target_os = "linux"))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// The server's name for the state of a file: a strong ETag, or when it was last changed.
fn state_of(headers: &HeaderMap) -> Option<String> {
    let tag = text_of(headers, ETAG.as_str());
    let date = text_of(headers, LAST_MODIFIED.as_str());
    // A weak tag promises less than equal bytes.
    let strong = !tag.is_empty() && !tag.starts_with("W/");
    let state = if strong { tag } else { date };
    (!state.is_empty()).then(|| state.to_owned())
}

/// The SHA-256 that the hub names for a file in its large-file storage.
fn linked_sum(headers: &HeaderMap) -> Option<String> {
    let tag = text_of(headers, "x-linked-etag")
        .trim_start_matches("W/")
        .trim_matches('"');
    let tag = tag.to_ascii_lowercase();
    is_sha256(&tag).then_some(tag)
}

/// Bytes of the whole file.
fn total_of(response: &Response) -> Option<u64> {
    let range = text_of(response.headers(), CONTENT_RANGE.as_str());
    if !range.is_empty() {
        return range.rsplit_once('/')?.1.trim().parse().ok();
    }
    (response.status() == StatusCode::OK)
        .then(|| response.content_length())
        .flatten()
}

/// Where a part begins.
fn range_start(response: &Response) -> Option<u64> {
    let range = text_of(response.headers(), CONTENT_RANGE.as_str());
    range.strip_prefix("bytes ")?.split_once('-')?.0.trim().parse().ok()
}
