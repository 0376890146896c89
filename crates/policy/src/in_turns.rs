//! `in-turns:each=TIME,of=POLICY+POLICY`: several policies, one after the other, on one loop. Ours.
//!
//! To tell two policies apart two services do badly: the same service twice, under one policy, had
//! tails further apart than two policies have, for a reason not known. Here one loop has them all.
//! Each sees its own turns alone, its clock and the loop's sums standing still meanwhile, so that
//! it learns nothing of what another made.
//!
//! Whose turn it is follows from the clock, so that who measures knows it without asking
//! ([`InTurns::on_duty`]).

use std::fmt;

use crate::arguments::{Arguments, duration_text};
use crate::decision::{Decider, Decision, LeverFacts};
use crate::error::{PolicyError, Problem};
use crate::policy::Policy;
use crate::reading::{Collection, LoopTotals, Reading};
use crate::speed::Speed;

pub(crate) const NAME: &str = "in-turns";
const EACH_DEFAULT_NS: u64 = 2_500_000_000;
const EACH_NS: std::ops::RangeInclusive<u64> = 10_000_000..=3_600_000_000_000;
const POLICIES: std::ops::RangeInclusive<usize> = 2..=8;
/// The last: what follows is texts of policies, which have commas of their own.
const OF: &str = "of=";
const EXPECTED: &str =
    "of=POLICY+POLICY, the last of its settings, before which may stand each=TIME";

/// Some policies in turns.
#[derive(Debug, Clone, PartialEq)]
pub struct InTurns {
    each_ns: u64,
    of: Vec<Policy>,
}

impl InTurns {
    /// Reads the whole text of it.
    pub(crate) fn parse(text: &str) -> Result<Self, PolicyError> {
        let error = |at: usize, problem: Problem| PolicyError {
            text: text.to_owned(),
            at,
            problem,
        };
        let of_at = text
            .match_indices(OF)
            .map(|(at, _)| at)
            .find(|at| text[..*at].ends_with([':', ',']));
        let mut settings = Arguments::of(of_at.map_or(text, |at| &text[..at - 1]));
        let each_ns = settings
            .duration_ns("each", EACH_DEFAULT_NS, EACH_NS)
            .and_then(|each_ns| settings.finish(NAME).map(|()| each_ns))
            .map_err(|wrong| error(wrong.at, wrong.problem))?;
        let Some(of_at) = of_at else {
            let problem = Problem::Missing {
                policy: NAME,
                expected: EXPECTED,
            };
            return Err(error(text.len(), problem));
        };
        let members_at = of_at + OF.len();
        let members = &text[members_at..];
        let mut at = members_at;
        let mut of = vec![];
        for member in members.split('+') {
            of.push(parse_member(member).map_err(|(within, problem)| error(at + within, problem))?);
            at += member.len() + 1;
        }
        if !POLICIES.contains(&of.len()) {
            let expected = format!("{} to {} policies", POLICIES.start(), POLICIES.end());
            let problem = Problem::Value {
                key: "of".to_owned(),
                value: members.to_owned(),
                expected,
            };
            return Err(error(members_at, problem));
        }
        Ok(Self { each_ns, of })
    }

    /// The place of the policy whose turn it is; `now_ns` is by the clock of the readings, live
    /// CLOCK_MONOTONIC. Each has a turn in each round of turns, in the order of a Williams square
    /// (Aust. J. Sci. Res. A 2, 1949): each comes equally often after each other one, since what
    /// one leaves behind the next has to do. Of two it is A B B A.
    pub fn on_duty(&self, now_ns: u64) -> usize {
        let (turn, count) = (now_ns / self.each_ns, self.of.len() as u64);
        let (round, at) = (turn / count, turn % count);
        // Of an odd number every other square is the mirror image, or the pairs are not even.
        let is_mirrored = count % 2 == 1 && round / count % 2 == 1;
        let at = if is_mirrored { count - 1 - at } else { at };
        let place = if at % 2 == 1 {
            at / 2 + 1
        } else {
            count - at / 2
        };
        ((place + round) % count) as usize
    }

    /// Begins to decide for one loop.
    pub fn start(&self, lever: &LeverFacts) -> InTurnsDecider {
        let each = self.of.iter();
        InTurnsDecider {
            policy: self.clone(),
            own: each.map(|policy| Own::new(policy.start(lever))).collect(),
            last: None,
        }
    }
}

/// One of the policies; where in its text what is wrong.
fn parse_member(text: &str) -> Result<Policy, (usize, Problem)> {
    let policy = text
        .parse::<Policy>()
        .map_err(|error| (error.at, error.problem))?;
    // A frequency of one's own needs a lever that was checked for it before.
    let is_own = matches!(&policy, Policy::Static(fixed) if matches!(fixed.speed, Speed::Khz(_)));
    if is_own || matches!(policy, Policy::InTurns(_)) {
        let problem = Problem::Value {
            key: "of".to_owned(),
            value: text.to_owned(),
            expected: "a policy that decides, static:base or static:peak".to_owned(),
        };
        return Err((0, problem));
    }
    Ok(policy)
}

impl fmt::Display for InTurns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of: Vec<_> = self.of.iter().map(Policy::to_string).collect();
        let each = duration_text(self.each_ns);
        write!(f, "{NAME}:each={each},{OF}{}", of.join("+"))
    }
}

/// Policies in turns at work.
#[derive(Debug)]
pub struct InTurnsDecider {
    policy: InTurns,
    own: Vec<Own>,
    /// What was read last, and whose turn it was.
    last: Option<(Reading, usize)>,
}

impl Decider for InTurnsDecider {
    fn decide(&mut self, reading: &Reading) -> Decision {
        let place = self.policy.on_duty(reading.now_ns);
        // What passed since the last look was still his whose turn it was then.
        match self.last {
            Some((last, whose)) => self.own[whose].pass(&last, reading),
            None => self.own.iter_mut().for_each(|own| own.begin(reading)),
        }
        self.last = Some((*reading, place));
        let decision = self.own[place].decide(reading);
        let turn_ns = self.policy.each_ns;
        let end_ns = (reading.now_ns / turn_ns + 1).saturating_mul(turn_ns);
        Decision {
            look_again_ns: Some(decision.look_again_ns.map_or(end_ns, |ns| ns.min(end_ns))),
            ..decision
        }
    }
}

/// A policy that sees nothing but its turns.
#[derive(Debug)]
struct Own {
    decider: Box<dyn Decider>,
    /// What time it is for it, and the loop's sums.
    now_ns: u64,
    totals: LoopTotals,
}

impl Own {
    fn new(decider: Box<dyn Decider>) -> Self {
        Self {
            decider,
            now_ns: 0,
            totals: LoopTotals::default(),
        }
    }

    fn begin(&mut self, reading: &Reading) {
        (self.now_ns, self.totals) = (reading.now_ns, reading.totals);
    }

    /// Its clock and sums go on by what lies between two readings; by nothing where they fell,
    /// which those of another loop do.
    fn pass(&mut self, from: &Reading, until: &Reading) {
        add(&mut self.now_ns, from.now_ns, until.now_ns);
        let (own, from, until) = (&mut self.totals, &from.totals, &until.totals);
        add(&mut own.turns, from.turns, until.turns);
        add(&mut own.polls, from.polls, until.polls);
        add(
            &mut own.queue_lengths,
            from.queue_lengths,
            until.queue_lengths,
        );
        add(&mut own.events, from.events, until.events);
        add(&mut own.events_ns, from.events_ns, until.events_ns);
    }

    fn decide(&mut self, reading: &Reading) -> Decision {
        let behind_ns = reading.now_ns.saturating_sub(self.now_ns);
        let decision = self.decider.decide(&Reading {
            now_ns: self.now_ns,
            collection: reading.collection.map(|now| Collection {
                begin_ns: now.begin_ns.saturating_sub(behind_ns),
                ..now
            }),
            totals: self.totals,
            ..*reading
        });
        Decision {
            look_again_ns: decision
                .look_again_ns
                .map(|ns| ns.saturating_add(behind_ns)),
            ..decision
        }
    }
}

fn add(sum: &mut u64, from: u64, until: u64) {
    *sum = sum.saturating_add(until.saturating_sub(from));
}
