//! Tries every lever of a host, one after the other: what it is, what it does, how long it takes.
//!
//! Done here and not in the command line, because trying moves a lever, and who moves one must be
//! able to die of it: a journal and a guard are there meanwhile, as for any other raise.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bobtail_control::emulated::{Emulated, Emulation};
use bobtail_control::energy::{EnergySource, energy_sources};
use bobtail_control::gauge::{Gauge, WorkGauge};
use bobtail_control::latency::{Latency, measure_latency};
use bobtail_control::survey::{self, Family, LeverReport, unavailable};
use bobtail_control::{Actuator, Asked, ControlError, Host, LeverKind, SelfTest};
use serde::Serialize;

use crate::guard;
use crate::journal::Journal;
use crate::keeper::{allowed_cpu, journaled, open_own};
use crate::lent::Lender;
use crate::lock::Lock;
use crate::server::ServerError;

/// Each way, for the latency.
const ROUNDS: usize = 200;
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// One kind of lever.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    #[serde(flatten)]
    pub report: LeverReport,
    /// What it was seen to do; none where it is not available, or not this machine's.
    pub self_test: Option<SelfTest>,
    /// Of the calls that move it.
    pub latency: Option<Latency>,
}

/// All of a host.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// Best first; the imitation last.
    pub levers: Vec<Finding>,
    pub energy: Vec<EnergySource>,
    /// What `auto` takes.
    pub chosen: Option<LeverKind>,
}

/// Tries all levers, with the journal in `folder`. Of a tree of files they are only opened; of the
/// imitation, which slows a CPU, only the rights are looked at unless `imitates`.
///
/// # Errors
///
/// When there can be no journal or no guard: then nothing was moved.
pub fn examine(
    folder: &Path,
    root: Option<PathBuf>,
    imitates: bool,
) -> Result<Findings, ServerError> {
    let host = root.as_deref().map_or_else(Host::default, Host::below);
    let path = folder.join("journal.json");
    let lock = Lock::take(&path, LOCK_WAIT)?;
    let owner = format!("examination-{}", std::process::id());
    let guard = guard::start(root.as_deref(), &path, &owner).map_err(ServerError::Guard)?;
    let lender = Lender::default();
    lender.speak_to(guard.line.clone());
    let mut journal = Journal::begin(&path, &host, &owner, vec![])?.lending(lender);
    let is_tree = root.is_some();
    let auto = Family::auto();
    let mut levers: Vec<_> = auto
        .order(&host)
        .into_iter()
        .map(|kind| found(kind, real(&host, &mut journal, kind, is_tree)))
        .collect();
    let chosen = levers
        .iter()
        .filter(|finding| finding.report.is_available)
        .map(|finding| finding.report.kind)
        .find(|&kind| !auto.passes_over(kind, &Asked::default()));
    levers.push(match imitates {
        true => found(LeverKind::Emulated, imitation()),
        false => Finding {
            report: survey::imitation(),
            self_test: None,
            latency: None,
        },
    });
    // With its line to the guard, which would wait for the end of that.
    drop(journal);
    // The guard looks into the journal before it goes, and waits for whoever writes it.
    drop(lock);
    end(guard);
    Ok(Findings {
        levers,
        energy: energy_sources(&host),
        chosen,
    })
}

type Tried = (Box<dyn Actuator>, Option<SelfTest>, Option<Latency>);

fn found(kind: LeverKind, tried: Result<Tried, ControlError>) -> Finding {
    match tried {
        Ok((actuator, self_test, latency)) => Finding {
            report: LeverReport {
                kind,
                is_available: true,
                why_not: None,
                lever: Some(actuator.lever().clone()),
            },
            self_test,
            latency,
        },
        Err(error) => Finding {
            report: unavailable(kind, &error),
            self_test: None,
            latency: None,
        },
    }
}

fn real(
    host: &Host,
    journal: &mut Journal,
    kind: LeverKind,
    is_tree: bool,
) -> Result<Tried, ControlError> {
    let (mut actuator, self_test) = open_own(host, journal, kind, &Asked::default(), is_tree)?;
    if is_tree {
        return Ok((actuator, self_test, None));
    }
    let latency = journaled(host, journal, &mut *actuator, |actuator| {
        measure_latency(actuator, ROUNDS)
    })?;
    Ok((actuator, self_test, Some(latency)))
}

fn imitation() -> Result<Tried, ControlError> {
    let asked = Asked::default();
    let mut lever = Emulated::start(&[allowed_cpu()], &asked, Emulation::default())?;
    let gauge: &mut dyn Gauge = &mut WorkGauge {
        run_ns: 4_000_000,
        runs: 3,
        priority: Some(20),
    };
    let self_test = lever.self_test(gauge)?;
    let latency = measure_latency(&mut lever, ROUNDS)?;
    Ok((Box::new(lever), Some(self_test), Some(latency)))
}

/// Its stdin ends with its owner, and nothing is left for it to do.
fn end(guard: guard::Guard) {
    let guard::Guard { mut child, line } = guard;
    drop(line);
    // It has put back what there was by then, which is nothing.
    drop(child.wait());
}
