//! What the terminal and tmux have to offer.

use std::process::{Command, Stdio};

use super::{Finding, State};
use crate::tui::{Abilities, Depth, LEAST_SIZE, PicturesFound};

const AREA: &str = "terminal";
const TMUX: &str = "tmux";

/// The terminal's abilities, and the variables behind them.
pub(super) fn terminal(abilities: &Abilities, get: impl Fn(&str) -> String) -> Vec<Finding> {
    let mut out = Vec::new();
    if abilities.is_terminal {
        let (columns, rows) = abilities.size.unwrap_or_default();
        let said = format!("{columns}x{rows}");
        out.push(if columns < LEAST_SIZE.0 || rows < LEAST_SIZE.1 {
            Finding::new(AREA, "size", State::Warn, said).fix(format!(
                "make it at least {}x{}; 140x30 shows all panes",
                LEAST_SIZE.0, LEAST_SIZE.1
            ))
        } else {
            Finding::ok(AREA, "size", said)
        });
    } else {
        out.push(Finding::new(
            AREA,
            "terminal",
            State::Note,
            "input or output is not a terminal: the screens need one, everything else does not",
        ));
    }
    out.push(colours(abilities.depth, &get));
    out.push(locale(&get));
    let pictures = match &abilities.pictures {
        PicturesFound::By(name) => Finding::ok(AREA, "pictures", format!("by the {name} protocol")),
        PicturesFound::None => Finding::new(
            AREA,
            "pictures",
            State::Note,
            "half-blocks: the terminal knows no protocol",
        )
        .fix("kitty, Ghostty, WezTerm, iTerm2 and foot show real pictures; AUTOMEM_PICTURES names a protocol"),
        PicturesFound::NotAsked(why) => Finding::new(AREA, "pictures", State::Note, format!("not asked: {why}")),
    };
    out.push(pictures);
    out
}

fn colours(depth: Depth, get: &impl Fn(&str) -> String) -> Finding {
    let shown = |name: &str| {
        let value = get(name);
        if value.is_empty() {
            format!("{name} unset")
        } else {
            format!("{name}={value}")
        }
    };
    let said = format!("{} ({}, {})", depth.word(), shown("TERM"), shown("COLORTERM"));
    match depth {
        Depth::True | Depth::Ansi256 => Finding::ok(AREA, "colours", said),
        Depth::Ansi16 => Finding::new(AREA, "colours", State::Warn, said)
            .fix("if the terminal can do more: export TERM=xterm-256color, or COLORTERM=truecolor"),
        Depth::Mono => Finding::new(AREA, "colours", State::Note, format!("{said}, {}", shown("NO_COLOR")))
            .fix("unset NO_COLOR and set TERM to the terminal's name to get colours"),
    }
}

fn locale(get: &impl Fn(&str) -> String) -> Finding {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .map(|name| (name, get(name)))
        .find(|(_, value)| !value.is_empty());
    let (name, value) = named.unwrap_or(("LANG", String::new()));
    let upper = value.to_ascii_uppercase();
    if upper.contains("UTF-8") || upper.contains("UTF8") {
        Finding::ok(AREA, "characters", format!("UTF-8 ({name}={value})"))
    } else {
        let said = if value.is_empty() {
            "no locale is set: signs such as ★ ▴ may be lost, in tmux for certain".to_owned()
        } else {
            format!("{name}={value} is not UTF-8: signs such as ★ ▴ may be lost")
        };
        Finding::new(AREA, "characters", State::Warn, said).fix("export LANG=C.UTF-8")
    }
}

/// An option of the tmux this runs in.
pub(super) fn tmux_option(name: &str) -> Option<String> {
    let output = Command::new("tmux")
        .args(["show", "-gv", name])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// tmux's options that matter here.
pub(super) fn tmux(option: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut check = |name: &'static str, good: &dyn Fn(&str) -> bool, state: State, why: &str, fix: &str| {
        let finding = match option(name) {
            Some(value) if good(&value) => Finding::ok(TMUX, name, value),
            Some(value) => Finding::new(TMUX, name, state, format!("{value}: {why}")).fix(fix),
            None => Finding::new(TMUX, name, State::Note, "this tmux does not tell"),
        };
        out.push(finding);
    };
    check(
        "allow-passthrough",
        &|value| matches!(value, "on" | "all"),
        State::Note,
        "pictures are drawn in half-blocks",
        "in ~/.tmux.conf: set -g allow-passthrough on",
    );
    check(
        "escape-time",
        &|value| value.parse::<u32>().is_ok_and(|ms| ms <= 50),
        State::Warn,
        "Esc answers late",
        "in ~/.tmux.conf: set -sg escape-time 10",
    );
    check(
        "set-clipboard",
        &|value| value == "on",
        State::Warn,
        "tmux does not pass on what Y copies",
        "in ~/.tmux.conf: set -s set-clipboard on",
    );
    check(
        "focus-events",
        &|value| value == "on",
        State::Note,
        "editors that are started from here do not see when they get the focus",
        "in ~/.tmux.conf: set -g focus-events on",
    );
    check(
        "default-terminal",
        &|value| value.contains("256color") || value.contains("direct"),
        State::Warn,
        "16 colours at most",
        "in ~/.tmux.conf: set -g default-terminal tmux-256color",
    );
    let features = ["terminal-features", "terminal-overrides"]
        .into_iter()
        .filter_map(&option)
        .collect::<Vec<_>>()
        .join(" ");
    out.push(if features.contains("RGB") || features.contains("Tc") {
        Finding::ok(TMUX, "true colour", "passed through")
    } else {
        Finding::new(
            TMUX,
            "true colour",
            State::Note,
            "not passed through: 256 colours are used",
        )
        .fix("in ~/.tmux.conf: set -as terminal-features ',*:RGB'")
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abilities() -> Abilities {
        Abilities {
            is_terminal: true,
            size: Some((160, 48)),
            depth: Depth::True,
            pictures: PicturesFound::By("kitty"),
        }
    }

    fn state(findings: &[Finding], name: &str) -> State {
        findings.iter().find(|finding| finding.name == name).unwrap().state
    }

    #[test]
    fn a_good_terminal_is_fine_and_a_poor_one_gets_its_fixes() {
        let good = terminal(&abilities(), |name| {
            if name == "LANG" {
                "en_US.UTF-8".into()
            } else {
                String::new()
            }
        });
        assert!(good.iter().all(|finding| finding.state == State::Ok), "{good:?}");
        let poor = Abilities {
            size: Some((50, 12)),
            depth: Depth::Ansi16,
            pictures: PicturesFound::None,
            ..abilities()
        };
        let found = terminal(&poor, |name| if name == "LANG" { "C".into() } else { String::new() });
        for name in ["size", "colours", "characters"] {
            assert_eq!(state(&found, name), State::Warn, "{name}");
        }
        assert!(found.iter().all(|finding| finding.fix.is_some()));
        // LC_ALL stands above LANG.
        let get = |name: &str| match name {
            "LC_ALL" => "C".to_owned(),
            "LANG" => "de_DE.UTF-8".to_owned(),
            _ => String::new(),
        };
        assert_eq!(state(&terminal(&abilities(), get), "characters"), State::Warn);
    }

    #[test]
    fn tmux_is_read_option_by_option() {
        let option = |name: &str| {
            let value = match name {
                "allow-passthrough" => "off",
                "escape-time" => "500",
                "set-clipboard" => "on",
                "focus-events" => "off",
                "default-terminal" => "screen",
                "terminal-features" => "xterm*:clipboard",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let found = tmux(option);
        assert_eq!(state(&found, "escape-time"), State::Warn);
        assert_eq!(state(&found, "default-terminal"), State::Warn);
        assert_eq!(state(&found, "set-clipboard"), State::Ok);
        assert_eq!(state(&found, "true colour"), State::Note);
        assert!(found.iter().filter(|f| f.state != State::Ok).all(|f| f.fix.is_some()));
        let silent = tmux(|_| None);
        assert!(silent.iter().all(|finding| finding.state == State::Note));
    }
}
