//! What JavaScript asks the driver for: a policy and a lever, as text, checked before any moves.
//!
//! Only a lever that ends with the process is in the process's own hand: whoever ends it with
//! `kill -9` must leave none raised. All others a bobtaild has, and the process claims them.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use bobtail_control::emulated::{Between, Emulated, Emulation};
use bobtail_control::group::CpuGroup;
use bobtail_control::topology::parse_list;
use bobtail_control::{Actuator, Asked, ControlError, Host, Lever, LeverKind, Range, Unit};
use bobtail_daemon::claimed::Claimed;
use bobtail_daemon::client::{Client, ClientError};
use bobtail_daemon::tied::Tied;
use bobtail_policy::{LeverFacts, Looks, Policy, Speed, StaticSpeed};

use crate::act::counters::Told;
use crate::act::driver::Driver;
use crate::clock::monotonic_ns;
use crate::start::Refusal;

/// A request to drive.
#[derive(Debug, Default)]
pub struct Plan {
    /// As `bobtail_policy` reads it.
    pub policy: String,
    /// The word of a lever.
    pub actuator: String,
    /// Where the bobtaild listens that has it.
    pub socket: Option<String>,
    /// Other processes of the service drive it, too.
    pub is_shared: bool,
    /// CPUs on which the driver's own thread may run, as a list; none: those of this thread.
    pub own_cpus: Option<String>,
    /// CPUs that the lever moves; none: those this thread may use.
    pub cpus: Vec<u32>,
    pub base_khz: Option<u32>,
    pub peak_khz: Option<u32>,
    pub emulation: Emulation,
    /// What looking may cost, as a share of the loops' busy time; none is no bound.
    pub budget: Option<f64>,
    /// A new file in which the driver tells what it did.
    pub told: Option<String>,
}

/// A bobtaild that imitates a frequency calibrates it first, and others may be before this one.
const PATIENCE: Duration = Duration::from_secs(30);

/// One driver a process.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Opens the lever and starts to drive it; gives what it is, and the policy with its settings.
/// Takes as long as the lever's calibration.
///
/// # Errors
/// A policy or lever that there is not, one that this process may not have or that does not do
/// what it says, or a second driver.
pub fn drive(plan: &Plan) -> Result<(Lever, String), Refusal> {
    let policy: Policy = plan
        .policy
        .parse()
        .map_err(|error: bobtail_policy::PolicyError| {
            Refusal::new("BOBTAIL_POLICY", error.to_string())
        })?;
    if IS_TAKEN.swap(true, SeqCst) {
        return Err(Refusal::new(
            "BOBTAIL_STATE",
            "this process is already driven",
        ));
    }
    let started = start(plan, policy);
    if started.is_err() {
        IS_TAKEN.store(false, SeqCst);
    }
    started
}

fn start(plan: &Plan, policy: Policy) -> Result<(Lever, String), Refusal> {
    let actuator = open(plan, &policy)?;
    let lever = actuator.lever().clone();
    require_in_range(&policy, &lever.range)?;
    let imitated_ns = lever.is_emulated.then_some(plan.emulation.latency_ns);
    let facts = LeverFacts {
        latency_ns: lever
            .transition_ns
            .or(imitated_ns)
            .unwrap_or_else(|| lever.kind.assumed_latency_ns()),
    };
    let told = tell_in(plan.told.as_deref())?;
    let told_policy = policy.to_string();
    let driver = Driver::new(policy, facts, actuator, told, Looks::within(plan.budget));
    let thread = std::thread::Builder::new()
        .name("bobtail-act".into())
        .stack_size(128 << 10);
    let own_cpus = plan.own_cpus.as_deref().and_then(parse_list);
    let kind = lever.kind;
    let run = move || {
        prepare(own_cpus.as_deref().unwrap_or_default());
        if matches!(kind, LeverKind::Quota | LeverKind::Burst) {
            leave_group(kind);
        }
        driver.run();
    };
    thread.spawn(run).map_err(|error| {
        Refusal::new("BOBTAIL_MEMORY", format!("cannot start a thread: {error}"))
    })?;
    Ok((lever, told_policy))
}

/// Where the driver tells what it did.
fn tell_in(path: Option<&str>) -> Result<Option<Told>, Refusal> {
    path.map(|path| {
        Told::create(path, monotonic_ns()).map_err(|error| {
            let what = format!("nothing can be told of a boost in {path}: {error}");
            Refusal::new("BOBTAIL_FILE", what)
        })
    })
    .transpose()
}

/// A frequency that the lever holds neither between boosts nor during one is none of its: below the
/// base it would slow the service, and whatever it cannot reach it would be taken to.
fn require_in_range(policy: &Policy, range: &Range) -> Result<(), Refusal> {
    let Some(khz) = held_khz(policy) else {
        return Ok(());
    };
    let Range { base, peak, .. } = *range;
    if range.unit != Unit::Khz || (base..=peak).contains(&khz) {
        return Ok(());
    }
    let message =
        format!("{policy} is not between the base of {base} kHz and the peak of {peak} kHz");
    Err(Refusal::new("BOBTAIL_LEVER_RANGE", message))
}

/// What the plan imitates, with the frequency that the policy holds, which is checked before it is
/// relied on. Others than `static` know base and peak alone.
fn emulation_for(plan: &Plan, policy: &Policy) -> Emulation {
    Emulation {
        between: held_khz(policy).map_or(Between::Nothing, Between::Khz),
        ..plan.emulation
    }
}

/// The frequency that a policy holds, other than base and peak.
fn held_khz(policy: &Policy) -> Option<u32> {
    match policy {
        Policy::Static(StaticSpeed {
            speed: Speed::Khz(khz),
        }) => Some(*khz),
        _ => None,
    }
}

fn open(plan: &Plan, policy: &Policy) -> Result<Box<dyn Actuator>, Refusal> {
    let refuse = |error: ControlError| Refusal::new(error.code(), error.to_string());
    let asked = Asked {
        base: plan.base_khz,
        peak: plan.peak_khz,
        ..Asked::default()
    };
    let unknown = || {
        let kinds = LeverKind::ALL.map(LeverKind::word).join(", ");
        let message = format!("no lever \"{}\"; known: {kinds}", plan.actuator);
        Refusal::new("BOBTAIL_LEVER_UNKNOWN", message)
    };
    let kind = LeverKind::named(&plan.actuator).ok_or_else(unknown)?;
    if kind == LeverKind::Emulated {
        // Before any CPU is slowed to calibrate it.
        let range = Emulated::range(&asked, &plan.emulation).map_err(refuse)?;
        require_in_range(policy, &range)?;
    }
    let cpus = match plan.cpus.as_slice() {
        [] => allowed_cpus(),
        cpus => cpus.to_vec(),
    };
    match (kind, plan.socket.as_deref()) {
        (LeverKind::Emulated, socket) if !plan.is_shared || socket.is_none() => {
            // First: a lever that slows a CPU is not for a process that nobody waits for.
            let tie = socket.map(connect).transpose()?;
            let lever =
                Emulated::start(&cpus, &asked, emulation_for(plan, policy)).map_err(refuse)?;
            Ok(match tie {
                Some(tie) => Box::new(Tied::new(Box::new(lever), tie)),
                None => Box::new(lever),
            })
        }
        (_, Some(socket)) => {
            let targets = match kind {
                LeverKind::Quota | LeverKind::Burst => vec![0],
                LeverKind::Uclamp => vec![thread_id()],
                // One clock, whichever of them is named.
                LeverKind::Emulated => cpus[..1].to_vec(),
                _ => cpus,
            };
            let lever = Claimed::open(Path::new(socket), kind, &targets, PATIENCE);
            Ok(Box::new(lever.map_err(|error| refused_by_daemon(&error))?))
        }
        (_, None) => Err(Refusal::new(
            "BOBTAIL_LEVER_NO_DAEMON",
            format!("{kind} is driven through a bobtaild, and there is none"),
        )),
    }
}

fn connect(socket: &str) -> Result<Client, Refusal> {
    Client::connect(Path::new(socket), PATIENCE).map_err(|error| refused_by_daemon(&error))
}

fn refused_by_daemon(error: &ClientError) -> Refusal {
    Refusal::new("BOBTAIL_LEVER_REFUSED", error.to_string())
}

/// The kernel's number of this thread.
fn thread_id() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// Takes this thread out of a group whose quota it raises: held back with the others it could not
/// ask for anything. Where that cannot be (no rights, cgroup v2) it asks as long as it may run.
fn leave_group(kind: LeverKind) {
    let host = Host::default();
    let group = CpuGroup::of_process(&host, kind, "self");
    drop(group.and_then(|group| group.leave(&host, thread_id(), false)));
}

/// The CPUs this thread may run on.
fn allowed_cpus() -> Vec<u32> {
    // SAFETY: an all-zero cpu_set_t is the empty set, writable and of the size told.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        set
    };
    let is_allowed = |cpu: &u32| {
        // SAFETY: below CPU_SETSIZE.
        unsafe { libc::CPU_ISSET(*cpu as usize, &set) }
    };
    (0..libc::CPU_SETSIZE as u32).filter(is_allowed).collect()
}

/// The driver's thread: no signals, timers to the point, and where the command that started the
/// service may run, though the service itself be pinned: not on the CPU that it shall relieve.
fn prepare(cpus: &[u32]) {
    // SAFETY: valid signal set; PR_SET_TIMERSLACK takes a number of ns; the set of CPUs is readable
    // and filled below its size. Refused, the thread runs where its process does.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        if !cpus.is_empty() {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as u32) {
                libc::CPU_SET(cpu as usize, &mut set);
            }
            libc::sched_setaffinity(0, size_of_val(&set), &set);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(policy: &str, actuator: &str) -> Refusal {
        let plan = Plan {
            policy: policy.into(),
            actuator: actuator.into(),
            ..Plan::default()
        };
        drive(&plan).expect_err("refused")
    }

    #[test]
    fn what_there_is_not_is_refused_and_leaves_no_driver() {
        for _ in 0..2 {
            let refused = refusal("boost-everything", "emulated");
            assert_eq!(refused.code, "BOBTAIL_POLICY");
            assert!(refused.message.contains("boost-everything"), "{refused:?}");
            let refused = refusal("gc-boost", "warp");
            assert_eq!(refused.code, "BOBTAIL_LEVER_UNKNOWN");
            assert!(refused.message.contains("\"warp\""), "{refused:?}");
        }
    }

    #[test]
    fn a_frequency_that_the_lever_is_never_at_is_refused() {
        let range = Emulated::range(&Asked::default(), &Emulation::default()).expect("a range");
        let checked = |policy: &str| require_in_range(&policy.parse().expect("a policy"), &range);
        for policy in [
            "static:2.6",
            "static:3.3",
            "static:4",
            "static:base",
            "gc-boost",
        ] {
            assert!(checked(policy).is_ok(), "{policy}");
        }
        for policy in ["static:2.5", "static:1", "static:0.1", "static:9"] {
            let refused = checked(policy).expect_err(policy);
            assert_eq!(refused.code, "BOBTAIL_LEVER_RANGE");
            assert!(
                refused.message.starts_with("static:"),
                "{}",
                refused.message
            );
            let bounds = "is not between the base of 2600000 kHz and the peak of 4000000 kHz";
            assert!(refused.message.ends_with(bounds), "{}", refused.message);
        }
    }

    #[test]
    fn a_frequency_that_is_held_is_known_before_the_lever_starts() {
        let plan = Plan::default();
        let held = |policy: &str| {
            let policy = policy.parse().expect("a policy");
            emulation_for(&plan, &policy).between
        };
        assert_eq!(held("static:3.3"), Between::Khz(3_300_000));
        for policy in ["static:base", "static:peak", "combined", "deadline"] {
            assert_eq!(held(policy), Between::Nothing, "{policy}");
        }
    }

    #[test]
    fn this_thread_may_run_somewhere() {
        assert!(!allowed_cpus().is_empty());
    }
}
