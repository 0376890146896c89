//! Which part of the time something was so, of late: for policies that keep within a part of a
//! loop's work.
//!
//! What was long ago says little of a service whose load changes, and the part over a fixed window
//! needs that window kept: old time fades instead.

/// Before so much time nothing is told.
const ENOUGH_NS: f64 = 100e6;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecentPart {
    /// So much time counts, older time less and less: twice this is halved.
    window_ns: f64,
    all_ns: f64,
    so_ns: f64,
}

impl RecentPart {
    /// Of the last `window_ns` or so.
    pub(crate) fn new(window_ns: f64) -> Self {
        Self {
            window_ns,
            all_ns: 0.0,
            so_ns: 0.0,
        }
    }

    /// So much time passed, in which it was so or not.
    pub(crate) fn add(&mut self, time_ns: u64, is_so: bool) {
        let time_ns = time_ns as f64;
        self.all_ns += time_ns;
        if is_so {
            self.so_ns += time_ns;
        }
        if self.all_ns > 2.0 * self.window_ns {
            let left = self.window_ns / self.all_ns;
            self.all_ns *= left;
            self.so_ns *= left;
        }
    }

    /// The part of the time that it was so; none before enough has passed.
    pub(crate) fn get(&self) -> Option<f64> {
        (self.all_ns >= ENOUGH_NS).then_some(self.so_ns / self.all_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_when_enough_has_passed_and_forgotten_after_a_while() {
        let mut part = RecentPart::new(1e9);
        part.add(40_000_000, true);
        assert_eq!(part.get(), None);
        part.add(120_000_000, false);
        assert_eq!(part.get(), Some(0.25));
        (0..100).for_each(|_| part.add(100_000_000, false));
        assert!(part.get().unwrap() < 0.01, "{part:?}");
        part.add(u64::MAX, true);
        assert!(part.get().unwrap() > 0.99);
    }
}
