//! Sets a frequency by `scaling_setspeed` under the governor `userspace`, as the paper did.
//!
//! One system call per policy and change, in which the kernel has the driver make the change. The
//! whole domain is put to base first, because the hardware runs at the highest request of all
//! CPUs that share a clock; after that only the policies of the caller's own CPUs move.

use std::os::fd::BorrowedFd;

use bobtail_policy::Speed;

use crate::actuator::{Actuator, Applied, SelfTest};
use crate::cpufreq::{self, Bounds, place};
use crate::error::ControlError;
use crate::gauge::{self, Effort, Gauge};
use crate::held::Held;
use crate::host::Host;
use crate::knob::Knob;
use crate::lever::{Asked, Domain, Lever, LeverKind, Range};
use crate::saved::{Restored, SavedState};
use crate::topology::FrequencyDomain;

const KIND: LeverKind = LeverKind::CpufreqUserspace;
/// `scaling_setspeed` says what the driver made of a frequency (`show_speed` of
/// `cpufreq_userspace.c`), which may go in steps of so much: intel_cpufreq's.
const STEP_KHZ: u32 = 100_000;

/// The frequency of one domain.
#[derive(Debug)]
pub struct CpufreqUserspace {
    host: Host,
    lever: Lever,
    saved: SavedState,
    held: Held,
    bounds: Vec<Bounds>,
    governors: Vec<Knob>,
    /// `scaling_setspeed` of every policy of the domain.
    speeds: Vec<Knob>,
    /// Which of `speeds` a change writes.
    leading: Vec<usize>,
    now: Option<u32>,
}

impl CpufreqUserspace {
    /// Opens the lever of a domain for a thread that runs on `cpus` (on any, if empty).
    ///
    /// # Errors
    ///
    /// When the domain has no cpufreq or no governor `userspace`, a file cannot be written, or
    /// what is asked for is out of range.
    pub fn open(
        host: &Host,
        domain: &FrequencyDomain,
        cpus: &[u32],
        asked: &Asked,
    ) -> Result<Self, ControlError> {
        let leading = cpufreq::leading_policies(host, KIND, domain, cpus)?;
        for &policy in &domain.policies {
            require_governor(host, policy)?;
        }
        let range = cpufreq::range_with_room(host, KIND, domain, asked)?;
        let mut settings = cpufreq::saved(
            host,
            domain,
            &["scaling_governor", "scaling_max_freq", "scaling_min_freq"],
        )?;
        for &policy in &domain.policies {
            if host.read(&place(policy, "scaling_governor"))? == "userspace" {
                settings.append(&mut cpufreq::saved(
                    host,
                    &FrequencyDomain {
                        cpus: vec![],
                        policies: vec![policy],
                    },
                    &["scaling_setspeed"],
                )?);
            }
        }
        let files = |file| cpufreq::knobs(host, &domain.policies, file);
        let position = |policy| domain.policies.iter().position(|other| other == policy);
        let domain_of = Domain::Cpus(domain.cpus.clone());
        Ok(Self {
            lever: Lever {
                kind: KIND,
                domain: domain_of.clone(),
                range,
                about: about(host, domain)?,
                transition_ns: cpufreq::transition_ns(host, domain)?,
                is_emulated: false,
            },
            saved: SavedState {
                lever: KIND,
                domain: domain_of,
                settings,
            },
            held: Held::open(host, cpufreq::marks(&domain.policies))?,
            bounds: Bounds::open(host, &domain.policies)?,
            governors: files("scaling_governor")?,
            speeds: files("scaling_setspeed")?,
            leading: leading.iter().filter_map(position).collect(),
            now: None,
            host: host.clone(),
        })
    }

    /// Takes the domain over: governor, bounds that let the range through, base everywhere.
    fn hold(&mut self) -> Result<(), ControlError> {
        self.held.take(&self.host, &self.saved)?;
        let Range {
            base, peak, lowest, ..
        } = self.lever.range;
        for governor in &mut self.governors {
            governor.write_checked(&self.host, "userspace")?;
        }
        for bounds in &mut self.bounds {
            if self.host.read_number::<u32>(&bounds.max.place)? < peak {
                bounds.max.write_number(peak.into())?;
            }
            if self.host.read_number::<u32>(&bounds.min.place)? > lowest {
                bounds.min.write_number(lowest.into())?;
            }
        }
        for speed in &mut self.speeds {
            speed.write_number(base.into())?;
        }
        self.now = Some(base);
        Ok(())
    }
}

impl Actuator for CpufreqUserspace {
    fn lever(&self) -> &Lever {
        &self.lever
    }

    fn saved(&self) -> &SavedState {
        &self.saved
    }

    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
        let value = self.lever.range.value(KIND, speed)?;
        let before = self.now;
        if self.now.is_none() {
            self.hold()?;
        }
        if self.now != Some(value) {
            for &index in &self.leading {
                self.speeds[index].write_number(value.into())?;
            }
            self.now = Some(value);
        }
        Ok(Applied {
            value,
            is_changed: before != Some(value),
        })
    }

    fn undo(&mut self) -> Result<(), ControlError> {
        let host = self.host.clone();
        self.put_back(&host).into_result()
    }

    fn put_back(&mut self, host: &Host) -> Restored {
        self.now = None;
        self.held.put_back(host, &self.saved)
    }

    fn let_go(&mut self) {
        self.held.let_go();
    }

    fn locks(&self) -> Vec<BorrowedFd<'_>> {
        self.held.descriptors()
    }

    fn self_test(&mut self, gauge: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        let host = self.host.clone();
        let leading: Vec<_> = self
            .leading
            .iter()
            .map(|&index| self.speeds[index].place.clone())
            .collect();
        gauge::compare(self, gauge, Effort::Sustained, &mut |value| {
            for place in &leading {
                gauge::expect_reading(&host, place, value, STEP_KHZ)?;
            }
            Ok(())
        })
    }
}

impl Drop for CpufreqUserspace {
    fn drop(&mut self) {
        // Nobody is left to tell; what could not be put back is in the owner's journal.
        drop(self.undo());
    }
}

fn require_governor(host: &Host, policy: u32) -> Result<(), ControlError> {
    let offered = host.read(&place(policy, "scaling_available_governors"))?;
    if offered.split_whitespace().any(|name| name == "userspace") {
        return Ok(());
    }
    Err(ControlError::Unavailable {
        lever: KIND,
        why: format!("policy{policy} offers the governors \"{offered}\", not userspace"),
    })
}

fn about(host: &Host, domain: &FrequencyDomain) -> Result<String, ControlError> {
    Ok(format!(
        "scaling_setspeed of {} cpufreq policies, driver {}",
        domain.policies.len(),
        cpufreq::driver(host, domain)?
    ))
}
