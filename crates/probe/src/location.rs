//! Finds out what JavaScript the loop thread is executing, from inside it.
//!
//! The watchdog asks V8 to interrupt the thread, and V8 calls back between two JavaScript
//! instructions, where a stack trace may be taken. A signal would stop anywhere and could not.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use crate::handles::Name;
use crate::loop_state::state;
use crate::napi::{self, Value, find_symbol};

/// Frames looked at for one that is not Node's own.
const FRAMES_MAX: c_int = 24;
/// v8::StackTrace::kOverview.
const OPTIONS: c_int = 0x0f;
const TEXT_BYTES: usize = 512;

type Interrupt = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// Functions of V8. A `Local` is a pointer to a slot and is passed and returned as a word; the
/// slot is what `this` of its methods points to.
struct V8 {
    request_interrupt: unsafe extern "C" fn(*mut c_void, Interrupt, *mut c_void),
    current_stack_trace: unsafe extern "C" fn(*mut c_void, c_int, c_int) -> *mut c_void,
    frame_count: unsafe extern "C" fn(*mut c_void) -> c_int,
    frame: unsafe extern "C" fn(*mut c_void, *mut c_void, u32) -> *mut c_void,
    script_name: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    function_name: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    /// Two ints in one word: line in the low half, column in the high half, both from 0.
    location: unsafe extern "C" fn(*mut c_void) -> u64,
}

static V8: OnceLock<Option<V8>> = OnceLock::new();

/// The signatures of v8-isolate.h and v8-debug.h, the same in V8 11.3 to 14.6, in the C++ ABI of
/// x64: trivially copyable classes of one word travel as that word.
fn v8() -> Option<&'static V8> {
    /// SAFETY: `F` is the type of that function.
    unsafe fn find<F: Copy>(name: &[u8]) -> Option<F> {
        let address = find_symbol(name)?;
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        // SAFETY: a function pointer is one word.
        Some(unsafe { std::mem::transmute_copy::<usize, F>(&address) })
    }
    V8.get_or_init(|| {
        // SAFETY: the types of the fields of `V8`, see above.
        unsafe {
            Some(V8 {
                request_interrupt: find(b"_ZN2v87Isolate16RequestInterruptEPFvPS0_PvES2_\0")?,
                current_stack_trace: find(
                    concat!(
                        "_ZN2v810StackTrace17CurrentStackTraceEPNS_7IsolateE",
                        "iNS0_17StackTraceOptionsE\0"
                    )
                    .as_bytes(),
                )?,
                frame_count: find(b"_ZNK2v810StackTrace13GetFrameCountEv\0")?,
                frame: find(b"_ZNK2v810StackTrace8GetFrameEPNS_7IsolateEj\0")?,
                script_name: find(b"_ZNK2v810StackFrame13GetScriptNameEv\0")?,
                function_name: find(b"_ZNK2v810StackFrame15GetFunctionNameEv\0")?,
                location: find(b"_ZNK2v810StackFrame11GetLocationEv\0")?,
            })
        }
    })
    .as_ref()
}

/// Everything needed is there.
pub fn is_available() -> bool {
    v8().is_some()
}

/// Asks the thread of an isolate to write its location. From another thread; the isolate lives.
pub fn ask(isolate: *mut c_void) {
    if let Some(v8) = v8() {
        // SAFETY: RequestInterrupt may be called from any thread while the isolate lives.
        unsafe { (v8.request_interrupt)(isolate, interrupted, std::ptr::null_mut()) };
    }
}

/// Runs on the isolate's thread inside a HandleScope that V8 opened.
unsafe extern "C" fn interrupted(isolate: *mut c_void, _: *mut c_void) {
    let (Some(v8), Some(state)) = (v8(), state()) else {
        return;
    };
    if !state.location_is_wanted() {
        return;
    }
    let env = state.env as *mut c_void;
    let mut name = Name::new();
    // SAFETY: on the isolate's thread, in its scope.
    if unsafe { describe(v8, isolate, env, &mut name) } {
        // Taken anew: V8 was called in between.
        if let Some(state) = crate::loop_state::state() {
            let id = state.intern(&[name.bytes()]);
            state.locate(id);
        }
    }
}

/// Writes `function file:line` of the topmost frame that is not Node's own.
///
/// SAFETY: on the isolate's thread, in a HandleScope.
unsafe fn describe(v8: &V8, isolate: *mut c_void, env: *mut c_void, name: &mut Name) -> bool {
    // SAFETY: by the caller.
    unsafe {
        let trace = (v8.current_stack_trace)(isolate, FRAMES_MAX, OPTIONS);
        if trace.is_null() {
            return false;
        }
        let count = (v8.frame_count)(trace).clamp(0, FRAMES_MAX) as u32;
        let mut file = [0; TEXT_BYTES];
        for index in 0..count {
            let frame = (v8.frame)(trace, isolate, index);
            if frame.is_null() {
                continue;
            }
            let length = text(env, (v8.script_name)(frame), &mut file);
            let own = file[..length].starts_with(b"node:") || length == 0;
            if own && index + 1 < count {
                continue;
            }
            let mut function = [0; TEXT_BYTES];
            let function_length = text(env, (v8.function_name)(frame), &mut function);
            let line = ((v8.location)(frame) as u32).wrapping_add(1);
            write(name, &function[..function_length], &file[..length], line);
            return true;
        }
    }
    false
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

fn write(name: &mut Name, function: &[u8], file: &[u8], line: u32) {
    use std::fmt::Write;
    let file = file.strip_prefix(b"file://").unwrap_or(file);
    let function = if function.is_empty() {
        b"(anonymous)"
    } else {
        function
    };
    name.push(&function[..function.len().min(48)]);
    name.push(b" ");
    // The end of a long path says more than its begin.
    name.push(&file[file.len().saturating_sub(96)..]);
    // Name cannot fail.
    let _ = write!(name, ":{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_end_of_a_long_path() {
        let mut name = Name::new();
        let path = format!("file:///{}/server.js", "deep/".repeat(40));
        write(&mut name, b"handle", path.as_bytes(), 12);
        let text = String::from_utf8_lossy(name.bytes()).into_owned();
        assert!(text.starts_with("handle "), "{text}");
        assert!(text.ends_with("/server.js:12"), "{text}");
    }
}
