//! What JavaScript asks the driver for: a policy and a lever, as text, checked before any moves.
//!
//! Only levers that end with the process are driven from inside it: whoever ends it with `kill -9`
//! must not leave one raised. The others belong to bobtaild.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use bobtail_control::emulated::{Emulated, Emulation};
use bobtail_control::{Actuator, Asked, ControlError, Lever};
use bobtail_policy::{LeverFacts, Policy};

use crate::act::budget::Budget;
use crate::act::driver::{COUNTERS, Driver};
use crate::start::Refusal;

/// A request to drive.
#[derive(Debug, Default)]
pub struct Plan {
    /// As `bobtail_policy` reads it.
    pub policy: String,
    /// `emulated`.
    pub actuator: String,
    /// CPUs that the lever moves; none: those this thread may use.
    pub cpus: Vec<u32>,
    pub base_khz: Option<u32>,
    pub peak_khz: Option<u32>,
    pub emulation: Emulation,
    /// What looking may cost, as a share of the loops' busy time; none is no bound.
    pub budget: Option<f64>,
}

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
    let actuator = open(plan)?;
    let lever = actuator.lever().clone();
    let facts = LeverFacts {
        latency_ns: lever.transition_ns.unwrap_or(0),
    };
    let driver = Driver::new(policy, facts, actuator, &COUNTERS, Budget::new(plan.budget));
    let thread = std::thread::Builder::new()
        .name("bobtail-act".into())
        .stack_size(128 << 10);
    let run = move || {
        prepare();
        driver.run();
    };
    thread.spawn(run).map_err(|error| {
        Refusal::new("BOBTAIL_MEMORY", format!("cannot start a thread: {error}"))
    })?;
    Ok((lever, policy.to_string()))
}

fn open(plan: &Plan) -> Result<Box<dyn Actuator>, Refusal> {
    let refuse = |error: ControlError| Refusal::new(error.code(), error.to_string());
    let asked = Asked {
        base: plan.base_khz,
        peak: plan.peak_khz,
        ..Asked::default()
    };
    match plan.actuator.as_str() {
        "emulated" => {
            let cpus = match plan.cpus.as_slice() {
                [] => allowed_cpus(),
                cpus => cpus.to_vec(),
            };
            let lever = Emulated::start(&cpus, &asked, plan.emulation).map_err(refuse)?;
            Ok(Box::new(lever))
        }
        other => Err(Refusal::new(
            "BOBTAIL_LEVER_UNKNOWN",
            format!("no lever \"{other}\" can be driven from inside a process; known: emulated"),
        )),
    }
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

/// The driver's thread: no signals, timers to the point, and not on the CPU that it shall relieve,
/// where there is another one.
fn prepare() {
    // SAFETY: valid signal set; PR_SET_TIMERSLACK takes a number of ns; the set of CPUs is full,
    // from which the kernel takes what this process may use.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        let mut every: libc::cpu_set_t = std::mem::zeroed();
        for cpu in 0..libc::CPU_SETSIZE as usize {
            libc::CPU_SET(cpu, &mut every);
        }
        libc::sched_setaffinity(0, size_of_val(&every), &every);
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
    fn this_thread_may_run_somewhere() {
        assert!(!allowed_cpus().is_empty());
    }
}
