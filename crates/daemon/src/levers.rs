//! Opens the lever that a client names by its kind and a number.
//!
//! What the number means is the kind's affair: a CPU, the client's own control group, or one of
//! its threads. Of groups and threads a client gets its own, which the kernel tells of its process,
//! never one that it names. Of a clock every CPU moves, because the daemon cannot know where the
//! client's thread will run next.

use bobtail_control::emulated::{Emulated, Emulation};
use bobtail_control::group::CpuGroup;
use bobtail_control::survey::{self, Target};
use bobtail_control::topology::frequency_domains;
use bobtail_control::{Actuator, Asked, ControlError, Domain, Host, LeverKind, Place};

use crate::rights::Peer;

/// What a lever is to move, found out once for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spot {
    /// The clock of this CPU.
    Cpu(u32),
    /// The control group of this process, which it was in.
    Group { path: String, process: i32 },
    /// A thread, by the daemon's number of it.
    Thread(i32),
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
        peer: &Peer,
    ) -> Result<Self, ControlError> {
        match kind {
            LeverKind::Quota | LeverKind::Burst => {
                check_owner(host, kind, peer)?;
                let group = CpuGroup::of_process(host, kind, &peer.pid.to_string())?;
                Ok(Self::Group {
                    path: group.path,
                    process: peer.pid,
                })
            }
            LeverKind::Uclamp => {
                check_owner(host, kind, peer)?;
                thread_of(host, target, peer).map(Self::Thread)
            }
            _ => Ok(Self::Cpu(target)),
        }
    }

    /// Whether a lever of that domain moves it.
    pub fn is_in(&self, domain: &Domain) -> bool {
        match (self, domain) {
            (Self::Cpu(cpu), Domain::Cpus(cpus)) => cpus.contains(cpu),
            (Self::Group { path, .. }, Domain::Group(group)) => path == group,
            (Self::Thread(thread), Domain::Thread(other)) => thread == other,
            _ => false,
        }
    }

    /// The least that moves with it, before the lever is opened.
    pub fn domain(&self) -> Domain {
        match self {
            Self::Cpu(cpu) => Domain::Cpus(vec![*cpu]),
            Self::Group { path, .. } => Domain::Group(path.clone()),
            Self::Thread(thread) => Domain::Thread(*thread),
        }
    }
}

/// The number of a process is used again: it must still be the peer's.
fn check_owner(host: &Host, kind: LeverKind, peer: &Peer) -> Result<(), ControlError> {
    let place = Place::proc(format!("{}/status", peer.pid));
    let status = host.read(&place)?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let uid = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    if uid == Some(peer.uid) {
        return Ok(());
    }
    Err(ControlError::Unavailable {
        lever: kind,
        why: format!("process {} is not of user {}", peer.pid, peer.uid),
    })
}

/// The daemon's number of a client's thread, which the client knows by that of its own namespace.
fn thread_of(host: &Host, target: u32, peer: &Peer) -> Result<i32, ControlError> {
    let pid = peer.pid;
    for name in host.list(&Place::proc(format!("{pid}/task")))? {
        let place = Place::proc(format!("{pid}/task/{name}/status"));
        let Some(status) = host.read_if_there(&place)? else {
            continue;
        };
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let own = numbers.unwrap_or(&name).split_whitespace().next_back();
        let is_it = own.and_then(|own| own.parse().ok()) == Some(target);
        if let (true, Ok(thread)) = (is_it, name.parse()) {
            return Ok(thread);
        }
    }
    Err(ControlError::Unavailable {
        lever: LeverKind::Uclamp,
        why: format!("process {pid} has no thread {target}"),
    })
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
        Spot::Cpu(_) if kind == LeverKind::IntelMinPerf => {}
        Spot::Cpu(cpu) => {
            let domains = frequency_domains(host)?;
            let with_cpu = domains.into_iter().find(|domain| domain.cpus.contains(cpu));
            let offline = || unavailable(format!("no CPU {cpu} is online"));
            target.cpus = with_cpu.ok_or_else(offline)?.cpus;
        }
        Spot::Group { process, .. } => target.process = process.to_string(),
        Spot::Thread(thread) => target.thread = *thread,
    }
    survey::open(host, &target, kind, asked)
}
