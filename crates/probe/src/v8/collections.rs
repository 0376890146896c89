//! Writes a record for each garbage collection and for each step of incremental marking.
//!
//! V8 calls back before and after every collection that stops the thread; the functions are found
//! by their mangled names, because addons in C do not get at them. Steps between the pauses have
//! no such callback: V8's event log tells them.

use std::ffi::{c_int, c_void};

use bobtail_trace::encode;
use bobtail_trace::record::{CodePlace, GcCause};

use super::accounting::{Class, Opener};
use crate::interjection::Interjection;
use crate::location;
use crate::loop_state::LoopState;
use crate::napi::find_symbol;
use crate::thread::state;

/// Collections inside collections that are measured.
const DEPTH: usize = 8;
const ALL_KINDS: c_int = 0xff;
/// V8's GCType of incremental marking.
const INCREMENTAL_MARKING: u32 = 8;

/// What V8 calls before and after a collection: isolate, kind, flags, data.
pub type GcCallback = unsafe extern "C" fn(*mut c_void, c_int, c_int, *mut c_void);
type Add = unsafe extern "C" fn(*mut c_void, GcCallback, *mut c_void, c_int);
type Remove = unsafe extern "C" fn(*mut c_void, GcCallback, *mut c_void);

/// Begins of what runs now, in ticks.
#[derive(Default)]
pub struct Collections {
    begins: [u64; DEPTH],
    depth: usize,
    /// Begin of the part of a step that has no record yet; steps inside it are part of it.
    step_begin: Option<u64>,
    step_depth: usize,
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

/// Records each collection of this thread's isolate.
///
/// # Errors
/// Which function of V8 is missing.
pub fn watch(isolate: *mut c_void) -> Result<(), String> {
    watch_with(isolate, begin, end)
}

/// Undoes `watch`.
pub fn unwatch(isolate: *mut c_void) {
    unwatch_with(isolate, begin, end);
}

/// Calls back for each collection of this thread's isolate.
///
/// # Errors
/// Which function of V8 is missing.
pub fn watch_with(isolate: *mut c_void, begin: GcCallback, end: GcCallback) -> Result<(), String> {
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

/// Undoes `watch_with`.
pub fn unwatch_with(isolate: *mut c_void, begin: GcCallback, end: GcCallback) {
    let remove_begin = find_symbol(mangled!("24RemoveGC", "Prologue", "S4_"));
    let remove_end = find_symbol(mangled!("24RemoveGC", "Epilogue", "S4_"));
    let null = std::ptr::null_mut();
    for (remove, callback) in [(remove_begin, begin), (remove_end, end)] {
        if let Some(remove) = remove {
            // SAFETY: the signature of v8-isolate.h, on the isolate's thread.
            unsafe { std::mem::transmute::<usize, Remove>(remove)(isolate, callback, null) };
        }
    }
}

unsafe extern "C" fn begin(_: *mut c_void, kind: c_int, _: c_int, _: *mut c_void) {
    if let Some(state) = state() {
        state.begin_collection(kind as u32);
    }
}

unsafe extern "C" fn end(isolate: *mut c_void, kind: c_int, flags: c_int, _: *mut c_void) {
    let Some((end, env)) = state().map(|state| (state.work.ticks.now(), state.env)) else {
        return;
    };
    let cause = cause_of(flags);
    let caller = match cause {
        // SAFETY: V8 calls back on the isolate's thread in a HandleScope, and allows allocations.
        // What is asked for is asked through its API.
        GcCause::Asked => unsafe { location::caller(isolate, env as *mut c_void) },
        // Any allocation may end in one of these, `Everything` as V8's last resort.
        GcCause::Heap | GcCause::External | GcCause::Everything => CodePlace::default(),
    };
    // Taken anew: V8 was called in between.
    if let Some(state) = state() {
        state.end_collection(kind as u32, end, cause, caller);
    }
}

/// Why V8 collected, by its GCCallbackFlags (v8-callbacks.h, the same in V8 11.3 to 14.6). Only the
/// epilogue has them.
///
/// `gc()` and an inspector's request are forced on all four; a heap snapshot is
/// `CollectAllAvailableGarbage` on V8 14 and has no flag before.
fn cause_of(flags: c_int) -> GcCause {
    const FORCED: c_int = 1 << 2;
    const ALL_AVAILABLE: c_int = 1 << 4;
    const EXTERNAL: c_int = 1 << 5;
    match flags {
        flags if flags & FORCED != 0 => GcCause::Asked,
        flags if flags & EXTERNAL != 0 => GcCause::External,
        flags if flags & ALL_AVAILABLE != 0 => GcCause::Everything,
        _ => GcCause::Heap,
    }
}

impl LoopState {
    fn begin_collection(&mut self, kind: u32) {
        self.begin_work(Class::Gc, Opener::Collection);
        let now = self.work.ticks.now();
        if kind != INCREMENTAL_MARKING {
            // Its own record tells it; the step goes on after it.
            self.write_step(now);
        }
        let collections = &mut self.work.collections;
        if let Some(begin) = collections.begins.get_mut(collections.depth) {
            *begin = now;
        }
        collections.depth += 1;
    }

    /// `end` is in ticks.
    fn end_collection(&mut self, kind: u32, end: u64, cause: GcCause, caller: CodePlace) {
        let collections = &mut self.work.collections;
        // A collection that began before recording.
        let Some(depth) = collections.depth.checked_sub(1) else {
            return;
        };
        collections.depth = depth;
        let begin = collections.begins.get(depth).copied();
        // A step's own callbacks are part of the step.
        let is_in_step = self.work.collections.step_begin.is_some();
        if let Some(begin) = begin.filter(|_| !(is_in_step && kind == INCREMENTAL_MARKING)) {
            self.write_collection(begin, end, kind, cause, caller);
        }
        if let Some(begin) = &mut self.work.collections.step_begin
            && kind != INCREMENTAL_MARKING
        {
            *begin = end;
        }
        self.end_innermost_work(Opener::Collection);
    }

    /// A step of incremental marking begins, by V8's event log.
    pub fn begin_step(&mut self, opener: Opener) {
        let is_collecting = self.work.accounting.is_collecting();
        self.begin_work(Class::Gc, opener);
        let now = self.work.ticks.now();
        let collections = &mut self.work.collections;
        if collections.step_depth == 0 && !is_collecting {
            collections.step_begin = Some(now);
        }
        collections.step_depth += 1;
    }

    /// It ends.
    pub fn end_step(&mut self, opener: Opener) {
        let collections = &mut self.work.collections;
        collections.step_depth = collections.step_depth.saturating_sub(1);
        if collections.step_depth == 0 {
            let now = self.work.ticks.now();
            self.write_step(now);
            self.work.collections.step_begin = None;
        }
        self.end_innermost_work(opener);
    }

    /// Writes the part of the open step up to now.
    fn write_step(&mut self, now: u64) {
        if let Some(begin) = self.work.collections.step_begin {
            let (cause, caller) = (GcCause::Heap, CodePlace::default());
            self.write_collection(begin, now, INCREMENTAL_MARKING, cause, caller);
        }
    }

    fn write_collection(
        &mut self,
        begin: u64,
        end: u64,
        kind: u32,
        cause: GcCause,
        caller: CodePlace,
    ) {
        let ticks = &self.work.ticks;
        let duration_ns = ticks.duration_ns(end.saturating_sub(begin));
        let end_ns = self.writer.relative(ticks.monotonic_ns(end));
        let fields = encode::Gc {
            duration_ns,
            kind,
            cause,
            caller,
        };
        self.interject(Interjection::Collection { end_ns, fields });
    }
}
