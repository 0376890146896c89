//! Numbers that name things in other tools: the same every time, different for different things.
//!
//! Tools join files by them (a trace id must not come up twice in a backend that collects from many
//! services), so counting from 1 will not do; and random ones would make two exports of the same
//! recording differ.

/// A number for a sequence of parts; never 0, which means "none" to most tools.
///
/// Each part goes through the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which
/// is a bijection with full avalanche.
pub(crate) fn number(parts: &[u64]) -> u64 {
    let mixed = parts
        .iter()
        .fold(0x9e37_79b9_7f4a_7c15, |state: u64, part| {
            mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ part)
        });
    mixed.max(1)
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn small_parts_give_different_numbers() {
        let all: BTreeSet<u64> = (0..100)
            .flat_map(|a| (0..100).map(move |b| number(&[a, b])))
            .collect();
        assert_eq!(all.len(), 10_000);
    }

    #[test]
    fn the_numbers_stay_the_same() {
        assert_eq!(number(&[1, 2]), number(&[1, 2]));
        assert_ne!(number(&[1, 2]), number(&[2, 1]));
        assert_ne!(number(&[1]), number(&[1, 0]));
    }
}
