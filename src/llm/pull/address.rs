//! Where a model file lies on the network: `hf:owner/repo/path/file.gguf[@revision]`, or a plain address.
//!
//! Owns how that is written and what may be shown of it. Must not connect.

use std::time::Duration;

use reqwest::Url;

use super::PullError;
use crate::llm::Secret;

/// How a file on a model hub is written, for people.
pub const HF_FORM: &str = "hf:owner/repo/path/file.gguf[@revision]";
/// The hub, unless `HF_ENDPOINT` names a mirror.
const HUB: &str = "https://huggingface.co";
const TOKEN: &str = "HF_TOKEN";
const ENDPOINT: &str = "HF_ENDPOINT";

/// A model file on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    pub(super) url: Url,
    /// The address without anything secret.
    pub(super) shown: String,
    /// Sent to the first host alone.
    pub(super) token: Option<Secret>,
    /// The page of the file on the hub; `None` for a plain address.
    pub(super) page: Option<String>,
    /// What the file's SHA-256 must be, as far as it is known beforehand.
    pub(super) sha256: Option<String>,
    pub(super) limits: FetchLimits,
    name: String,
}

/// How long a fetch is patient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Time to connect.
    pub connect: Duration,
    /// Time without a single byte.
    pub silence: Duration,
    /// Tries in a row that brought nothing.
    pub retries: u32,
    /// The first wait between two tries, doubled each time.
    pub backoff: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(60),
            retries: 5,
            backoff: Duration::from_millis(500),
        }
    }
}

impl RemoteFile {
    /// Reads an address; `None` when the text is of another form. `variable` reads the environment (`HF_TOKEN`,
    /// `HF_ENDPOINT`).
    ///
    /// # Errors
    /// [`PullError::Address`] when it is one that makes no sense.
    pub fn parse(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<Result<Self, PullError>> {
        if let Some(rest) = text.strip_prefix("hf:") {
            return Some(hub_file(rest, variable).map_err(PullError::Address));
        }
        let plain = text.starts_with("http://") || text.starts_with("https://");
        plain.then(|| plain_file(text).map_err(PullError::Address))
    }

    /// The same, with a SHA-256 that the file must have.
    ///
    /// # Errors
    /// [`PullError::Address`] when it is none.
    pub fn with_sha256(mut self, sum: &str) -> Result<Self, PullError> {
        let sum = sum.trim().to_ascii_lowercase();
        if !is_sha256(&sum) {
            let words = "a SHA-256 has 64 digits 0-9 and a-f; copy it whole";
            return Err(PullError::Address(words.to_owned()));
        }
        self.sha256 = Some(sum);
        Ok(self)
    }

    /// The same, with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: FetchLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The file's own name, without `.gguf`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address, fit to be shown.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// Whether a text is a SHA-256 in lower-case hexadecimal.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// An address without user name, password and what stands behind its path, all of which may be secret.
pub(super) fn show(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    crate::protocol::sanitize::clean_line(url.as_str()).into_owned()
}

fn hub_file(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<RemoteFile, String> {
    let set = |name: &str| {
        variable(name)
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    };
    let (path, revision) = match text.rsplit_once('@') {
        Some((path, revision)) if is_gguf(path) => (path, revision),
        _ => (text, "main"),
    };
    let no_file = || format!("`hf:{text}` names no file; write {HF_FORM}");
    let parts: Vec<&str> = path.split('/').collect();
    let fine = |part: &&str| !part.is_empty() && *part != "." && *part != ".." && !part.chars().any(char::is_control);
    let [owner, repository, inside @ ..] = parts.as_slice() else {
        return Err(no_file());
    };
    if inside.is_empty() || revision.is_empty() || !parts.iter().all(fine) {
        return Err(no_file());
    }
    let name = file_name(inside.last().copied().unwrap_or_default())?;
    let endpoint = set(ENDPOINT).unwrap_or_else(|| HUB.to_owned());
    let base = Url::parse(&endpoint)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
        .ok_or_else(|| format!("{ENDPOINT} is no address; write {ENDPOINT}={HUB}, or unset it"))?;
    let place = |kind: &str| {
        let mut url = base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments
                .pop_if_empty()
                .extend([owner, repository, kind, revision])
                .extend(inside);
        }
        url
    };
    let url = place("resolve");
    let token = set(TOKEN).map(Secret::new);
    // A token must not travel where anybody on the way can read it.
    let safe = url.scheme() == "https" || crate::llm::http::is_this_machine(&url);
    if token.is_some() && !safe {
        return Err(format!(
            "{TOKEN} would be sent unencrypted; use an https address in {ENDPOINT}, or unset {TOKEN}"
        ));
    }
    Ok(RemoteFile {
        shown: show(&url),
        page: Some(show(&place("blob"))),
        url,
        token,
        sha256: None,
        limits: FetchLimits::default(),
        name,
    })
}

fn plain_file(text: &str) -> Result<RemoteFile, String> {
    let url = Url::parse(text).map_err(|error| format!("the address cannot be read ({error})"))?;
    let last = url.path_segments().and_then(Iterator::last).unwrap_or_default();
    let name = file_name(last)?;
    Ok(RemoteFile {
        shown: show(&url),
        page: None,
        token: None,
        sha256: None,
        limits: FetchLimits::default(),
        name,
        url,
    })
}

fn is_gguf(path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("gguf"))
}

/// A file's name without its ending; refuses what could not be used alone.
fn file_name(file: &str) -> Result<String, String> {
    if !is_gguf(file) {
        return Err(format!(
            "`{file}` is no GGUF file; give the address of a file that ends in .gguf"
        ));
    }
    let stem = &file[..file.len() - ".gguf".len()];
    let is_number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((rest, of)) = stem.rsplit_once("-of-")
        && let Some((_, number)) = rest.rsplit_once('-')
        && is_number(of)
        && is_number(number)
    {
        return Err(format!(
            "`{file}` is only part {number} of {of} of a model; fetch all parts, join them with `llama-gguf-split --merge`, \
             and bring the whole file in with --from"
        ));
    }
    Ok(stem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, set: &[(&str, &str)]) -> Result<RemoteFile, String> {
        let variable = |name: &str| {
            set.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        RemoteFile::parse(text, &variable)
            .unwrap()
            .map_err(|error| error.to_string())
    }

    #[test]
    fn hub_files_are_read() {
        let file = parse("hf:unsloth/Qwen-GGUF/sub dir/q-Q4.gguf", &[]).unwrap();
        assert_eq!(
            file.url.as_str(),
            "https://huggingface.co/unsloth/Qwen-GGUF/resolve/main/sub%20dir/q-Q4.gguf"
        );
        assert_eq!((file.name(), &file.token), ("q-Q4", &None));
        let set = [(ENDPOINT, "https://mirror.example/hf/"), (TOKEN, " hf_secret\n")];
        let file = parse("hf:o/r/f@x.GGUF@refs/pr/1", &set).unwrap();
        assert_eq!(
            file.url.as_str(),
            "https://mirror.example/hf/o/r/resolve/refs%2Fpr%2F1/f@x.GGUF"
        );
        assert_eq!((file.name(), &file.token), ("f@x", &Some(Secret::new("hf_secret"))));
        assert_eq!(
            file.page.as_deref(),
            Some("https://mirror.example/hf/o/r/blob/refs%2Fpr%2F1/f@x.GGUF")
        );
        assert!(!format!("{file:?}").contains("hf_secret"));
    }

    #[test]
    fn plain_addresses_are_read_and_shown_without_secrets() {
        let file = parse(
            "https://user:pw@h.example/a/b/m-1.gguf?sig=secret#x",
            &[(TOKEN, "hf_secret")],
        )
        .unwrap();
        assert_eq!((file.name(), file.shown()), ("m-1", "https://h.example/a/b/m-1.gguf"));
        assert_eq!(file.token, None, "the hub's token is for the hub");
        assert!(RemoteFile::parse("smollm2-135m", &|_| None).is_none());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, words) in [
            ("hf:", HF_FORM),
            ("hf:owner/repo", HF_FORM),
            ("hf:o/r/../../x.gguf", HF_FORM),
            ("hf:o/r//x.gguf", HF_FORM),
            ("hf:o/r/x.gguf@", HF_FORM),
            ("hf:o/r/model.safetensors", ".gguf"),
            ("hf:o/r/m-00001-of-00003.gguf", "part 00001 of 00003"),
            ("https://h/", ".gguf"),
            ("https://", "cannot be read"),
        ] {
            let error = parse(text, &[]).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let set = [(ENDPOINT, "http://mirror.example"), (TOKEN, "hf_secret")];
        let error = parse("hf:o/r/x.gguf", &set).unwrap_err();
        assert!(error.contains("unencrypted") && !error.contains("hf_secret"), "{error}");
        assert!(
            parse("hf:o/r/x.gguf", &[(ENDPOINT, "nowhere")])
                .unwrap_err()
                .contains(ENDPOINT)
        );
        let file = parse("https://h/x.gguf", &[]).unwrap();
        assert!(file.clone().with_sha256("abc").is_err());
        let sum = "B".repeat(64);
        assert_eq!(file.with_sha256(&sum).unwrap().sha256, Some("b".repeat(64)));
    }
}
