//! How a remote model is spoken to: key, time limits, retries; from the options, else the environment, else defaults.
//!
//! Owns the defaults and the names of the variables. Must never show a key.

use std::time::Duration;

use crate::llm::Secret;

/// Variables that hold the key; the first that is set counts.
pub(super) const KEYS: [&str; 2] = ["AUTOMEM_OPENAI_API_KEY", "OPENAI_API_KEY"];
/// The variable that holds the base address of models given without one.
pub(super) const BASE: &str = "OPENAI_BASE_URL";
const CONNECT: &str = "AUTOMEM_OPENAI_CONNECT_SECONDS";
const FIRST: &str = "AUTOMEM_OPENAI_FIRST_SECONDS";
const BETWEEN: &str = "AUTOMEM_OPENAI_BETWEEN_SECONDS";
const WHOLE: &str = "AUTOMEM_OPENAI_CALL_SECONDS";
const RETRIES: &str = "AUTOMEM_OPENAI_RETRIES";

/// How remote models are spoken to. What is `None` is taken from the environment, else a default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteOptions {
    /// The key, in place of `AUTOMEM_OPENAI_API_KEY` or `OPENAI_API_KEY`.
    pub key: Option<Secret>,
    /// Time to connect; `AUTOMEM_OPENAI_CONNECT_SECONDS`, 10 seconds.
    pub connect: Option<Duration>,
    /// Time until the answer begins; `AUTOMEM_OPENAI_FIRST_SECONDS`, 300 seconds: long prompts take long on a CPU.
    pub first_byte: Option<Duration>,
    /// Time between two pieces of an answer; `AUTOMEM_OPENAI_BETWEEN_SECONDS`, 120 seconds.
    pub between: Option<Duration>,
    /// Time of one try as a whole; `AUTOMEM_OPENAI_CALL_SECONDS`, 1800 seconds.
    pub whole: Option<Duration>,
    /// Tries after the first; `AUTOMEM_OPENAI_RETRIES`, 4.
    pub retries: Option<u32>,
    /// The first wait before another try, doubled each time; half a second.
    pub backoff: Option<Duration>,
    /// Time that may be spent waiting between tries, all together; 120 seconds.
    pub patience: Option<Duration>,
}

/// The same, settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) key: Option<Secret>,
    pub(super) connect: Duration,
    pub(super) first_byte: Duration,
    pub(super) between: Duration,
    pub(super) whole: Duration,
    pub(super) retries: u32,
    pub(super) backoff: Duration,
    pub(super) patience: Duration,
}

impl Settings {
    /// Settles what the options leave open. `variable` reads the environment.
    pub(super) fn settle(options: &RemoteOptions, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let seconds = |given: Option<Duration>, name: &str, default: u64| match (given, set(name)) {
            (Some(given), _) => Ok(given),
            (None, None) => Ok(Duration::from_secs(default)),
            (None, Some(text)) => text
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|seconds| *seconds > 0.0 && *seconds <= 1e6)
                .map(Duration::from_secs_f64)
                .ok_or_else(|| format!("{name} is no number of seconds; write {name}={default}, or unset it")),
        };
        let retries = match (options.retries, set(RETRIES)) {
            (Some(given), _) => given,
            (None, None) => 4,
            (None, Some(text)) => text
                .trim()
                .parse::<u32>()
                .ok()
                .filter(|retries| *retries <= 100)
                .ok_or_else(|| format!("{RETRIES} is no number up to 100; write {RETRIES}=4, or unset it"))?,
        };
        let from_environment = || {
            KEYS.iter()
                .find_map(|name| set(name))
                .map(|key| Secret::new(key.trim()))
        };
        Ok(Self {
            key: options.key.clone().or_else(from_environment),
            connect: seconds(options.connect, CONNECT, 10)?,
            first_byte: seconds(options.first_byte, FIRST, 300)?,
            between: seconds(options.between, BETWEEN, 120)?,
            whole: seconds(options.whole, WHOLE, 1800)?,
            retries,
            backoff: options.backoff.unwrap_or(Duration::from_millis(500)),
            patience: options.patience.unwrap_or(Duration::from_secs(120)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(options: &RemoteOptions, set: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::settle(options, &|name| {
            set.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn options_win_over_the_environment_and_that_over_defaults() {
        let none = RemoteOptions::default();
        let settings = settle(&none, &[]).unwrap();
        assert_eq!(
            (settings.retries, settings.connect.as_secs(), settings.key),
            (4, 10, None)
        );
        let set = [
            (FIRST, "0.5"),
            (RETRIES, "0"),
            ("OPENAI_API_KEY", "sk-general"),
            ("AUTOMEM_OPENAI_API_KEY", " sk-own\n"),
        ];
        let settings = settle(&none, &set).unwrap();
        assert_eq!((settings.retries, settings.first_byte.as_millis()), (0, 500));
        assert_eq!(settings.key, Some(Secret::new("sk-own")));
        let given = RemoteOptions {
            retries: Some(2),
            ..none
        };
        assert_eq!(settle(&given, &set).unwrap().retries, 2);
    }

    #[test]
    fn wrong_values_are_named_and_keys_are_not() {
        let none = RemoteOptions::default();
        for set in [(BETWEEN, "soon"), (BETWEEN, "-1"), (WHOLE, "inf"), (RETRIES, "many")] {
            let error = settle(&none, &[set]).unwrap_err();
            assert!(error.contains(set.0), "{error}");
        }
        let settings = settle(&none, &[("OPENAI_API_KEY", "sk-secret")]).unwrap();
        assert!(!format!("{settings:?}").contains("sk-secret"));
    }
}
