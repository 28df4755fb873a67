//! When to try again: exponential backoff with jitter, what the server asks for, and where patience ends.
//!
//! Owns the arithmetic. Must not sleep.

use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// No wait of our own is longer.
const LONGEST: Duration = Duration::from_secs(20);

/// What is left of a call's tries.
#[derive(Debug, Clone)]
pub(super) struct Retries {
    left: u32,
    next: Duration,
    patience: Duration,
}

/// Why there is no further try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GiveUp {
    /// All are used.
    Used,
    /// The server asks for a longer wait than there is patience for.
    TooLong(Duration),
}

impl Retries {
    /// A call's tries.
    pub(super) fn new(retries: u32, backoff: Duration, patience: Duration) -> Self {
        Self {
            left: retries,
            next: backoff,
            patience,
        }
    }

    /// How long to wait before the next try. `asked` is the server's own wish, `chance` a number from 0 to 1.
    pub(super) fn wait(&mut self, asked: Option<Duration>, chance: f64) -> Result<Duration, GiveUp> {
        self.left = self.left.checked_sub(1).ok_or(GiveUp::Used)?;
        // Many episodes that were refused together must not come back together.
        let own = self.next.min(LONGEST).mul_f64(0.75 + chance.clamp(0.0, 1.0) / 2.0);
        self.next = self.next.saturating_mul(2).min(LONGEST);
        // Not earlier than asked, and a little scattered after it.
        let wait = asked.map_or(own, |asked| {
            asked + own.min(asked).mul_f64(chance.clamp(0.0, 1.0) / 4.0)
        });
        match self.patience.checked_sub(wait) {
            Some(patience) => {
                self.patience = patience;
                Ok(wait)
            }
            None => Err(asked.map_or(GiveUp::Used, GiveUp::TooLong)),
        }
    }
}

/// A number from 0 to 1 that differs from call to call and from thread to thread.
pub(super) fn chance() -> f64 {
    let bits = std::hash::RandomState::new().build_hasher().finish();
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Reads a `Retry-After` header: seconds, or a date.
pub(super) fn retry_after(value: &str, now: jiff::Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        // A century is as good as never, and fits.
        return (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(3e9)));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn waits_double_and_end() {
        let mut retries = Retries::new(3, MS(100), MS(10_000));
        let waits: Vec<_> = (0..4).map(|_| retries.wait(None, 0.5)).collect();
        assert_eq!(waits, [Ok(MS(100)), Ok(MS(200)), Ok(MS(400)), Err(GiveUp::Used)]);
        let mut low = Retries::new(1, MS(100), MS(10_000));
        let mut high = low.clone();
        assert_eq!((low.wait(None, 0.0), high.wait(None, 1.0)), (Ok(MS(75)), Ok(MS(125))));
        let mut long = Retries::new(99, MS(1), Duration::MAX);
        let longest = (0..99).map(|_| long.wait(None, 1.0).unwrap()).max();
        assert_eq!(longest, Some(LONGEST.mul_f64(1.25)));
    }

    #[test]
    fn the_server_is_heard_within_reason() {
        let mut retries = Retries::new(9, MS(100), MS(10_000));
        let wait = retries.wait(Some(MS(3000)), 1.0).unwrap();
        assert!((MS(3000)..MS(3100)).contains(&wait), "{wait:?}");
        assert_eq!(retries.wait(Some(MS(0)), 1.0), Ok(MS(0)));
        assert_eq!(retries.wait(Some(MS(8000)), 0.5), Err(GiveUp::TooLong(MS(8000))));
    }

    #[test]
    fn patience_is_spent_over_all_waits() {
        let mut retries = Retries::new(9, MS(100), MS(250));
        let waits: Vec<_> = (0..2).map(|_| retries.wait(None, 0.5)).collect();
        assert_eq!(waits, [Ok(MS(100)), Err(GiveUp::Used)]);
    }

    #[test]
    fn retry_after_comes_in_two_forms() {
        let now: jiff::Timestamp = "1994-11-06T08:49:30Z".parse().unwrap();
        assert_eq!(retry_after(" 7 ", now), Some(MS(7000)));
        assert_eq!(retry_after("0.5", now), Some(MS(500)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(MS(7000)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), Some(MS(0)));
        for wrong in ["", "soon", "-1", "NaN"] {
            assert_eq!(retry_after(wrong, now), None, "{wrong}");
        }
        assert!(retry_after("1e300", now).is_some());
    }

    #[test]
    fn chance_stays_in_its_range() {
        assert!((0..100).map(|_| chance()).all(|chance| (0.0..1.0).contains(&chance)));
    }
}
