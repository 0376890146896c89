//! What the driver did so far, for whoever asks: always as of one look, never half of one.
//!
//! Not counted where it happens, since then a reader could see a boost without its reason.

use std::sync::{Mutex, PoisonError};

/// What a driver did so far, as of one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Times it looked, and the CPU time of that, with waking up for it.
    pub looks: u64,
    pub looking_ns: u64,
    /// Boosts that began, and for how long there was one, without the one under way.
    pub boosts: u64,
    pub boosted_ns: u64,
    /// When the one under way began (CLOCK_MONOTONIC); 0 none.
    pub boosted_since_ns: u64,
    /// Boosts that began for a collection, a long queue, a long event, a long turn; one may have
    /// several.
    pub by_reason: [u64; 4],
    /// Changes the lever refused.
    pub refused: u64,
    /// For how long the lever was out of hand, without the time that it is now.
    pub lost_ns: u64,
    /// Since when it is now (CLOCK_MONOTONIC); 0 it is not.
    pub lost_since_ns: u64,
}

impl Counts {
    /// Boosted time until now, with the boost under way.
    pub fn boosted_until_ns(&self, now_ns: u64) -> u64 {
        match self.boosted_since_ns {
            0 => self.boosted_ns,
            since_ns => self.boosted_ns + now_ns.saturating_sub(since_ns),
        }
    }

    /// Time without the lever until now.
    pub fn lost_until_ns(&self, now_ns: u64) -> u64 {
        match self.lost_since_ns {
            0 => self.lost_ns,
            since_ns => self.lost_ns + now_ns.saturating_sub(since_ns),
        }
    }
}

/// Counts of one driver, for any thread.
///
/// Told after each look instead of counted where they happen, and under a lock, so that a reader
/// never sees a boost without its reason. Neither side stays inside longer than the copy takes.
#[derive(Debug, Default)]
pub struct Counters {
    counts: Mutex<Counts>,
    /// Why the lever was lost last.
    why_lost: Mutex<Option<String>>,
}

/// Of this process's driver.
pub static COUNTERS: Counters = Counters {
    counts: Mutex::new(Counts {
        looks: 0,
        looking_ns: 0,
        boosts: 0,
        boosted_ns: 0,
        boosted_since_ns: 0,
        by_reason: [0; 4],
        refused: 0,
        lost_ns: 0,
        lost_since_ns: 0,
    }),
    why_lost: Mutex::new(None),
};

impl Counters {
    /// As of the last look.
    pub fn read(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells how it stands after a look.
    pub fn tell(&self, counts: &Counts) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = *counts;
    }

    /// Why the lever was lost last, in words; none where it never was.
    pub fn why_lost(&self) -> Option<String> {
        let why = self.why_lost.lock();
        why.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells why the lever is lost.
    pub fn tell_lost(&self, why: String) {
        *self.why_lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }
}
