//! The date the game is shown, always the same one: NetHack changes luck, the greeting and some monsters with the
//! phase of the moon, on a Friday 13th and at night.
//!
//! Owns which date that is and what follows from it. Must not ask a clock.

/// The date that is shown: 2026-07-07, 12:00 UTC. Neither new nor full moon by the game's rule, no Friday 13th, no
/// night.
pub(super) const SHOWN: i64 = 1_783_425_600;

/// The same as text, as a frame's `info` records it.
pub(super) const SHOWN_TEXT: &str = "2026-07-07T12:00:00Z";

/// An instant in UTC, broken down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
    /// Year.
    pub(super) year: i32,
    /// 1 to 12.
    pub(super) month: i32,
    /// 1 to 31.
    pub(super) day: i32,
    /// 0 to 23.
    pub(super) hour: i32,
    /// 0 to 59.
    pub(super) minute: i32,
    /// 0 to 59.
    pub(super) second: i32,
    /// 0 (Sunday) to 6.
    pub(super) week_day: i32,
    /// Days since the first of January.
    pub(super) year_day: i32,
}

/// Breaks seconds since 1970 down, in UTC.
pub(super) fn parts(seconds: i64) -> Parts {
    let Ok(at) = jiff::Timestamp::from_second(seconds) else {
        return parts(0);
    };
    let at = jiff::tz::Offset::UTC.to_datetime(at);
    Parts {
        year: i32::from(at.year()),
        month: i32::from(at.month()),
        day: i32::from(at.day()),
        hour: i32::from(at.hour()),
        minute: i32::from(at.minute()),
        second: i32::from(at.second()),
        week_day: i32::from(at.weekday().to_sunday_zero_offset()),
        year_day: i32::from(at.day_of_year()) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The game's rule: 0 is new moon, 4 is full moon.
    fn moon(at: &Parts) -> i32 {
        let golden = (at.year - 1900) % 19 + 1;
        let mut epact = (11 * golden + 18) % 30;
        if (epact == 25 && golden > 11) || epact == 24 {
            epact += 1;
        }
        ((((at.year_day + epact) * 6 + 11) % 177) / 22) & 7
    }

    #[test]
    fn the_date_shown_is_an_ordinary_noon() {
        let at = parts(SHOWN);
        assert_eq!((at.year, at.month, at.day, at.hour), (2026, 7, 7, 12));
        assert_eq!(SHOWN_TEXT.parse::<jiff::Timestamp>().unwrap().as_second(), SHOWN);
        assert!(![0, 4].contains(&moon(&at)), "the moon is {}", moon(&at));
        assert!(!(at.week_day == 5 && at.day == 13));
    }

    #[test]
    fn instants_are_broken_down() {
        let leap = parts(951_782_399);
        assert_eq!(
            (leap.year, leap.month, leap.day, leap.hour, leap.minute, leap.second),
            (2000, 2, 28, 23, 59, 59)
        );
        assert_eq!((leap.week_day, leap.year_day), (1, 58));
        assert_eq!(parts(i64::MAX).year, 1970);
    }
}
