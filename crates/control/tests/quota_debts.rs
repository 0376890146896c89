//! What a raised quota owes: how far the group may be ahead, and how it pays back where the kernel
//! does not let its quota be lowered.

use std::time::{Duration, Instant};

use bobtail_control::group::CpuGroup;
use bobtail_control::group::quota::Quota;
use bobtail_control::{Actuator, Asked, LeverKind};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::FakeKernel;

const QUOTA: &str = "sys/fs/cgroup/cpu/svc/cpu.cfs_quota_us";
const BURST: &str = "sys/fs/cgroup/cpu/svc/cpu.cfs_burst_us";
const USED: &str = "sys/fs/cgroup/cpuacct/svc/cpuacct.usage";
const MS: Duration = Duration::from_millis(1);
/// Longer than any test takes.
const HOUR_NS: &str = "3600000000000";

/// 60 ms in each 100 ms, of four CPUs.
fn v1() -> FakeKernel {
    let kernel = FakeKernel::with_cpus(4);
    kernel.group_v1("svc", 60_000);
    kernel
}

fn open(kernel: &FakeKernel, debt_max_us: Option<u32>) -> Quota {
    let host = kernel.host();
    let group = CpuGroup::find(&host, LeverKind::Quota, "svc").unwrap();
    Quota::open(&host, &group, &Asked::default(), debt_max_us).unwrap()
}

/// What is set for a group that has taken far more than it may.
fn set_in_debt(kernel: &FakeKernel) -> u32 {
    let mut lever = open(kernel, None);
    lever.apply(Speed::Peak).unwrap();
    kernel.put(USED, HOUR_NS);
    let value = lever.apply(Speed::Peak).unwrap().value;
    assert!(lever.owes());
    assert_eq!(kernel.text(QUOTA), value.to_string());
    value
}

#[test]
fn a_group_pays_back_no_lower_than_its_burst() {
    for (burst_us, expected) in [("0", 54_000), ("57000", 57_000), ("60000", 60_000)] {
        let kernel = v1();
        kernel.put(BURST, burst_us);
        assert_eq!(set_in_debt(&kernel), expected, "burst {burst_us}");
    }
    let kernel = FakeKernel::with_cpus(4);
    kernel.group_v2("svc", "60000");
    kernel.put("sys/fs/cgroup/svc/cpu.max.burst", "58000");
    let mut lever = open(&kernel, None);
    lever.apply(Speed::Peak).unwrap();
    kernel.put("sys/fs/cgroup/svc/cpu.stat", "usage_usec 3600000000");
    assert_eq!(lever.apply(Speed::Base).unwrap().value, 58_000);
}

#[test]
fn a_group_of_v1_pays_back_no_lower_than_the_groups_inside_have() {
    let kernel = v1();
    kernel.group_v1("svc/small", 10_000);
    kernel.group_v1("svc/unlimited.slice", -1);
    kernel.group_v1("svc/unlimited.slice/worker", 28_501);
    let period = "sys/fs/cgroup/cpu/svc/unlimited.slice/worker/cpu.cfs_period_us";
    kernel.put(period, "50000");
    assert_eq!(set_in_debt(&kernel), 57_002);
}

#[test]
fn a_burst_that_grows_meanwhile_does_not_make_a_debt_forgotten() {
    let kernel = v1();
    let mut lever = open(&kernel, None);
    lever.apply(Speed::Peak).unwrap();
    kernel.put(USED, HOUR_NS);
    assert_eq!(lever.apply(Speed::Base).unwrap().value, 54_000);
    // Refused by the kernel itself, who asks the burst lever.
    kernel.put(QUOTA, "120000");
    kernel.put(BURST, "60000");
    lever.undo().unwrap();
    assert_eq!(lever.apply(Speed::Peak).unwrap().value, 60_000);
    assert!(lever.owes());
}

#[test]
fn who_cannot_be_lowered_is_not_raised_until_all_is_paid_back() {
    let kernel = v1();
    kernel.put(BURST, "60000");
    let debt_max_us = 5_000_000;
    let mut lever = open(&kernel, Some(debt_max_us));
    lever.apply(Speed::Peak).unwrap();
    kernel.put(USED, "5020000000");
    assert_eq!(lever.apply(Speed::Peak).unwrap().value, 60_000);
    let debt_max_ns = u64::from(debt_max_us) * 1000;
    while lever.debt_ns() >= debt_max_ns {
        std::thread::sleep(10 * MS);
        assert_eq!(lever.apply(Speed::Peak).unwrap().value, 60_000);
    }
    assert!(lever.owes(), "some is paid back, and not all");
    assert_eq!(kernel.text(QUOTA), "60000");
    let raises = kernel
        .writes()
        .iter()
        .filter(|one| one.ends_with("120000"))
        .count();
    assert_eq!(raises, 1);
}

#[test]
fn who_has_paid_all_back_is_raised_again() {
    let kernel = v1();
    kernel.put(BURST, "60000");
    let mut lever = open(&kernel, None);
    lever.apply(Speed::Peak).unwrap();
    kernel.put(USED, "90000000");
    assert_eq!(lever.apply(Speed::Peak).unwrap().value, 60_000);
    while lever.apply(Speed::Base).is_ok() && lever.owes() {
        std::thread::sleep(5 * MS);
    }
    assert_eq!(lever.apply(Speed::Peak).unwrap().value, 120_000);
}

/// A group whose use nobody counts.
fn uncounted() -> FakeKernel {
    let kernel = v1();
    kernel.remove("sys/fs/cgroup/cpuacct");
    kernel
}

#[test]
fn each_write_fills_a_group_up_and_is_owed() {
    let kernel = uncounted();
    let mut lever = open(&kernel, Some(60_000_000));
    for _ in 0..10 {
        assert_eq!(lever.apply(Speed::Peak).unwrap().value, 120_000);
        lever.apply(Speed::Base).unwrap();
    }
    lever.undo().unwrap();
    lever.apply(Speed::Base).unwrap();
    lever.apply(Speed::Base).unwrap();
    let filled_us = kernel.refilled_us("sys/fs/cgroup/cpu/svc");
    assert!(filled_us > 10 * 120_000 + 9 * 54_000, "{filled_us}");
    // Some of it was paid back meanwhile, at a tenth of the quota.
    let debt_ns = lever.debt_ns();
    assert!(
        debt_ns > filled_us * 990 && debt_ns < filled_us * 1010,
        "{debt_ns}"
    );
}

#[test]
fn what_stands_already_is_not_written() {
    let kernel = v1();
    let mut lever = open(&kernel, None);
    assert!(!lever.apply(Speed::Base).unwrap().is_changed);
    lever.undo().unwrap();
    assert!(!lever.owes());
    assert!(kernel.writes().is_empty());
    lever.apply(Speed::Peak).unwrap();
    lever.apply(Speed::Base).unwrap();
    lever.undo().unwrap();
    assert_eq!(kernel.writes().len(), 2);
}

#[test]
fn a_group_that_was_filled_up_owes_for_a_period() {
    let kernel = v1();
    let mut lever = open(&kernel, None);
    lever.apply(Speed::Peak).unwrap();
    lever.apply(Speed::Base).unwrap();
    let lowered = Instant::now();
    while lever.owes() {
        std::thread::sleep(5 * MS);
        lever.apply(Speed::Base).unwrap();
    }
    let owed = lowered.elapsed();
    assert!(owed > 90 * MS, "{owed:?}");
    assert_eq!(kernel.text(QUOTA), "60000");
}

/// The value of a quota after this much was used by that group of the account's hierarchy, where
/// the process is in another one of it than of the quota's.
fn set_after_use_of(kernel: &FakeKernel, account: &str, user: &str) -> u32 {
    let lines = format!("2:cpuacct:/{account}\n1:cpu:/svc\n0::/");
    kernel.put("proc/self/cgroup", &lines);
    let host = kernel.host();
    let group = CpuGroup::of_process(&host, LeverKind::Quota, "self").unwrap();
    let debt_max_us = Some(1_000_000);
    let mut lever = Quota::open(&host, &group, &Asked::default(), debt_max_us).unwrap();
    lever.apply(Speed::Peak).unwrap();
    let used = format!("sys/fs/cgroup/cpuacct/{user}/cpuacct.usage");
    kernel.put(used.replace("//", "/").as_str(), HOUR_NS);
    lever.apply(Speed::Peak).unwrap().value
}

#[test]
fn the_account_is_that_of_the_processs_own_group_in_its_hierarchy() {
    let with_account = || {
        let kernel = v1();
        kernel.put("sys/fs/cgroup/cpuacct/apart/cpuacct.usage", "0");
        kernel
    };
    assert_eq!(set_after_use_of(&with_account(), "apart", "apart"), 54_000);
    assert_eq!(set_after_use_of(&with_account(), "apart", "svc"), 120_000);
    // What the whole machine uses is nobody's debt.
    let kernel = with_account();
    kernel.put("sys/fs/cgroup/cpuacct/cpuacct.usage", "0");
    kernel.put("sys/fs/cgroup/cpuacct/release_agent", "");
    assert_eq!(set_after_use_of(&kernel, "", ""), 120_000);
}
