//! Messages between threads: each that a port receives is a loop event.
//!
//! libuv only knows that the loop was woken. Node then hands over all messages of a port in that
//! one callback, so JavaScript tells when the next begins, and the wake-up tells when it was ready.

use bobtail_trace::layout::live;
use bobtail_trace::record::{LoopKind, ReadyQuality};

use crate::clock::monotonic_ns;
use crate::loop_state::LoopState;

/// The wake-up whose callbacks run now.
#[derive(Debug, Default, Clone, Copy)]
pub struct Wakeup {
    /// Its event, or that of the latest message it brought.
    event: u32,
    batch: u64,
    ready_ns: u64,
}

impl Wakeup {
    /// A wake-up has just been opened as the loop event that runs.
    pub fn new(state: &LoopState, ready_ns: u64) -> Self {
        Self {
            event: state.writer.live.get(live::EVENT),
            batch: state.batch,
            ready_ns,
        }
    }
}

/// Opens the event of a message on `handle`. False, and nothing opened, where none can have come:
/// the application emits one itself, in an event of its own.
pub fn begin(state: &mut LoopState, handle: u32) -> bool {
    let open = state.writer.live.get(live::LOOP_EVENT);
    let woken = state.wakeup;
    if woken.batch != state.batch || (open != 0 && open != woken.event) {
        return false;
    }
    // The first message woke the loop; a later one may have come any time since.
    let ready = (woken.ready_ns, ReadyQuality::Estimate);
    state.begin(LoopKind::Message, monotonic_ns(), Some(ready), handle, 0, 0);
    state.wakeup.event = state.writer.live.get(live::EVENT);
    true
}
