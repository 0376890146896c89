//! Levers that do not go back as they should: what is tried again, what is not, and who is told.

use std::time::Duration;

use bobtail_control::cpufreq::min_max::CpufreqMinMax;
use bobtail_control::topology::frequency_domains;
use bobtail_control::{Actuator, Asked};
use bobtail_daemon::journal;
use bobtail_daemon::protocol::{Answer, Refusal};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::Fault;
use desk::{Desk, after_a_kill, config, refusal, settings};

#[allow(dead_code, reason = "other tests use more of it")]
#[path = "support/desk.rs"]
mod desk;
#[path = "support/folder.rs"]
mod folder;

const MIN0: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq";
const EIO: i32 = 5;
const MS: Duration = Duration::from_millis(1);

fn granted(answer: Answer) {
    assert!(matches!(answer, Answer::Granted { .. }), "{answer:?}");
}

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

#[test]
fn who_claims_a_lever_that_is_not_raised_again_is_told() {
    let mut desk = Desk::new(config());
    let (staying, failing) = (desk.join(), desk.join());
    granted(desk.raise(staying, 0, 2_000_000));
    desk.kernel.spoil(MIN0, Fault::Write(EIO));
    let answer = desk.raise(failing, 0, 3_000_000);
    assert_eq!(refusal(answer), Refusal::LeverFailed);
    assert!(desk.service.take_unasked().is_empty(), "it is tried again");
    desk.kernel.mend(MIN0);
    let host = desk.kernel.host();
    let domain = frequency_domains(&host).unwrap().remove(0);
    let mut other = CpufreqMinMax::open(&host, &domain, &[], &Asked::default()).unwrap();
    other.apply(Speed::Khz(3_900_000)).unwrap();
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
    drop(other);
    granted(desk.raise(staying, 0, 2_000_000));
}
