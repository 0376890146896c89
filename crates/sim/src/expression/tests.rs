//! What a scenario says, and what is wrong with one, by examples.

use super::change::multiply;
use super::*;
use crate::scheme::ALL_LOOPS;

fn components() -> Components {
    let mut all = Components::new();
    for route in ["GET /export", "POST /export", "GET /a,b=1", "GET /a=1,b/c"] {
        all.routes.number(route);
    }
    for resource in ["db:5432", "cache:6379", "fs.open /data/a"] {
        all.resources.number(resource);
    }
    all
}

fn parsed(text: &str) -> Scenario {
    parse(text, &components()).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    parse(text, &components())
        .expect_err("it is refused")
        .to_string()
}

#[test]
fn components_are_found_by_name() {
    assert_eq!(parsed("gc=0.7").work.gc, 0.7);
    let both = parsed("rate=1.5, pool=8");
    assert_eq!((both.rate, both.pool), (1.5, Some(8)));
    let exec = parsed("exec=0.5,gc=0.5").work;
    assert_eq!((exec.native, exec.gc, exec.not_running), (0.5, 0.25, 1.0));
    assert_eq!(parsed("resource:db:5432.io=2").resources, [(1, 2.0)]);
    assert_eq!(parsed("resource:cache=2").resources, [(2, 2.0)]);
    let mut halved = Scenario::unchanged();
    for route in [1, 2] {
        multiply(halved.of_route(route), "exec", 0.5);
    }
    assert_eq!(parsed("route:/export=0.5"), halved);
    let one = parsed("route:GET /export.gc=0.5,io=0.9");
    assert_eq!(
        (one.routes.len(), one.routes[0].1.gc, one.io),
        (1, 0.5, 0.9)
    );
    assert_eq!(parsed("route:/a,b=1.exec=0.5").routes[0].0, 3);
    assert_eq!(parsed("route:/a=1,b/c=0.5,gc=0.5").routes[0].0, 4);
}

#[test]
fn who_is_turned_away_is_a_policy_without_a_lever() {
    let all = parsed("gc=0.5,policy=gci:collections=all");
    assert_eq!((all.shedding, all.drive), (Some(Shedding::All), None));
    assert_eq!(parsed("policy=gci").shedding, Some(Shedding::Full));
    for lever in ["latency=1ms", "domain=shared", "budget=2", "look=20us"] {
        let text = format!("gc=0.5,{lever},policy=gci");
        let told = error(&text);
        assert!(
            told.contains("of a lever, and gci moves none, at position 8"),
            "{told}"
        );
    }
    let told = error("gc=0.5,policy=gci:collections=young");
    assert!(
        told.contains("collections is \"young\", not full or all"),
        "{told}"
    );
    assert!(told.contains("position 31"), "{told}");
    assert!(
        error("policy=gic").contains("gci"),
        "{}",
        error("policy=gic")
    );
}

#[test]
fn a_policy_comes_last_and_keeps_its_commas() {
    let all = parsed("rate=1.5,latency=1ms, policy=queue-boost:k=3,hold=2ms");
    let drive = all.drive.expect("a policy");
    assert_eq!((all.rate, drive.lever.latency_ns), (1.5, 1_000_000));
    assert!(drive.scheme.to_string().contains("k-head=3"));
    assert!(drive.scheme.to_string().contains("hold=2ms"));
    let oracle = parsed("policy=oracle").drive.expect("a policy");
    assert_eq!(
        oracle.scheme,
        Scheme::Oracle {
            tail: None,
            energy: None
        }
    );
    let oracle = parsed("policy=oracle:energy=1.1,tail=99").drive;
    let spends = Scheme::Oracle {
        tail: Some(99.0),
        energy: Some(1.1),
    };
    assert_eq!(oracle.expect("a policy").scheme, spends);
    assert_eq!(
        error("gc=0.7,policy=gc-bost"),
        "unknown policy `gc-bost`, at position 15 of `gc=0.7,policy=gc-bost`; \
         nearest: gc-boost, queue-boost, gci"
    );
    assert!(error("policy=gc-boost:hold=5").contains("at position 22 of"));
    for (text, at) in [("policy=oracle:tail", 19), ("policy=adrenaline:types", 24)] {
        assert!(
            error(text).contains(&format!("at position {at} of")),
            "{text}"
        );
    }
    assert!(error("policy=gc-boost:hold").contains("at position"));
    assert!(error("policy=").contains("unknown policy ``, at position 8"));
    let shared = parsed("domain=shared,latency=1ms,policy=gc-boost").drive;
    assert!(shared.is_some_and(
        |one| one.lever.domain_loops == ALL_LOOPS && one.lever.latency_ns == 1_000_000
    ));
    let own = parsed("domain=own,policy=gc-boost").drive;
    assert!(own.is_some_and(|one| one.lever.domain_loops == 1));
    let pairs = parsed("domain=2,policy=gc-boost").drive;
    assert!(pairs.is_some_and(|one| one.lever.domain_loops == 2));
    assert!(error("domain=0,policy=gc-boost").starts_with("`0` at position 8 of"));
    assert!(error("domain=shared").contains("there is no policy, at position 1"));
    assert_eq!(
        error("domain=both,policy=gc-boost"),
        "`both` at position 8 of `domain=both,policy=gc-boost` is not shared, own, \
         or by how many loops one has it (1 to 1024)"
    );
    assert!(error("latency=1ms").contains("there is no policy, at position 1"));
    let bounded = |text| parsed(text).drive.expect("a policy").budget;
    assert_eq!(bounded("budget=2,policy=combined"), Some(0.02));
    assert_eq!(bounded("budget=none,latency=1ms,policy=combined"), None);
    assert_eq!(bounded("policy=combined"), Some(0.01), "as boost has it");
    assert!(error("budget=2").contains("there is no policy, at position 1"));
    let look_ns = |text| parsed(text).drive.expect("a policy").look_ns;
    assert_eq!(look_ns("look=33us,policy=combined"), 33_000);
    assert_eq!(look_ns("policy=combined"), 15_000);
    for as_boost_tells_it in ["look=33.0 µs,policy=combined", "look=33μs,policy=combined"] {
        assert_eq!(look_ns(as_boost_tells_it), 33_000);
    }
    assert!(error("look=33us").contains("there is no policy, at position 1"));
    assert!(error("look=33,policy=combined").contains("is not a duration from 100ns to 1ms"));
    assert_eq!(bounded("budget=2 %,policy=combined"), Some(0.02));
    for bad in ["0", "101", "0.0005", "2%%", ""] {
        let told = error(&format!("budget={bad},policy=combined"));
        assert!(
            told.contains("none, or per cent from 0.001 to 100"),
            "{told}"
        );
    }
    assert!(error("latency=1,policy=gc-boost").contains("a duration from 0ns to 1s"));
    assert!(error(",policy=gc-boost").contains("a change is missing at position 1"));
}

#[test]
fn errors_tell_where_and_what_is_nearest() {
    assert_eq!(
        error("gc=0.7,jitt=0.5"),
        "unknown component `jitt` at position 8 of `gc=0.7,jitt=0.5`; \
         nearest: jit, ic, io"
    );
    assert_eq!(
        error("gc-bost"),
        "unknown component `gc-bost` at position 1 of `gc-bost`; nearest: gc, ic, exec"
    );
    assert_eq!(
        error("combined"),
        "`combined` is a policy: write policy=combined, at position 1 of `combined`"
    );
    assert_eq!(
        error("policy"),
        "`policy` has no value: write policy=gc-boost, at position 1 of `policy`"
    );
    assert!(error("gc").contains("`gc` has no value"));
    assert!(error("route:/export").contains("`route:/export` has no value"));
    assert_eq!(
        error("policy=gc-boost,gc=0.5"),
        "a policy comes last: write gc=0.5,policy=gc-boost, at position 16 of \
         `policy=gc-boost,gc=0.5`"
    );
    assert_eq!(parsed("policy= gc-boost "), parsed("policy=gc-boost"));
    assert!(error("policy= gc-bost").contains("at position 9 of"));
    assert!(error("route:/exprt.exec=0.5").contains("nearest: route:GET /export"));
    assert!(error("resource:dbb=1").contains("resource:db:5432"));
    assert_eq!(
        error("gc=1x"),
        "`1x` at position 4 of `gc=1x` is not a factor of time from 0 to 100"
    );
    assert!(error("gc=0.5x,jit=0.5").contains("`0.5x` at position 4 of"));
    assert!(error("gc=-1").contains("position 4"));
    assert!(error("gc=NaN").contains("position 4"));
    assert!(error("pool=2.5").contains("a whole number of threads"));
    assert!(error("rate=0").contains("a factor of load"));
    assert!(error("gc").starts_with("`gc` has no value at position 1"));
    assert!(error("").starts_with("a change is missing at position 1"));
    assert!(error("gc=0.5,").starts_with("a change is missing at position 8"));
    assert!(error("gc=0.5,gc=0.7").starts_with("`gc` is changed twice, again at position 8"));
    assert!(error("resource:e=2").contains("is the name of several"));
}

#[test]
fn changes_end_at_commas_whatever_is_wrong_with_the_next() {
    let starts = |text: &str, told: &str| {
        let error = error(text);
        assert!(error.starts_with(told), "{error}");
    };
    starts(
        "gc=0.7,not_running=0",
        "unknown component `not_running` at position 8",
    );
    starts("gc=0.7,db.io=2", "unknown component `db.io` at position 8");
    starts("gc=0.7,pool", "`pool` has no value at position 8");
    starts(
        "gc=0.7,combined",
        "`combined` is a policy: write policy=combined, at position 8",
    );
    starts(
        "route:/export=0.5,not_running=0",
        "unknown component `not_running` at position 19",
    );
    starts("gc=0,7", "`0,7` at position 4");
    starts("route:/export=0,7", "`0,7` at position 15");
    starts(
        "route:/export.csv.exec=0.5",
        "unknown component `/export.csv`",
    );
    starts("ä=1,pool", "unknown component `ä` at position 1");
    starts("pool=8,ü=1", "unknown component `ü` at position 8");
    assert_eq!(
        parsed("gc = 0.7 , policy = combined"),
        parsed("gc=0.7,policy=combined")
    );
    assert_eq!(parsed(" policy=combined"), parsed("policy=combined"));
}

#[test]
fn a_scenario_has_one_policy() {
    for (text, at) in [
        ("policy=combined,deadline", 17),
        ("policy=combined, deadline:budget=0.1", 17),
        ("policy=combined,policy=deadline", 17),
        ("gc=0.7,policy=static:3.3,policy = gci", 26),
    ] {
        let told = error(text);
        let expected = format!(
            "a scenario has one policy: give each its own (--policy combined \
                                --policy deadline), at position {at} of"
        );
        assert!(told.starts_with(&expected), "{told}");
    }
}

#[test]
fn what_is_advised_is_taken() {
    for name in ["gc", "pool", "rate", "io", "route:/export", "resource:db"] {
        advised(name, "");
    }
    for name in ["latency", "domain", "budget", "look"] {
        advised(name, ",policy=combined");
    }
    assert_eq!(
        error("route:/export.io=2"),
        "`route:/export.io` at position 1 of `route:/export.io=2` is not work of a route: exec, \
         native, gc, jit or ic"
    );
}

fn advised(name: &str, rest: &str) {
    let told = error(&format!("{name}{rest}"));
    let advice = told
        .split_once(": write ")
        .unwrap_or_else(|| panic!("{told}"))
        .1;
    parsed(&format!("{advice}{rest}"));
}

#[test]
fn one_component_by_two_names_is_changed_twice() {
    for (text, at) in [
        ("route:/export=0.5,route:/export.exec=0.5", 19),
        ("resource:db=2,resource:db:5432.io=2", 15),
        ("resource:db:5432=2,resource:db=3", 20),
        ("route:/export=0.5,route:POST /export=0.5", 19),
    ] {
        let told = error(text);
        assert!(
            told.contains(&format!("changed twice, again at position {at} of")),
            "{told}"
        );
    }
    // All work, and some of it once more.
    let both = parsed("route:/export=0.5,route:/export.gc=0.5");
    assert_eq!(both.routes[0].1.gc, 0.25);
}
