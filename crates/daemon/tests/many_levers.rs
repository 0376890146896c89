//! How many levers one client may have opened: one of the whole machine once, others as many as it
//! may claim.

use bobtail_control::LeverKind;
use bobtail_daemon::config::{Config, Rule};
use bobtail_daemon::holdings::Holdings;
use bobtail_daemon::journal::Journal;
use bobtail_daemon::protocol::{Answer, Refusal, Request, Want};
use bobtail_daemon::service::Service;
use bobtail_testkit::fake_kernel::FakeThreads;
use desk::{Desk, PEER, refusal};
use process::{lower, put_process, put_thread, raise};

#[allow(dead_code, reason = "other tests use more of it")]
#[path = "support/desk.rs"]
mod desk;
#[path = "support/folder.rs"]
mod folder;
#[path = "support/process.rs"]
mod process;

const FLOOR: LeverKind = LeverKind::IntelMinPerf;
const MIN_PERF: &str = "sys/devices/system/cpu/intel_pstate/min_perf_pct";
const MS: std::time::Duration = std::time::Duration::from_millis(1);

fn config(lever: LeverKind) -> Config {
    Config {
        allow: vec![Rule {
            users: vec![PEER.uid],
            levers: vec![lever],
            ..Rule::default()
        }],
        max_claims: 4,
        ..Config::default()
    }
}

fn ask(desk: &mut Desk, client: u64, lever: LeverKind, target: u32) -> Answer {
    desk.ask(client, Request::Ask(Want { lever, target }))
}

/// A machine of four CPUs with one floor for all.
fn floored() -> Desk {
    let desk = Desk::new(config(FLOOR));
    let folder = "sys/devices/system/cpu/intel_pstate";
    for (file, text) in [
        ("status", "active"),
        ("max_perf_pct", "100"),
        ("min_perf_pct", "22"),
    ] {
        desk.kernel.put(&format!("{folder}/{file}"), text);
    }
    desk
}

#[test]
fn a_cpu_that_is_not_there_has_no_floor() {
    let mut desk = floored();
    let client = desk.join();
    for cpu in [4, 77, 1_000_000, u32::MAX] {
        let answer = ask(&mut desk, client, FLOOR, cpu);
        assert_eq!(refusal(answer), Refusal::NoLever, "{cpu}");
        let answer = raise(&mut desk, client, FLOOR, cpu);
        assert_eq!(refusal(answer), Refusal::NoLever, "{cpu}");
    }
    assert_eq!(desk.service.raised(desk.now), []);
    assert_eq!(desk.kernel.text(MIN_PERF), "22");
}

#[test]
fn the_floor_of_a_machine_is_one_lever_whichever_cpu_is_named() {
    let mut desk = floored();
    let (one, two) = (desk.join(), desk.join());
    for cpu in 0..5 {
        let client = [one, two][cpu as usize % 2];
        let answer = raise(&mut desk, client, FLOOR, cpu);
        assert!(
            matches!(answer, Answer::Granted { granted: 100, .. }),
            "{answer:?}"
        );
        // A CPU that goes, and one that comes, are of the same machine.
        let online = ["0-2", "0-3", "0-5", "0-5", "0-5"][cpu as usize];
        desk.kernel.put("sys/devices/system/cpu/online", online);
    }
    assert_eq!(desk.service.raised(desk.now).len(), 1);
    for cpu in 0..5 {
        assert_eq!(desk.kernel.text(MIN_PERF), "100");
        lower(&mut desk, [one, two][cpu as usize % 2], FLOOR, cpu);
    }
    assert_eq!(desk.kernel.text(MIN_PERF), "22");
}

#[test]
fn who_opens_more_levers_than_he_may_claim_is_refused() {
    const UCLAMP: LeverKind = LeverKind::Uclamp;
    let mut desk = Desk::new(config(UCLAMP));
    let threads = FakeThreads::default();
    put_process(&desk, (PEER.uid, PEER.uid), "web", 100);
    for thread in 20..40 {
        threads.put(thread, 0, 1024);
        put_thread(&desk, thread, thread, 110);
    }
    let host = desk.kernel.host().and_threads(std::sync::Arc::new(threads));
    let begun = Journal::begin(&desk.journal, &host, "test", vec![]).unwrap();
    desk.service = Service::new(config(UCLAMP), Holdings::new(host, begun));
    let mut granted = 0;
    for _ in 0..3 {
        // Who comes again has no more than who stays.
        let client = desk.join();
        for thread in 20..40 {
            match ask(&mut desk, client, UCLAMP, thread) {
                Answer::Offered(_) => granted += 1,
                other => assert_eq!(refusal(other), Refusal::TooManyClaims),
            }
        }
        desk.service.leave(client, desk.now);
    }
    assert_eq!(granted, 3 * 4, "the same four");
    desk.pass(MS);
    let client = desk.join();
    let answer = ask(&mut desk, client, UCLAMP, 39);
    assert!(matches!(answer, Answer::Offered(_)), "{answer:?}");
}
