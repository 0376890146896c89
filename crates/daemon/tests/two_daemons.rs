//! Two bobtailds on the levers of one machine, of which one is killed: neither takes for what was
//! before what the other has raised, and neither writes over it. With real processes.

use std::fs;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bobtail_control::LeverKind;
use bobtail_daemon::client::Client;
use bobtail_policy::Speed;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use running::{BASE, Daemon, PEAK, Site, until};

#[path = "support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/running.rs"]
mod running;

const KIND: LeverKind = LeverKind::CpufreqMinMax;
const KILLED: u32 = 20;

/// A second daemon on the levers of the site, with a socket and a journal of its own.
fn second(site: &Site) -> (Daemon, PathBuf) {
    let [socket, journal] = ["second.sock", "second.json"].map(|name| site.folder.0.join(name));
    let mut command = site.command();
    command.arg("--socket").arg(&socket);
    command.arg("--journal").arg(&journal);
    let daemon = Daemon {
        child: command.spawn().unwrap(),
    };
    until("the second daemon answers", || {
        Client::connect(&socket, running::PATIENCE).is_ok()
    });
    (daemon, socket)
}

/// Asks without a pause until the lever is granted.
fn ask_until_granted(client: &mut Client) {
    until("it is granted", || {
        let began = Instant::now();
        // As `until` itself, but without its pause.
        while began.elapsed() < Duration::from_millis(20) {
            if client.raise(KIND, 0, Speed::Peak).is_ok() {
                return true;
            }
        }
        false
    });
}

#[test]
fn who_asks_all_the_time_while_the_owner_is_killed_does_not_take_what_it_raised_for_the_base() {
    for _ in 0..KILLED {
        let site = Site::new("requests_per_second = 1000000");
        let mut first = site.start();
        let (mut other, socket) = second(&site);
        let mut holder = site.client();
        holder.raise(KIND, 0, Speed::Khz(3_000_000)).unwrap();
        let mut asker = Client::connect(&socket, running::PATIENCE).unwrap();
        assert!(asker.raise(KIND, 0, Speed::Peak).is_err());
        first.signal(Signal::SIGKILL);
        ask_until_granted(&mut asker);
        first.wait();
        site.expect_no_guards();
        // The guard has not written over what was granted.
        assert_eq!(site.min_khz(0), PEAK, "{}", site.log());
        drop(asker);
        site.expect_base();
        other.signal(Signal::SIGTERM);
        other.wait();
        assert_eq!(site.min_khz(0), BASE, "{}", site.log());
    }
}

#[test]
fn what_is_lowered_is_free_though_the_guard_has_its_lock_too() {
    let site = Site::new("");
    let mut first = site.start();
    let (_other, socket) = second(&site);
    let mut holder = site.client();
    holder.raise(KIND, 0, Speed::Peak).unwrap();
    holder.lower(KIND, 0).unwrap();
    // Still open in the first, and in its journal: what its guard has then is not its own.
    let mut asker = Client::connect(&socket, running::PATIENCE).unwrap();
    asker.raise(KIND, 0, Speed::Khz(2_000_000)).unwrap();
    first.signal(Signal::SIGKILL);
    first.wait();
    site.expect_no_guards();
    assert_eq!(site.min_khz(0), "2000000", "{}", site.log());
    drop(asker);
    site.expect_base();
}

#[test]
fn a_guard_that_follows_another_has_the_locks_too() {
    let site = Site::new("");
    let mut first = site.start();
    let mut holder = site.client();
    holder.raise(KIND, 0, Speed::Peak).unwrap();
    let guard = site.guards()[0];
    kill(Pid::from_raw(guard), Signal::SIGKILL).unwrap();
    until("another guard", || {
        site.guards().iter().any(|other| *other != guard) && site.log().contains("another")
    });
    // It serves again once the guard is ready, and has lent to it then.
    site.client();
    for guard in site.guards() {
        kill(Pid::from_raw(guard), Signal::SIGSTOP).unwrap();
    }
    first.signal(Signal::SIGKILL);
    first.wait();
    let file = File::open(site.knob(0)).unwrap();
    let taken = Flock::lock(file, FlockArg::LockExclusiveNonblock);
    assert!(taken.is_err(), "the guard has it");
    drop(taken);
    for guard in site.guards() {
        kill(Pid::from_raw(guard), Signal::SIGCONT).unwrap();
    }
    site.expect_base();
}

#[test]
fn who_locks_the_file_does_not_keep_a_lever_raised() {
    let site = Site::new("");
    let _holder = site.leave_raised();
    assert_eq!(site.min_khz(0), PEAK);
    let file = File::open(site.knob(0)).unwrap();
    let _lock = Flock::lock(file, FlockArg::LockExclusive).unwrap();
    let restored = site.command().arg("--restore").status().unwrap();
    assert_eq!((restored.code(), site.min_khz(0).as_str()), (Some(0), BASE));
    let journal = fs::read_to_string(site.journal()).unwrap();
    assert!(journal.contains("\"entries\":[]"), "{journal}");
}
