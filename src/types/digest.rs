//! A 128-bit BLAKE3 digest, shown as 32 hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The first 16 bytes of a BLAKE3 hash. Names content (a file, a frame, a scaffold), not secrets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digest(pub [u8; 16]);

/// Text that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest (32 hexadecimal digits are expected)")]
pub struct DigestParseError(String);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self::from_hash(&blake3::hash(bytes.as_ref()))
    }

    /// The digest of several parts. Each part's length is hashed too, so that moving a byte from
    /// one part to the next changes the result.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self::from_hash(&hasher.finalize())
    }

    /// The digest of all bytes of a stream; the same as [`Digest::of`] gives for them at once.
    ///
    /// # Errors
    /// When the stream cannot be read.
    pub fn of_stream(input: &mut dyn std::io::Read) -> std::io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 1 << 18];
        loop {
            match input.read(&mut buffer) {
                Ok(0) => return Ok(Self::from_hash(&hasher.finalize())),
                Ok(count) => hasher.update(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
        }
    }

    fn from_hash(hash: &blake3::Hash) -> Self {
        let mut short = [0; 16];
        short.copy_from_slice(&hash.as_bytes()[..16]);
        Self(short)
    }

    /// The first eight hexadecimal digits: enough for a person to tell two apart.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = DigestParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || DigestParseError(text.to_owned());
        if text.len() != 32 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses() {
        let digest = Digest::of("a line\n");
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        assert_eq!(digest.short().len(), 8);
        assert!("zz".parse::<Digest>().is_err());
        let long = vec![7; 600_000];
        assert_eq!(Digest::of_stream(&mut long.as_slice()).unwrap(), Digest::of(&long));
        assert!("é".repeat(16).parse::<Digest>().is_err());
    }

    #[test]
    fn parts_do_not_run_together() {
        let one = Digest::of_parts([b"ab".as_slice(), b"c".as_slice()]);
        let two = Digest::of_parts([b"a".as_slice(), b"bc".as_slice()]);
        assert_ne!(one, two);
    }
}
