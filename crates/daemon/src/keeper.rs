//! A daemon for one command: it has that command's rights, its folder, and ends with it.
//!
//! Where a process may move a lever itself there still must be somebody who puts it back when that
//! process is killed, and who speaks for all processes of a service. That is what bobtaild is, so
//! that a command starts one of its own instead of having a second way.

use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bobtail_control::gauge::WorkGauge;
use bobtail_control::group::CpuGroup;
use bobtail_control::survey::{self, Choice, Family, LeverReport, Target, unavailable};
use bobtail_control::topology::{cpus_online, parse_list};
use bobtail_control::{
    Actuator, Asked, ControlError, Host, LeverKind, SavedState, SelfTest, emulated,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Serialize;

use crate::claimed::Claimed;
use crate::client::{Client, ClientError};
use crate::config::{Config, Rule};
use crate::holdings::Raised;
use crate::journal::{Journal, JournalError};
use crate::levers::Imitated;
use crate::log;
use crate::server::{Server, ServerError};
use crate::status;

/// Of the command's own processes: as many as there may be.
const CLIENTS_MAX: usize = 512;
/// A hanging process keeps its levers for so long.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(2);
/// The daemon of a machine answers in some ten µs.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a command asks its own daemon for.
#[derive(Debug)]
pub struct Order {
    /// The command's, for the socket and the journal; it goes with the daemon.
    pub folder: PathBuf,
    /// Which levers it may be; none: the imitation.
    pub family: Option<Family>,
    pub asked: Asked,
    pub imitated: Imitated,
    /// Instead of this machine's, a tree of files: nothing can be measured there.
    pub root: Option<PathBuf>,
}

/// What came of it, for the command, as one line of JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Chosen {
    pub chosen: Option<LeverKind>,
    pub about: Option<String>,
    /// What it was seen to do, where that was measured.
    pub self_test: Option<SelfTest>,
    /// Better levers, and why not those.
    pub passed_over: Vec<LeverReport>,
}

/// Serves until the command ends; how many levers could not be put back.
///
/// # Errors
///
/// As of any daemon.
pub fn keep(order: Order) -> Result<usize, ServerError> {
    let Order {
        folder,
        family,
        asked,
        imitated,
        root,
    } = order;
    let config = Config {
        socket: folder.join("bobtaild.sock"),
        socket_mode: 0o600,
        journal: folder.join("journal.json"),
        heartbeat_timeout: HEARTBEAT_TIMEOUT,
        max_clients: CLIENTS_MAX,
        max_clients_per_user: CLIENTS_MAX,
        ..Config::default()
    };
    let is_tree = root.is_some();
    let prepare = |host: &Host, journal: &mut Journal, config: &mut Config| {
        let chosen = match family {
            Some(family) => choose(host, journal, &family, &asked, is_tree),
            None => imitation(),
        };
        make_room(host, config);
        if let Some(kind) = chosen.chosen {
            config.levers = vec![(kind, asked)];
            config.allow = vec![Rule {
                users: vec![nix::unistd::geteuid().as_raw()],
                levers: vec![kind],
                ..Rule::default()
            }];
        }
        chosen
    };
    let (mut server, chosen) = Server::start_with(config, root, Some(imitated), prepare)?;
    let Some(kind) = chosen.chosen else {
        say(&chosen);
        return Ok(cleared(&folder, server.end()));
    };
    if matches!(kind, LeverKind::Quota | LeverKind::Burst) {
        leave_group(&server, kind);
    }
    server.tie_to_stdin(say_raised)?;
    say(&chosen);
    let left = server.run()?;
    // Who ends this by a signal may end the command too, which has yet to read what its service
    // told.
    Ok(if has_command() {
        left
    } else {
        cleared(&folder, left)
    })
}

/// Whether the command that started this is still there: it holds the other end of stdin.
fn has_command() -> bool {
    let stdin = std::io::stdin();
    let mut polled = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
    let told = poll(&mut polled, PollTimeout::ZERO);
    let ends = polled[0].revents().unwrap_or(PollFlags::empty());
    told.is_ok() && !ends.contains(PollFlags::POLLHUP)
}

/// Each process of the command claims every clock of the machine, and moves them all at once: what
/// keeps strangers in bounds must not keep these from a machine of many clocks.
fn make_room(host: &Host, config: &mut Config) {
    let cpus = cpus_online(host).map_or(1, |cpus| cpus.len().max(1) as u32);
    config.max_claims = config.max_claims.max(cpus);
    config.requests_per_second = config.requests_per_second.saturating_mul(cpus);
}

/// The best lever of a family that opens and does something.
fn choose(
    host: &Host,
    journal: &mut Journal,
    family: &Family,
    asked: &Asked,
    is_tree: bool,
) -> Chosen {
    let refusal = family
        .refusal(host)
        .unwrap_or_else(|error| Some(error.to_string()));
    let choice = family.best(host, asked, |kind| match &refusal {
        Some(why) => Err(ControlError::Unavailable {
            lever: kind,
            why: why.clone(),
        }),
        None => open_own(host, journal, kind, asked, is_tree),
    });
    Chosen::of(choice, |(actuator, self_test)| {
        (actuator.lever().about.clone(), self_test)
    })
}

impl Chosen {
    /// As told to the command.
    fn of<T>(choice: Choice<T>, describe: impl FnOnce(T) -> (String, Option<SelfTest>)) -> Self {
        let Choice { taken, passed_over } = choice;
        let (chosen, described) = taken.map(|(kind, taken)| (kind, describe(taken))).unzip();
        let (about, self_test) = described.unzip();
        Self {
            chosen,
            about,
            self_test: self_test.flatten(),
            passed_over,
        }
    }
}

/// A lever, and what it was seen to do where that was measured.
type Tested = (Box<dyn Actuator>, Option<SelfTest>);

/// Opens a lever of this process and tests it, in the journal meanwhile. A tree of files moves no
/// CPU: of it nothing is tested.
pub(crate) fn open_own(
    host: &Host,
    journal: &mut Journal,
    kind: LeverKind,
    asked: &Asked,
    is_tree: bool,
) -> Result<Tested, ControlError> {
    let mut actuator = survey::open(host, &own_target(), kind, asked)?;
    if is_tree {
        return Ok((actuator, None));
    }
    let tested = journaled(host, journal, &mut *actuator, |actuator| {
        actuator.self_test(&mut WorkGauge::default())
    })?;
    Ok((actuator, Some(tested)))
}

/// Has a lever of this process moved by `act`, which undoes it, in the journal and with its lock at
/// the guard meanwhile. One that could not be put back stays in the journal: that is tried until it
/// is.
pub(crate) fn journaled<T>(
    host: &Host,
    journal: &mut Journal,
    actuator: &mut dyn Actuator,
    act: impl FnOnce(&mut dyn Actuator) -> Result<T, ControlError>,
) -> Result<T, ControlError> {
    let SavedState { lever, domain, .. } = actuator.saved().clone();
    let no_journal = |error: JournalError| ControlError::Unavailable {
        lever,
        why: error.to_string(),
    };
    journal.add(actuator.saved()).map_err(no_journal)?;
    journal.lend(actuator);
    let acted = act(actuator);
    let is_back = match &acted {
        Err(error) => put_back_own(host, actuator, error),
        Ok(_) => true,
    };
    if is_back {
        journal.remove(lever, &domain).map_err(no_journal)?;
    }
    acted
}

/// Puts back what was moved before this error; whether all of it is back. A lever that another has
/// in its hand is not written, since what stands there is that owner's.
fn put_back_own(host: &Host, actuator: &mut dyn Actuator, error: &ControlError) -> bool {
    match error.is_anothers() {
        true => actuator.undo().is_ok(),
        false => actuator.saved().restore(host).into_result().is_ok(),
    }
}

/// What the bobtaild of a machine offers this process of a family, as `keep` tells it.
///
/// # Errors
///
/// That there is none, or it does not take this process: told once, not of each lever.
pub fn offers(socket: &Path, family: &Family) -> Result<String, ClientError> {
    drop(Client::connect(socket, PATIENCE)?);
    let cpu = allowed_cpu();
    let choice = family.best(&Host::default(), &Asked::default(), |kind| {
        let target = match kind {
            LeverKind::Quota | LeverKind::Burst => 0,
            LeverKind::Uclamp => std::process::id(),
            _ => cpu,
        };
        Claimed::open(socket, kind, &[target], PATIENCE).map_err(|error| {
            let why = error.to_string();
            ControlError::Unavailable { lever: kind, why }
        })
    });
    let chosen = Chosen::of(choice, |lever| (lever.lever().about.clone(), None));
    Ok(line_of(&chosen))
}

/// The first CPU on which this process may run.
pub(crate) fn allowed_cpu() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let cpus = status::field(&status, "Cpus_allowed_list").and_then(parse_list);
    cpus.and_then(|cpus| cpus.first().copied())
        .unwrap_or_default()
}

/// Levers for the process that asks, and what its children inherit.
fn own_target() -> Target {
    Target {
        cpus: vec![],
        thread: std::process::id() as i32,
        process: "self".to_owned(),
    }
}

fn imitation() -> Chosen {
    let rights = emulated::check_rights();
    let kind = LeverKind::Emulated;
    Chosen {
        chosen: rights.is_ok().then_some(kind),
        about: None,
        self_test: None,
        passed_over: rights
            .err()
            .map(|error| unavailable(kind, &error))
            .into_iter()
            .collect(),
    }
}

/// Takes the daemon and its guard out of the group whose quota it is to raise.
fn leave_group(server: &Server, kind: LeverKind) {
    let host = server.host();
    let left = CpuGroup::of_process(host, kind, "self").and_then(|group| {
        let pids = std::iter::once(std::process::id()).chain(server.guard_id());
        pids.map(|pid| group.leave(host, pid, true))
            .try_fold(true, |all, left| Ok(left? && all))
    });
    match left {
        Ok(true) => {}
        Ok(false) => log::line("stays in the group it drives, and may be held back with it"),
        Err(error) => log::line(format_args!("cannot leave the group it drives: {error}")),
    }
}

fn line_of(answer: &impl Serialize) -> String {
    // Nothing in it can fail to be text.
    let text = serde_json::to_string(answer).unwrap_or_default();
    format!("{text}\n")
}

/// Who closed stdout does not want the answer.
fn say(answer: &impl Serialize) {
    let mut stdout = std::io::stdout();
    let written = stdout.write_all(line_of(answer).as_bytes());
    drop(written.and_then(|()| stdout.flush()));
}

fn say_raised(raised: Vec<Raised>) {
    say(&raised);
}

/// Takes the folder along, unless a lever is left raised that its journal tells of.
fn cleared(folder: &Path, left: usize) -> usize {
    if left == 0 {
        // The command may have done it already.
        drop(std::fs::remove_dir_all(folder));
    }
    left
}

#[cfg(test)]
mod tests {
    use bobtail_control::cpufreq::min_max::CpufreqMinMax;
    use bobtail_control::topology::frequency_domains;
    use bobtail_policy::Speed;
    use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy};

    use super::*;

    #[test]
    fn every_process_may_claim_all_clocks_of_a_large_machine() {
        let kernel = FakeKernel::with_cpus(192);
        let mut config = Config::default();
        let one_clock = config.requests_per_second;
        make_room(&kernel.host(), &mut config);
        assert_eq!(config.max_claims, 192);
        assert_eq!(config.requests_per_second, 192 * one_clock);
    }

    #[test]
    fn a_lever_that_another_holds_is_not_put_back_after_its_test() {
        let kernel = FakeKernel::with_cpus(1);
        kernel.cpufreq(&FakePolicy::of_cpu(0));
        let host = kernel.host();
        let domain = frequency_domains(&host).expect("a domain").remove(0);
        let open = || CpufreqMinMax::open(&host, &domain, &[], &Asked::default()).expect("opened");
        let mut other = open();
        other.apply(Speed::Khz(2_000_000)).expect("raised");
        let mut own = open();
        other.apply(Speed::Khz(3_000_000)).expect("raised further");
        let error = own.self_test(&mut WorkGauge::default()).expect_err("held");
        assert!(put_back_own(&host, &mut own, &error), "nothing was moved");
        let min = "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq";
        assert_eq!(kernel.text(min), "3000000");
    }
}
