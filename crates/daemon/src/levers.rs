//! Opens the lever that a client names by its kind and a number.
//!
//! What the number means is the kind's affair: a CPU, the client's own control group, or one of
//! its threads. Of groups and threads a client gets its own, which the kernel tells of its process,
//! never one that it names. Of a clock every CPU moves, because the daemon cannot know where the
//! client's thread will run next.

use bobtail_control::emulated::{Emulated, Emulation};
use bobtail_control::group::quota::Quota;
use bobtail_control::group::{CpuGroup, GroupPath, burst};
use bobtail_control::survey::{self, Target};
use bobtail_control::threads::start_of;
use bobtail_control::topology::{cpus_online, frequency_domains};
use bobtail_control::uclamp::Uclamp;
use bobtail_control::{Actuator, Asked, ControlError, Domain, Host, LeverKind, Place};

use crate::owner::Owner;
use crate::status;

/// In a namespace of its own a thread's number is found by looking at all.
const THREADS_MAX: usize = 512;

/// What a lever is to move, found out once for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spot {
    /// The clock of this CPU.
    Cpu(u32),
    /// All CPUs: of a lever that the machine has once, whichever CPU is named.
    Machine(Vec<u32>),
    /// The control group that the client's process was in.
    Group(GroupPath),
    /// A thread, by the daemon's number of it, and when it started (ticks since boot).
    Thread { thread: i32, started: u64 },
}

/// What is imitated, and on which CPUs; as one clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imitated {
    pub cpus: Vec<u32>,
    pub emulation: Emulation,
}

impl Spot {
    /// What `target` means to a client for this kind.
    ///
    /// # Errors
    ///
    /// When the client's process is gone or somebody else's by now, has no such thread, or its
    /// group has no CPU controller.
    pub fn of(
        host: &Host,
        kind: LeverKind,
        target: u32,
        owner: &Owner,
    ) -> Result<Self, ControlError> {
        let spot = match kind {
            LeverKind::Quota | LeverKind::Burst => {
                let path = CpuGroup::path_of_process(host, &owner.pid.to_string())?;
                Self::Group(path)
            }
            LeverKind::Uclamp => thread_of(host, target, owner)?,
            LeverKind::IntelMinPerf => {
                let cpus = online_with(host, kind, target)?;
                return Ok(Self::Machine(cpus));
            }
            _ => return Ok(Self::Cpu(target)),
        };
        owner.check(host, kind)?;
        Ok(spot)
    }

    /// Whether it is what the client had found out to be its own, and no other by now.
    pub fn is_still(&self, host: &Host, kind: LeverKind, owner: &Owner) -> bool {
        let is_same = match self {
            Self::Cpu(_) | Self::Machine(_) => return true,
            Self::Group(path) => CpuGroup::path_of_process(host, &owner.pid.to_string())
                .is_ok_and(|found| found == *path),
            Self::Thread { thread, started } => {
                start_of(host, *thread).is_ok_and(|found| found == *started)
            }
        };
        is_same && owner.check(host, kind).is_ok()
    }

    /// Whether it is the client's alone, by its process.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Group(_) | Self::Thread { .. })
    }

    /// Whether a lever of that domain moves it.
    pub fn is_in(&self, domain: &Domain) -> bool {
        match (self, domain) {
            (Self::Cpu(cpu), Domain::Cpus(cpus)) => cpus.contains(cpu),
            // CPUs come and go, and a lever of the whole machine remains the same.
            (Self::Machine(_), Domain::Cpus(_)) => true,
            (Self::Group(path), Domain::Group(group)) => path.settings == *group,
            (Self::Thread { thread, .. }, Domain::Thread(other)) => thread == other,
            _ => false,
        }
    }

    /// The least that moves with it, before the lever is opened.
    pub fn domain(&self) -> Domain {
        match self {
            Self::Cpu(cpu) => Domain::Cpus(vec![*cpu]),
            Self::Machine(cpus) => Domain::Cpus(cpus.clone()),
            Self::Group(path) => Domain::Group(path.settings.clone()),
            Self::Thread { thread, .. } => Domain::Thread(*thread),
        }
    }
}

/// The CPUs that are online, of which the one that is named must be one.
fn online_with(host: &Host, kind: LeverKind, cpu: u32) -> Result<Vec<u32>, ControlError> {
    let cpus = cpus_online(host)?;
    match cpus.contains(&cpu) {
        true => Ok(cpus.into_iter().collect()),
        false => Err(offline(kind, cpu)),
    }
}

fn offline(kind: LeverKind, cpu: u32) -> ControlError {
    ControlError::Unavailable {
        lever: kind,
        why: format!("no CPU {cpu} is online"),
    }
}

/// The daemon's number of a client's thread, which the client knows by that of its own namespace.
fn thread_of(host: &Host, target: u32, owner: &Owner) -> Result<Spot, ControlError> {
    let pid = owner.pid;
    let no_thread = || ControlError::Unavailable {
        lever: LeverKind::Uclamp,
        why: format!("process {pid} has no thread {target}"),
    };
    let own = host.read(&Place::proc(format!("{pid}/status")))?;
    let names = match numbers_of(&own) {
        // The daemon's own namespace: the client's number is the kernel's.
        0 | 1 => vec![target.to_string()],
        _ => {
            check_few(pid, status::threads(&own))?;
            let names = host.list(&Place::proc(format!("{pid}/task")))?;
            check_few(pid, names.len())?;
            names
        }
    };
    for name in names {
        let place = Place::proc(format!("{pid}/task/{name}/status"));
        let Some(status) = host.read_if_there(&place)? else {
            continue;
        };
        let numbers = status::field(&status, "NSpid");
        let own = numbers.unwrap_or(&name).split_whitespace().next_back();
        let is_it = own.and_then(|own| own.parse().ok()) == Some(target);
        if let (true, Ok(thread)) = (is_it, name.parse()) {
            let started = start_of(host, thread)?;
            // One that ended meanwhile may have left its number to another process's.
            if host.read_if_there(&place)?.is_some() {
                return Ok(Spot::Thread { thread, started });
            }
        }
    }
    Err(no_thread())
}

/// That looking at all threads of a process is no matter: each is a file to read, and all other
/// clients wait meanwhile. A list of many takes long by itself.
fn check_few(pid: i32, threads: usize) -> Result<(), ControlError> {
    if threads <= THREADS_MAX {
        return Ok(());
    }
    Err(ControlError::Unavailable {
        lever: LeverKind::Uclamp,
        why: format!("process {pid} has {threads} threads, more than {THREADS_MAX}"),
    })
}

/// In how many namespaces a process has a number, by its `status`.
fn numbers_of(status: &str) -> usize {
    status::field(status, "NSpid").map_or(0, |numbers| numbers.split_whitespace().count())
}

/// Opens a lever; nothing is moved yet, but that an imitation calibrates itself.
///
/// # Errors
///
/// When the host does not have it there, or its files cannot be opened.
pub fn open(
    host: &Host,
    kind: LeverKind,
    spot: &Spot,
    asked: &Asked,
    imitated: Option<&Imitated>,
) -> Result<Box<dyn Actuator>, ControlError> {
    let unavailable = |why: String| ControlError::Unavailable { lever: kind, why };
    let mut target = Target {
        cpus: vec![],
        thread: 0,
        process: "self".to_owned(),
    };
    match spot {
        Spot::Cpu(cpu) if kind == LeverKind::Emulated => {
            let no_imitation = || unavailable("it is imitated for experiments only".to_owned());
            let imitated = imitated.ok_or_else(no_imitation)?;
            if !imitated.cpus.contains(cpu) {
                return Err(unavailable(format!(
                    "CPU {cpu} is not among those imitated"
                )));
            }
            let lever = Emulated::start(&imitated.cpus, asked, imitated.emulation)?;
            return Ok(Box::new(lever));
        }
        Spot::Machine(_) => {}
        Spot::Cpu(cpu) => {
            // First, since all that the machine has of CPUs is read for their clocks.
            online_with(host, kind, *cpu)?;
            let domains = frequency_domains(host)?;
            let with_cpu = domains.into_iter().find(|domain| domain.cpus.contains(cpu));
            target.cpus = with_cpu.ok_or_else(|| offline(kind, *cpu))?.cpus;
        }
        // What was found to be the client's is opened, and not what has its number by now.
        Spot::Group(path) => {
            let group = CpuGroup::at(host, kind, path)?;
            return match kind {
                LeverKind::Burst => Ok(Box::new(burst::open(host, &group, asked)?)),
                _ => Ok(Box::new(Quota::open(host, &group, asked, None)?)),
            };
        }
        Spot::Thread { thread, started } => {
            let lever = Uclamp::open_started(host, *thread, *started, asked)?;
            return Ok(Box::new(lever));
        }
    }
    survey::open(host, &target, kind, asked)
}
