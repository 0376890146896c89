//! Hints and floors: the energy preference, intel_pstate's minimum, the clamps of a thread.

use std::sync::Arc;

use bobtail_control::gauge::WorkGauge;
use bobtail_control::intel_min_perf;
use bobtail_control::topology::{FrequencyDomain, frequency_domains};
use bobtail_control::uclamp::Uclamp;
use bobtail_control::{Actuator, Asked, Host, LeverKind, SavedState, energy_preference};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy, FakeThreads, Fault};

const PREFERENCE: &str = "sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference";
const GOVERNOR: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
const MIN_PERF: &str = "sys/devices/system/cpu/intel_pstate/min_perf_pct";

fn pstate(driver: &'static str) -> (FakeKernel, FrequencyDomain) {
    let kernel = FakeKernel::with_cpus(1);
    kernel.cpufreq(&FakePolicy {
        driver,
        governors: "performance powersave",
        governor: "powersave",
        ..FakePolicy::of_cpu(0)
    });
    let domain = frequency_domains(&kernel.host()).unwrap().remove(0);
    (kernel, domain)
}

#[test]
fn the_preference_moves_between_its_words_and_back() {
    for driver in ["intel_pstate", "amd-pstate-epp"] {
        let (kernel, domain) = pstate(driver);
        let before = kernel.texts();
        let mut lever =
            energy_preference::open(&kernel.host(), &domain, &Asked::default()).unwrap();
        assert!(
            lever
                .lever()
                .about
                .contains("balance_performance and performance")
        );
        lever.apply(Speed::Peak).unwrap();
        assert_eq!(kernel.text(PREFERENCE), "performance");
        lever.apply(Speed::Base).unwrap();
        assert_eq!(kernel.text(PREFERENCE), "balance_performance");
        assert!(
            lever
                .apply(Speed::Khz(1))
                .unwrap_err()
                .to_string()
                .contains("no frequencies")
        );
        lever.undo().unwrap();
        assert_eq!(kernel.texts(), before);
    }
}

#[test]
fn no_cpu_of_a_clock_gets_a_slower_preference_than_its_own() {
    let (kernel, _) = pstate("intel_pstate");
    kernel.put("sys/devices/system/cpu/online", "0-1");
    kernel.siblings(&[0, 1]);
    kernel.cpufreq(&FakePolicy {
        driver: "intel_pstate",
        governors: "performance powersave",
        governor: "powersave",
        ..FakePolicy::of_cpu(1)
    });
    kernel.put(PREFERENCE, "power");
    let domain = frequency_domains(&kernel.host()).unwrap().remove(0);
    let before = kernel.texts();
    let mut lever = energy_preference::open(&kernel.host(), &domain, &Asked::default()).unwrap();
    lever.apply(Speed::Base).unwrap();
    let other = PREFERENCE.replace("policy0", "policy1");
    assert_eq!(kernel.text(&other), "balance_performance");
    lever.undo().unwrap();
    assert_eq!(kernel.texts(), before);
}

#[test]
fn a_preference_that_is_not_there_or_taken_is_told() {
    let refused = |kernel: &FakeKernel, domain: &FrequencyDomain| {
        let lever = energy_preference::open(&kernel.host(), domain, &Asked::default());
        lever.unwrap_err().to_string()
    };
    let kernel = FakeKernel::with_cpus(1);
    kernel.cpufreq(&FakePolicy::of_cpu(0));
    let domain = frequency_domains(&kernel.host()).unwrap().remove(0);
    assert_eq!(
        refused(&kernel, &domain),
        "energy-preference is not available: driver acpi-cpufreq has no \
         energy_performance_preference"
    );
    let (kernel, domain) = pstate("intel_pstate");
    kernel.put(GOVERNOR, "performance");
    assert!(refused(&kernel, &domain).contains("performance keeps the preference"));
    kernel.put(GOVERNOR, "powersave");
    kernel.put(PREFERENCE, "performance");
    assert!(refused(&kernel, &domain).contains("is performance already"));
}

#[test]
fn a_governor_that_changes_meanwhile_makes_the_kernel_refuse() {
    let (kernel, domain) = pstate("amd-pstate-epp");
    let mut lever = energy_preference::open(&kernel.host(), &domain, &Asked::default()).unwrap();
    kernel.put(GOVERNOR, "performance");
    let told = lever.apply(Speed::Base).unwrap_err().to_string();
    assert!(
        told.contains("does not take \"balance_performance\": Device or resource busy"),
        "{told}"
    );
}

#[test]
fn the_floor_of_intel_pstate_is_raised_and_put_back() {
    let kernel = FakeKernel::with_cpus(2);
    let told = intel_min_perf::open(&kernel.host(), &Asked::default())
        .unwrap_err()
        .to_string();
    assert_eq!(
        told,
        "intel-min-perf is not available: the driver is not intel_pstate"
    );
    kernel.put("sys/devices/system/cpu/intel_pstate/status", "active");
    kernel.put("sys/devices/system/cpu/intel_pstate/max_perf_pct", "100");
    kernel.put(MIN_PERF, "22");
    let before = kernel.texts();
    let mut lever = intel_min_perf::open(&kernel.host(), &Asked::default()).unwrap();
    lever.self_test(&mut WorkGauge::default()).unwrap();
    assert_eq!(kernel.texts(), before);
    lever.apply(Speed::Peak).unwrap();
    assert_eq!(kernel.text(MIN_PERF), "100");
    drop(lever);
    assert_eq!(kernel.texts(), before);
    kernel.spoil(MIN_PERF, Fault::Ignores);
    let mut lever = intel_min_perf::open(&kernel.host(), &Asked::default()).unwrap();
    let told = lever
        .self_test(&mut WorkGauge::default())
        .unwrap_err()
        .to_string();
    assert!(
        told.ends_with("min_perf_pct took \"100\" and says \"22\""),
        "{told}"
    );
}

/// A host with clamps, schedutil, and one thread.
fn clamping() -> (Host, FakeKernel, FakeThreads) {
    let (kernel, threads) = (FakeKernel::with_cpus(1), FakeThreads::default());
    kernel.cpufreq(&FakePolicy::of_cpu(0));
    let stat = |start| format!("7 (a ) b) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0");
    kernel.put("proc/7/task/7/stat", &stat(4242));
    threads.put(7, 0, 1024);
    (
        kernel.host().and_threads(Arc::new(threads.clone())),
        kernel,
        threads,
    )
}

fn clamps(threads: &FakeThreads) -> (u32, u32) {
    bobtail_control::threads::Threads::clamps(threads, 7).unwrap()
}

#[test]
fn a_threads_clamp_is_raised_and_put_back() {
    let (host, _, threads) = clamping();
    let mut lever = Uclamp::open(&host, 7, &Asked::default()).unwrap();
    lever.self_test(&mut WorkGauge::default()).unwrap();
    lever.apply(Speed::Peak).unwrap();
    assert_eq!(clamps(&threads), (1024, 1024));
    let journal = serde_json::to_string(lever.saved()).unwrap();
    std::mem::forget(lever);
    let saved: SavedState = serde_json::from_str(&journal).unwrap();
    assert_eq!(saved.restore(&host).restored, 1);
    assert_eq!(clamps(&threads), (0, 1024));
}

#[test]
fn another_thread_with_the_same_id_is_left_alone() {
    let (host, kernel, threads) = clamping();
    let mut lever = Uclamp::open(&host, 7, &Asked::default()).unwrap();
    lever.apply(Speed::Peak).unwrap();
    kernel.put(
        "proc/7/task/7/stat",
        "7 (new) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9999 0 0",
    );
    threads.put(7, 300, 900);
    assert_eq!(lever.saved().restore(&host).gone, 1);
    assert_eq!(clamps(&threads), (300, 900));
    assert!(lever.apply(Speed::Base).unwrap_err().is_gone());
    assert_eq!(clamps(&threads), (300, 900));
    kernel.remove("proc/7");
    threads.end(7);
    assert_eq!(lever.saved().restore(&host).gone, 1);
    assert!(lever.apply(Speed::Base).unwrap_err().is_gone());
}

#[test]
fn a_clamp_that_was_not_put_back_is_tried_again() {
    let (host, _, threads) = clamping();
    let not_back = || {
        let mut lever = Uclamp::open(&host, 7, &Asked::default()).unwrap();
        lever.apply(Speed::Peak).unwrap();
        threads.refuse(true);
        assert!(lever.undo().is_err());
        assert_eq!(lever.put_back(&host).failed.len(), 1);
        threads.refuse(false);
        assert_eq!(clamps(&threads), (1024, 1024));
        lever
    };
    not_back().undo().unwrap();
    assert_eq!(clamps(&threads), (0, 1024));
    assert_eq!(not_back().put_back(&host).restored, 1);
    assert_eq!(clamps(&threads), (0, 1024));
    drop(not_back());
    assert_eq!(clamps(&threads), (0, 1024));
}

#[test]
fn a_clamp_that_was_never_moved_is_left_as_it_is() {
    let (host, _, threads) = clamping();
    let mut lever = Uclamp::open(&host, 7, &Asked::default()).unwrap();
    threads.refuse(true);
    assert!(lever.apply(Speed::Peak).is_err());
    threads.refuse(false);
    // Somebody else sets them.
    threads.put(7, 300, 900);
    assert_eq!(lever.put_back(&host).restored, 0);
    lever.undo().unwrap();
    drop(lever);
    assert_eq!(clamps(&threads), (300, 900));
}

#[test]
fn clamps_that_cannot_work_are_told() {
    let (host, kernel, threads) = clamping();
    let told = |host: &Host| {
        Uclamp::open(host, 7, &Asked::default())
            .unwrap_err()
            .to_string()
    };
    threads.put(7, 0, 0);
    assert_eq!(
        told(&host),
        "uclamp is not available: the kernel has no CONFIG_UCLAMP_TASK"
    );
    threads.put(7, 0, 1024);
    kernel.put(GOVERNOR, "performance");
    assert_eq!(
        told(&host),
        "uclamp is not available: no CPU runs under the governor schedutil"
    );
    kernel.put(GOVERNOR, "schedutil");
    threads.put(7, 1024, 1024);
    assert_eq!(
        told(&host),
        "uclamp is not available: the thread has its highest clamp already"
    );
    threads.put(7, 0, 1024);
    threads.ignore();
    let mut lever = Uclamp::open(&host, 7, &Asked::default()).unwrap();
    let told = lever
        .self_test(&mut WorkGauge::default())
        .unwrap_err()
        .to_string();
    assert!(told.starts_with("uclamp does nothing"), "{told}");
}

#[test]
fn this_machines_kernel_takes_a_clamp_or_says_why_not() {
    let host = Host::default();
    // SAFETY: takes nothing and cannot fail.
    let thread = unsafe { libc::gettid() };
    match Uclamp::open(&host, thread, &Asked::default()) {
        Ok(mut lever) => {
            lever.self_test(&mut WorkGauge::default()).unwrap();
        }
        Err(error) => {
            let told = error.to_string();
            let is_known = told.contains("CONFIG_UCLAMP_TASK") || told.contains("schedutil");
            assert!(is_known, "{told}");
            assert_eq!(error.code(), "BOBTAIL_LEVER_UNAVAILABLE");
        }
    }
    let gone = Uclamp::open(&host, i32::MAX, &Asked::default()).unwrap_err();
    assert!(gone.is_gone(), "{gone}");
    assert!(gone.to_string().contains(LeverKind::Uclamp.word()));
}
