//! SHA-256 of files, as packages and models are pinned by it.

use std::io::Read;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::Cancel;

/// SHA-256 of a file in hexadecimal; `progress` gets the bytes so far. `None` when cancelled.
///
/// # Errors
/// When the file cannot be read.
pub fn sha256(path: &Path, cancel: &Cancel, progress: &mut dyn FnMut(u64)) -> std::io::Result<Option<String>> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    loop {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(Some(hex(&hasher.finalize())));
        }
        hasher.update(&buffer[..count]);
        done += count as u64;
        progress(done);
    }
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_right() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"abc").unwrap();
        let sum = sha256(file.path(), &Cancel::new(), &mut |_| {}).unwrap().unwrap();
        assert_eq!(sum, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let cancel = Cancel::new();
        cancel.cancel();
        assert_eq!(sha256(file.path(), &cancel, &mut |_| {}).unwrap(), None);
    }
}
