//! Several scenarios in one text: `policy=adrenaline:types=1..4`.
//!
//! How many types the VEE'19 paper boosted for it does not say, so that the answer is a row of
//! them; the language of changes itself stays one of single scenarios.

use crate::components::Components;
use crate::expression::{parse, policy_place};
use crate::expression_error::ExpressionError;
use crate::scenario::Scenario;

const SWEPT: &str = "adrenaline";
const TYPES: &str = "types=";
/// Stands for all routes of the recording.
const ALL: &str = "n";
const MOST: u32 = 1_000;

/// Reads the scenarios of a text, each with the text that it would have alone.
pub fn parse_each(
    text: &str,
    components: &Components,
) -> Result<Vec<(String, Scenario)>, ExpressionError> {
    let routes = components.routes().len() as u32 - 1;
    let texts = match swept(text, routes) {
        Some(texts) => texts,
        None => vec![text.to_owned()],
    };
    let each = texts.into_iter().map(|text| {
        let scenario = parse(&text, components)?;
        Ok((text, scenario))
    });
    each.collect()
}

/// The texts, where there is a range of types in this one.
fn swept(text: &str, routes: u32) -> Option<Vec<String>> {
    let policy = policy_place(text)?.value_from;
    let is_swept = text[policy..].trim_start().starts_with(SWEPT);
    let (at, _) = text[policy..]
        .match_indices(TYPES)
        .next()
        .filter(|_| is_swept)?;
    let from = policy + at + TYPES.len();
    let value = text[from..].split(',').next()?;
    let (least, most) = value.trim_end().split_once("..")?;
    let least: u32 = least.parse().ok().filter(|one| *one >= 1)?;
    let most: u32 = match most {
        ALL => routes.max(least),
        _ => most.parse().ok()?,
    };
    // More types than there are would only repeat the last.
    let most = most.min(routes.max(least));
    let (before, after) = (&text[..from], &text[from + value.len()..]);
    let each = (least..=most.min(MOST)).map(|types| format!("{before}{types}{after}"));
    Some(each.collect()).filter(|texts: &Vec<String>| !texts.is_empty())
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
}
