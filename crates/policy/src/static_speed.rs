//! `static:SPEED`: always the same speed. What the paper compares everything with.

use std::fmt;

use crate::arguments::Arguments;
use crate::decision::{Decider, Decision, Reasons};
use crate::error::{PolicyError, Problem};
use crate::reading::Reading;
use crate::speed::Speed;

pub(crate) const NAME: &str = "static";
const EXPECTED: &str = "base, peak, or a frequency from 0.1GHz to 10GHz";

/// A fixed speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StaticSpeed {
    pub speed: Speed,
}

impl StaticSpeed {
    pub(crate) fn parse(mut arguments: Arguments<'_>) -> Result<Self, PolicyError> {
        let Some((value, at)) = arguments.only_value() else {
            let missing = Problem::Missing {
                policy: NAME,
                expected: EXPECTED,
            };
            return Err(arguments.error(arguments.at(""), missing));
        };
        let Some(speed) = parse_speed(value) else {
            return Err(arguments.wrong("the speed", value, at, EXPECTED.to_owned()));
        };
        arguments.finish(NAME)?;
        Ok(Self { speed })
    }
}

/// `base`, `peak`, `2.6`, `2.6GHz` or `2600MHz`.
fn parse_speed(text: &str) -> Option<Speed> {
    let frequency = |text: &str, khz_per_unit: f64| {
        let khz = text.parse::<f64>().ok()? * khz_per_unit;
        (1e5..=1e7)
            .contains(&khz)
            .then_some(Speed::Khz(khz.round() as u32))
    };
    match text {
        "base" => Some(Speed::Base),
        "peak" => Some(Speed::Peak),
        _ => match (text.strip_suffix("GHz"), text.strip_suffix("MHz")) {
            (_, Some(number)) => frequency(number, 1e3),
            (Some(number), _) => frequency(number, 1e6),
            _ => frequency(text, 1e6),
        },
    }
}

impl fmt::Display for StaticSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}:{}", self.speed)
    }
}

impl Decider for StaticSpeed {
    fn decide(&mut self, _: &Reading) -> Decision {
        Decision {
            speed: self.speed,
            reasons: Reasons::default(),
            look_again_ns: None,
        }
    }
}
