//! The games that are installed apart: NetHack's engines, MiniHack's levels.

use super::{Finding, State};
use crate::env::nethack::install;
use crate::env::setup::{How, Seen, look};

const GAMES: &str = "games";

/// Each part of NetHack and MiniHack, with what mends it.
pub(super) fn games() -> Vec<Finding> {
    match install::data_dir() {
        Ok(data) => look(&data).into_iter().map(finding).collect(),
        Err(error) => {
            let fix = format!("set {} to a folder of yours", install::VARIABLE);
            vec![Finding::new(GAMES, "nethack", State::Note, error.to_string()).fix(fix)]
        }
    }
}

fn finding(seen: Seen) -> Finding {
    let state = match seen.how {
        How::Fine => State::Ok,
        How::Absent => State::Note,
        How::Broken => State::Broken,
    };
    let finding = Finding::new(GAMES, seen.name, state, seen.said);
    match seen.fix {
        Some(fix) => finding.fix(fix),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_installed_is_a_note_and_what_does_not_work_is_broken() {
        let seen = |how, fix: Option<&str>| Seen {
            name: "nle 1.3.0".to_owned(),
            how,
            said: "so it is".to_owned(),
            fix: fix.map(str::to_owned),
        };
        let state = |how| finding(seen(how, None)).state;
        assert_eq!(state(How::Fine), State::Ok);
        assert_eq!(state(How::Absent), State::Note);
        let broken = finding(seen(How::Broken, Some("automem setup nethack")));
        assert_eq!(
            (broken.state, broken.fix.as_deref()),
            (State::Broken, Some("automem setup nethack"))
        );
    }
}
