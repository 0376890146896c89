//! The functions of V8 that tell what JavaScript a thread is executing.
//!
//! Found by their mangled names, because Node-API has nothing like them.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use crate::napi::find_symbol;

pub type Interrupt = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// Functions of V8. A `Local` is a pointer to a slot and is passed and returned as a word; the
/// slot is what `this` of its methods points to.
pub struct V8 {
    pub request_interrupt: unsafe extern "C" fn(*mut c_void, Interrupt, *mut c_void),
    pub current_stack_trace: unsafe extern "C" fn(*mut c_void, c_int, c_int) -> *mut c_void,
    pub frame_count: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub frame: unsafe extern "C" fn(*mut c_void, *mut c_void, u32) -> *mut c_void,
    pub script_name: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    /// Of code without a file: what its `sourceURL` comment says, which bundlers put there.
    pub source_url: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    pub is_eval: unsafe extern "C" fn(*mut c_void) -> bool,
    pub function_name: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    pub script_id: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub script_source: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    /// Two ints in one word: line in the low half, column in the high half, both from 0.
    pub location: unsafe extern "C" fn(*mut c_void) -> u64,
}

static V8: OnceLock<Option<V8>> = OnceLock::new();

/// The signatures of v8-isolate.h and v8-debug.h, the same in V8 11.3 to 14.6, in the C++ ABI of
/// x64: trivially copyable classes of one word travel as that word.
pub fn v8() -> Option<&'static V8> {
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
                source_url: find(b"_ZNK2v810StackFrame24GetScriptNameOrSourceURLEv\0")?,
                is_eval: find(b"_ZNK2v810StackFrame6IsEvalEv\0")?,
                function_name: find(b"_ZNK2v810StackFrame15GetFunctionNameEv\0")?,
                script_id: find(b"_ZNK2v810StackFrame11GetScriptIdEv\0")?,
                script_source: find(b"_ZNK2v810StackFrame15GetScriptSourceEv\0")?,
                location: find(b"_ZNK2v810StackFrame11GetLocationEv\0")?,
            })
        }
    })
    .as_ref()
}
