//! What the daemon answers.
//!
//! Every refusal has a code of its own, because what a client should do differs: ask for less, ask
//! the administrator, connect again, or give up.

use thiserror::Error;

use super::codes;
use super::frame::Parts;
use super::{Frame, FrameError};
use bobtail_control::Unit;

/// What a client may ask of one lever on one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Targets with the same domain move together: the highest claim of all clients wins.
    pub domain: u32,
    pub unit: Unit,
    /// Smallest value that is granted.
    pub lowest: u32,
    /// Largest value that is granted.
    pub highest: u32,
    /// What `Speed::Base` means here.
    pub base: u32,
    /// What `Speed::Peak` means here.
    pub peak: u32,
    /// How long a change takes by the driver's own account, besides the way to the daemon; none
    /// if it is not known.
    pub transition_ns: Option<u32>,
}

/// On the wire, a transition of which nobody knows how long it takes.
const UNKNOWN_NS: u32 = u32::MAX;

/// One answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// To HELLO: who claims a lever and is not heard of for so long loses it; so many claims of
    /// one connection are kept.
    Welcome {
        heartbeat_timeout_ns: u64,
        max_claims: u32,
    },
    /// To ASK.
    Offered(Offer),
    /// To RAISE: the claim after clamping, and where the lever stands now.
    Granted { granted: u32, effective: u32 },
    /// To LOWER and LOWER_ALL: so many claims were let go.
    Lowered { claims: u32 },
    /// To any request; or unasked with sequence 0, before the connection ends or when a claim ends
    /// that stood; `detail` is the `errno` of a failed lever, else 0.
    Refused { refusal: Refusal, detail: u32 },
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error("the request is not of the protocol")]
    BadFrame,
    #[error("no common protocol version")]
    Version,
    #[error("the daemon's configuration allows this user nothing")]
    NotAllowed,
    #[error("the daemon's configuration does not allow this lever on this target")]
    NotAllowedHere,
    #[error("this host does not have this lever on this target")]
    NoLever,
    #[error("the lever could not be moved")]
    LeverFailed,
    #[error("another lever is raised on the same CPUs")]
    DomainBusy,
    #[error("the daemon cannot write its journal, and raises nothing without")]
    NoJournal,
    #[error("too many connections")]
    TooManyClients,
    #[error("too many claims on one connection, or levers opened for it")]
    TooManyClaims,
    #[error("too many requests a second")]
    Flood,
    #[error("no sign of life in time; all claims were let go")]
    Expired,
    #[error("the daemon is ending; all claims were let go")]
    Ending,
    #[error("the lever does not make the speed it should, on this host now")]
    SpeedOff,
}

const REFUSALS: [Refusal; 14] = [
    Refusal::BadFrame,
    Refusal::Version,
    Refusal::NotAllowed,
    Refusal::NotAllowedHere,
    Refusal::NoLever,
    Refusal::LeverFailed,
    Refusal::DomainBusy,
    Refusal::NoJournal,
    Refusal::TooManyClients,
    Refusal::TooManyClaims,
    Refusal::Flood,
    Refusal::Expired,
    Refusal::Ending,
    Refusal::SpeedOff,
];

impl Refusal {
    /// Number on the wire, from 1.
    pub fn code(self) -> u16 {
        self as u16 + 1
    }

    fn of_code(code: u16) -> Result<Self, FrameError> {
        let found = REFUSALS.into_iter().find(|refusal| refusal.code() == code);
        found.ok_or(FrameError::Refusal(code))
    }

    /// Whether the daemon ends the connection with it.
    pub fn ends_connection(self) -> bool {
        !matches!(
            self,
            Self::NotAllowedHere
                | Self::NoLever
                | Self::LeverFailed
                | Self::DomainBusy
                | Self::NoJournal
                | Self::TooManyClaims
                | Self::SpeedOff
        )
    }
}

impl Answer {
    /// Encodes the answer to the request of that sequence number.
    pub fn encode(&self, sequence: u32) -> Frame {
        let mut frame = Frame::new(self.kind(), 0, sequence);
        match *self {
            Self::Welcome {
                heartbeat_timeout_ns,
                max_claims,
            } => {
                frame.put(&heartbeat_timeout_ns.to_le_bytes());
                frame.put(&max_claims.to_le_bytes());
                frame.put(&[0; 4]);
            }
            Self::Offered(offer) => {
                frame.put(&offer.domain.to_le_bytes());
                frame.put(&[codes::of_unit(offer.unit), 0, 0, 0]);
                let transition_ns = offer.transition_ns.unwrap_or(UNKNOWN_NS);
                let Offer {
                    lowest,
                    highest,
                    base,
                    peak,
                    ..
                } = offer;
                for value in [lowest, highest, base, peak, transition_ns] {
                    frame.put(&value.to_le_bytes());
                }
            }
            Self::Granted { granted, effective } => {
                frame.put(&granted.to_le_bytes());
                frame.put(&effective.to_le_bytes());
            }
            Self::Lowered { claims } => frame.put(&claims.to_le_bytes()),
            Self::Refused { refusal, detail } => {
                frame.put(&refusal.code().to_le_bytes());
                frame.put(&[0; 2]);
                frame.put(&detail.to_le_bytes());
            }
        }
        frame
    }

    /// Decodes one datagram into the answer and the sequence number it repeats.
    pub fn decode(bytes: &[u8]) -> Result<(Self, u32), FrameError> {
        let mut parts = Parts::of(bytes)?;
        if parts.flags != 0 {
            return Err(FrameError::Flags(parts.flags));
        }
        let sequence = parts.sequence;
        let answer = match parts.kind {
            0x81 => welcome(&mut parts)?,
            0x82 => Self::Offered(offer(&mut parts)?),
            0x83 => {
                parts.expect_body(8)?;
                let (granted, effective) = (parts.u32(), parts.u32());
                Self::Granted { granted, effective }
            }
            0x84 => {
                parts.expect_body(4)?;
                let claims = parts.u32();
                Self::Lowered { claims }
            }
            0xff => refused(&mut parts)?,
            kind => return Err(FrameError::Kind(kind)),
        };
        Ok((answer, sequence))
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Welcome { .. } => 0x81,
            Self::Offered(_) => 0x82,
            Self::Granted { .. } => 0x83,
            Self::Lowered { .. } => 0x84,
            Self::Refused { .. } => 0xff,
        }
    }
}

fn welcome(parts: &mut Parts) -> Result<Answer, FrameError> {
    parts.expect_body(16)?;
    let heartbeat_timeout_ns = parts.u64();
    let max_claims = parts.u32();
    parts.zeros(4)?;
    Ok(Answer::Welcome {
        heartbeat_timeout_ns,
        max_claims,
    })
}

fn offer(parts: &mut Parts) -> Result<Offer, FrameError> {
    parts.expect_body(28)?;
    let domain = parts.u32();
    let code = parts.u8();
    let unit = codes::unit(code).ok_or(FrameError::Unit(code))?;
    parts.zeros(3)?;
    Ok(Offer {
        domain,
        unit,
        lowest: parts.u32(),
        highest: parts.u32(),
        base: parts.u32(),
        peak: parts.u32(),
        transition_ns: Some(parts.u32()).filter(|ns| *ns != UNKNOWN_NS),
    })
}

fn refused(parts: &mut Parts) -> Result<Answer, FrameError> {
    parts.expect_body(8)?;
    let refusal = Refusal::of_code(parts.u16())?;
    parts.zeros(2)?;
    let detail = parts.u32();
    Ok(Answer::Refused { refusal, detail })
}
