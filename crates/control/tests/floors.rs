//! A floor under a governor's own choice, and frequencies that a driver has or has not.

use bobtail_control::cpufreq::min_max::CpufreqMinMax;
use bobtail_control::cpufreq::userspace::CpufreqUserspace;
use bobtail_control::topology::FrequencyDomain;
use bobtail_control::{Actuator, Asked, ControlError, LeverKind, Place};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy};
use one_cpu::{ClaimGauge, PAPER, file, one_cpu, only_domain};

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/one_cpu.rs"]
mod one_cpu;

#[test]
fn a_raise_that_does_not_show_yet_is_put_back() {
    let (kernel, domain) = one_cpu();
    let before = kernel.texts();
    let asked = Asked::default();
    let mut lever = CpufreqMinMax::open(&kernel.host(), &domain, &[0], &asked).unwrap();
    let saved = lever.saved().clone();
    lever.apply(Speed::Peak).unwrap();
    std::mem::forget(lever);
    let shown = kernel.host().read(&Place::sys(
        "devices/system/cpu/cpufreq/policy0/scaling_min_freq",
    ));
    assert_eq!(shown.unwrap(), "800000", "as if nothing were raised");
    assert_eq!(saved.restore(&kernel.host()).restored, 1);
    assert_eq!(kernel.texts(), before);
}

#[test]
fn a_maximum_that_somebody_lowered_is_the_peak_and_stays() {
    let (kernel, domain) = one_cpu();
    kernel.put(&file("scaling_max_freq"), "2400000");
    let open = |asked: Asked| CpufreqMinMax::open(&kernel.host(), &domain, &[0], &asked);
    let mut lever = open(Asked::default()).unwrap();
    assert_eq!(lever.apply(Speed::Peak).unwrap().value, 2_400_000);
    let min = file("scaling_min_freq");
    assert!(kernel.writes().iter().all(|one| one.starts_with(&min)));
    lever.undo().unwrap();
    let above = Asked {
        peak: Some(4_000_000),
        ..Asked::default()
    };
    assert_eq!(
        open(above).unwrap_err().to_string(),
        "peak of 4000000 kHz: cpufreq-min-max allows 800000 to 2400000 kHz"
    );
}

#[test]
fn a_floor_under_a_governor_that_goes_by_use_passes_its_test() {
    let (kernel, domain) = one_cpu();
    let before = kernel.texts();
    let mut gauge = ClaimGauge::of(&kernel, 0.8);
    for asked in [Asked::default(), PAPER] {
        let mut lever = CpufreqMinMax::open(&kernel.host(), &domain, &[0], &asked).unwrap();
        lever.self_test(&mut gauge).unwrap();
    }
    gauge.exponent = 0.0;
    let mut lever = CpufreqMinMax::open(&kernel.host(), &domain, &[0], &Asked::default()).unwrap();
    let error = lever.self_test(&mut gauge).unwrap_err();
    assert!(matches!(error, ControlError::NoEffect { .. }), "{error}");
    assert_eq!(kernel.texts(), before);
}

#[test]
fn frequencies_between_those_of_a_table_are_the_next_ones_up() {
    let (kernel, domain) = one_cpu();
    let table = "4000000 3400000 2800000 2000000 800000";
    kernel.put(&file("scaling_available_frequencies"), table);
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
    assert_eq!(lever.apply(Speed::Base).unwrap().value, 2_800_000);
    let mut gauge = ClaimGauge::of(&kernel, 1.0);
    lever.self_test(&mut gauge).unwrap();
}

/// Hardware threads of one core, of which the second has a higher floor.
fn unlike_siblings() -> (FakeKernel, FrequencyDomain) {
    let kernel = FakeKernel::with_cpus(2);
    for cpu in [0, 1] {
        kernel.cpufreq(&FakePolicy::of_cpu(cpu));
    }
    kernel.siblings(&[0, 1]);
    kernel.put(&of_cpu(1, "scaling_min_freq"), "1600000");
    kernel.put(&of_cpu(1, "scaling_cur_freq"), "1600000");
    let domain = only_domain(&kernel);
    (kernel, domain)
}

fn of_cpu(cpu: u32, name: &str) -> String {
    format!("sys/devices/system/cpu/cpufreq/policy{cpu}/{name}")
}

#[test]
fn no_cpu_of_a_clock_gets_below_its_own_floor() {
    for kind in [LeverKind::CpufreqMinMax, LeverKind::CpufreqUserspace] {
        let (kernel, domain) = unlike_siblings();
        let before = kernel.texts();
        let asked = Asked::default();
        let mut lever: Box<dyn Actuator> = match kind {
            LeverKind::CpufreqMinMax => {
                Box::new(CpufreqMinMax::open(&kernel.host(), &domain, &[0], &asked).unwrap())
            }
            _ => Box::new(CpufreqUserspace::open(&kernel.host(), &domain, &[0], &asked).unwrap()),
        };
        assert_eq!(lever.lever().range.base, 1_600_000, "{kind}");
        let speeds = [
            Speed::Base,
            Speed::Khz(900_000),
            Speed::Peak,
            Speed::Khz(1),
            Speed::Base,
        ];
        for speed in speeds {
            let applied = lever.apply(speed).unwrap();
            assert!(applied.value >= 1_600_000, "{kind} {speed:?}: {applied:?}");
            for (cpu, floor) in [(0, 800_000), (1, 1_600_000)] {
                let khz: u32 = kernel
                    .text(&of_cpu(cpu, "scaling_cur_freq"))
                    .parse()
                    .unwrap();
                assert!(khz >= floor, "{kind} {speed:?}: CPU {cpu} has {khz} kHz");
                let min: u32 = kernel
                    .text(&of_cpu(cpu, "scaling_min_freq"))
                    .parse()
                    .unwrap();
                assert!(
                    min >= floor,
                    "{kind} {speed:?}: CPU {cpu} has a floor of {min} kHz"
                );
            }
        }
        lever.undo().unwrap();
        let after = kernel.texts();
        for cpu in [0, 1] {
            for name in ["scaling_min_freq", "scaling_max_freq", "scaling_governor"] {
                let path = std::path::Path::new("/fake").join(of_cpu(cpu, name));
                assert_eq!(after[&path], before[&path], "{kind}: {}", path.display());
            }
        }
    }
}

#[test]
fn a_base_that_was_told_holds_for_all_cpus_of_a_clock() {
    let (kernel, domain) = unlike_siblings();
    let before = kernel.texts();
    let asked = Asked {
        base: Some(1_200_000),
        ..Asked::default()
    };
    let mut lever = CpufreqMinMax::open(&kernel.host(), &domain, &[], &asked).unwrap();
    lever.apply(Speed::Base).unwrap();
    for cpu in [0, 1] {
        for name in ["scaling_min_freq", "scaling_max_freq"] {
            assert_eq!(kernel.text(&of_cpu(cpu, name)), "1200000");
        }
    }
    lever.undo().unwrap();
    assert_eq!(kernel.texts(), before);
}
