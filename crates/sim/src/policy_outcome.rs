//! What a policy did in a scenario, and whether it came to what it aimed at.

use bobtail_breakdown::rank;
use serde::Serialize;

use crate::ahead::Aim;
use crate::components::Components;
use crate::ledger::Ledger;
use crate::scheme::{ALL_LOOPS, Drive, Scheme};

/// What a policy did with its lever.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyOutcome {
    /// With all its settings.
    pub policy: String,
    pub latency_ns: u64,
    /// All loops have one lever.
    pub shared_domain: bool,
    /// So many loops have one together; null for all.
    pub domain_loops: Option<u32>,
    /// Share of the time that a loop works which looking may cost; null for any, and for who does
    /// not look.
    pub budget: Option<f64>,
    /// CPU time of one look; null for who knows more than a sensor tells, and does not look.
    pub look_ns: Option<u64>,
    pub boosts: u64,
    /// Share of the time not at base speed.
    pub boosted_share: f64,
    /// Modelled, by the same time at base speed.
    pub energy: f64,
    /// What it shall reach; null for one without a target.
    pub target: Option<Target>,
    /// Types by how likely they are to be in the tail; null for one that knows none.
    pub types: Option<Vec<TypeOutcome>>,
}

/// A target, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    pub percentile: f64,
    pub latency_ns: u64,
    /// None where the load is too much: it would grow for as long as that lasts.
    pub reached_ns: Option<u64>,
}

/// A type of requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TypeOutcome {
    pub route: String,
    pub requests: u64,
    /// The probability of being in the tail at base speed.
    pub tail_chance: f64,
    pub boosted: bool,
}

impl PolicyOutcome {
    /// Of a replay with these latencies after warm-up, if it has any. Shares are rounded, since
    /// powers differ in their last bits from machine to machine.
    pub(crate) fn of(
        drive: &Drive,
        ledger: &Ledger,
        aim: Option<&Aim>,
        latencies_ns: Option<&[u64]>,
        components: &Components,
    ) -> Self {
        let mut target = None;
        let mut types = None;
        match aim {
            None | Some(Aim::Slow { .. }) => {}
            Some(&Aim::Target {
                percentile,
                latency_ns,
            }) => {
                let reached_ns =
                    latencies_ns.and_then(|all| percentile_ns(all.to_vec(), percentile));
                target = Some(Target {
                    percentile,
                    latency_ns,
                    reached_ns,
                });
            }
            Some(Aim::Types(all)) => {
                let each = all.iter().map(|one| TypeOutcome {
                    route: components.routes()[one.route as usize].clone(),
                    requests: one.requests,
                    tail_chance: rounded(one.chance()),
                    boosted: one.is_boosted,
                });
                types = Some(each.collect());
            }
        }
        let looks = matches!(drive.scheme, Scheme::Policy(_));
        Self {
            policy: drive.scheme.to_string(),
            latency_ns: drive.lever.latency_ns,
            shared_domain: drive.lever.domain_loops == ALL_LOOPS,
            domain_loops: Some(drive.lever.domain_loops).filter(|loops| *loops != ALL_LOOPS),
            budget: drive.budget.filter(|_| looks),
            look_ns: looks.then_some(drive.look_ns),
            boosts: ledger.boosts.len() as u64,
            boosted_share: rounded(ledger.fast_share()),
            energy: rounded(ledger.relative_energy()),
            target,
            types,
        }
    }
}

fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

/// A percentile of latencies; none of none.
pub(crate) fn percentile_ns(mut all: Vec<u64>, percentile: f64) -> Option<u64> {
    let rank = rank(all.len() as u64, percentile) as usize;
    let at = rank.checked_sub(1)?;
    Some(*all.select_nth_unstable(at).1)
}
