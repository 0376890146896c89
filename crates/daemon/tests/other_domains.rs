//! A clock that moves other CPUs by now than when its lever was opened: rights, arbitration and
//! journal go by what it moves when it is raised.

use std::time::Duration;

use bobtail_control::Domain;
use bobtail_daemon::journal;
use bobtail_daemon::protocol::{Refusal, Request, Want};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::Fault;
use desk::{Desk, USERSPACE, config, granted, refusal};

#[allow(dead_code, reason = "other tests use more of it")]
#[path = "support/desk.rs"]
mod desk;
#[path = "support/folder.rs"]
mod folder;

const MIN2: &str = "sys/devices/system/cpu/cpufreq/policy2/scaling_min_freq";
const EIO: i32 = 5;

/// CPUs 2 and 3 share a clock from now on, whose floor somebody has changed.
fn couple(desk: &Desk) {
    for cpu in [2, 3] {
        let path = format!("sys/devices/system/cpu/cpufreq/policy{cpu}/freqdomain_cpus");
        desk.kernel.put(&path, "2 3");
    }
    desk.kernel.put(MIN2, "1200000");
}

fn journaled(desk: &Desk) -> Vec<Domain> {
    let content = journal::read(&desk.journal, &desk.kernel.host());
    let entries = content.unwrap().unwrap().entries;
    entries.into_iter().map(|saved| saved.domain).collect()
}

/// Raised and lowered again: it stays open, and in the journal, for a while.
fn desk_after_a_boost(cpus: Option<Vec<u32>>) -> (Desk, u64) {
    let mut config = config();
    config.allow[0].cpus = cpus;
    let mut desk = Desk::new(config);
    let client = desk.join();
    granted(desk.raise(client, 2, 3_000_000));
    desk.lower(client, 2);
    (desk, client)
}

#[test]
fn who_may_not_move_all_that_moves_by_now_is_refused() {
    let (mut desk, client) = desk_after_a_boost(Some(vec![0, 1, 2]));
    couple(&desk);
    let answer = desk.raise(client, 2, 3_000_000);
    assert_eq!(refusal(answer), Refusal::NotAllowedHere);
    assert_eq!(
        (desk.min_khz(2), desk.min_khz(3)),
        ("1200000".into(), "800000".into())
    );
    assert_eq!(journaled(&desk), []);
}

#[test]
fn a_lever_that_moves_more_by_now_is_in_the_journal_once() {
    let (mut desk, client) = desk_after_a_boost(None);
    couple(&desk);
    granted(desk.raise(client, 2, 3_000_000));
    assert_eq!(journaled(&desk), [Domain::Cpus(vec![2, 3])]);
    desk.service.leave(client, desk.now);
    assert_eq!(
        (desk.min_khz(2), desk.min_khz(3)),
        ("1200000".into(), "800000".into())
    );
    desk.pass(Duration::from_secs(2));
    assert_eq!(journaled(&desk), []);
}

#[test]
fn what_another_lever_has_of_what_moves_by_now_is_left_to_it() {
    let (mut desk, client) = desk_after_a_boost(None);
    let (lever, speed) = (USERSPACE, Speed::Peak);
    let want = Want { lever, target: 3 };
    granted(desk.ask(client, Request::Raise { want, speed }));
    couple(&desk);
    let answer = desk.raise(client, 2, 3_000_000);
    assert_eq!(refusal(answer), Refusal::DomainBusy);
}

#[test]
fn a_claim_does_not_outlast_what_its_rights_were_looked_at_for() {
    let mut config = config();
    config.allow[0].cpus = Some(vec![0, 1, 2]);
    config.heartbeat_timeout = Duration::from_secs(60);
    let mut desk = Desk::new(config);
    let (staying, failing) = (desk.join(), desk.join());
    granted(desk.raise(staying, 2, 2_000_000));
    desk.kernel.spoil(MIN2, Fault::Write(EIO));
    let answer = desk.raise(failing, 2, 3_000_000);
    assert_eq!(refusal(answer), Refusal::LeverFailed);
    couple(&desk);
    // Put back, it reads as somebody else limits it, and is opened anew for who still claims it.
    desk.kernel.spoil(MIN2, Fault::Ignores);
    desk.pass(Duration::from_secs(1));
    assert_eq!(desk.min_khz(3), "800000", "of which nobody was asked");
    let told = desk.service.take_unasked();
    let told: Vec<_> = told.iter().map(|(client, _)| *client).collect();
    assert_eq!(told, [staying]);
    desk.kernel.mend(MIN2);
    let answer = desk.raise(staying, 2, 3_000_000);
    assert_eq!(refusal(answer), Refusal::NotAllowedHere);
}
