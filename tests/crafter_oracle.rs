//! Native Crafter against recorded episodes of the Python original, field by field.
//!
//! The recordings are in `tests/fixtures/crafter`; `extras` has random numbers, noise, worlds, maps,
//! daylight and texts by themselves.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Read;
use std::path::{Path, PathBuf};

use automem::env::crafter::{
    self, Engine, Mode, Options, Outcome, Pos, Rng, SIDE, Simplex, daylight, tiles, trace, tuple_hash, world_seed,
};
use flate2::read::GzDecoder;
use serde_json::Value;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/crafter")
}

fn unpacked(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

fn json_lines(path: &Path) -> Vec<Value> {
    let text = unpacked(path);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn extra(name: &str) -> Vec<Value> {
    json_lines(&fixtures().join("extras").join(name))
}

/// The numbers of a (nested) array in a line of JSON, to the last bit: serde_json reads numbers
/// quickly and not always exactly.
fn numbers(line: &str, field: &str) -> Vec<f64> {
    let start = line.find(&format!("\"{field}\":[")).unwrap() + field.len() + 3;
    let end = line[start..].find(['"', '}']).unwrap_or(line.len() - start);
    let words = line[start..start + end].split(['[', ']', ',', '}']);
    words
        .filter(|word| !word.trim().is_empty())
        .map(|word| word.trim().parse().unwrap())
        .collect()
}

fn options_of(header: &Value) -> (Options, i128) {
    let options = Options {
        mode: if header["mode"] == "raw" {
            Mode::Raw
        } else {
            Mode::Balrog
        },
        size: header["size"][0].as_u64().unwrap() as usize,
        length: header["length"].as_u64().unwrap_or(0),
        episode: header["episode"].as_i64().unwrap().into(),
    };
    (options, header["seed"].as_i64().unwrap().into())
}

/// What a reader of our line gets.
fn reread(value: &impl serde::Serialize) -> Value {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// The first field that differs, in words.
fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    let (a, b) = (ours.as_object().unwrap(), theirs.as_object().unwrap());
    a.keys()
        .chain(b.keys())
        .find(|key| a.get(*key) != b.get(*key))
        .map(|key| {
            let show = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
            format!("field `{key}`: ours {}, theirs {}", show(a.get(key)), show(b.get(key)))
        })
}

/// Replays one recording; returns its number of states or the first difference.
fn replay(path: &Path) -> Result<usize, String> {
    let lines = json_lines(path);
    let (options, seed) = options_of(&lines[0]);
    let mut engine = Engine::new(options, seed);
    let differs = |record: usize, what: String| format!("{}, record {record}: {what}", path.display());
    if lines[0]["world_seed"] != engine.world_seed() {
        return Err(differs(0, format!("world seed: ours {}", engine.world_seed())));
    }
    let mut tracer = trace::Tracer::new();
    let records = &lines[1..lines.len() - 1];
    for (n, theirs) in records.iter().enumerate() {
        let mut outcome = Outcome {
            reward: 0.0,
            done: false,
        };
        let action = theirs["a"].as_u64().map(|action| action as u8);
        if let Some(action) = action {
            outcome = engine.step(action);
        }
        let ours = tracer.record(&engine, action, outcome);
        if let Some(what) = difference(&reread(&ours), theirs) {
            return Err(differs(n + 1, what));
        }
    }
    match difference(&reread(&trace::closing(&engine)), &lines[lines.len() - 1]) {
        Some(what) => Err(differs(lines.len() - 1, what)),
        None => Ok(records.len()),
    }
}

#[test]
fn every_recorded_episode_replays_without_a_difference() {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .collect();
    paths.sort();
    assert_eq!(paths.len(), 21, "a recording is missing");
    let mut states = 0;
    let mut failures = Vec::new();
    for path in &paths {
        match replay(path) {
            Ok(n) => states += n,
            Err(what) => failures.push(what),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(states > 5_000, "only {states} states were compared");
}

#[test]
fn random_numbers() {
    for text in unpacked(&fixtures().join("extras/rng.jsonl.gz")).lines() {
        let line: Value = serde_json::from_str(text).unwrap();
        let seed: i128 = line["seed"].as_str().unwrap().parse().unwrap();
        let episode = line["episode"].as_i64().unwrap().into();
        assert_eq!(line["tuple_hash"], tuple_hash(seed, episode), "seed {seed}");
        let start = world_seed(seed, episode);
        assert_eq!(line["world_seed"], start, "seed {seed}");
        let mut rng = Rng::new(start);
        for word in line["raw20"].as_array().unwrap() {
            assert_eq!(*word, rng.word());
        }
        let mut rng = Rng::new(start);
        for number in numbers(text, "uniform20") {
            assert_eq!(number, rng.uniform());
        }
        let mut rng = Rng::new(start);
        for pair in line["bounded"].as_array().unwrap() {
            assert_eq!(pair[1], rng.below(pair[0].as_u64().unwrap() as u32));
        }
        assert_eq!(line["next"], rng.peek());
    }
}

#[test]
fn noise() {
    for text in unpacked(&fixtures().join("extras/simplex.jsonl.gz")).lines() {
        let line: Value = serde_json::from_str(text).unwrap();
        let simplex = Simplex::new(line["simplex_seed"].as_i64().unwrap());
        let permutation: Vec<u64> = line["perm"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap())
            .collect();
        assert!(simplex.permutation().iter().map(|n| u64::from(*n)).eq(permutation));
        let samples = numbers(text, "samples");
        assert_eq!(samples.len(), 200);
        for sample in samples.chunks_exact(4) {
            let [x, y, z, value] = [0, 1, 2, 3].map(|n| sample[n]);
            assert_eq!(simplex.noise3(x, y, z).to_bits(), value.to_bits(), "at {x}, {y}, {z}");
        }
    }
}

#[test]
fn initial_worlds() {
    for line in extra("worlds.jsonl.gz") {
        let seed: i128 = line["seed"].as_str().unwrap().parse().unwrap();
        let options = Options {
            episode: line["episode"].as_i64().unwrap().into(),
            ..Options::RAW
        };
        let engine = Engine::new(options, seed);
        let outcome = Outcome {
            reward: 0.0,
            done: false,
        };
        let record = serde_json::to_value(trace::Tracer::new().record(&engine, None, outcome)).unwrap();
        for field in ["n", "m", "o", "oo", "ch", "x"] {
            assert_eq!(record[field], line[field], "seed {seed}, field `{field}`");
        }
        let mut counts = [0_u64; tiles::MATERIALS];
        for material in engine.map().materials() {
            counts[usize::from(*material)] += 1;
        }
        assert_eq!(line["mats"], serde_json::json!(counts), "seed {seed}");
        assert_eq!(line["world_seed"], engine.world_seed());
    }
}

#[test]
fn printed_maps() {
    for seed in [7, 42, 43] {
        let text = std::fs::read_to_string(fixtures().join(format!("extras/map_s{seed}.txt"))).unwrap();
        let engine = Engine::new(Options::RAW, seed);
        let rows = text.lines().skip_while(|line| line.starts_with("# seed")).take(SIDE);
        for (y, row) in rows.enumerate() {
            let ours: String = (0..SIDE)
                .map(|x| {
                    let material = engine.map().material(Pos::new(x as i32, y as i32));
                    char::from(b"?~.# :TLciD"[usize::from(material)])
                })
                .collect();
            assert_eq!(ours, row, "seed {seed}, row {y}");
        }
    }
}

#[test]
fn days() {
    for line in extra("daylight.jsonl.gz").iter().skip(1) {
        let light = daylight(line[0].as_u64().unwrap());
        assert!((light - line[1].as_f64().unwrap()).abs() < 1e-9, "{line}");
        assert_eq!(line[2], u8::from(light < 0.5), "{line}");
        assert_eq!(line[3], (3.5 - 3.0 * light) as u64, "{line}");
        assert_eq!(line[4], (1.5 + light) as u64, "{line}");
    }
}

/// The cases from 60 on use options of the wrapper that AutoMem leaves alone.
#[test]
fn texts() {
    for (n, case) in extra("text_cases.jsonl.gz").iter().take(60).enumerate() {
        let pair = |value: &Value| Pos::new(value[0].as_i64().unwrap() as i32, value[1].as_i64().unwrap() as i32);
        let origin = (
            case["x0"].as_u64().unwrap() as usize,
            case["y0"].as_u64().unwrap() as usize,
        );
        let mut picture = vec![0; SIDE * SIDE];
        for (dx, column) in case["patch"].as_array().unwrap().iter().enumerate() {
            for (dy, tile) in column.as_array().unwrap().iter().enumerate() {
                picture[(origin.1 + dy) * SIDE + origin.0 + dx] = tile.as_u64().unwrap() as u8;
            }
        }
        let (sleeping, dead) = (case["sleeping"] == 1, case["dead"] == 1);
        let long = crafter::scene(&picture, pair(&case["pos"]), pair(&case["facing"]), sleeping, dead);
        assert_eq!(case["long"], long, "case {n}");
        let items: [u8; 16] = std::array::from_fn(|item| case["inv"][item].as_u64().unwrap() as u8);
        assert_eq!(case["short"], crafter::short(&items), "case {n}");
    }
}
