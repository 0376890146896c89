//! Follows V8's own log of what it does: compilations and steps of incremental marking.
//!
//! A callback per begin and end, given the name of a timer. Compilations come from many places
//! (`require`, `eval`, lazy functions, optimization), and this is the one they have in common.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::accounting::{Class, Opener};
use super::names::Group;
use super::self_check;
use crate::napi::find_symbol;
use crate::thread::state;

const BEGIN: c_int = 0;
const END: c_int = 1;
/// Names that V8 tells; a power of two, more than it has.
const NAMES: usize = 128;

type Callback = unsafe extern "C" fn(*const c_char, c_int);
type SetEventLogger = unsafe extern "C" fn(*mut c_void, Option<Callback>);

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Meaning {
    Nothing,
    Compilation,
    MarkingStep,
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

    fn of_code(code: u64) -> Self {
        match code {
            1 => Self::Compilation,
            2 => Self::MarkingStep,
            _ => Self::Nothing,
        }
    }
}

/// Meanings of names by their address, so that a name is read once: the address and two bits for
/// the meaning in a word. For all threads, because most names mean nothing, and to know that no
/// thread shall have to look for its state.
struct Names([AtomicU64; NAMES]);

static NAMES_SEEN: Names = Names([const { AtomicU64::new(0) }; NAMES]);

impl Names {
    #[inline(always)]
    fn slot(&self, name: *const c_char) -> &AtomicU64 {
        let address = name as usize;
        &self.0[(address ^ address >> 7) % NAMES]
    }

    /// The name is known to mean nothing.
    #[inline(always)]
    fn is_nothing(&self, name: *const c_char) -> bool {
        self.slot(name).load(Relaxed) == (name as u64) << 2 | Meaning::Nothing as u64
    }

    /// # Safety
    /// `name` is a string of V8's that lives as long as the process.
    #[inline]
    unsafe fn meaning(&self, name: *const c_char) -> Meaning {
        let seen = self.slot(name).load(Relaxed);
        match seen >> 2 == name as u64 {
            true => Meaning::of_code(seen & 3),
            // SAFETY: by the caller.
            false => unsafe { self.learn(name) },
        }
    }

    /// # Safety
    /// As of `meaning`.
    #[cold]
    #[inline(never)]
    unsafe fn learn(&self, name: *const c_char) -> Meaning {
        // SAFETY: by the caller.
        let meaning = Meaning::of(unsafe { CStr::from_ptr(name) }.to_bytes());
        // An address of user space leaves the upper bits free.
        self.slot(name)
            .store((name as u64) << 2 | meaning as u64, Relaxed);
        meaning
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
    // Each call of JavaScript is told; nothing may be done for it that can be left out.
    if !NAMES_SEEN.is_nothing(name) {
        // SAFETY: V8's names are literals.
        unsafe { logged_other(name, status) };
    }
}

/// # Safety
/// `name` is a string of V8's that lives as long as the process.
#[inline(never)]
unsafe fn logged_other(name: *const c_char, status: c_int) {
    // SAFETY: by the caller.
    let meaning = unsafe { NAMES_SEEN.meaning(name) };
    if meaning == Meaning::Nothing {
        return;
    }
    let Some(state) = state() else {
        if meaning == Meaning::Compilation {
            self_check::saw(Group::Compilation);
        }
        return;
    };
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
            let names = Names([const { AtomicU64::new(0) }; NAMES]);
            // SAFETY: literals.
            let meaning = unsafe { names.meaning(name.as_ptr()) };
            assert_eq!(meaning, Meaning::Compilation, "{name:?}");
            // SAFETY: as above.
            assert_eq!(unsafe { names.meaning(name.as_ptr()) }, meaning);
            assert!(!names.is_nothing(name.as_ptr()));
            for code in [Meaning::Nothing, Meaning::Compilation, Meaning::MarkingStep] {
                assert_eq!(Meaning::of_code(code as u64), code);
            }
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
        let names = Names([const { AtomicU64::new(0) }; NAMES]);
        for call in [c"V8.Execute", c"V8.GCScavenger"] {
            assert!(!names.is_nothing(call.as_ptr()), "{call:?} was not seen");
            // SAFETY: a literal.
            assert_eq!(unsafe { names.meaning(call.as_ptr()) }, Meaning::Nothing);
            assert!(names.is_nothing(call.as_ptr()), "{call:?}");
        }
    }
}
