//! Heat: how often each memory file was read and written over an episode, and how it grew.
//!
//! A pure fold over an episode's events. It stays small however long the episode is: a file has a
//! bounded number of bins, which grow wider when there are too many steps for them.

use std::collections::BTreeMap;

use crate::types::{Body, Edit, Event, MemoryChange, MemoryFiles, MemoryOp, OpStatus, StepNo};

/// Bins a file has at most.
const MOST_BINS: usize = 4096;
/// Files that are followed; what comes after counts for the whole memory only.
const MOST_FILES: usize = 256;

/// What happened to a file in some steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touches {
    /// Operations that read it.
    pub reads: u32,
    /// Changes.
    pub writes: u32,
}

/// Reads, writes and growth of all files of an episode's memory. Feed it the episode's events in
/// order.
#[derive(Debug, Clone)]
pub struct Heat {
    /// Steps of a bin.
    width: u32,
    files: BTreeMap<String, Track>,
    all: Track,
    initial: MemoryFiles,
}

/// One file, or all of them.
#[derive(Debug, Clone, Default)]
struct Track {
    bins: Vec<Bin>,
    /// Bytes before the first bin.
    began: u64,
    /// Bytes now.
    bytes: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    touches: Touches,
    /// Bytes at its end.
    bytes: u64,
}

impl Default for Heat {
    fn default() -> Self {
        Self {
            width: 1,
            files: BTreeMap::new(),
            all: Track::default(),
            initial: MemoryFiles::new(),
        }
    }
}

impl Track {
    fn bin(&mut self, at: usize) -> &mut Bin {
        let bytes = self.bytes;
        while self.bins.len() <= at {
            self.bins.push(Bin {
                touches: Touches::default(),
                bytes,
            });
        }
        &mut self.bins[at]
    }

    fn grow(&mut self, at: usize, bytes: u64) {
        self.bin(at);
        self.bytes = bytes;
        self.bin(at).bytes = bytes;
    }

    /// Makes one bin of two.
    fn halve(&mut self) {
        let merged = self.bins.chunks(2).map(|pair| Bin {
            touches: Touches {
                reads: pair.iter().map(|bin| bin.touches.reads).sum(),
                writes: pair.iter().map(|bin| bin.touches.writes).sum(),
            },
            bytes: pair.last().map_or(0, |bin| bin.bytes),
        });
        self.bins = merged.collect();
    }

    fn touches(&self, bins: std::ops::Range<usize>) -> Touches {
        let mut sum = Touches::default();
        let end = bins.end.min(self.bins.len());
        for bin in self.bins.get(bins.start.min(end)..end).unwrap_or_default() {
            sum.reads += bin.touches.reads;
            sum.writes += bin.touches.writes;
        }
        sum
    }

    /// Bytes at the end of a bin.
    fn bytes_at(&self, bin: usize) -> u64 {
        match self.bins.get(bin) {
            Some(bin) => bin.bytes,
            None => self.bins.last().map_or(self.began, |bin| bin.bytes),
        }
    }
}

impl Heat {
    /// Takes in the next event. Events that do not concern memory cost nothing.
    pub fn push(&mut self, event: &Event) {
        let step = event.at.step;
        match &event.body {
            Body::EpisodeStarted { inherited, .. } => {
                self.initial = inherited.clone();
                self.start_over();
            }
            Body::EpisodeAttempt { .. } => self.start_over(),
            Body::MemoryOp { op } if op.changes.is_empty() => self.read(op, step),
            Body::MemoryOp { op } => op.changes.iter().for_each(|change| self.write(change, step)),
            Body::HumanEdited { changes } => changes.iter().for_each(|change| self.write(change, step)),
            _ => {}
        }
    }

    fn start_over(&mut self) {
        self.width = 1;
        let track = |bytes: u64| Track {
            bins: Vec::new(),
            began: bytes,
            bytes,
        };
        self.all = track(self.initial.values().map(|text| text.len() as u64).sum());
        self.files = self
            .initial
            .iter()
            .take(MOST_FILES)
            .map(|(path, text)| (path.clone(), track(text.len() as u64)))
            .collect();
    }

    /// The bin of a step; makes room for it.
    fn bin_of(&mut self, step: StepNo) -> usize {
        while (step.0 / self.width) as usize >= MOST_BINS {
            self.width *= 2;
            self.all.halve();
            self.files.values_mut().for_each(Track::halve);
        }
        (step.0 / self.width) as usize
    }

    fn read(&mut self, op: &MemoryOp, step: StepNo) {
        if !matches!(op.outcome.status, OpStatus::Ok | OpStatus::Empty) {
            return;
        }
        let Some(name) = op.args.first().map(|arg| arg.trim().trim_start_matches("./")) else {
            return;
        };
        let bin = self.bin_of(step);
        let mut any = false;
        for (path, track) in &mut self.files {
            if path == name || fits(name, path) {
                track.bin(bin).touches.reads += 1;
                any = true;
            }
        }
        self.all.bin(bin).touches.reads += u32::from(any);
    }

    fn write(&mut self, change: &MemoryChange, step: StepNo) {
        let bin = self.bin_of(step);
        let room = self.files.len() < MOST_FILES;
        let followed = match self.files.get_mut(&change.path) {
            None if room => Some(self.files.entry(change.path.clone()).or_default()),
            other => other,
        };
        let Some(track) = followed else {
            self.all.bin(bin).touches.writes += 1;
            return;
        };
        let before = track.bytes;
        let after = match &change.edit {
            Edit::Append { text } => before + text.len() as u64,
            Edit::Splice { deleted, inserted, .. } => {
                (before + inserted.len() as u64).saturating_sub(deleted.len() as u64)
            }
            Edit::Replace { text } | Edit::Create { text } => text.len() as u64,
            Edit::Delete => 0,
        };
        track.grow(bin, after);
        track.bin(bin).touches.writes += 1;
        let all = (self.all.bytes + after).saturating_sub(before);
        self.all.grow(bin, all);
        self.all.bin(bin).touches.writes += 1;
    }

    fn track(&self, path: Option<&str>) -> Option<&Track> {
        match path {
            None => Some(&self.all),
            Some(path) => self.files.get(path),
        }
    }

    /// The bins of each column when steps up to `upto` are shown in at most so many columns.
    fn columns(&self, upto: StepNo, columns: usize) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let bins = (upto.0 / self.width) as usize + 1;
        let columns = columns.min(bins);
        (0..columns).map(move |at| at * bins / columns..(at + 1) * bins / columns)
    }

    /// Reads and writes of a file (or of all) up to a step, in at most so many columns. The last
    /// column may reach a few steps further where bins are wider than one.
    pub fn spark(&self, path: Option<&str>, upto: StepNo, columns: usize) -> Vec<Touches> {
        let track = self.track(path);
        self.columns(upto, columns)
            .map(|bins| track.map_or(Touches::default(), |track| track.touches(bins)))
            .collect()
    }

    /// Reads and writes of a file (or of all) up to a step.
    pub fn total(&self, path: Option<&str>, upto: StepNo) -> Touches {
        let bins = (upto.0 / self.width) as usize + 1;
        self.track(path)
            .map_or(Touches::default(), |track| track.touches(0..bins))
    }

    /// Bytes of a file (or of all) over the steps up to one, in at most so many columns.
    pub fn growth(&self, path: Option<&str>, upto: StepNo, columns: usize) -> Vec<u64> {
        let track = self.track(path);
        self.columns(upto, columns)
            .map(|bins| track.map_or(0, |track| track.bytes_at(bins.end.saturating_sub(1))))
            .collect()
    }
}

/// Whether a pattern with one `*` means a path.
fn fits(pattern: &str, path: &str) -> bool {
    pattern.split_once('*').is_some_and(|(start, end)| {
        path.len() >= start.len() + end.len() && path.starts_with(start) && path.ends_with(end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{At, Author, EpisodeNo, OpOutcome, Phase, TurnNo};

    fn at(step: u32, body: Body) -> Event {
        Event {
            at: At {
                episode: EpisodeNo(0),
                step: StepNo(step),
                agent: "agent".into(),
                memory_root: "ep_00".into(),
            },
            body,
        }
    }

    fn op(step: u32, name: &str, file: &str, changes: Vec<MemoryChange>) -> Event {
        let op = MemoryOp {
            phase: Phase::Log,
            turn: TurnNo(0),
            op: name.into(),
            args: vec![file.into()],
            by: Author::Model,
            outcome: OpOutcome {
                status: OpStatus::Ok,
                text: "x".into(),
                cut: 0,
            },
            changes,
        };
        at(step, Body::MemoryOp { op: Box::new(op) })
    }

    fn append(step: u32, before: &str, added: &str) -> Event {
        let after = format!("{before}{added}");
        let change = MemoryChange::between("a.txt", Some(before), Some(&after)).unwrap();
        op(step, "APPEND", "a.txt", vec![change])
    }

    fn begun() -> Heat {
        let mut heat = Heat::default();
        let inherited = MemoryFiles::from([("a.txt".to_owned(), "1234".into()), ("b.md".to_owned(), "".into())]);
        heat.push(&at(0, Body::EpisodeStarted { seed: 1, inherited }));
        heat
    }

    #[test]
    fn touches_and_bytes_are_counted_by_step() {
        let mut heat = begun();
        heat.push(&append(2, "1234", "56"));
        heat.push(&op(2, "READ", "./a.txt", Vec::new()));
        heat.push(&op(3, "SEARCH", "*.txt", Vec::new()));
        heat.push(&op(3, "LIST", "", Vec::new()));
        let sum = heat.total(Some("a.txt"), StepNo(9));
        assert_eq!((sum.reads, sum.writes), (2, 1));
        assert_eq!(heat.total(Some("a.txt"), StepNo(1)), Touches::default());
        assert_eq!(heat.total(Some("b.md"), StepNo(9)), Touches::default());
        assert_eq!(heat.growth(Some("a.txt"), StepNo(3), 9), [4, 4, 6, 6]);
        assert_eq!(heat.growth(None, StepNo(9), 2), [6, 6]);
        let reads: Vec<u32> = heat
            .spark(Some("a.txt"), StepNo(3), 2)
            .iter()
            .map(|t| t.reads)
            .collect();
        assert_eq!(reads, [0, 2]);
        let change = MemoryChange::between("a.txt", Some("123456"), None).unwrap();
        heat.push(&at(4, Body::HumanEdited { changes: vec![change] }));
        assert_eq!(heat.growth(None, StepNo(4), 9), [4, 4, 6, 6, 0]);
        assert_eq!(heat.growth(None, StepNo(3), 9), [4, 4, 6, 6], "as of an earlier step");
    }

    #[test]
    fn a_long_episode_takes_no_more_room_than_a_short_one() {
        let mut heat = begun();
        let mut text = "1234".to_owned();
        for step in 0..200_000u32 {
            if step.is_multiple_of(1000) {
                heat.push(&append(step, &text, "x"));
                text.push('x');
            }
            heat.push(&op(step, "READ", "a.txt", Vec::new()));
        }
        assert!(heat.all.bins.len() <= MOST_BINS && heat.files["a.txt"].bins.len() <= MOST_BINS);
        let sum = heat.total(Some("a.txt"), StepNo(199_999));
        assert_eq!((sum.reads, sum.writes), (200_000, 200));
        let spark = heat.spark(Some("a.txt"), StepNo(199_999), 8);
        assert_eq!(spark.len(), 8);
        assert_eq!(spark.iter().map(|touches| touches.writes).sum::<u32>(), 200);
        assert_eq!(heat.growth(Some("a.txt"), StepNo(199_999), 4).last(), Some(&204));
    }

    #[test]
    fn more_files_than_are_followed_still_count_for_all() {
        let mut heat = begun();
        for n in 0..1000 {
            let path = format!("f{n}.txt");
            let change = MemoryChange::between(&path, None, Some("abc")).unwrap();
            heat.push(&op(n, "CREATE", &path, vec![change]));
        }
        assert_eq!(heat.files.len(), MOST_FILES);
        assert_eq!(heat.total(None, StepNo(999)).writes, 1000);
    }
}
