//! Lets a control group save up unused quota and spend it later: the kernel's own account.
//!
//! The first thing to recommend in a container: it removes most throttling, without a boost, and
//! nobody gets more than the limit in the long run: as long as it is raised once. A write of it
//! fills the group up as one of the quota does (`tg_set_cfs_bandwidth`), and this lever keeps no
//! account, so that who moves it all the time lifts the limit.

use crate::error::ControlError;
use crate::group::CpuGroup;
use crate::host::Host;
use crate::lever::{Asked, Domain, Lever, LeverKind, Range, Unit};
use crate::plain_setting::{Notation, PlainSetting};

const KIND: LeverKind = LeverKind::Burst;

/// Opens the burst of a group; the peak, unless asked for, is the quota, which the kernel allows
/// at most.
///
/// # Errors
///
/// When the group has no quota, the kernel no burst (before 5.14), or it is at its highest already.
pub fn open(host: &Host, group: &CpuGroup, asked: &Asked) -> Result<PlainSetting, ControlError> {
    let unavailable = |why: String| Err(ControlError::Unavailable { lever: KIND, why });
    let (Some(quota_us), period_us) = group.limit(host)? else {
        return unavailable(format!("the group /{} has no quota to save up", group.path));
    };
    let place = group.burst_place();
    if host.read_if_there(&place)?.is_none() {
        return unavailable("the kernel has no CPU burst (Linux 5.14)".to_owned());
    }
    let range = Range {
        unit: Unit::Microseconds,
        lowest: 0,
        highest: quota_us,
        base: host.read_number(&place)?,
        peak: quota_us,
    }
    .narrowed(KIND, asked)?;
    if range.base == range.peak {
        return unavailable(format!("the burst of /{} is its quota already", group.path));
    }
    let lever = Lever {
        kind: KIND,
        domain: Domain::Group(group.path.clone()),
        range,
        about: format!("CPU burst of /{}, per {period_us} µs", group.path),
        transition_ns: Some(0),
        is_emulated: false,
    };
    PlainSetting::open(host, lever, vec![place], vec![], Notation::Number)
}
