//! What a policy answers, and the one interface of all policies in use.

use std::fmt;

use crate::reading::Reading;
use crate::speed::Speed;

/// A policy at work on one loop. It keeps its averages and since when it boosts, and nothing that
/// is not a function of the readings it was given.
pub trait Decider: fmt::Debug + Send {
    /// Decides; neither allocates nor blocks.
    fn decide(&mut self, reading: &Reading) -> Decision;
}

/// What shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub speed: Speed,
    /// Why it is not the base speed; empty when it is, or when the speed is a fixed one.
    pub reasons: Reasons,
    /// When to decide again if nothing happens until then, by the clock of the readings. A
    /// collection that begins or ends is always a moment to decide. While the loop is idle and the
    /// speed is base, the driver may wait for the loop instead.
    pub look_again_ns: Option<u64>,
}

/// Why a thread is boosted; several at once.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Reasons(u8);

impl Reasons {
    /// A collection is under way.
    pub const COLLECTION: Self = Self(1);
    /// The queue is long.
    pub const QUEUE_LENGTH: Self = Self(2);
    /// The event that executes has done so for long.
    pub const HEAD: Self = Self(4);
    /// None of these any longer, but a boost lasts for its minimum.
    pub const HOLD: Self = Self(8);
    /// A request is open that is boosted all its life; in replays only.
    pub const REQUEST: Self = Self(16);
    /// A request would miss its target; in replays only.
    pub const TARGET: Self = Self(32);
    /// A turn of the loop is long or will be, or the one before was.
    pub const LONG_TURN: Self = Self(64);

    const NAMES: [(Self, &'static str); 7] = [
        (Self::COLLECTION, "collection"),
        (Self::QUEUE_LENGTH, "queue length"),
        (Self::HEAD, "head"),
        (Self::HOLD, "hold"),
        (Self::REQUEST, "request"),
        (Self::TARGET, "target"),
        (Self::LONG_TURN, "long turn"),
    ];

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `other` are among these.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// `reason` if `holds`, else none.
    pub(crate) fn when(holds: bool, reason: Self) -> Self {
        if holds { reason } else { Self::default() }
    }

    /// The names, for counters.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let named = Self::NAMES.into_iter();
        named
            .filter(move |(reason, _)| self.contains(*reason))
            .map(|(_, name)| name)
    }
}

impl std::ops::BitOr for Reasons {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join("+"))
    }
}

/// What a policy needs to know of the lever that it drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeverFacts {
    /// From a decision to the new speed.
    pub latency_ns: u64,
}
