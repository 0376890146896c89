//! What a client asks.
//!
//! A request may be `silent`: it is answered only when it is refused, so that a thread that boosts
//! itself pays for one `send` and does not wait.

use super::codes;
use super::frame::{Parts, SILENT};
use super::{Frame, FrameError, MAGIC};
use bobtail_control::LeverKind;
use bobtail_policy::Speed;

/// Which lever on which target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Want {
    pub lever: LeverKind,
    /// A CPU for levers that move CPUs; 0 (the asking process's own group) for those of a group.
    pub target: u32,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// Must be the first frame; offers a range of versions.
    Hello { oldest: u8, newest: u8 },
    /// What may I ask of this lever?
    Ask(Want),
    /// Hold the lever at that speed or above until I lower it or am gone.
    Raise { want: Want, speed: Speed },
    /// I no longer need it.
    Lower(Want),
    /// I need none of mine any longer.
    LowerAll,
    /// I am alive. Never answered.
    Beat,
}

impl Request {
    /// Encodes the request under a number of the client's choice, which its answer repeats.
    pub fn encode(&self, sequence: u32, silent: bool) -> Frame {
        let flags = if silent { SILENT } else { 0 };
        let mut frame = Frame::new(self.kind(), flags, sequence);
        match *self {
            Self::Hello { oldest, newest } => {
                frame.put(&MAGIC);
                frame.put(&[oldest, newest, 0, 0]);
            }
            Self::Ask(want) | Self::Lower(want) => put_want(&mut frame, want),
            Self::Raise { want, speed } => {
                put_want(&mut frame, want);
                frame.put(&codes::of_speed(speed).to_le_bytes());
            }
            Self::LowerAll | Self::Beat => {}
        }
        frame
    }

    /// Decodes one datagram into the request, its sequence number and whether it is silent.
    pub fn decode(bytes: &[u8]) -> Result<(Self, u32, bool), FrameError> {
        let mut parts = Parts::of(bytes)?;
        if parts.flags & !SILENT != 0 {
            return Err(FrameError::Flags(parts.flags));
        }
        let silent = parts.flags & SILENT != 0;
        let sequence = parts.sequence;
        let request = match parts.kind {
            1 => hello(&mut parts)?,
            2 => Self::Ask(take_want(&mut parts, 8)?),
            3 => {
                let want = take_want(&mut parts, 12)?;
                let speed = codes::speed(parts.u32());
                Self::Raise { want, speed }
            }
            4 => Self::Lower(take_want(&mut parts, 8)?),
            5 => parts.expect_body(0).map(|()| Self::LowerAll)?,
            6 => parts.expect_body(0).map(|()| Self::Beat)?,
            kind => return Err(FrameError::Kind(kind)),
        };
        Ok((request, sequence, silent))
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => 1,
            Self::Ask(_) => 2,
            Self::Raise { .. } => 3,
            Self::Lower(_) => 4,
            Self::LowerAll => 5,
            Self::Beat => 6,
        }
    }
}

fn hello(parts: &mut Parts) -> Result<Request, FrameError> {
    parts.expect_body(8)?;
    let magic = parts.take();
    if magic != MAGIC {
        return Err(FrameError::Magic(magic));
    }
    let (oldest, newest) = (parts.u8(), parts.u8());
    if oldest == 0 || oldest > newest {
        return Err(FrameError::Versions { oldest, newest });
    }
    parts.zeros(2)?;
    Ok(Request::Hello { oldest, newest })
}

fn put_want(frame: &mut Frame, want: Want) {
    frame.put(&[codes::of_lever(want.lever), 0, 0, 0]);
    frame.put(&want.target.to_le_bytes());
}

fn take_want(parts: &mut Parts, body_bytes: usize) -> Result<Want, FrameError> {
    parts.expect_body(body_bytes)?;
    let code = parts.u8();
    let lever = codes::lever(code).ok_or(FrameError::Lever(code))?;
    parts.zeros(3)?;
    let target = parts.u32();
    Ok(Want { lever, target })
}
