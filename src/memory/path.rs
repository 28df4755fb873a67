//! Names of memory files: what a model may call a file, and why not.

/// Folders and the file, together.
const MAX_DEPTH: usize = 4;
/// Bytes of one name, as file systems have it.
const MAX_NAME: usize = 255;

/// Checks a path that a model or a scaffold gave and returns its plain form (no `./`).
/// Everything is relative to the memory directory; the error is one short clause.
///
/// # Errors
/// Why it can be no memory file's name.
pub fn confine(path: &str) -> Result<&str, &'static str> {
    let mut path = path.trim();
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    if path.is_empty() {
        return Err("a file name is needed");
    }
    if path.starts_with('/') || path.starts_with('~') {
        return Err("absolute paths are not allowed; use a plain name such as notes.txt");
    }
    if path.contains('\\') {
        return Err("a file name has no backslash");
    }
    if path.chars().any(char::is_control) {
        return Err("a file name is one line without control characters");
    }
    let mut depth = 0;
    for name in path.split('/') {
        depth += 1;
        match name {
            "" => return Err("a name between slashes is missing"),
            "." | ".." => return Err("paths that leave the memory directory are not allowed"),
            _ if is_hidden(name) => return Err("names that begin with a dot or end with ~ are not allowed"),
            _ if name.trim() != name => return Err("a name does not begin or end with a space"),
            _ if name.len() > MAX_NAME => return Err("the name is too long"),
            _ => {}
        }
    }
    if depth > MAX_DEPTH {
        return Err("too many folders inside each other");
    }
    Ok(path)
}

/// Names that are no memory: our own temporary files, and what editors leave beside a file.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~')
}

/// Folders that files may be in, one inside the other.
pub(super) const fn max_folders() -> usize {
    MAX_DEPTH - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_pass() {
        for path in [
            "notes.txt",
            "地图.txt",
            "my notes.txt",
            "a/b/c/d.txt",
            "a.b.c",
            "x<y>|*",
        ] {
            assert_eq!(confine(path), Ok(path));
        }
        assert_eq!(confine(" ././notes.txt "), Ok("notes.txt"));
    }

    #[test]
    fn everything_else_does_not() {
        let long = "x".repeat(256);
        for path in [
            "",
            "  ",
            "./",
            "..",
            ".",
            "../../etc/passwd",
            "/etc/passwd",
            "~/.ssh/id",
            "a/../b",
            "a//b",
            "a/",
            "a\\b",
            "a\0b",
            "a\nb",
            ".hidden",
            "a/.git/config",
            "notes.txt~",
            "a/ b",
            "a/b/c/d/e.txt",
            &long,
        ] {
            assert!(confine(path).is_err(), "{path:?}");
        }
    }
}
