//! A tree of paths: folders that fold, files in order.

use std::collections::BTreeSet;

/// One row of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// The whole path; a folder's ends without `/`.
    pub(crate) path: String,
    /// The last part.
    pub(crate) name: String,
    /// How deep, from 0.
    pub(crate) depth: usize,
    /// `Some(open)` for a folder.
    pub(crate) folder: Option<bool>,
}

/// Rows of the tree of `paths` (sorted, `/` between parts) with some folders folded.
pub(crate) fn rows<'a>(paths: impl Iterator<Item = &'a str>, folded: &BTreeSet<String>) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for path in paths {
        let parts: Vec<&str> = path.split('/').collect();
        let folders = &parts[..parts.len() - 1];
        let shared = open.iter().zip(folders).take_while(|(a, b)| a == b).count();
        open.truncate(shared);
        let mut hidden = is_folded(&open, folded);
        for folder in &folders[shared..] {
            open.push(folder);
            if hidden {
                continue;
            }
            let path = open.join("/");
            let folds = folded.contains(&path);
            nodes.push(Node {
                path,
                name: (*folder).to_owned(),
                depth: open.len() - 1,
                folder: Some(!folds),
            });
            hidden = folds;
        }
        if !hidden {
            nodes.push(Node {
                path: path.to_owned(),
                name: parts[parts.len() - 1].to_owned(),
                depth: folders.len(),
                folder: None,
            });
        }
    }
    nodes
}

fn is_folded(open: &[&str], folded: &BTreeSet<String>) -> bool {
    !folded.is_empty() && (1..=open.len()).any(|n| folded.contains(&open[..n].join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_once_and_fold() {
        let paths = ["a.txt", "map/cave/x.txt", "map/y.txt", "z.txt"];
        let shown = |folded: &[&str]| -> Vec<String> {
            let folded = folded.iter().map(|&path| path.to_owned()).collect();
            rows(paths.into_iter(), &folded)
                .into_iter()
                .map(|node| format!("{}{}", " ".repeat(node.depth), node.name))
                .collect()
        };
        assert_eq!(shown(&[]), ["a.txt", "map", " cave", "  x.txt", " y.txt", "z.txt"]);
        assert_eq!(shown(&["map"]), ["a.txt", "map", "z.txt"]);
        assert_eq!(shown(&["map/cave"]), ["a.txt", "map", " cave", " y.txt", "z.txt"]);
    }
}
