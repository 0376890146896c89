//! Requests that came while the host took time from this machine are in no percentile.
//!
//! A hypervisor that gives a CPU to others stops whatever runs, for tens of milliseconds at once.
//! A replay has the same stalls under every change, so that a few of them are the tail of a minute
//! and hide what a change brings. Requests are told apart by when they came and not by whether
//! they were under way: long ones are under way at any moment more often, and leaving these out
//! would make the tail shorter by itself. `bench/harness/stolen.mjs` has the same rule for what is
//! measured live.

use bobtail_breakdown::Taken;
use bobtail_trace::record::Ns;

use crate::model::{Model, Request};

/// The kernel tells what was taken in steps of 10 ms: less is told with what follows.
const TOLD_LATE_NS: Ns = 50_000_000;
/// What stood in line is gone after so many times what was taken, by a loop that is four fifths
/// busy: it has a fifth of its time for what it missed.
const QUEUE_BY_TAKEN: Ns = 4;
/// Requests are slower for so long after a single tick (`bench/stolen/after.mjs`).
const QUEUE_NS_MIN: Ns = 100_000_000;
/// Of stalls one after the other each has its own end.
const QUEUE_NS_MAX: Ns = 200_000_000;
/// Where the host is why more is to be left out, what is left says little of the service.
const LEFT_OUT_MAX: f64 = 0.5;

/// When requests may have been stopped by the host, or have waited for others that were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disturbed {
    /// In order, apart from each other.
    windows: Vec<(Ns, Ns)>,
    /// By who recorded, not by what the kernel tells of the host.
    is_told: bool,
}

/// What came of leaving requests out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    Requests(u64),
    /// So many came while the host took time that all of them stay.
    None {
        hit: u64,
    },
}

impl Disturbed {
    /// While the host took time, shortly before and after.
    pub fn by(stolen: &Taken) -> Self {
        let windows = stolen.intervals().iter().map(|one| {
            let queue_ns = one.taken_ns.saturating_mul(QUEUE_BY_TAKEN);
            let queue_ns = queue_ns.clamp(QUEUE_NS_MIN, QUEUE_NS_MAX);
            let from_ns = one.from_ns.saturating_sub(TOLD_LATE_NS);
            (from_ns, one.until_ns.saturating_add(queue_ns))
        });
        Self {
            is_told: false,
            ..Self::within(windows)
        }
    }

    /// Within these windows, in any order, and not a moment before or after: for who saw each stall
    /// by itself. Those that end before they begin are none.
    pub fn within(windows: impl IntoIterator<Item = (Ns, Ns)>) -> Self {
        let each = windows.into_iter();
        let mut all: Vec<(Ns, Ns)> = each.filter(|(from, until)| from <= until).collect();
        all.sort_unstable();
        let mut windows: Vec<(Ns, Ns)> = Vec::new();
        for (from_ns, until_ns) in all {
            match windows.last_mut() {
                Some(last) if from_ns <= last.1 => last.1 = last.1.max(until_ns),
                _ => windows.push((from_ns, until_ns)),
            }
        }
        Self {
            windows,
            is_told: true,
        }
    }

    /// Whether what came at `at_ns` is to be left out.
    pub fn covers(&self, at_ns: Ns) -> bool {
        let next = self
            .windows
            .partition_point(|(from_ns, _)| *from_ns <= at_ns);
        let last = next.checked_sub(1).map(|index| self.windows[index]);
        last.is_some_and(|(_, until_ns)| at_ns <= until_ns)
    }

    /// When requests came that are left out, as part of a sentence.
    pub fn when(&self) -> &'static str {
        match self.is_told {
            true => "when, by run.json, none counts",
            false => "while the host took time from this machine",
        }
    }

    /// What is to be told of it, where `counted` requests are in the percentiles.
    pub fn note(&self, left_out: LeftOut, counted: u64) -> Option<String> {
        let share = |count: u64, of: u64| format!("{:.1} %", 100.0 * count as f64 / of as f64);
        let when = self.when();
        match left_out {
            LeftOut::Requests(0) => None,
            LeftOut::Requests(count) => Some(format!(
                "{} of the requests came {when}: they are in no percentile",
                share(count, count + counted)
            )),
            LeftOut::None { hit } => Some(format!(
                "{} of the requests came {when}, too many to leave out: its stalls are in every \
                 percentile; record while it is quiet",
                share(hit, counted)
            )),
        }
    }

    /// Leaves requests out of the percentiles, targets and rankings of these loops. They are
    /// replayed all the same, and so are in the energy and in how busy a loop is.
    pub fn leave_out(&self, models: &mut [Model]) -> LeftOut {
        let is_hit = |one: &&Request| self.covers(one.arrival_ns);
        let counted: usize = models.iter().map(|one| one.counted().count()).sum();
        let hit = models
            .iter()
            .map(|one| one.counted().filter(is_hit).count());
        let hit: usize = hit.sum();
        if !self.is_told && hit as f64 > LEFT_OUT_MAX * counted as f64 {
            return LeftOut::None { hit: hit as u64 };
        }
        models.iter_mut().for_each(|one| one.leave_out(self));
        LeftOut::Requests(hit as u64)
    }
}

impl LeftOut {
    /// How many requests are in no percentile; none where all are, since it would be most.
    pub fn requests(self) -> Option<u64> {
        match self {
            Self::Requests(count) => Some(count),
            Self::None { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use bobtail_breakdown::TakenInterval;

    use super::*;
    use crate::invariants::grown;

    const MS: Ns = 1_000_000;

    fn disturbed(intervals: &[(Ns, Ns, Ns)]) -> Disturbed {
        let interval = |&(from_ns, until_ns, taken_ns): &(Ns, Ns, Ns)| TakenInterval {
            from_ns,
            until_ns,
            taken_ns,
        };
        Disturbed::by(&Taken::of(intervals.iter().map(interval)))
    }

    #[test]
    fn what_comes_shortly_before_within_and_after_is_covered() {
        let disturbed = disturbed(&[
            (1000 * MS, 1050 * MS, 10 * MS),
            (2000 * MS, 2050 * MS, 30 * MS),
            (3000 * MS, 3200 * MS, 90 * MS),
        ]);
        let covered = |ms: Ns| disturbed.covers(ms * MS);
        for ms in [950, 1000, 1050, 1150, 1950, 2170, 2950, 3400] {
            assert!(covered(ms), "{ms}");
        }
        for ms in [0, 949, 1151, 1949, 2171, 2949, 3401, 9000] {
            assert!(!covered(ms), "{ms}");
        }
        assert!(!Disturbed::default().covers(0));
    }

    #[test]
    fn windows_that_touch_are_one() {
        let disturbed = disturbed(&[
            (1000 * MS, 1100 * MS, 50 * MS),
            (1350 * MS, 1400 * MS, 10 * MS),
            (0, 1, 1),
        ]);
        let expected = vec![(0, 100 * MS + 1), (950 * MS, 1500 * MS)];
        assert_eq!(disturbed.windows, expected);
    }

    #[test]
    fn windows_that_are_told_are_taken_as_told() {
        let disturbed = Disturbed::within([(70, 90), (10, 20), (50, 40), (15, 30), (90, 95)]);
        assert_eq!(disturbed.windows, vec![(10, 30), (70, 95)]);
        let covered: Vec<Ns> = (0..100).filter(|&at| disturbed.covers(at)).collect();
        let expected: Vec<Ns> = (10..=30).chain(70..=95).collect();
        assert_eq!(covered, expected);
    }

    #[test]
    fn what_is_taken_next_does_not_shorten_what_it_touches() {
        let disturbed = disturbed(&[
            (1000 * MS, 1100 * MS, 50 * MS),
            (1100 * MS, 1101 * MS, 10 * MS),
        ]);
        assert_eq!(disturbed.windows, vec![(950 * MS, 1300 * MS)]);
    }

    #[test]
    fn half_of_the_requests_may_be_left_out_and_no_more() {
        let (model, _) = grown(7, 20_000);
        let mut arrivals: Vec<Ns> = model.arrivals_ns().collect();
        arrivals.sort_unstable();
        let count = arrivals.len();
        assert!(count >= 20, "{count} requests");
        // All up to the one with this number.
        let until = |index: usize| {
            let mut models = [model.clone()];
            let windows = vec![(0, arrivals[index])];
            let stolen = Disturbed {
                windows,
                is_told: false,
            };
            let left_out = stolen.leave_out(&mut models);
            (left_out, models[0].arrivals_ns().count())
        };
        let (left_out, counted) = until(count / 2 - 1);
        assert_eq!(left_out, LeftOut::Requests((count / 2) as u64));
        assert_eq!(counted, count - count / 2);
        let (left_out, counted) = until(count - 1);
        assert_eq!(left_out, LeftOut::None { hit: count as u64 });
        assert_eq!(counted, count);
        // Who says so himself knows what for.
        let mut models = [model.clone()];
        let left_out = Disturbed::within([(0, Ns::MAX)]).leave_out(&mut models);
        assert_eq!(left_out, LeftOut::Requests(count as u64));
        assert_eq!(models[0].arrivals_ns().count(), 0);
    }

    #[test]
    fn what_was_left_out_is_told_and_so_is_that_it_was_too_much() {
        let stolen = Disturbed::by(&Taken::default());
        assert_eq!(stolen.note(LeftOut::Requests(0), 10), None);
        let note = stolen.note(LeftOut::Requests(5), 95).unwrap_or_default();
        assert!(
            note.starts_with("5.0 % of the requests came while"),
            "{note}"
        );
        let note = stolen
            .note(LeftOut::None { hit: 60 }, 100)
            .unwrap_or_default();
        assert!(
            note.starts_with("60.0 %") && note.contains("too many"),
            "{note}"
        );
        let told = Disturbed::within([]).note(LeftOut::Requests(5), 95);
        assert!(
            told.unwrap_or_default()
                .contains("came when, by run.json, none counts")
        );
    }

    #[test]
    fn no_energy_is_spent_on_who_is_left_out() {
        let (model, components) = grown(7, 20_000);
        let mut arrivals: Vec<Ns> = model.arrivals_ns().collect();
        arrivals.sort_unstable();
        let until_ns = arrivals[arrivals.len() / 2 - 1];
        let mut models = [model];
        Disturbed::within([(0, until_ns)]).leave_out(&mut models);
        let changes = "latency=0ns,policy=oracle:energy=2.7";
        let scenario = crate::parse(changes, &components).expect("a policy");
        let told = crate::replay_all(&models, &scenario, &components);
        let boosts = &told.loops[0].ledger.boosts;
        assert!(!boosts.is_empty());
        assert!(
            boosts.iter().all(|one| one.from_ns > until_ns),
            "{until_ns}"
        );
    }
}
