//! A scaffold as one zip file: the same files give the same bytes.
//!
//! What comes from outside is confined and bounded: no path leads out, no link, no bomb.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::folder::{MAX_ALL_BYTES, MAX_FILE_BYTES, MAX_FILES, files_problem, left_out, path_problem};

/// Why an archive is no scaffold.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is no zip file, or a damaged one.
    #[error("it is no zip file that can be read: {0}")]
    Zip(#[from] zip::result::ZipError),
    /// An entry that no scaffold has.
    #[error("its entry `{path}` is refused: {why}")]
    Entry {
        /// Its path in the archive.
        path: String,
        /// Why.
        why: String,
    },
    /// It is too large.
    #[error("it is too large: {0}")]
    TooLarge(String),
    /// There is nothing in it.
    #[error("there are no files in it")]
    Empty,
}

/// A zip file with everything in a folder of that name.
///
/// # Errors
/// When a file cannot be part of an archive.
pub fn pack(name: &str, files: &BTreeMap<String, String>) -> Result<Vec<u8>, ArchiveError> {
    if let Some((path, why)) = files_problem(files) {
        return Err(ArchiveError::Entry { path, why });
    }
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    for (path, text) in files {
        zip.start_file(format!("{name}/{path}"), options)?;
        zip.write_all(text.as_bytes()).map_err(zip::result::ZipError::from)?;
    }
    Ok(zip.finish()?.into_inner())
}

/// The files of a zip file; a folder that holds all of them is left away. Hidden files and what Python and
/// systems leave beside them are left out.
///
/// # Errors
/// When it is no zip file, too large, or an entry is no plain text file inside of it.
pub fn unpack(bytes: &[u8]) -> Result<BTreeMap<String, String>, ArchiveError> {
    let mut zip = ZipArchive::new(Cursor::new(bytes))?;
    if zip.len() > MAX_FILES {
        let told = format!("it has {} entries, {MAX_FILES} are allowed", zip.len());
        return Err(ArchiveError::TooLarge(told));
    }
    let mut files = BTreeMap::new();
    let mut room = MAX_ALL_BYTES;
    for at in 0..zip.len() {
        let mut entry = zip.by_index(at)?;
        let path = entry.name()?.into_owned();
        let refuse = |why: &str| ArchiveError::Entry {
            path: path.clone(),
            why: why.to_owned(),
        };
        if entry.is_symlink() {
            return Err(refuse("it is a link"));
        }
        let plain = path.trim_end_matches('/');
        if let Some(why) = path_problem(plain) {
            if plain
                .split('/')
                .any(|name| name.starts_with('.') && name != "." && name != "..")
                && !plain.starts_with('/')
            {
                continue;
            }
            return Err(refuse(why));
        }
        if entry.is_dir() || plain.split('/').any(left_out) {
            continue;
        }
        let mut text = Vec::new();
        // What the archive says of sizes may be a lie: only what is read counts.
        let most = MAX_FILE_BYTES.min(room);
        let read = entry.by_ref().take(most + 1).read_to_end(&mut text);
        read.map_err(zip::result::ZipError::from)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(refuse(&format!("a scaffold's file may have {MAX_FILE_BYTES} bytes")));
        }
        if text.len() as u64 > most {
            return Err(ArchiveError::TooLarge(format!(
                "all files may have {MAX_ALL_BYTES} bytes"
            )));
        }
        room -= text.len() as u64;
        let text = String::from_utf8(text).map_err(|_| refuse("it is no UTF-8 text"))?;
        if files.insert(plain.to_owned(), text).is_some() {
            return Err(refuse("there are two of that name"));
        }
    }
    let files = without_shared_folder(files);
    if files.is_empty() {
        return Err(ArchiveError::Empty);
    }
    match files_problem(&files) {
        Some((path, why)) => Err(ArchiveError::Entry { path, why }),
        None => Ok(files),
    }
}

fn without_shared_folder(files: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let first = files
        .keys()
        .next()
        .and_then(|path| Some(format!("{}/", path.split_once('/')?.0)));
    match first {
        Some(folder) if files.keys().all(|path| path.starts_with(&folder)) => files
            .into_iter()
            .map(|(path, text)| (path[folder.len()..].to_owned(), text))
            .collect(),
        _ => files,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn files(list: &[(&str, &str)]) -> BTreeMap<String, String> {
        list.iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect()
    }

    fn zipped(list: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (path, text) in list {
            zip.start_file(*path, SimpleFileOptions::default()).unwrap();
            zip.write_all(text).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn the_same_files_give_the_same_bytes_and_come_back() {
        let all = files(&[
            ("scaffold.toml", "name = \"a\"\n"),
            ("prompts/log.md", "é\r\n"),
            ("empty", ""),
        ]);
        let bytes = pack("a", &all).unwrap();
        assert_eq!(bytes, pack("a", &all).unwrap());
        assert_eq!(unpack(&bytes).unwrap(), all);
        // Without a folder around it, and with what systems leave in archives.
        let bare = zipped(&[
            ("scaffold.toml", b"x"),
            ("__MACOSX/._scaffold.toml", b"\xff\xfe"),
            (".DS_Store", b"\xff"),
            ("agents/__pycache__/a.pyc", b"\xff"),
            ("agents/a.py", b"y"),
        ]);
        assert_eq!(
            unpack(&bare).unwrap(),
            files(&[("scaffold.toml", "x"), ("agents/a.py", "y")])
        );
    }

    #[test]
    fn what_leads_out_or_is_too_large_is_refused() {
        for (path, why) in [
            ("../x", "leads out"),
            ("a/../../x", "leads out"),
            ("/etc/passwd", "absolute"),
            ("C:/x", "absolute"),
            ("a\\..\\x", "backslash"),
            ("a//b", "missing"),
        ] {
            let told = unpack(&zipped(&[("ok.md", b"x"), (path, b"x")]))
                .unwrap_err()
                .to_string();
            assert!(told.contains(why), "{path}: {told}");
        }
        let mut link = ZipWriter::new(Cursor::new(Vec::new()));
        link.add_symlink("a", "/etc/passwd", SimpleFileOptions::default())
            .unwrap();
        assert!(
            unpack(&link.finish().unwrap().into_inner())
                .unwrap_err()
                .to_string()
                .contains("a link")
        );
        assert!(
            unpack(&zipped(&[("a", b"\xff\xfe")]))
                .unwrap_err()
                .to_string()
                .contains("UTF-8")
        );
        assert!(matches!(unpack(&zipped(&[])), Err(ArchiveError::Empty)));
        assert!(matches!(unpack(b"no zip"), Err(ArchiveError::Zip(_))));
        assert!(
            unpack(&zipped(&[("a", b"x"), ("a/b", b"x")]))
                .unwrap_err()
                .to_string()
                .contains("at once")
        );
        let many: Vec<String> = (0..=MAX_FILES).map(|n| format!("f{n}")).collect();
        let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), b"".as_slice())).collect();
        assert!(matches!(unpack(&zipped(&many)), Err(ArchiveError::TooLarge(_))));
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = vec![b'a'; 40 << 20];
        let one = zipped(&[("a", &bomb)]);
        assert!(one.len() < 1 << 20);
        assert!(unpack(&one).unwrap_err().to_string().contains("may have 1048576 bytes"));
        let whole = &bomb[..1 << 20];
        let names: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), whole)).collect();
        assert!(matches!(unpack(&zipped(&many)), Err(ArchiveError::TooLarge(_))));
    }

    proptest! {
        #[test]
        fn damage_is_an_error_and_no_panic(at in 0_usize..400, byte: u8) {
            let mut bytes = pack("a", &files(&[("scaffold.toml", "name = \"a\"\n"), ("b/c.md", "text\n")])).unwrap();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = unpack(&bytes);
            let _ = unpack(&bytes[..at]);
        }
    }
}
