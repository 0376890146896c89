//! Counts what the hooks see before the thread is recorded: proof that V8 calls them.
//!
//! A test in the process itself instead of a list of versions, because a build may differ from all
//! that were tried.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::names::{GROUPS, Group};
use crate::napi::Scope;

/// Is compiled and misses: V8 gives a function inline caches only after some calls.
pub const MISSES: &str = "(() => { const read = (from) => from.bobtail;
for (let at = 0; at < 1000; at++) read({ bobtail: at }); })()";

/// Makes a function of text, whether or not that is allowed.
pub const FUNCTION_OF_TEXT: &str =
    "try { Function('') } catch { 'that it was called is what counts' }";

thread_local! {
    static SEEN: Cell<[u32; GROUPS]> = const { Cell::new([0; GROUPS]) };
}

/// A hook of that group was called on a thread that is not recorded (yet).
#[cold]
pub fn saw(group: Group) {
    let mut seen = SEEN.get();
    seen[group as usize] += 1;
    SEEN.set(seen);
}

/// What the hooks of a group see while V8 compiles and runs a line; 0 when it cannot be run.
pub fn provoke(scope: Scope, line: &str, group: Group) -> u32 {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    // V8 would find the same line compiled and its caches filled.
    let run = RUNS.fetch_add(1, Relaxed);
    SEEN.set([0; GROUPS]);
    match scope.run(&format!("{line}// {run}")) {
        true => SEEN.get()[group as usize],
        false => 0,
    }
}
