//! Stops and goes on recording a loop, so that a service in production is recorded in bursts.
//!
//! Between bursts the state of the loop is put aside, where the wrapped functions do not find it:
//! they then pass on, as on a thread that was never recorded. What costs something by itself (the
//! kernel's switches, V8's callbacks, ticks of the watchdog) is given back and taken again.

use std::sync::atomic::Ordering::Release;

use bobtail_trace::layout::{LAST_EVENT, live};
use bobtail_trace::record::MarkKind;

use crate::clock::{RealtimeOffset, monotonic_ns};
use crate::loop_state::{LoopState, Poll};
use crate::napi::{Env, Scope};
use crate::not_running::NotRunning;
use crate::pool::{self, Jobs};
use crate::start::Mechanism;
use crate::switches::Switches;
use crate::v8::Work;
use crate::{libuv, ready_helper, registry, thread, v8, watchdog};

/// What a loop had at work and takes up again.
#[derive(Debug, Default, Clone, Copy)]
pub struct Equipment {
    pub switches: bool,
    pub looks: bool,
}

/// Stops recording the loop of this thread; false when it was not being recorded.
pub fn pause() -> bool {
    let Some(state) = thread::state() else {
        return false;
    };
    state.end();
    state.mark(MarkKind::Paused, 0);
    state.writer.live.set(live::PAUSED, 1);
    state.writer.not_running = NotRunning::new(Switches::none());
    // SAFETY: this is the isolate's thread.
    unsafe { std::mem::take(&mut state.hooks).unhook() };
    let shared = &state.shared;
    shared.queue_length.store(0, Release);
    if state.has_helper {
        ready_helper::leave(shared);
    }
    shared.backend.forbid();
    state.cpu_timer = None;
    registry::rest(shared.index);
    pool::rest();
    thread::put_aside();
    true
}

/// Goes on recording the loop of this thread; `None` when it was not paused, else what is taken
/// again and what is refused now, which may have been granted at the start.
pub fn resume() -> Option<Vec<Mechanism>> {
    if !thread::is_paused() {
        return None;
    }
    let env = thread::even_paused().map_or(0, |state| state.env);
    // SAFETY: the environment that started the recording calls.
    let scope = unsafe { Scope::new(env as Env) };
    // As at the start, before the loop is recorded: V8 is made to call what is put in.
    let (hooks, mut mechanisms) = v8::hook(scope);
    let state = thread::take_up()?;
    state.hooks = hooks;
    if state.writer.live.get(live::EVENT) >= LAST_EVENT {
        // Numbers have run out: paused for good.
        thread::put_aside();
        return None;
    }
    state.poll = Poll::default();
    state.next_batch();
    state.resumed_ns = monotonic_ns();
    state.realtime = RealtimeOffset::new();
    state.work = Work::new();
    // What was seen of jobs has gone on unseen.
    state.jobs = Jobs::new();
    state.shared.completions.clear();
    pool::wake();
    registry::wake(
        state.shared.index,
        state.uv_loop + libuv::uv_loop::WORK_MUTEX,
    );
    pool::adopt(state.uv_loop);
    state.writer.live.set(live::PAUSED, 0);
    state.mark(MarkKind::Resumed, 0);
    take_up(state, &mut mechanisms);
    Some(mechanisms)
}

fn take_up(state: &mut LoopState, mechanisms: &mut Vec<Mechanism>) {
    state.cpu_timer = watchdog::timer();
    let equipment = state.equipment;
    if equipment.switches {
        // The kernel granted it before; if not now, the times are missing and not wrong.
        let switches = Switches::open();
        mechanisms.push(Mechanism {
            name: "not-running",
            refused: switches.as_ref().err().cloned(),
        });
        let switches = switches.unwrap_or_else(|_| Switches::none());
        state.writer.not_running = NotRunning::new(switches);
    }
    if equipment.looks {
        state.shared.backend.allow_again(state.backend_fd);
        if state.has_helper {
            ready_helper::nest(&state.shared);
        }
    }
}
