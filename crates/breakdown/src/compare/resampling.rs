//! The bootstrap over rounds: how a statistic varies when the rounds are drawn anew.
//!
//! A drawing is a weight for each round: how often it was drawn. The statistic is computed under
//! 1,000 of them. Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, chapters 8 and
//! 13. With few rounds percentile intervals are too narrow; [`TAIL_CHANCES`] widens them as
//! Hesterberg does in *What Teachers Should Know About the Bootstrap*, 2015, section 5.3. Blocks of
//! one recording, of which no two belong together, have better intervals from
//! [`jackknife`](super::jackknife).
//!
//! The drawings are the same every time: same trace in, same bytes out.

use super::blocks::{BLOCKS, BLOCKS_MIN};

/// Drawings of which an interval is made.
pub(crate) const REPLICATES: usize = 1000;
/// Drawings before them: all blocks, then two ways to halve them.
pub const WHOLE: usize = 0;
pub(crate) const HALVES: [[usize; 2]; 2] = [[1, 2], [3, 4]];
/// The first drawing that is a replicate.
pub const FIRST_REPLICATE: usize = 5;

/// How often each block counts.
pub type Weights = Vec<u32>;

/// A statistic of one recording under each of its weights, where it exists.
pub(crate) type Sampled = Vec<Option<f64>>;

/// [`WHOLE`] and the [`HALVES`].
pub(crate) fn halved(occupied: &[usize], blocks: usize) -> Vec<Weights> {
    let chosen = |keep: &dyn Fn(usize) -> bool| {
        let mut weights = vec![0; blocks];
        let kept = occupied.iter().enumerate().filter(|(rank, _)| keep(*rank));
        kept.for_each(|(_, &block)| weights[block] = 1);
        weights
    };
    let middle = occupied.len() / 2;
    vec![
        chosen(&|_| true),
        chosen(&|rank| rank < middle),
        chosen(&|rank| rank >= middle),
        chosen(&|rank| rank % 2 == 0),
        chosen(&|rank| rank % 2 == 1),
    ]
}

/// All that a statistic is computed under: [`WHOLE`], the [`HALVES`], the replicates.
pub fn drawings(occupied: &[usize], blocks: usize, seed: u64) -> Vec<Weights> {
    let mut all = halved(occupied, blocks);
    if occupied.len() < BLOCKS_MIN {
        return all;
    }
    let mut state = seed;
    for _ in 0..REPLICATES {
        let mut weights = vec![0; blocks];
        for _ in 0..occupied.len() {
            weights[occupied[(next(&mut state) % occupied.len() as u64) as usize]] += 1;
        }
        all.push(weights);
    }
    all
}

/// SplitMix64: a library's generator may change its numbers with a version.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The chance on either side of a 95 % interval from so many blocks, instead of 0.025:
/// Φ(−√(k/(k−1)) t), where t is the 97.5 % quantile of Student's distribution of k − 1 degrees;
/// for k from 8.
const TAIL_CHANCES: [f64; BLOCKS - BLOCKS_MIN + 1] = [
    0.00574, 0.00722, 0.00855, 0.00972, 0.01076, 0.01167, 0.01248, 0.01321, 0.01386, 0.01444,
    0.01497, 0.01544, 0.01588, 0.01628, 0.01665, 0.01698, 0.01729, 0.01758, 0.01785, 0.01810,
    0.01833, 0.01855, 0.01875, 0.01895, 0.01913,
];

/// The bounds between which 95 % of replicates lie; `None` when there are too few blocks, or when
/// the statistic exists under less than nine in ten of them.
pub fn interval(mut replicates: Vec<f64>, blocks: usize) -> Option<[f64; 2]> {
    if blocks < BLOCKS_MIN || replicates.len() * 10 < REPLICATES * 9 {
        return None;
    }
    let chance = TAIL_CHANCES[blocks.min(BLOCKS) - BLOCKS_MIN];
    replicates.sort_by(f64::total_cmp);
    let last = replicates.len() - 1;
    let below = (chance * replicates.len() as f64).floor() as usize;
    Some([replicates[below], replicates[last - below]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_hold_as_many_blocks_as_there_are_and_never_an_empty_one() {
        let occupied = [0, 2, 3, 4, 5, 6, 7, 9, 10];
        let all = drawings(&occupied, 11, 1);
        assert_eq!(all.len(), FIRST_REPLICATE + REPLICATES);
        for weights in &all[FIRST_REPLICATE..] {
            assert_eq!(weights.iter().sum::<u32>(), 9);
            assert_eq!((weights[1], weights[8]), (0, 0));
        }
        assert_eq!(all, drawings(&occupied, 11, 1));
        assert_ne!(all, drawings(&occupied, 11, 2));
        for [first, second] in HALVES {
            let both = all[first].iter().zip(&all[second]);
            let sum: Vec<u32> = both.map(|(one, other)| one + other).collect();
            assert_eq!(sum, all[WHOLE]);
        }
    }

    #[test]
    fn an_interval_needs_blocks_and_replicates() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(interval(values.clone(), 32), Some([19.0, 980.0]));
        assert_eq!(interval(values.clone(), 7), None);
        assert_eq!(interval(values[..899].to_vec(), 32), None);
    }
}
