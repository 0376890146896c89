//! Feedback: a slow controller that trims the target the tables are asked for, by what the tail
//! turns out to be.
//!
//! The tables are wrong in ways of their own (requests do depend on each other, and on an event
//! loop they interleave); what they are wrong by on the whole, the measured tail tells.

/// Once in so long.
const PERIOD_NS: u64 = 1_000_000_000;
/// Of the error, as a share of the target: at once, and for each time that it lasts.
const PROPORTIONAL: f64 = 0.2;
const INTEGRAL: f64 = 0.1;
/// An error counts no more than this.
const ERROR_MAX: f64 = 0.5;
/// The trimmed target by the one that was set.
const TRIM: (f64, f64) = (0.25, 2.0);

/// See the module.
#[derive(Debug)]
pub(crate) struct Feedback {
    target_ns: f64,
    trimmed_ns: f64,
    /// Sum of errors so far, weighted.
    sum: f64,
    due_ns: u64,
}

impl Feedback {
    pub(crate) fn new(target_ns: f64) -> Self {
        Self {
            target_ns,
            trimmed_ns: target_ns,
            sum: 0.0,
            due_ns: 0,
        }
    }

    /// What to ask the tables for.
    pub(crate) fn asked_ns(&self) -> f64 {
        self.trimmed_ns
    }

    /// Whether it is time to measure.
    pub(crate) fn is_due(&mut self, now: u64) -> bool {
        let is_due = now >= self.due_ns;
        if is_due {
            self.due_ns = now + PERIOD_NS;
        }
        is_due
    }

    /// Takes the tail that was measured.
    pub(crate) fn measure(&mut self, tail_ns: f64) {
        let error = (1.0 - tail_ns / self.target_ns).clamp(-ERROR_MAX, ERROR_MAX);
        let (least, most) = TRIM;
        self.sum = (self.sum + INTEGRAL * error).clamp(least - 1.0, most - 1.0);
        let trim = 1.0 + self.sum + PROPORTIONAL * error;
        self.trimmed_ns = self.target_ns * trim.clamp(least, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_for_less_while_the_tail_is_too_long_and_keeps_what_suffices() {
        let mut feedback = Feedback::new(100.0);
        assert_eq!(feedback.asked_ns(), 100.0);
        feedback.measure(100.0);
        assert_eq!(feedback.asked_ns(), 100.0);
        // 20 % too long: 0.2 × 0.2 at once and 0.1 × 0.2 for good.
        feedback.measure(120.0);
        assert!((feedback.asked_ns() - 94.0).abs() < 1e-9);
        feedback.measure(100.0);
        assert!((feedback.asked_ns() - 98.0).abs() < 1e-9);
        (0..1000).for_each(|_| feedback.measure(1e9));
        assert_eq!(feedback.asked_ns(), 25.0);
        (0..1000).for_each(|_| feedback.measure(0.0));
        assert_eq!(feedback.asked_ns(), 200.0);
    }

    #[test]
    fn it_measures_once_in_a_period() {
        let mut feedback = Feedback::new(1.0);
        let due: Vec<u64> = (0..30)
            .filter(|i| feedback.is_due(i * PERIOD_NS / 10))
            .collect();
        assert_eq!(due, [0, 10, 20]);
    }
}
