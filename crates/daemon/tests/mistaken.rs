//! Clients whose process or thread is gone, and whose number is another's by now: nobody moves
//! what is not his own.

use std::time::Duration;

use bobtail_control::threads::Threads;
use bobtail_control::{Host, LeverKind};
use bobtail_daemon::config::{Config, Rule};
use bobtail_daemon::holdings::Holdings;
use bobtail_daemon::journal::Journal;
use bobtail_daemon::protocol::{Answer, Refusal, Request, Want};
use bobtail_daemon::service::Service;
use bobtail_testkit::fake_kernel::FakeThreads;
use desk::{Desk, PEER, granted, refusal};
use process::{lower, put_process, put_start, put_thread, raise};

#[allow(dead_code, reason = "other tests use more of it")]
#[path = "support/desk.rs"]
mod desk;
#[path = "support/folder.rs"]
mod folder;
#[path = "support/process.rs"]
mod process;

const ONE: &str = "sys/fs/cgroup/cpu/web/one/cpu.cfs_quota_us";
const TWO: &str = "sys/fs/cgroup/cpu/web/two/cpu.cfs_quota_us";
const OTHER: &str = "sys/fs/cgroup/cpu/other/cpu.cfs_quota_us";
const QUOTA: LeverKind = LeverKind::Quota;
const UCLAMP: LeverKind = LeverKind::Uclamp;
/// Longer than a lever stays open that nobody claims.
const LONG: Duration = Duration::from_secs(2);
const OWN: (u32, u32) = (PEER.uid, PEER.uid);

fn config(lever: LeverKind) -> Config {
    Config {
        allow: vec![Rule {
            users: vec![PEER.uid],
            levers: vec![lever],
            cgroups: Some(vec!["web".to_owned()]),
            ..Rule::default()
        }],
        // Who claims is not to be heard of all the time here.
        heartbeat_timeout: Duration::from_secs(60),
        ..Config::default()
    }
}

/// The peer is in one of two groups that it may have, beside one that it may not.
fn grouped() -> Desk {
    let desk = Desk::new(config(QUOTA));
    for group in ["web/one", "web/two", "other"] {
        desk.kernel.group_v1(group, 60_000);
    }
    put_process(&desk, OWN, "web/one", 100);
    desk
}

/// The peer has the thread 41.
fn threaded() -> (Desk, FakeThreads) {
    let mut desk = Desk::new(config(UCLAMP));
    let threads = FakeThreads::default();
    threads.put(41, 0, 1024);
    put_process(&desk, OWN, "web/one", 100);
    put_thread(&desk, 41, 41, 110);
    let host: Host = desk.kernel.host();
    let host = host.and_threads(std::sync::Arc::new(threads.clone()));
    let begun = Journal::begin(&desk.journal, &host, "test", vec![]).unwrap();
    desk.service = Service::new(config(UCLAMP), Holdings::new(host, begun));
    (desk, threads)
}

fn quotas(desk: &Desk) -> [String; 3] {
    [ONE, TWO, OTHER].map(|place| desk.kernel.text(place))
}

#[test]
fn whose_process_is_gone_moves_neither_its_group_nor_that_of_who_has_its_number() {
    for group in ["web/one", "web/two", "other"] {
        for pause in [Duration::ZERO, LONG] {
            let mut desk = grouped();
            let client = desk.join();
            granted(raise(&mut desk, client, QUOTA, 0));
            lower(&mut desk, client, QUOTA, 0);
            desk.pass(pause);
            put_process(&desk, OWN, group, 200);
            let answer = raise(&mut desk, client, QUOTA, 0);
            assert_eq!(refusal(answer), Refusal::NoLever, "{group} {pause:?}");
            assert_eq!(quotas(&desk), ["60000"; 3], "{group} {pause:?}");
        }
    }
}

#[test]
fn a_claim_ends_when_it_is_asked_for_by_whose_process_is_gone() {
    let mut desk = grouped();
    let client = desk.join();
    granted(raise(&mut desk, client, QUOTA, 0));
    put_process(&desk, OWN, "web/two", 200);
    let answer = raise(&mut desk, client, QUOTA, 0);
    assert_eq!(refusal(answer), Refusal::NoLever);
    assert_eq!(quotas(&desk), ["60000"; 3]);
}

#[test]
fn a_claim_ends_though_who_has_the_connection_now_beats() {
    let mut desk = grouped();
    let client = desk.join();
    granted(raise(&mut desk, client, QUOTA, 0));
    let beat = |desk: &mut Desk| {
        let frame = Request::Beat.encode(9, true);
        let reply = desk.service.receive(client, frame.bytes(), desk.now);
        assert!(reply.frame.is_none() && !reply.ends);
    };
    beat(&mut desk);
    assert_ne!(quotas(&desk), ["60000"; 3], "its own");
    put_process(&desk, OWN, "web/one", 200);
    beat(&mut desk);
    // At base while it owes what it had.
    assert_eq!(quotas(&desk), ["60000"; 3]);
}

#[test]
fn a_process_that_has_ended_has_nothing_though_nobody_took_notice() {
    let mut desk = grouped();
    let client = desk.join();
    granted(raise(&mut desk, client, QUOTA, 0));
    let path = format!("proc/{}/status", PEER.pid);
    let status = desk.kernel.text(&path);
    desk.kernel
        .put(&path, &format!("State:\tZ (zombie)\n{status}\nThreads:\t1"));
    // Also by another request than a beat.
    let want = Want {
        lever: LeverKind::CpufreqMinMax,
        target: 0,
    };
    desk.ask(client, Request::Ask(want));
    assert_eq!(quotas(&desk), ["60000"; 3]);
    // Of a number of threads the first digit is not all.
    for threads in [4, 12] {
        let status = format!("State:\tZ (zombie)\n{status}\nThreads:\t{threads}");
        desk.kernel.put(&path, &status);
        granted(raise(&mut desk, client, QUOTA, 0));
    }
}

#[test]
fn a_thread_is_looked_for_among_few() {
    let (mut desk, _) = threaded();
    for thread in 1_000..2_000 {
        put_thread(&desk, thread, thread - 900, 110);
    }
    let client = desk.join();
    let answer = raise(&mut desk, client, UCLAMP, 41);
    assert_eq!(
        refusal(answer),
        Refusal::NoLever,
        "of a thousand in a namespace of their own"
    );
    // Nor are they listed where the process says how many it has.
    for thread in 1_000..2_000 {
        let path = format!("proc/{}/task/{thread}", PEER.pid);
        desk.kernel.remove(&path);
    }
    let path = format!("proc/{}/status", PEER.pid);
    let status = desk.kernel.text(&path);
    desk.kernel
        .put(&path, &format!("{status}\nThreads:\t15000"));
    let answer = raise(&mut desk, client, UCLAMP, 41);
    assert_eq!(refusal(answer), Refusal::NoLever);
    desk.kernel.put(&path, &status);
    // In the daemon's own its number is all that is needed.
    let status = desk.kernel.text(&format!("proc/{}/status", PEER.pid));
    let status = status.replace(&format!("NSpid:\t{}\t1", PEER.pid), "NSpid:\t7");
    desk.kernel
        .put(&format!("proc/{}/status", PEER.pid), &status);
    granted(raise(&mut desk, client, UCLAMP, 41));
}

#[test]
fn a_process_that_is_in_another_group_by_now_has_that_one() {
    let mut desk = grouped();
    let client = desk.join();
    granted(raise(&mut desk, client, QUOTA, 0));
    put_process(&desk, OWN, "web/two", 100);
    granted(raise(&mut desk, client, QUOTA, 0));
    assert_eq!(quotas(&desk), ["60000", "120000", "60000"]);
    put_process(&desk, OWN, "other", 100);
    let answer = raise(&mut desk, client, QUOTA, 0);
    assert_eq!(refusal(answer), Refusal::NotAllowedHere);
    assert_eq!(quotas(&desk), ["60000"; 3]);
}

#[test]
fn a_process_goes_by_the_user_that_it_acts_as() {
    for (users, is_granted) in [
        ((0, PEER.uid), true),
        ((PEER.uid, 0), false),
        ((5, 5), false),
    ] {
        let mut desk = grouped();
        let client = desk.join();
        put_process(&desk, users, "web/one", 100);
        let answer = raise(&mut desk, client, QUOTA, 0);
        let found = matches!(answer, Answer::Granted { .. });
        assert_eq!(found, is_granted, "{users:?}: {answer:?}");
    }
}

#[test]
fn a_thread_that_has_the_number_of_another_is_not_clamped() {
    for pause in [Duration::ZERO, LONG] {
        let (mut desk, threads) = threaded();
        let client = desk.join();
        granted(raise(&mut desk, client, UCLAMP, 41));
        lower(&mut desk, client, UCLAMP, 41);
        desk.pass(pause);
        // The thread has ended, and its number is that of a thread of somebody else.
        desk.kernel.remove("proc/7/task/41");
        put_start(&desk, 41, 300);
        let answer = raise(&mut desk, client, UCLAMP, 41);
        assert_eq!(refusal(answer), Refusal::NoLever);
        assert_eq!(threads.clamps(41).unwrap(), (0, 1024));
    }
}

#[test]
fn a_thread_that_follows_one_of_its_number_is_clamped_anew() {
    let (mut desk, threads) = threaded();
    let (one, two) = (desk.join(), desk.join());
    granted(raise(&mut desk, one, UCLAMP, 41));
    threads.put(41, 100, 900);
    put_thread(&desk, 41, 41, 300);
    granted(raise(&mut desk, two, UCLAMP, 41));
    assert_eq!(threads.clamps(41).unwrap(), (900, 900));
    desk.service.leave(one, desk.now);
    assert_eq!(threads.clamps(41).unwrap(), (900, 900), "another's claim");
    desk.service.leave(two, desk.now);
    assert_eq!(threads.clamps(41).unwrap(), (100, 900));
    let left = bobtail_daemon::journal::read(&desk.journal, &desk.kernel.host());
    desk.pass(LONG);
    assert!(left.unwrap().is_some());
}

#[test]
fn who_lowers_what_he_does_not_have_is_told_so_and_opens_nothing() {
    let mut desk = grouped();
    let client = desk.join();
    granted(raise(&mut desk, client, QUOTA, 0));
    let nothing = Answer::Lowered { claims: 0 };
    assert_eq!(lower(&mut desk, client, LeverKind::Burst, 0), nothing);
    assert_eq!(lower(&mut desk, client, QUOTA, 3), nothing);
    let one = Answer::Lowered { claims: 1 };
    assert_eq!(lower(&mut desk, client, QUOTA, 0), one);
    assert_eq!(quotas(&desk), ["60000"; 3]);
    // Of whose process is gone all has ended by then.
    granted(raise(&mut desk, client, QUOTA, 0));
    desk.kernel.remove("proc/7");
    assert_eq!(lower(&mut desk, client, QUOTA, 0), nothing);
    assert_eq!(quotas(&desk), ["60000"; 3]);
}
