//! Schemes that decide by requests, on drawn traces whose answers can be worked out by hand.

#[allow(dead_code, reason = "other tests use the rest")]
mod replayed;

use bobtail_sim::{Aim, AllReplayed, AtSpeed, Components, Model, Since, parse, replay_all};
use bobtail_testkit::draw;
use replayed::capture;

/// A drawn loop under a policy; routes by number.
fn replayed(drawing: &str, changes: &str) -> (AllReplayed, Vec<String>) {
    let drawn = draw(drawing);
    let log = capture(&drawn).expect("the drawing can be replayed");
    let mut components = Components::new();
    let model = Model::of(&log, |id| Some(drawn.text(id)), &mut components).expect("requests");
    let scenario = parse(changes, &components).expect("changes");
    let all = replay_all(&[model], &scenario, &components);
    (all, components.routes().to_vec())
}

/// `count` requests of 10 ms, one every 100 ms, and what else is drawn after them.
fn alike(count: u32, more: &str) -> String {
    let each = (0..count).map(|n| {
        let at = n * 100;
        format!(
            "open {handle} server
             {at}ms begin read handle={handle} ready={at}ms
                    source {handle} \"/alike\"
             {end}ms sink {handle} 200
                    end
                    poll for=90ms\n",
            handle = n + 1,
            end = at + 10,
        )
    });
    each.collect::<String>() + more
}

/// Latency of the last requests, in µs.
fn last_us(replayed: &AllReplayed, count: usize) -> Vec<u64> {
    let all = &replayed.loops[0].latencies_ns;
    all[all.len() - count..]
        .iter()
        .map(|ns| ns / 1_000)
        .collect()
}

#[test]
fn rubik_takes_the_lowest_frequency_at_which_a_request_meets_its_target() {
    // Before it knows 32 requests it is at peak: 10 ms take 6.5 ms. That is 1.7 ms less than the
    // target, of which the feedback lets it have 0.3 more: 10 ms in 8.71 ms need 1.148 of 2.6 GHz,
    // so 3.0 and not 2.8 GHz: 8.667 ms.
    let (told, _) = replayed(&alike(34, ""), "latency=0ns,policy=rubik:target=8200us");
    let all = &told.loops[0].latencies_ns;
    assert!(all[..32].iter().all(|&ns| ns == 6_500_000), "{all:?}");
    assert_eq!(last_us(&told, 2), [8_666, 8_666]);
    for (policy, us) in [
        // In 11.05 ms at base speed, in 9.75 ms at 2.8 GHz, in 6.37 ms not even at peak.
        ("latency=0ns,policy=rubik:target=10ms", 10_000),
        ("latency=0ns,policy=rubik:target=9ms", 9_285),
        ("latency=0ns,policy=rubik:target=6400us", 6_500),
        // Each begins with 2 ms at base speed, so that the first take 7.2 ms; of the 10.84 ms that
        // the others may, the lever has 2 ms, and 8.84 ms need 3.0 GHz.
        ("latency=2ms,policy=rubik:target=10ms", 8_933),
    ] {
        let (told, _) = replayed(&alike(34, ""), policy);
        assert_eq!(last_us(&told, 1), [us], "{policy}");
    }
}

#[test]
fn an_event_that_ends_a_long_sleep_is_looked_at_while_it_runs() {
    let short = (0..200).map(|n| {
        format!(
            "open {handle} server
             {at}ms begin read handle={handle} ready={at}ms
                    source {handle} \"/short\"
             {at}.2ms sink {handle} 200
                    end
                    poll for={sleep}us\n",
            handle = n + 1,
            at = n,
            sleep = if n == 199 { 14_800 } else { 800 },
        )
    });
    let long = "open 300 server
        214ms begin read handle=300 ready=214ms
               source 300 \"/long\"
        218ms sink 300 200
               end";
    let drawing = short.collect::<String>() + long;
    let (told, _) = replayed(
        &drawing,
        "budget=10,latency=0ns,policy=queue-boost:window=16,hold=0ns",
    );
    // Of a loop that works a fifth of the time each 0.75 ms pay for a look at 15 us: one 15 us
    // after it woke, which sees that it works, and the next, which finds that it does so for long.
    let boosts = &told.loops[0].ledger.boosts;
    let last = boosts.last().expect("it is boosted");
    let since_us = (last.from_ns - bobtail_testkit::ORIGIN_NS) / 1_000 - 214_000;
    assert!((700..900).contains(&since_us), "{since_us}");
}

#[test]
fn a_collection_that_was_interrupted_is_one() {
    let drawing = r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
        10ms gc mark for=10ms
        20ms not-running for=1ms end=15ms
        30ms sink 1 200
             end
    "#;
    let (told, _) = replayed(drawing, "latency=0ns,policy=gc-boost:worth=0,hold=0ns");
    assert_eq!(told.loops[0].ledger.boosts.len(), 1);
    // One that takes no time is none.
    let (none, _) = replayed(drawing, "gc=0,latency=0ns,policy=gc-boost:worth=0,hold=0ns");
    assert_eq!(none.loops[0].ledger.boosts.len(), 0);
}

#[test]
fn loops_with_one_lever_are_as_fast_as_the_fastest_and_pay_for_it() {
    let request = |work: &str| {
        format!(
            "open 1 server
             0ms  begin #1 read handle=1 ready=0ms
                  source 1 \"/a\"
             {work}
             13ms sink 1 200
                  end"
        )
    };
    let mut components = Components::new();
    let models = [request("0ms gc mark for=13ms"), request("")].map(|drawing| {
        let drawn = draw(&drawing);
        let log = capture(&drawn).expect("the drawing can be replayed");
        Model::of(&log, |id| Some(drawn.text(id)), &mut components).expect("a request")
    });
    let told = |domain: &str| {
        let text = format!("domain={domain},latency=0ns,policy=gc-boost:worth=0");
        let scenario = parse(&text, &components).expect("changes");
        let loops = replay_all(&models, &scenario, &components).loops;
        let us = |at: usize| loops[at].latencies_ns[0] / 1_000;
        let energy = |at: usize| (loops[at].ledger.relative_energy() * 1e3).round() / 1e3;
        [(us(0), energy(0)), (us(1), energy(1))]
    };
    assert_eq!(told("own"), [(8_450, 2.712), (13_000, 1.0)]);
    // The other has 13 ms of work, and the speed for as long as the collection takes.
    assert_eq!(told("shared"), [(8_450, 2.712), (8_450, 2.712)]);
}

#[test]
fn a_loop_that_answered_only_in_warm_up_has_a_time_of_its_own() {
    let (told, _) = replayed(
        &(alike(2, "") + "mark warmup-end"),
        "latency=0ns,policy=static:peak",
    );
    let speeds = told.loops[0].ledger.speeds();
    let total_ns: u64 = speeds.iter().map(|one| one.total_ns).sum();
    // From the first request to the last response, 6.5 ms after 100 ms.
    assert_eq!(total_ns / 1_000, 106_500);
}

#[test]
fn rubik_learns_from_requests_that_count() {
    // 31 of 34 come after warm-up: too few to know anything by.
    let warmed = alike(34, "").replacen("open 4 server", "mark warmup-end\nopen 4 server", 1);
    let (told, _) = replayed(&warmed, "latency=0ns,policy=rubik:target=10ms");
    assert_eq!(told.loops[0].latencies_ns, [6_500_000; 31]);
}

#[test]
fn rubik_hurries_for_who_waits_in_line() {
    // The first is at 2.8 GHz when the second comes, 1 ms later: 20 ms are more than any speed does
    // in 9.49 ms. Of the first 1.077 ms are done, the rest takes 5.8 ms, then the second 6.5 ms.
    let two = "open 101 server
        open 102 server
        4000ms begin read handle=101 ready=4000ms
               source 101 \"/alike\"
        4010ms sink 101 200
               end
               poll for=0ms
        4010ms begin read handle=102 ready=4001ms
               source 102 \"/alike\"
        4020ms sink 102 200
               end";
    let (told, _) = replayed(&alike(40, two), "latency=0ns,policy=rubik:target=8800us");
    assert_eq!(last_us(&told, 2), [6_800, 12_300]);
}

#[test]
fn rubiks_target_is_what_gc_boost_reaches_where_none_is_set() {
    let (told, _) = replayed(&alike(34, ""), "latency=0ns,policy=rubik");
    // Nothing is collected, so that it is the latency at base speed; ten of 34 requests lie beyond
    // no percentile above the median.
    let target = Aim::Target {
        percentile: 50.0,
        latency_ns: 10_000_000,
    };
    assert_eq!(told.aim, Some(target));
    assert_eq!(last_us(&told, 1), [10_000]);
}

/// `/slow` is in the tail, one in two `/mixed` too.
const TYPES: &str = r#"
    open 1 server
    0ms   begin read handle=1 ready=0ms
          source 1 "/fast"
    1ms   sink 1 200
          end
          poll for=99ms
    100ms begin read handle=1 ready=100ms
          source 2 "/mixed"
    101ms sink 2 200
          end
          poll for=99ms
    200ms begin read handle=1 ready=200ms
          source 3 "/mixed"
    210ms sink 3 200
          end
          poll for=90ms
    300ms begin read handle=1 ready=300ms
          source 4 "/slow"
    310ms sink 4 200
          end
"#;

#[test]
fn the_oracle_boosts_for_the_slowest_that_its_energy_is_enough_for() {
    let energy = |told: &AllReplayed| told.loops[0].ledger.relative_energy();
    let slowest = |budget: f64| {
        let policy = format!("latency=0ns,policy=oracle:energy={budget}");
        let (told, _) = replayed(TYPES, &policy);
        assert!(energy(&told) <= budget, "{} of {budget}", energy(&told));
        (told.aim.clone(), told.loops[0].ledger.boosts.len())
    };
    // Nobody waited for what was before him, so it does not matter since when.
    let since = Since::Arrival;
    let of = |from_ns| Some(Aim::Slow { from_ns, since });
    assert_eq!(slowest(1.0), (of(u64::MAX), 0));
    // Two of 10 ms, boosted for 6.5 ms each, are 4.2 % of 310 ms; all four are 4.6 %.
    assert_eq!(slowest(1.07), (of(u64::MAX), 0));
    assert_eq!(slowest(1.075), (of(10_000_000), 2));
    assert_eq!(slowest(1.5), (of(1_000_000), 4));
}

#[test]
fn the_oracle_boosts_what_a_request_will_wait_for_before_it_comes() {
    // Work for nobody begins at 100 ms, /late comes at 105: 50 ms at 4.0 GHz are 32.5 ms. Boosted
    // from when it comes it would be answered 1.75 ms later.
    let drawing = r#"
        open 1 server
        0ms   begin read handle=1 ready=0ms
              source 1 "/first"
        1ms   sink 1 200
              end
              poll for=99ms
        100ms begin timer op=9 ready=100ms
        140ms end
              poll for=0ms
        140ms begin read handle=1 ready=105ms
              source 2 "/late"
        150ms sink 2 200
              end
              poll for=150ms
        300ms begin read handle=1 ready=300ms
              source 3 "/last"
        301ms sink 3 200
              end
    "#;
    let (told, _) = replayed(drawing, "latency=0ns,policy=oracle:energy=1.187");
    assert_eq!(last_us(&told, 3), [1_000, 27_500, 1_000]);
    let Some(Aim::Slow { since, .. }) = told.aim else {
        panic!("{:?}", told.aim)
    };
    assert_eq!(since, Since::Before);
    let (told, _) = replayed(drawing, "latency=0ns,policy=oracle:tail=99");
    assert_eq!(last_us(&told, 3), [1_000, 29_250, 1_000]);
}

#[test]
fn adrenaline_boosts_the_types_that_are_most_likely_to_be_in_the_tail() {
    for (types, expected_us) in [
        (1, [1_000, 1_000, 10_000, 6_500]),
        (2, [1_000, 650, 6_500, 6_500]),
        // No request of the third is in the tail.
        (3, [1_000, 650, 6_500, 6_500]),
    ] {
        let policy = format!("latency=0ns,policy=adrenaline:tail=75,types={types}");
        let (told, routes) = replayed(TYPES, &policy);
        assert_eq!(last_us(&told, 4), expected_us, "{types}");
        let Some(Aim::Types(chances)) = told.aim else {
            panic!("{:?}", told.aim)
        };
        let each = chances.iter().map(|one| {
            let route = routes[one.route as usize].as_str();
            (route, one.chance(), one.is_boosted)
        });
        let expected = [
            ("/slow", 1.0, true),
            ("/mixed", 0.5, types > 1),
            ("/fast", 0.0, false),
        ];
        assert_eq!(each.collect::<Vec<_>>(), expected);
    }
}

/// Loops, drawn, as of one recording.
fn loops(drawings: &[&str], changes: &str) -> AllReplayed {
    let mut components = Components::new();
    let each = drawings.iter().map(|drawing| {
        let drawn = draw(drawing);
        let log = capture(&drawn).expect("the drawing can be replayed");
        Model::of(&log, |id| Some(drawn.text(id)), &mut components).expect("requests")
    });
    let models: Vec<Model> = each.collect();
    let scenario = parse(changes, &components).expect("changes");
    replay_all(&models, &scenario, &components)
}

/// 40 ms of work, of which from 10 ms on 20 are a collection.
const COLLECTS: &str = r#"
    open 1 server
    0ms  begin read handle=1 ready=0ms
         source 1 "/collects"
    10ms gc mark for=20ms
    40ms sink 1 200
         end
"#;

/// 30 ms of work, from 5 ms on.
const WORKS: &str = r#"
    open 1 server
    5ms  begin read handle=1 ready=5ms
         source 1 "/works"
    35ms sink 1 200
         end
"#;

#[test]
fn a_boost_of_one_loop_raises_all_of_its_domain() {
    let us = |drawings: &[&str], lever: &str| {
        let changes = format!("{lever},policy=gc-boost:worth=0,hold=0ns");
        let all = loops(drawings, &changes);
        let boosted_ns = |one: &AtSpeed| if one.ratio > 1.0 { one.total_ns } else { 0 };
        let each = all.loops.iter().map(|one| {
            let at_peak_ns: u64 = one.ledger.speeds().iter().map(boosted_ns).sum();
            (one.latencies_ns[0] / 1_000, at_peak_ns / 1_000)
        });
        each.collect::<Vec<(u64, u64)>>()
    };
    let both = [COLLECTS, WORKS];
    // The collection takes 13 ms at peak.
    let own = [(33_000, 13_000), (30_000, 0)];
    assert_eq!(us(&both, "latency=0ns"), own);
    // From 10 to 23 ms, in which 20 of the other's work are done; both loops are charged for it.
    let shared = [(33_000, 13_000), (23_000, 13_000)];
    assert_eq!(us(&both, "domain=shared,latency=0ns"), shared);
    // In whatever order the loops are.
    let turned = us(&[WORKS, COLLECTS], "domain=shared,latency=0ns");
    assert_eq!(turned, [shared[1], shared[0]]);
    // In force from 12 to 25.7 ms.
    let late = [(32_623, 13_700), (22_623, 13_700)];
    assert_eq!(us(&both, "domain=shared,latency=2ms"), late);
    // Of two domains of two loops, and the rest of one that has no second.
    let five = [COLLECTS, WORKS, WORKS, WORKS, COLLECTS];
    let pairs = [shared[0], shared[1], own[1], own[1], own[0]];
    assert_eq!(us(&five, "domain=2,latency=0ns"), pairs);
    // More than there are.
    assert_eq!(us(&both, "domain=3,latency=0ns"), shared);
}

#[test]
fn what_comes_after_the_last_response_takes_no_energy() {
    let late = r#"
        open 1 server
        0ms    begin read handle=1 ready=0ms
               source 1 "/a"
               register timer op=1 due=1000ms
        13ms   sink 1 200
        20ms   end
               poll for=980ms
        1000ms begin timer op=1 ready=1000ms
        1001ms end
    "#;
    let (told, _) = replayed(late, "latency=0ns,policy=gc-boost");
    let speeds = told.loops[0].ledger.speeds();
    assert_eq!(
        speeds.iter().map(|one| one.total_ns).collect::<Vec<_>>(),
        [13_000_000]
    );
}
