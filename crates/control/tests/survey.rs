//! Which levers a host has: the best is chosen, the others are told with their reasons.

use bobtail_control::energy::rapl::Rapl;
use bobtail_control::energy::{EnergyKind, energy_sources};
use bobtail_control::gauge::Gauge;
use bobtail_control::survey::{Choice, Family, Target, open};
use bobtail_control::{Actuator, Asked, Domain, Host, LeverKind};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy, Fault};
use std::time::{Duration, Instant};

use same_gauge::SameGauge;

#[path = "support/same_gauge.rs"]
mod same_gauge;

fn target() -> Target {
    Target {
        cpus: vec![],
        // SAFETY: takes nothing and cannot fail.
        thread: unsafe { libc::gettid() },
        process: "self".to_owned(),
    }
}

/// What `auto` takes, with a gauge only what passes its test.
fn auto(
    host: &Host,
    asked: &Asked,
    mut gauge: Option<&mut dyn Gauge>,
) -> Choice<Box<dyn Actuator>> {
    Family::auto().best(host, asked, |kind| {
        let mut lever = open(host, &target(), kind, asked)?;
        if let Some(gauge) = gauge.as_deref_mut() {
            lever.self_test(gauge)?;
        }
        Ok(lever)
    })
}

fn why_not<T>(choice: &Choice<T>, kind: LeverKind) -> &str {
    let report = choice.passed_over.iter().find(|lever| lever.kind == kind);
    report.unwrap().why_not.as_deref().unwrap_or_default()
}

#[test]
fn auto_takes_the_best_that_is_there() {
    let kernel = FakeKernel::with_cpus(2);
    kernel.group_v1("svc", 60_000);
    let with = |asked: &Asked| auto(&kernel.host(), asked, None).taken.unwrap().0;
    let chosen = || with(&Asked::default());
    assert_eq!(chosen(), LeverKind::Quota);
    for cpu in 0..2 {
        kernel.cpufreq(&FakePolicy {
            driver: "intel_pstate",
            governors: "performance powersave",
            governor: "powersave",
            ..FakePolicy::of_cpu(cpu)
        });
    }
    assert_eq!(chosen(), LeverKind::CpufreqMinMax);
    // Only the hint may be written.
    for cpu in 0..2 {
        let file = format!("sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_min_freq");
        kernel.spoil(&file, Fault::Open(libc::EACCES));
    }
    assert_eq!(chosen(), LeverKind::EnergyPreference);
    kernel.remove("sys/devices/system/cpu/cpufreq");
    for cpu in 0..2 {
        kernel.cpufreq(&FakePolicy::of_cpu(cpu));
    }
    kernel.mend("sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq");
    kernel.mend("sys/devices/system/cpu/cpufreq/policy1/scaling_min_freq");
    // Userspace would hold the lowest frequency where no base is told.
    assert_eq!(chosen(), LeverKind::CpufreqMinMax);
    let asked = Asked {
        base: Some(2_600_000),
        ..Asked::default()
    };
    assert_eq!(with(&asked), LeverKind::CpufreqUserspace);
    let named = Family::named("cpufreq-userspace").unwrap();
    let by_name = named.best(&kernel.host(), &Asked::default(), |kind| {
        open(&kernel.host(), &target(), kind, &Asked::default())
    });
    assert!(by_name.taken.is_some());
    assert!(kernel.writes().is_empty(), "to open one only reads");
}

#[test]
fn a_burst_goes_before_the_quota_where_who_decides_is_held_back_too() {
    let kernel = FakeKernel::with_cpus(1);
    kernel.group_v2("svc", "60000");
    let choose = || auto(&kernel.host(), &Asked::default(), None);
    let choice = choose();
    assert_eq!(choice.taken.unwrap().0, LeverKind::Burst);
    let better: Vec<_> = choice.passed_over.iter().map(|one| one.kind).collect();
    assert!(!better.contains(&LeverKind::Quota), "{better:?}");
    assert_eq!(better.len(), 5, "{better:?}");
    // Set already, it needs no lever, and the quota is what is left.
    kernel.put("sys/fs/cgroup/svc/cpu.max.burst", "60000");
    let choice = choose();
    assert_eq!(
        why_not(&choice, LeverKind::Burst),
        "the burst of /svc is its quota already"
    );
    assert_eq!(choice.taken.unwrap().0, LeverKind::Quota);
    // In v1 who decides leaves the group.
    kernel.remove("sys/fs/cgroup/svc");
    kernel.group_v1("svc", 60_000);
    assert_eq!(choose().taken.unwrap().0, LeverKind::Quota);
}

#[test]
fn no_lever_is_an_honest_answer_with_reasons() {
    let kernel = FakeKernel::with_cpus(1);
    kernel.put("proc/self/cgroup", "0::/");
    let nothing = auto(&kernel.host(), &Asked::default(), None);
    assert!(nothing.taken.is_none());
    assert_eq!(
        why_not(&nothing, LeverKind::CpufreqUserspace),
        "no cpufreq policy for CPUs [0]"
    );
    assert_eq!(
        why_not(&nothing, LeverKind::Quota),
        "no control groups are mounted at /sys/fs/cgroup"
    );
    assert_eq!(
        why_not(&nothing, LeverKind::IntelMinPerf),
        "the driver is not intel_pstate"
    );
    assert_eq!(nothing.passed_over.len(), 7);
}

#[test]
fn several_clocks_move_as_one_and_only_those_of_the_target() {
    let kernel = FakeKernel::with_cpus(4);
    for cpu in 0..4 {
        kernel.cpufreq(&FakePolicy::of_cpu(cpu));
    }
    kernel.siblings(&[0, 1]);
    let before = kernel.texts();
    let target = Target {
        cpus: vec![1, 2],
        ..target()
    };
    let kind = LeverKind::CpufreqUserspace;
    let mut lever = open(&kernel.host(), &target, kind, &Asked::default()).unwrap();
    assert_eq!(lever.lever().domain, Domain::Cpus(vec![0, 1, 2]));
    assert!(lever.lever().about.starts_with("2 domains, each"));
    assert!(lever.apply(Speed::Peak).unwrap().is_changed);
    assert!(!lever.apply(Speed::Peak).unwrap().is_changed);
    let speed = |cpu: u32| {
        kernel.text(&format!(
            "sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_cur_freq"
        ))
    };
    let speeds: Vec<_> = (0..4).map(speed).collect();
    assert_eq!(speeds, ["800000", "4000000", "4000000", "800000"]);
    let saved = lever.saved().clone();
    std::mem::forget(lever);
    assert_eq!(saved.restore(&kernel.host()).restored, 9);
    assert_eq!(kernel.texts(), before);
}

#[test]
fn this_machine_is_looked_at_and_has_a_reason_for_each_that_is_not_there() {
    let told = auto(&Host::default(), &Asked::default(), None);
    for lever in &told.passed_over {
        assert!(!lever.is_available && lever.why_not.is_some(), "{lever:?}");
    }
    let sources = energy_sources(&Host::default());
    let last = sources.last().unwrap();
    assert_eq!(last.kind, EnergyKind::Modelled);
    assert!(last.about.starts_with("MODELLED"), "{}", last.about);
}

#[test]
fn rapl_counts_a_package_once_that_two_interfaces_tell() {
    let kernel = FakeKernel::default();
    let zone = |zone: &str, used_uj: u64| {
        let put = |file: &str, text: &str| {
            kernel.put(&format!("sys/class/powercap/{zone}/{file}"), text);
        };
        put("name", "package-0");
        put("energy_uj", &used_uj.to_string());
        put("max_energy_range_uj", "999999");
    };
    zone("intel-rapl-mmio:0", 7_000);
    zone("intel-rapl:0", 900);
    let mut rapl = Rapl::open(&kernel.host()).unwrap();
    assert_eq!(rapl.about(), "powercap: package-0");
    zone("intel-rapl-mmio:0", 7_049);
    zone("intel-rapl:0", 950);
    assert_eq!(rapl.used_uj().unwrap(), 50);
}

#[test]
fn rapl_counts_packages_and_survives_a_counter_that_wraps() {
    let kernel = FakeKernel::default();
    let zone = |zone: &str, name: &str, uj: u64| {
        let file = |file: &str, text: &str| {
            kernel.put(&format!("sys/class/powercap/{zone}/{file}"), text);
        };
        file("name", name);
        file("max_energy_range_uj", "999");
        file("energy_uj", &uj.to_string());
    };
    let host = kernel.host();
    assert!(!energy_sources(&host)[0].is_available);
    kernel.put("sys/class/powercap/intel-rapl/enabled", "1");
    zone("intel-rapl:0", "package-0", 900);
    zone("intel-rapl:0:0", "core", 500);
    zone("intel-rapl:1", "package-1", 100);
    let mut rapl = Rapl::open(&host).unwrap();
    assert_eq!(
        energy_sources(&host)[0].about,
        "powercap: package-0, package-1"
    );
    assert_eq!(rapl.used_uj().unwrap(), 0);
    zone("intel-rapl:0", "package-0", 950);
    zone("intel-rapl:1", "package-1", 130);
    assert_eq!(rapl.used_uj().unwrap(), 80);
    // From 950 over 999 and 0 to 20 are 70 steps.
    zone("intel-rapl:0", "package-0", 20);
    assert_eq!(rapl.used_uj().unwrap(), 70);
    kernel.remove("sys/class/powercap/intel-rapl:0/energy_uj");
    assert!(rapl.used_uj().unwrap_err().is_gone());
}

/// A tree in which the clock of CPU 0 stands for the energy of its package, 1 J in each second: an
/// event that every kernel counts.
fn power_events(kernel: &FakeKernel, kind: &str, event: &str) {
    let put = |file: &str, text: &str| {
        kernel.put(&format!("sys/bus/event_source/devices/power/{file}"), text);
    };
    put("type", kind);
    put("cpumask", "0");
    put("events/energy-pkg", event);
    put("events/energy-pkg.scale", "1.0e-9");
}

#[test]
fn rapl_is_counted_through_perf_where_powercap_has_none() {
    let kernel = FakeKernel::default();
    power_events(&kernel, "1", "event=0x00");
    let host = kernel.host();
    assert_eq!(energy_sources(&host)[0].about, "perf: package-0");
    let opened = Instant::now();
    let mut rapl = Rapl::open(&host).unwrap();
    let first_uj = rapl.used_uj().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let used_uj = first_uj + rapl.used_uj().unwrap();
    let most_uj = opened.elapsed().as_micros() as u64;
    assert!(
        (49_000..=most_uj).contains(&used_uj),
        "{used_uj} of {most_uj}"
    );
}

#[test]
fn an_event_that_perf_does_not_count_is_told_with_its_file() {
    let kernel = FakeKernel::default();
    let why = || energy_sources(&kernel.host())[0].why_not.clone().unwrap();
    assert!(why().starts_with("neither powercap nor perf"), "{}", why());
    power_events(&kernel, "1", "umask=0x02");
    assert!(
        why().contains("energy-pkg is \"umask=0x02\", not an event"),
        "{}",
        why()
    );
    power_events(&kernel, "4000000000", "event=0x02");
    assert!(
        why().contains("energy-pkg is not counted by perf: No such"),
        "{}",
        why()
    );
}

#[test]
fn a_lever_that_does_nothing_is_passed_over_and_undone() {
    let kernel = FakeKernel::with_cpus(1);
    kernel.cpufreq(&FakePolicy::of_cpu(0));
    kernel.put("proc/self/cgroup", "0::/");
    kernel.group_v2("svc", "60000");
    let before = kernel.texts();
    let mut gauge = SameGauge;
    let choice = auto(&kernel.host(), &Asked::default(), Some(&mut gauge));
    let why = why_not(&choice, LeverKind::CpufreqUserspace);
    assert!(
        why.contains("expected 5.00 times the speed, found 1.00"),
        "{why}"
    );
    let (kind, _) = choice.taken.unwrap();
    assert!(
        matches!(kind, LeverKind::Burst | LeverKind::Uclamp),
        "{kind}"
    );
    assert_eq!(kernel.texts(), before);
}
