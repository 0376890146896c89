//! Answers on drawn traces: when there is none, and when a scenario has no percentile.

#[allow(dead_code, reason = "other tests use the rest")]
mod replayed;

use bobtail_sim::{
    Components, Coverage, Model, Saturated, Telling, WhatIf, WhatIfError, parse, what_if,
};
use bobtail_testkit::draw;
use replayed::capture;

/// The answer to scenarios for a drawing.
fn answer(drawing: &str, scenarios: &[&str]) -> Result<WhatIf, WhatIfError> {
    let drawn = draw(drawing);
    let log = capture(&drawn).expect("the drawing can be replayed");
    let mut components = Components::new();
    let model = Model::of(&log, |id| Some(drawn.text(id)), &mut components).expect("requests");
    let scenarios = scenarios.iter().map(|text| {
        let scenario = parse(text, &components).expect("changes");
        ((*text).to_owned(), scenario)
    });
    let scenarios: Vec<_> = scenarios.collect();
    let telling = Telling {
        tail: 99.9,
        latencies: true,
    };
    what_if(
        &[model],
        &Coverage::of(&log),
        &components,
        &scenarios,
        telling,
    )
}

/// So many rounds of a drawing, each told by its number.
fn rounds(count: u32, round: impl Fn(u32) -> String) -> String {
    (0..count).map(round).collect()
}

/// Two requests each 10 ms, for both of which the only thread of the pool works 4 ms.
fn with_one_thread(n: u32) -> String {
    let (at, one, other) = (10 * n, 2 * n + 1, 2 * n + 2);
    format!(
        r#"
        open {one} server
        open {other} server
        {at}ms begin read handle={one} ready={at}ms
             source {one} "/a"
             register pool op={one} "crypto"
             end
        {at}ms begin read handle={other} ready={at}ms
             source {other} "/b"
             register pool op={other} "crypto"
             end
             poll for=4ms
        {first}ms begin pool op={one} ready={first}ms run=4ms
             micro promise from={one}
             sink {one} 200
             end
             poll for=4ms
        {second}ms begin pool op={other} ready={second}ms run=4ms
             micro promise from={other}
             sink {other} 200
             end
             poll for=2ms
        "#,
        first = at + 4,
        second = at + 8,
    )
}

#[test]
fn a_pool_that_never_catches_up_has_no_percentile() {
    let load = rounds(40, with_one_thread);
    let scenarios = ["rate=1.1", "rate=1.5", "rate=1.5,pool=2"];
    let told = answer(&load, &scenarios).expect("an answer");
    let each = told.scenarios.iter();
    let told: Vec<_> = each
        .map(|one| (one.saturated, one.percentiles.is_empty()))
        .collect();
    let expected = [(None, false), (Some(Saturated::Pool), true), (None, false)];
    assert_eq!(told, expected);
}

#[test]
fn distributions_hold_every_request_that_is_answered_in_time() {
    let load = rounds(40, with_one_thread);
    let told = answer(&load, &["rate=1.5", "rate=1.5,pool=2"]).expect("an answer");
    let (fast_ns, slow_ns) = (4_000_000, 8_000_000);
    let near = |told_ns: u64, ns: u64| ns - told_ns < ns / 500;
    let unchanged = told.unchanged.latencies.expect("it was asked for");
    let [(one_ns, 40), (other_ns, 40)] = unchanged[..] else {
        panic!("{unchanged:?}")
    };
    assert!(
        near(one_ns, fast_ns) && near(other_ns, slow_ns),
        "{unchanged:?}"
    );
    let [saturated, wider] = &told.scenarios[..] else {
        panic!("{} scenarios", told.scenarios.len())
    };
    assert_eq!(saturated.latencies, None);
    let all = wider.latencies.as_ref().expect("it was asked for");
    let [(ns, 80)] = all[..] else {
        panic!("{all:?}")
    };
    assert!(near(ns, fast_ns), "{all:?}");
}

#[test]
fn of_what_saturates_both_the_loop_is_told() {
    let hog = |n: u32| {
        format!(
            r#"
            open {id} server
            {at}ms begin read handle={id} ready={at}ms
                 source {id} "/x"
            {end}ms sink {id} 200
                 end
                 poll for=4ms
            "#,
            id = n + 1,
            at = 10 * n,
            end = 10 * n + 6,
        )
    };
    let told = answer(&rounds(60, hog), &["rate=1.6", "rate=1.7"]).expect("an answer");
    let saturated: Vec<_> = told.scenarios.iter().map(|one| one.saturated).collect();
    assert_eq!(saturated, [None, Some(Saturated::Loop)]);
}

#[test]
fn too_few_requests_for_any_percentile_are_refused_with_their_number() {
    let told = answer(&rounds(3, with_one_thread), &[]);
    assert_eq!(told, Err(WhatIfError::TooFew { requests: 6 }));
}
