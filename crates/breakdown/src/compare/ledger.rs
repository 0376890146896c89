//! Time by key and block: who inflicted how much on the tail, and when.

use std::collections::BTreeMap;

use super::resampling::Weights;

/// Rows kept, as in the report; what comes after is in one row.
const ROWS: usize = 10_000;

/// One sum for each key and block.
#[derive(Debug, Clone)]
pub(crate) struct Ledger<K> {
    rows: BTreeMap<K, Vec<u64>>,
    blocks: usize,
}

impl<K: Ord + Clone> Ledger<K> {
    pub(crate) fn new(blocks: usize) -> Self {
        Self {
            rows: BTreeMap::new(),
            blocks,
        }
    }

    /// `other` is the row of what finds no room.
    pub(crate) fn add(&mut self, key: K, other: impl FnOnce(K) -> K, block: usize, ns: u64) {
        let full = self.rows.len() >= ROWS && !self.rows.contains_key(&key);
        let key = if full { other(key) } else { key };
        let row = self.rows.entry(key);
        row.or_insert_with(|| vec![0; self.blocks])[block] += ns;
    }

    /// The same under other keys, which rows may share.
    pub(crate) fn by<L: Ord + Clone>(&self, name: impl Fn(&K) -> L) -> Ledger<L> {
        let mut ledger = Ledger::new(self.blocks);
        for (key, row) in &self.rows {
            let sums = ledger
                .rows
                .entry(name(key))
                .or_insert_with(|| vec![0; self.blocks]);
            sums.iter_mut().zip(row).for_each(|(sum, ns)| *sum += ns);
        }
        ledger
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.rows.keys()
    }

    /// The sum of a row; 0 when there is none.
    pub(crate) fn sum_ns(&self, key: &K, weights: &Weights) -> f64 {
        let Some(row) = self.rows.get(key) else {
            return 0.0;
        };
        let weighted = row.iter().zip(weights);
        weighted
            .map(|(ns, &weight)| *ns as f64 * f64::from(weight))
            .sum()
    }
}
