//! What a fake kernel's `/proc` says of a client's process and its threads.

use bobtail_control::LeverKind;
use bobtail_daemon::protocol::{Answer, Request, Want};
use bobtail_policy::Speed;

use super::desk::{Desk, PEER};

/// Of a process or thread that started then, in ticks since boot.
pub fn put_start(desk: &Desk, thread: i32, started: u64) {
    let before = ["0"; 18].join(" ");
    let stat = format!("{thread} (n) S {before} {started} 0 0");
    desk.kernel
        .put(&format!("proc/{thread}/task/{thread}/stat"), &stat);
}

/// The peer's number is that of a process of this real and effective user in this group.
pub fn put_process(desk: &Desk, (real, effective): (u32, u32), group: &str, started: u64) {
    let pid = PEER.pid;
    let cgroup = format!("2:cpuacct:/{group}\n1:cpu:/{group}\n0::/");
    desk.kernel.put(&format!("proc/{pid}/cgroup"), &cgroup);
    // In a namespace of its own, as in a container.
    let numbers = format!("NSpid:\t{pid}\t1");
    let users = format!("Uid:\t{real}\t{effective}\t{effective}\t{effective}");
    let status = format!("Name:\tnode\n{users}\n{numbers}\n");
    desk.kernel.put(&format!("proc/{pid}/status"), &status);
    put_start(desk, pid, started);
}

/// The peer's process has a thread of this number, and of that one in its own namespace.
pub fn put_thread(desk: &Desk, thread: i32, inside: i32, started: u64) {
    let path = format!("proc/{}/task/{thread}/status", PEER.pid);
    let status = format!("Name:\tnode\nNSpid:\t{thread}\t{inside}\n");
    desk.kernel.put(&path, &status);
    put_start(desk, thread, started);
}

pub fn raise(desk: &mut Desk, client: u64, lever: LeverKind, target: u32) -> Answer {
    let (want, speed) = (Want { lever, target }, Speed::Peak);
    desk.ask(client, Request::Raise { want, speed })
}

pub fn lower(desk: &mut Desk, client: u64, lever: LeverKind, target: u32) -> Answer {
    desk.ask(client, Request::Lower(Want { lever, target }))
}
