//! CPU quota and burst of control groups: v1, v2, the account of a raised quota, and this machine.

use bobtail_control::gauge::WorkGauge;
use bobtail_control::group::quota::Quota;
use bobtail_control::group::{CpuGroup, burst};
use bobtail_control::{Actuator, Asked, Domain, Host, LeverKind, SavedState};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakeKernel, Fault};
use real_group::RealGroup;

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/real_group.rs"]
mod real_group;

const V1_QUOTA: &str = "sys/fs/cgroup/cpu/svc/cpu.cfs_quota_us";
const V2_QUOTA: &str = "sys/fs/cgroup/svc/cpu.max";

fn v1() -> FakeKernel {
    let kernel = FakeKernel::with_cpus(2);
    kernel.group_v1("svc", 60_000);
    kernel
}

fn v2() -> FakeKernel {
    let kernel = FakeKernel::with_cpus(2);
    kernel.group_v2("svc", "60000");
    kernel
}

fn own_group(kernel: &FakeKernel) -> CpuGroup {
    CpuGroup::of_process(&kernel.host(), LeverKind::Quota, "self").unwrap()
}

fn quota(kernel: &FakeKernel) -> Quota {
    Quota::open(&kernel.host(), &own_group(kernel), &Asked::default(), None).unwrap()
}

#[test]
fn a_quota_is_raised_and_put_back_in_both_versions() {
    for (kernel, file, base, peak) in [
        (v1(), V1_QUOTA, "60000", "120000"),
        (v2(), V2_QUOTA, "60000 100000", "120000 100000"),
    ] {
        let before = kernel.texts();
        let mut lever = quota(&kernel);
        assert_eq!(lever.lever().domain, Domain::Group("svc".to_owned()));
        assert!(kernel.writes().is_empty(), "opening only reads");
        lever.apply(Speed::Base).unwrap();
        assert_eq!(kernel.text(file), base);
        lever.apply(Speed::Peak).unwrap();
        assert_eq!(kernel.text(file), peak);
        lever.undo().unwrap();
        assert_eq!(kernel.texts(), before);
    }
}

#[test]
fn another_process_restores_a_quota_from_the_journal() {
    for kernel in [v1(), v2()] {
        let before = kernel.texts();
        let mut lever = quota(&kernel);
        let journal = serde_json::to_string(lever.saved()).unwrap();
        lever.apply(Speed::Peak).unwrap();
        std::mem::forget(lever);
        let saved: SavedState = serde_json::from_str(&journal).unwrap();
        assert_eq!(saved.restore(&kernel.host()).restored, 1);
        assert_eq!(kernel.texts(), before);
    }
}

#[test]
fn what_is_taken_beyond_the_quota_is_given_back() {
    let kernel = v2();
    let stat = |us: u64| {
        kernel.put(
            "sys/fs/cgroup/svc/cpu.stat",
            &format!("usage_usec {us}\nuser_usec 1"),
        );
    };
    let mut lever = quota(&kernel);
    let mut value = |speed| lever.apply(speed).unwrap().value;
    assert_eq!(value(Speed::Peak), 120_000);
    // An hour of CPU time: far more than its quota in whatever time this test takes.
    stat(3_600_000_000);
    assert_eq!(
        value(Speed::Peak),
        54_000,
        "no credit: below the quota until it is paid"
    );
    assert_eq!(value(Speed::Base), 54_000);
    assert!(lever.debt_ns() > 3_000_000_000_000);
    lever.undo().unwrap();
    assert_eq!(kernel.text(V2_QUOTA), "60000 100000");
}

#[test]
fn without_an_account_the_most_that_can_have_been_used_counts() {
    let kernel = v1();
    kernel.remove("sys/fs/cgroup/cpuacct");
    let host = kernel.host();
    let debt_max_us = Some(1);
    let mut lever =
        Quota::open(&host, &own_group(&kernel), &Asked::default(), debt_max_us).unwrap();
    assert_eq!(lever.apply(Speed::Peak).unwrap().value, 120_000);
    // 0.6 of a CPU more than the quota, for at least this time.
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(lever.apply(Speed::Peak).unwrap().value, 54_000);
    assert!(lever.debt_ns() >= 3_000_000);
}

#[test]
fn burst_is_raised_to_the_quota_and_put_back() {
    for (kernel, file) in [
        (v1(), "sys/fs/cgroup/cpu/svc/cpu.cfs_burst_us"),
        (v2(), "sys/fs/cgroup/svc/cpu.max.burst"),
    ] {
        let before = kernel.texts();
        let mut lever =
            burst::open(&kernel.host(), &own_group(&kernel), &Asked::default()).unwrap();
        lever.self_test(&mut WorkGauge::default()).unwrap();
        assert_eq!(kernel.texts(), before);
        lever.apply(Speed::Peak).unwrap();
        assert_eq!(kernel.text(file), "60000");
        drop(lever);
        assert_eq!(kernel.texts(), before);
    }
}

#[test]
fn a_burst_fills_its_group_up_once_however_often_it_is_boosted() {
    let kernel = v1();
    let file = "sys/fs/cgroup/cpu/svc/cpu.cfs_burst_us";
    let before = kernel.texts();
    let mut lever = burst::open(&kernel.host(), &own_group(&kernel), &Asked::default()).unwrap();
    assert_eq!(lever.apply(Speed::Base).unwrap().value, 0);
    assert_eq!(kernel.texts(), before, "nothing to write");
    for _ in 0..50 {
        assert_eq!(lever.apply(Speed::Peak).unwrap().value, 60_000);
        assert_eq!(
            lever.apply(Speed::Base).unwrap().value,
            60_000,
            "it stays up"
        );
    }
    let writes = kernel.writes().len();
    lever.undo().unwrap();
    assert_eq!(kernel.text(file), "0");
    for _ in 0..50 {
        let error = lever.apply(Speed::Peak).unwrap_err().to_string();
        assert!(error.ends_with("it is raised once in 10 s"), "{error}");
        lever.undo().unwrap();
    }
    assert_eq!((writes, kernel.writes().len()), (1, 2));
}

#[test]
fn quota_and_burst_of_a_group_have_one_owner() {
    let kernel = v1();
    let (host, group) = (kernel.host(), own_group(&kernel));
    let mut quota = Quota::open(&host, &group, &Asked::default(), None).unwrap();
    let mut burst = burst::open(&host, &group, &Asked::default()).unwrap();
    quota.apply(Speed::Peak).unwrap();
    assert!(burst.apply(Speed::Peak).unwrap_err().is_anothers());
    quota.undo().unwrap();
    burst.apply(Speed::Peak).unwrap();
    assert!(quota.apply(Speed::Peak).unwrap_err().is_anothers());
}

#[test]
fn a_quota_that_others_can_keep_raised_is_refused() {
    let opened = |kernel: &FakeKernel| {
        let group = CpuGroup::of_process(&kernel.host(), LeverKind::Quota, "self").unwrap();
        Quota::open(&kernel.host(), &group, &Asked::default(), None)
    };
    let of = |user: u32, mode: u32| {
        let kernel = v1();
        kernel.give("sys/fs/cgroup/cpu/svc", user, mode);
        opened(&kernel)
    };
    // Nobody who runs tests is this user.
    let told = of(4_000_000_001, 0o755).unwrap_err().to_string();
    assert_eq!(
        told,
        "quota is not available: user 4000000001 may make groups in /svc, by which a raised quota \
         stays raised"
    );
    let told = of(0, 0o775).unwrap_err().to_string();
    assert!(told.contains("others than its owner (mode 775)"), "{told}");
    of(0, 0o755).unwrap();
    // Version 2 takes any quota, whatever groups inside have.
    let kernel = FakeKernel::with_cpus(2);
    kernel.group_v2("svc", "60000");
    kernel.give("sys/fs/cgroup/svc", 4_000_000_001, 0o777);
    opened(&kernel).unwrap();
}

#[test]
fn groups_without_a_limit_and_values_out_of_range_are_refused() {
    let refused = |kernel: &FakeKernel, asked: Asked| {
        let group = CpuGroup::of_process(&kernel.host(), LeverKind::Quota, "self");
        let lever = group.and_then(|group| Quota::open(&kernel.host(), &group, &asked, None));
        lever.unwrap_err().to_string()
    };
    let unlimited = FakeKernel::with_cpus(2);
    unlimited.group_v2("svc", "max");
    let told = refused(&unlimited, Asked::default());
    assert_eq!(
        told,
        "quota is not available: the group /svc has no limit to raise"
    );
    let unlimited = FakeKernel::with_cpus(2);
    unlimited.group_v1("svc", -1);
    let told = refused(&unlimited, Asked::default());
    assert_eq!(
        told,
        "quota is not available: the group /svc has no limit to raise"
    );
    let root = FakeKernel::with_cpus(2);
    root.group_v1("", 60_000);
    root.put("sys/fs/cgroup/cpu/release_agent", "");
    let told = refused(&root, Asked::default());
    assert_eq!(
        told,
        "quota is not available: the process is in no control group but the root"
    );
    let other = |path: &str, is_made: bool| {
        let kernel = FakeKernel::with_cpus(2);
        kernel.group_v1("svc", 60_000);
        kernel.put("proc/self/cgroup", &format!("1:cpu:/{path}"));
        if is_made {
            kernel.put(&format!("sys/fs/cgroup/{path}/cgroup.procs"), "");
        }
        refused(&kernel, Asked::default())
    };
    assert_eq!(
        other("hosts/svc", false),
        "quota is not available: the control group /hosts/svc is not to be seen from here"
    );
    assert_eq!(
        other("bare", true),
        "quota is not available: the control group /bare has no CPU controller"
    );
    let told = refused(
        &v2(),
        Asked {
            peak: Some(300_000),
            ..Asked::default()
        },
    );
    assert_eq!(told, "peak of 300000 µs: quota allows 1000 to 200000 µs");
    let broken = v2();
    broken.put(V2_QUOTA, "much");
    assert!(refused(&broken, Asked::default()).contains("not a quota and a period"));
}

#[test]
fn a_quota_is_raised_no_further_than_the_groups_around_it_let_it() {
    for version in ["v1", "v2"] {
        let kernel = FakeKernel::with_cpus(4);
        let open = |pod_us: i32| {
            match version {
                "v1" => {
                    kernel.group_v1("pods/pod", pod_us);
                    kernel.group_v1("pods/pod/svc", 60_000);
                }
                _ => {
                    kernel.group_v2("pods/pod", &pod_us.to_string());
                    kernel.group_v2("pods/pod/svc", "60000");
                }
            }
            Quota::open(&kernel.host(), &own_group(&kernel), &Asked::default(), None)
        };
        assert_eq!(
            open(80_000).unwrap().lever().range.peak,
            80_000,
            "{version}"
        );
        assert_eq!(
            open(500_000).unwrap().lever().range.peak,
            120_000,
            "{version}"
        );
        assert_eq!(
            open(60_000).unwrap_err().to_string(),
            "quota is not available: the groups around /pods/pod/svc give it no more than its own \
             quota"
        );
    }
}

#[test]
fn a_read_only_group_and_a_quota_that_ignores_are_told() {
    let kernel = v2();
    kernel.spoil("sys/fs/cgroup", Fault::Open(libc::EROFS));
    let group = own_group(&kernel);
    let told = Quota::open(&kernel.host(), &group, &Asked::default(), None)
        .unwrap_err()
        .to_string();
    assert!(told.contains("cpu.max cannot be opened to write"), "{told}");
    assert!(told.contains("a container mounts it read-only"), "{told}");
    kernel.mend("sys/fs/cgroup");
    kernel.spoil(V2_QUOTA, Fault::Ignores);
    let told = quota(&kernel)
        .self_test(&mut WorkGauge::default())
        .unwrap_err()
        .to_string();
    assert_eq!(
        told,
        "/fake/sys/fs/cgroup/svc/cpu.max took \"120000\" and says \"60000\""
    );
}

#[test]
fn the_kernel_of_this_machine_takes_quota_and_burst_and_gets_them_back() {
    let real = RealGroup::create("control-test");
    let host = Host::default();
    let group = CpuGroup::find(&host, LeverKind::Quota, &real.name).unwrap();
    let open = |asked| Quota::open(&host, &group, &asked, None);
    let told = open(Asked::default()).unwrap_err().to_string();
    assert!(told.contains("has no limit to raise"), "{told}");
    real.limit(60_000);
    let mut gauge = WorkGauge::default();
    let mut lever = open(Asked {
        peak: Some(100_000),
        ..Asked::default()
    })
    .unwrap();
    lever.self_test(&mut gauge).unwrap();
    lever.apply(Speed::Peak).unwrap();
    let journal = lever.saved().clone();
    assert_eq!(
        open(Asked::default()).unwrap().lever().range.base,
        100_000,
        "still raised"
    );
    let restored = journal.restore(&host);
    assert_eq!(
        (restored.restored, restored.failed.len()),
        (1, 0),
        "{restored:?}"
    );
    assert_eq!(open(Asked::default()).unwrap().lever().range.base, 60_000);
    // The kernel takes its lock off when an owner is killed.
    drop(lever);
    let mut lever = burst::open(&host, &group, &Asked::default()).unwrap();
    lever.self_test(&mut gauge).unwrap();
    lever.apply(Speed::Peak).unwrap();
    lever.undo().unwrap();
    // As the real kernel does: no burst above the quota.
    let asked = Asked {
        peak: Some(70_000),
        ..Asked::default()
    };
    let told = burst::open(&host, &group, &asked).unwrap_err().to_string();
    assert_eq!(told, "peak of 70000 µs: burst allows 0 to 60000 µs");
}
