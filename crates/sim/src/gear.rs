//! The gear: at which speed a loop's thread runs, by what was asked for and when that is in force.
//!
//! Apart from who asks, since of a domain that several loops share others ask too.

use std::collections::VecDeque;
use std::sync::Arc;

use bobtail_trace::record::Ns;

use crate::domain::{Domain, Known};

/// See the module. Speeds are relative to base.
#[derive(Debug)]
pub(crate) enum Gear {
    /// The loop has a lever of its own.
    Own {
        ratio: f64,
        /// Asked for, and not in force yet.
        pending: VecDeque<(Ns, f64)>,
    },
    /// It has one with others.
    Shared { domain: Arc<Domain>, number: usize },
}

impl Gear {
    /// Of a loop by itself, at base speed.
    pub(crate) fn own() -> Self {
        Self::Own {
            ratio: 1.0,
            pending: VecDeque::new(),
        }
    }

    /// Whether the thread runs at base, and nothing else is asked for.
    pub(crate) fn is_own_at_base(&self) -> bool {
        matches!(self, Self::Own { ratio, pending } if *ratio == 1.0 && pending.is_empty())
    }

    /// What is known at a moment; see [`Domain::known`].
    pub(crate) fn known(&mut self, at_ns: Ns, decides_ns: impl Fn() -> Ns) -> Known {
        match self {
            Self::Own { ratio, pending } => {
                while let Some(&(_, next)) = pending.front().filter(|one| one.0 <= at_ns) {
                    *ratio = next;
                    pending.pop_front();
                }
                Known {
                    ratio: *ratio,
                    until_ns: pending.front().map_or(Ns::MAX, |one| one.0),
                }
            }
            Self::Shared { domain, number } => domain.known(*number, at_ns, decides_ns),
        }
    }

    /// Asks for a speed, in force from then on.
    pub(crate) fn ask(&mut self, from_ns: Ns, to: f64) {
        match self {
            Self::Own { pending, .. } => pending.push_back((from_ns, to)),
            Self::Shared { domain, number } => domain.ask(*number, from_ns, to),
        }
    }

    /// The loop is over.
    pub(crate) fn let_go(&self, at_ns: Ns) {
        if let Self::Shared { domain, number } = self {
            domain.let_go(*number, at_ns);
        }
    }
}
