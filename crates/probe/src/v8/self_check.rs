//! Counts what the hooks see before the thread is recorded: proof that V8 calls them.
//!
//! A test in the process itself instead of a list of versions, because a build may differ from all
//! that were tried.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::accounting::{CLASSES, Class};
use crate::napi::Scope;

/// V8 gives a function inline caches only after some calls.
const LINE: &str = "(() => { const read = (from) => from.bobtail;
for (let at = 0; at < 1000; at++) read({ bobtail: at }); })()";

thread_local! {
    static SEEN: Cell<[u32; CLASSES]> = const { Cell::new([0; CLASSES]) };
}

/// A hook of that class was called on a thread that is not recorded (yet).
#[cold]
pub fn saw(class: Class) {
    let mut seen = SEEN.get();
    seen[class as usize] += 1;
    SEEN.set(seen);
}

/// What the hooks see while V8 compiles a line and runs it into an inline-cache miss; by class.
/// `None` when the line cannot be run.
pub fn provoke(scope: Scope) -> Option<[u32; CLASSES]> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    // V8 would find the same line compiled and its caches filled.
    let run = RUNS.fetch_add(1, Relaxed);
    SEEN.set([0; CLASSES]);
    scope.run(&format!("{LINE}// {run}")).then(|| SEEN.get())
}
