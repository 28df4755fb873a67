//! There and back, the order of rows against the rotation itself, and everything that is refused.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value as Json, json};

use super::super::super::gguf::{Tensor, Value};
use super::super::{AdapterFile, Pair};
use super::rows::{Way, reorder};
use super::*;

const INPUTS: usize = 8;
const RANK: usize = 2;

/// The head of a model with two layers, two heads of queries of four rows, one of keys.
fn model(architecture: &str) -> Header {
    let mut tensors = Vec::new();
    for layer in 0..2 {
        for (name, inputs, outputs) in [
            ("attn_q", INPUTS, 8),
            ("attn_k", INPUTS, 4),
            ("attn_v", INPUTS, 4),
            ("attn_output", 8, INPUTS),
            ("ffn_gate", INPUTS, 12),
            ("ffn_down", 12, INPUTS),
        ] {
            tensors.push(Tensor {
                name: format!("blk.{layer}.{name}.weight"),
                dims: vec![inputs as u64, outputs as u64],
                kind: 0,
                offset: 0,
            });
        }
    }
    let number = |key: &str, number| (format!("{architecture}.attention.{key}"), Value::Unsigned(number));
    Header {
        version: 3,
        metadata: BTreeMap::from([
            ("general.architecture".to_owned(), Value::Text(architecture.to_owned())),
            number("head_count", 2),
            number("head_count_kv", 1),
        ]),
        tensors,
        data_start: 0,
    }
}

fn adapter(architecture: &str, model: &Header) -> AdapterFile {
    let numbers = |count: usize, from: usize| (0..count).map(|n| (from + n) as f32 / 16.0).collect();
    AdapterFile {
        architecture: architecture.to_owned(),
        alpha: 4.0,
        base: Some("someone/tiny".to_owned()),
        pairs: model
            .tensors
            .iter()
            .enumerate()
            .map(|(at, tensor)| {
                let (inputs, outputs) = (tensor.dims[0] as usize, tensor.dims[1] as usize);
                Pair {
                    target: tensor.name.clone(),
                    inputs,
                    outputs,
                    rank: RANK,
                    a: numbers(RANK * inputs, at * 100),
                    b: numbers(outputs * RANK, at * 100 + 50),
                }
            })
            .collect(),
    }
}

/// A folder as PEFT writes it, with these settings over the usual ones and these tensors.
fn folder(settings: &Json, tensors: &[(&str, Dtype, &[usize], Vec<u8>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut all = json!({"peft_type": "LORA", "r": RANK, "lora_alpha": 4, "bias": "none", "target_modules": ["q_proj"],
        "base_model_name_or_path": "someone/tiny", "use_dora": false, "modules_to_save": null, "rank_pattern": {}});
    for (key, value) in settings.as_object().unwrap() {
        all[key] = value.clone();
    }
    std::fs::write(folder.path().join(CONFIG), all.to_string()).unwrap();
    let views: Vec<(&str, TensorView<'_>)> = tensors
        .iter()
        .map(|(name, kind, shape, bytes)| (*name, TensorView::new(*kind, shape.to_vec(), bytes).unwrap()))
        .collect();
    safetensors::serialize_to_file(views, None, &folder.path().join(WEIGHTS)).unwrap();
    folder
}

const Q_A: &str = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight";
const Q_B: &str = "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight";

fn floats(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| (n as f32).to_le_bytes()).collect()
}

/// The pair of a query matrix; what the cases replace.
fn query<'a>() -> Vec<(&'a str, Dtype, &'a [usize], Vec<u8>)> {
    vec![
        (Q_A, Dtype::F32, &[RANK, INPUTS], floats(RANK * INPUTS)),
        (Q_B, Dtype::F32, &[8, RANK], floats(8 * RANK)),
    ]
}

fn refused(folder: &Path, model: &Header) -> String {
    import(folder, model).unwrap_err().to_string()
}

#[test]
fn an_adapter_goes_out_and_comes_back() {
    for architecture in ARCHITECTURES {
        let (model, place) = (model(architecture), tempfile::tempdir().unwrap());
        let adapter = adapter(architecture, &model);
        let out = place.path().join("deep").join("peft");
        let exported = export(&adapter, Some(&model), None, &out).unwrap();
        assert_eq!((exported.rank, exported.tensors, exported.modules.len()), (RANK, 24, 6));
        assert_eq!(import(&out, &model).unwrap(), adapter);
        let settings: Json = serde_json::from_str(&std::fs::read_to_string(out.join(CONFIG)).unwrap()).unwrap();
        assert_eq!(settings["base_model_name_or_path"], "someone/tiny");
        assert_eq!((&settings["r"], &settings["lora_alpha"]), (&json!(2), &json!(4)));
        assert_eq!(settings["task_type"], "CAUSAL_LM");
        assert!(
            settings["target_modules"]
                .as_array()
                .unwrap()
                .contains(&json!("o_proj"))
        );
        // Never over something that is there, and nothing is left beside it.
        let error = export(&adapter, Some(&model), None, &out).unwrap_err().to_string();
        assert!(error.contains("there already"), "{error}");
        assert_eq!(std::fs::read_dir(out.parent().unwrap()).unwrap().count(), 1);
    }
}

#[test]
fn only_rows_that_are_turned_are_reordered() {
    let written = |architecture: &str, name: &str| {
        let place = tempfile::tempdir().unwrap();
        let model = model(architecture);
        let adapter = adapter(architecture, &model);
        let out = place.path().join("peft");
        export(&adapter, Some(&model), Some("other/name"), &out).unwrap();
        let bytes = std::fs::read(out.join(WEIGHTS)).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let (module, side) = names::module_of(name).unwrap();
        let target = names::target_of(module).unwrap();
        let pair = adapter.pairs.iter().find(|pair| pair.target == target).unwrap();
        let own = if side == names::Side::A { &pair.a } else { &pair.b };
        let own: Vec<u8> = own.iter().flat_map(|number| number.to_le_bytes()).collect();
        file.tensor(name).unwrap().data() == own
    };
    let k_b = Q_B.replace("q_proj", "k_proj");
    let value = Q_B.replace("q_proj", "v_proj");
    assert!(!written("llama", Q_B) && !written("llama", &k_b));
    assert!(written("llama", Q_A) && written("llama", &value));
    assert!(written("qwen2", Q_B) && written("qwen3", Q_B));
}

/// Rotates a head as Hugging Face does: row `n` with row `n + half`.
fn rotate_halves(head: &[f32], angles: &[f32]) -> Vec<f32> {
    let half = head.len() / 2;
    let mut out = head.to_vec();
    for (n, angle) in angles.iter().enumerate() {
        out[n] = head[n] * angle.cos() - head[n + half] * angle.sin();
        out[n + half] = head[n] * angle.sin() + head[n + half] * angle.cos();
    }
    out
}

/// Rotates a head as llama.cpp does for this architecture: row `2n` with row `2n + 1`.
fn rotate_neighbours(head: &[f32], angles: &[f32]) -> Vec<f32> {
    let mut out = head.to_vec();
    for (n, angle) in angles.iter().enumerate() {
        let (x, y) = (head[2 * n], head[2 * n + 1]);
        out[2 * n] = x * angle.cos() - y * angle.sin();
        out[2 * n + 1] = x * angle.sin() + y * angle.cos();
    }
    out
}

#[test]
fn reordered_rows_give_the_same_attention() {
    const HEADS: usize = 3;
    let rows = |from: f32| -> Vec<f32> { (0..HEADS * 8).map(|n| ((n as f32 + from) * 1.7).sin()).collect() };
    let (query, key, angles) = (rows(0.0), rows(5.0), [0.3, 1.1, 2.0, 0.05]);
    let inward = |rows: &[f32]| reorder(rows, 1, HEADS, Way::In, "q").unwrap();
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    for head in 0..HEADS {
        let part = |rows: &[f32]| rows[head * 8..(head + 1) * 8].to_vec();
        let theirs = dot(&rotate_halves(&part(&query), &angles), &part(&key));
        let (query, key) = (inward(&query), inward(&key));
        let ours = dot(&rotate_neighbours(&part(&query), &angles), &part(&key));
        assert!((theirs - ours).abs() < 1e-5, "{theirs} {ours}");
        let wrong = dot(&rotate_halves(&part(&query), &angles), &part(&key));
        assert!((theirs - wrong).abs() > 1e-3);
    }
    // By hand: a head of four rows with two columns.
    let rows: Vec<f32> = (0..8).map(|n| n as f32).collect();
    let reordered = reorder(&rows, 2, 1, Way::In, "q").unwrap();
    assert_eq!(reordered, [0.0, 1.0, 4.0, 5.0, 2.0, 3.0, 6.0, 7.0]);
    assert_eq!(reorder(&reordered, 2, 1, Way::Out, "q").unwrap(), rows);
    assert!(reorder(&rows, 2, 3, Way::In, "q").is_err() && reorder(&rows, 2, 4, Way::In, "q").is_err());
}

#[test]
fn half_precision_comes_in() {
    let model = model("qwen2");
    let half: Vec<u8> = half::f16::from_f32(1.5).to_le_bytes().repeat(RANK * INPUTS);
    let brain: Vec<u8> = half::bf16::from_f32(1.5).to_le_bytes().repeat(8 * RANK);
    let folder = folder(
        &json!({}),
        &[
            (Q_A, Dtype::F16, &[RANK, INPUTS], half),
            (Q_B, Dtype::BF16, &[8, RANK], brain),
        ],
    );
    let adapter = import(folder.path(), &model).unwrap();
    assert_eq!(adapter.pairs[0].a, [1.5; RANK * INPUTS]);
    assert_eq!(adapter.pairs[0].b, [1.5; 8 * RANK]);
    assert_eq!((adapter.alpha, adapter.base.as_deref()), (4.0, Some("someone/tiny")));
}

#[test]
fn what_has_no_equal_is_refused_by_name() {
    let model = model("llama");
    let cases = [
        (json!({"use_rslora": true}), "rsLoRA"),
        (json!({"use_dora": true}), "DoRA"),
        (json!({"bias": "lora_only"}), "`lora_only`"),
        (json!({"lora_bias": true}), "`lora_bias`"),
        (json!({"modules_to_save": ["lm_head"]}), "`modules_to_save`"),
        (json!({"alpha_pattern": {"q_proj": 8}}), "`alpha_pattern`"),
        (json!({"fan_in_fan_out": true}), "transposed"),
        (json!({"trainable_token_indices": [3]}), "single tokens"),
        (json!({"alora_invocation_tokens": [1, 2]}), "aLoRA"),
        (json!({"init_lora_weights": "pissa_niter_16"}), "`pissa_niter_16`"),
        (json!({"peft_type": "IA3"}), "type IA3"),
        (json!({"peft_type": null}), "no `peft_type`"),
        (json!({"r": 3}), "ranks 2 and 2, where adapter_config.json says 3"),
        (json!({"r": 0}), "`r` is 0"),
        (json!({"r": "two"}), "`r` is no number"),
        (json!({"lora_alpha": null}), "`lora_alpha` is no number"),
    ];
    for (settings, says) in cases {
        let error = refused(folder(&settings, &query()).path(), &model);
        assert!(error.contains(says) && error.contains("; "), "{settings}: {error}");
    }
    // Ranks of their own are no problem.
    let own = folder(&json!({"r": 7, "rank_pattern": {"q_proj": 2}}), &query());
    assert_eq!(import(own.path(), &model).unwrap().pairs[0].rank, RANK);
}

#[test]
fn tensors_that_cannot_be_used_are_named() {
    let model = model("llama");
    let with = |at: usize, name: &'static str, kind: Dtype, shape: &'static [usize]| {
        let mut tensors = query();
        let bytes = shape.iter().product::<usize>() * kind.bitsize() / 8;
        let tensor = (name, kind, shape, vec![0; bytes]);
        if at < tensors.len() {
            tensors[at] = tensor
        } else {
            tensors.push(tensor)
        }
        refused(folder(&json!({}), &tensors).path(), &model)
    };
    let cases = [
        (
            2,
            "base_model.model.model.embed_tokens.lora_embedding_A",
            "changes the embeddings",
        ),
        (
            2,
            "base_model.model.model.layers.0.self_attn.q_proj.lora_magnitude_vector",
            "DoRA",
        ),
        (
            2,
            "base_model.model.lm_head.modules_to_save.weight",
            "has no place for it",
        ),
        (
            2,
            "base_model.model.model.layers.0.self_attn.q_proj.lora_B.bias",
            "has no place for it",
        ),
        (2, "encoder.weight", "no half of a LoRA pair of a language model"),
        (
            2,
            "base_model.model.model.layers.0.self_attn.qkv_proj.lora_A.weight",
            "`model.layers.0.self_attn.qkv_proj`",
        ),
        (
            2,
            "base_model.model.model.layers.0.self_attn.k_proj.lora_A.weight",
            "k_proj.lora_B.weight` is missing",
        ),
        (
            2,
            "base_model.model.model.layers.1.self_attn.k_proj.lora_B.weight",
            "k_proj.lora_A.weight` is missing",
        ),
    ];
    for (at, name, says) in cases {
        let error = with(at, name, Dtype::F32, &[RANK, INPUTS]);
        assert!(error.contains(says), "{name}: {error}");
    }
    assert!(with(0, Q_A, Dtype::I64, &[RANK, INPUTS]).contains("of the type I64"));
    assert!(with(0, Q_A, Dtype::F32, &[RANK, INPUTS, 1]).contains("is no matrix"));
    assert!(with(0, Q_A, Dtype::F32, &[3, INPUTS]).contains("ranks 3 and 2"));
    let error = with(1, Q_B, Dtype::F32, &[10, RANK]);
    assert!(
        error.contains("10 rows of `blk.0.attn_q.weight`") || error.contains("does not fit"),
        "{error}"
    );
    let error = with(0, Q_A, Dtype::F32, &[RANK, 6]);
    assert!(error.contains("`blk.0.attn_q.weight` has 6 inputs"), "{error}");
    let mut nan = query();
    nan[0].3[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(refused(folder(&json!({}), &nan).path(), &model).contains("lora_A.weight` is NaN"));
    assert!(refused(folder(&json!({}), &[]).path(), &model).contains("no tensors"));
}

#[test]
fn files_that_are_missing_or_damaged_are_named() {
    let model = model("llama");
    let place = folder(&json!({}), &query());
    let weights = place.path().join(WEIGHTS);
    let whole = std::fs::read(&weights).unwrap();
    for len in [0, 7, 8, 60, whole.len() - 1] {
        std::fs::write(&weights, &whole[..len]).unwrap();
        let error = refused(place.path(), &model);
        assert!(
            error.contains(WEIGHTS) && error.contains("no whole safetensors file"),
            "{error}"
        );
    }
    std::fs::remove_file(&weights).unwrap();
    assert!(refused(place.path(), &model).contains("it is not there"));
    std::fs::write(place.path().join("adapter_model.bin"), "").unwrap();
    assert!(refused(place.path(), &model).contains("safe_serialization=True"));
    std::fs::write(place.path().join(CONFIG), "{").unwrap();
    assert!(refused(place.path(), &model).contains("no JSON"));
    std::fs::remove_file(place.path().join(CONFIG)).unwrap();
    assert!(refused(place.path(), &model).contains("the folder that PEFT wrote"));
    let other = self::model("mamba");
    let error = refused(folder(&json!({}), &query()).path(), &other);
    assert!(
        error.contains("`mamba`") && error.contains("llama, qwen2, qwen3"),
        "{error}"
    );
}

#[test]
fn an_export_says_what_it_needs() {
    let (place, model) = (tempfile::tempdir().unwrap(), model("llama"));
    let out = place.path().join("peft");
    let adapter = adapter("llama", &model);
    let error = export(&adapter, None, None, &out).unwrap_err().to_string();
    assert!(error.contains("--base MODEL.gguf"), "{error}");
    let mut other = adapter.clone();
    other.pairs[0].target = "blk.0.ssm_in.weight".to_owned();
    let error = export(&other, None, None, &out).unwrap_err().to_string();
    assert!(error.contains("--base"), "{error}");
    other.architecture = "qwen2".to_owned();
    let error = export(&other, None, None, &out).unwrap_err().to_string();
    assert!(error.contains("`blk.0.ssm_in.weight` has no name"), "{error}");
    let error = export(&other, Some(&model), None, &out).unwrap_err().to_string();
    assert!(error.contains("does not fit the model"), "{error}");
    assert!(!out.exists());
    // Ranks that differ are said by module; an alpha that is no whole number stays one.
    let mut ranks = AdapterFile {
        architecture: "qwen3".to_owned(),
        alpha: 0.5,
        ..adapter
    };
    ranks.pairs.truncate(2);
    ranks.pairs[1].rank = 1;
    ranks.pairs[1].a.truncate(INPUTS);
    ranks.pairs[1].b.truncate(4);
    export(&ranks, None, Some("other/name"), &out).unwrap();
    let text = std::fs::read_to_string(out.join(CONFIG)).unwrap();
    let settings: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(settings["rank_pattern"], json!({"model.layers.0.self_attn.k_proj": 1}));
    assert_eq!((&settings["lora_alpha"], &settings["r"]), (&json!(0.5), &json!(2)));
    assert_eq!(settings["base_model_name_or_path"], "other/name");
    let back = import(&out, &self::model("qwen3")).unwrap();
    assert_eq!(
        AdapterFile {
            base: ranks.base.clone(),
            ..back
        },
        ranks
    );
}
