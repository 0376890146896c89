//! Starts and ends the recording of one event loop.
//!
//! Order matters: everything that can fail comes before the first patched slot of this loop is
//! looked at, so that a refusal leaves the process as it was.

use std::cell::RefCell;
use std::sync::atomic::Ordering::Release;
use std::sync::{Arc, Once, OnceLock};

use bobtail_trace::layout::{HEADER_BYTES, live};

use crate::clock::{RealtimeOffset, monotonic_ns, realtime_ns};
use crate::fd_table::{self, Kind};
use crate::gc::Collections;
use crate::got::{self, Patched};
use crate::interjection::Deferred;
use crate::libuv::{self, uv_loop};
use crate::loop_state::{self, LoopState, Poll};
use crate::pool::{self, Jobs};
use crate::registry::{self, Recorded};
use crate::ring::{Ring, Slots};
use crate::strings::Strings;
use crate::symbols::symbols;
use crate::timers::NodeHandles;
use crate::trace_file::{Description, TraceFile};
use crate::writer::{Live, Writer};
use crate::{fork, gc, hooks, location, mapper, ready_helper, watchdog};

/// Chunks mapped before the first record.
const CHUNKS_AHEAD: usize = 2;
const CONTEXT_BYTES: usize = 65_536 * 4;

/// Why a loop cannot be recorded.
#[derive(Debug)]
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
}

impl Refusal {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
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
    if loop_state::state().is_some() {
        return Err(Refusal::new(
            "BOBTAIL_STATE",
            "this thread is already recorded",
        ));
    }
    libuv::check(uv_loop).map_err(|reason| Refusal::new("BOBTAIL_UNSUPPORTED", reason))?;
    let io = |error: std::io::Error| Refusal::new("BOBTAIL_MEMORY", error.to_string());
    fd_table::reserve().map_err(io)?;
    let patched = patch().map_err(|reason| Refusal::new("BOBTAIL_UNSUPPORTED", reason))?;
    let (ring, file, slots) = open(&mut description)?;
    let context = context_array().map_err(io)?;
    let shared = registry::allocate()
        .ok_or_else(|| Refusal::new("BOBTAIL_STATE", "too many threads are recorded"))?;
    start_threads().map_err(io)?;
    fork::watch();
    let (mut mechanisms, node, isolate) = mechanisms(uv_loop, patched);
    let (writer, strings) = writer(&file, &ring, description.start_ns);
    shared.isolate.store(isolate, Release);
    let looked_at = shared.backend.allow(libuv::backend_fd(uv_loop));
    let has_helper = looked_at.is_ok() && ready_helper::is_wanted();
    mechanisms.push(Mechanism {
        name: "ready-looks",
        refused: looked_at.err(),
    });
    if has_helper {
        ready_helper::nest(&shared);
    }
    let started = Started {
        header: file.header(),
        header_bytes: HEADER_BYTES,
        ring: ring.base(),
        ring_bytes: ring.bytes(),
        context: context.cast(),
        context_bytes: CONTEXT_BYTES,
        mechanisms,
        start_ns: description.start_ns,
    };
    let mut state = Box::new(LoopState {
        uv_loop,
        backend_fd: libuv::backend_fd(uv_loop),
        writer,
        strings,
        shared: shared.clone(),
        batch: 0,
        dispatched: -1,
        poll: Poll::default(),
        realtime: RealtimeOffset::new(),
        jobs: Jobs::new(),
        node,
        collections: Collections::default(),
        deferred: Deferred::default(),
        context,
        env,
        has_helper,
        ports: Vec::with_capacity(64),
    });
    state.next_batch();
    if let Some(entry) = fd_table::entry(libuv::async_fd(uv_loop)) {
        entry.clear();
        entry.set_kind(Kind::Wakeup);
    }
    let recorded = Recorded {
        shared,
        ring,
        file,
        slots,
    };
    registry::add(recorded, uv_loop + uv_loop::WORK_MUTEX);
    loop_state::install(state);
    pool::adopt(uv_loop);
    Ok(started)
}

/// Creates the trace and maps its first chunks.
fn open(description: &mut Description) -> Result<(Arc<Ring>, TraceFile, Slots), Refusal> {
    let refusal = |error: crate::trace_file::Error| Refusal::new(error.code(), error.to_string());
    let ring = Ring::new(description.ring_slots, description.chunk_bytes)
        .map_err(|error| Refusal::new("BOBTAIL_MEMORY", error.to_string()))?;
    description.start_ns = monotonic_ns();
    description.start_realtime_ns = realtime_ns();
    let file = TraceFile::create(description).map_err(refusal)?;
    let mut slots = Slots::new(description.max_slots);
    for _ in 0..CHUNKS_AHEAD {
        slots.map_next(&ring, &file).map_err(|error| {
            refusal(crate::trace_file::Error::Reserve(
                description.path.clone(),
                error,
            ))
        })?;
    }
    Ok((Arc::new(ring), file, slots))
}

/// What writes into the trace, with its first chunk open.
fn writer(file: &TraceFile, ring: &Arc<Ring>, start_ns: u64) -> (Writer, Strings) {
    // SAFETY: the mappings stay until `clean_up`, after which nothing of the loop runs.
    let (live, strings) = unsafe {
        let live = Live::new(file.live());
        let (table, table_bytes) = file.strings();
        let used = file.live().add(live::STRINGS_USED);
        (live, Strings::new(table, table_bytes, used))
    };
    // SAFETY: as above.
    let mut writer = unsafe { Writer::new(live, ring.clone(), start_ns) };
    writer.roll();
    (writer, strings)
}

fn context_array() -> std::io::Result<*mut u32> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh anonymous mapping.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            CONTEXT_BYTES,
            protection,
            flags,
            -1,
            0,
        )
    };
    match at {
        libc::MAP_FAILED => Err(std::io::Error::last_os_error()),
        at => Ok(at.cast()),
    }
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
    if patched.found & required != required {
        return Err("the executable does not call libc through its offset table".into());
    }
    Ok(patched)
}

/// Looks at what can be seen on this Node.
fn mechanisms(uv_loop: usize, patched: Patched) -> (Vec<Mechanism>, NodeHandles, usize) {
    let all = (1_u64 << hooks::replacements().len()) - 1;
    let mut list = vec![Mechanism {
        name: "loop-events",
        refused: (patched.found | OPTIONAL != all | OPTIONAL).then(|| {
            format!(
                "some libc functions are not called (found {:b})",
                patched.found
            )
        }),
    }];
    let pool = symbols().map_err(str::to_owned).and_then(|symbols| {
        if !symbols.has_pool() {
            return Err("the thread pool's variables were not found".into());
        }
        pool::follow(symbols);
        Ok(())
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
    let isolate = gc::isolate();
    let collections = isolate
        .ok_or_else(|| "v8::Isolate::GetCurrent is not exported".to_owned())
        .and_then(gc::watch);
    list.push(Mechanism {
        name: "gc",
        refused: collections.err(),
    });
    let located = isolate.filter(|_| location::is_available());
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
fn start_threads() -> std::io::Result<()> {
    static STARTED: Once = Once::new();
    let mut result = Ok(());
    STARTED.call_once(|| {
        // SAFETY: valid signal sets; the old mask is restored.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            let mut old: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
            let spawn = |name: &str, body: fn()| {
                std::thread::Builder::new()
                    .name(name.into())
                    .stack_size(128 << 10)
                    .spawn(body)
            };
            result = spawn("bobtail-mapper", mapper::run)
                .and_then(|_| spawn("bobtail-watch", watchdog::run))
                .and_then(|thread| match ready_helper::is_wanted() {
                    true => {
                        ready_helper::prepare();
                        spawn("bobtail-ready", ready_helper::run)
                    }
                    false => Ok(thread),
                })
                .map(drop);
            libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
            libc::atexit(at_exit);
        }
    });
    result
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
    let Some(mut state) = loop_state::take() else {
        return false;
    };
    state.end();
    state.writer.close();
    state.shared.backend.forbid();
    if let Some(entry) = fd_table::entry(libuv::async_fd(state.uv_loop)) {
        entry.clear();
    }
    if let Some(isolate) = gc::isolate() {
        gc::unwatch(isolate);
    }
    let index = state.shared.index;
    let context = state.context;
    drop(state);
    if let Some(recorded) = registry::remove(index) {
        LEFT.with_borrow_mut(|left| left.push(Left { recorded, context }));
    }
    registry::release(index);
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
            libc::munmap(left.context.cast(), CONTEXT_BYTES);
        }
    }
}
