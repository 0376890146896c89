//! `deadline` as it is shipped, with all of its defaults, on drawn loops: what a loop does on the
//! left, what must be boosted of it on the right.
//!
//! A line is a row of turns: `8ms` is one that is as long, `20*350us` are twenty, `mark:10ms` is
//! one in which such a collection begins after 0.2 ms and takes the rest, which is as long. After
//! one with a `~` the loop waits for 0.5 ms, with more for as much of each. Right of the bar is,
//! for each, the age from which on it was boosted, `-` if it was not; with nothing there the loop
//! is only learnt. `300 x` does the line as often. Looks are 0.2 ms apart, and each turn is one
//! event.

use bobtail_policy::{
    Collection, CollectionKind, Decider, LeverFacts, LoopTotals, Policy, Reading, Speed,
};
use duration::ns;

#[path = "support/duration.rs"]
mod duration;

const LOOK_NS: u64 = 200_000;
const WAIT_NS: u64 = 500_000;
/// What it may boost is 0.85 of what Combined would, which counts as what a peak 4.0/2.6 as fast
/// would take where the loop is at base: but what is drawn takes as long at any speed.
const OF_COMBINED: (f64, f64) = (0.85 * 2.6 / 4.0, 0.85);

/// A row of like turns.
struct Turns {
    count: u32,
    collection: Option<CollectionKind>,
    long_ns: u64,
    waits: usize,
}

impl Turns {
    fn read(word: &str) -> Self {
        let (count, one) = word.split_once('*').unwrap_or(("1", word));
        let (kind, long) = one.split_once(':').unzip();
        let long = long.unwrap_or(one);
        let before_ns = kind.map_or(0, |_| LOOK_NS);
        Self {
            count: count.parse().unwrap(),
            collection: kind.map(|kind| match kind {
                "mark" => CollectionKind::MarkCompact,
                "scavenge" => CollectionKind::Scavenge,
                other => panic!("collection {other}"),
            }),
            long_ns: before_ns + ns(long.trim_end_matches('~')),
            waits: long.matches('~').count(),
        }
    }
}

struct Loop {
    decider: Box<dyn Decider>,
    now_ns: u64,
    totals: LoopTotals,
    boosted_ns: u64,
}

impl Loop {
    fn under(policy: &str) -> Self {
        let policy: Policy = policy.parse().unwrap();
        Self {
            decider: policy.start(&LeverFacts::default()),
            now_ns: LOOK_NS,
            totals: LoopTotals::default(),
            boosted_ns: 0,
        }
    }

    fn is_boosted(&mut self, head_ns: u64, collection: Option<Collection>) -> bool {
        let reading = Reading {
            now_ns: self.now_ns,
            totals: self.totals,
            head_ns,
            collection,
            ..Reading::default()
        };
        self.decider.decide(&reading).speed == Speed::Peak
    }

    /// A turn, and the wait after it; its age at each look at which there was a boost.
    fn turn(&mut self, turns: &Turns) -> Vec<u64> {
        let long_ns = turns.long_ns;
        let begin_ns = self.now_ns;
        let collection = turns.collection.map(|kind| Collection {
            kind,
            begin_ns: begin_ns + LOOK_NS,
        });
        self.totals.turns += 1;
        let mut boosted = vec![];
        for head_ns in (LOOK_NS..=long_ns).step_by(LOOK_NS as usize) {
            self.now_ns = begin_ns + head_ns;
            if self.is_boosted(head_ns, collection.filter(|_| head_ns < long_ns)) {
                boosted.push(head_ns);
                self.boosted_ns += LOOK_NS.min(long_ns - head_ns);
            }
        }
        self.now_ns = begin_ns + long_ns;
        self.totals.events += 1;
        self.totals.events_ns += long_ns;
        for wait in 1..=turns.waits as u64 {
            self.now_ns += WAIT_NS;
            if self.is_boosted(0, None) {
                boosted.push(long_ns + wait * WAIT_NS);
            }
        }
        boosted
    }

    /// Does a line, and holds the decisions to what it expects.
    fn draw(&mut self, line: &str) {
        let (row, expected) = line.split_once('|').unwrap();
        let (times, row) = row.split_once(" x ").unwrap_or(("1", row));
        let row: Vec<Turns> = row.split_whitespace().map(Turns::read).collect();
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert!(expected.is_empty() || expected.len() == row.len(), "{line}");
        for _ in 0..times.trim().parse::<u32>().unwrap() {
            for (at, turns) in row.iter().enumerate() {
                for _ in 0..turns.count {
                    let boosted = self.turn(turns);
                    if let Some(expected) = expected.get(at) {
                        let told = told(&boosted, turns.long_ns / LOOK_NS * LOOK_NS);
                        assert_eq!(told, *expected, "turn {} of {line}", at + 1);
                    }
                }
            }
        }
    }
}

/// From which age on there was a boost, where it was at all looks from then on and at none after
/// the last of the turn.
fn told(boosted: &[u64], last_ns: u64) -> String {
    let Some(&from_ns) = boosted.first() else {
        return "-".to_owned();
    };
    let is_whole = (from_ns..=last_ns)
        .step_by(LOOK_NS as usize)
        .eq(boosted.iter().copied());
    match is_whole {
        true => format!("{}us", from_ns / 1000),
        false => format!("at {boosted:?}"),
    }
}

/// Draws a loop under the policy as it is shipped.
fn check(drawing: &str) {
    let mut one = Loop::under("deadline");
    let lines = drawing.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty())
        .for_each(|line| one.draw(line));
}

#[test]
fn a_long_turn_is_boosted_once_it_outlasts_the_short_ones_and_who_came_meanwhile_too() {
    check(
        "
        8ms~                           | -
        20 x 600*350us~ 8ms~           |
        350us~ 8ms~ 20*350us~          | - 400us -
        8ms 350us 350us~ 20*350us~     | 400us 200us - -
        ",
    );
}

#[test]
fn a_collection_is_boosted_from_its_begin_if_it_may_make_a_turn_long() {
    check(
        "
        mark:10ms~ scavenge:1ms~       | 200us 200us
        300 x 20*750us~ 8ms~           |
        mark:10ms~ 750us~              | 200us -
        7*scavenge:200us~              | 200us
        60*scavenge:200us~ 20*750us~   | - -
        ",
    );
}

#[test]
fn of_turns_that_are_all_short_none_is_boosted() {
    check("3000 x 16*350us~ 8*450us~ 4*550us~ 2*650us~ 750us~ | - - - - -");
    check("3000 x 16*350us 8*450us 4*550us 2*650us 750us | - - - - -");
}

/// The part of the work of a line that is boosted when it is done for the second time.
fn part_once_known(policy: &str, line: &str) -> f64 {
    let mut one = Loop::under(policy);
    one.draw(line);
    let (boosted_ns, worked_ns) = (one.boosted_ns, one.totals.events_ns);
    one.draw(line);
    (one.boosted_ns - boosted_ns) as f64 / (one.totals.events_ns - worked_ns) as f64
}

#[test]
fn where_the_longest_turns_are_all_alike_it_keeps_to_what_it_may_spend() {
    for line in [
        "3000 x 1ms~ |",
        "3000 x 2ms~ |",
        "3000 x 1ms |",
        "1000 x 20ms~ |",
        "1000 x 100ms |",
    ] {
        let part = part_once_known("deadline", line);
        assert!(part < 0.01, "{part} of {line}");
        assert_eq!(part_once_known("combined", line), 0.0, "{line}");
    }
    let line = "1000 x 20*400us~ 8ms~ |";
    let [ours, combined] = ["deadline", "combined"].map(|policy| part_once_known(policy, line));
    // A boost begins with a look, so of turns that are alike each is boosted a look more or less:
    // half of the work is in those of 8 ms.
    let look = 0.5 * LOOK_NS as f64 / 8e6;
    assert!(
        (OF_COMBINED.0 * combined..OF_COMBINED.1 * combined + look).contains(&ours),
        "{ours} for {combined}"
    );
}

#[test]
fn of_a_loop_that_has_little_to_do_it_boosts_nearly_as_much_as_combined() {
    // It works for 16 ms, and then waits for half of one after each of 21 turns: for 0.6, 0.28 and
    // 0.11 of the time, of which the last two are less than 0.4.
    for (waits, part) in [(1, 0.85), (4, 0.897), (12, 0.958)] {
        let after = "~".repeat(waits);
        let line = format!("1000 x 20*400us{after} 8ms{after} |");
        let [ours, combined] = ["deadline", "combined"].map(|one| part_once_known(one, &line));
        // As above each boost is a look more or less.
        let look = 0.5 * LOOK_NS as f64 / 8e6;
        let most = part * combined;
        assert!(
            (most..most + look).contains(&ours),
            "{ours} for {combined}, {waits} waits"
        );
    }
}

/// The part of the work that is boosted, once it is known, of a loop that never waits and of whose
/// turns one in four ends each half millisecond.
fn part_of_ending_turns(policy: &str, seed: u64) -> f64 {
    let mut state = seed;
    let mut ends = || {
        // Knuth's, of which the upper bits are as good as random.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 62 == 0
    };
    let turns = (0..1_000).map(|_| 500 * (1..).find(|_| ends()).unwrap());
    let row: Vec<_> = turns.map(|long_us: u32| format!("{long_us}us")).collect();
    part_once_known(policy, &format!("20 x {} |", row.join(" ")))
}

#[test]
fn it_gets_by_with_less_than_combined_would_boost() {
    let part = |policy| {
        let parts = (0..8).map(|seed| part_of_ending_turns(policy, seed));
        parts.sum::<f64>() / 8.0
    };
    let (shipped, combined) = (part("deadline"), part("combined"));
    assert!(
        (OF_COMBINED.0 * combined..OF_COMBINED.1 * combined).contains(&shipped),
        "{shipped} of {combined}"
    );
    let unbound = part("deadline:of-combined=1000");
    assert!(unbound > 4.0 * shipped, "{shipped} of {unbound}");
}
