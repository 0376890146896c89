//! The settings in the text of a policy: `name:key=value,key=value`.
//!
//! Own code, for a line of grammar: an error shall say which value at which character is wrong
//! and what would be right.

use std::ops::RangeInclusive;

use crate::error::{PolicyError, Problem};

/// The text of a policy, cut into its parts.
#[derive(Debug)]
pub(crate) struct Arguments<'a> {
    text: &'a str,
    pub(crate) name: &'a str,
    settings: Vec<Setting<'a>>,
    /// Keys that were asked for, to tell what there is.
    known: Vec<&'static str>,
}

#[derive(Debug)]
struct Setting<'a> {
    key: Option<&'a str>,
    value: &'a str,
    /// Where the whole setting begins.
    at: usize,
    is_used: bool,
}

impl Setting<'_> {
    fn value_at(&self) -> usize {
        self.at + self.key.map_or(0, |key| key.len() + 1)
    }
}

impl<'a> Arguments<'a> {
    /// Cuts a text.
    pub(crate) fn of(text: &'a str) -> Self {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let mut at = name.len() + 1;
        let mut settings = vec![];
        for part in rest.into_iter().flat_map(|rest| rest.split(',')) {
            let (key, value) = match part.split_once('=') {
                Some((key, value)) => (Some(key), value),
                None => (None, part),
            };
            settings.push(Setting {
                key,
                value,
                at,
                is_used: false,
            });
            at += part.len() + 1;
        }
        Self {
            text,
            name,
            settings,
            known: vec![],
        }
    }

    pub(crate) fn error(&self, at: usize, problem: Problem) -> PolicyError {
        PolicyError {
            text: self.text.to_owned(),
            at,
            problem,
        }
    }

    /// The one value without a key, and where it is.
    pub(crate) fn only_value(&mut self) -> Option<(&'a str, usize)> {
        let setting = self.settings.iter_mut().find(|one| one.key.is_none())?;
        setting.is_used = true;
        Some((setting.value, setting.at)).filter(|(value, _)| !value.is_empty())
    }

    /// A number in a range.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        default: f64,
        range: RangeInclusive<f64>,
    ) -> Result<f64, PolicyError> {
        let Some((value, at)) = self.take(key)? else {
            return Ok(default);
        };
        let number = value.parse().ok().filter(|number| range.contains(number));
        let expected = || format!("a number from {} to {}", range.start(), range.end());
        number.ok_or_else(|| self.wrong(key, value, at, expected()))
    }

    /// A whole number in a range.
    pub(crate) fn whole(
        &mut self,
        key: &'static str,
        default: u32,
        range: RangeInclusive<u32>,
    ) -> Result<u32, PolicyError> {
        let Some((value, at)) = self.take(key)? else {
            return Ok(default);
        };
        let number = value.parse().ok().filter(|number| range.contains(number));
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        number.ok_or_else(|| self.wrong(key, value, at, expected()))
    }

    /// One of some words; its place among them.
    pub(crate) fn word(
        &mut self,
        key: &'static str,
        default: usize,
        words: &[&str],
    ) -> Result<usize, PolicyError> {
        let Some((value, at)) = self.take(key)? else {
            return Ok(default);
        };
        let place = words.iter().position(|&word| word == value);
        place.ok_or_else(|| self.wrong(key, value, at, words.join(" or ")))
    }

    /// A duration with its unit, in ns, in a range.
    pub(crate) fn duration_ns(
        &mut self,
        key: &'static str,
        default_ns: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, PolicyError> {
        let Some((value, at)) = self.take(key)? else {
            return Ok(default_ns);
        };
        let duration = parse_duration_ns(value).filter(|ns| range.contains(ns));
        let expected = || {
            let (low, high) = (duration_text(*range.start()), duration_text(*range.end()));
            format!("a duration from {low} to {high} (ns, us, ms or s)")
        };
        duration.ok_or_else(|| self.wrong(key, value, at, expected()))
    }

    /// Where the value of a setting stands; the end of the text if it is not set.
    pub(crate) fn at(&self, key: &str) -> usize {
        let setting = self.settings.iter().find(|one| one.key == Some(key));
        setting.map_or(self.text.len(), Setting::value_at)
    }

    /// That everything was asked for.
    pub(crate) fn finish(self, policy: &'static str) -> Result<(), PolicyError> {
        let Some(left) = self.settings.iter().find(|setting| !setting.is_used) else {
            return Ok(());
        };
        let problem = match left.key {
            Some(key) => Problem::UnknownSetting {
                policy,
                key: key.to_owned(),
                known: match self.known.as_slice() {
                    [] => "none".to_owned(),
                    known => known.join(", "),
                },
            },
            None => Problem::NotASetting {
                found: left.value.to_owned(),
            },
        };
        Err(self.error(left.at, problem))
    }

    pub(crate) fn wrong(&self, key: &str, value: &str, at: usize, expected: String) -> PolicyError {
        let (key, value) = (key.to_owned(), value.to_owned());
        let problem = Problem::Value {
            key,
            value,
            expected,
        };
        self.error(at, problem)
    }

    fn take(&mut self, key: &'static str) -> Result<Option<(&'a str, usize)>, PolicyError> {
        self.known.push(key);
        let mut found = None;
        let mut twice = None;
        for setting in self.settings.iter_mut().filter(|one| one.key == Some(key)) {
            setting.is_used = true;
            if found.is_some() {
                twice = Some(setting.at);
            }
            found = found.or(Some((setting.value, setting.value_at())));
        }
        match twice {
            Some(at) => Err(self.error(
                at,
                Problem::Twice {
                    key: key.to_owned(),
                },
            )),
            None => Ok(found),
        }
    }
}

/// The last by which a duration is a whole number is what it is written in.
const UNITS: [(&str, u64); 6] = [
    ("µs", 1_000),
    ("μs", 1_000),
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];

/// A duration with its unit: `20us`, `1.5ms`, `33.0 µs`.
pub fn parse_duration_ns(text: &str) -> Option<u64> {
    let (unit, scale) = UNITS.into_iter().find(|(unit, _)| text.ends_with(unit))?;
    let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
    let ns = number * scale as f64;
    // 2^53: above it not every whole number is a double.
    (0.0..9_007_199_254_740_992.0)
        .contains(&ns)
        .then_some(ns.round() as u64)
}

/// A duration in the largest unit in which it is a whole number.
pub fn duration_text(ns: u64) -> String {
    let whole = |(_, scale): &&(&str, u64)| ns.is_multiple_of(*scale);
    match UNITS.iter().rev().find(whole) {
        Some((unit, scale)) if ns > 0 => format!("{}{unit}", ns / scale),
        _ => format!("{ns}ns"),
    }
}
