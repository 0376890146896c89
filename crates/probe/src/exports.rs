//! What JavaScript calls: `start`, `roll`, `flush`, `intern`, `adopt`, `message`, `begin`, `pause`,
//! `resume`, `stop`, `inspect`, `looks`, `loopNow`; without a recording, `sense`, `unsense`,
//! `readSenses` and `drive`.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::atomic::Ordering::Relaxed;

use bobtail_trace::layout::{HEADER_BYTES, bound, live};
use bobtail_trace::record::{LoopKind, LossKind};

use bobtail_control::emulated::Emulation;

use crate::act::plan::{self, Plan};
use crate::act::{self, senses};
use crate::clock::monotonic_ns;
use crate::fd_table;
use crate::libuv;
use crate::messages;
use crate::napi::{Callback, CallbackInfo, Env, Scope, Value};
use crate::pauses;
use crate::ready_helper;
use crate::start::{self, Mechanism, Started};
use crate::strings::{BYTES_MAX, Origin};
use crate::thread::{even_paused, is_paused, state};
use crate::trace_file::Description;
use crate::v8;

const STRINGS_BYTES: u32 = 1 << 20;
const CHUNK_BYTES: u32 = 1 << 20;
const RING_SLOTS: u32 = 4;
const MAX_BYTES: f64 = 1e9;

const FUNCTIONS: [(&CStr, Callback); 17] = [
    (c"start", start_recording),
    (c"roll", roll),
    (c"flush", flush),
    (c"intern", intern),
    (c"adopt", adopt),
    (c"message", message),
    (c"begin", begin),
    (c"pause", pause),
    (c"resume", resume),
    (c"stop", stop),
    (c"inspect", inspect),
    (c"looks", looks),
    (c"loopNow", loop_now),
    (c"sense", sense),
    (c"unsense", unsense),
    (c"readSenses", read_senses),
    (c"drive", drive),
];

/// Called by Node when the addon is loaded.
///
/// # Safety
/// By Node, with a live environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn napi_register_module_v1(env: Env, exports: Value) -> Value {
    // SAFETY: by the caller.
    if let Some(scope) = unsafe { Scope::new(env) } {
        for (name, callback) in FUNCTIONS {
            scope.set(exports, name, scope.function(name, callback));
        }
    }
    exports
}

/// The version of Node-API the addon is made for.
#[unsafe(no_mangle)]
pub extern "C" fn node_api_module_get_api_version_v1() -> i32 {
    8
}

/// Defines a function of JavaScript's: the scope, the arguments, the value.
macro_rules! export {
    ($name:ident, |$scope:ident, $arguments:ident: $count:literal| $body:expr) => {
        unsafe extern "C" fn $name(env: Env, info: CallbackInfo) -> Value {
            // SAFETY: Node calls with a live environment.
            let Some($scope) = (unsafe { Scope::new(env) }) else {
                return std::ptr::null_mut();
            };
            let $arguments = $scope.arguments::<$count>(info);
            $body
        }
    };
}

export!(start_recording, |scope, arguments: 1| start_with(scope, arguments[0]));
export!(roll, |scope, _arguments: 0| {
    let rolled = state().is_some_and(|state| {
        let writer = &mut state.writer;
        writer.live.get(live::POSITION) <= writer.live.get(live::LIMIT) || writer.roll()
    });
    scope.boolean(rolled)
});
export!(flush, |scope, _arguments: 0| {
    if let Some(state) = state() {
        state.write_deferred();
    }
    scope.undefined()
});
export!(intern, |scope, arguments: 1| {
    let mut buffer = [0; BYTES_MAX + 1];
    let id = match (scope.to_bytes(arguments[0], &mut buffer), even_paused()) {
        (Some(bytes), Some(state)) => state.intern_for(&[bytes], Origin::JavaScript),
        _ => 0,
    };
    scope.number(f64::from(id))
});
export!(adopt, |scope, arguments: 1| {
    let fd = scope.to_number(arguments[0]).unwrap_or(-1.0) as i32;
    if let Some(entry) = fd_table::entry(fd) {
        entry.clear();
        entry.passed.store(1, Relaxed);
    }
    scope.undefined()
});
export!(message, |scope, arguments: 1| {
    let handle = scope.to_number(arguments[0]).unwrap_or(0.0) as u32;
    let begun = state().is_some_and(|state| messages::begin(state, handle));
    scope.boolean(begun)
});
export!(begin, |scope, arguments: 1| {
    let code = scope.to_number(arguments[0]).unwrap_or(0.0) as u32;
    let kind = LoopKind::from_code(code).unwrap_or(LoopKind::Other);
    if let Some(state) = state() {
        state.begin(kind, monotonic_ns(), None, 0, 0, 0);
    }
    scope.undefined()
});
export!(pause, |scope, _arguments: 0| scope.boolean(pauses::pause()));
export!(resume, |scope, _arguments: 0| match pauses::resume() {
    Some(mechanisms) => describe_mechanisms(scope, &mechanisms),
    None => scope.undefined(),
});
export!(stop, |scope, _arguments: 0| scope.boolean(start::stop()));
export!(inspect, |scope, _arguments: 0| inspect_with(scope));
export!(loop_now, |scope, _arguments: 0| match scope.event_loop() {
    Some(uv_loop) => scope.number(libuv::now_ms(uv_loop) as f64),
    None => scope.undefined(),
});
export!(looks, |scope, _arguments: 0| match ready_helper::look_again() {
    Some(reason) => scope.string(&reason),
    None => scope.undefined(),
});
export!(sense, |scope, arguments: 1| sense_with(scope, arguments[0]));
export!(unsense, |scope, _arguments: 0| scope.boolean(act::stop()));
export!(read_senses, |scope, _arguments: 0| read_senses_with(scope));
export!(drive, |scope, arguments: 1| drive_with(scope, arguments[0]));

thread_local! {
    /// Environment of this thread whose end is waited for; 0 none.
    static ENV: Cell<usize> = const { Cell::new(0) };
}

unsafe extern "C" fn clean_up(_: *mut c_void) {
    ENV.set(0);
    act::stop();
    start::clean_up();
}

fn start_with(scope: Scope, options: Value) -> Value {
    let number = |name: &CStr| scope.to_number(scope.get(options, name));
    let text = |name: &CStr| scope.to_string(scope.get(options, name));
    let Some(path) = text(c"path") else {
        return scope.throw("BOBTAIL_ARGUMENT", "start: `path` is not a string");
    };
    let Some(uv_loop) = scope.event_loop() else {
        return scope.throw("BOBTAIL_UNSUPPORTED", "this environment has no libuv loop");
    };
    let least = f64::from(bound::MIN_CHUNK_BYTES);
    let chunk = number(c"chunkBytes").unwrap_or(f64::from(CHUNK_BYTES));
    let chunk_bytes = chunk.clamp(least, f64::from(bound::MAX_CHUNK_BYTES)) as u32;
    // Chunks are mapped one by one, so they are whole pages.
    let chunk_bytes = chunk_bytes.next_multiple_of(4096);
    let max_bytes = number(c"maxBytes").unwrap_or(MAX_BYTES).max(0.0);
    let head_bytes = HEADER_BYTES as f64 + f64::from(STRINGS_BYTES);
    let slots = (max_bytes - head_bytes) / f64::from(chunk_bytes);
    let description = Description {
        path,
        pid: number(c"pid").unwrap_or(0.0) as u32,
        thread: number(c"thread").unwrap_or(0.0) as u32,
        detail: u32::from(text(c"detail").as_deref() == Some("loop")),
        follows_switches: number(c"notRunning") == Some(1.0),
        node: text(c"nodeVersion").unwrap_or_default(),
        arch: text(c"arch").unwrap_or_default(),
        start_ns: 0,
        start_realtime_ns: 0,
        strings_bytes: STRINGS_BYTES,
        chunk_bytes,
        ring_slots: RING_SLOTS,
        max_slots: slots.clamp(f64::from(RING_SLOTS + 1), f64::from(bound::MAX_SLOTS)) as u32,
        max_total_bytes: number(c"maxTotalBytes").unwrap_or(0.0) as u64,
    };
    match start::start(uv_loop, scope.env() as usize, description) {
        Ok(started) => {
            await_end(scope);
            describe(scope, &started)
        }
        Err(refusal) => scope.throw(refusal.code, &refusal.message),
    }
}

/// Has the end of this environment told.
fn await_end(scope: Scope) {
    // Node ends the process when the same hook is added twice.
    if ENV.replace(scope.env() as usize) != scope.env() as usize {
        scope.on_cleanup(clean_up);
    }
}

/// Senses the loop of this thread, and counts its requests in a file if one is named; gives what
/// can be sensed.
fn sense_with(scope: Scope, latencies: Value) -> Value {
    let Some(uv_loop) = scope.event_loop() else {
        return scope.throw("BOBTAIL_UNSUPPORTED", "this environment has no libuv loop");
    };
    match act::start(uv_loop, scope.to_string(latencies).as_deref()) {
        Ok(mechanisms) => {
            await_end(scope);
            let result = scope.object();
            scope.set(
                result,
                c"mechanisms",
                describe_mechanisms(scope, &mechanisms),
            );
            result
        }
        Err(refusal) => scope.throw(refusal.code, &refusal.message),
    }
}

/// What is sensed at this moment; undefined where nothing is.
fn read_senses_with(scope: Scope) -> Value {
    let Some(sensed) = senses::sensed() else {
        return scope.undefined();
    };
    let reading = senses::read(&sensed.shared);
    let totals = reading.totals;
    let result = scope.object();
    let set = |name: &CStr, value: u64| scope.set(result, name, scope.number(value as f64));
    set(c"nowNs", reading.now_ns);
    set(c"queueLength", u64::from(reading.queue_length));
    set(c"headNs", reading.head_ns);
    set(c"turns", totals.turns);
    set(c"polls", totals.polls);
    set(c"queueLengths", totals.queue_lengths);
    set(c"events", totals.events);
    set(c"eventsNs", totals.events_ns);
    let sums = &sensed.shared.sensed;
    set(c"collecting", u64::from(sums.collecting.load(Relaxed)));
    set(c"collections", sums.collections.load(Relaxed));
    result
}

/// Drives a lever by a policy from now on; gives both as text.
fn drive_with(scope: Scope, options: Value) -> Value {
    let number = |name: &CStr| scope.to_number(scope.get(options, name));
    let text = |name: &CStr| {
        scope
            .to_string(scope.get(options, name))
            .unwrap_or_default()
    };
    let default = Emulation::default();
    let plan = Plan {
        socket: scope.to_string(scope.get(options, c"socket")),
        is_shared: scope.to_number(scope.get(options, c"isShared")) == Some(1.0),
        own_cpus: scope.to_string(scope.get(options, c"ownCpus")),
        policy: text(c"policy"),
        actuator: text(c"actuator"),
        cpus: number(c"cpu").map(|cpu| cpu as u32).into_iter().collect(),
        base_khz: number(c"baseKhz").map(|khz| khz as u32),
        peak_khz: number(c"peakKhz").map(|khz| khz as u32),
        budget: number(c"budget").filter(|share| *share > 0.0),
        told: scope.to_string(scope.get(options, c"told")),
        emulation: Emulation {
            full_khz: number(c"fullKhz").map_or(default.full_khz, |khz| khz as u32),
            latency_ns: number(c"latencyNs").map_or(default.latency_ns, |ns| ns as u64),
            ..default
        },
    };
    match plan::drive(&plan) {
        Ok((lever, policy)) => {
            let result = scope.object();
            scope.set(result, c"policy", scope.string(&policy));
            scope.set(result, c"lever", scope.string(lever.kind.word()));
            scope.set(result, c"about", scope.string(&lever.about));
            scope.set(result, c"isEmulated", scope.boolean(lever.is_emulated));
            scope.set(result, c"base", scope.number(f64::from(lever.range.base)));
            scope.set(result, c"peak", scope.number(f64::from(lever.range.peak)));
            result
        }
        Err(refusal) => scope.throw(refusal.code, &refusal.message),
    }
}

fn describe(scope: Scope, started: &Started) -> Value {
    let result = scope.object();
    for (name, at, bytes) in [
        (c"live", started.header, started.header_bytes),
        (c"ring", started.ring, started.ring_bytes),
        (c"context", started.context, started.context_bytes),
    ] {
        scope.set(result, name, scope.memory(at, bytes));
    }
    scope.set(result, c"startNs", scope.bigint(started.start_ns));
    let mechanisms = describe_mechanisms(scope, &started.mechanisms);
    scope.set(result, c"mechanisms", mechanisms);
    result
}

fn describe_mechanisms(scope: Scope, mechanisms: &[Mechanism]) -> Value {
    let mechanisms = mechanisms.iter().map(|mechanism| {
        let entry = scope.object();
        scope.set(entry, c"name", scope.string(mechanism.name));
        scope.set(entry, c"ok", scope.boolean(mechanism.refused.is_none()));
        if let Some(reason) = &mechanism.refused {
            scope.set(entry, c"reason", scope.string(reason));
        }
        entry
    });
    scope.array(&mechanisms.collect::<Vec<_>>())
}

fn inspect_with(scope: Scope) -> Value {
    let result = scope.object();
    let Some(state) = even_paused() else {
        scope.set(result, c"recording", scope.boolean(false));
        return result;
    };
    let shared = &state.shared;
    let (mapped, current) = state.writer.chunks();
    let set = |name: &CStr, value: u64| scope.set(result, name, scope.number(value as f64));
    scope.set(result, c"recording", scope.boolean(true));
    scope.set(result, c"paused", scope.boolean(is_paused()));
    set(c"queueLength", u64::from(shared.queue_length.load(Relaxed)));
    set(c"headBeginNs", shared.head_begin_ns.load(Relaxed));
    set(c"batches", shared.batches.load(Relaxed));
    set(c"readyEvents", shared.ready_events.load(Relaxed));
    set(c"poolJobs", state.jobs.count() as u64);
    set(c"completionsLost", u64::from(shared.completions.lost()));
    set(c"chunksMapped", mapped);
    set(c"chunk", current);
    let losses = scope.object();
    for kind in LossKind::ALL {
        let count = state.writer.live.get(live::LOSSES + kind.code() as usize);
        if let Ok(name) = std::ffi::CString::new(kind.word()) {
            scope.set(losses, &name, scope.number(f64::from(count)));
        }
    }
    scope.set(result, c"losses", losses);
    scope.set(result, c"work", inspect_work(scope));
    result
}

/// What V8 did on this thread: nanoseconds by class, and calls of each function that is watched.
fn inspect_work(scope: Scope) -> Value {
    let result = scope.object();
    let Some(state) = state() else {
        return result;
    };
    let sums_ns = state.work.sums_ns();
    let unbalanced = state.work.accounting.unbalanced;
    let called: Vec<(&str, u32)> = v8::calls(&state.work).collect();
    let set = |name: &CStr, value: u64| scope.set(result, name, scope.number(value as f64));
    for (name, sum_ns) in [c"nativeNs", c"gcNs", c"jitNs", c"icNs"]
        .into_iter()
        .zip(sums_ns)
    {
        set(name, sum_ns);
    }
    set(c"unbalanced", unbalanced);
    let calls = scope.object();
    for (name, count) in called {
        if let Ok(name) = std::ffi::CString::new(name) {
            scope.set(calls, &name, scope.number(f64::from(count)));
        }
    }
    scope.set(result, c"calls", calls);
    result
}
