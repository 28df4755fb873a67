//! What is known of the parent's episodes: findings with their run, and what was done with each memory file.

use crate::analysis::{Analysis, Finding};

/// Findings and files of all runs together.
#[derive(Debug, Clone, Default)]
pub(super) struct Case {
    /// Findings with the path of their run.
    pub(super) findings: Vec<(String, Finding)>,
    /// Files by path.
    pub(super) files: Vec<FileUse>,
    /// Finished steps.
    pub(super) steps: u64,
}

/// What was done with a memory file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct FileUse {
    /// Its path.
    pub(super) path: String,
    /// Bytes at the end of an episode.
    pub(super) bytes: f64,
    /// Writes of the model.
    pub(super) writes: u64,
    /// Retrievals that named it.
    pub(super) retrievals: u64,
}

impl Case {
    /// Takes in a run.
    pub(super) fn add(&mut self, run: &str, analysis: Analysis) {
        let metrics = analysis.metrics.metrics;
        self.steps += metrics.steps;
        for file in metrics.files {
            let used = match self.files.iter_mut().find(|known| known.path == file.path) {
                Some(known) => known,
                None => {
                    self.files.push(FileUse {
                        path: file.path,
                        ..FileUse::default()
                    });
                    let last = self.files.len() - 1;
                    &mut self.files[last]
                }
            };
            used.bytes = used.bytes.max(file.bytes);
            used.writes += file.writes;
            used.retrievals += file.retrievals;
        }
        self.findings
            .extend(analysis.findings.into_iter().map(|finding| (run.to_owned(), finding)));
    }

    /// Whether one of some rules found something.
    pub(super) fn has(&self, rules: &[&str]) -> bool {
        self.findings
            .iter()
            .any(|(_, finding)| rules.contains(&finding.rule.as_str()))
    }

    /// Files that findings of a rule name, each once.
    pub(super) fn files_of(&self, rule: &str) -> Vec<&str> {
        let mut files: Vec<&str> = Vec::new();
        let findings = self.findings.iter().map(|(_, finding)| finding);
        for file in findings
            .filter(|finding| finding.rule == rule)
            .flat_map(|finding| &finding.files)
        {
            if !files.contains(&file.as_str()) {
                files.push(file);
            }
        }
        files
    }
}
