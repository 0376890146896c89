//! Levers that do not go back as they should: what is tried again, what is not, and who is told.

use std::time::Duration;

use bobtail_control::cpufreq::min_max::CpufreqMinMax;
use bobtail_control::topology::frequency_domains;
use bobtail_control::{Actuator, Asked, ControlError};
use bobtail_daemon::claims::ClientId;
use bobtail_daemon::journal;
use bobtail_daemon::protocol::{Answer, Refusal, Request, Want};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakePolicy, Fault};
use desk::{Desk, USERSPACE, after_a_kill, config, granted, refusal, settings};

#[allow(dead_code, reason = "other tests use more of it")]
#[path = "support/desk.rs"]
mod desk;
#[path = "support/folder.rs"]
mod folder;

const MIN0: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq";
const MAX0: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq";
const POLICY0: &str = "sys/devices/system/cpu/cpufreq/policy0";
const EIO: i32 = 5;
const MS: Duration = Duration::from_millis(1);

#[test]
fn a_lever_that_takes_its_old_value_and_keeps_ours_is_put_back_when_it_can_be() {
    let mut desk = Desk::new(config());
    let before = settings(&desk.kernel);
    let client = desk.join();
    granted(desk.raise(client, 0, 3_000_000));
    desk.kernel.spoil(MIN0, Fault::Ignores);
    desk.service.leave(client, desk.now);
    desk.pass(Duration::from_secs(9));
    assert_eq!(desk.min_khz(0), "3000000");
    assert_eq!(after_a_kill(&desk.kernel, &desk.journal), before, "kept");
    let other = desk.join();
    let answer = desk.raise(other, 0, 1_000_000);
    assert_eq!(refusal(answer), Refusal::LeverFailed);
    desk.kernel.mend(MIN0);
    desk.pass(Duration::from_secs(11));
    assert_eq!(settings(&desk.kernel), before);
}

#[test]
fn what_somebody_else_limits_is_put_back_as_far_as_it_goes() {
    let mut desk = Desk::new(config());
    let client = desk.join();
    granted(desk.raise(client, 0, 3_000_000));
    desk.kernel.put(MIN0, "1200000");
    desk.kernel.spoil(MIN0, Fault::Ignores);
    desk.service.leave(client, desk.now);
    let left = journal::read(&desk.journal, &desk.kernel.host());
    assert_eq!(
        left.unwrap().unwrap().entries.len(),
        1,
        "until it is closed"
    );
    desk.pass(Duration::from_secs(2));
    let left = journal::read(&desk.journal, &desk.kernel.host());
    assert!(left.unwrap().unwrap().entries.is_empty());
}

/// Another owner's lever of the same clock.
fn another(desk: &Desk) -> CpufreqMinMax {
    let host = desk.kernel.host();
    let domain = frequency_domains(&host).unwrap().remove(0);
    CpufreqMinMax::open(&host, &domain, &[], &Asked::default()).unwrap()
}

/// Has a raise fail though the lever can be put back: the maximum was lowered meanwhile.
fn fail_a_raise(desk: &mut Desk, client: ClientId) {
    desk.kernel.put(MAX0, "2500000");
    let answer = desk.raise(client, 0, 3_000_000);
    assert_eq!(refusal(answer), Refusal::LeverFailed);
    assert_eq!(desk.min_khz(0), "800000");
}

#[test]
fn who_claims_a_lever_that_is_not_raised_again_is_told() {
    let mut desk = Desk::new(config());
    let (staying, failing) = (desk.join(), desk.join());
    granted(desk.raise(staying, 0, 2_000_000));
    fail_a_raise(&mut desk, failing);
    assert!(desk.service.take_unasked().is_empty(), "it is tried again");
    let mut other = another(&desk);
    other.apply(Speed::Khz(2_400_000)).unwrap();
    desk.now += 200 * MS;
    desk.service.tick(desk.now);
    let told = desk.service.take_unasked();
    let told: Vec<_> = told
        .iter()
        .map(|(client, frame)| (*client, Answer::decode(frame.bytes()).unwrap()))
        .collect();
    let refused = Answer::Refused {
        refusal: Refusal::LeverFailed,
        detail: 16,
    };
    assert_eq!(told, [(staying, (refused, 0))]);
    assert_eq!(desk.min_khz(0), "2400000", "the other has it");
    drop(other);
    granted(desk.raise(staying, 0, 2_000_000));
}

#[test]
fn a_lever_that_is_not_back_stays_held_and_is_put_back_under_its_lock() {
    let mut desk = Desk::new(config());
    let before = settings(&desk.kernel);
    let client = desk.join();
    granted(desk.raise(client, 0, 3_000_000));
    desk.kernel.spoil(MIN0, Fault::Write(EIO));
    desk.service.leave(client, desk.now);
    assert_eq!(desk.min_khz(0), "3000000");
    desk.kernel.mend(MIN0);
    let mut other = another(&desk);
    let refused = other.apply(Speed::Peak);
    assert!(
        matches!(refused, Err(ControlError::Held { .. })),
        "{refused:?}"
    );
    desk.pass(Duration::from_secs(1));
    assert_eq!(settings(&desk.kernel), before);
    // What the other had read was still raised.
    let refused = other.apply(Speed::Peak);
    assert!(
        matches!(refused, Err(ControlError::Changed { .. })),
        "{refused:?}"
    );
    another(&desk).apply(Speed::Peak).unwrap();
}

#[test]
fn a_clock_whose_files_came_back_is_put_back_under_a_lock_on_these() {
    let mut desk = Desk::new(config());
    let client = desk.join();
    granted(desk.raise(client, 0, 3_000_000));
    desk.kernel.remove(POLICY0);
    desk.service.leave(client, desk.now);
    desk.kernel.cpufreq(&FakePolicy {
        cpus: vec![0, 1],
        min_khz: 800_000,
        ..FakePolicy::of_cpu(0)
    });
    desk.kernel.put(MIN0, "3000000");
    let mut other = another(&desk);
    other.apply(Speed::Khz(3_900_000)).unwrap();
    desk.pass(Duration::from_secs(1));
    assert_eq!(desk.min_khz(0), "3900000", "it is the other's now");
    drop(other);
    desk.pass(Duration::from_secs(2));
    assert_eq!(desk.min_khz(0), "800000");
}

#[test]
fn a_lever_that_could_not_be_raised_and_is_back_is_nobodys() {
    let mut desk = Desk::new(config());
    let (staying, failing) = (desk.join(), desk.join());
    granted(desk.raise(staying, 0, 2_000_000));
    fail_a_raise(&mut desk, failing);
    let mut other = another(&desk);
    other.apply(Speed::Khz(2_400_000)).unwrap();
    // Nothing is left to be put back, now or when it would be tried again.
    let written = desk.kernel.writes().len();
    desk.service.leave(staying, desk.now);
    desk.pass(Duration::from_secs(1));
    desk.pass(Duration::from_secs(2));
    assert_eq!(desk.kernel.writes().len(), written);
    assert_eq!(desk.min_khz(0), "2400000");
    other.undo().unwrap();
    granted(desk.raise(failing, 0, 2_000_000));
}

#[test]
fn a_lever_that_could_not_be_raised_and_is_back_keeps_no_other_kind_out() {
    let mut desk = Desk::new(config());
    let (staying, failing) = (desk.join(), desk.join());
    granted(desk.raise(staying, 0, 2_000_000));
    fail_a_raise(&mut desk, failing);
    let want = Want {
        lever: USERSPACE,
        target: 0,
    };
    let speed = Speed::Khz(2_000_000);
    granted(desk.ask(failing, Request::Raise { want, speed }));
}
