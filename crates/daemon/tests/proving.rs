//! A daemon's own test of the levers that it may give: what does nothing is given to nobody.

use std::os::fd::AsFd;
use std::rc::Rc;

use bobtail_control::{Host, LeverKind, receive_with_files};
use bobtail_daemon::config::{Config, Rule};
use bobtail_daemon::journal::Journal;
use bobtail_daemon::lent::Lender;
use bobtail_daemon::protocol::Refusal;
use bobtail_daemon::proving::prove;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy};
use desk::{Desk, MIN_MAX, USERSPACE, config, refusal};
use folder::Folder;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/desk.rs"]
mod desk;
#[path = "support/folder.rs"]
mod folder;

/// A kernel whose frequencies are texts moves no CPU of this machine.
#[test]
fn a_lever_that_moves_nothing_is_given_to_nobody() {
    let kernel = FakeKernel::with_cpus(1);
    kernel.cpufreq(&FakePolicy::of_cpu(0));
    let before = kernel.texts();
    let folder = Folder::new();
    let path = folder.0.join("journal.json");
    let mut journal = Journal::begin(&path, &kernel.host(), "a test", vec![]).unwrap();
    let mut config = config();
    prove(&kernel.host(), &mut journal, &mut config);
    assert_eq!(config.without_effect, [USERSPACE, MIN_MAX]);
    assert_eq!(kernel.texts(), before);
    assert!(journal.entries().is_empty());
    let mut desk = Desk::new(config);
    let client = desk.join();
    assert_eq!(refusal(desk.raise(client, 0, 2_000_000)), Refusal::SpeedOff);
    assert!(desk.kernel.writes().is_empty());
}

/// Of a daemon that is killed in the middle of a test the guard knows what is its own.
#[test]
fn the_guard_has_the_lock_of_a_lever_while_it_is_tested() {
    let kernel = FakeKernel::with_cpus(1);
    kernel.cpufreq(&FakePolicy {
        driver: "intel_pstate",
        ..FakePolicy::of_cpu(0)
    });
    let folder = Folder::new();
    kernel.write_to(&folder.0).unwrap();
    let host = Host::below(&folder.0);
    let (line, guard) = socketpair(
        AddressFamily::Unix,
        SockType::SeqPacket,
        None,
        SockFlag::SOCK_NONBLOCK,
    )
    .unwrap();
    let lender = Lender::default();
    lender.speak_to(Rc::new(line));
    let journal = Journal::begin(&folder.0.join("journal.json"), &host, "a test", vec![]);
    let mut config = Config {
        allow: vec![Rule {
            levers: vec![LeverKind::EnergyPreference],
            ..Rule::default()
        }],
        ..Config::default()
    };
    prove(&host, &mut journal.unwrap().lending(lender), &mut config);
    assert!(config.without_effect.is_empty());
    let said = || {
        let (mut buffer, mut files) = (vec![0; 4096], vec![]);
        let length = receive_with_files(guard.as_fd(), &mut buffer, &mut files).unwrap();
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        (text.contains("lend"), files.len())
    };
    // What the guard may have had of it goes first, and all when the lever is back.
    let all = [said(), said(), said()];
    assert!(
        matches!(all, [(false, 0), (true, 1..), (false, 0)]),
        "{all:?}"
    );
}

/// What is not there at the start may be there later, and is refused with its reason until then.
#[test]
fn a_lever_that_cannot_be_tested_is_not_said_to_do_nothing() {
    let kernel = FakeKernel::with_cpus(1);
    let folder = Folder::new();
    let path = folder.0.join("journal.json");
    let mut journal = Journal::begin(&path, &kernel.host(), "a test", vec![]).unwrap();
    let mut config = config();
    prove(&kernel.host(), &mut journal, &mut config);
    assert!(config.without_effect.is_empty());
}
