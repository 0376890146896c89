//! One connection: who it is, when it was last heard, and how fast it may ask.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::levers::Spot;
use crate::owner::Owner;
use crate::protocol::Want;
use crate::rights::Peer;

/// A burst may be as long as what is allowed in this time.
const BURST: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub struct Session {
    pub peer: Peer,
    pub owner: Owner,
    pub is_welcome: bool,
    pub last_heard: Duration,
    /// What its targets were found to be, since to find out costs some files of `/proc`; whether
    /// they are still that is looked at each time.
    pub spots: BTreeMap<Want, Spot>,
    /// When what was asked until now would be paid for at the allowed rate.
    paid_at: Duration,
}

impl Session {
    pub fn new(peer: Peer, owner: Owner, now: Duration) -> Self {
        Self {
            peer,
            owner,
            is_welcome: false,
            last_heard: now,
            spots: BTreeMap::new(),
            paid_at: now,
        }
    }

    /// Counts one request; false when there are too many for that rate.
    pub fn pay(&mut self, requests_per_second: u32, now: Duration) -> bool {
        let price = Duration::from_secs(1) / requests_per_second.max(1);
        self.paid_at = self.paid_at.max(now) + price;
        self.paid_at <= now + BURST.max(price)
    }
}

#[cfg(test)]
mod tests {
    use bobtail_control::Host;

    use super::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let peer = Peer {
            pid: 1,
            uid: 1,
            gid: 1,
        };
        let owner = Owner::of(&Host::default(), &peer);
        let mut session = Session::new(peer, owner, Duration::ZERO);
        let burst = (0..1000).take_while(|_| session.pay(100, Duration::ZERO));
        assert_eq!(burst.count(), 20, "0.2 s of 100/s");
        assert!(!session.pay(100, Duration::from_millis(1)));
        let mut session = Session::new(peer, owner, Duration::ZERO);
        let steady = (1..1000).map(|request| session.pay(100, Duration::from_millis(10 * request)));
        assert!(steady.into_iter().all(|is_paid| is_paid));
    }
}
