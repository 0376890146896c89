//! Levers of several clocks that a daemon moves as one for a process, some of which it refuses.

use bobtail_control::{Actuator, LeverKind};
use bobtail_daemon::claimed::Claimed;
use bobtail_daemon::client::Client;
use bobtail_policy::Speed;
use running::{BASE, PATIENCE, PEAK, Site, until};

#[path = "support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/running.rs"]
mod running;

/// Both CPUs' clocks as one lever, and somebody who has some of them by a lever of another kind.
fn both_of(site: &Site, taken: &[u32]) -> (Claimed, Client) {
    let both = Claimed::open(&site.socket(), LeverKind::CpufreqMinMax, &[0, 1], PATIENCE).unwrap();
    let mut other = site.client();
    for cpu in taken {
        let userspace = LeverKind::CpufreqUserspace;
        other.raise(userspace, *cpu, Speed::Peak).unwrap();
    }
    (both, other)
}

fn site() -> Site {
    let user = nix::unistd::geteuid();
    Site::new(&format!(
        "[lever.cpufreq-userspace]\nbase = 800_000\n\
         [[allow]]\nusers = [{user}]\nlevers = [\"cpufreq-userspace\"]\n"
    ))
}

/// The daemon has read what was sent before, and its answers are there: it serves one client no
/// more than 16 times before it turns to the others.
fn settle(other: &mut Client) {
    for _ in 0..40 {
        other.offer(LeverKind::CpufreqMinMax, 0).unwrap();
    }
}

#[test]
fn what_is_granted_is_lowered_though_something_else_is_refused() {
    let site = site();
    let _daemon = site.start();
    let (mut both, mut other) = both_of(&site, &[0]);
    both.apply(Speed::Peak).unwrap();
    assert_eq!(
        both.lever().transition_ns,
        Some(10_000),
        "as the driver told"
    );
    until("the other clock is up", || {
        other.beat().unwrap();
        site.min_khz(1) == PEAK
    });
    settle(&mut other);
    both.apply(Speed::Base).unwrap();
    let outcome = both.outcome().expect("the raise is answered");
    assert_eq!((outcome.change, outcome.refused), (1, 1));
    assert_eq!(
        outcome.stands.map(|khz| khz.to_string()),
        Ok(PEAK.to_owned())
    );
    until("it is down again", || site.min_khz(1) == BASE);
}

#[test]
fn all_refusals_of_a_move_are_one_outcome_and_it_is_asked_for_again() {
    let site = site();
    let _daemon = site.start();
    let (mut both, mut other) = both_of(&site, &[0, 1]);
    both.apply(Speed::Peak).unwrap();
    assert_eq!(both.unanswered(), Some(1));
    settle(&mut other);
    assert!(
        !both.apply(Speed::Peak).unwrap().is_changed,
        "not sent at once"
    );
    let outcome = both.outcome().expect("answered");
    assert_eq!((outcome.change, outcome.refused), (1, 2));
    assert!(outcome.stands.is_err());
    assert_eq!((both.unanswered(), both.outcome()), (None, None));
    drop(other);
    settle(&mut site.client());
    both.apply(Speed::Peak).unwrap();
    until("both are up", || {
        both.apply(Speed::Peak).unwrap();
        site.min_khz(0) == PEAK && site.min_khz(1) == PEAK
    });
}
