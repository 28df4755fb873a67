//! Files that grow without bound: the newest lines stay.

use super::case::Case;
use super::draft::Draft;
use super::manifest::{file_table, quoted};
use crate::scaffold::Policy;

const BECAUSE: &[&str] = &["unbounded-append", "reads-cut", "context-overflow"];

/// Lines from which on a file is cut, and lines that stay: as in the reference's evolved scaffolds.
const MOST: u32 = 200;
const KEEP: u32 = 100;

pub(super) fn apply(case: &Case, draft: &mut Draft) -> bool {
    let mut files = case.files_of("unbounded-append");
    files.extend(case.files_of("reads-cut"));
    let mut done = false;
    for path in files {
        let Some(planned) = draft.before.files.get(path) else {
            continue;
        };
        if planned.policy != Policy::Append || planned.max_lines.is_some() || planned.max_bytes.is_some() {
            continue;
        }
        let table = file_table(path);
        let notice = quoted("[{n} older lines went]");
        if draft.set(&table, "max_lines", &MOST.to_string())
            && draft.set(&table, "keep_lines", &KEEP.to_string())
            && draft.set(&table, "prune_notice", &notice)
        {
            draft.say(
                format!("`{path}` keeps its newest {KEEP} lines once it has more than {MOST}: it grew without bound."),
                BECAUSE,
            );
            done = true;
        }
    }
    done
}
