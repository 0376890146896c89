//! What the fuzz targets ask of the daemon, for made-up bytes and for what fuzzing kept.
//!
//! A fixed seed, so that a failure comes back; `fuzz/` looks further.

use std::fs;
use std::path::PathBuf;

use bobtail_testkit::Random;
use serde_json::Value;

#[path = "support/any_frames.rs"]
mod any_frames;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/desk.rs"]
mod desk;
#[path = "support/folder.rs"]
mod folder;

const ROUNDS: usize = 100_000;
const SESSIONS: usize = 300;
const VECTORS: &str = include_str!("../../../spec/vectors/bobtaild-v1/frames.json");

fn seeds() -> Vec<Vec<u8>> {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    let bytes = |vector: &Value| {
        let hex = vector["hex"].as_str().unwrap();
        let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digits).collect()
    };
    vectors.iter().map(bytes).collect()
}

/// What fuzzing kept, where it was done.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let Ok(entries) = fs::read_dir(folder.join(target)) else {
        return Vec::new();
    };
    entries
        .map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .collect()
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() || random.once_in(8) {
        bytes.push(random.next_u64() as u8);
    }
    let at = random.below(bytes.len() as u64) as usize;
    match random.below(6) {
        0 => bytes.truncate(at),
        1 => bytes[at] = 0,
        2 => bytes[at] ^= 1 << random.below(8),
        3 => bytes[at] = 0xff,
        _ => bytes[at] = random.next_u64() as u8,
    }
}

#[test]
fn any_frame_has_one_spelling() {
    let seeds = seeds();
    let mut random = Random::new(0x0b0b_7a15);
    for bytes in corpus("daemon_frame") {
        any_frames::frame(&bytes);
    }
    let mut frames = 0;
    for round in 0..ROUNDS {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..random.below(3) {
            mutate(&mut bytes, &mut random);
        }
        frames += usize::from(any_frames::frame(&bytes));
    }
    assert!(
        frames > ROUNDS / 5 && frames < ROUNDS,
        "{frames} of {ROUNDS}"
    );
}

#[test]
fn any_session_leaves_no_lever_moved() {
    let seeds = seeds();
    let mut random = Random::new(0x0b0b_7a16);
    for bytes in corpus("daemon_session") {
        any_frames::session(&bytes);
    }
    let mut taken = 0;
    for _ in 0..SESSIONS {
        let mut bytes = Vec::new();
        for _ in 0..random.below(20) {
            let mut datagram = seeds[random.below(seeds.len() as u64) as usize].clone();
            if random.once_in(4) {
                mutate(&mut datagram, &mut random);
            }
            let words = (datagram.len() / 2).min(15) as u8;
            let pause = if random.once_in(4) {
                random.below(8) as u8
            } else {
                0
            };
            bytes.push(random.below(2) as u8 | words << 1 | pause << 5);
            bytes.extend_from_slice(&datagram[..2 * usize::from(words)]);
        }
        taken += any_frames::session(&bytes);
    }
    assert!(taken > SESSIONS, "{taken} in {SESSIONS} sessions");
}
