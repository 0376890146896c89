//! CPU frequency on a kernel with its manners: what is set, what is refused, what is put back.

use bobtail_control::cpufreq::min_max::CpufreqMinMax;
use bobtail_control::cpufreq::userspace::CpufreqUserspace;
use bobtail_control::gauge::{Effort, Gauge};
use bobtail_control::latency::measure_latency;
use bobtail_control::topology::frequency_domains;
use bobtail_control::{Actuator, Asked, ControlError, LeverKind, SavedState};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy, Fault};
use one_cpu::{ClaimGauge, PAPER, POLICY, file, one_cpu, only_domain};

#[path = "support/one_cpu.rs"]
mod one_cpu;

#[test]
fn userspace_sets_the_frequency_and_undoes_everything() {
    let (kernel, domain) = one_cpu();
    let before = kernel.texts();
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
    assert!(kernel.writes().is_empty(), "opening only reads");
    let speed = || kernel.text(&file("scaling_cur_freq"));
    let applied = lever.apply(Speed::Base).unwrap();
    assert_eq!((applied.value, applied.is_changed), (2_600_000, true));
    assert_eq!(speed(), "2600000");
    lever.apply(Speed::Peak).unwrap();
    assert_eq!(speed(), "4000000");
    lever.apply(Speed::Khz(3_300_000)).unwrap();
    assert_eq!(speed(), "3300000");
    let written = kernel.writes().len();
    assert!(!lever.apply(Speed::Khz(3_300_000)).unwrap().is_changed);
    assert_eq!(
        kernel.writes().len(),
        written,
        "the same speed costs nothing"
    );
    lever.undo().unwrap();
    assert_eq!(kernel.texts(), before);
}

#[test]
fn a_dropped_lever_is_undone() {
    let (kernel, domain) = one_cpu();
    let before = kernel.texts();
    for asked in [PAPER, Asked::default()] {
        let mut lever = CpufreqMinMax::open(&kernel.host(), &domain, &[0], &asked).unwrap();
        lever.apply(Speed::Peak).unwrap();
        assert_ne!(kernel.texts(), before);
        drop(lever);
        assert_eq!(kernel.texts(), before);
    }
}

#[test]
fn another_process_restores_from_the_journal() {
    let (kernel, domain) = one_cpu();
    kernel.put(&file("scaling_max_freq"), "2000000");
    let before = kernel.texts();
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[], &PAPER).unwrap();
    let journal = serde_json::to_string(lever.saved()).unwrap();
    lever.apply(Speed::Peak).unwrap();
    std::mem::forget(lever);
    assert_ne!(kernel.texts(), before);
    let saved: SavedState = serde_json::from_str(&journal).unwrap();
    let restored = saved.restore(&kernel.host());
    assert_eq!(
        (restored.restored, restored.failed.len()),
        (3, 0),
        "{restored:?}"
    );
    assert_eq!(kernel.texts(), before);
    // Doing it again does no harm.
    assert_eq!(saved.restore(&kernel.host()).restored, 3);
}

#[test]
fn a_userspace_frequency_of_before_comes_back() {
    let (kernel, domain) = one_cpu();
    kernel.put(&file("scaling_governor"), "userspace");
    kernel.put(&file("scaling_setspeed"), "1200000");
    kernel.put(&file("scaling_cur_freq"), "1200000");
    let before = kernel.texts();
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
    lever.apply(Speed::Peak).unwrap();
    lever.undo().unwrap();
    assert_eq!(kernel.texts(), before);
}

#[test]
fn bounds_move_in_an_order_that_the_kernel_takes() {
    let (kernel, domain) = one_cpu();
    kernel.put(&file("scaling_max_freq"), "1500000");
    let before = kernel.texts();
    let mut lever = CpufreqMinMax::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
    let bounds = || {
        let text = |name| kernel.text(&file(name));
        (text("scaling_min_freq"), text("scaling_max_freq"))
    };
    let both = |khz: &str| (khz.to_owned(), khz.to_owned());
    for (speed, khz) in [
        (Speed::Base, "2600000"),
        (Speed::Peak, "4000000"),
        (Speed::Khz(900_000), "900000"),
        (Speed::Peak, "4000000"),
    ] {
        lever.apply(speed).unwrap();
        assert_eq!(bounds(), both(khz));
    }
    lever.undo().unwrap();
    assert_eq!(kernel.texts(), before);
}

#[test]
fn without_a_base_only_the_minimum_is_raised() {
    let (kernel, domain) = one_cpu();
    let asked = Asked::default();
    let mut lever = CpufreqMinMax::open(&kernel.host(), &domain, &[0], &asked).unwrap();
    lever.apply(Speed::Peak).unwrap();
    lever.apply(Speed::Base).unwrap();
    let min = file("scaling_min_freq");
    assert_eq!(
        kernel.writes(),
        [800_000, 4_000_000, 800_000].map(|khz| format!("{min} = {khz}"))
    );
}

#[test]
fn the_performance_governor_leaves_nothing_to_raise() {
    let (kernel, domain) = one_cpu();
    kernel.put(&file("scaling_governor"), "performance");
    let open = |asked: Asked| CpufreqMinMax::open(&kernel.host(), &domain, &[0], &asked);
    let error = open(Asked::default()).unwrap_err().to_string();
    assert!(
        error.contains("performance runs at the peak already"),
        "{error}"
    );
    open(PAPER).unwrap();
}

#[test]
fn what_is_asked_for_is_held_to_the_hardware_and_to_what_is_allowed() {
    let (kernel, domain) = one_cpu();
    let refused = |asked: Asked| {
        let lever = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &asked);
        lever.unwrap_err().to_string()
    };
    let asked = Asked::default();
    assert_eq!(
        refused(Asked {
            peak: Some(5_000_000),
            ..asked
        }),
        "peak of 5000000 kHz: cpufreq-userspace allows 800000 to 4000000 kHz"
    );
    assert_eq!(
        refused(Asked {
            highest: Some(3_000_000),
            ..PAPER
        }),
        "peak of 4000000 kHz: cpufreq-userspace allows 800000 to 3000000 kHz"
    );
    assert_eq!(
        refused(Asked {
            base: Some(3_000_000),
            peak: Some(2_000_000),
            ..asked
        }),
        "base of 3000000 kHz: cpufreq-userspace allows 800000 to 2000000 kHz"
    );
    assert_eq!(
        refused(Asked {
            lowest: Some(9_000_000),
            ..asked
        }),
        "lowest of 9000000 kHz: cpufreq-userspace allows 800000 to 4000000 kHz"
    );
    assert!(
        refused(Asked {
            highest: Some(800_000),
            ..asked
        })
        .contains("base and peak are both")
    );
    let allowed = Asked {
        highest: Some(3_000_000),
        lowest: Some(1_000_000),
        ..asked
    };
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &allowed).unwrap();
    assert_eq!(lever.apply(Speed::Khz(9_000_000)).unwrap().value, 3_000_000);
    assert_eq!(lever.apply(Speed::Khz(1)).unwrap().value, 1_000_000);
}

#[test]
fn the_kernels_refusals_are_told_with_file_value_and_remedy() {
    let is_root = rustix::process::geteuid().is_root();
    let rights = match is_root {
        true => "root may not either, as in many containers: bobtaild on the host can",
        false => "it needs root, or bobtaild",
    };
    let cases = [
        (Fault::Open(libc::EACCES), rights),
        (Fault::Open(libc::EROFS), "mounts it read-only"),
        (Fault::Write(libc::EBUSY), "Device or resource busy"),
        (Fault::Write(libc::EINVAL), "Invalid argument"),
    ];
    for (fault, expected) in cases {
        let (kernel, domain) = one_cpu();
        let before = kernel.texts();
        kernel.spoil(&file("scaling_setspeed"), fault);
        let told = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER)
            .and_then(|mut lever| lever.apply(Speed::Peak))
            .unwrap_err()
            .to_string();
        assert!(told.contains("scaling_setspeed"), "{told}");
        assert!(told.contains(expected), "{told}");
        assert_eq!(kernel.texts(), before, "undone after {told}");
    }
}

#[test]
fn a_host_without_the_governor_says_which_it_has() {
    let kernel = FakeKernel::with_cpus(1);
    kernel.cpufreq(&FakePolicy {
        driver: "intel_pstate",
        governors: "performance powersave",
        governor: "powersave",
        ..FakePolicy::of_cpu(0)
    });
    let domain = only_domain(&kernel);
    let error = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cpufreq-userspace is not available: policy0 offers the governors \
         \"performance powersave\", not userspace"
    );
    CpufreqMinMax::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
}

#[test]
fn a_host_without_cpufreq_says_so() {
    let kernel = FakeKernel::with_cpus(1);
    let domain = only_domain(&kernel);
    let error = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cpufreq-userspace is not available: no cpufreq policy for CPUs [0]"
    );
}

#[test]
fn a_setting_that_disappears_does_not_keep_the_others_from_being_restored() {
    let kernel = FakeKernel::with_cpus(2);
    kernel.cpufreq(&FakePolicy::of_cpu(0));
    kernel.cpufreq(&FakePolicy::of_cpu(1));
    kernel.siblings(&[0, 1]);
    let domain = only_domain(&kernel);
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[], &PAPER).unwrap();
    lever.apply(Speed::Peak).unwrap();
    // CPU 0 goes offline.
    kernel.remove(POLICY);
    let error = lever.apply(Speed::Base).unwrap_err();
    assert!(error.is_gone(), "{error}");
    let restored = lever.saved().restore(&kernel.host());
    assert_eq!((restored.restored, restored.gone), (3, 3), "{restored:?}");
    let other = "sys/devices/system/cpu/cpufreq/policy1/scaling_governor";
    assert_eq!(kernel.text(other), "schedutil");
    lever.undo().unwrap();
}

#[test]
fn a_setting_that_cannot_be_put_back_is_told() {
    let (kernel, domain) = one_cpu();
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
    lever.apply(Speed::Peak).unwrap();
    kernel.spoil(&file("scaling_governor"), Fault::Open(libc::EROFS));
    let error = lever.undo().unwrap_err().to_string();
    assert!(
        error.contains("scaling_governor cannot be opened to write"),
        "{error}"
    );
    kernel.mend(&file("scaling_governor"));
    kernel.spoil(&file("scaling_governor"), Fault::Ignores);
    let restored = lever.saved().restore(&kernel.host());
    assert_eq!(
        (restored.differing.len(), restored.restored),
        (1, 2),
        "{restored:?}"
    );
}

#[test]
fn a_lever_is_held_by_one_owner() {
    let (kernel, domain) = one_cpu();
    let open = || CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
    let (mut first, mut second) = (open(), open());
    first.apply(Speed::Peak).unwrap();
    let error = second.apply(Speed::Base).unwrap_err();
    assert!(matches!(error, ControlError::Held { .. }), "{error}");
    assert_eq!(kernel.text(&file("scaling_cur_freq")), "4000000");
    first.undo().unwrap();
    second.apply(Speed::Base).unwrap();
}

#[test]
fn a_lever_that_works_passes_its_test() {
    let (kernel, domain) = one_cpu();
    let before = kernel.texts();
    let mut gauge = ClaimGauge::of(&kernel, 0.8);
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
    let test = lever.self_test(&mut gauge).unwrap();
    assert!(test.measured.unwrap() > 1.3, "{test:?}");
    assert_eq!(kernel.texts(), before);
}

#[test]
fn a_lever_that_does_nothing_fails_its_test() {
    let (kernel, domain) = one_cpu();
    let before = kernel.texts();
    // A virtual machine: it says the frequency back and runs as before.
    let mut gauge = ClaimGauge::of(&kernel, 0.0);
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
    let error = lever.self_test(&mut gauge).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cpufreq-userspace does nothing: expected 1.54 times the speed, found 1.00"
    );
    // Or it gives less than half of what it promises.
    gauge.exponent = 0.4;
    let error = lever.self_test(&mut gauge).unwrap_err();
    assert!(matches!(error, ControlError::NoEffect { .. }), "{error}");
    // A setting that takes values and keeps its own.
    kernel.spoil(&file("scaling_setspeed"), Fault::Ignores);
    let error = lever.self_test(&mut gauge).unwrap_err();
    assert!(matches!(error, ControlError::Ignored { .. }), "{error}");
    kernel.mend(&file("scaling_setspeed"));
    assert_eq!(kernel.texts(), before);
}

/// Says one rate after the other.
struct RatesGauge(std::array::IntoIter<f64, 4>);

impl Gauge for RatesGauge {
    fn rate(&mut self, _: LeverKind, _: &[u32], _: Effort) -> Result<f64, ControlError> {
        Ok(self.0.next().expect("no more than four looks"))
    }
}

#[test]
fn a_lever_that_seems_to_work_only_while_others_do_fails_its_test() {
    let (kernel, domain) = one_cpu();
    let before = kernel.texts();
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
    // Somebody takes half of the CPU while it is at base for the first time, or the second.
    for rates in [[0.5, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.5]] {
        let error = lever
            .self_test(&mut RatesGauge(rates.into_iter()))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "cpufreq-userspace does nothing: expected 1.54 times the speed, found 1.00"
        );
    }
    // The smaller of what it was seen to bring is told.
    let mut gauge = RatesGauge([1.0, 1.6, 1.5, 1.0].into_iter());
    let test = lever.self_test(&mut gauge).unwrap();
    assert_eq!(test.measured, Some(1.5));
    assert_eq!(kernel.texts(), before);
}

#[test]
fn damaged_files_are_told_with_what_they_say() {
    let (kernel, domain) = one_cpu();
    kernel.put(&file("cpuinfo_max_freq"), "fast");
    let error = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("cpuinfo_max_freq is \"fast\", not a number in range")
    );
    kernel.put(&file("related_cpus"), "0-");
    let error = frequency_domains(&kernel.host()).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("related_cpus is \"0-\", not a list of CPUs"),
        "{error}"
    );
}

#[test]
fn a_journal_cannot_name_files_elsewhere() {
    let (kernel, _) = one_cpu();
    let journal = r#"{"lever":"cpufreq-userspace","domain":{"cpus":[0]},"settings":[
        {"file":{"place":{"root":"sys","path":"../etc/passwd"},"value":"x"}},
        {"file":{"place":{"root":"sys","path":"/etc/passwd"},"value":"x"}}]}"#;
    let saved: SavedState = serde_json::from_str(journal).unwrap();
    let restored = saved.restore(&kernel.host());
    assert_eq!(restored.failed.len(), 2);
    assert!(matches!(restored.failed[0], ControlError::Outside { .. }));
}

#[test]
fn changes_are_timed_and_undone() {
    let (kernel, domain) = one_cpu();
    let before = kernel.texts();
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
    let latency = measure_latency(&mut lever, 50).unwrap();
    assert_eq!(latency.changes, 100);
    assert!(latency.p50_ns <= latency.p99_ns && latency.p99_ns <= latency.max_ns);
    assert_eq!(kernel.texts(), before);
    kernel.spoil(&file("scaling_setspeed"), Fault::Write(libc::EBUSY));
    assert!(measure_latency(&mut lever, 1).is_err());
    assert_eq!(kernel.texts(), before);
}

#[test]
fn bounds_of_before_do_not_clamp_the_frequency_that_is_set() {
    let (kernel, domain) = one_cpu();
    kernel.put(&file("scaling_min_freq"), "1800000");
    kernel.put(&file("scaling_max_freq"), "2000000");
    let before = kernel.texts();
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[0], &PAPER).unwrap();
    for khz in [4_000_000, 900_000] {
        lever.apply(Speed::Khz(khz)).unwrap();
        assert_eq!(kernel.text(&file("scaling_cur_freq")), khz.to_string());
    }
    lever.undo().unwrap();
    let settings = |name| {
        (
            kernel.text(&file(name)),
            before[&file_path(name)].trim().to_owned(),
        )
    };
    for name in ["scaling_governor", "scaling_min_freq", "scaling_max_freq"] {
        let (now, was) = settings(name);
        assert_eq!(now, was, "{name}");
    }
}

fn file_path(name: &str) -> std::path::PathBuf {
    std::path::Path::new("/fake").join(file(name))
}
