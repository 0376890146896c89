//! Follows V8's own log of what it does: compilations and steps of incremental marking.
//!
//! A callback per begin and end, given the name of a timer. Compilations come from many places
//! (`require`, `eval`, lazy functions, optimization), and this is the one they have in common.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::accounting::{Class, Opener};
use super::names::Group;
use super::self_check;
use crate::loop_state::state;
use crate::napi::find_symbol;

const BEGIN: c_int = 0;
const END: c_int = 1;
/// Names that V8 tells; a power of two, more than it has.
const NAMES: usize = 128;

type Callback = unsafe extern "C" fn(*const c_char, c_int);
type SetEventLogger = unsafe extern "C" fn(*mut c_void, Option<Callback>);

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    Compilation,
    MarkingStep,
    Nothing,
}

impl Meaning {
    fn of(name: &[u8]) -> Self {
        let has = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
        if name.starts_with(b"V8.GCIncrementalMarking") {
            return Self::MarkingStep;
        }
        // Those end when the loop has been left.
        if has(b"Async") || has(b"Streaming") || name.starts_with(b"V8.GC") {
            return Self::Nothing;
        }
        match has(b"Compile") || has(b"compile") || has(b"Optimize") {
            true => Self::Compilation,
            false => Self::Nothing,
        }
    }
}

/// Meanings of names by their address, so that a name is read once.
pub struct Names([(usize, Meaning); NAMES]);

impl Names {
    pub fn new() -> Self {
        Self([(0, Meaning::Nothing); NAMES])
    }

    /// # Safety
    /// `name` is a string of V8's that lives as long as the process.
    #[inline]
    unsafe fn meaning(&mut self, name: *const c_char) -> Meaning {
        let address = name as usize;
        let entry = &mut self.0[(address ^ address >> 7) % NAMES];
        if entry.0 != address {
            // SAFETY: by the caller.
            *entry = (
                address,
                Meaning::of(unsafe { CStr::from_ptr(name) }.to_bytes()),
            );
        }
        entry.1
    }
}

/// Has V8 call back for this isolate.
///
/// # Errors
/// What V8 does not export.
pub fn follow(isolate: *mut c_void) -> Result<(), String> {
    set(isolate, Some(logged))
}

/// Undoes `follow`.
pub fn unfollow(isolate: *mut c_void) {
    // What cannot be set was not set.
    let _ = set(isolate, None);
}

fn set(isolate: *mut c_void, callback: Option<Callback>) -> Result<(), String> {
    let address = find_symbol(b"_ZN2v87Isolate14SetEventLoggerEPFvPKciE\0")
        .ok_or("v8::Isolate::SetEventLogger is not exported")?;
    // SAFETY: the signature of v8-isolate.h, on the isolate's thread.
    unsafe { std::mem::transmute::<usize, SetEventLogger>(address)(isolate, callback) };
    Ok(())
}

/// Called by V8 on whatever thread does the work; only those that are recorded have a state.
unsafe extern "C" fn logged(name: *const c_char, status: c_int) {
    let Some(state) = state() else {
        self_check::saw(Group::Compilation);
        return;
    };
    // SAFETY: V8's names are literals.
    let meaning = unsafe { state.work.names.meaning(name) };
    let opener = Opener::Event(name as usize);
    match (meaning, status) {
        (Meaning::Compilation, BEGIN) => {
            state.begin_work(Class::Jit, opener);
        }
        (Meaning::Compilation, END) => state.end_innermost_work(opener),
        (Meaning::MarkingStep, BEGIN) => state.begin_step(opener),
        (Meaning::MarkingStep, END) => state.end_step(opener),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_names_mean() {
        for name in [c"V8.CompileLazyMicroSeconds", c"V8.RecompileSynchronous"] {
            let mut names = Names::new();
            // SAFETY: literals.
            let meaning = unsafe { names.meaning(name.as_ptr()) };
            assert_eq!(meaning, Meaning::Compilation, "{name:?}");
            // SAFETY: as above.
            assert_eq!(unsafe { names.meaning(name.as_ptr()) }, meaning);
        }
        assert_eq!(
            Meaning::of(b"V8.TurboFanOptimizePrepare"),
            Meaning::Compilation
        );
        assert_eq!(
            Meaning::of(b"V8.GCIncrementalMarkingStart"),
            Meaning::MarkingStep
        );
        for other in [
            "V8.GCScavenger",
            "V8.Execute",
            "V8.WasmCompileModuleAsyncMicroSeconds",
        ] {
            assert_eq!(Meaning::of(other.as_bytes()), Meaning::Nothing, "{other}");
        }
    }
}
