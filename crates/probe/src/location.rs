//! Finds out what JavaScript the loop thread is executing, from inside it.
//!
//! The watchdog asks V8 to interrupt the thread, and V8 calls back between two JavaScript
//! instructions, where a stack trace may be taken. A signal would stop anywhere and could not.
//!
//! V8 only looks for interrupts where functions begin and loops repeat. After a long stay in
//! native code (`JSON.stringify`) that is often the begin of the next function called, which has
//! done nothing yet: its caller is named instead.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::Acquire;

use crate::clock::monotonic_ns;
use crate::function_entry;
use crate::handles::Name;
use crate::loop_state::state;
use crate::napi::{self, Value};
use crate::own_files;
use crate::stack_frames::{V8, v8};
use crate::v8::{Class, Opener};

/// Frames looked at for one of the application.
const FRAMES_MAX: c_int = 24;
/// v8::StackTrace::kOverview.
const OPTIONS: c_int = 0x0f;
const TEXT_BYTES: usize = 512;
/// An interrupt that took longer to be served found the thread in native code: what it executes
/// now is not what it executed when it was asked.
const PROMPT_NS: u64 = 500_000;

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
    // V8 serves it as part of its own work, which this is not.
    let depth = state.begin_work(Class::Native, Opener::Callback);
    let late_ns = monotonic_ns().saturating_sub(state.shared.asked_ns.load(Acquire));
    let mut stack = Stack {
        v8,
        isolate,
        env: state.env as *mut c_void,
    };
    let mut name = Name::new();
    // SAFETY: on the isolate's thread, in its scope.
    if unsafe { stack.describe(late_ns < PROMPT_NS, &mut name) } {
        // Taken anew: V8 was called in between.
        if let Some(state) = crate::loop_state::state() {
            let id = state.intern(&[name.bytes()]);
            state.locate(id);
        }
    }
    if let Some(state) = crate::loop_state::state() {
        state.end_work(depth);
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
    /// Writes `function file:line` of the topmost frame of the application that did something.
    /// Node's own code is only named when no other code runs and it was found at once; Bobtail's
    /// never.
    ///
    /// SAFETY: on the isolate's thread, in a HandleScope.
    unsafe fn describe(&mut self, is_prompt: bool, name: &mut Name) -> bool {
        let mut entered = None;
        let mut of_node = None;
        // SAFETY: by the caller.
        unsafe {
            let trace = (self.v8.current_stack_trace)(self.isolate, FRAMES_MAX, OPTIONS);
            if trace.is_null() {
                return false;
            }
            let count = (self.v8.frame_count)(trace).clamp(0, FRAMES_MAX) as u32;
            for index in 0..count {
                let frame = (self.v8.frame)(trace, self.isolate, index);
                if frame.is_null() {
                    continue;
                }
                match self.owner(frame) {
                    Owner::Bobtail => {}
                    Owner::Node => of_node = of_node.or(Some(frame)),
                    Owner::Application => {
                        if index > 0 || !function_entry::is_at(self.v8, self.env, frame) {
                            self.write(frame, name);
                            return true;
                        }
                        entered = Some(frame);
                    }
                }
            }
            let frame = entered.or(of_node).filter(|_| is_prompt);
            if let Some(frame) = frame {
                self.write(frame, name);
            }
            frame.is_some()
        }
    }

    /// SAFETY: a live frame of this thread's stack trace.
    unsafe fn owner(&self, frame: *mut c_void) -> Owner {
        let mut file = [0; TEXT_BYTES];
        // SAFETY: by the caller.
        let length = unsafe { text(self.env, (self.v8.script_name)(frame), &mut file) };
        owner_of(&file[..length])
    }

    /// SAFETY: as above.
    unsafe fn write(&self, frame: *mut c_void, name: &mut Name) {
        let (mut file, mut function) = ([0; TEXT_BYTES], [0; TEXT_BYTES]);
        // SAFETY: by the caller.
        let (file_length, function_length, line) = unsafe {
            (
                text(self.env, (self.v8.script_name)(frame), &mut file),
                text(self.env, (self.v8.function_name)(frame), &mut function),
                ((self.v8.location)(frame) as u32).wrapping_add(1),
            )
        };
        write(
            name,
            &function[..function_length],
            &file[..file_length],
            line,
        );
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

fn write(name: &mut Name, function: &[u8], file: &[u8], line: u32) {
    use std::fmt::Write;
    let file = path_of(file);
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

    #[test]
    fn knows_whose_code_it_is() {
        assert_eq!(owner_of(b"node:events"), Owner::Node);
        assert_eq!(owner_of(b""), Owner::Node);
        assert_eq!(owner_of(b"/app/server.js"), Owner::Application);
        assert_eq!(owner_of(b"file:///app/server.mjs"), Owner::Application);
    }
}
