//! Starts and ends the recording of one event loop.
//!
//! Order matters: what can be refused comes first, and a refusal gives back what was taken. Only
//! the patched slots stay, which do nothing without a recorded loop.

use std::cell::RefCell;
use std::sync::atomic::Ordering::Release;
use std::sync::{Arc, OnceLock};

use bobtail_trace::layout::{HEADER_BYTES, live};

use crate::act::senses;
use crate::clock::{RealtimeOffset, monotonic_ns, realtime_ns};
use crate::fd_table::{self, Kind};
use crate::got::{self, Patched};
use crate::interjection::Deferred;
use crate::libuv::{self, uv_loop};
use crate::loop_state::{LoopState, Poll};
use crate::messages::Wakeup;
use crate::not_running::NotRunning;
use crate::pauses::Equipment;
use crate::pool::{self, Jobs};
use crate::recent_names::RecentNames;
use crate::recording_memory::{self, CONTEXT_BYTES, Memory, unmap_context};
use crate::registry::{self, Recorded, Shared};
use crate::strings::Strings;
use crate::switches::Switches;
use crate::symbols::symbols;
use crate::timers::NodeHandles;
use crate::trace_file::Description;
use crate::v8::Work;
use crate::writer::{Live, Writer};
use crate::{
    cpu_timer, fork, hooks, location, mapper, napi, platform, ready_helper, thread, v8, watchdog,
};

/// Why a loop cannot be recorded.
#[derive(Debug)]
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
}

impl Refusal {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

/// Something the probe can do, or why it cannot here.
pub struct Mechanism {
    pub name: &'static str,
    pub refused: Option<String>,
}

/// Memory JavaScript writes through, and what is available.
pub struct Started {
    pub header: *mut u8,
    pub header_bytes: usize,
    pub ring: *mut u8,
    pub ring_bytes: usize,
    pub context: *mut u8,
    pub context_bytes: usize,
    pub mechanisms: Vec<Mechanism>,
    pub start_ns: u64,
}

/// What a loop leaves mapped when its recording ends: JavaScript may still hold it.
struct Left {
    recorded: Recorded,
    context: *mut u32,
}

thread_local! {
    static LEFT: RefCell<Vec<Left>> = const { RefCell::new(Vec::new()) };
}

/// Starts recording the loop of this thread.
pub fn start(uv_loop: usize, env: usize, mut description: Description) -> Result<Started, Refusal> {
    let patched = prepare(uv_loop)?;
    let (shared, memory) = claim(&mut description)?;
    fork::watch();
    let (mut mechanisms, node, isolate) = mechanisms(uv_loop, patched);
    // SAFETY: `env` is the environment that calls `start`.
    let scope = unsafe { napi::Scope::new(env as napi::Env) };
    let (hooks, of_v8) = v8::hook(scope);
    mechanisms.extend(of_v8);
    let switches = switches(&description, &mut mechanisms);
    let (looks, has_helper) = looks(uv_loop, &shared, &mut mechanisms);
    let equipment = Equipment {
        switches: switches.is_some(),
        looks,
    };
    let not_running = NotRunning::new(switches.unwrap_or_else(Switches::none));
    let (writer, strings) = writer(&memory, description.start_ns, not_running);
    shared.isolate.store(isolate, Release);
    let mut state = Box::new(LoopState {
        uv_loop,
        backend_fd: libuv::backend_fd(uv_loop),
        writer,
        strings,
        recent_names: RecentNames::new(),
        shared: shared.clone(),
        batch: 0,
        dispatched: -1,
        poll: Poll::default(),
        wakeup: Wakeup::default(),
        realtime: RealtimeOffset::new(),
        jobs: Jobs::new(),
        node,
        work: Work::new(),
        hooks,
        deferred: Deferred::default(),
        context: memory.context,
        env,
        equipment,
        cpu_timer: watchdog::timer(),
        ended: (0, 0),
        resumed_ns: 0,
        has_helper,
        ports: Vec::with_capacity(64),
    });
    state.next_batch();
    let started = Started {
        header: memory.file.header(),
        header_bytes: HEADER_BYTES,
        ring: memory.ring.base(),
        ring_bytes: memory.ring.bytes(),
        context: memory.context.cast(),
        context_bytes: CONTEXT_BYTES,
        mechanisms,
        start_ns: description.start_ns,
    };
    make_known(uv_loop, shared, memory);
    thread::install(state);
    pool::wake();
    pool::adopt(uv_loop);
    Ok(started)
}

/// Refuses what cannot be recorded, and does what is done once per process.
fn prepare(uv_loop: usize) -> Result<Patched, Refusal> {
    if thread::state().is_some() {
        return Err(Refusal::new(
            "BOBTAIL_STATE",
            "this thread is already recorded",
        ));
    }
    if senses::sensed().is_some() {
        return Err(Refusal::new(
            "BOBTAIL_STATE",
            "this thread is sensed, not recorded",
        ));
    }
    let patched = look_at(uv_loop)?;
    start_threads().map_err(|reason| Refusal::new("BOBTAIL_MEMORY", reason))?;
    Ok(patched)
}

/// What is needed to see anything of a loop: the executable patched, once per process.
///
/// # Errors
/// What is not supported here, or no memory.
pub fn look_at(uv_loop: usize) -> Result<Patched, Refusal> {
    let unsupported = |reason: String| Refusal::new("BOBTAIL_UNSUPPORTED", reason);
    platform::check().map_err(unsupported)?;
    libuv::check(uv_loop).map_err(unsupported)?;
    fd_table::reserve().map_err(no_memory)?;
    patch().map_err(unsupported)
}

/// The loop's number and its memory; the recording starts now.
fn claim(description: &mut Description) -> Result<(Arc<Shared>, Memory), Refusal> {
    let shared = registry::allocate()
        .ok_or_else(|| Refusal::new("BOBTAIL_STATE", "too many threads are recorded"))?;
    description.start_ns = monotonic_ns();
    description.start_realtime_ns = realtime_ns();
    let memory = Memory::new(description).map_err(|error| {
        registry::release(shared.index);
        match error {
            recording_memory::Error::Memory(error) => no_memory(error),
            recording_memory::Error::Trace(error) => Refusal::new(error.code(), error.to_string()),
            recording_memory::Error::Total(loops) => beyond_total(description, loops),
        }
    })?;
    Ok((shared, memory))
}

fn no_memory(error: std::io::Error) -> Refusal {
    Refusal::new("BOBTAIL_MEMORY", error.to_string())
}

/// Shows the loop to the threads that look at loops.
fn make_known(uv_loop: usize, shared: Arc<Shared>, memory: Memory) {
    if let Some(entry) = fd_table::entry(libuv::async_fd(uv_loop)) {
        entry.clear();
        entry.set_kind(Kind::Wakeup);
    }
    let recorded = Recorded {
        shared,
        ring: memory.ring,
        file: memory.file,
        slots: memory.slots,
    };
    registry::add(recorded, uv_loop + uv_loop::WORK_MUTEX);
}

/// Whether the watchdog may look when things become ready, and whether a thread of its own waits
/// for them.
fn looks(uv_loop: usize, shared: &Arc<Shared>, mechanisms: &mut Vec<Mechanism>) -> (bool, bool) {
    let looked_at = shared.backend.allow(libuv::backend_fd(uv_loop));
    let looks = looked_at.is_ok();
    let has_helper = looks && ready_helper::is_wanted();
    mechanisms.push(Mechanism {
        name: "ready-looks",
        refused: looked_at.err(),
    });
    if has_helper {
        ready_helper::nest(shared);
    }
    (looks, has_helper)
}

/// The recording takes what it may. The first refusal of a process has a code of its own.
fn beyond_total(description: &Description, loops: u32) -> Refusal {
    let code = match loops {
        1 => "BOBTAIL_TOTAL",
        _ => "BOBTAIL_TOTAL_AGAIN",
    };
    let bound_mib = description.max_total_bytes >> 20;
    let message = format!("the recording has reached its bound (--max-total {bound_mib}m)");
    Refusal::new(code, message)
}

/// The kernel's switches of this thread. Only where they are asked for: each costs the kernel about
/// a microsecond more, also those of a loop that waits, which is more than all the rest of a
/// recording where requests are short.
fn switches(description: &Description, mechanisms: &mut Vec<Mechanism>) -> Option<Switches> {
    let switches = match description.follows_switches {
        true => Switches::follow(),
        false => Err("not asked for: record --not-running".to_owned()),
    };
    mechanisms.push(Mechanism {
        name: "not-running",
        refused: switches.as_ref().err().cloned(),
    });
    switches.ok()
}

/// What writes into the trace, with its first chunk open.
fn writer(memory: &Memory, start_ns: u64, not_running: NotRunning) -> (Writer, Strings) {
    let file = &memory.file;
    // SAFETY: the mappings stay until `clean_up`, after which nothing of the loop runs.
    let (live, strings) = unsafe {
        let live = Live::new(file.live());
        let (table, table_bytes) = file.strings();
        let used = file.live().add(live::STRINGS_USED);
        (live, Strings::new(table, table_bytes, used))
    };
    // SAFETY: as above.
    let mut writer = unsafe { Writer::new(live, memory.ring.clone(), start_ns, not_running) };
    writer.roll();
    (writer, strings)
}

/// Patches the executable once per process; it stays patched.
fn patch() -> Result<Patched, String> {
    static PATCHED: OnceLock<Result<Patched, String>> = OnceLock::new();
    let patched = PATCHED
        .get_or_init(|| {
            // SAFETY: each wrapper has the type of what it replaces, and the addon is never
            // unloaded (build.rs).
            unsafe { got::patch(&hooks::replacements()) }
        })
        .clone()?;
    let required = (1_u64 << hooks::REQUIRED) - 1;
    let refused = loop_events(patched).refused;
    match refused.filter(|_| patched.found & required != required) {
        Some(reason) => Err(reason),
        None => Ok(patched),
    }
}

/// Whether all is seen that libuv calls around loop events.
pub fn loop_events(patched: Patched) -> Mechanism {
    let missing = missing_of(patched);
    Mechanism {
        name: "loop-events",
        refused: (!missing.is_empty()).then(|| {
            let names = missing.join(", ");
            format!("the executable does not call libc's {names} through its offset table")
        }),
    }
}

/// The functions that every executable calls and this one does not.
fn missing_of(patched: Patched) -> Vec<String> {
    let replacements = hooks::replacements();
    let functions = replacements.iter().enumerate();
    functions
        .filter(|(index, _)| (patched.found | OPTIONAL) & 1 << index == 0)
        .map(|(_, function)| function.name.to_string_lossy().into_owned())
        .collect()
}

/// Looks at what can be seen on this Node.
fn mechanisms(uv_loop: usize, patched: Patched) -> (Vec<Mechanism>, NodeHandles, usize) {
    let mut list = vec![loop_events(patched)];
    let pool = symbols().map_err(str::to_owned).and_then(|symbols| {
        if !symbols.has_pool() {
            return Err("the thread pool's variables were not found".into());
        }
        pool::follow(symbols);
        // Jobs of dns, crypto and zlib are seen all the same.
        platform::check_pool()
    });
    list.push(Mechanism {
        name: "pool",
        refused: pool.err(),
    });
    let node = NodeHandles::find(uv_loop);
    list.push(Mechanism {
        name: "timers",
        refused: node.as_ref().err().cloned(),
    });
    let located = v8::isolate().filter(|_| location::is_available());
    list.push(Mechanism {
        name: "locations",
        refused: located
            .is_none()
            .then(|| "V8 does not export its stack trace".to_owned()),
    });
    let isolate = located.map_or(0, |isolate| isolate as usize);
    (list, node.unwrap_or_default(), isolate)
}

/// Replacements that not every executable calls: `recvmmsg`, `recvfrom`, `recv`, `sendmsg`.
const OPTIONAL: u64 = 0b1111 << 12;

/// Starts the mapper and the watchdog, once per process, with all signals blocked.
fn start_threads() -> Result<(), String> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    let start = || {
        // SAFETY: valid signal sets; the old mask is restored.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            let mut old: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
            let result = spawn_threads();
            libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
            libc::atexit(at_exit);
            result.map_err(|error| format!("cannot start a thread: {error}"))
        }
    };
    STARTED.get_or_init(start).clone()
}

fn spawn_threads() -> std::io::Result<()> {
    let spawn = |name: &str, body: fn()| {
        let thread = std::thread::Builder::new()
            .name(name.into())
            .stack_size(128 << 10);
        thread.spawn(body).map(drop)
    };
    spawn("bobtail-mapper", mapper::run)?;
    spawn("bobtail-watch", || {
        cpu_timer::receive_here();
        watchdog::run();
    })?;
    cpu_timer::wait_for_receiver();
    if ready_helper::is_wanted() {
        ready_helper::prepare();
        spawn("bobtail-ready", ready_helper::run)?;
    }
    Ok(())
}

/// The process ends by `exit`, which runs no clean-up of the environment.
extern "C" fn at_exit() {
    if registry::is_forked() {
        return;
    }
    for recorded in registry::recorded().iter() {
        // SAFETY: mapped as long as it is in the list.
        unsafe { Live::new(recorded.file.live()) }.set(live::STATE, live::STATE_CLOSED);
    }
}

/// Ends the recording of this thread; its memory stays mapped. False when it was not recorded.
pub fn stop() -> bool {
    let was_paused = thread::is_paused();
    let Some(mut state) = thread::take() else {
        return false;
    };
    if was_paused {
        // `registry::remove` takes it off the loops being recorded, which it is not.
        registry::wake(state.shared.index, 0);
        pool::wake();
    } else {
        state.end();
    }
    state.writer.close();
    state.shared.backend.forbid();
    if let Some(entry) = fd_table::entry(libuv::async_fd(state.uv_loop)) {
        entry.clear();
    }
    // SAFETY: this is the isolate's thread, and environments end before their isolates.
    unsafe { std::mem::take(&mut state.hooks).unhook() };
    let index = state.shared.index;
    let context = state.context;
    drop(state);
    if let Some(recorded) = registry::remove(index) {
        LEFT.with_borrow_mut(|left| left.push(Left { recorded, context }));
    }
    registry::release(index);
    pool::rest();
    true
}

/// The environment of this thread is torn down: no JavaScript runs any more.
pub fn clean_up() {
    stop();
    for left in LEFT.take() {
        // SAFETY: the loop's state is gone, the mapper and the watchdog do not know it any more,
        // and JavaScript, which held the memory, has ended.
        unsafe {
            left.recorded.ring.unmap();
            left.recorded.file.unmap();
        }
        unmap_context(left.context);
    }
}
