//! Foresight: which requests to boost for, from a replay of the same at base speed.
//!
//! A live policy cannot know it, so what this reaches bounds what one can.

use bobtail_policy::{Decision, Reasons, Speed};
use bobtail_trace::record::Ns;

use crate::model::Model;
use crate::scheme::Scheme;

/// See the module.
#[derive(Debug)]
pub(crate) struct Foresight {
    /// Marked requests as they come.
    arrivals: Vec<(Ns, u32)>,
    next: usize,
    /// Of each request: it is marked and not answered yet.
    is_marked: Vec<bool>,
    /// It came, too.
    has_come: Vec<bool>,
    /// Came, and are not answered.
    open: u32,
    /// A boost pauses while the loop sleeps.
    sees_work: bool,
}

impl Foresight {
    /// What a scheme knows ahead; `None` for one that runs live too. `base` are the
    /// latencies at base speed of all requests, and when they come.
    pub(crate) fn of(
        scheme: &Scheme,
        model: &Model,
        base: impl FnOnce() -> Vec<(u64, Ns)>,
    ) -> Option<Self> {
        if let Scheme::Policy(_) = scheme {
            return None;
        }
        let (base_ns, came_ns): (Vec<u64>, Vec<Ns>) = base().into_iter().unzip();
        let (is_marked, sees_work) = match *scheme {
            Scheme::Policy(_) => return None,
            Scheme::Oracle { tail } => {
                let tail_ns = tail_ns(model, &base_ns, tail);
                (base_ns.iter().map(|&ns| ns >= tail_ns).collect(), true)
            }
            Scheme::Adrenaline { tail, types } => (of_types(model, &base_ns, tail, types), false),
        };
        let is_marked: Vec<bool> = is_marked;
        let marked = (0..is_marked.len() as u32).filter(|&one| is_marked[one as usize]);
        let mut arrivals: Vec<(Ns, u32)> = marked.map(|one| (came_ns[one as usize], one)).collect();
        arrivals.sort_unstable();
        Some(Self {
            arrivals,
            next: 0,
            has_come: vec![false; is_marked.len()],
            is_marked,
            open: 0,
            sees_work,
        })
    }

    /// When the next of them comes.
    pub(crate) fn next_ns(&self) -> Ns {
        self.arrivals.get(self.next).map_or(Ns::MAX, |one| one.0)
    }

    /// Takes those that came; true if there were any.
    pub(crate) fn come(&mut self, now: Ns) -> bool {
        let from = self.next;
        while let Some(&(_, request)) = self.arrivals.get(self.next).filter(|one| one.0 <= now) {
            // One that was answered before it was seen needs nothing any more.
            if self.is_marked[request as usize] {
                self.has_come[request as usize] = true;
                self.open += 1;
            }
            self.next += 1;
        }
        self.next > from
    }

    /// A request is answered; true if it was one of them.
    pub(crate) fn answer(&mut self, request: u32) -> bool {
        let is_one = std::mem::take(&mut self.is_marked[request as usize]);
        // One may be answered before it was expected; then it does not end the boost of another.
        let is_open = is_one && self.has_come[request as usize];
        self.open -= u32::from(is_open);
        is_open
    }

    pub(crate) fn sees_work(&self) -> bool {
        self.sees_work
    }

    pub(crate) fn decide(&self, is_working: bool) -> Decision {
        let is_boosted = self.open > 0 && (is_working || !self.sees_work);
        Decision {
            speed: if is_boosted { Speed::Peak } else { Speed::Base },
            reasons: if is_boosted {
                Reasons::REQUEST
            } else {
                Reasons::default()
            },
            look_again_ns: None,
        }
    }
}

/// The latency at which the tail of what counts begins.
fn tail_ns(model: &Model, base_ns: &[u64], tail: f64) -> u64 {
    let counted = model.requests.iter().zip(base_ns);
    let counted = counted.filter(|(request, _)| request.counts);
    let mut all: Vec<u64> = counted.map(|(_, &ns)| ns).collect();
    all.sort_unstable();
    let rank = (all.len() as f64 * tail / 100.0).ceil() as usize;
    all.get(rank.saturating_sub(1)).copied().unwrap_or(u64::MAX)
}

/// Requests of the types that are most likely to be in the tail.
fn of_types(model: &Model, base_ns: &[u64], tail: f64, types: u32) -> Vec<bool> {
    let tail_ns = tail_ns(model, base_ns, tail);
    let routes = model.requests.iter().map(|one| one.route as usize);
    let mut counts = vec![(0_u64, 0_u64); routes.clone().max().map_or(0, |most| most + 1)];
    for (request, &ns) in model.requests.iter().zip(base_ns) {
        let (all, slow) = &mut counts[request.route as usize];
        *all += u64::from(request.counts);
        *slow += u64::from(request.counts && ns >= tail_ns);
    }
    let mut order: Vec<usize> = (0..counts.len()).filter(|&one| counts[one].1 > 0).collect();
    let chance = |route: usize| counts[route].1 as f64 / counts[route].0.max(1) as f64;
    order.sort_by(|&a, &b| chance(b).total_cmp(&chance(a)).then(a.cmp(&b)));
    order.truncate(types as usize);
    routes.map(|route| order.contains(&route)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_what_did_not_come_ends_no_other_boost() {
        let mut foresight = Foresight {
            arrivals: vec![(10, 0), (20, 1)],
            next: 0,
            is_marked: vec![true, true],
            has_come: vec![false, false],
            open: 0,
            sees_work: false,
        };
        assert!(foresight.come(10));
        assert!(!foresight.answer(1), "it is still to come");
        assert_eq!(foresight.decide(true).speed, Speed::Peak);
        assert!(foresight.answer(0));
        foresight.come(20);
        assert_eq!(foresight.decide(true).speed, Speed::Base);
    }
}
