//! Golden vectors with bytes changed, cut and doubled, by the hundred thousand: a reader ends with
//! records or an error, whatever it is given.
//!
//! A fixed seed, so that a failure comes back; the fuzz targets in `fuzz/` look further.

use std::fs;
use std::path::PathBuf;

use bobtail_trace::layout::{HEADER_BYTES, chunk, header, live};
use bobtail_trace::{OnDamage, TraceReader};

#[path = "support/any_bytes.rs"]
mod any_bytes;

const ROUNDS: u32 = 150_000;
/// Of what the fuzz targets ask, which takes longer.
const TARGET_ROUNDS: usize = 4_000;

struct Random(u64);

impl Random {
    /// splitmix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

#[test]
fn no_mutation_makes_a_reader_fail_otherwise_than_by_an_error() {
    let seeds = seeds();
    let mut random = Random(0x0b0b_7a11);
    let mut errors = 0;
    for round in 0..ROUNDS {
        let mut bytes = seeds[round as usize % seeds.len()].clone();
        for _ in 0..=random.below(4) {
            mutate(&mut bytes, &mut random);
        }
        errors += u32::from(!read(&bytes, OnDamage::Fail));
        read(&bytes, OnDamage::Skip);
    }
    assert!(
        errors > ROUNDS / 10 && errors < ROUNDS,
        "{errors} errors in {ROUNDS} rounds"
    );
}

#[test]
fn the_fuzz_targets_hold_for_whole_files() {
    let seeds = seeds();
    let kept = corpus("trace_read");
    seeds
        .iter()
        .chain(&kept)
        .for_each(|bytes| any_bytes::trace_read(bytes));
    let mut random = Random(0x0b0b_7a12);
    for round in 0..TARGET_ROUNDS {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=random.below(4) {
            mutate(&mut bytes, &mut random);
        }
        any_bytes::trace_read(&bytes);
    }
}

#[test]
fn the_fuzz_targets_hold_for_records() {
    let bodies: Vec<_> = seeds().iter().flat_map(|bytes| bodies(bytes)).collect();
    for body in corpus("trace_records") {
        any_bytes::trace_records(&body);
    }
    let sound: usize = bodies
        .iter()
        .map(|body| any_bytes::trace_records(body))
        .sum();
    assert!(
        sound > 3 * bodies.len(),
        "{sound} records in {} bodies",
        bodies.len()
    );
    let mut random = Random(0x0b0b_7a13);
    for round in 0..TARGET_ROUNDS {
        let mut body = bodies[round % bodies.len()].clone();
        for _ in 0..=random.below(4) {
            let at = random.below(body.len());
            body[at] = random.next() as u8;
        }
        any_bytes::trace_records(&body);
    }
}

/// What fuzzing kept, where it was done; the vectors are always there.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let Ok(entries) = fs::read_dir(folder.join(target)) else {
        return Vec::new();
    };
    entries
        .map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .collect()
}

/// The records of each chunk of a trace, as bytes.
fn bodies(trace: &[u8]) -> Vec<Vec<u8>> {
    let Ok(reader) = TraceReader::open(trace, OnDamage::Skip) else {
        return Vec::new();
    };
    let sizes = (
        reader.header().chunk_bytes as usize,
        reader.header().strings_bytes as usize,
    );
    let chunks = trace.get(HEADER_BYTES + sizes.1..).unwrap_or_default();
    let body = |chunk: &[u8]| chunk.get(chunk::HEADER_BYTES..).map(<[u8]>::to_vec);
    chunks
        .chunks(sizes.0)
        .filter_map(body)
        .filter(|body| !body.is_empty())
        .collect()
}

/// Reads to the end; whether there was no error.
fn read(bytes: &[u8], on_damage: OnDamage) -> bool {
    let Ok(mut reader) = TraceReader::open(bytes, on_damage) else {
        return false;
    };
    let most = bytes.len() + 8 * reader.chunks() + 8;
    for _ in 0..=most {
        match reader.next_record() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(error) => {
                assert!(error.code().starts_with("BOBTAIL_TRACE_"));
                assert_eq!(reader.next_record(), Ok(None), "a record after {error}");
                return false;
            }
        }
    }
    panic!("more than {most} records from {} bytes", bytes.len());
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = match random.below(4) {
        0 => random.below(header::END),
        1 => header::LIVE + random.below(4 * live::WORDS),
        _ => HEADER_BYTES + random.below(bytes.len().saturating_sub(HEADER_BYTES)),
    };
    let at = at.min(bytes.len() - 1);
    match random.below(8) {
        0 => bytes.truncate(at),
        1 => bytes[at] = 0xff,
        2 => bytes[at] = 0,
        3 => bytes[at] ^= 1 << random.below(8),
        4 => {
            let from = random.below(bytes.len());
            let end = (from + random.below(300)).min(bytes.len());
            let to = at.min(bytes.len() - (end - from));
            bytes.copy_within(from..end, to);
        }
        _ => bytes[at] = random.next() as u8,
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/v1");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "trace")
    });
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}
