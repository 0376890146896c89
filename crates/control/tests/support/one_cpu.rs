//! A machine of one CPU with cpufreq, and how fast it says to be.

use bobtail_control::gauge::{Effort, Gauge};
use bobtail_control::topology::{FrequencyDomain, frequency_domains};
use bobtail_control::{Asked, ControlError, LeverKind};
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy};

pub const POLICY: &str = "sys/devices/system/cpu/cpufreq/policy0";
pub const PAPER: Asked = Asked {
    base: Some(2_600_000),
    peak: Some(4_000_000),
    lowest: None,
    highest: None,
};

/// One CPU with cpufreq.
pub fn one_cpu() -> (FakeKernel, FrequencyDomain) {
    let kernel = FakeKernel::with_cpus(1);
    kernel.cpufreq(&FakePolicy::of_cpu(0));
    let domain = only_domain(&kernel);
    (kernel, domain)
}

pub fn only_domain(kernel: &FakeKernel) -> FrequencyDomain {
    let mut domains = frequency_domains(&kernel.host()).unwrap();
    assert_eq!(domains.len(), 1, "{domains:?}");
    domains.remove(0)
}

pub fn file(name: &str) -> String {
    format!("{POLICY}/{name}")
}

/// Says how fast a fake CPU is by what its kernel claims, or another factor of that. A governor
/// that goes by use takes a busy CPU to the maximum.
pub struct ClaimGauge {
    kernel: FakeKernel,
    pub exponent: f64,
}

impl ClaimGauge {
    pub fn of(kernel: &FakeKernel, exponent: f64) -> Self {
        let kernel = kernel.clone();
        Self { kernel, exponent }
    }
}

impl Gauge for ClaimGauge {
    fn rate(&mut self, _: LeverKind, _: &[u32], effort: Effort) -> Result<f64, ControlError> {
        let governor = self.kernel.text(&file("scaling_governor"));
        let goes_by_use = !["userspace", "performance"].contains(&governor.as_str());
        let name = match effort {
            Effort::Sustained if goes_by_use => "scaling_max_freq",
            _ => "scaling_cur_freq",
        };
        let khz: f64 = self.kernel.text(&file(name)).parse().unwrap();
        Ok(khz.powf(self.exponent))
    }
}
