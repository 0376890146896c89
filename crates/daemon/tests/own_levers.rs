//! Levers of a client's own: the quota and burst of its group, the clamps of its threads.

use std::time::Duration;

use bobtail_control::LeverKind;
use bobtail_daemon::config::{Config, Rule};
use bobtail_daemon::holdings::Holdings;
use bobtail_daemon::journal::{self, Journal};
use bobtail_daemon::protocol::{Answer, Refusal, Request};
use bobtail_daemon::rights::Peer;
use bobtail_daemon::service::Service;
use bobtail_testkit::fake_kernel::FakeThreads;
use desk::{Desk, PEER, refusal};
use process::{put_thread, raise};

#[allow(dead_code, reason = "other tests use more of it")]
#[path = "support/desk.rs"]
mod desk;
#[path = "support/folder.rs"]
mod folder;
#[path = "support/process.rs"]
mod process;

const GROUP: &str = "sys/fs/cgroup/cpu/web/one/cpu.cfs_quota_us";
const BURST: &str = "sys/fs/cgroup/cpu/web/one/cpu.cfs_burst_us";
const USED: &str = "sys/fs/cgroup/cpuacct/web/one/cpuacct.usage";
const MS: Duration = Duration::from_millis(1);

fn rule(levers: &[LeverKind]) -> Rule {
    Rule {
        users: vec![PEER.uid],
        levers: levers.to_vec(),
        cgroups: Some(vec!["web".to_owned()]),
        ..Rule::default()
    }
}

/// The peer is in a group of 60 ms in each 100 ms, on a machine of four CPUs.
fn desk(levers: &[LeverKind]) -> Desk {
    let desk = Desk::new(Config {
        allow: vec![rule(levers)],
        ..Config::default()
    });
    desk.kernel.group_v1("web/one", 60_000);
    desk.kernel.group_v1("other", 60_000);
    put_process(&desk, PEER.uid, "web/one");
    desk
}

fn put_process(desk: &Desk, uid: u32, group: &str) {
    process::put_process(desk, (uid, uid), group, 100);
}

fn lower(desk: &mut Desk, client: u64, lever: LeverKind) -> Answer {
    process::lower(desk, client, lever, 0)
}

#[test]
fn a_client_raises_the_quota_of_its_own_group() {
    let mut desk = desk(&[LeverKind::Quota]);
    let (one, two) = (desk.join(), desk.join());
    assert!(matches!(
        raise(&mut desk, one, LeverKind::Quota, 0),
        Answer::Granted {
            granted: 120_000,
            ..
        }
    ));
    assert_eq!(desk.kernel.text(GROUP), "120000");
    let left = journal::read(&desk.journal, &desk.kernel.host())
        .unwrap()
        .unwrap();
    left.entries[0]
        .restore(&desk.kernel.host())
        .into_result()
        .unwrap();
    assert_eq!(
        desk.kernel.text(GROUP),
        "60000",
        "a guard would put it back"
    );
    // Another process of the group shares it.
    raise(&mut desk, two, LeverKind::Quota, 0);
    lower(&mut desk, one, LeverKind::Quota);
    desk.service.leave(two, desk.now);
    assert_eq!(desk.kernel.text(GROUP), "60000");
    assert_eq!(
        desk.kernel.text("sys/fs/cgroup/cpu/other/cpu.cfs_quota_us"),
        "60000"
    );
}

#[test]
fn nobody_gets_a_group_that_is_not_his_or_not_allowed() {
    for (uid, group, expected) in [
        (PEER.uid, "other", Refusal::NotAllowedHere),
        (PEER.uid, "website", Refusal::NotAllowedHere),
        // The process is gone, and its number is somebody else's.
        (0, "web/one", Refusal::NoLever),
    ] {
        let mut desk = desk(&[LeverKind::Quota]);
        desk.kernel.group_v1("website", 60_000);
        put_process(&desk, uid, group);
        let client = desk.join();
        let answer = raise(&mut desk, client, LeverKind::Quota, 0);
        assert_eq!(refusal(answer), expected, "{uid} {group}");
        assert!(desk.kernel.writes().is_empty());
    }
    let mut desk = desk(&[LeverKind::Burst]);
    let client = desk.join();
    let answer = raise(&mut desk, client, LeverKind::Quota, 0);
    assert_eq!(refusal(answer), Refusal::NotAllowedHere);
}

#[test]
fn quota_and_burst_of_a_group_are_not_raised_at_once() {
    let mut desk = desk(&[LeverKind::Quota, LeverKind::Burst]);
    let client = desk.join();
    raise(&mut desk, client, LeverKind::Burst, 0);
    assert_eq!(desk.kernel.text(BURST), "60000");
    let answer = raise(&mut desk, client, LeverKind::Quota, 0);
    assert_eq!(refusal(answer), Refusal::DomainBusy);
    lower(&mut desk, client, LeverKind::Burst);
    assert_eq!(desk.kernel.text(BURST), "0");
}

#[test]
fn a_burst_that_is_raised_again_and_again_fills_its_group_up_once() {
    let mut desk = desk(&[LeverKind::Burst]);
    let client = desk.join();
    raise(&mut desk, client, LeverKind::Burst, 0);
    assert_eq!(desk.kernel.text(BURST), "60000");
    for _ in 0..20 {
        lower(&mut desk, client, LeverKind::Burst);
        assert_eq!(desk.kernel.text(BURST), "0");
        let answer = raise(&mut desk, client, LeverKind::Burst, 0);
        assert_eq!(refusal(answer), Refusal::LeverFailed);
        desk.pass(500 * MS);
    }
    let writes = desk.kernel.writes();
    let of_burst = writes.iter().filter(|write| write.contains("burst_us = "));
    assert_eq!(of_burst.count(), 2, "up, and down");
}

#[test]
fn what_a_quota_owes_is_paid_back_though_its_client_has_left() {
    let mut desk = desk(&[LeverKind::Quota]);
    let client = desk.join();
    raise(&mut desk, client, LeverKind::Quota, 0);
    // Far more than can be due in the time that passes here.
    desk.kernel.put(USED, "600000000000");
    desk.service.leave(client, desk.now);
    assert_eq!(
        desk.kernel.text(GROUP),
        "54000",
        "a tenth less, until it is paid"
    );
    let again = desk.join();
    raise(&mut desk, again, LeverKind::Quota, 0);
    assert_eq!(
        desk.kernel.text(GROUP),
        "54000",
        "no credit for who comes again"
    );
    desk.service.leave(again, desk.now);
    for _ in 0..5 {
        desk.pass(20 * MS);
        assert_eq!(desk.kernel.text(GROUP), "54000");
    }
    // The daemon's end puts it back whatever is owed.
    assert_eq!(desk.service.end(desk.now).0, 0);
    assert_eq!(desk.kernel.text(GROUP), "60000");
}

#[test]
fn a_raise_that_fails_does_not_make_a_debt_forgotten() {
    let mut desk = desk(&[LeverKind::Quota]);
    // A long period, so that what is owed is not paid back before the test is over.
    desk.kernel.group_v1("web", 900_000);
    for group in ["web", "web/one"] {
        let period = format!("sys/fs/cgroup/cpu/{group}/cpu.cfs_period_us");
        desk.kernel.put(&period, "1000000");
    }
    desk.kernel.put(GROUP, "600000");
    let client = desk.join();
    raise(&mut desk, client, LeverKind::Quota, 0);
    assert_eq!(desk.kernel.text(GROUP), "900000");
    desk.kernel.put(USED, "590000000");
    lower(&mut desk, client, LeverKind::Quota);
    assert_eq!(desk.kernel.text(GROUP), "540000");
    // The group around it has got less, so that the kernel refuses the peak.
    desk.kernel
        .put("sys/fs/cgroup/cpu/web/cpu.cfs_quota_us", "700000");
    let answer = raise(&mut desk, client, LeverKind::Quota, 0);
    assert_eq!(refusal(answer), Refusal::LeverFailed);
    assert_eq!(desk.kernel.text(GROUP), "540000", "still paying back");
}

#[test]
fn what_is_paid_back_is_let_go() {
    let mut desk = desk(&[LeverKind::Quota]);
    let client = desk.join();
    raise(&mut desk, client, LeverKind::Quota, 0);
    // The lever's own clock is the machine's: 30 ms are due after 50 ms.
    desk.kernel.put(USED, "30000000");
    desk.service.leave(client, desk.now);
    let entries = |desk: &Desk| {
        let left = journal::read(&desk.journal, &desk.kernel.host());
        left.unwrap().unwrap().entries.len()
    };
    while entries(&desk) > 0 {
        std::thread::sleep(5 * MS);
        desk.pass(2000 * MS);
    }
    assert_eq!(desk.kernel.text(GROUP), "60000");
}

#[test]
fn a_raised_quota_is_looked_at_though_nobody_asks() {
    let mut desk = desk(&[LeverKind::Quota]);
    let client = desk.join();
    raise(&mut desk, client, LeverKind::Quota, 0);
    desk.kernel.put(USED, "600000000000");
    desk.pass(20 * MS);
    assert_eq!(
        desk.kernel.text(GROUP),
        "54000",
        "it took more than it may be ahead"
    );
}

#[test]
fn a_client_clamps_its_own_threads_by_its_own_numbers() {
    let mut desk = desk(&[]);
    let threads = FakeThreads::default();
    threads.put(40, 0, 1024);
    threads.put(41, 0, 1024);
    let host = desk
        .kernel
        .host()
        .and_threads(std::sync::Arc::new(threads.clone()));
    let begun = Journal::begin(&desk.journal, &host, "test", vec![]).unwrap();
    let config = Config {
        allow: vec![rule(&[LeverKind::Uclamp])],
        ..Config::default()
    };
    desk.service = Service::new(config, Holdings::new(host, begun));
    for (thread, inside) in [(40, 7), (41, 8)] {
        put_thread(&desk, thread, inside, 110);
    }
    let client = desk.join();
    let clamps = |thread| bobtail_control::threads::Threads::clamps(&threads, thread).unwrap();
    assert!(matches!(
        raise(&mut desk, client, LeverKind::Uclamp, 8),
        Answer::Granted { granted: 1024, .. }
    ));
    assert_eq!((clamps(40), clamps(41)), ((0, 1024), (1024, 1024)));
    let answer = raise(&mut desk, client, LeverKind::Uclamp, 41);
    assert_eq!(
        refusal(answer),
        Refusal::NoLever,
        "a number of the machine's is not its own"
    );
    desk.service.leave(client, desk.now);
    assert_eq!(clamps(41), (0, 1024));
}

#[test]
fn a_peer_whose_process_is_not_to_be_seen_has_no_group() {
    let mut desk = desk(&[LeverKind::Quota]);
    let peer = Peer { pid: 0, ..PEER };
    let client = desk.service.admit(peer, desk.now).unwrap();
    let hello = Request::Hello {
        oldest: 1,
        newest: 1,
    };
    desk.ask(client, hello);
    let answer = raise(&mut desk, client, LeverKind::Quota, 0);
    assert_eq!(refusal(answer), Refusal::NoLever);
}
