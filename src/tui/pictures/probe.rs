//! Asks the terminal what it can show, after the first frame is on it.
//!
//! Owns the question, its answers and the time they may take. What a person types meanwhile comes
//! out as keys. The question is written by the thread that draws, so that it never falls into the
//! middle of a frame; the answers are read by the thread that reads keys.

use std::time::{Duration, Instant};

use super::{Choice, Graphics, USUAL_CELL, Wire, encode, keys};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::data::Event;
use crate::tui::theme::Depth;

/// How long an answer may take. Nothing waits for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the environment says before the terminal is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tui) struct Hints {
    /// kitty's protocol is not to be trusted here, and no sixels either.
    only_inline: bool,
    /// The terminal's name says that it knows iTerm2's protocol.
    inline: bool,
    /// tmux stands between, and passes through.
    tmux: bool,
}

/// What the terminal's variables (`get`) say before it is asked, or why it is not. `passes` tells whether tmux lets
/// pictures through; it is asked only inside tmux.
pub(in crate::tui) fn hints(
    choice: Choice,
    depth: Depth,
    get: impl Fn(&str) -> String,
    passes: impl FnOnce() -> bool,
) -> Result<Hints, &'static str> {
    const INLINE: &[&str] = &[
        "iTerm",
        "WezTerm",
        "mintty",
        "vscode",
        "Tabby",
        "Hyper",
        "rio",
        "WarpTerminal",
    ];
    if choice != Choice::Auto {
        return Err("another way was chosen");
    }
    if depth < Depth::Ansi256 {
        return Err("fewer than 256 colours");
    }
    let (term, program) = (get("TERM"), get("TERM_PROGRAM"));
    let inside = !get("TMUX").is_empty() || term.starts_with("tmux") || program == "tmux";
    if term.starts_with("screen") && !inside {
        return Err("GNU screen passes none through");
    }
    if inside && !passes() {
        return Err("tmux passes none through (allow-passthrough is off)");
    }
    Ok(Hints {
        only_inline: !get("WEZTERM_EXECUTABLE").is_empty() || !get("KONSOLE_VERSION").is_empty(),
        inline: !inside
            && (INLINE.iter().any(|name| program.contains(name))
                || get("LC_TERMINAL").contains("iTerm")
                || !get("WEZTERM_EXECUTABLE").is_empty()),
        tmux: inside,
    })
}

/// What the terminal is asked: kitty's protocol, also deflated; the size of a cell; and last what
/// every terminal answers, so that the end is known.
pub(in crate::tui) fn question(hints: Hints) -> String {
    let kitty =
        "\u{1b}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1b}\\\u{1b}_Gi=32,s=1,v=1,a=q,t=d,f=24,o=z;eJxjYGAAAAADAAE=\u{1b}\\";
    let kitty = if hints.tmux {
        encode::through_tmux(kitty)
    } else {
        kitty.to_owned()
    };
    format!("{kitty}\u{1b}[16t\u{1b}[c")
}

/// The answers, as far as they came.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answers {
    kitty: bool,
    inflates: bool,
    sixel: bool,
    cell: Option<(u16, u16)>,
    over: bool,
}

impl Answers {
    /// Takes answers out of what came; what a person typed stays.
    fn take(&mut self, bytes: &mut Vec<u8>) {
        let mut rest = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            match self.one(&bytes[at..]) {
                0 => {
                    rest.push(bytes[at]);
                    at += 1;
                }
                used => at += used,
            }
        }
        *bytes = rest;
    }

    /// Bytes of an answer that begins here; 0 when none does, or not all of it is there.
    fn one(&mut self, bytes: &[u8]) -> usize {
        if bytes.starts_with(b"\x1b_G") {
            let Some(end) = bytes.windows(2).position(|part| part == b"\x1b\\") else {
                return 0;
            };
            let said = &bytes[3..end];
            if said.ends_with(b";OK") {
                self.kitty |= said.starts_with(b"i=31");
                self.inflates |= said.starts_with(b"i=32");
            }
            return end + 2;
        }
        let Some(body) = bytes.strip_prefix(b"\x1b[") else {
            return 0;
        };
        let Some(end) = body.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
            return 0;
        };
        let numbers = |text: &[u8]| -> Vec<u16> {
            String::from_utf8_lossy(text)
                .split(';')
                .filter_map(|part| part.parse().ok())
                .collect()
        };
        match (body[end], body.strip_prefix(b"?")) {
            (b'c', Some(attributes)) => {
                self.sixel = numbers(&attributes[..end - 1]).contains(&4);
                self.over = true;
            }
            (b't', None) => {
                if let [6, height, width] = numbers(&body[..end])[..]
                    && height > 0
                    && width > 0
                {
                    self.cell = Some((width, height));
                }
            }
            _ => return 0,
        }
        end + 3
    }

    /// An answer has begun and is not over.
    fn begun(bytes: &[u8]) -> bool {
        bytes.ends_with(b"\x1b") || bytes.windows(2).any(|part| part == b"\x1b_" || part == b"\x1b[")
    }

    fn graphics(&self, hints: Hints, cell: Option<(u16, u16)>) -> Option<Graphics> {
        let wire = match () {
            () if self.kitty && !hints.only_inline => Wire::Kitty,
            () if hints.inline => Wire::Iterm2,
            () if self.sixel && !hints.only_inline => Wire::Sixel,
            () => return None,
        };
        Some(Graphics {
            wire,
            cell: self.cell.or(cell).unwrap_or(USUAL_CELL),
            inflates: self.inflates,
            tmux: hints.tmux && wire == Wire::Kitty,
        })
    }
}

/// Reads answers until they are over or patience is. `read` gives what came within a moment, an
/// empty piece if nothing did; `cell` is the size of a cell as the system knows it.
///
/// # Errors
/// What reading says; what came before is told in any case.
pub(in crate::tui) fn listen(
    hints: Hints,
    mut read: impl FnMut() -> std::io::Result<Vec<u8>>,
    cell: Option<(u16, u16)>,
    mut tell: impl FnMut(Event),
) -> std::io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let (mut answers, mut bytes) = (Answers::default(), Vec::new());
    let mut result = Ok(());
    while !answers.over && Instant::now() < until {
        match read() {
            Ok(piece) => {
                // An Esc that nothing follows within a moment is a key.
                let quiet = piece.is_empty();
                bytes.extend(piece);
                answers.take(&mut bytes);
                if quiet || !Answers::begun(&bytes) {
                    keys::typed(&mut bytes, quiet).into_iter().for_each(&mut tell);
                }
            }
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    keys::typed(&mut bytes, true).into_iter().for_each(&mut tell);
    tell(Event::Graphics(answers.graphics(hints, cell)));
    result
}

/// Takes an answer that comes after patience is over out of the keys: the library reads kitty's as
/// Alt-_ `G` … Alt-\\. What only begins like one is passed on.
#[derive(Debug, Default)]
pub(in crate::tui) struct Late {
    held: Vec<KeyEvent>,
}

impl Late {
    /// Bytes of an answer at most.
    const MOST: usize = 64;

    /// The keys to pass on when this one comes.
    pub(in crate::tui) fn sift(&mut self, key: KeyEvent) -> Vec<KeyEvent> {
        let alt = |c| key.code == KeyCode::Char(c) && key.modifiers.contains(KeyModifiers::ALT);
        match self.held.len() {
            0 if alt('_') => {
                self.held.push(key);
                Vec::new()
            }
            0 => vec![key],
            _ if alt('\\') => {
                self.held.clear();
                Vec::new()
            }
            count => {
                self.held.push(key);
                let fits = match (count, key.code) {
                    (1, code) => code == KeyCode::Char('G'),
                    (2, code) => code == KeyCode::Char('i'),
                    (3, code) => code == KeyCode::Char('='),
                    (Self::MOST.., _) => false,
                    (_, code) => matches!(code, KeyCode::Char(_)),
                };
                if fits {
                    Vec::new()
                } else {
                    std::mem::take(&mut self.held)
                }
            }
        }
    }
}

/// Whether tmux lets programs talk to the terminal behind it.
pub(in crate::tui) fn tmux_passes() -> bool {
    let shown = std::process::Command::new("tmux")
        .args(["show", "-gv", "allow-passthrough"])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .output();
    shown.is_ok_and(|output| matches!(output.stdout.trim_ascii(), b"on" | b"all"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    const NONE: Hints = Hints {
        only_inline: false,
        inline: false,
        tmux: false,
    };

    fn heard(hints: Hints, pieces: &[&[u8]]) -> (Vec<String>, Option<Graphics>) {
        let mut pieces: VecDeque<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
        let (mut keys, mut found) = (Vec::new(), None);
        let read = || Ok(pieces.pop_front().unwrap_or_default());
        listen(hints, read, None, |event| match event {
            Event::Key(key) => keys.extend(crate::tui::keymap::name(&key)),
            Event::Graphics(graphics) => found = graphics,
            _ => {}
        })
        .unwrap();
        (keys, found)
    }

    #[test]
    fn a_kitty_is_found_and_keys_among_the_answers_are_kept() {
        let (keys, found) = heard(
            NONE,
            &[
                b"j\x1b_Gi=31;O",
                b"K\x1b\\\x1b[B\x1b_Gi=32;OK\x1b\\",
                b"q\x1b[6;18;9t",
                b"\x1b[?62;4cG",
            ],
        );
        assert_eq!(keys, ["j", "Down", "q", "G"]);
        let expected = Graphics {
            wire: Wire::Kitty,
            cell: (9, 18),
            inflates: true,
            tmux: false,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn a_refusal_leaves_sixels_or_nothing() {
        let (_, found) = heard(NONE, &[b"\x1b_Gi=31;EINVAL:no\x1b\\\x1b[?62;4;22c"]);
        assert_eq!(
            found.map(|graphics| (graphics.wire, graphics.cell)),
            Some((Wire::Sixel, USUAL_CELL))
        );
        let (keys, found) = heard(NONE, &[b"\x1b[?62;22c"]);
        assert_eq!((keys.len(), found), (0, None));
        let inline = Hints {
            only_inline: true,
            inline: true,
            ..NONE
        };
        let (_, found) = heard(inline, &[b"\x1b_Gi=31;OK\x1b\\\x1b[?62;4c"]);
        assert_eq!(found.map(|graphics| graphics.wire), Some(Wire::Iterm2));
    }

    #[test]
    fn an_esc_that_stands_alone_is_a_key() {
        let (keys, _) = heard(NONE, &[b"\x1b", b"", b"x", b"\x1b[?1c"]);
        assert_eq!(keys, ["Esc", "x"]);
    }

    #[test]
    fn a_late_answer_is_no_keys() {
        let key = |c, alt| {
            let modifiers = if alt { KeyModifiers::ALT } else { KeyModifiers::NONE };
            KeyEvent::new(KeyCode::Char(c), modifiers)
        };
        let mut late = Late::default();
        let mut passed = |text: &str, alt: &str| -> String {
            let keys = text.chars().map(|c| key(c, false)).collect::<Vec<_>>();
            let mut all = vec![key(alt.chars().next().unwrap(), true)];
            all.extend(keys);
            all.push(key('\\', true));
            all.push(key('q', false));
            let keys = all.into_iter().flat_map(|key| late.sift(key));
            keys.filter_map(|key| key.code.as_char()).collect()
        };
        assert_eq!(passed("Gi=31;OK", "_"), "q");
        assert_eq!(passed("jk", "_"), "_jk\\q");
        assert_eq!(passed("Gj", "_"), "_Gj\\q");
        assert_eq!(passed("Gi=31;OK", "x"), "xGi=31;OK\\q");
    }

    #[test]
    fn who_cannot_answer_is_not_asked() {
        let with = |pairs: &'static [(&'static str, &'static str)], passes: bool| {
            let get = move |name: &str| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map_or_else(String::new, |(_, value)| (*value).to_owned())
            };
            hints(Choice::Auto, Depth::True, get, || passes)
        };
        assert_eq!(with(&[("TERM", "xterm-256color")], false), Ok(NONE));
        assert!(with(&[("TERM", "screen-256color")], true).is_err());
        assert!(with(&[("TERM", "tmux-256color"), ("TMUX", "/tmp/x")], false).is_err());
        assert!(
            with(&[("TERM", "screen-256color"), ("TMUX", "/tmp/x")], true)
                .unwrap()
                .tmux
        );
        assert!(with(&[("TERM_PROGRAM", "iTerm.app")], false).unwrap().inline);
        assert!(hints(Choice::Off, Depth::True, |_: &str| String::new(), || true).is_err());
        assert!(hints(Choice::Auto, Depth::Mono, |_: &str| String::new(), || true).is_err());
        assert!(question(with(&[("TMUX", "x")], true).unwrap()).starts_with("\u{1b}Ptmux;"));
    }
}
