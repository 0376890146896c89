//! A running average over samples that arrive in batches.
//!
//! A plain mean until the window is full, then exponential: a mean for ever would not follow a
//! changing load, and an exponential one from the start would remember its first sample for long.

/// A running average of a quantity whose sum and count are told since the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunningAverage {
    window: u32,
    average: f64,
    samples: u64,
    last_sum: u64,
    last_count: u64,
}

impl RunningAverage {
    pub(crate) fn new(window: u32) -> Self {
        Self {
            window,
            average: 0.0,
            samples: 0,
            last_sum: 0,
            last_count: 0,
        }
    }

    /// Takes in what came since the last call. Sums that fell belong to another loop: they are a
    /// new beginning of the sums, and the average stays.
    pub(crate) fn update(&mut self, sum: u64, count: u64) {
        let is_new_beginning = count < self.last_count || sum < self.last_sum;
        let (added, new) = if is_new_beginning {
            (sum, count)
        } else {
            (sum - self.last_sum, count - self.last_count)
        };
        (self.last_sum, self.last_count) = (sum, count);
        if new == 0 {
            return;
        }
        let mean = added as f64 / new as f64;
        // Of a batch that fills the window, the samples until then belong to the plain mean.
        let until_full = u64::from(self.window).saturating_sub(self.samples).min(new);
        if until_full > 0 {
            let count = self.samples + until_full;
            self.average += (mean - self.average) * (until_full as f64 / count as f64);
        }
        let share = 1.0 - power(1.0 - 1.0 / f64::from(self.window), new - until_full);
        self.average += (mean - self.average) * share;
        self.samples = self.samples.saturating_add(new);
    }

    /// The average; none before it has seen its window once.
    pub(crate) fn get(&self) -> Option<f64> {
        (self.samples >= u64::from(self.window)).then_some(self.average)
    }
}

/// By multiplications alone: unlike `powi` the same bits on every machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::{RunningAverage, power};

    fn of(samples: impl IntoIterator<Item = u64>) -> RunningAverage {
        let mut average = RunningAverage::new(16);
        let mut sum = 0;
        for (index, sample) in samples.into_iter().enumerate() {
            sum += sample;
            average.update(sum, index as u64 + 1);
        }
        average
    }

    #[test]
    fn is_unknown_before_its_window_is_full_and_the_mean_then() {
        assert_eq!(of([4; 15]).get(), None);
        assert_eq!(of(1..=16).get(), Some(8.5));
    }

    #[test]
    fn follows_a_change_within_some_windows() {
        let average = of([100; 16].into_iter().chain([0; 64])).get().unwrap();
        assert!((0.1..5.0).contains(&average), "{average}");
    }

    #[test]
    fn a_batch_of_equal_samples_counts_as_its_samples_one_by_one() {
        let mut batch = of([3; 16]);
        batch.update(48 + 700, 16 + 100);
        let single = of([3; 16].into_iter().chain([7; 100])).get().unwrap();
        assert!((batch.get().unwrap() - single).abs() < 1e-9);
    }

    #[test]
    fn a_batch_that_fills_the_window_is_a_plain_mean_until_it_is_full() {
        let mut first = RunningAverage::new(256);
        first.update(300 * 1_000, 300);
        assert!((first.get().unwrap() - 1_000.0).abs() < 1e-9);
        let mut batch = of([3; 10]);
        batch.update(30 + 84, 10 + 12);
        let single = of([3; 10].into_iter().chain([7; 12])).get().unwrap();
        assert!((batch.get().unwrap() - single).abs() < 1e-9);
    }

    #[test]
    fn sums_of_another_loop_are_a_new_beginning() {
        let mut average = of([10; 16]);
        average.update(20, 2);
        assert_eq!(average.get(), Some(10.0));
        average.update(u64::MAX, u64::MAX);
        assert!(average.get().unwrap().is_finite());
    }

    #[test]
    fn powers_are_powers() {
        assert_eq!(power(2.0, 10), 1024.0);
        assert_eq!(power(0.5, u64::MAX), 0.0);
    }
}
