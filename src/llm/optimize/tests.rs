//! The choice and its figures, without a model.

use super::*;
use crate::llm::gguf::Tensor;

fn speed(prompt: f64, decode: f64) -> Speed {
    Speed {
        prompt_tokens_per_s: prompt,
        decode_tokens_per_s: decode,
    }
}

fn candidate(quantisation: &str, speed: Speed, same: f64) -> Candidate {
    Candidate {
        quantisation: quantisation.to_owned(),
        bytes: 1,
        speed,
        original: self::speed(100.0, 10.0),
        alike: Alike {
            places: 10,
            same_next_percent: same,
            log_prob_change: -0.1,
        },
    }
}

#[test]
fn what_is_asked_for_is_chosen() {
    let tried = [
        candidate("Q4_0", speed(300.0, 20.0), 90.0),
        candidate("Q8_0", speed(110.0, 11.0), 99.0),
        candidate("F16", speed(50.0, 5.0), 100.0),
    ];
    assert_eq!(choose(&tried, Keep::Fastest), [0]);
    assert_eq!(
        choose(&tried, Keep::MostAlike),
        [1],
        "F16 is more alike, but slower than the original"
    );
    assert_eq!(choose(&tried, Keep::Both), [0, 1]);
    assert_eq!(choose(&tried[2..], Keep::Both), [0; 0]);
    assert_eq!(choose(&tried[..1], Keep::Both), [0], "one that is both is kept once");
    assert_eq!(choose(&[], Keep::Fastest), [0; 0]);
}

#[test]
fn equally_alike_ones_are_told_apart_by_speed() {
    let tried = [
        candidate("Q5_0", speed(150.0, 12.0), 95.0),
        candidate("Q4_0", speed(300.0, 20.0), 95.0),
    ];
    assert_eq!(choose(&tried, Keep::MostAlike), [1]);
}

#[test]
fn targets_are_checked_before_anything_is_written() {
    let asked = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>();
    assert_eq!(targets("Q4_1", &[]).unwrap(), ["Q4_0", "Q8_0"]);
    assert_eq!(targets("Q8_0", &[]).unwrap(), ["Q4_0"]);
    assert_eq!(
        targets("F16", &asked(&["q4_0", " q8_0", "Q4_0"])).unwrap(),
        ["Q4_0", "Q8_0"]
    );
    assert!(targets("Q4_0", &asked(&["q4_0"])).unwrap_err().contains("Q4_0 already"));
    assert!(targets("Q4_0", &asked(&["Q3"])).unwrap_err().contains("Q4_K_M"));
    assert!(adds_to_loss("Q4_1") && !adds_to_loss("BF16"));
}

#[test]
fn likeness_is_counted_in_places() {
    let (mut a, mut b) = (Expected::default(), Expected::default());
    // Equal chances of two: ln(1/2); then 3 to 1.
    for (logits, next) in [([0.0, 0.0], Some(0)), ([1.0, 0.0], None)] {
        a.push(&logits, next);
    }
    for (logits, next) in [([3_f32.ln(), 0.0], Some(0)), ([0.0, 1.0], None)] {
        b.push(&logits, next);
    }
    assert!((a.log_prob[0] - 0.5_f64.ln()).abs() < 1e-6, "{a:?}");
    let alike = Alike::of(&a, &b).unwrap();
    assert_eq!(alike.places, 2);
    assert!((alike.log_prob_change - 1.5_f64.ln()).abs() < 1e-6, "{alike:?}");
    let same = Alike::of(&b, &b).unwrap();
    assert_eq!((same.same_next_percent, same.log_prob_change), (100.0, 0.0));
    b.push(&[0.0, 1.0], None);
    assert_eq!(Alike::of(&a, &b), None, "other tokens cannot be compared");
    assert_eq!(Alike::of(&Expected::default(), &Expected::default()), None);
}

#[test]
fn room_is_estimated_from_the_tensors() {
    let tensor = |name: &str, dims: &[u64]| Tensor {
        name: name.to_owned(),
        dims: dims.to_vec(),
        kind: 0,
        offset: 0,
    };
    let header = Header {
        version: 3,
        metadata: std::collections::BTreeMap::new(),
        tensors: vec![tensor("blk.0.w", &[1000, 1000]), tensor("norm", &[1000])],
        data_start: 500,
    };
    let least = 500 + 1_000_000 * 18 / 32 + 4000;
    let told = bytes_in(&header, "Q4_0");
    assert!((least..least + least / 20).contains(&told), "{told}");
    assert!(bytes_in(&header, "Q8_0") > told && bytes_in(&header, "Q4_K_M") > told);
    let folder = tempfile::tempdir().unwrap();
    assert!(check_room(folder.path(), 1).is_ok());
    #[cfg(unix)]
    assert!(
        check_room(folder.path(), u64::MAX)
            .unwrap_err()
            .to_string()
            .contains("are free")
    );
}
