//! Keeps a forked child from writing into its parent's traces.
//!
//! libuv forks to start a child process; between fork and exec the child runs wrapped functions on
//! a copy of the parent's state while the trace is shared memory.

use std::sync::Once;

use crate::act::senses;
use crate::{registry, thread};

unsafe extern "C" fn in_child() {
    registry::set_forked();
    thread::forget();
    senses::forget();
}

/// Registers the handler, once.
pub fn watch() {
    static ONCE: Once = Once::new();
    // SAFETY: the handler only stores to memory.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    });
}
