//! What generated code calls instead of V8's own functions: the same, with a clock around it.
//!
//! One copy of the wrapper per function, because all it gets are that function's own arguments.
//! They give back one or two words in registers, and always as two that fit both.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::accounting::Opener;
use super::names::Group;
use super::runtime_functions::RuntimeFunction;
use super::self_check;
use crate::thread::state;

/// Functions that can be wrapped.
pub const WRAPPERS_MAX: usize = 96;

#[repr(C)]
struct Words(usize, usize);

type Runtime = unsafe extern "C" fn(c_int, *mut usize, *mut c_void) -> Words;

/// Address of the function behind each wrapper, and its group.
static ORIGINALS: [AtomicUsize; WRAPPERS_MAX] = [const { AtomicUsize::new(0) }; WRAPPERS_MAX];
static GROUPS: [AtomicUsize; WRAPPERS_MAX] = [const { AtomicUsize::new(0) }; WRAPPERS_MAX];

unsafe extern "C" fn wrapper<const INDEX: usize>(
    count: c_int,
    arguments: *mut usize,
    isolate: *mut c_void,
) -> Words {
    let depth = enter(INDEX);
    // SAFETY: stored by `address_of` before this wrapper's address was given to anybody.
    let original = unsafe { std::mem::transmute::<usize, Runtime>(ORIGINALS[INDEX].load(Relaxed)) };
    // SAFETY: the arguments are the function's own.
    let result = unsafe { original(count, arguments, isolate) };
    leave(depth);
    result
}

/// Gives the depth to leave to; nothing to leave is the largest.
#[inline(never)]
fn enter(index: usize) -> usize {
    let group = match GROUPS[index].load(Relaxed) {
        misses if misses == Group::Misses as usize => Group::Misses,
        compilation if compilation == Group::Compilation as usize => Group::Compilation,
        _ => Group::FunctionsOfText,
    };
    match state() {
        Some(state) => {
            let calls = &mut state.work.calls[index];
            *calls = calls.wrapping_add(1);
            state.begin_work(group.class(), Opener::Function)
        }
        None => {
            self_check::saw(group);
            usize::MAX
        }
    }
}

#[inline(never)]
fn leave(depth: usize) {
    if depth != usize::MAX
        && let Some(state) = state()
    {
        state.end_work(depth);
    }
}

macro_rules! wrappers {
    ($($index:literal)*) => {
        [$(wrapper::<$index> as Runtime),*]
    };
}

static WRAPPERS: [Runtime; WRAPPERS_MAX] = wrappers!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
);

/// The wrapper of the function with that index in the process-wide list; `None` when there are
/// too many.
pub fn address_of(index: usize, function: &RuntimeFunction) -> Option<usize> {
    let wrapper = *WRAPPERS.get(index)? as usize;
    GROUPS[index].store(function.group as usize, Relaxed);
    ORIGINALS[index].store(function.address, Relaxed);
    Some(wrapper)
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn original(count: c_int, _: *mut usize, _: *mut c_void) -> Words {
        Words(count as usize, 42)
    }

    #[test]
    fn passes_arguments_and_both_words() {
        let function = RuntimeFunction {
            name: "Original".into(),
            address: original as *const () as usize,
            group: Group::Compilation,
        };
        let wrapper = address_of(WRAPPERS_MAX - 1, &function).expect("has one");
        // SAFETY: a wrapper of a function that does not look at its pointers.
        let words = unsafe {
            let wrapper = std::mem::transmute::<usize, Runtime>(wrapper);
            wrapper(7, std::ptr::null_mut(), std::ptr::null_mut())
        };
        assert_eq!((words.0, words.1), (7, 42));
        assert!(address_of(WRAPPERS_MAX, &function).is_none());
    }
}
