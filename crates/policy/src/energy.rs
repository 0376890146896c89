//! Energy by a model, for hosts that count none and for replays: relative to a run at base speed.
//!
//! Three points of the paper (VEE'19, Table 7 and section 7.1: 1.0, 1.676 and 2.712 of the energy
//! at 2.6, 3.3 and 4.0 GHz), joined by power laws, since power goes with frequency to an exponent
//! that rises with the voltage. Like the paper's figures it counts the whole time, idle included.

/// Frequency relative to 2.6 GHz, and power relative to that there.
const POINTS: [(f64, f64); 3] = [(1.0, 1.0), (3.3 / 2.6, 1.676), (4.0 / 2.6, 2.712)];

/// Power at a speed, relative to that at base; `ratio` is that speed relative to base. Beyond the
/// points it goes on as between the two nearest, to 0 at 0.
pub fn relative_power(ratio: f64) -> f64 {
    let [low, middle, high] = POINTS;
    let (from, to) = if ratio <= middle.0 {
        (low, middle)
    } else {
        (middle, high)
    };
    // Not the standard library's, whose last bits differ from machine to machine.
    let exponent = libm::log(to.1 / from.1) / libm::log(to.0 / from.0);
    from.1 * libm::pow(ratio.max(0.0) / from.0, exponent)
}

/// Modelled energy of a run, as times at speeds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ModelledEnergy {
    time_ns: u64,
    energy: f64,
}

impl ModelledEnergy {
    /// Adds a time at a speed relative to base.
    pub fn add(&mut self, time_ns: u64, ratio: f64) {
        self.time_ns = self.time_ns.saturating_add(time_ns);
        self.energy += time_ns as f64 * relative_power(ratio);
    }

    /// Energy relative to the same time at base; 1 for no time at all.
    pub fn relative(&self) -> f64 {
        if self.time_ns == 0 {
            return 1.0;
        }
        self.energy / self.time_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{ModelledEnergy, POINTS, relative_power};

    #[test]
    fn the_papers_points_are_met() {
        for (ratio, power) in POINTS {
            assert!((relative_power(ratio) - power).abs() < 1e-12);
        }
        // As the command line's tests have it.
        assert!((relative_power(3.0 / 2.6) - 1.363_375_302_523).abs() < 1e-9);
    }

    #[test]
    fn power_rises_with_speed_and_more_than_it() {
        let mut ratio = 0.1;
        while ratio < 2.0 {
            let step = relative_power(ratio + 0.01) / relative_power(ratio);
            assert!(step > (ratio + 0.01) / ratio, "at {ratio}");
            ratio += 0.01;
        }
    }

    #[test]
    fn a_boosted_share_costs_its_part_of_the_premium() {
        let mut energy = ModelledEnergy::default();
        assert_eq!(energy.relative(), 1.0);
        energy.add(888, 1.0);
        energy.add(112, 4.0 / 2.6);
        assert!((energy.relative() - (1.0 + 1.712 * 0.112)).abs() < 1e-9);
    }
}
