//! Several scenarios in one text: `policy=adrenaline:types=1..4`.
//!
//! How many types the VEE'19 paper boosted for it does not say, so that the answer is a row of
//! them; the language of changes itself stays one of single scenarios.

use std::ops::Range;

use crate::components::Components;
use crate::expression::{parse, policy_place};
use crate::expression_error::ExpressionError;
use crate::scenario::Scenario;

const SWEPT: &str = "adrenaline";
const TYPES: &str = "types=";
/// Stands for all routes of the recording.
const ALL: &str = "n";
const MOST: u32 = 1_000;

/// Reads the scenarios of a text, each with the text that it would have alone. An error is told of
/// the text as it is, and not of one of those.
///
/// # Errors
///
/// Those of [`parse`], and a range that is none or has too many.
pub fn parse_each(
    text: &str,
    components: &Components,
) -> Result<Vec<(String, Scenario)>, ExpressionError> {
    let routes = components.routes().len() as u32 - 1;
    let Some(swept) = Swept::of(text, routes) else {
        let scenario = parse(text, components)?;
        return Ok(vec![(text.to_owned(), scenario)]);
    };
    let each = (swept.least..=swept.most).map(|types| {
        let alone = swept.with(types);
        let scenario = parse(&alone, components).map_err(|error| swept.told(error, types))?;
        Ok((alone, scenario))
    });
    each.collect()
}

/// A range of types in a text.
struct Swept<'a> {
    text: &'a str,
    /// The bytes of the range.
    place: Range<usize>,
    least: u32,
    most: u32,
}

impl<'a> Swept<'a> {
    /// That of a text, where there is one.
    fn of(text: &'a str, routes: u32) -> Option<Self> {
        let policy = policy_place(text)?.value_from;
        let is_swept = text[policy..].trim_start().starts_with(SWEPT);
        let (at, _) = text[policy..]
            .match_indices(TYPES)
            .next()
            .filter(|_| is_swept)?;
        let from = policy + at + TYPES.len();
        let range = text[from..].split(',').next()?;
        let (least, most) = range.trim_end().split_once("..")?;
        let least: u32 = least.parse().ok().filter(|one| *one >= 1)?;
        let most: u32 = match most {
            ALL => routes.max(least),
            _ => most.parse().ok()?,
        };
        // More types than there are would only repeat the last.
        let most = most.min(routes.max(least)).min(MOST);
        (least <= most).then_some(Self {
            text,
            place: from..from + range.len(),
            least,
            most,
        })
    }

    /// The text with so many types.
    fn with(&self, types: u32) -> String {
        let Range { start, end } = self.place;
        format!("{}{types}{}", &self.text[..start], &self.text[end..])
    }

    /// What is wrong with the text with so many types, of the text as it is.
    fn told(&self, error: ExpressionError, types: u32) -> ExpressionError {
        let before = &self.text[..self.place.start];
        let range = &self.text[self.place.clone()];
        let longer = range.chars().count() - types.to_string().len();
        error.in_text(self.text, before.chars().count() + 1, longer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let mut components = Components::new();
        for route in ["GET /a", "GET /b", "GET /c"] {
            components.routes.number(route);
        }
        let each = parse_each(text, &components).unwrap_or_else(|error| panic!("{error}"));
        each.into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn a_range_of_types_is_a_scenario_for_each() {
        let told = texts("rate=2,policy=adrenaline:types=1..2,tail=95");
        let expected = [1, 2].map(|n| format!("rate=2,policy=adrenaline:types={n},tail=95"));
        assert_eq!(told, expected);
        let all = [1, 2, 3].map(|n| format!("policy=adrenaline:types={n}"));
        assert_eq!(texts("policy=adrenaline:types=1..n"), all);
        assert_eq!(texts("policy=adrenaline:types=1..99"), all);
        assert_eq!(
            texts("policy=adrenaline:types=7..n"),
            ["policy=adrenaline:types=7"]
        );
        assert_eq!(texts("policy=adrenaline"), ["policy=adrenaline"]);
    }

    #[test]
    fn a_range_that_is_none_is_told_where_it_is() {
        for range in ["3..1", "0..2", "1..x", "1..", "..2", "n..1"] {
            let text = format!("policy=adrenaline:types={range}");
            let error = parse_each(&text, &Components::new()).expect_err("it is refused");
            let told = error.to_string();
            assert!(told.contains("or a range of them (1..4, 1..n)"), "{told}");
            assert!(told.contains("at position 25 of"), "{told}");
        }
    }

    #[test]
    fn what_is_wrong_beside_a_range_is_told_of_what_was_written() {
        let of = |text: &str| {
            let error = parse_each(text, &Components::new()).expect_err("it is refused");
            error.to_string()
        };
        let beyond = "policy=adrenaline:types=1..4,tail=5";
        let told = of(beyond);
        assert!(
            told.contains(&format!("at position 35 of `{beyond}`")),
            "{told}"
        );
        let before = "gc=x,policy=adrenaline:types=1..4";
        let told = of(before);
        assert!(
            told.contains(&format!("at position 4 of `{before}`")),
            "{told}"
        );
    }
}
