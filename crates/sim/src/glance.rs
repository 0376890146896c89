//! What it costs live that a policy is asked: a look is a wake-up of a thread, so there are not as
//! many as the policy wants.
//!
//! A replay is not slowed by its own looks, but without this it would boost what nobody saw live.

use bobtail_policy::{Look, Looks, Pause, Used};

use crate::scheme::{Drive, Scheme};

/// The looks of one loop so far.
#[derive(Debug)]
pub(crate) struct Glances {
    looks: Looks,
    look_ns: u64,
    count: u64,
}

impl Glances {
    /// Of a policy that looks and is bounded: who never looks, and who knows more than a sensor
    /// tells, is not.
    pub(crate) fn of(drive: &Drive) -> Option<Self> {
        let is_live = matches!(drive.scheme, Scheme::Policy(_));
        let share = drive.budget.filter(|_| is_live)?;
        Some(Self {
            looks: Looks::within(Some(share)),
            look_ns: drive.look_ns,
            count: 0,
        })
    }

    /// Counts a look; what follows from it, where the loop worked for `loops_ns` so far.
    pub(crate) fn pause(&mut self, look: Look, loops_ns: u64) -> Pause {
        self.count += 1;
        let used = Used {
            own_ns: self.count * self.look_ns,
            looks: self.count,
            loops_ns,
        };
        self.looks.pause(look, used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Components;
    use crate::expression::parse;

    fn glances(text: &str) -> Option<Glances> {
        let scenario = parse(text, &Components::default()).expect("a policy");
        Glances::of(&scenario.drive.expect("a policy"))
    }

    #[test]
    fn a_loop_that_is_half_busy_is_looked_at_as_often_as_its_budget_pays_for() {
        let mut glances = glances("budget=2,policy=queue-boost").expect("bounded");
        let (mut now_ns, mut looks) = (0, 0);
        while now_ns < 1_000_000_000 {
            let look = Look {
                now_ns,
                again_ns: now_ns + 200_000,
                is_idle: false,
                is_boosted: false,
            };
            now_ns = glances.pause(look, now_ns / 2).until_ns;
            looks += 1;
        }
        // 2 % of half a second, at 15 µs each; before the first 50 ms were seen as often as wanted.
        assert!((633 + 200..=633 + 260).contains(&looks), "{looks}");
    }

    #[test]
    fn who_knows_more_than_a_sensor_tells_is_not_bounded() {
        assert!(glances("budget=2,policy=oracle").is_none());
        assert!(glances("budget=2,policy=rubik").is_none());
        assert!(glances("budget=none,policy=combined").is_none());
    }
}
