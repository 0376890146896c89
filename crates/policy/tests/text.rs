//! Policies as text: what reads, what is refused, and what the refusal says.

use bobtail_policy::{Policy, PolicyError};
use proptest::prelude::*;

fn refused(text: &str) -> String {
    text.parse::<Policy>().unwrap_err().to_string()
}

#[test]
fn settings_have_defaults_and_every_policy_writes_all_of_them() {
    let cases = [
        ("static:2.6GHz", "static:2.6"),
        ("static:base", "static:base"),
        ("gc-boost", "gc-boost:hold=0ns,worth=1"),
        ("gc-boost:worth=0,hold=0.5ms", "gc-boost:hold=500us,worth=0"),
        (
            "queue-boost:k=3,hold=2ms",
            "queue-boost:k-length=3,k-head=3,release=1,length-min=1,head-min=0ns,hold=2ms,\
             period=200us,window=256",
        ),
        (
            "combined:gc-hold=1ms",
            "combined:gc-hold=1ms,gc-worth=1,k-length=2.5,k-head=2.5,release=1,length-min=1,\
             head-min=0ns,hold=0ns,period=200us,window=256",
        ),
        (
            "in-turns:of=static:base+gc-boost:hold=0ns+static:peak",
            "in-turns:each=2500ms,of=static:base+gc-boost:hold=0ns,worth=1+static:peak",
        ),
        (
            "deadline",
            "deadline:of-combined=0.85,chance=0.3,collections=late,hold=0ns,period=200us",
        ),
        (
            "deadline:chance=0.2",
            "deadline:of-combined=0.85,chance=0.2,collections=late,\
             hold=0ns,period=200us",
        ),
    ];
    for (text, whole) in cases {
        let policy: Policy = text.parse().unwrap();
        assert_eq!(policy.to_string(), whole);
        assert_eq!(whole.parse::<Policy>().unwrap(), policy);
    }
}

/// Holds refusals to what they say of what, where, and what would be right.
fn check_refusals(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(refused(text), *expected);
    }
}

#[test]
fn a_policy_that_there_is_not_is_told_with_those_that_there_are() {
    check_refusals(&[
        (
            "rubick",
            "policy \"rubick\", character 1: there is no policy \"rubick\"; \
             there are static, gc-boost, queue-boost, combined, deadline",
        ),
        (
            "rubik:tail=99",
            "policy \"rubik:tail=99\", character 1: rubik is for replays only (bobtail whatif \
             --policy rubik); live there are static, gc-boost, queue-boost, combined, deadline",
        ),
    ]);
}

#[test]
fn a_value_that_a_setting_does_not_take_is_told_with_what_it_takes() {
    check_refusals(&[
        (
            "queue-boost:k=0.5",
            "policy \"queue-boost:k=0.5\", character 15: k is \"0.5\", not a number from 1 to 100",
        ),
        (
            "queue-boost:hold=1ms,k-head=NaN",
            "policy \"queue-boost:hold=1ms,k-head=NaN\", character 29: \
             k-head is \"NaN\", not a number from 1 to 100",
        ),
        (
            "queue-boost:hold=5",
            "policy \"queue-boost:hold=5\", character 18: \
             hold is \"5\", not a duration from 0ns to 1s (ns, us, ms or s)",
        ),
        (
            "queue-boost:period=1s",
            "policy \"queue-boost:period=1s\", character 20: \
             period is \"1s\", not a duration from 1us to 100ms (ns, us, ms or s)",
        ),
        (
            "queue-boost:k=2,release=3",
            "policy \"queue-boost:k=2,release=3\", character 25: \
             release is \"3\", not at most k (2), or a boost ends before it begins",
        ),
        (
            "queue-boost:window=0",
            "policy \"queue-boost:window=0\", character 20: \
             window is \"0\", not a whole number from 1 to 1000000",
        ),
        (
            "deadline:collections=some",
            "policy \"deadline:collections=some\", character 22: \
             collections is \"some\", not late or all",
        ),
    ]);
}

#[test]
fn a_setting_that_there_is_not_or_twice_is_told_with_its_place() {
    check_refusals(&[
        (
            "gc-boost:k=2",
            "policy \"gc-boost:k=2\", character 10: gc-boost has no setting \"k\"; \
             it has hold, worth",
        ),
        (
            "gc-boost:hold=1ms,hold=2ms",
            "policy \"gc-boost:hold=1ms,hold=2ms\", character 19: hold is set twice",
        ),
        (
            "gc-boost:é,x",
            "policy \"gc-boost:é,x\", character 10: \"é\" is no setting: they read KEY=VALUE",
        ),
    ]);
}

#[test]
fn a_speed_that_is_none_is_told_with_what_is_one() {
    check_refusals(&[
        (
            "static",
            "policy \"static\", character 7: \
             static takes base, peak, or a frequency from 0.1GHz to 10GHz",
        ),
        (
            "static:2600",
            "policy \"static:2600\", character 8: the speed is \"2600\", \
             not base, peak, or a frequency from 0.1GHz to 10GHz",
        ),
        (
            "static:2.6,k=1",
            "policy \"static:2.6,k=1\", character 12: static has no setting \"k\"; it has none",
        ),
    ]);
}

proptest! {
    #[test]
    fn any_text_is_a_policy_or_an_error_with_a_place_in_it(
        name in "static|gc-boost|queue-boost|combined|\\PC{0,8}",
        settings in "(:(\\PC{0,30}|[a-z-]{1,8}=\\PC{0,8}))?",
    ) {
        let text = name + &settings;
        match text.parse::<Policy>() {
            Ok(policy) => prop_assert_eq!(policy.to_string().parse::<Policy>(), Ok(policy)),
            Err(error) => {
                let PolicyError { at, text: told, .. } = &error;
                prop_assert!(*at <= told.len() && told.is_char_boundary(*at));
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}

#[test]
fn policies_that_cannot_take_turns_are_told_with_their_place() {
    let of = "in-turns takes of=POLICY+POLICY, the last of its settings, before which may stand \
              each=TIME";
    check_refusals(&[
        (
            "in-turns",
            &format!("policy \"in-turns\", character 9: {of}"),
        ),
        (
            "in-turns:each=1s",
            &format!("policy \"in-turns:each=1s\", character 17: {of}"),
        ),
        (
            "in-turns:each=1ms,of=combined+deadline",
            "policy \"in-turns:each=1ms,of=combined+deadline\", character 15: \
             each is \"1ms\", not a duration from 10ms to 3600s (ns, us, ms or s)",
        ),
        (
            "in-turns:of=combined",
            "policy \"in-turns:of=combined\", character 13: \
             of is \"combined\", not 2 to 8 policies",
        ),
        (
            "in-turns:of=combined+deadline:chance=2",
            "policy \"in-turns:of=combined+deadline:chance=2\", character 38: \
             chance is \"2\", not a number from 0.01 to 1",
        ),
        (
            "in-turns:of=combined+static:3.3",
            "policy \"in-turns:of=combined+static:3.3\", character 22: of is \"static:3.3\", \
             not a policy that decides, static:base or static:peak",
        ),
        (
            "in-turns:of=combined+in-turns:of=deadline",
            "policy \"in-turns:of=combined+in-turns:of=deadline\", character 34: \
             of is \"deadline\", not 2 to 8 policies",
        ),
    ]);
}
