//! A client that something stops while it waits for an answer: it waits on.

use std::fs;
use std::process::{Command, Stdio};

use nix::libc::SYS_recvfrom;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use running::{Site, until};

#[path = "support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/running.rs"]
mod running;

fn is_waiting(pid: Pid) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    call.starts_with(&format!("{SYS_recvfrom} "))
}

#[test]
fn a_client_that_is_stopped_and_goes_on_gets_its_answer() {
    let site = Site::new("");
    let daemon = site.start();
    let daemon_pid = Pid::from_raw(daemon.child.id() as i32);
    kill(daemon_pid, Signal::SIGSTOP).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_bobtaild-ask"))
        .arg(site.socket())
        .args(["offer", "cpufreq-min-max", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_raw(child.id() as i32);
    until("it waits for the daemon", || is_waiting(pid));
    kill(pid, Signal::SIGSTOP).unwrap();
    until("it is stopped", || is_stopped(pid));
    kill(pid, Signal::SIGCONT).unwrap();
    kill(daemon_pid, Signal::SIGCONT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

fn is_stopped(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains(") T ")
}
