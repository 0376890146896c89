//! A frequency domain: several loops whose speed is the highest that any of them asks for.
//!
//! Each loop is replayed by itself, in a time of its own, and would need to know what the others
//! will ask for. So one runs at a time, as far as nobody can still change what it has seen: to the
//! earliest moment at which another may decide, and the latency of the lever beyond that. Then the
//! one runs whose own next decision is the earliest. Threads, of which one runs, since the replay
//! of a loop is a deep call that cannot be left and entered again.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bobtail_trace::record::Ns;

const NEVER: Ns = Ns::MAX;
const BASE: f64 = 1.0;
/// Asked for by one that is over.
const NOTHING: f64 = 0.0;

/// See the module.
#[derive(Debug)]
pub(crate) struct Domain {
    state: Mutex<State>,
    /// Of each member: it may be its turn.
    turns: Vec<Condvar>,
    latency_ns: u64,
}

#[derive(Debug)]
struct State {
    members: Vec<Member>,
    /// Who runs.
    turn: usize,
}

/// A loop of the domain.
#[derive(Debug, Clone, Default)]
struct Member {
    /// What it asked for, by when that comes into force.
    asked: Vec<(Ns, f64)>,
    /// Before then it decides nothing; [`NEVER`] when it is over.
    decides_ns: Ns,
    /// When its speed is let go.
    let_go_ns: Ns,
}

impl Member {
    /// Its place among what it asked for: how much of that is in force.
    fn in_force(&self, at_ns: Ns) -> usize {
        self.asked.partition_point(|one| one.0 <= at_ns)
    }
}

/// What a member may count on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Known {
    /// The speed of the domain, relative to base.
    pub ratio: f64,
    /// Until then it stays; beyond, either it changes or nobody knows yet.
    pub until_ns: Ns,
}

impl Domain {
    /// Of so many loops with levers of this latency.
    pub(crate) fn new(members: usize, latency_ns: u64) -> Self {
        Self {
            state: Mutex::new(State {
                members: vec![Member::default(); members],
                turn: 0,
            }),
            turns: (0..members).map(|_| Condvar::new()).collect(),
            latency_ns,
        }
    }

    /// What is known at a moment to which a member has come. Lets the others run first where
    /// nothing is; the member decides nothing before `decides_ns`, which is later than now.
    pub(crate) fn known(&self, number: usize, at_ns: Ns, decides_ns: impl Fn() -> Ns) -> Known {
        let mut state = self.locked();
        while self.horizon_ns(&state, number) <= at_ns {
            state.members[number].decides_ns = decides_ns();
            state = self.pass_on(state, number);
        }
        let horizon_ns = self.horizon_ns(&state, number);
        let mut known = Known {
            ratio: NOTHING,
            until_ns: horizon_ns,
        };
        for one in &state.members {
            let in_force = one.in_force(at_ns);
            let last = in_force.checked_sub(1).map(|last| one.asked[last].1);
            known.ratio = known.ratio.max(last.unwrap_or(BASE));
            if let Some(&(change_ns, _)) = one.asked.get(in_force) {
                known.until_ns = known.until_ns.min(change_ns);
            }
        }
        known
    }

    /// A member asks for a speed, in force from then on.
    pub(crate) fn ask(&self, number: usize, from_ns: Ns, ratio: f64) {
        self.locked().members[number].asked.push((from_ns, ratio));
    }

    /// A member will do nothing after this moment.
    pub(crate) fn let_go(&self, number: usize, at_ns: Ns) {
        self.locked().members[number].let_go_ns = at_ns.saturating_add(self.latency_ns);
    }

    /// A member begins; its turn comes.
    pub(crate) fn begin(&self, number: usize) {
        let state = self.locked();
        let wait =
            |state| self.turns[number].wait_while(state, |one: &mut State| one.turn != number);
        drop(wait(state).unwrap_or_else(PoisonError::into_inner));
    }

    /// A member is over, and lets the next one run.
    pub(crate) fn end(&self, number: usize) {
        let mut state = self.locked();
        let member = &mut state.members[number];
        member.decides_ns = NEVER;
        let last_ns = member.asked.last().map_or(0, |one| one.0);
        member.asked.push((last_ns.max(member.let_go_ns), NOTHING));
        self.choose(&mut state);
    }

    /// How far a member can see.
    fn horizon_ns(&self, state: &State, number: usize) -> Ns {
        let others = state.members.iter().enumerate();
        let others = others.filter(|(other, _)| *other != number);
        let earliest_ns = others.map(|(_, one)| one.decides_ns).min();
        earliest_ns.map_or(NEVER, |ns| ns.saturating_add(self.latency_ns))
    }

    fn choose(&self, state: &mut State) {
        let each = state.members.iter().enumerate();
        let next = each.min_by_key(|(number, one)| (one.decides_ns, *number));
        state.turn = next.map_or(0, |(number, _)| number);
        self.turns[state.turn].notify_one();
    }

    fn pass_on<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        number: usize,
    ) -> MutexGuard<'s, State> {
        self.choose(&mut state);
        let turn = &self.turns[number];
        turn.wait_while(state, |one| one.turn != number)
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
