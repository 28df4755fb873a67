//! Crafted heads, every way of cutting them off, and random damage.

use proptest::prelude::*;

use super::*;

/// Writes GGUF bytes by hand.
struct Maker(Vec<u8>);

impl Maker {
    fn new(version: u32, tensors: u64, entries: u64) -> Self {
        let mut maker = Self(b"GGUF".to_vec());
        maker.0.extend(version.to_le_bytes());
        maker.0.extend(tensors.to_le_bytes());
        maker.0.extend(entries.to_le_bytes());
        maker
    }

    fn text(mut self, text: &str) -> Self {
        self.0.extend((text.len() as u64).to_le_bytes());
        self.0.extend(text.as_bytes());
        self
    }

    fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }
}

/// One F32 tensor of 64 elements, one Q4_1 of 64; some metadata of every useful kind.
fn small_model() -> Vec<u8> {
    let mut bytes = Maker::new(3, 2, 5)
        .text("general.architecture")
        .u32(8)
        .text("llama")
        .text("llama.context_length")
        .u32(4)
        .u32(8192)
        .text("tokenizer.chat_template")
        .u32(8)
        .text("{{ messages }}")
        .text("general.file_type")
        .u32(4)
        .u32(3)
        .text("tokenizer.ggml.tokens")
        .u32(9)
        .u32(8)
        .u64(3)
        .text("a")
        .text("b")
        .text("c")
        .text("norm")
        .u32(1)
        .u64(64)
        .u32(0)
        .u64(0)
        .text("weight")
        .u32(2)
        .u64(32)
        .u64(2)
        .u32(3)
        .u64(256)
        .0;
    let start = bytes.len().next_multiple_of(32);
    bytes.resize(start + 256 + 40, 7);
    bytes
}

fn read(bytes: &[u8]) -> Result<Header, GgufError> {
    Header::read(bytes, bytes.len() as u64)
}

#[test]
fn a_small_model_is_described() {
    let header = read(&small_model()).unwrap();
    assert_eq!(header.tensors.len(), 2);
    assert_eq!(header.tensors[1].bytes(), Some(40));
    let info = ModelInfo::of(&header);
    assert_eq!(info.architecture.as_deref(), Some("llama"));
    assert_eq!(info.parameters, 128);
    assert_eq!(info.quantisation, "Q4_1");
    assert_eq!(info.context_length, Some(8192));
    assert_eq!(info.vocabulary, Some(3));
    assert!(info.chat_template);
}

#[test]
fn every_cut_is_noticed() {
    let whole = small_model();
    for len in 0..whole.len() {
        let error = read(&whole[..len]).unwrap_err();
        assert!(
            matches!(error, GgufError::CutOff { .. } | GgufError::Empty),
            "{len}: {error}"
        );
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn other_files_are_named() {
    assert!(matches!(read(b"PK\x03\x04 a zip"), Err(GgufError::Magic(_))));
    let old = Maker::new(1, 0, 0).0;
    assert!(matches!(read(&old), Err(GgufError::Version(1))));
    let mut big = b"GGUF".to_vec();
    big.extend(3_u32.to_be_bytes());
    big.resize(64, 0);
    assert!(matches!(read(&big), Err(GgufError::BigEndian)));
}

#[test]
fn counts_are_not_believed() {
    let mut bytes = Maker::new(3, u64::MAX, u64::MAX).0;
    bytes.resize(4096, 0);
    assert!(matches!(read(&bytes), Err(GgufError::CutOff { .. })));
    let array = Maker::new(3, 0, 1).text("k").u32(9).u32(8).u64(u64::MAX).0;
    assert!(matches!(read(&array), Err(GgufError::CutOff { .. })));
    let text = Maker::new(3, 0, 1).u64(u64::MAX).u64(0).0;
    assert!(matches!(read(&text), Err(GgufError::CutOff { .. })));
    let nested = (0..6).fold(Maker::new(3, 0, 1).text("k").u32(9), |maker, _| maker.u32(9).u64(1));
    assert!(matches!(read(&nested.u64(0).u64(0).0), Err(GgufError::Damaged(_))));
}

#[test]
fn a_missing_file_says_what_to_do() {
    let error = Header::open(Path::new("/nowhere/model.gguf")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("/nowhere/model.gguf") && text.contains("check the path"),
        "{text}"
    );
    let folder = tempfile::tempdir().unwrap();
    assert!(Header::open(folder.path()).unwrap_err().to_string().contains("folder"));
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
        let mut with_magic = b"GGUF\x03\0\0\0".to_vec();
        with_magic.extend(bytes);
        let _ = read(&with_magic);
    }

    #[test]
    fn flipped_bytes_never_panic(at in 0_usize..600, value in any::<u8>()) {
        let mut bytes = small_model();
        let at = at % bytes.len();
        bytes[at] = value;
        if let Ok(header) = read(&bytes) {
            let _ = ModelInfo::of(&header);
        }
    }
}
