//! How long a clock was up is told of the clock, not of who claims it.

use std::time::Duration;

use bobtail_daemon::protocol::Answer;
use desk::{Desk, config};

#[allow(dead_code, reason = "other tests use more of it")]
#[path = "support/desk.rs"]
mod desk;
#[path = "support/folder.rs"]
mod folder;

const MS: Duration = Duration::from_millis(1);

#[test]
fn the_time_that_two_claim_a_clock_is_counted_once() {
    let mut desk = Desk::new(config());
    let (one, two) = (desk.join(), desk.join());
    let base = desk.raise(one, 0, 800_000);
    assert!(matches!(
        base,
        Answer::Granted {
            effective: 800_000,
            ..
        }
    ));
    desk.now += 10 * MS;
    desk.raise(one, 0, 2_000_000);
    desk.now += 10 * MS;
    desk.raise(two, 1, 3_000_000);
    desk.now += 10 * MS;
    desk.raise(one, 0, 800_000);
    desk.now += 10 * MS;
    desk.service.leave(two, desk.now);
    desk.now += 10 * MS;
    let told = |desk: &Desk| {
        let raised = desk.service.raised(desk.now);
        raised
            .iter()
            .map(|one| (one.raised_ns, one.of_ns))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        told(&desk),
        [(30_000_000, 50_000_000)],
        "up from 10 ms to 40"
    );
    // Closed in between, and opened again: it is the same clock.
    desk.service.leave(one, desk.now);
    desk.now += 2000 * MS;
    desk.service.tick(desk.now);
    let three = desk.join();
    desk.raise(three, 0, 2_000_000);
    desk.now += 10 * MS;
    assert_eq!(told(&desk), [(40_000_000, 2_060_000_000)]);
}
