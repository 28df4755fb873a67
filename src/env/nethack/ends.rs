//! How an episode ended, in words: the status, and what the game's list of the dead says.

use super::observation::Observation;
use super::text::latin1;

/// How an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::env) enum End {
    /// The game itself is over: mostly by death.
    Death,
    /// The world cut it off.
    Aborted,
    /// The task was done.
    Success,
}

impl End {
    /// NLE's name of it.
    pub(in crate::env) fn name(self) -> &'static str {
        match self {
            Self::Death => "DEATH",
            Self::Aborted => "ABORTED",
            Self::Success => "TASK_SUCCESSFUL",
        }
    }
}

/// The reason of an end, such as `DEATH: died. Killed by a jackal.`; the status alone where the screen tells no more.
pub(in crate::env) fn reason(end: End, seen: &Observation) -> String {
    match told(&latin1(&seen.tty_chars)) {
        Some(told) => format!("{}: {told}", end.name()),
        None => end.name().to_owned(),
    }
}

/// What a list of the dead says of the player. Its rows go on without a break at the screen's edge.
fn told(screen: &str) -> Option<String> {
    let words: Vec<&str> = screen
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .skip_while(|word| !word.starts_with("Agent-"))
        .skip(1)
        .collect();
    // The line ends with hit points, such as `- [16]` or `12 [16]`.
    let most = words.iter().position(|word| {
        word.strip_prefix('[')
            .and_then(|word| word.strip_suffix(']'))
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })?;
    let line = words.get(..most.checked_sub(1)?)?.join(" ");
    let (first, rest) = line.split_once(". ").unwrap_or((line.trim_end_matches('.'), ""));
    let what = first.split_once(" in ").map_or(first, |(what, _)| what);
    let what = what.split_once(" [max level").map_or(what, |(what, _)| what);
    (!what.is_empty()).then(|| format!("{what}. {rest}").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn screen(rows: &[&str]) -> Observation {
        let mut seen = Observation::default();
        for (row, text) in rows.iter().enumerate() {
            seen.tty_chars[row * 80..][..text.len()].copy_from_slice(text.as_bytes());
        }
        seen
    }

    const HEAD: &str = " No  Points     Name                                                   Hp [max]";

    #[test]
    fn the_list_of_the_dead_is_read() {
        for (rows, wanted) in [
            (
                [
                    "            0  Agent-Bar-Hum-Fem-Neu died in The Dungeons of Doom on",
                    "              level 1.  Killed by a jackal.                           -  [16]",
                ],
                "DEATH: died. Killed by a jackal.",
            ),
            (
                [
                    "            0  Agent-Bar-Hum-Fem-Neu quit in The Dungeons of Doom on",
                    "              level 1 [max 2].                                        12 [16]",
                ],
                "DEATH: quit.",
            ),
            (
                [
                    "           80  Agent-Val-Hum-Fem-Law escaped the dungeon [max level 2].  9 [16]",
                    "",
                ],
                "DEATH: escaped the dungeon.",
            ),
            (
                [
                    "           80  Agent-Val-Hum-Fem-Law died in The Gnomish Mines on level 3. ",
                    "               Killed by a dwarf, while sleeping.                       -  [7]",
                ],
                "DEATH: died. Killed by a dwarf, while sleeping.",
            ),
        ] {
            assert_eq!(reason(End::Death, &screen(&[HEAD, "", rows[0], "", rows[1]])), wanted);
        }
    }

    #[test]
    fn a_line_may_be_broken_at_the_edge() {
        let rows = [
            "                           1         32  Agent-Kni-Hum-Fem-Law died in The Dunge",
            "ons of Doom on",
            "                                        level 1.  Killed by a giant rat.",
            "                -  [16]",
        ];
        assert_eq!(
            reason(End::Death, &screen(&rows)),
            "DEATH: died. Killed by a giant rat."
        );
    }

    #[test]
    fn other_screens_tell_the_status_alone() {
        assert_eq!(reason(End::Aborted, &screen(&["Be seeing you..."])), "ABORTED");
        assert_eq!(reason(End::Death, &screen(&["Agent-x [16]"])), "DEATH");
        assert_eq!(reason(End::Success, &screen(&[HEAD])), "TASK_SUCCESSFUL");
    }

    proptest! {
        #[test]
        fn no_screen_makes_it_panic(text in "(Agent-| |\\[|\\]|[0-9. a-z]|in |\\PC){0,80}") {
            told(&text);
        }
    }
}
