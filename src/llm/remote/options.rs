//! How a remote model is spoken to: key, time limits, retries; from the options, else the environment, else defaults.
//!
//! Owns the defaults and the names of the variables. Must never show a key.

use std::time::Duration;

use super::Dialect;
use crate::config::ServerSettings;
use crate::llm::Secret;

/// How remote models are spoken to. What is `None` has a default; `[server]` of `config.toml` and its
/// variables set most of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteOptions {
    /// The key, in place of the one in the environment (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, each also with `AUTOMEM_` before it).
    pub key: Option<Secret>,
    /// Time to connect; 10 seconds.
    pub connect: Option<Duration>,
    /// Time until the answer begins; 300 seconds: long prompts take long on a CPU.
    pub first_byte: Option<Duration>,
    /// Time between two pieces of an answer; 120 seconds.
    pub between: Option<Duration>,
    /// Time of one try as a whole; 1800 seconds.
    pub whole: Option<Duration>,
    /// Tries after the first; 4.
    pub retries: Option<u32>,
    /// The first wait before another try, doubled each time; half a second.
    pub backoff: Option<Duration>,
    /// Time that may be spent waiting between tries, all together; 120 seconds.
    pub patience: Option<Duration>,
}

/// The same, settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::llm) struct Settings {
    pub(in crate::llm) key: Option<Secret>,
    pub(in crate::llm) connect: Duration,
    pub(in crate::llm) first_byte: Duration,
    pub(in crate::llm) between: Duration,
    pub(in crate::llm) whole: Duration,
    pub(in crate::llm) retries: u32,
    pub(in crate::llm) backoff: Duration,
    pub(in crate::llm) patience: Duration,
}

impl Settings {
    /// Settles what the options leave open. `variable` reads the environment.
    pub(in crate::llm) fn settle(
        options: &RemoteOptions,
        dialect: &Dialect,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let seconds = |given: Option<Duration>, default: u64| given.unwrap_or(Duration::from_secs(default));
        let from_environment = || {
            dialect
                .keys
                .iter()
                .find_map(|name| set(name))
                .map(|key| Secret::new(key.trim()))
        };
        Self {
            key: options.key.clone().or_else(from_environment),
            connect: seconds(options.connect, 10),
            first_byte: seconds(options.first_byte, 300),
            between: seconds(options.between, 120),
            whole: seconds(options.whole, 1800),
            retries: options.retries.unwrap_or(4),
            backoff: options.backoff.unwrap_or(Duration::from_millis(500)),
            patience: options.patience.unwrap_or(Duration::from_secs(120)),
        }
    }
}

impl From<&ServerSettings> for RemoteOptions {
    fn from(settings: &ServerSettings) -> Self {
        Self {
            connect: Some(Duration::from_secs(settings.connect_s)),
            first_byte: Some(Duration::from_secs(settings.first_byte_s)),
            between: Some(Duration::from_secs(settings.idle_s)),
            retries: Some(settings.retries),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(options: &RemoteOptions, set: &[(&str, &str)]) -> Settings {
        Settings::settle(options, &crate::llm::openai::DIALECT, &|name| {
            set.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn options_win_over_defaults_and_the_own_key_over_the_general_one() {
        let none = RemoteOptions::default();
        let settings = settle(&none, &[]);
        assert_eq!(
            (settings.retries, settings.connect.as_secs(), settings.key),
            (4, 10, None)
        );
        let set = [
            ("OPENAI_API_KEY", "sk-general"),
            ("AUTOMEM_OPENAI_API_KEY", " sk-own\n"),
        ];
        let given = RemoteOptions {
            retries: Some(2),
            ..none
        };
        let settings = settle(&given, &set);
        assert_eq!((settings.retries, settings.key), (2, Some(Secret::new("sk-own"))));
    }

    #[test]
    fn keys_are_not_shown() {
        let settings = settle(&RemoteOptions::default(), &[("OPENAI_API_KEY", "sk-secret")]);
        assert!(!format!("{settings:?}").contains("sk-secret"));
    }
}
