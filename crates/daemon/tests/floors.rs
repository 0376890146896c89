//! A floor that stands when a lever is claimed, or was raised between two claims: none goes below.

use bobtail_daemon::protocol::{Answer, Request, Want};
use desk::{Desk, MIN_MAX, config, granted};

#[allow(dead_code, reason = "other tests use more of it")]
#[path = "support/desk.rs"]
mod desk;
#[path = "support/folder.rs"]
mod folder;

const MIN0: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq";

#[test]
fn no_claim_puts_a_cpu_below_what_it_was_at() {
    // A rule whose highest is below the floor gives the floor, too.
    for highest in [None, Some(1_500_000)] {
        let mut config = config();
        config.allow[0].highest = highest;
        config.allow[0].lowest = Some(800_000);
        let mut desk = Desk::new(config);
        desk.kernel.put(MIN0, "2000000");
        let client = desk.join();
        let want = Want {
            lever: MIN_MAX,
            target: 0,
        };
        let Answer::Offered(offer) = desk.ask(client, Request::Ask(want)) else {
            panic!("no offer");
        };
        assert_eq!((offer.lowest, offer.base), (2_000_000, 2_000_000));
        for khz in [1, 800_000, 1_500_000, 2_000_000] {
            assert_eq!(granted(desk.raise(client, 0, khz)).0, 2_000_000, "{khz}");
            assert_eq!(desk.min_khz(0), "2000000");
        }
    }
}

#[test]
fn a_floor_that_others_raise_between_two_boosts_is_kept() {
    let mut desk = Desk::new(config());
    let client = desk.join();
    granted(desk.raise(client, 0, 1_000_000));
    desk.lower(client, 0);
    desk.kernel.put(MIN0, "2000000");
    assert_eq!(granted(desk.raise(client, 0, 1_000_000)).0, 2_000_000);
    assert_eq!(desk.min_khz(0), "2000000");
    desk.lower(client, 0);
    assert_eq!(desk.min_khz(0), "2000000");
}
