//! A daemon's own test of the levers that it may give: what does nothing is given to nobody.

use bobtail_daemon::journal::Journal;
use bobtail_daemon::protocol::Refusal;
use bobtail_daemon::proving::prove;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy};
use desk::{Desk, MIN_MAX, USERSPACE, config, refusal};
use folder::Folder;

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
