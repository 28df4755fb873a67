//! Lines from a worker, in time and within bounds.
//!
//! Owns waiting for them. On Unix the asking thread itself waits on the pipe: a thread between the two would cost more
//! than the rest of a round trip. Elsewhere a thread reads.

use std::io::{BufRead, Read};
use std::time::Instant;

/// What a worker wrote.
pub(super) enum Line {
    /// With its end; without where the output ended first.
    Whole(Vec<u8>),
    /// It went on beyond the limit; this is its beginning.
    TooLong(Vec<u8>),
}

/// Why there is no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoLine {
    /// None came in time.
    Late,
    /// None will come.
    Closed,
}

/// Where lines come from.
pub(super) trait Lines: Send {
    /// The next line, waited for until the deadline; what has come already is given after it too.
    fn next(&mut self, deadline: Instant) -> Result<Line, NoLine>;
}

/// Lines of at most so many bytes.
#[cfg(unix)]
pub(super) fn lines(
    from: impl Read + std::os::fd::AsFd + Send + 'static,
    most: usize,
) -> std::io::Result<Box<dyn Lines>> {
    Ok(Box::new(polled::Polled::new(from, most)))
}

/// Lines of at most so many bytes.
#[cfg(not(unix))]
pub(super) fn lines(from: impl Read + Send + 'static, most: usize) -> std::io::Result<Box<dyn Lines>> {
    Ok(Box::new(threaded::Threaded::new(from, most)?))
}

#[cfg(unix)]
mod polled {
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    use super::*;

    /// Bytes that are read at once.
    const CHUNK: usize = 16 << 10;

    pub(super) struct Polled<R> {
        from: R,
        chunk: Box<[u8]>,
        /// Read, and not yet given.
        held: Vec<u8>,
        /// So many of them hold no line end.
        searched: usize,
        most: usize,
        closed: bool,
    }

    impl<R: Read + AsFd> Polled<R> {
        pub(super) fn new(from: R, most: usize) -> Self {
            Self {
                from,
                chunk: vec![0; CHUNK].into_boxed_slice(),
                held: Vec::new(),
                searched: 0,
                most,
                closed: false,
            }
        }

        /// The first so many bytes that are held.
        fn take(&mut self, count: usize) -> Vec<u8> {
            let rest = self.held.split_off(count);
            self.searched = 0;
            std::mem::replace(&mut self.held, rest)
        }

        /// A line of what is held.
        fn held_line(&mut self) -> Option<Line> {
            let mut rest = &self.held[self.searched..];
            // Of a slice it cannot fail.
            let count = rest.skip_until(b'\n').unwrap_or(0);
            let end = self.searched + count;
            let has_end = count > 0 && self.held.get(end - 1) == Some(&b'\n');
            if end > self.most + usize::from(has_end) {
                return Some(Line::TooLong(self.take(end)));
            }
            if has_end || (self.closed && end > 0) {
                return Some(Line::Whole(self.take(end)));
            }
            self.searched = end;
            None
        }

        /// Waits until there is something to read, or the end.
        fn wait(&self, deadline: Instant) -> Result<(), NoLine> {
            loop {
                let left = deadline.saturating_duration_since(Instant::now());
                let timeout = Timespec {
                    tv_sec: left.as_secs().min(1 << 30) as _,
                    tv_nsec: left.subsec_nanos() as _,
                };
                match poll(&mut [PollFd::new(&self.from, PollFlags::IN)], Some(&timeout)) {
                    Ok(0) => return Err(NoLine::Late),
                    Ok(_) => return Ok(()),
                    Err(Errno::INTR) => {}
                    Err(_) => return Err(NoLine::Closed),
                }
            }
        }
    }

    impl<R: Read + AsFd + Send> Lines for Polled<R> {
        fn next(&mut self, deadline: Instant) -> Result<Line, NoLine> {
            loop {
                if let Some(line) = self.held_line() {
                    return Ok(line);
                }
                if self.closed {
                    return Err(NoLine::Closed);
                }
                self.wait(deadline)?;
                match self.from.read(&mut self.chunk) {
                    Ok(0) => self.closed = true,
                    Ok(count) => self.held.extend_from_slice(&self.chunk[..count]),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => self.closed = true,
                }
            }
        }
    }
}

#[cfg(any(not(unix), test))]
mod threaded {
    use std::io::{self, BufReader};

    use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

    use super::*;

    pub(super) struct Threaded(Receiver<Line>);

    impl Threaded {
        pub(super) fn new(from: impl Read + Send + 'static, most: usize) -> io::Result<Self> {
            let (to, lines) = bounded(2);
            let read = move || {
                let mut from = BufReader::with_capacity(64 << 10, from);
                loop {
                    let mut line = Vec::new();
                    match from.by_ref().take(most as u64 + 1).read_until(b'\n', &mut line) {
                        Ok(0) | Err(_) => return,
                        Ok(_) => {}
                    }
                    let too_long = line.len() > most && !line.ends_with(b"\n");
                    let line = if too_long {
                        Line::TooLong(line)
                    } else {
                        Line::Whole(line)
                    };
                    if to.send(line).is_err() || too_long {
                        return;
                    }
                }
            };
            std::thread::Builder::new().name("worker-output".into()).spawn(read)?;
            Ok(Self(lines))
        }
    }

    impl Lines for Threaded {
        fn next(&mut self, deadline: Instant) -> Result<Line, NoLine> {
            self.0.recv_deadline(deadline).map_err(|error| match error {
                RecvTimeoutError::Timeout => NoLine::Late,
                RecvTimeoutError::Disconnected => NoLine::Closed,
            })
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::{PipeReader, Write};
    use std::time::Duration;

    use super::*;

    /// What comes of the writes, a moment apart, with at most four bytes a line.
    fn read(open: fn(PipeReader) -> Box<dyn Lines>, writes: &'static [&'static str]) -> Vec<String> {
        let (from, mut to) = std::io::pipe().unwrap();
        let mut lines = open(from);
        let writer = std::thread::spawn(move || {
            for write in writes {
                // One that nobody reads any more is no matter.
                let _ = to.write_all(write.as_bytes());
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let mut seen = Vec::new();
        loop {
            match lines.next(Instant::now() + Duration::from_secs(20)) {
                Ok(Line::Whole(line)) => seen.push(String::from_utf8(line).unwrap()),
                Ok(Line::TooLong(line)) => {
                    seen.push(format!("long {}", line.len() > 4));
                    break;
                }
                Err(NoLine::Closed) => break,
                Err(NoLine::Late) => panic!("late"),
            }
        }
        drop(lines);
        writer.join().unwrap();
        seen
    }

    #[test]
    fn both_ways_to_read_give_the_same_lines() {
        let ways: [fn(PipeReader) -> Box<dyn Lines>; 2] = [
            |from| Box::new(polled::Polled::new(from, 4)),
            |from| Box::new(threaded::Threaded::new(from, 4).unwrap()),
        ];
        for way in ways {
            assert_eq!(
                read(way, &["a\n", "b\nc\n", "\n", "d"]),
                ["a\n", "b\n", "c\n", "\n", "d"]
            );
            assert_eq!(read(way, &["ab", "cd", "\n"]), ["abcd\n"]);
            assert_eq!(read(way, &["a\nabc", "de", "f\n"]), ["a\n", "long true"]);
            assert_eq!(read(way, &["abcdefgh\nx\n"]), ["long true"]);
            assert!(read(way, &[]).is_empty());
            let (from, _open) = std::io::pipe().unwrap();
            let began = Instant::now();
            let late = way(from).next(began + Duration::from_millis(30)).err();
            assert_eq!(late, Some(NoLine::Late));
            assert!(began.elapsed() >= Duration::from_millis(30));
        }
    }
}
