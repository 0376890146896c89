//! From what a client names to the holding that it may move: whose it is, whether a rule gives it,
//! and whether one more may be opened for it.

use std::time::Duration;

use bobtail_control::Domain;

use super::Service;
use super::refusing::{Refused, errno_of, unopened};
use crate::claims::ClientId;
use crate::config::Config;
use crate::holdings::HoldingId;
use crate::levers::Spot;
use crate::protocol::{Refusal, Want};
use crate::rights::{self, Bounds};
use crate::session::Session;

impl Service {
    /// The holding that a client may move, and how far.
    pub(super) fn find(
        &mut self,
        client: ClientId,
        want: Want,
        now: Duration,
    ) -> Result<(HoldingId, Bounds), Refused> {
        let Some(session) = self.sessions.get(&client) else {
            return Err((Refusal::NotAllowed, 0));
        };
        let peer = session.peer;
        let allowed = |config: &Config, domain: &Domain| {
            rights::bounds(config, &peer, want.lever, domain).ok_or((Refusal::NotAllowedHere, 0))
        };
        let spot = self.spot(client, want, now)?;
        // Before anything is opened for someone who may not have it.
        let may = allowed(&self.config, &spot.domain());
        if let Err(refused) = may {
            // It may have been allowed where its process was before.
            self.end_claims(client, want, None, now);
            return Err(refused);
        }
        if self.config.without_effect.contains(&want.lever) {
            return Err((Refusal::SpeedOff, 0));
        }
        self.remember(client, want, &spot);
        if self.holdings.held(want.lever, &spot).is_none() && !self.may_open_more(peer.uid) {
            return Err((Refusal::TooManyClaims, 0));
        }
        let opened = (self.config.asked(want.lever), peer.uid);
        let found = self
            .holdings
            .find(want.lever, &spot, opened, now, &mut self.log);
        let id = match found {
            Ok(id) => id,
            Err(error) => {
                self.log.line(now, &error);
                return Err((unopened(&error), errno_of(&error)));
            }
        };
        let view = self.holdings.view(id).ok_or((Refusal::NoLever, 0))?;
        Ok((id, allowed(&self.config, view.domain)?))
    }

    /// Whether one more lever may be opened for a user: no more than his connections may claim. By
    /// user and not by connection, since a lever stays open for a while when its client has left.
    fn may_open_more(&self, user: u32) -> bool {
        let of_user = |session: &&Session| session.peer.uid == user;
        let connections = self.sessions.values().filter(of_user).count();
        self.holdings.opened_by(user) < connections * self.config.max_claims as usize
    }

    /// What the client's target is now; what it claimed by one that is no longer its own ends.
    fn spot(&mut self, client: ClientId, want: Want, now: Duration) -> Result<Spot, Refused> {
        let Some(session) = self.sessions.get(&client) else {
            return Err((Refusal::NotAllowed, 0));
        };
        let (host, owner) = (self.holdings.host(), session.owner);
        let is_still = |spot: &&Spot| spot.is_still(host, want.lever, &owner);
        if let Some(spot) = session.spots.get(&want).filter(is_still) {
            return Ok(spot.clone());
        }
        let found = Spot::of(host, want.lever, want.target, &owner);
        found.map_err(|error| {
            self.log.line(now, &error);
            self.end_claims(client, want, None, now);
            (Refusal::NoLever, errno_of(&error))
        })
    }

    fn remember(&mut self, client: ClientId, want: Want, spot: &Spot) {
        let places = self.config.max_claims as usize;
        if let Some(session) = self.sessions.get_mut(&client)
            && (session.spots.len() < places || session.spots.contains_key(&want))
        {
            session.spots.insert(want, spot.clone());
        }
    }
}
