//! What a refusal of the Messages interface means, and what to do about it.
//!
//! Owns the words. Must not try anything again.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;

use super::DIALECT;
use crate::llm::Secret;
use crate::llm::remote::{Failure, tidy};

/// What a refusal means.
pub(super) fn refusal(status: u16, body: &str, wait: Option<Duration>, key: Option<&Secret>) -> Failure {
    let value: Value = serde_json::from_str(body).unwrap_or_else(|_| body.into());
    let kind = value["error"]["type"].as_str().unwrap_or_default();
    let said = match &value["error"] {
        Value::String(text) => text.as_str(),
        error => error["message"]
            .as_str()
            .or(value["message"].as_str())
            .unwrap_or_default(),
    };
    // A body of another form is quoted as it is.
    let said = if said.is_empty() {
        value.as_str().unwrap_or_default()
    } else {
        said
    };
    let status = of_kind(kind).unwrap_or(status);
    let words = match tidy(said, key) {
        none if none.is_empty() => format!("HTTP {status}"),
        quoted => format!("HTTP {status}: {quoted}"),
    };
    match status {
        400 if said.to_ascii_lowercase().contains("credit balance") => Failure::lasting(format!(
            "the account has nothing left ({words}); look at its plan and its bills"
        )),
        400 => too_long(said, &words).unwrap_or_else(|| Failure::lasting(words)),
        401 => Failure::lasting(match key {
            Some(_) => format!("it refuses the key ({words}); check {}", DIALECT.keys()),
            None => format!(
                "it wants a key ({words}); set {} (it is never recorded)",
                DIALECT.keys()
            ),
        }),
        403 => Failure::lasting(format!(
            "it does not allow this ({words}); check what the key in {} may use",
            DIALECT.keys()
        )),
        404 => Failure::lasting(format!(
            "it does not know this model or address ({words}); check the model's name and {}",
            DIALECT.base
        )),
        413 => Failure::lasting(format!(
            "the request is too large for it ({words}); give a smaller token budget, or a smaller scaffold"
        )),
        429 => Failure::Passing {
            message: format!("it limits how much is asked ({words})"),
            wait,
        },
        529 => Failure::Passing {
            message: format!("it is overloaded ({words}); try again later"),
            wait,
        },
        408 | 409 | 500 | 502..=504 | 520..=528 => Failure::Passing { message: words, wait },
        _ => Failure::lasting(words),
    }
}

/// What an error inside a stream means.
pub(super) fn in_stream(error: &Value, key: Option<&Secret>) -> Failure {
    // One without a kind of its own is a stumble of the server's.
    refusal(500, &error.to_string(), None, key)
}

/// The status that belongs to a kind of error, which is all that a stream tells.
fn of_kind(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

/// A prompt, or a limit of the answer, that does not fit; with its numbers.
fn too_long(said: &str, words: &str) -> Option<Failure> {
    static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        [
            // prompt is too long: 212345 tokens > 200000 maximum
            r"too long: (?P<prompt>\d+) tokens > (?P<window>\d+)",
            // input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000
            r"context limit: (?P<prompt>\d+) \+ \d+ > (?P<window>\d+)",
            // max_tokens: 99999 > 64000, which is the maximum allowed number of output tokens
            r"max_tokens: \d+ > (?P<window>\d+)",
        ]
        .iter()
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
    });
    let found = PATTERNS.iter().find_map(|pattern| pattern.captures(said))?;
    let number = |name: &str| found.name(name)?.as_str().parse().ok();
    Some(Failure::TooLong {
        prompt: number("prompt"),
        window: number("window"),
        message: words.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(kind: &str, message: &str) -> String {
        serde_json::json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
    }

    #[test]
    fn statuses_have_their_cause_and_next_step() {
        for (status, kind, words) in [
            (401, "authentication_error", "ANTHROPIC_API_KEY"),
            (403, "permission_error", "may use"),
            (404, "not_found_error", "ANTHROPIC_BASE_URL"),
            (413, "request_too_large", "smaller"),
            (400, "invalid_request_error", "HTTP 400: wrong"),
            (402, "billing_error", "HTTP 402"),
        ] {
            match refusal(status, &body(kind, "wrong"), None, None) {
                Failure::Lasting { message } => assert!(message.contains(words), "{message}"),
                other => panic!("{status}: {other:?}"),
            }
        }
        for (status, kind) in [
            (429, "rate_limit_error"),
            (500, "api_error"),
            (529, "overloaded_error"),
            (503, ""),
        ] {
            let wait = Some(Duration::from_secs(3));
            let failure = refusal(status, &body(kind, "later"), wait, None);
            assert!(matches!(failure, Failure::Passing { wait: Some(_), .. }), "{status}");
        }
        let poor = body(
            "invalid_request_error",
            "Your credit balance is too low to access the API",
        );
        assert!(matches!(refusal(400, &poor, None, None), Failure::Lasting { message } if message.contains("bills")));
    }

    #[test]
    fn the_kind_says_more_than_the_status() {
        let overloaded: Value = serde_json::from_str(&body("overloaded_error", "Overloaded")).unwrap();
        assert!(matches!(in_stream(&overloaded, None), Failure::Passing { message, .. } if message.contains("529")));
        assert!(matches!(in_stream(&"broken".into(), None), Failure::Passing { .. }));
    }

    #[test]
    fn what_does_not_fit_gives_its_numbers() {
        for (said, numbers) in [
            (
                "prompt is too long: 212345 tokens > 200000 maximum",
                (Some(212_345), Some(200_000)),
            ),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
                (Some(188_240), Some(200_000)),
            ),
            (
                "max_tokens: 99999 > 64000, which is the maximum allowed number of output tokens for claude",
                (None, Some(64_000)),
            ),
        ] {
            match refusal(400, &body("invalid_request_error", said), None, None) {
                Failure::TooLong { prompt, window, .. } => assert_eq!((prompt, window), numbers, "{said}"),
                other => panic!("{said}: {other:?}"),
            }
        }
    }

    #[test]
    fn keys_and_control_characters_stay_out() {
        let key = Secret::new("sk-secret");
        let failure = refusal(
            401,
            &body("authentication_error", "invalid sk-secret \u{1b}[2J"),
            None,
            Some(&key),
        );
        assert!(!failure.message().contains("sk-secret") && !failure.message().contains('\u{1b}'));
        let failure = refusal(502, "<html>Bad gateway</html>", None, None);
        assert!(failure.message().contains("Bad gateway"));
    }
}
