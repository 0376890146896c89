//! The act flow inside the observed process: senses of its loops, read by the thread that decides.

pub mod counters;
pub mod driver;
pub mod exchanges;
pub mod latencies;
pub mod mapped;
pub mod plan;
pub mod senses;
pub mod waking;

use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::registry::{self, Shared};
use crate::start::{self, Mechanism, Refusal};
use crate::v8::{self, collections};
use crate::{fork, libuv, thread};
use exchanges::Exchanges;
use latencies::Latencies;
use senses::{Sensed, sensed};

/// The loops that are sensed, for the thread that decides.
static SENSED: Mutex<Vec<Arc<Shared>>> = Mutex::new(Vec::new());

/// The loops that are sensed. Not for the loop thread's hot path.
pub fn sensed_loops() -> MutexGuard<'static, Vec<Arc<Shared>>> {
    SENSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts to sense the loop of this thread; gives what can be sensed here. How long its requests
/// take is counted in a new file at `latencies`, if there is a path.
///
/// # Errors
/// Already recorded or sensed, or nothing can be seen on this Node.
pub fn start(uv_loop: usize, latencies: Option<&str>) -> Result<Vec<Mechanism>, Refusal> {
    if thread::even_paused().is_some() || sensed().is_some() {
        return Err(Refusal::new(
            "BOBTAIL_STATE",
            "this thread is already recorded or sensed",
        ));
    }
    let patched = start::look_at(uv_loop)?;
    let shared = registry::allocate()
        .ok_or_else(|| Refusal::new("BOBTAIL_STATE", "too many threads are sensed"))?;
    fork::watch();
    let mut mechanisms = vec![start::loop_events(patched)];
    let isolate = v8::isolate().ok_or_else(|| "V8 does not tell its isolate".to_owned());
    let watched = isolate.and_then(|isolate| {
        collections::watch_with(isolate, begin_collection, end_collection)?;
        Ok(isolate as usize)
    });
    mechanisms.push(Mechanism {
        name: "gc",
        refused: watched.as_ref().err().cloned(),
    });
    let backend_fd = libuv::backend_fd(uv_loop);
    let isolate = watched.unwrap_or(0);
    let mut sensed = Sensed::new(shared.clone(), backend_fd, isolate);
    if let Some(path) = latencies {
        let counted = Latencies::create(path);
        mechanisms.push(Mechanism {
            name: "latencies",
            refused: counted
                .as_ref()
                .err()
                .map(|error| format!("{error} ({path})")),
        });
        sensed.exchanges = counted.ok().map(Exchanges::new);
    }
    sensed_loops().push(shared);
    senses::install(Box::new(sensed));
    Ok(mechanisms)
}

/// Ends sensing this thread's loop; false when it was not.
pub fn stop() -> bool {
    let Some(sensed) = senses::take() else {
        return false;
    };
    if sensed.isolate != 0 {
        let isolate = sensed.isolate as *mut std::ffi::c_void;
        collections::unwatch_with(isolate, begin_collection, end_collection);
    }
    let index = sensed.shared.index;
    sensed_loops().retain(|shared| shared.index != index);
    registry::release(index);
    true
}

unsafe extern "C" fn begin_collection(
    _: *mut std::ffi::c_void,
    kind: c_int,
    _: c_int,
    _: *mut std::ffi::c_void,
) {
    if let Some(sensed) = sensed()
        && sensed.begin_collection(kind as u32)
    {
        waking::note_collection();
    }
}

unsafe extern "C" fn end_collection(
    _: *mut std::ffi::c_void,
    _: c_int,
    _: c_int,
    _: *mut std::ffi::c_void,
) {
    if let Some(sensed) = sensed()
        && sensed.end_collection()
    {
        waking::note_collection();
    }
}
