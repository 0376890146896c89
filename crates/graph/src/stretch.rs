//! A stretch: a piece of the loop thread's time that was not native, and how it is cut.
//!
//! The work of V8 is told as sums within a span; every question about a part of a span comes down
//! to a share of these sums here, rounded down, so that parts never have more than the whole.

use bobtail_trace::record::{NotRunningCause, Ns};

use crate::events::Row;

/// What a stretch is. Where two overlap, the later in this list has it, of the same kind the one
/// that was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    /// Nothing ran on the loop.
    #[default]
    Idle,
    /// Compilation and inline-cache misses, somewhere in it; the rest of it is native, or idle.
    Engine { jit_ns: u32, ic_ns: u32, idle: bool },
    /// The part of a collection that is not cut off; `row` is its number.
    Collection { row: Row },
    /// The thread did not run.
    NotRunning(NotRunningCause),
}

impl Kind {
    pub(crate) fn rank(self) -> u8 {
        match self {
            Self::Idle => 0,
            Self::Engine { .. } => 1,
            Self::Collection { .. } => 2,
            Self::NotRunning(_) => 3,
        }
    }
}

/// Running sums; native time is what is left.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    pub gc_ns: u64,
    pub jit_ns: u64,
    pub ic_ns: u64,
    pub loop_ns: u64,
    pub not_running_ns: u64,
}

/// One stretch; none overlaps another.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stretch {
    pub begin_ns: Ns,
    pub end_ns: Ns,
    pub kind: Kind,
    /// Sums of all stretches before it.
    pub before: Sums,
}

impl Stretch {
    /// Sums up to `elapsed_ns` after its begin. Work of V8 is spread evenly over its span.
    pub(crate) fn until(&self, elapsed_ns: u64) -> Sums {
        let mut sums = self.before;
        match self.kind {
            Kind::Idle => sums.loop_ns += elapsed_ns,
            Kind::Engine {
                jit_ns,
                ic_ns,
                idle,
            } => {
                let length_ns = self.end_ns - self.begin_ns;
                let (jit_ns, ic_ns) = (
                    share(jit_ns, elapsed_ns, length_ns),
                    share(ic_ns, elapsed_ns, length_ns),
                );
                sums.jit_ns += jit_ns;
                sums.ic_ns += ic_ns;
                if idle {
                    sums.loop_ns += elapsed_ns - jit_ns - ic_ns;
                }
            }
            Kind::Collection { .. } => sums.gc_ns += elapsed_ns,
            Kind::NotRunning(_) => sums.not_running_ns += elapsed_ns,
        }
        sums
    }

    pub(crate) fn length_ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }
}

/// `part / whole` of an amount, rounded down.
fn share(amount: u32, part: u64, whole: u64) -> u64 {
    if part == whole {
        return amount.into();
    }
    (u128::from(amount) * u128::from(part) / u128::from(whole.max(1))) as u64
}

pub(crate) fn overlap_ns(one: &Stretch, other: &Stretch) -> u64 {
    let begin_ns = one.begin_ns.max(other.begin_ns);
    one.end_ns.min(other.end_ns).saturating_sub(begin_ns)
}

/// Work of V8 inside idle time leaves the rest of its span idle.
pub(crate) fn idle_too(mut old: Stretch, new: &Stretch) -> Stretch {
    if let Kind::Engine { idle, .. } = &mut old.kind
        && new.kind == Kind::Idle
        && old.begin_ns >= new.begin_ns
    {
        *idle = true;
    }
    old
}

/// The part of a stretch in an interval; an empty one where there is none.
pub(crate) fn cut(old: &Stretch, from_ns: Ns, to_ns: Ns) -> Stretch {
    let begin_ns = from_ns.max(old.begin_ns);
    let end_ns = to_ns.min(old.end_ns).max(begin_ns);
    let part = Stretch {
        begin_ns,
        end_ns,
        ..*old
    };
    let passed_ns = begin_ns - old.begin_ns;
    spread(
        part,
        old.length_ns(),
        passed_ns,
        passed_ns + part.length_ns(),
    )
}

/// The amounts of the part `[from_ns, to_ns)` of `whole_ns`, of which `part.kind` has those of all.
pub(crate) fn spread(mut part: Stretch, whole_ns: u64, from_ns: u64, to_ns: u64) -> Stretch {
    let Kind::Engine { jit_ns, ic_ns, .. } = &mut part.kind else {
        return part;
    };
    let of_part = |amount: u32| share(amount, to_ns, whole_ns) - share(amount, from_ns, whole_ns);
    let all_jit_ns = u64::from(*jit_ns).min(whole_ns) as u32;
    let all_ic_ns = u64::from(*ic_ns).min(whole_ns - u64::from(all_jit_ns)) as u32;
    let length_ns = to_ns - from_ns;
    let part_jit_ns = of_part(all_jit_ns).min(length_ns);
    *jit_ns = part_jit_ns as u32;
    *ic_ns = of_part(all_ic_ns).min(length_ns - part_jit_ns) as u32;
    part
}
