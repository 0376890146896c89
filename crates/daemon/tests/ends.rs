//! However a client, the daemon or its guard ends: no lever stays raised. With real processes.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use bobtail_control::LeverKind;
use bobtail_daemon::client::Client;
use bobtail_policy::Speed;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use running::{BASE, PEAK, Site, until};

#[path = "support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/running.rs"]
mod running;

const CLIENTS_KILLED: u32 = 50;
const DAEMONS_KILLED: u32 = 10;

#[test]
fn clients_killed_while_they_boost_leave_nothing_raised() {
    let site = Site::new("");
    let _daemon = site.start();
    for _ in 0..CLIENTS_KILLED {
        let mut holder = site.holder("hold");
        holder.child.kill().unwrap();
        site.expect_base();
    }
}

#[test]
fn one_killed_client_does_not_lower_what_another_holds() {
    let site = Site::new("");
    let _daemon = site.start();
    let mut staying = site.client();
    staying
        .raise(LeverKind::CpufreqMinMax, 0, Speed::Khz(2_000_000))
        .unwrap();
    drop(site.holder("hold"));
    until("the other's claim stands", || {
        staying.beat().unwrap();
        site.min_khz(0) == "2000000"
    });
    drop(staying);
    site.expect_base();
}

#[test]
fn a_client_that_hangs_loses_its_claim() {
    let site = Site::new("heartbeat_timeout_ms = 2000");
    let _daemon = site.start();
    let mute = site.holder("mute");
    site.expect_base();
    assert!(site.log().contains("no sign of life"));
    drop(mute);
    let stopped = site.holder("hold");
    stopped.signal(Signal::SIGSTOP);
    site.expect_base();
    stopped.signal(Signal::SIGCONT);
}

#[test]
fn a_daemon_that_was_stopped_does_not_punish_who_went_on_beating() {
    let site = Site::new("heartbeat_timeout_ms = 3000");
    let daemon = site.start();
    let _holder = site.holder("hold");
    daemon.signal(Signal::SIGSTOP);
    std::thread::sleep(Duration::from_millis(3300));
    daemon.signal(Signal::SIGCONT);
    // An answer shows that the daemon is through with what came before.
    site.client().offer(LeverKind::CpufreqMinMax, 1).unwrap();
    assert_eq!(site.min_khz(0), PEAK, "{}", site.log());
}

#[test]
fn a_daemon_that_hangs_is_told_in_words_and_not_waited_for() {
    let site = Site::new("");
    let daemon = site.start();
    daemon.signal(Signal::SIGSTOP);
    let patience = Duration::from_millis(200);
    let expected = "bobtaild does not answer within 200 ms";
    let error = Client::connect(&site.socket(), patience).unwrap_err();
    assert_eq!(error.to_string(), expected);
    // As many as its queue has room for, and more: the last are not even connected.
    let socket = site.socket();
    let tries: Vec<_> = (0..80)
        .map(|_| {
            let socket = socket.clone();
            std::thread::spawn(move || Client::connect(&socket, patience).unwrap_err())
        })
        .collect();
    until("nobody is waited for longer", || {
        tries.iter().all(|one| one.is_finished())
    });
    daemon.signal(Signal::SIGCONT);
    for one in tries {
        assert_eq!(one.join().unwrap().to_string(), expected);
    }
}

#[test]
fn a_signal_ends_the_daemon_with_everything_back() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let site = Site::new("");
        let mut daemon = site.start();
        let _holder = site.holder("hold");
        daemon.signal(signal);
        assert_eq!(daemon.wait().code(), Some(0), "{}", site.log());
        assert_eq!(site.min_khz(0), BASE);
        assert!(!site.socket().exists());
        let journal = fs::read_to_string(site.journal()).unwrap();
        assert!(journal.contains("\"entries\":[]"), "{journal}");
        site.expect_no_guards();
    }
}

#[test]
fn the_guard_puts_back_what_a_killed_daemon_left() {
    let site = Site::new("");
    for _ in 0..DAEMONS_KILLED {
        let mut daemon = site.start();
        let _holder = site.holder("hold");
        daemon.signal(Signal::SIGKILL);
        daemon.wait();
        site.expect_base();
        site.expect_no_guards();
    }
}

#[test]
fn a_guard_does_not_end_by_the_signals_that_end_a_service() {
    let site = Site::new("");
    let mut daemon = site.start();
    let _holder = site.holder("hold");
    for signal in [
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ] {
        kill(Pid::from_raw(site.guards()[0]), signal).unwrap();
    }
    daemon.signal(Signal::SIGKILL);
    daemon.wait();
    site.expect_base();
    assert!(!site.log().contains("guard has ended"), "{}", site.log());
}

#[test]
fn the_next_start_puts_back_what_daemon_and_guard_left() {
    let site = Site::new("");
    let _holder = site.leave_raised();
    site.expect_no_guards();
    assert_eq!(site.min_khz(0), PEAK, "nobody was there");
    let _daemon = site.start();
    assert_eq!(site.min_khz(0), BASE, "before the first client is served");
    assert!(site.log().contains("put back cpufreq-min-max of CPU 0"));
}

#[test]
fn a_killed_guard_is_followed_by_another() {
    let site = Site::new("");
    let mut daemon = site.start();
    let _holder = site.holder("hold");
    let first = site.guards()[0];
    kill(Pid::from_raw(first), Signal::SIGKILL).unwrap();
    until("another guard", || {
        site.guards().iter().any(|guard| *guard != first) && site.log().contains("another")
    });
    // It watches once it has said so to the daemon, which serves again only then.
    site.client();
    daemon.signal(Signal::SIGKILL);
    daemon.wait();
    site.expect_base();
}

#[test]
fn a_daemon_that_follows_a_killed_one_at_once_and_its_guards_agree() {
    let site = Site::new("");
    let mut daemon = site.start();
    for _ in 0..DAEMONS_KILLED {
        let _holder = site.holder("hold");
        daemon.signal(Signal::SIGKILL);
        let next = site.start();
        daemon.wait();
        daemon = next;
        assert_eq!(site.min_khz(0), BASE);
    }
    daemon.signal(Signal::SIGKILL);
    daemon.wait();
    site.expect_no_guards();
    assert_eq!(site.min_khz(0), BASE);
}

#[test]
fn restore_and_a_standing_guard_put_back_too() {
    let site = Site::new("");
    let leave_raised = || {
        let mut daemon = site.start();
        let _holder = site.holder("hold");
        daemon.signal(Signal::SIGSTOP);
        for guard in site.guards() {
            kill(Pid::from_raw(guard), Signal::SIGKILL).unwrap();
        }
        daemon.signal(Signal::SIGKILL);
        daemon.wait();
    };
    leave_raised();
    assert_eq!(site.min_khz(0), PEAK);
    let restored = site.command().arg("--restore").status().unwrap();
    assert_eq!((restored.code(), site.min_khz(0).as_str()), (Some(0), BASE));
    let mut standing = site.command().arg("--stand-guard").spawn().unwrap();
    leave_raised();
    site.expect_base();
    standing.kill().unwrap();
    standing.wait().unwrap();
}

#[test]
fn a_knob_that_was_gone_for_a_while_is_put_back() {
    let site = Site::new("");
    let _daemon = site.start();
    let holder = site.holder("hold");
    let folder = site.knob(0).parent().unwrap().to_owned();
    let away = folder.with_extension("offline");
    fs::rename(&folder, &away).unwrap();
    // The daemon's open file would still reach it; the kernel's would not.
    fs::remove_file(away.join("scaling_min_freq")).unwrap();
    drop(holder);
    until("it is missed", || site.log().contains("is gone, waiting"));
    fs::write(away.join("scaling_min_freq"), PEAK).unwrap();
    fs::rename(&away, &folder).unwrap();
    site.expect_base();
}

#[test]
fn a_knob_that_cannot_be_written_at_the_end_is_left_to_the_guard() {
    let site = Site::new("");
    let mut daemon = site.start();
    let _holder = site.holder("hold");
    site.swap_knob(0);
    daemon.signal(Signal::SIGTERM);
    assert_eq!(daemon.wait().code(), Some(77), "{}", site.log());
    assert!(site.log().contains("1 levers could not be put back"));
    site.swap_knob(0);
    site.expect_base();
    site.expect_no_guards();
}

#[test]
fn a_guard_puts_back_what_a_journal_told_that_is_gone() {
    let site = Site::new("");
    let folder = site.folder.0.join("private");
    let journal = folder.join("journal.json");
    for is_folder_gone in [true, false] {
        fs::create_dir_all(&folder).unwrap();
        let mut command = site.command();
        let mut child = command.arg("--journal").arg(&journal).spawn().unwrap();
        until("the daemon answers", || {
            Client::connect(&site.socket(), running::PATIENCE).is_ok()
        });
        let _holder = site.holder("hold");
        // The kernel tells the guard of the journal; it has the time to read it.
        std::thread::sleep(Duration::from_secs(1));
        match is_folder_gone {
            true => fs::remove_dir_all(&folder).unwrap(),
            false => fs::remove_file(&journal).unwrap(),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        site.expect_base();
    }
}

#[test]
fn a_guard_that_is_sent_home_puts_nothing_back() {
    let site = Site::new("");
    let _holder = site.leave_raised();
    for (said, expected) in [(".", PEAK), ("", BASE)] {
        let mut command = site.command();
        command.arg("--journal").arg(site.journal());
        command.args(["--guard-of", "another"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut guard = command.spawn().unwrap();
        let mut ready = [0];
        guard.stdout.take().unwrap().read_exact(&mut ready).unwrap();
        let mut stdin = guard.stdin.take().unwrap();
        stdin.write_all(said.as_bytes()).unwrap();
        drop(stdin);
        assert_eq!(guard.wait().unwrap().code(), Some(0), "{}", site.log());
        assert_eq!(site.min_khz(0), expected);
    }
}

#[test]
fn guards_that_end_one_after_the_other_are_not_started_without_a_pause() {
    let site = Site::new("");
    let _daemon = site.start();
    let started = Instant::now();
    let mut seen = std::collections::BTreeSet::new();
    while started.elapsed() < Duration::from_millis(1500) {
        for guard in site.guards() {
            seen.insert(guard);
            // One that is killed before it is ready could not be started, which is another path.
            std::thread::sleep(Duration::from_millis(50));
            // It may have ended just now.
            let _ = kill(Pid::from_raw(guard), Signal::SIGKILL);
        }
    }
    let seconds = started.elapsed().as_secs() as usize;
    assert!(seen.len() <= seconds + 3, "{} in {seconds} s", seen.len());
}
