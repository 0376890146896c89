//! Sets a frequency by its bounds, under whatever governor the host has.
//!
//! With a base of the owner's own both bounds move, so that the domain runs at exactly that;
//! without one only the minimum is raised, up to the maximum that stands there, and the governor
//! keeps its freedom above it: a maximum is an administrator's word, or that of the cooling. Works
//! under intel_pstate and amd_pstate too, where the minimum is a floor that the hardware keeps.

use std::os::fd::BorrowedFd;

use bobtail_policy::Speed;

use crate::actuator::{Actuator, Applied, SelfTest};
use crate::cpufreq::{self, Bounds, place};
use crate::error::ControlError;
use crate::gauge::{self, Effort, Gauge};
use crate::held::Held;
use crate::host::Host;
use crate::lever::{Asked, Domain, Lever, LeverKind};
use crate::saved::{Restored, SavedState};
use crate::topology::FrequencyDomain;

const KIND: LeverKind = LeverKind::CpufreqMinMax;

/// The bounds of one domain's frequency.
#[derive(Debug)]
pub struct CpufreqMinMax {
    host: Host,
    lever: Lever,
    saved: SavedState,
    held: Held,
    /// Of every policy of the domain.
    bounds: Vec<Bounds>,
    /// Which of `bounds` a change writes.
    leading: Vec<usize>,
    /// Whether the maximum moves too.
    is_pinned: bool,
    now: Option<u32>,
}

impl CpufreqMinMax {
    /// Opens the lever of a domain for a thread that runs on `cpus` (on any, if empty).
    ///
    /// # Errors
    ///
    /// When the domain has no cpufreq, runs at its peak already, a file cannot be written, or
    /// what is asked for is out of range.
    pub fn open(
        host: &Host,
        domain: &FrequencyDomain,
        cpus: &[u32],
        asked: &Asked,
    ) -> Result<Self, ControlError> {
        let leading = cpufreq::leading_policies(host, KIND, domain, cpus)?;
        let is_pinned = asked.base.is_some();
        let asked = match is_pinned {
            true => *asked,
            false => below_maximum(host, domain, asked)?,
        };
        let range = cpufreq::range_with_room(host, KIND, domain, &asked)?;
        if !is_pinned {
            refuse_if_at_peak(host, domain)?;
        }
        let moved: &[&str] = match is_pinned {
            true => &["scaling_max_freq", "scaling_min_freq"],
            false => &["scaling_min_freq"],
        };
        let settings = cpufreq::saved(host, domain, moved)?;
        let position = |policy| domain.policies.iter().position(|other| other == policy);
        let domain_of = Domain::Cpus(domain.cpus.clone());
        Ok(Self {
            lever: Lever {
                kind: KIND,
                domain: domain_of.clone(),
                range,
                about: about(host, domain, is_pinned)?,
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
            leading: leading.iter().filter_map(position).collect(),
            is_pinned,
            now: None,
            host: host.clone(),
        })
    }

    /// Takes the domain over: every policy to base, from wherever it is.
    fn hold(&mut self) -> Result<(), ControlError> {
        self.held.take(&self.host, &self.saved)?;
        let base = self.lever.range.base;
        for bounds in &mut self.bounds {
            let max: u32 = self.host.read_number(&bounds.max.place)?;
            bounds.change(base > max, base, self.is_pinned)?;
        }
        self.now = Some(base);
        Ok(())
    }
}

impl Actuator for CpufreqMinMax {
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
        if let Some(now) = self.now.filter(|&now| now != value) {
            for &index in &self.leading {
                self.bounds[index].change(value > now, value, self.is_pinned)?;
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
            .map(|&index| self.bounds[index].min.place.clone())
            .collect();
        let effort = match self.is_pinned {
            true => Effort::Sustained,
            false => Effort::AfterIdle,
        };
        gauge::compare(self, gauge, effort, &mut |value| {
            for place in &leading {
                gauge::expect_reading(&host, place, value, 0)?;
            }
            Ok(())
        })
    }
}

impl Drop for CpufreqMinMax {
    fn drop(&mut self) {
        // Nobody is left to tell; what could not be put back is in the owner's journal.
        drop(self.undo());
    }
}

/// What is asked for, with no value above the lowest maximum of the domain as it stands.
fn below_maximum(
    host: &Host,
    domain: &FrequencyDomain,
    asked: &Asked,
) -> Result<Asked, ControlError> {
    let mut highest = asked.highest.unwrap_or(u32::MAX);
    for &policy in &domain.policies {
        highest = highest.min(host.read_number(&place(policy, "scaling_max_freq"))?);
    }
    let highest = Some(highest);
    Ok(Asked { highest, ..*asked })
}

/// A governor that keeps the maximum leaves nothing to a raised minimum.
fn refuse_if_at_peak(host: &Host, domain: &FrequencyDomain) -> Result<(), ControlError> {
    for &policy in &domain.policies {
        if host.read(&place(policy, "scaling_governor"))? != "performance" {
            return Ok(());
        }
    }
    Err(ControlError::Unavailable {
        lever: KIND,
        why: "the governor performance runs at the peak already; ask for a lower base".to_owned(),
    })
}

fn about(host: &Host, domain: &FrequencyDomain, is_pinned: bool) -> Result<String, ControlError> {
    Ok(format!(
        "{} of {} cpufreq policies, driver {}",
        if is_pinned {
            "scaling_min_freq and scaling_max_freq"
        } else {
            "scaling_min_freq"
        },
        domain.policies.len(),
        cpufreq::driver(host, domain)?
    ))
}
