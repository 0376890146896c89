//! The golden vectors: their bytes are made again exactly, and read as their texts say.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use bobtail_trace::OnDamage;

#[path = "support/vectors.rs"]
mod vectors;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/v1")
}

#[test]
fn vectors_are_made_again_byte_for_byte() {
    for (name, bytes) in vectors::vectors().unwrap() {
        let kept = fs::read(folder().join(format!("{name}.trace"))).unwrap();
        assert!(
            kept == bytes,
            "{name}.trace differs from what the writer lays out"
        );
    }
}

#[test]
fn vectors_read_as_their_texts_say() {
    for (name, _) in vectors::vectors().unwrap() {
        let bytes = fs::read(folder().join(format!("{name}.trace"))).unwrap();
        let strict = fs::read_to_string(folder().join(format!("{name}.txt"))).unwrap();
        let lenient = fs::read_to_string(folder().join(format!("{name}.lenient.txt")));
        assert_eq!(
            vectors::text(&bytes, OnDamage::Fail),
            strict,
            "{name}, strict"
        );
        let lenient = lenient.unwrap_or(strict);
        assert_eq!(
            vectors::text(&bytes, OnDamage::Skip),
            lenient,
            "{name}, lenient"
        );
    }
}

#[test]
fn no_vector_is_left_over() {
    let made: BTreeSet<_> = vectors::vectors()
        .unwrap()
        .iter()
        .map(|(name, _)| format!("{name}.trace"))
        .collect();
    let kept: BTreeSet<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".trace"))
        .collect();
    assert_eq!(made, kept);
}
