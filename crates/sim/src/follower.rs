//! What decides by requests, of which no live sensor tells.
//!
//! Beside the policies, which decide by readings: these see requests come, proceed and end.

use std::fmt;

use bobtail_policy::Decision;
use bobtail_trace::record::Ns;

/// See the module. Requests go by their numbers.
pub(crate) trait Follower: fmt::Debug {
    /// When the next request comes that it follows.
    fn next_ns(&self) -> Ns;

    /// A request will come then, for those who look no further ahead.
    fn expect(&mut self, _request: u32, _at_ns: Ns) {}

    /// Takes those that came; true if there were any.
    fn come(&mut self, now: Ns) -> bool;

    /// The loop worked for a request: as much as takes so long at base speed, and took so long.
    fn work(&mut self, _request: u32, _done_ns: f64, _took_ns: u64) {}

    /// A request is answered; true if it was one of them.
    fn answer(&mut self, request: u32, now: Ns) -> bool;

    /// How closely it looks, beside that.
    fn sees(&self) -> Sees;

    /// Decides.
    fn decide(&mut self, now: Ns, is_working: bool) -> Decision;
}

/// When a follower looks, beside when requests come and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sees {
    /// Not at all.
    Requests,
    /// When the loop goes to work and to sleep.
    Work,
    /// And when it begins an event.
    Events,
}
