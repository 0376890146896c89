//! The frontier: which schemes no other one beats in both tail and energy (VEE'19, Figure 7).
//!
//! Only what differs in nothing but the policy is compared: beside another load or a faster
//! collector, a policy would be praised for what it did not do.

use serde::Serialize;

use crate::scenario::Scenario;
use crate::what_if::Outcome;

/// Tail against energy of every scheme of an answer, and who beats whom.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Frontier {
    /// The percentile whose reduction is meant: the highest that is told.
    pub percentile: f64,
    /// The replay without a change first, then schemes as they were asked for.
    pub points: Vec<FrontierPoint>,
}

/// A scheme in the plane of the two.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FrontierPoint {
    /// As the scenario was written.
    pub name: String,
    /// By how much the percentile becomes shorter: 0.2 is 20 %; longer is below 0.
    pub reduction: f64,
    /// 95 %; none where the recording is too short to tell.
    pub reduction_interval: Option<[f64; 2]>,
    /// Modelled, by the same time at base speed.
    pub energy: f64,
    /// Another that reduces at least as much for at most as much energy, and is better in one of
    /// them; of several the one that reduces most. None on the frontier.
    pub beaten_by: Option<String>,
    /// Which lever it has (its latency, whose it is, how often the policy may look), by number from
    /// 0: only those with the same are compared. None without one, which is compared with all.
    pub lever: Option<u32>,
}

impl Frontier {
    /// Tail against energy of the schemes. One under which the load is too much has no percentile.
    pub(crate) fn of(
        unchanged: &Outcome,
        outcomes: &[Outcome],
        scenarios: &[(String, Scenario)],
    ) -> Option<Self> {
        let point = |one: &Outcome, energy: f64| {
            let tail = one.percentiles.first()?;
            Some(FrontierPoint {
                name: one.name.clone(),
                // From 0, since minus 0 is another text.
                reduction: 0.0 - tail.change,
                reduction_interval: tail
                    .change_interval
                    .map(|[low, high]| [0.0 - high, 0.0 - low]),
                energy,
                beaten_by: None,
                lever: None,
            })
        };
        let driven = outcomes.iter().zip(scenarios);
        let driven = driven.filter(|(_, (_, scenario))| scenario.changes_policy_alone());
        let mut points: Vec<_> = driven
            .filter_map(|(one, (_, scenario))| {
                let lever = scenario
                    .drive
                    .as_ref()
                    .map(|drive| (drive.lever, drive.budget, drive.look_ns));
                Some((point(one, one.policy.as_ref()?.energy)?, lever))
            })
            .collect();
        if points.is_empty() {
            return None;
        }
        let base = FrontierPoint {
            reduction_interval: None,
            ..point(unchanged, 1.0)?
        };
        points.insert(0, (base, None));
        mark(&mut points);
        Some(Self {
            percentile: unchanged.percentiles.first()?.percentile,
            points: points.into_iter().map(|(one, _)| one).collect(),
        })
    }
}

/// Numbers the levers and marks who is beaten, among those with the same; it is none for who drives
/// nothing, and is compared with all.
fn mark<L: PartialEq + Copy>(points: &mut [(FrontierPoint, Option<L>)]) {
    let mut levers: Vec<L> = Vec::new();
    for (point, lever) in points.iter_mut() {
        point.lever = lever.map(|lever| {
            let known = levers.iter().position(|one| *one == lever);
            known.unwrap_or_else(|| {
                levers.push(lever);
                levers.len() - 1
            }) as u32
        });
    }
    let beats = |one: &FrontierPoint, other: &FrontierPoint| {
        let (less, cheaper) = (one.reduction - other.reduction, other.energy - one.energy);
        less >= 0.0 && cheaper >= 0.0 && (less > 0.0 || cheaper > 0.0)
    };
    let beaten_by = |(point, lever): &(FrontierPoint, Option<L>)| {
        let alike = points
            .iter()
            .filter(|(_, other)| lever.is_none() || other.is_none() || lever == other);
        let by = alike.map(|(one, _)| one).filter(|one| beats(one, point));
        // Of equals the first.
        let best = by.reduce(|best, one| {
            if one.reduction > best.reduction
                || one.reduction == best.reduction && one.energy < best.energy
            {
                one
            } else {
                best
            }
        });
        best.map(|one| one.name.clone())
    };
    let all: Vec<Option<String>> = points.iter().map(beaten_by).collect();
    for ((point, _), by) in points.iter_mut().zip(all) {
        point.beaten_by = by;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str, reduction: f64, energy: f64) -> FrontierPoint {
        FrontierPoint {
            name: name.to_owned(),
            reduction,
            reduction_interval: None,
            energy,
            beaten_by: None,
            lever: None,
        }
    }

    /// Of schemes with a lever each.
    fn marked(points: &[(&str, f64, f64, Option<u32>)]) -> Vec<(String, Option<String>)> {
        let mut all: Vec<(FrontierPoint, Option<u32>)> = points
            .iter()
            .map(|&(name, reduction, energy, lever)| (point(name, reduction, energy), lever))
            .collect();
        mark(&mut all);
        all.into_iter()
            .map(|(one, _)| (one.name, one.beaten_by))
            .collect()
    }

    #[test]
    fn on_the_frontier_is_who_nobody_beats() {
        let told = marked(&[
            ("unchanged", 0.0, 1.0, None),
            ("peak", 0.4, 2.7, Some(1)),
            ("worse", 0.1, 1.2, Some(1)),
            ("good", 0.3, 1.1, Some(1)),
            ("better", 0.35, 1.15, Some(1)),
            ("longer", -0.1, 1.1, Some(1)),
            ("good again", 0.3, 1.1, Some(1)),
            ("slower lever", 0.2, 1.3, Some(2)),
        ]);
        let by = |name: &str| told.iter().find(|one| one.0 == name).unwrap().1.as_deref();
        for name in [
            "unchanged",
            "peak",
            "good",
            "better",
            "good again",
            "slower lever",
        ] {
            assert_eq!(by(name), None, "{name}");
        }
        let mut numbered = [("a", Some(7)), ("b", None), ("c", Some(5)), ("d", Some(7))]
            .map(|(name, lever)| (point(name, 0.1, 1.0), lever));
        mark(&mut numbered);
        let levers = numbered.map(|(one, _)| one.lever);
        assert_eq!(levers, [Some(0), None, Some(1), Some(0)]);
        assert_eq!(by("worse"), Some("better"));
        assert_eq!(by("longer"), Some("good"));
    }
}
