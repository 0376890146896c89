//! CPUs that share a clock: which they are, and what that means for who moves and who holds them.

use bobtail_control::cpufreq::userspace::CpufreqUserspace;
use bobtail_control::topology::{FrequencyDomain, frequency_domains};
use bobtail_control::{Actuator, Asked, ControlError, Domain};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy};

const PAPER: Asked = Asked {
    base: Some(2_600_000),
    peak: Some(4_000_000),
    lowest: None,
    highest: None,
};

fn only_domain(kernel: &FakeKernel) -> FrequencyDomain {
    let mut domains = frequency_domains(&kernel.host()).unwrap();
    assert_eq!(domains.len(), 1, "{domains:?}");
    domains.remove(0)
}

#[test]
fn clocks_are_shared_by_siblings_policies_and_coupled_cpus() {
    let kernel = FakeKernel::with_cpus(8);
    let domains = || {
        let found = frequency_domains(&kernel.host()).unwrap();
        let told = found
            .into_iter()
            .map(|domain| (domain.cpus, domain.policies));
        told.collect::<Vec<_>>()
    };
    assert_eq!(domains().len(), 8);
    kernel.siblings(&[0, 4]);
    assert_eq!(domains()[0], (vec![0, 4], vec![]));
    for cpu in [0, 4, 1, 5] {
        kernel.cpufreq(&FakePolicy::of_cpu(cpu));
    }
    assert_eq!(domains()[0], (vec![0, 4], vec![0, 4]));
    kernel.cpufreq(&FakePolicy {
        cpus: vec![2, 6, 7],
        ..FakePolicy::of_cpu(2)
    });
    kernel.cpufreq(&FakePolicy {
        coupled_cpus: Some(vec![1, 2]),
        ..FakePolicy::of_cpu(1)
    });
    assert_eq!(domains()[1], (vec![1, 2, 6, 7], vec![1, 2]));
}

#[test]
fn a_boost_moves_only_the_callers_cpus_but_base_holds_for_all_that_share_the_clock() {
    let kernel = FakeKernel::with_cpus(2);
    kernel.cpufreq(&FakePolicy::of_cpu(0));
    kernel.cpufreq(&FakePolicy::of_cpu(1));
    kernel.siblings(&[0, 1]);
    let domain = only_domain(&kernel);
    let mut lever = CpufreqUserspace::open(&kernel.host(), &domain, &[1], &PAPER).unwrap();
    assert_eq!(lever.lever().domain, Domain::Cpus(vec![0, 1]));
    lever.apply(Speed::Peak).unwrap();
    let speed = |cpu| {
        kernel.text(&format!(
            "sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_cur_freq"
        ))
    };
    assert_eq!((speed(0), speed(1)), ("2600000".into(), "4000000".into()));
}

#[test]
fn who_is_refused_one_setting_holds_none() {
    let kernel = FakeKernel::with_cpus(2);
    kernel.cpufreq(&FakePolicy::of_cpu(0));
    kernel.cpufreq(&FakePolicy::of_cpu(1));
    let of_cpu_1 = frequency_domains(&kernel.host()).unwrap().remove(1);
    kernel.siblings(&[0, 1]);
    let both = only_domain(&kernel);
    let open = |domain| CpufreqUserspace::open(&kernel.host(), domain, &[], &PAPER).unwrap();
    let (mut first, mut refused) = (open(&of_cpu_1), open(&both));
    first.apply(Speed::Peak).unwrap();
    assert!(matches!(
        refused.apply(Speed::Peak),
        Err(ControlError::Held { .. })
    ));
    first.undo().unwrap();
    // The one that was refused is still there, and must not stand in anybody's way.
    open(&both).apply(Speed::Peak).unwrap();
}
