//! Writes a record for each garbage collection.
//!
//! V8 calls back before and after every collection that stops the thread; the functions are found
//! by their mangled names, because addons in C do not get at them.

use std::ffi::{c_int, c_void};

use crate::clock::monotonic_ns;
use crate::interjection::Interjection;
use crate::loop_state::state;
use crate::napi::find_symbol;

/// Collections inside collections that are measured.
const DEPTH: usize = 8;
const ALL_KINDS: c_int = 0xff;

type GcCallback = unsafe extern "C" fn(*mut c_void, c_int, c_int, *mut c_void);
type Add = unsafe extern "C" fn(*mut c_void, GcCallback, *mut c_void, c_int);
type Remove = unsafe extern "C" fn(*mut c_void, GcCallback, *mut c_void);

/// Begins of the collections that run now.
#[derive(Default)]
pub struct Collections {
    begins_ns: [u64; DEPTH],
    depth: usize,
}

macro_rules! mangled {
    ($verb:literal, $when:literal, $tail:literal) => {
        concat!(
            "_ZN2v87Isolate",
            $verb,
            $when,
            "CallbackEPFvPS0_NS_6GCTypeENS_15GCCallbackFlagsEPvE",
            $tail,
            "\0"
        )
        .as_bytes()
    };
}

/// The isolate of this thread; `None` when there is none or V8 does not tell.
pub fn isolate() -> Option<*mut c_void> {
    let address = find_symbol(b"_ZN2v87Isolate10GetCurrentEv\0")?;
    type GetCurrent = unsafe extern "C" fn() -> *mut c_void;
    // SAFETY: v8::Isolate::GetCurrent, called on a thread that runs JavaScript.
    let isolate = unsafe { std::mem::transmute::<usize, GetCurrent>(address)() };
    (!isolate.is_null()).then_some(isolate)
}

/// Calls back for each collection of this thread's isolate.
///
/// # Errors
/// Which function of V8 is missing.
pub fn watch(isolate: *mut c_void) -> Result<(), String> {
    let missing = || "v8::Isolate::AddGC…Callback is not exported".to_owned();
    let add_begin = find_symbol(mangled!("21AddGC", "Prologue", "S4_S2_")).ok_or_else(missing)?;
    let add_end = find_symbol(mangled!("21AddGC", "Epilogue", "S4_S2_")).ok_or_else(missing)?;
    // SAFETY: the signatures of v8-isolate.h, on the isolate's thread.
    unsafe {
        let null = std::ptr::null_mut();
        std::mem::transmute::<usize, Add>(add_begin)(isolate, begin, null, ALL_KINDS);
        std::mem::transmute::<usize, Add>(add_end)(isolate, end, null, ALL_KINDS);
    }
    Ok(())
}

/// Undoes `watch`.
pub fn unwatch(isolate: *mut c_void) {
    let remove_begin = find_symbol(mangled!("24RemoveGC", "Prologue", "S4_"));
    let remove_end = find_symbol(mangled!("24RemoveGC", "Epilogue", "S4_"));
    let null = std::ptr::null_mut();
    for (remove, callback) in [(remove_begin, begin as GcCallback), (remove_end, end)] {
        if let Some(remove) = remove {
            // SAFETY: the signature of v8-isolate.h, on the isolate's thread.
            unsafe { std::mem::transmute::<usize, Remove>(remove)(isolate, callback, null) };
        }
    }
}

unsafe extern "C" fn begin(_: *mut c_void, _: c_int, _: c_int, _: *mut c_void) {
    if let Some(state) = state() {
        let collections = &mut state.collections;
        if let Some(begin_ns) = collections.begins_ns.get_mut(collections.depth) {
            *begin_ns = monotonic_ns();
        }
        collections.depth += 1;
    }
}

unsafe extern "C" fn end(_: *mut c_void, kind: c_int, _: c_int, _: *mut c_void) {
    let Some(state) = state() else {
        return;
    };
    let collections = &mut state.collections;
    // A collection that began before recording.
    let Some(depth) = collections.depth.checked_sub(1) else {
        return;
    };
    collections.depth = depth;
    let Some(&begin_ns) = collections.begins_ns.get(depth) else {
        return;
    };
    let end_ns = monotonic_ns();
    let duration_ns = end_ns.saturating_sub(begin_ns);
    let end_ns = state.writer.relative(end_ns);
    state.interject(Interjection::Collection {
        end_ns,
        duration_ns,
        kind: kind as u32,
    });
}
