//! Finds out what JavaScript the loop thread is executing, from inside it.
//!
//! The watchdog asks V8 to interrupt the thread, and V8 calls back between two JavaScript
//! instructions, where a stack trace may be taken. A signal would stop anywhere and could not.
//!
//! V8 only looks for interrupts where functions begin and loops repeat. After a long stay in
//! native code (`JSON.stringify`) that is often the begin of the next function called, which has
//! done nothing yet: its caller is named instead.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use crate::clock::monotonic_ns;
use crate::function_entry;
use bobtail_trace::record::CodePlace;

use crate::loop_state::LoopState;
use crate::napi::{self, Value};
use crate::own_files;
use crate::stack_frames::{V8, v8};
use crate::thread::state;
use crate::v8::{Class, Opener};

/// Frames looked at for one of the application.
const FRAMES_MAX: c_int = 24;
/// v8::StackTrace::kOverview.
const OPTIONS: c_int = 0x0f;
/// Longest path of a script: as long as the system's own; what is longer is cut.
const FILE_BYTES: usize = 4096;
const FUNCTION_BYTES: usize = 128;
/// Enough to tell whose code it is.
const OWNER_BYTES: usize = 512;
/// What code out of `eval` or `new Function` is called that does not name itself.
const EVAL: &[u8] = b"(eval)";
/// An interrupt that took longer to be served found the thread in native code: what it executes
/// now is not what it executed when it was asked.
const PROMPT_NS: u64 = 500_000;

/// The watchdog is in V8, where it holds the mutex of an isolate.
static ASKING: AtomicBool = AtomicBool::new(false);

/// Everything needed is there.
pub fn is_available() -> bool {
    v8().is_some()
}

/// Asks the thread of an isolate to write its location. From another thread; the isolate lives.
pub fn ask(isolate: *mut c_void) {
    if let Some(v8) = v8() {
        // Seen by the thread no later than what V8 has it see: that comes after it.
        ASKING.store(true, SeqCst);
        // SAFETY: RequestInterrupt may be called from any thread while the isolate lives.
        unsafe { (v8.request_interrupt)(isolate, interrupted, std::ptr::null_mut()) };
        ASKING.store(false, SeqCst);
    }
}

/// `ask` is under way, so the thread that is asked may find its isolate's mutex taken.
#[inline(always)]
pub fn is_being_asked() -> bool {
    ASKING.load(Relaxed)
}

/// Runs on the isolate's thread inside a HandleScope that V8 opened.
unsafe extern "C" fn interrupted(isolate: *mut c_void, _: *mut c_void) {
    let (Some(v8), Some(state)) = (v8(), state()) else {
        return;
    };
    if !state.location_is_wanted() {
        return;
    }
    // V8 serves it as part of its own work, which this is not.
    let depth = state.begin_work(Class::Native, Opener::Callback);
    let late_ns = monotonic_ns().saturating_sub(state.shared.asked_ns.load(Acquire));
    let stack = Stack {
        v8,
        isolate,
        env: state.env as *mut c_void,
    };
    // SAFETY: on the isolate's thread, in its scope.
    if let Some(frame) = unsafe { stack.find(late_ns < PROMPT_NS) } {
        // SAFETY: a frame of this moment.
        unsafe { stack.write(frame) };
    }
    if let Some(state) = crate::thread::state() {
        state.end_work(depth);
    }
}

/// The code of the application that V8 was called by just now, where it is known.
///
/// # Safety
/// On the isolate's thread, in a HandleScope, where V8 allows allocations, and within a call of its
/// API: optimized code that allocates has nothing that tells its frames, and V8 aborts or worse.
pub unsafe fn caller(isolate: *mut c_void, env: *mut c_void) -> CodePlace {
    let Some(v8) = v8() else {
        return CodePlace::default();
    };
    let stack = Stack { v8, isolate, env };
    // SAFETY: by the caller.
    unsafe {
        let mut frames = stack.frames();
        let frame = frames.find(|&frame| stack.owner(frame) == Owner::Application);
        frame.map_or_else(CodePlace::default, |frame| stack.place(frame))
    }
}

/// Whose code a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Application,
    Node,
    Bobtail,
}

fn owner_of(file: &[u8]) -> Owner {
    if file.is_empty() || file.starts_with(b"node:") {
        Owner::Node
    } else if own_files::contains(path_of(file)) {
        Owner::Bobtail
    } else {
        Owner::Application
    }
}

fn path_of(file: &[u8]) -> &[u8] {
    file.strip_prefix(b"file://").unwrap_or(file)
}

struct Stack<'a> {
    v8: &'a V8,
    isolate: *mut c_void,
    env: *mut c_void,
}

impl Stack<'_> {
    /// What runs now, the topmost first.
    ///
    /// SAFETY: on the isolate's thread, in a HandleScope that outlives them, where V8 can tell
    /// every frame.
    unsafe fn frames(&self) -> impl Iterator<Item = *mut c_void> {
        // SAFETY: by the caller.
        let trace = unsafe { (self.v8.current_stack_trace)(self.isolate, FRAMES_MAX, OPTIONS) };
        let count = if trace.is_null() {
            0
        } else {
            // SAFETY: a trace of this moment.
            unsafe { (self.v8.frame_count)(trace) }.clamp(0, FRAMES_MAX)
        };
        // SAFETY: the index is below the count.
        let frame = move |index| unsafe { (self.v8.frame)(trace, self.isolate, index) };
        (0..count as u32)
            .map(frame)
            .filter(|frame| !frame.is_null())
    }

    /// The topmost frame of the application that did something. Node's own code is only named when
    /// no other code runs and it was found at once; Bobtail's never.
    ///
    /// SAFETY: on the isolate's thread, in a HandleScope.
    unsafe fn find(&self, is_prompt: bool) -> Option<*mut c_void> {
        let mut entered = None;
        let mut of_node = None;
        // SAFETY: by the caller.
        unsafe {
            for (index, frame) in self.frames().enumerate() {
                match self.owner(frame) {
                    Owner::Bobtail => {}
                    Owner::Node => of_node = of_node.or(Some(frame)),
                    Owner::Application => {
                        if index > 0 || !function_entry::is_at(self.v8, self.env, frame) {
                            return Some(frame);
                        }
                        entered = Some(frame);
                    }
                }
            }
        }
        entered.or(of_node).filter(|_| is_prompt)
    }

    /// SAFETY: a live frame of this thread's stack trace.
    unsafe fn owner(&self, frame: *mut c_void) -> Owner {
        let mut file = [0; OWNER_BYTES];
        // SAFETY: by the caller.
        let length = unsafe { self.script_name(frame, &mut file) };
        owner_of(&file[..length])
    }

    /// Copies what the script is called. The comment counts only where there is no file: it would
    /// hide the file from the look-up of source maps.
    ///
    /// SAFETY: as above.
    unsafe fn script_name(&self, frame: *mut c_void, buffer: &mut [u8]) -> usize {
        // SAFETY: by the caller.
        unsafe {
            match text(self.env, (self.v8.script_name)(frame), buffer) {
                0 => {}
                length => return length,
            }
            match text(self.env, (self.v8.source_url)(frame), buffer) {
                0 if (self.v8.is_eval)(frame) => {
                    buffer[..EVAL.len()].copy_from_slice(EVAL);
                    EVAL.len()
                }
                length => length,
            }
        }
    }

    /// Writes the place of a frame.
    ///
    /// SAFETY: as above.
    unsafe fn write(&self, frame: *mut c_void) {
        // SAFETY: by the caller.
        let place = unsafe { self.place(frame) };
        // Taken anew: V8 was called in between.
        if let Some(state) = crate::thread::state().filter(|_| place.file != 0) {
            state.locate(place);
        }
    }

    /// The place of a frame, its names in the table of the trace.
    ///
    /// SAFETY: as above.
    unsafe fn place(&self, frame: *mut c_void) -> CodePlace {
        let (mut file, mut function) = ([0; FILE_BYTES], [0; FUNCTION_BYTES]);
        // SAFETY: by the caller.
        let (file_length, function_length, position) = unsafe {
            (
                self.script_name(frame, &mut file),
                text(self.env, (self.v8.function_name)(frame), &mut function),
                (self.v8.location)(frame),
            )
        };
        let function = &function[..function_length];
        let file = decoded(&mut file[..file_length]);
        // Taken anew: V8 was called in between.
        crate::thread::state().map_or_else(CodePlace::default, |state| {
            place_of(state, function, file, position)
        })
    }
}

fn place_of(state: &mut LoopState, function: &[u8], file: &[u8], position: u64) -> CodePlace {
    let function = match function {
        b"" => 0,
        name => state.intern(&[name]),
    };
    let file = state.intern(&[file]);
    // V8 counts from 0, and -1 is unknown.
    let (line, column) = (position as u32, (position >> 32) as u32);
    CodePlace {
        function,
        file,
        line: line.wrapping_add(1),
        column: column.wrapping_add(1),
    }
}

/// Copies a V8 string through Node-API, whose values are the same slots as `Local`s.
///
/// SAFETY: `local` is empty or a live local handle.
unsafe fn text(env: *mut c_void, local: Value, buffer: &mut [u8]) -> usize {
    // SAFETY: the environment of this thread, not used by anything else now.
    let scope = unsafe { napi::Scope::new(env) };
    if local.is_null() {
        return 0;
    }
    scope
        .and_then(|scope| scope.to_bytes(local, buffer).map(<[u8]>::len))
        .unwrap_or(0)
}

/// A `file:` URL as the path that it stands for; any other name as it is.
fn decoded(name: &mut [u8]) -> &[u8] {
    if !name.starts_with(b"file://") {
        return name;
    }
    let (mut from, mut to) = (b"file://".len(), 0);
    while from < name.len() && !matches!(name[from], b'?' | b'#') {
        let escaped = match name[from..] {
            [b'%', high, low, ..] => hex(high).zip(hex(low)),
            _ => None,
        };
        (name[to], from) = match escaped {
            Some((high, low)) => (high << 4 | low, from + 3),
            None => (name[from], from + 1),
        };
        to += 1;
    }
    &name[..to]
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_a_file_becomes_its_path() {
        let path = |name: &str| {
            let mut bytes = name.as_bytes().to_vec();
            String::from_utf8(decoded(&mut bytes).to_vec()).expect("UTF-8")
        };
        assert_eq!(path("file:///a%20b/%C3%A9.mjs?v=1#top"), "/a b/\u{e9}.mjs");
        assert_eq!(path("file:///a%2/b%zz%"), "/a%2/b%zz%");
        assert_eq!(path("/app/100%25.js?"), "/app/100%25.js?");
        assert_eq!(path("node:events"), "node:events");
        assert_eq!(path("file://"), "");
    }

    #[test]
    fn knows_whose_code_it_is() {
        assert_eq!(owner_of(b"node:events"), Owner::Node);
        assert_eq!(owner_of(b""), Owner::Node);
        assert_eq!(owner_of(b"/app/server.js"), Owner::Application);
        assert_eq!(owner_of(b"file:///app/server.mjs"), Owner::Application);
    }
}
