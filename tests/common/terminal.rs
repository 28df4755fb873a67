//! The real binary in a pseudo-terminal, with a terminal emulator that reads its screen.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// How long a screen may take to show what is waited for; generous, since machines are shared.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with the program in it.
pub struct Terminal {
    parser: vt100::Parser,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    child: Box<dyn Child + Send + Sync>,
    raw: Vec<u8>,
    /// What a fake terminal answers, once, when it is sent something.
    answers: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Terminal {
    /// Starts `automem ARGS` in a terminal of the given size.
    pub fn start(home: &Path, args: &[&str], columns: u16, rows: u16) -> Self {
        Self::start_as(home, args, (columns, rows), &[], &[])
    }

    /// The same with more variables, in a terminal that answers:
    /// the first time it is sent the one text, it sends the other.
    pub fn start_as(
        home: &Path,
        args: &[&str],
        (columns, rows): (u16, u16),
        variables: &[(&str, &str)],
        answers: &[(&str, &str)],
    ) -> Self {
        let pair = native_pty_system()
            .openpty(PtySize {
                rows,
                cols: columns,
                pixel_width: 0,
                pixel_height: 0,
            })
            .unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_automem"));
        command.args(args);
        command.cwd(home);
        command.env("AUTOMEM_HOME", home.join("workspace"));
        command.env("XDG_CONFIG_HOME", home.join("config"));
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        for name in [
            "NO_COLOR",
            "TMUX",
            "TERM_PROGRAM",
            "LC_TERMINAL",
            "WEZTERM_EXECUTABLE",
            "AUTOMEM_PICTURES",
            "AUTOMEM_THEME",
        ] {
            command.env_remove(name);
        }
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(n) = reader.read(&mut buffer) {
                if n == 0 || sender.send(buffer[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        let parser = vt100::Parser::new(rows, columns, 0);
        Self {
            parser,
            master: pair.master,
            writer,
            output,
            child,
            raw: Vec::new(),
            answers: answers
                .iter()
                .map(|(sent, answer)| (sent.as_bytes().to_vec(), answer.as_bytes().to_vec()))
                .collect(),
        }
    }

    /// Types keys.
    pub fn send(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.master
            .resize(PtySize {
                rows,
                cols: columns,
                pixel_width: 0,
                pixel_height: 0,
            })
            .unwrap();
        self.parser.screen_mut().set_size(rows, columns);
    }

    /// The screen as text.
    pub fn screen(&mut self) -> String {
        self.drain(Duration::from_millis(10));
        self.parser.screen().contents()
    }

    /// Everything the program ever wrote.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Whether the program has left the alternate screen.
    pub fn is_restored(&self) -> bool {
        !self.parser.screen().alternate_screen() && !self.parser.screen().hide_cursor()
    }

    /// Process id of the program.
    pub fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Waits until the screen holds the text; the screen is returned.
    pub fn wait_for(&mut self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen satisfies `done`; `what` names it in the failure.
    pub fn wait_until(&mut self, what: &str, done: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            self.drain(Duration::from_millis(30));
            let screen = self.parser.screen().contents();
            if done(&screen) {
                return screen;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "waited for {what:?}; the screen shows:\n{screen}"
            );
        }
    }

    /// Waits until the program has ended.
    pub fn wait_exit(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            self.drain(Duration::from_millis(30));
            if let Some(status) = self.child.try_wait().unwrap() {
                self.drain(Duration::from_millis(100));
                return status;
            }
            let screen = self.parser.screen().contents();
            assert!(
                began.elapsed() < PATIENCE,
                "the program does not end; the screen shows:\n{screen}"
            );
        }
    }

    /// Waits until the program has written the bytes, and gives where they begin.
    pub fn wait_raw(&mut self, text: &str) -> usize {
        let began = Instant::now();
        loop {
            if let Some(at) = find(&self.raw, text.as_bytes()) {
                return at;
            }
            assert!(began.elapsed() < PATIENCE, "waited for {text:?} in what is written");
            self.drain(Duration::from_millis(30));
        }
    }

    fn answer(&mut self) {
        let Self {
            raw, answers, writer, ..
        } = self;
        answers.retain(|(sent, answer)| {
            let asked = find(raw, sent).is_some();
            if asked {
                writer.write_all(answer).unwrap();
                writer.flush().unwrap();
            }
            !asked
        });
    }

    fn drain(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while let Ok(bytes) = self
            .output
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            self.parser.process(&bytes);
            self.raw.extend_from_slice(&bytes);
            self.answer();
        }
    }
}

fn find(all: &[u8], part: &[u8]) -> Option<usize> {
    all.windows(part.len()).position(|window| window == part)
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
