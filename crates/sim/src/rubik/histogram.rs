//! A distribution of times, as probabilities at evenly spaced places from 0 on.
//!
//! A sample is shared between the two places around it, so that its mean stays. All of it in one
//! bucket would make most requests of a service with a long tail equally, and wrongly, long.

/// Places of what was sampled; sums have more.
pub(crate) const PLACES: usize = 128;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Histogram {
    /// Between two places.
    pub step_ns: f64,
    /// Probability of each place; together 1.
    mass: Vec<f64>,
}

impl Histogram {
    /// Of samples of at most `most_ns`, at least one.
    pub(crate) fn of(samples_ns: impl Iterator<Item = f64>, most_ns: f64) -> Self {
        let step_ns = most_ns.max(1.0) / (PLACES - 1) as f64;
        let mut mass = vec![0.0; PLACES];
        let mut count = 0.0;
        for ns in samples_ns {
            let place = (ns / step_ns).clamp(0.0, (PLACES - 1) as f64);
            let low = (place as usize).min(PLACES - 2);
            let share = place - low as f64;
            mass[low] += 1.0 - share;
            mass[low + 1] += share;
            count += 1.0;
        }
        mass.iter_mut().for_each(|one| *one /= count);
        Self { step_ns, mass }
    }

    /// Of the sum of one of these and one of those, independent of each other. Directly: most
    /// places of a service with a long tail are empty, and an empty one costs nothing.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut mass = vec![0.0; self.mass.len() + other.mass.len() - 1];
        let some = self.mass.iter().enumerate().filter(|(_, p)| **p > 0.0);
        for (at, p) in some {
            let sums = mass[at..].iter_mut().zip(&other.mass);
            sums.for_each(|(sum, more)| *sum += p * more);
        }
        Self {
            step_ns: self.step_ns,
            mass,
        }
    }

    /// What at most is taken, with the probability `share`, by one of these and one of those whose
    /// distribution function is `others`. Only this of their sum is needed, and bisecting for it
    /// takes a few passes over `self`, where the whole sum would take one per place.
    pub(crate) fn quantile_with(&self, others: &Cumulated, share: f64) -> f64 {
        let reaches = |places: usize| {
            let each = self.mass.iter().enumerate().take(places + 1);
            let reached: f64 = each.map(|(at, p)| p * others.up_to(places - at)).sum();
            reached >= share - ROUNDING
        };
        let (mut low, mut high) = (0, self.mass.len() + others.0.len() - 2);
        while low < high {
            let middle = (low + high) / 2;
            (low, high) = if reaches(middle) {
                (low, middle)
            } else {
                (middle + 1, high)
            };
        }
        low as f64 * self.step_ns
    }

    /// Its distribution function.
    pub(crate) fn cumulated(&self) -> Cumulated {
        let sums = self.mass.iter().scan(0.0, |sum, p| {
            *sum += p;
            Some(*sum)
        });
        Cumulated(sums.collect())
    }

    /// Mean and variance.
    pub(crate) fn moments(&self) -> (f64, f64) {
        let moment = |of: &dyn Fn(f64) -> f64| -> f64 {
            let each = self.mass.iter().enumerate();
            each.map(|(at, p)| p * of(at as f64 * self.step_ns)).sum()
        };
        let mean = moment(&|ns| ns);
        (mean, moment(&|ns| (ns - mean) * (ns - mean)))
    }
}

/// What sums of probabilities may lack.
const ROUNDING: f64 = 1e-9;

/// A distribution function at the places of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cumulated(Vec<f64>);

impl Cumulated {
    /// Of what takes no time.
    pub(crate) fn nothing() -> Self {
        Self(vec![1.0])
    }

    fn up_to(&self, place: usize) -> f64 {
        self.0[place.min(self.0.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_between_two_places_keeps_its_mean() {
        let samples = [1.0, 10.0, 20.5, 127.0];
        let told = Histogram::of(samples.into_iter(), 127.0);
        assert_eq!(told.step_ns, 1.0);
        assert_eq!((told.mass[20], told.mass[21]), (0.125, 0.125));
        assert!((told.moments().0 - samples.iter().sum::<f64>() / 4.0).abs() < 1e-9);
    }

    #[test]
    fn sums_are_those_of_dice() {
        let die = Histogram::of((1..=6).map(f64::from), (PLACES - 1) as f64);
        let two = die.plus(&die);
        let seven = two.mass[7];
        assert!((seven - 6.0 / 36.0).abs() < 1e-12, "{seven}");
        assert!((two.moments().0 - 7.0).abs() < 1e-9);
        assert!((two.moments().1 - 2.0 * die.moments().1).abs() < 1e-9);
        // 33 of 36 sums of two, and 215 of 216 of three, are at most this.
        assert_eq!(die.quantile_with(&die.cumulated(), 33.0 / 36.0), 10.0);
        assert_eq!(die.quantile_with(&two.cumulated(), 215.0 / 216.0), 17.0);
        assert_eq!(die.quantile_with(&Cumulated::nothing(), 0.5), 3.0);
        assert_eq!(die.quantile_with(&Cumulated::nothing(), 1.0), 6.0);
    }

    #[test]
    fn what_always_takes_the_same_has_that_quantile() {
        let always = Histogram::of(std::iter::repeat_n(5e6, 9), 5e6);
        assert_eq!(always.quantile_with(&Cumulated::nothing(), 0.999), 5e6);
        assert_eq!(always.quantile_with(&always.cumulated(), 0.999), 1e7);
        assert_eq!(always.moments(), (5e6, 0.0));
    }
}
