//! Write and read back, every fault named, every way of cutting a file off, random damage.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;

use super::super::gguf::{Tensor, Value};
use super::*;

/// An adapter of two matrices, small enough to be damaged byte by byte.
fn small() -> AdapterFile {
    AdapterFile {
        architecture: "llama".to_owned(),
        alpha: 16.0,
        base: Some("tiny".to_owned()),
        pairs: vec![
            pair("blk.10.attn_q.weight", 4, 6, 2),
            pair("blk.2.attn_v.weight", 4, 2, 2),
        ],
    }
}

fn pair(target: &str, inputs: usize, outputs: usize, rank: usize) -> Pair {
    let numbers = |count: usize| (0..count).map(|n| n as f32 / 8.0 - 1.0).collect();
    Pair {
        target: target.to_owned(),
        inputs,
        outputs,
        rank,
        a: numbers(rank * inputs),
        b: numbers(outputs * rank),
    }
}

/// A folder and the file of [`small`] in it.
fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gguf");
    write(&path, &small()).unwrap();
    (folder, path)
}

/// What is said of a file with these bytes.
fn error_of(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.gguf");
    std::fs::write(&path, bytes).unwrap();
    let inspected = inspect(&path).map(|_| ()).unwrap_err().to_string();
    assert_eq!(read(&path).map(|_| ()).unwrap_err().to_string(), inspected);
    assert!(
        inspected.starts_with(&path.display().to_string()) && inspected.contains("; "),
        "{inspected}"
    );
    inspected
}

/// The file's bytes with a text in the place of another of the same length.
fn changed(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let (_folder, path) = written();
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes
        .windows(from.len())
        .position(|part| part == from.as_bytes())
        .unwrap();
    bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
    bytes
}

/// Where the extents of a tensor are written: name, number of extents, extents, type, offset.
fn after(bytes: &[u8], name: &str) -> usize {
    bytes
        .windows(name.len())
        .position(|part| part == name.as_bytes())
        .unwrap()
        + name.len()
}

/// The head of a model with these matrices.
fn model(architecture: &str, tensors: &[(&str, u64, u64)]) -> Header {
    Header {
        version: 3,
        metadata: BTreeMap::from([("general.architecture".to_owned(), Value::Text(architecture.to_owned()))]),
        tensors: tensors
            .iter()
            .map(|(name, inputs, outputs)| Tensor {
                name: (*name).to_owned(),
                dims: vec![*inputs, *outputs],
                kind: 0,
                offset: 0,
            })
            .collect(),
        data_start: 0,
    }
}

#[test]
fn what_is_written_is_read_back_and_described() {
    let (folder, path) = written();
    assert_eq!(read(&path).unwrap(), small());
    let info = inspect(&path).unwrap();
    assert_eq!(
        (info.rank, info.alpha, info.parameters()),
        (2, 16.0, 2 * (4 + 6) + 2 * (4 + 2))
    );
    assert_eq!(
        (info.architecture.as_str(), info.base.as_deref()),
        ("llama", Some("tiny"))
    );
    assert_eq!(
        info.tensors[0],
        AdapterTensor {
            target: "blk.10.attn_q.weight".to_owned(),
            rank: 2,
            inputs: 4,
            outputs: 6
        }
    );
    assert_eq!(info.digest, Digest::of(std::fs::read(&path).unwrap()));
    // It takes the place of what was there, and leaves nothing beside it.
    let other = AdapterFile { base: None, ..small() };
    let digest = write(&path, &other).unwrap();
    assert_ne!(digest, info.digest);
    assert_eq!(inspect(&path).unwrap().digest, digest);
    assert_eq!(read(&path).unwrap(), other);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    // Every tensor begins where ggml wants it.
    let header = Header::open(&path).unwrap();
    assert!(header.data_start.is_multiple_of(32));
    assert!(header.tensors.iter().all(|tensor| tensor.offset.is_multiple_of(32)));
}

#[test]
fn half_precision_is_read() {
    // Two halves of 2 x 4 numbers, written as F16 and as BF16 by hand.
    for (kind, bytes) in [
        (1_u32, half::f16::from_f32(0.5).to_le_bytes()),
        (30, half::bf16::from_f32(0.5).to_le_bytes()),
    ] {
        let (_folder, path) = written();
        let mut whole = std::fs::read(&path).unwrap();
        let start = Header::open(&path).unwrap().data_start as usize;
        let at = after(&whole, "blk.10.attn_q.weight.lora_a") + 4 + 16;
        whole[at..at + 4].copy_from_slice(&kind.to_le_bytes());
        whole[start..start + 16].copy_from_slice(&bytes.repeat(8));
        std::fs::write(&path, whole).unwrap();
        assert_eq!(read(&path).unwrap().pairs[0].a, [0.5; 8]);
    }
}

#[test]
fn every_fault_is_named() {
    let cases = [
        (changed("adapter.type", "adapter.tipe"), "what kind of adapter"),
        (changed("lora.alpha", "lora.beta_"), "no adapter.lora.alpha"),
        (
            changed("general.architecture", "general.architektur_"),
            "does not name the architecture",
        ),
        (
            changed("attn_q.weight.lora_b", "attn_x.weight.lora_b"),
            "`blk.10.attn_q.weight.lora_b` is missing",
        ),
        (
            changed("attn_q.weight.lora_b", "attn_q.weight.lora_a"),
            "`blk.10.attn_q.weight.lora_a` twice",
        ),
        (
            changed("attn_q.weight.lora_b", "attn_q.weight.bias_b"),
            "belongs to no LoRA pair",
        ),
    ];
    for (bytes, says) in cases {
        let error = error_of(&bytes);
        assert!(error.contains(says), "{error}");
    }
    let (_folder, path) = written();
    let whole = std::fs::read(path).unwrap();
    let set = |at: usize, value: &[u8]| {
        let mut bytes = whole.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        error_of(&bytes)
    };
    let kind = after(&whole, "adapter.type") + 4 + 8;
    assert!(set(kind, b"lori").contains("unknown type `lori`"));
    assert!(set(kind, b"lo\x1b[").contains("unknown type `lo␛[`"));
    let general = after(&whole, "general.type") + 4 + 8;
    assert!(set(general, b"adopter").contains("general.type is `adopter`"));
    let extents = after(&whole, "blk.10.attn_q.weight.lora_a") + 4;
    let error = set(extents + 8, &1_u64.to_le_bytes());
    assert!(
        error.contains("`blk.10.attn_q.weight`") && error.contains("rank 1") && error.contains("rank 2"),
        "{error}"
    );
    assert!(set(extents, &0_u64.to_le_bytes()).contains("impossible extents [0, 2]"));
    let error = set(extents + 16, &8_u32.to_le_bytes());
    assert!(
        error.contains("`blk.10.attn_q.weight.lora_a` is quantised as Q8_0"),
        "{error}"
    );
    assert!(set(extents + 16, &77_u32.to_le_bytes()).contains("type 77"));
    let alpha = after(&whole, "adapter.lora.alpha") + 4;
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(
            set(alpha, &bad.to_le_bytes()).contains("adapter.lora.alpha is"),
            "{bad}"
        );
    }
    assert!(error_of(b"").contains("empty"));
    assert!(error_of(b"PK zip").contains("not a GGUF file"));
}

#[test]
fn other_kinds_of_files_are_named() {
    let described = |metadata: &[(&str, &str)]| {
        let metadata = metadata
            .iter()
            .map(|(key, text)| ((*key).to_owned(), Value::Text((*text).to_owned())));
        let header = Header {
            metadata: metadata.collect(),
            ..model("llama", &[])
        };
        Described::of(&header).unwrap_err().cause
    };
    assert!(described(&[("general.architecture", "llama")]).contains("a model and no LoRA adapter"));
    let lora = [("general.type", "adapter"), ("adapter.type", "lora")];
    assert!(described(&[lora[0], ("adapter.type", "alora")]).contains("activated LoRA"));
    assert!(described(&[lora[0], lora[1], ("adapter.alora.invocation_tokens", "")]).contains("activated LoRA"));
    assert!(described(&[("general.type", "adapter"), ("adapter.type", "control_vector")]).contains("control_vector"));
    let long = "x".repeat(500);
    assert!(described(&[lora[0], ("adapter.type", &long)]).len() < 200);
}

#[test]
fn numbers_that_are_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nan.gguf");
    let mut bad = small();
    bad.pairs[1].b[3] = f32::NAN;
    let error = write(&path, &bad).unwrap_err().to_string();
    assert!(
        error.contains("number 3 of `blk.2.attn_v.weight.lora_b` is NaN"),
        "{error}"
    );
    assert!(!path.exists());
    // In a file that somebody else wrote.
    write(&path, &small()).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len();
    // The last tensor is 2 x 2 numbers, filled up to 32 bytes.
    bytes[end - 32..end - 28].copy_from_slice(&f32::INFINITY.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(
        error.contains("number 0 of `blk.2.attn_v.weight.lora_b` is inf"),
        "{error}"
    );
}

#[test]
fn what_does_not_fit_together_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gguf");
    let broken: [fn(&mut AdapterFile); 5] = [
        |adapter| adapter.pairs.clear(),
        |adapter| adapter.pairs[0].a.truncate(3),
        |adapter| adapter.pairs[1].target = adapter.pairs[0].target.clone(),
        |adapter| adapter.alpha = 0.0,
        |adapter| adapter.architecture.clear(),
    ];
    for damage in broken {
        let mut adapter = small();
        damage(&mut adapter);
        assert!(write(&path, &adapter).is_err());
        assert!(!path.exists());
    }
    std::fs::write(folder.path().join("file"), "x").unwrap();
    let error = write(&folder.path().join("file").join("a.gguf"), &small())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("cannot be written") && error.contains("disk has room"),
        "{error}"
    );
}

#[test]
fn an_adapter_fits_its_own_model_only() {
    let (_folder, path) = written();
    let info = inspect(&path).unwrap();
    let own = [
        ("blk.10.attn_q.weight", 4, 6),
        ("blk.2.attn_v.weight", 4, 2),
        ("token_embd.weight", 4, 9),
    ];
    fits(&info, &model("llama", &own)).unwrap();
    let why =
        |architecture: &str, tensors: &[(&str, u64, u64)]| fits(&info, &model(architecture, tensors)).unwrap_err();
    let error = why("qwen2", &own);
    assert!(error.contains("`llama`") && error.contains("`qwen2`"), "{error}");
    let error = why("llama", &own[..1]);
    assert!(
        error.contains("`blk.2.attn_v.weight`, which the model does not have"),
        "{error}"
    );
    let error = why("llama", &[own[0], ("blk.2.attn_v.weight", 4, 3)]);
    assert!(
        error.contains("`blk.2.attn_v.weight` has 4 inputs and 2 outputs") && error.contains("4 x 3"),
        "{error}"
    );
    assert!(why("llama", &[]).contains("and 1 more"));
    let on = |target: &str| AdapterInfo {
        tensors: vec![AdapterTensor {
            target: target.to_owned(),
            rank: 2,
            inputs: 4,
            outputs: 9,
        }],
        ..info.clone()
    };
    assert!(
        fits(&on("token_embd.weight"), &model("llama", &own))
            .unwrap_err()
            .contains("embeddings")
    );
    assert!(
        fits(&on("output.weight"), &model("llama", &own))
            .unwrap_err()
            .contains("its head is its embeddings")
    );
    let mut adapter = model("llama", &own);
    adapter
        .metadata
        .insert("general.type".to_owned(), Value::Text("adapter".to_owned()));
    assert!(fits(&info, &adapter).unwrap_err().contains("give the base model"));
}

#[test]
fn every_cut_is_noticed() {
    let (folder, path) = written();
    let whole = std::fs::read(&path).unwrap();
    let cut = folder.path().join("cut.gguf");
    // What fills up the last tensor's 16 bytes to 32 may be missing.
    for len in 0..whole.len() - 16 {
        std::fs::write(&cut, &whole[..len]).unwrap();
        let error = inspect(&cut).unwrap_err().to_string();
        assert!(error.contains("cut off") || error.contains("empty"), "{len}: {error}");
        assert!(read(&cut).is_err());
    }
}

fn any_adapter() -> impl Strategy<Value = AdapterFile> {
    let pair = (1_usize..9, 1_usize..9, 1_usize..5).prop_flat_map(|(inputs, outputs, rank)| {
        let numbers = |count: usize| prop::collection::vec(-1e6_f32..1e6, count);
        (numbers(rank * inputs), numbers(outputs * rank)).prop_map(move |(a, b)| (inputs, outputs, rank, a, b))
    });
    (
        "[a-z0-9]{1,8}",
        0.01_f32..1e4,
        prop::option::of("\\PC{0,20}"),
        prop::collection::vec(pair, 1..5),
    )
        .prop_map(|(architecture, alpha, base, pairs)| AdapterFile {
            architecture,
            alpha,
            base,
            pairs: pairs
                .into_iter()
                .enumerate()
                .map(|(n, (inputs, outputs, rank, a, b))| Pair {
                    target: format!("blk.{n}.attn_q.weight"),
                    inputs,
                    outputs,
                    rank,
                    a,
                    b,
                })
                .collect(),
        })
}

/// Reads from bytes, as from a file.
fn read_bytes(bytes: &[u8]) {
    if let Ok(header) = Header::read(bytes, bytes.len() as u64) {
        let _ = read_from(std::io::Cursor::new(bytes), &header);
        if let Ok(described) = Described::of(&header) {
            assert!(!described.pairs.is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_adapter_comes_back(adapter in any_adapter()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gguf");
        write(&path, &adapter).unwrap();
        prop_assert_eq!(read(&path).unwrap(), adapter);
    }

    #[test]
    fn damage_never_panics(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let (_folder, path) = written();
        let mut bytes = std::fs::read(path).unwrap();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read_bytes(&bytes);
    }
}
