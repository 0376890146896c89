//! Wakes the watchdog whenever a loop's thread has run for a few milliseconds more.
//!
//! On the thread's own CPU clock and not at a steady pace: most loops wait most of the time, and
//! waking a thread in vain takes 10 to 20 µs of the service's processor. The kernel has no
//! descriptor for such a clock, so it is a POSIX timer that signals the watchdog's thread, the only
//! one that takes the signal.

use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Processor time of a loop's thread between two signals.
const PERIOD_NS: libc::c_long = 4_000_000;
/// `sigval` of our timers: "BOBT".
const OURS: usize = 0x424f_4254;

/// The thread that is signalled; 0 not known yet.
static WATCHDOG: AtomicI32 = AtomicI32::new(0);

/// The last of the real-time signals: the least likely to be used by anyone.
fn signal() -> libc::c_int {
    libc::SIGRTMAX()
}

/// This thread takes the signals from now on; they are blocked on it.
pub fn receive_here() {
    // SAFETY: no arguments.
    let thread = unsafe { libc::gettid() };
    WATCHDOG.store(thread, Ordering::Release);
}

/// Returns when a thread receives.
pub fn wait_for_receiver() {
    while WATCHDOG.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
}

/// Waits until a timer has expired, at most that long.
pub fn wait(longest: Duration) {
    let timeout = libc::timespec {
        tv_sec: longest.as_secs() as libc::time_t,
        tv_nsec: longest.subsec_nanos().into(),
    };
    // SAFETY: a valid set of one blocked signal, and a valid timeout.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, signal());
        // Whether it came, or time is over, or a debugger stopped us: look.
        libc::sigtimedwait(&signals, null_mut(), &timeout);
    }
}

/// A timer on the CPU clock of one thread.
pub struct CpuTimer(libc::timer_t);

// SAFETY: a number of the kernel's; any thread of the process may use it.
unsafe impl Send for CpuTimer {}

impl CpuTimer {
    /// Starts one for the calling thread.
    ///
    /// # Errors
    /// Nobody receives; the kernel has none to give (RLIMIT_SIGPENDING), or none at all (some
    /// sandboxes).
    pub fn of_this_thread() -> io::Result<Self> {
        let watchdog = WATCHDOG.load(Ordering::Acquire);
        if watchdog == 0 {
            return Err(io::Error::from(io::ErrorKind::NotConnected));
        }
        let mut timer: libc::timer_t = null_mut();
        // SAFETY: valid out pointers; zeros are a valid sigevent.
        unsafe {
            let mut clock: libc::clockid_t = 0;
            match libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) {
                0 => {}
                error => return Err(io::Error::from_raw_os_error(error)),
            }
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal();
            event.sigev_value.sival_ptr = OURS as *mut libc::c_void;
            event.sigev_notify_thread_id = watchdog;
            if libc::timer_create(clock, &mut event, &mut timer) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        let timer = Self(timer);
        timer.start()?;
        Ok(timer)
    }

    fn start(&self) -> io::Result<()> {
        let period = libc::timespec {
            tv_sec: 0,
            tv_nsec: PERIOD_NS,
        };
        let setting = libc::itimerspec {
            it_interval: period,
            it_value: period,
        };
        // SAFETY: our timer, a valid setting.
        match unsafe { libc::timer_settime(self.0, 0, &setting, null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for CpuTimer {
    fn drop(&mut self) {
        // SAFETY: our timer, used by nobody afterwards.
        unsafe { libc::timer_delete(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    const LONGEST: Duration = Duration::from_secs(2);

    /// Waits in a thread that blocks the signal, as the watchdog does.
    fn waited(after: impl FnOnce()) -> Duration {
        let (told, ready) = mpsc::channel();
        std::thread::scope(|scope| {
            let watchdog = scope.spawn(move || {
                // SAFETY: a valid set; this thread only.
                unsafe {
                    let mut all: libc::sigset_t = std::mem::zeroed();
                    libc::sigfillset(&mut all);
                    libc::pthread_sigmask(libc::SIG_SETMASK, &all, null_mut());
                }
                receive_here();
                told.send(()).expect("received");
                let started = Instant::now();
                wait(LONGEST);
                started.elapsed()
            });
            ready.recv().expect("sent");
            after();
            watchdog.join().expect("no panic")
        })
    }

    #[test]
    fn a_thread_that_runs_is_told_and_one_that_sleeps_is_not() {
        let worked = waited(|| {
            let _timer = CpuTimer::of_this_thread().expect("a timer");
            let started = Instant::now();
            while started.elapsed() < Duration::from_millis(1_000) {
                std::hint::black_box(0);
            }
        });
        assert!(worked < LONGEST, "{worked:?}");
        let slept = waited(|| {
            let timer = CpuTimer::of_this_thread().expect("a timer");
            std::thread::sleep(Duration::from_millis(300));
            drop(timer);
        });
        assert!(slept >= LONGEST, "{slept:?}");
    }
}
