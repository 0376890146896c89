//! Target tail tables: how much is left at most, with the probability asked for, until a request
//! is done.
//!
//! Rows by how far the first request is, in bins with as many samples each; columns by how many
//! requests are before the one that is asked about. A request is taken to need what the recent
//! ones needed, whatever its type, and independently of the others. Beyond the last column the sum
//! of so many is nearly a normal distribution.

use super::histogram::{Cumulated, Histogram};

/// Bins of progress.
const ROWS: usize = 8;
/// Places in line with a distribution of their own.
pub(crate) const COLUMNS: usize = 16;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tables {
    rows: Vec<Row>,
    /// Mean and variance of what a request needs.
    whole: (f64, f64),
    /// The share asked for as a place of the standard normal distribution.
    z: f64,
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    /// The least progress of its bin.
    from_ns: f64,
    /// By the number of requests before.
    tails_ns: Vec<f64>,
    /// Mean and variance of what is left of the first.
    left: (f64, f64),
}

impl Tables {
    /// From what requests needed, at least one, for a share of them; with so many columns.
    pub(crate) fn of(samples_ns: &[f64], share: f64, columns: usize) -> Self {
        let mut sorted = samples_ns.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let most_ns = sorted[sorted.len() - 1];
        let one = Histogram::of(sorted.iter().copied(), most_ns);
        let sums = sums_of(&one, columns);
        let mut rows: Vec<Row> = Vec::with_capacity(ROWS);
        for bin in 0..ROWS {
            let from_ns = match bin {
                0 => 0.0,
                _ => sorted[bin * sorted.len() / ROWS],
            };
            let longer = match bin {
                0 => 0,
                _ => sorted.partition_point(|ns| *ns <= from_ns),
            };
            let is_new = rows.last().is_none_or(|last| last.from_ns < from_ns);
            if longer == sorted.len() || !is_new {
                continue;
            }
            let left = sorted[longer..].iter().map(|ns| ns - from_ns);
            let left = Histogram::of(left, most_ns);
            let tails = sums.iter().map(|sum| left.quantile_with(sum, share));
            rows.push(Row {
                from_ns,
                tails_ns: tails.collect(),
                left: left.moments(),
            });
        }
        let whole = one.moments();
        Self {
            rows,
            whole,
            z: place_of(share),
        }
    }

    /// What is left at most until a request is done, if that far the first of them is and so many
    /// are before it. Of one that is farther than any was, as of the farthest.
    pub(crate) fn left_ns(&self, progress_ns: f64, before: usize) -> f64 {
        let after = self
            .rows
            .partition_point(|row| row.from_ns <= progress_ns.max(0.0));
        let row = &self.rows[after.max(1) - 1];
        if let Some(&ns) = row.tails_ns.get(before) {
            return ns;
        }
        let count = before as f64;
        let mean_ns = row.left.0 + count * self.whole.0;
        mean_ns + self.z * (row.left.1 + count * self.whole.1).sqrt()
    }
}

/// Distribution functions of what 0, 1, … of these need together.
fn sums_of(one: &Histogram, columns: usize) -> Vec<Cumulated> {
    let mut sums = vec![Cumulated::nothing()];
    let mut sum = None;
    for _ in 1..columns {
        let next = match sum {
            None => one.clone(),
            Some(sum) => one.plus(&sum),
        };
        sums.push(next.cumulated());
        sum = Some(next);
    }
    sums
}

/// Where the standard normal distribution reaches a share, by bisection of its distribution
/// function: of one whose last bits are the same on every machine.
fn place_of(share: f64) -> f64 {
    let reached = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        (low, high) = if reached(middle) < share {
            (middle, high)
        } else {
            (low, middle)
        };
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    #[test]
    fn the_normal_distribution_has_its_known_places() {
        for (share, z) in [(0.5, 0.0), (0.975, 1.959_964), (0.999, 3.090_232)] {
            assert!((place_of(share) - z).abs() < 1e-6, "{share}");
        }
    }

    #[test]
    fn what_is_left_of_the_first_and_of_those_before_adds_up() {
        // Always 2 ms: no progress tells anything else, so there is one row.
        let always = Tables::of(&[2.0 * MS; 50], 0.99, COLUMNS);
        assert_eq!(always.rows.len(), 1);
        for before in 0..COLUMNS {
            let told = always.left_ns(0.0, before);
            assert!((told - 2.0 * MS * (before as f64 + 1.0)).abs() < 1.0);
        }
        assert!((always.left_ns(0.0, 99) - 200.0 * MS).abs() < 1.0);
    }

    #[test]
    fn who_did_what_most_need_is_known_to_be_one_of_the_long_ones() {
        // Nine of ten need 1 ms, the others 10 ms.
        let samples: Vec<f64> = (0..1000)
            .map(|i| if i % 10 == 0 { 10.0 * MS } else { MS })
            .collect();
        let tables = Tables::of(&samples, 0.95, COLUMNS);
        assert_eq!(tables.rows.len(), 2);
        assert_eq!(tables.left_ns(0.0, 0), 10.0 * MS);
        assert_eq!(tables.left_ns(0.5 * MS, 0), 10.0 * MS);
        // Beyond 1 ms it is a long one, of which 9 ms are left.
        let left_ns = tables.left_ns(MS, 0);
        assert!((left_ns - 9.0 * MS).abs() < 10.0 * MS / 127.0, "{left_ns}");
        assert!(tables.left_ns(50.0 * MS, 0) > 8.0 * MS);
        // Half of them are short whatever comes before.
        let half = Tables::of(&samples, 0.5, COLUMNS);
        assert!((half.left_ns(0.0, 0) - MS).abs() < 10.0 * MS / 127.0);
    }

    #[test]
    fn beyond_the_columns_it_goes_on_as_before() {
        let samples: Vec<f64> = (1..=1000).map(|i| f64::from(i) * 1e4).collect();
        let tables = Tables::of(&samples, 0.999, COLUMNS);
        let last = tables.left_ns(0.0, COLUMNS - 1);
        let next = tables.left_ns(0.0, COLUMNS);
        let mean = tables.whole.0;
        assert!(next > last && next < last + 2.0 * mean, "{last} {next}");
        let each = (0..40).map(|before| tables.left_ns(3e6, before));
        assert!(each.collect::<Vec<f64>>().is_sorted());
    }
}
