//! Where scaffolds and their versions come from, and how their runs went: one tree over folders, kept versions
//! and the scaffolds that runs carry with them.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::{MANIFEST, Scaffold, ScaffoldError, Source, Versions, digest_of};
use crate::config::Workspace;
use crate::store::ListedRun;
use crate::types::Digest;

/// A scaffold at one state of its files.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name.
    pub line: String,
    /// Digest of its files.
    pub digest: Digest,
    /// What its manifest calls its version.
    pub version: String,
    /// Name of the scaffold it was made from.
    pub parent_name: Option<String>,
    /// Digest of what it was made from, where that is known.
    pub parent: Option<Digest>,
    /// It is what the name stands for now.
    pub head: bool,
    /// Where the head is; `None` for other versions.
    pub source: Option<Source>,
    /// Why it was kept.
    pub note: String,
    /// When it was kept, RFC 3339.
    pub kept: Option<String>,
    /// The first paragraph of its METHOD.md.
    pub method: String,
    /// Runs that were played with exactly these files, oldest first.
    pub runs: Vec<RunScore>,
    /// How many it comes after, in this tree.
    pub depth: usize,
}

/// How a run went.
#[derive(Debug, Clone, PartialEq)]
pub struct RunScore {
    /// Its file.
    pub path: PathBuf,
    /// Its name.
    pub id: String,
    /// Progression of each episode that is over, 0 to 1.
    pub progression: Vec<f64>,
}

impl Node {
    /// Progression of all episodes of all its runs.
    pub fn progression(&self) -> Vec<f64> {
        self.runs
            .iter()
            .flat_map(|run| run.progression.iter().copied())
            .collect()
    }

    /// Mean progression and its standard error; `None` without episodes. The error is the reference's: the
    /// population standard deviation over the square root of the number of episodes, as in a gate's table.
    pub fn mean(&self) -> Option<(f64, f64)> {
        let all = self.progression();
        let n = all.len() as f64;
        if all.is_empty() {
            return None;
        }
        let mean = all.iter().sum::<f64>() / n;
        let spread: f64 = all.iter().map(|x| (x - mean).powi(2)).sum();
        Some((mean, spread.sqrt() / n))
    }
}

/// All of them, each after what it was made from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lineage {
    /// In the order of the tree.
    pub nodes: Vec<Node>,
    /// Scaffolds that cannot be read, with the reason.
    pub broken: Vec<(String, String)>,
}

impl Lineage {
    /// The node a name stands for.
    pub fn head(&self, line: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.line == line && node.head)
    }

    /// Versions of one name, in the order of the tree.
    pub fn of_line<'a>(&'a self, line: &'a str) -> impl Iterator<Item = &'a Node> {
        self.nodes.iter().filter(move |node| node.line == line)
    }

    /// The names from `line` up to the first it was made from, `line` first; empty when it is not known.
    pub fn ancestry(&self, line: &str) -> Vec<String> {
        let mut chain: Vec<String> = Vec::new();
        let mut next = Some(line.to_owned());
        while let Some(name) = next.filter(|name| !chain.contains(name)) {
            let Some(node) = self.head(&name).or_else(|| self.of_line(&name).last()) else {
                break;
            };
            next = node.parent_name.clone();
            chain.push(name);
        }
        chain
    }
}

/// The lineage of a workspace's scaffolds, with the runs that are given.
///
/// # Errors
/// When kept versions cannot be read.
pub fn lineage(workspace: &Workspace, runs: &[ListedRun]) -> Result<Lineage, ScaffoldError> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut broken = Vec::new();
    for found in Scaffold::list(workspace) {
        match Scaffold::files_named(&found.name, workspace) {
            Ok(files) => nodes.push(Node {
                head: true,
                source: Some(found.source),
                ..node(&found.name, &files)
            }),
            Err(error) => broken.push((found.name, error.to_string())),
        }
    }
    let mut order: HashMap<(String, Digest), i64> = HashMap::new();
    if let Some(versions) = Versions::reading(workspace)? {
        for version in versions.all()? {
            order.insert((version.line.clone(), version.digest), version.seq);
            let at = match position(&nodes, &version.line, version.digest) {
                Some(at) => at,
                None => {
                    nodes.push(node(&version.line, &versions.get(version.digest)?));
                    nodes.len() - 1
                }
            };
            nodes[at].parent = version.parent;
            nodes[at].note = version.note;
            nodes[at].kept = Some(version.kept);
        }
    }
    let mut oldest_first: Vec<&ListedRun> = runs.iter().collect();
    oldest_first.sort_by_key(|run| run.modified);
    for run in oldest_first {
        let Ok(content) = &run.content else { continue };
        let used = &content.meta.scaffold;
        let over = content.episodes.iter().filter(|episode| episode.end.is_some());
        let score = RunScore {
            path: run.path.clone(),
            id: content.meta.id.to_string(),
            progression: over.map(|episode| episode.progression).collect(),
        };
        // The same files may have had another name: what counts is what was played.
        let at = position(&nodes, &used.name, used.digest)
            .or_else(|| nodes.iter().position(|node| node.digest == used.digest));
        match at {
            Some(at) => nodes[at].runs.push(score),
            None => nodes.push(Node {
                version: used.version.clone(),
                parent_name: used.parent.clone(),
                runs: vec![score],
                ..node(&used.name, &used.files)
            }),
        }
    }
    Ok(Lineage {
        nodes: in_tree(nodes, &order),
        broken,
    })
}

fn position(nodes: &[Node], line: &str, digest: Digest) -> Option<usize> {
    nodes.iter().position(|node| node.line == line && node.digest == digest)
}

fn node(line: &str, files: &BTreeMap<String, String>) -> Node {
    let manifest: toml::Table = files
        .get(MANIFEST)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    let text = |key: &str| manifest.get(key).and_then(|value| value.as_str()).map(str::to_owned);
    Node {
        line: line.to_owned(),
        digest: digest_of(files),
        version: text("version").unwrap_or_default(),
        parent_name: text("parent"),
        parent: None,
        head: false,
        source: None,
        note: String::new(),
        kept: None,
        method: files
            .get("METHOD.md")
            .map_or_else(String::new, |text| first_paragraph(text)),
        runs: Vec::new(),
        depth: 0,
    }
}

/// The first paragraph that is no heading.
fn first_paragraph(text: &str) -> String {
    text.split("\n\n")
        .map(str::trim)
        .find(|part| !part.is_empty() && !part.starts_with('#'))
        .unwrap_or_default()
        .to_owned()
}

/// Each after its parent, depth first; siblings in the order they were kept, then by name.
fn in_tree(nodes: Vec<Node>, order: &HashMap<(String, Digest), i64>) -> Vec<Node> {
    let parents: Vec<Option<usize>> = nodes
        .iter()
        .enumerate()
        .map(|(at, node)| parent_of(&nodes, at, node))
        .collect();
    let key = |at: &usize| {
        let node = &nodes[*at];
        let seq = order.get(&(node.line.clone(), node.digest)).copied();
        (seq.unwrap_or(i64::MAX), node.line.clone(), node.digest)
    };
    let children = |of: Option<usize>| {
        let mut found: Vec<usize> = (0..nodes.len()).filter(|at| parents[*at] == of).collect();
        if of.is_none() {
            found.sort_by_key(|at| nodes[*at].line.clone());
        } else {
            found.sort_by_key(key);
        }
        found
    };
    let mut placed = vec![false; nodes.len()];
    let mut sorted = Vec::with_capacity(nodes.len());
    let mut open: Vec<(usize, usize)> = children(None).into_iter().rev().map(|at| (at, 0)).collect();
    let mut rest = 0..nodes.len();
    loop {
        while let Some((at, depth)) = open.pop() {
            if std::mem::replace(&mut placed[at], true) {
                continue;
            }
            sorted.push((at, depth));
            open.extend(children(Some(at)).into_iter().rev().map(|child| (child, depth + 1)));
        }
        // What goes round in a circle has no first: it begins anywhere.
        match rest.find(|at| !placed[*at]) {
            Some(at) => open.push((at, 0)),
            None => break,
        }
    }
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    sorted
        .into_iter()
        .filter_map(|(at, depth)| {
            let node = nodes[at].take()?;
            Some(Node { depth, ..node })
        })
        .collect()
}

/// What a node was made from: by digest where that is known, else what its parent's name stands for.
fn parent_of(nodes: &[Node], at: usize, node: &Node) -> Option<usize> {
    let other = |found: usize| (found != at).then_some(found);
    if let Some(digest) = node.parent {
        let same_line = |other: &Node| other.digest == digest && other.line == node.line;
        let found = nodes.iter().position(same_line);
        return found
            .or_else(|| nodes.iter().position(|other| other.digest == digest))
            .and_then(other);
    }
    let name = node.parent_name.as_ref()?;
    let head = nodes.iter().position(|other| other.line == *name && other.head);
    head.or_else(|| nodes.iter().position(|other| other.line == *name))
        .and_then(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(name: &str, version: &str, parent: Option<&str>) -> BTreeMap<String, String> {
        let parent = parent.map_or(String::new(), |parent| format!("parent = \"{parent}\"\n"));
        BTreeMap::from([
            (
                MANIFEST.to_owned(),
                format!("name = \"{name}\"\nversion = \"{version}\"\n{parent}"),
            ),
            ("METHOD.md".to_owned(), "# head\n\nWhat changed.\n\nMore.\n".to_owned()),
        ])
    }

    #[test]
    fn versions_stand_under_what_they_were_made_from() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        let versions = Versions::open(&workspace).unwrap();
        let v0 = Scaffold::named("crafter-v0", &workspace).unwrap().digest();
        let first = versions
            .keep(&files("mine", "1", Some("crafter-v0")), "mine", Some(v0), "p-1")
            .unwrap();
        let second = versions
            .keep(&files("mine", "2", Some("crafter-v0")), "mine", Some(first), "p-2")
            .unwrap();
        let other = versions
            .keep(&files("mine", "3", Some("crafter-v0")), "mine", Some(first), "p-3")
            .unwrap();
        versions.install("mine", second, None).unwrap();
        let found = lineage(&workspace, &[]).unwrap();
        let told: Vec<_> = found
            .of_line("mine")
            .map(|node| {
                (
                    node.digest,
                    node.depth,
                    node.head,
                    node.note.as_str(),
                    node.method.as_str(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (first, 1, false, "p-1", "What changed."),
                (second, 2, true, "p-2", "What changed."),
                (other, 2, false, "p-3", "What changed."),
            ]
        );
        assert_eq!(found.head("mine").unwrap().digest, second);
        assert_eq!(found.ancestry("mine"), ["mine", "crafter-v0"]);
        assert!(found.ancestry("nothing").is_empty());
        let at = |line: &str| found.nodes.iter().position(|node| node.line == line).unwrap();
        assert!(at("crafter-v0") < at("mine"));
    }

    #[test]
    fn a_circle_of_parents_has_an_end() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        let versions = Versions::open(&workspace).unwrap();
        let (a, b) = (files("a", "1", Some("b")), files("b", "1", Some("a")));
        let (of_a, of_b) = (digest_of(&a), digest_of(&b));
        versions.keep(&a, "a", Some(of_b), "").unwrap();
        versions.keep(&b, "b", Some(of_a), "").unwrap();
        let found = lineage(&workspace, &[]).unwrap();
        assert_eq!(found.of_line("a").chain(found.of_line("b")).count(), 2);
        assert_eq!(found.ancestry("a"), ["a", "b"]);
    }

    #[test]
    fn means_have_an_error() {
        let mut node = node("a", &files("a", "1", None));
        assert_eq!(node.mean(), None);
        let run = |progression: &[f64]| RunScore {
            path: PathBuf::new(),
            id: String::new(),
            progression: progression.to_vec(),
        };
        node.runs = vec![run(&[0.2])];
        assert_eq!(node.mean(), Some((0.2, 0.0)));
        node.runs.push(run(&[0.4, 0.6]));
        let (mean, error) = node.mean().unwrap();
        assert!((mean - 0.4).abs() < 1e-12 && (error - (0.08_f64 / 9.0).sqrt()).abs() < 1e-12);
    }
}
