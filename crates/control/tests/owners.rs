//! Owners of one clock that know nothing of each other: who comes second moves nothing.

use bobtail_control::cpufreq::min_max::CpufreqMinMax;
use bobtail_control::cpufreq::userspace::CpufreqUserspace;
use bobtail_control::group::CpuGroup;
use bobtail_control::group::quota::Quota;
use bobtail_control::topology::{FrequencyDomain, frequency_domains};
use bobtail_control::{Actuator, Asked, ControlError, LeverKind, Place};
use bobtail_control::{energy_preference, intel_min_perf};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy, Fault};

fn one_cpu() -> (FakeKernel, FrequencyDomain) {
    let kernel = FakeKernel::with_cpus(1);
    kernel.cpufreq(&FakePolicy::of_cpu(0));
    let domain = frequency_domains(&kernel.host()).unwrap().remove(0);
    (kernel, domain)
}

fn file(name: &str) -> String {
    format!("sys/devices/system/cpu/cpufreq/policy0/{name}")
}

#[test]
fn what_another_owner_had_raised_is_not_taken_for_what_was_before() {
    let (kernel, domain) = one_cpu();
    let host = kernel.host();
    let asked = Asked::default();
    let before = kernel.texts();
    let open = |kind| -> Box<dyn Actuator> {
        match kind {
            LeverKind::CpufreqMinMax => {
                Box::new(CpufreqMinMax::open(&host, &domain, &[], &asked).unwrap())
            }
            _ => Box::new(CpufreqUserspace::open(&host, &domain, &[], &asked).unwrap()),
        }
    };
    for kind in [LeverKind::CpufreqMinMax, LeverKind::CpufreqUserspace] {
        let mut first = open(LeverKind::CpufreqMinMax);
        first.apply(Speed::Khz(3_300_000)).unwrap();
        let min = Place::sys("devices/system/cpu/cpufreq/policy0/scaling_min_freq");
        let shown = host.read_settled(&min, |khz| khz == "3300000");
        assert_eq!(shown.unwrap(), "3300000");
        let mut second = open(kind);
        first.undo().unwrap();
        let error = second.apply(Speed::Peak).unwrap_err();
        assert!(error.is_anothers(), "{error}");
        assert!(error.to_string().contains("was \"3300000\""), "{error}");
        assert_eq!(kernel.texts(), before);
        // Nobody is in anybody's way now.
        first.apply(Speed::Peak).unwrap();
        first.undo().unwrap();
    }
}

#[test]
fn a_clock_that_another_has_at_its_peak_is_told_as_held() {
    let (kernel, domain) = one_cpu();
    let host = kernel.host();
    let open = || CpufreqMinMax::open(&host, &domain, &[], &Asked::default());
    let mut first = open().unwrap();
    first.apply(Speed::Peak).unwrap();
    let peak = first.lever().range.peak.to_string();
    let min = Place::sys("devices/system/cpu/cpufreq/policy0/scaling_min_freq");
    host.read_settled(&min, |khz| khz == peak).unwrap();
    let error = open().unwrap_err();
    assert!(matches!(error, ControlError::Held { .. }), "{error}");
    // Raised by somebody who holds nothing, there is no more to say.
    first.undo().unwrap();
    kernel.put(&file("scaling_min_freq"), &peak);
    let error = open().unwrap_err().to_string();
    assert!(
        error.ends_with(&format!("base and peak are both {peak} kHz")),
        "{error}"
    );
}

#[test]
fn levers_of_two_kinds_on_one_clock_exclude_each_other() {
    let (kernel, domain) = one_cpu();
    let intel = "sys/devices/system/cpu/intel_pstate";
    kernel.put(&format!("{intel}/status"), "passive");
    kernel.put(&format!("{intel}/min_perf_pct"), "20");
    kernel.put(&format!("{intel}/max_perf_pct"), "100");
    let preferences = "default performance balance_performance balance_power power";
    kernel.put(
        &file("energy_performance_available_preferences"),
        preferences,
    );
    kernel.put(&file("energy_performance_preference"), "balance_power");
    let host = kernel.host();
    let asked = Asked::default();
    let mut levers: [Box<dyn Actuator>; 4] = [
        Box::new(CpufreqMinMax::open(&host, &domain, &[], &asked).unwrap()),
        Box::new(CpufreqUserspace::open(&host, &domain, &[], &asked).unwrap()),
        Box::new(energy_preference::open(&host, &domain, &asked).unwrap()),
        Box::new(intel_min_perf::open(&host, &asked).unwrap()),
    ];
    for first in 0..levers.len() {
        levers[first].apply(Speed::Peak).unwrap();
        for other in (0..levers.len()).filter(|&other| other != first) {
            let refused = levers[other].apply(Speed::Peak);
            let is_held = matches!(refused, Err(ControlError::Held { .. }));
            assert!(is_held, "{first} and {other}: {refused:?}");
        }
        levers[first].undo().unwrap();
    }
}

#[test]
fn a_lever_that_could_not_be_put_back_stays_held_until_it_is() {
    for kind in ["userspace", "min-max", "preference", "quota"] {
        let (kernel, domain) = one_cpu();
        let preferences = "default performance balance_performance balance_power power";
        kernel.put(
            &file("energy_performance_available_preferences"),
            preferences,
        );
        kernel.put(&file("energy_performance_preference"), "balance_power");
        kernel.group_v1("svc", 60_000);
        let before = kernel.texts();
        let host = kernel.host();
        let asked = Asked::default();
        let open = || -> Box<dyn Actuator> {
            let group = CpuGroup::find(&host, LeverKind::Quota, "svc").unwrap();
            match kind {
                "userspace" => {
                    Box::new(CpufreqUserspace::open(&host, &domain, &[], &asked).unwrap())
                }
                "min-max" => Box::new(CpufreqMinMax::open(&host, &domain, &[], &asked).unwrap()),
                "preference" => Box::new(energy_preference::open(&host, &domain, &asked).unwrap()),
                _ => Box::new(Quota::open(&host, &group, &asked, None).unwrap()),
            }
        };
        let mut first = open();
        let mut second = open();
        first.apply(Speed::Peak).unwrap();
        let spoiled = match kind {
            "userspace" => file("scaling_governor"),
            "min-max" => file("scaling_min_freq"),
            "preference" => file("energy_performance_preference"),
            _ => "sys/fs/cgroup/cpu/svc/cpu.cfs_quota_us".to_owned(),
        };
        kernel.spoil(&spoiled, Fault::Write(libc::EIO));
        first.undo().unwrap_err();
        first.undo().unwrap_err();
        kernel.mend(&spoiled);
        let refused = second.apply(Speed::Peak);
        let is_held = matches!(refused, Err(ControlError::Held { .. }));
        assert!(is_held, "{kind}: {refused:?}");
        first.undo().unwrap();
        assert_eq!(kernel.texts(), before, "{kind}");
        second.apply(Speed::Peak).unwrap();
        second.undo().unwrap();
        assert_eq!(kernel.texts(), before, "{kind}");
    }
}
