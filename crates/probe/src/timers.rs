//! The run of Node's timer list and of its immediates: one libuv callback each.
//!
//! Their handles lie next to each other in node::Environment, which is how they are told from
//! other timers; the probe does not know the class.

use std::ffi::c_int;

use bobtail_trace::record::{LoopKind, ReadyQuality};

use crate::clock::monotonic_ns;
use crate::libuv::{self, handle, timer};
use crate::loop_state::LoopState;
use crate::symbols::symbols;
use crate::thread::state;
use crate::trampoline;

/// Node's own handles on a loop; 0 not found.
#[derive(Debug, Default, Clone, Copy)]
pub struct NodeHandles {
    timer: usize,
    /// Active while an immediate that keeps the process alive is queued.
    idle: usize,
}

impl NodeHandles {
    /// Finds them on the loop of this thread, and swaps the callback of the immediates.
    ///
    /// # Errors
    /// A reason in words when they are not where they are expected.
    pub fn find(uv_loop: usize) -> Result<Self, String> {
        let mut handles = Vec::new();
        libuv::each_handle(uv_loop, |at| {
            // SAFETY: uv_walk gives live handles.
            handles.push((at, unsafe { libuv::get::<c_int>(at, handle::TYPE) }));
        });
        let has = |at, kind| handles.contains(&(at, kind));
        let check = handles
            .iter()
            .filter(|(_, kind)| *kind == handle::TYPE_CHECK)
            .map(|(check, _)| *check)
            .find(|check| {
                has(check - timer::BYTES, handle::TYPE_TIMER)
                    && has(check + timer::CHECK_BYTES, handle::TYPE_IDLE)
            })
            .ok_or("Node's timer and check handles are not next to each other")?;
        if let Ok(symbols) = symbols() {
            // SAFETY: a live check handle.
            let callback = unsafe { libuv::get::<usize>(check, timer::CALLBACK) };
            let expected = symbols.check_immediate;
            if expected != 0 && callback != expected && !was_hooked(callback) {
                return Err("the check handle is not that of the immediates".into());
            }
        }
        // SAFETY: live handles of this thread's loop.
        if !unsafe { trampoline::hook_check(check) } {
            return Err("the check handle has no callback".into());
        }
        Ok(Self {
            timer: check - timer::BYTES,
            idle: check + timer::CHECK_BYTES,
        })
    }
}

/// A callback that is not Node's is one of ours, from an earlier recording on this thread.
fn was_hooked(callback: usize) -> bool {
    let start = crate::got::load_bias() as usize;
    let ours = was_hooked as *const () as usize;
    // Ours lie in the addon, far from the executable.
    callback.abs_diff(ours) < callback.abs_diff(start)
}

/// Node starts its timer anew with the plain callback all the time; swaps it where libuv may call
/// it next: before the loop waits, and after the immediates.
#[inline]
pub fn watch(state: &LoopState) {
    if state.node.timer != 0 {
        // SAFETY: the handle lives as long as the environment, which ends the state.
        unsafe { trampoline::hook_timer(state.node.timer) };
    }
}

/// The timer list is about to run.
pub fn begin_timers(timer: usize) {
    let Some(state) = state() else {
        return;
    };
    let begin_ns = monotonic_ns();
    // SAFETY: libuv called this timer back just now.
    let due_ms = unsafe { libuv::get::<u64>(timer, timer::TIMEOUT) };
    let due_ns = due_ms.saturating_mul(1_000_000).min(begin_ns);
    let ready = Some((due_ns, ReadyQuality::Exact));
    state.begin(LoopKind::Timers, begin_ns, ready, 0, 0, 0);
}

/// The immediates are about to run, if there are any; tells whether there are.
pub fn begin_immediates() -> bool {
    let Some(state) = state() else {
        return false;
    };
    if state.node.idle == 0 {
        return false;
    }
    // SAFETY: the handle lives as long as the environment.
    let flags = unsafe { libuv::get::<u32>(state.node.idle, handle::FLAGS) };
    let queued = flags & handle::FLAG_ACTIVE != 0;
    if queued {
        state.begin(LoopKind::Immediates, monotonic_ns(), None, 0, 0, 0);
    }
    queued
}
