//! Turns of the loop: in which part of one an event runs, and in what order.
//!
//! libuv asks the kernel what is ready, runs all of that, then the immediates, then what is closed,
//! then the timers that are due (1.45 and later, so Node 20 and later). Within one answer of the
//! kernel the order is the kernel's: nearly that of becoming ready, but not quite. So what it told
//! together in the recording keeps its order among itself.

use bobtail_trace::record::{LoopKind, Ns, ReadyQuality};

use crate::agenda::Due;
use crate::capture::Seen;
use crate::model::{Event, Phase};
use crate::triggers::Cause;

/// Where in a turn events of a kind run.
pub(crate) fn phase_of(kind: LoopKind) -> Phase {
    match kind {
        LoopKind::Immediate | LoopKind::Immediates => Phase::Check,
        LoopKind::Close => Phase::Close,
        LoopKind::Timer | LoopKind::Timers => Phase::Timers,
        _ => Phase::Poll,
    }
}

/// One answer of the kernel.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Turn {
    /// The loop slept until the first of its events was ready.
    pub woken: bool,
    /// From then, or from when the loop was free, until the answer was there: what was ready
    /// meanwhile is a part of it.
    pub poll_ns: u64,
    /// The kernel told of an event.
    pub has_polled: bool,
}

/// When events of the poll stand in line, and the turns by number.
///
/// What is told with one answer was not there at the one before it, or not listened to; and what
/// was ready no later than told was ready when the kernel told others after it.
pub(crate) fn stand_in_line(events: &[Seen], causes: &[Cause], ready_ns: &mut [Ns]) -> Vec<Turn> {
    let mut after: Option<(u32, Ns)> = None;
    for (ix, seen) in events.iter().enumerate().rev() {
        match phase_of(seen.ended.kind) {
            Phase::Poll => {}
            Phase::Timers | Phase::Check | Phase::Close => continue,
        }
        let is_exact =
            seen.ended.ready_ns.is_some() && seen.ended.ready_quality == ReadyQuality::Exact;
        let is_of_more = is_of_more(seen, ready_ns[ix]);
        let told_ns = match after {
            // Of each answer it is told when it came.
            _ if seen.answers != 0 => ready_ns[ix],
            Some((turn, after_ns)) if turn == seen.turn && (!is_exact || is_of_more) => {
                ready_ns[ix].min(after_ns)
            }
            _ if wakes(seen) || is_of_more => ready_ns[ix].min(seen.polled_ns),
            _ => ready_ns[ix],
        };
        let caused_ns = match causes[ix] {
            Cause::Earlier { at_ns, .. } => at_ns,
            Cause::Outside { after, .. } => after.map_or(0, |(_, at_ns)| at_ns),
        };
        // A read takes all that is there.
        let told_before_ns = seen.polled_before_ns.max(seen.read_before_ns);
        let earliest_ns = caused_ns.max(told_before_ns + 1);
        ready_ns[ix] = told_ns.max(earliest_ns).min(seen.ended.begin_ns);
        after = Some((seen.turn, ready_ns[ix]));
    }
    turns(events, ready_ns)
}

/// The first job of an answer of the kernel: what was told is that some are done, so that it stands
/// in line since then where it is not known when it was done.
fn wakes(seen: &Seen) -> bool {
    seen.ended.kind == LoopKind::Pool && seen.taken_ns < seen.ended.begin_ns
}

/// The stamp is that of bytes which came while others of the same answer ran: a connection on which
/// several requests ask had been told for those before. So that is a bound.
fn is_of_more(seen: &Seen, ready_ns: Ns) -> bool {
    seen.ended.kind == LoopKind::Read && seen.polled_ns > 0 && ready_ns > seen.polled_ns
}

/// Between libuv's look at its clock at the end of a turn (`uv_run`), for which there is no stamp,
/// and that of asking the kernel again lie some tenths of a microsecond. What was due longer before
/// and did not run waited for another timer, and waits for less where that is faster.
const TURN_ENDS_NS: Ns = 10_000;

/// libuv counts whole milliseconds and asks the kernel to wake it in so many of them, so a timer
/// that wakes the loop does so up to one later than it was due. One that was due in the turn before
/// and did not run there was set since, by a clock that libuv had read before. And one that became
/// due while that turn ended (`TURN_ENDS_NS`) did so after libuv had read the clock for its timers.
fn late_timers(of_turn: &[Seen], ready_ns: &mut [Ns]) {
    let Some(first) = of_turn.first() else { return };
    let polled = of_turn.iter().zip(ready_ns.iter());
    let polled = polled.filter(|(seen, _)| phase_of(seen.ended.kind) == Phase::Poll);
    let others_ns = polled.map(|(_, &ready_ns)| ready_ns).min().unwrap_or(0);
    let mut all_ns = 0;
    for (seen, due_ns) in of_turn.iter().zip(ready_ns) {
        let slept = first.free_ns < *due_ns && *due_ns < seen.polled_ns;
        if slept && phase_of(seen.ended.kind) == Phase::Timers {
            *due_ns = seen.polled_ns.max(others_ns).min(seen.ended.begin_ns);
        }
        if seen.ended.kind == LoopKind::Timers && *due_ns <= seen.polled_before_ns {
            *due_ns = seen.polled_ns.min(seen.ended.begin_ns);
        }
        let since_ns = first.free_ns.checked_sub(*due_ns);
        if seen.ended.kind == LoopKind::Timers && since_ns.is_some_and(|ns| ns < TURN_ENDS_NS) {
            *due_ns = (first.free_ns + 1).min(seen.ended.begin_ns);
        }
        // Those of Node run when the one of libuv does that stands for all of them.
        match seen.ended.kind {
            LoopKind::Timers => all_ns = *due_ns,
            LoopKind::Timer => *due_ns = (*due_ns).max(all_ns).min(seen.ended.begin_ns),
            _ => {}
        }
    }
}

fn turns(events: &[Seen], ready_ns: &mut [Ns]) -> Vec<Turn> {
    let last = events.last().map_or(0, |seen| seen.turn as usize);
    let mut turns = vec![Turn::default(); last + 1];
    let mut from = 0;
    while from < events.len() {
        let turn = events[from].turn;
        let of_turn = events[from..]
            .iter()
            .take_while(|seen| seen.turn == turn)
            .count();
        late_timers(
            &events[from..from + of_turn],
            &mut ready_ns[from..from + of_turn],
        );
        let polled =
            (from..from + of_turn).filter(|ix| phase_of(events[*ix].ended.kind) == Phase::Poll);
        let mut polled = polled.peekable();
        if let Some(&first) = polled.peek() {
            let free_ns = events[first].free_ns;
            let ready_ns = polled.map(|ix| ready_ns[ix]).min().unwrap_or(0);
            turns[turn as usize] = Turn {
                woken: ready_ns > free_ns,
                poll_ns: events[first]
                    .polled_ns
                    .saturating_sub(ready_ns.max(free_ns)),
                has_polled: true,
            };
        }
        from += of_turn;
    }
    turns
}

/// Puts one answer of the kernel, given by ready times, in order: those that it told together in
/// the recording share their places as they did then.
pub(crate) fn in_order(batch: &mut [Due], events: &[Event]) {
    if batch.is_sorted_by_key(|due| due.1) {
        return;
    }
    let turn = |due: &Due| events[due.1 as usize].turn;
    let mut places: Vec<(u32, usize)> = batch
        .iter()
        .enumerate()
        .map(|(place, due)| (turn(due), place))
        .collect();
    places.sort_unstable();
    let mut sorted: Vec<Due> = batch.to_vec();
    sorted.sort_unstable_by_key(|due| (turn(due), due.1));
    for ((_, place), due) in places.into_iter().zip(sorted) {
        batch[place] = due;
    }
}
