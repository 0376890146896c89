//! Sees what V8 makes the loop thread do besides running code: collect garbage, compile, and look
//! up properties that an inline cache did not know.
//!
//! Hooks into a stock V8 instead of a patched one (the papers') or samples of the stack: exact
//! begin and end of each, on the Node that is in production. None is trusted before it was seen to
//! work in this very process (`self_check`).
//!
//! Flow: `collections`, `event_log` and `wrappers` are called by V8, `accounting` charges the time
//! to the innermost class, `work` writes it.

mod accounting;
pub mod collections;
mod event_log;
mod memory_map;
mod names;
mod reference_table;
mod runtime_functions;
mod self_check;
mod ticks;
mod timer_flag;
mod work;
mod wrappers;

use std::ffi::c_void;

pub use accounting::{Class, Opener};
use names::Group;
pub use names::watched_symbol;
use reference_table::Swapped;
pub use work::{LastWork, Work, WorkSpan};

use crate::napi::{Scope, find_symbol};
use crate::start::Mechanism;
use crate::symbols::symbols;

/// What was hooked into an isolate.
#[derive(Default)]
pub struct Hooks {
    isolate: usize,
    is_logged: bool,
    swapped: Vec<Swapped>,
}

/// The isolate of this thread; `None` when there is none or V8 does not tell.
pub fn isolate() -> Option<*mut c_void> {
    let address = find_symbol(b"_ZN2v87Isolate10GetCurrentEv\0")?;
    type GetCurrent = unsafe extern "C" fn() -> *mut c_void;
    // SAFETY: v8::Isolate::GetCurrent, called on a thread that runs JavaScript.
    let isolate = unsafe { std::mem::transmute::<usize, GetCurrent>(address)() };
    (!isolate.is_null()).then_some(isolate)
}

/// Hooks into the isolate of this thread whatever works here.
pub fn hook(scope: Option<Scope>) -> (Hooks, Vec<Mechanism>) {
    let mut hooks = Hooks::default();
    let told = match (isolate(), scope) {
        (Some(isolate), Some(scope)) => {
            hooks.isolate = isolate as usize;
            hooks.all(isolate, scope)
        }
        _ => NAMES.map(|_| Err("v8::Isolate::GetCurrent is not exported".to_owned())),
    };
    let mechanism = |(name, result): (_, Result<(), String>)| Mechanism {
        name,
        refused: result.err(),
    };
    let mechanisms = NAMES.into_iter().zip(told).map(mechanism).collect();
    (hooks, mechanisms)
}

/// What is told of each, in the order of `Hooks::all`.
const NAMES: [&str; 5] = ["gc", "v8.gc-steps", "v8.jit", "v8.jit-text", "v8.ic"];

impl Hooks {
    /// Hooks collections, the event log, compilation, functions made of text and inline-cache
    /// misses.
    fn all(&mut self, isolate: *mut c_void, scope: Scope) -> [Result<(), String>; NAMES.len()] {
        let gc = collections::watch(isolate);
        let log = self.follow_log(isolate, scope);
        let jit = log.clone();
        let jit = jit.and_then(|()| self.swap(isolate, Group::Compilation));
        // The executable's symbol table alone tells builtins.
        let text = jit.clone().and_then(|()| {
            symbols().map_err(str::to_owned)?;
            let line = self_check::FUNCTION_OF_TEXT;
            self.swap_seen(isolate, scope, Group::FunctionsOfText, line)
        });
        let ic = self.swap_seen(isolate, scope, Group::Misses, self_check::MISSES);
        [gc, log, jit, text, ic]
    }

    /// Has V8 tell its timers, with the flag that this takes in newer versions.
    fn follow_log(&mut self, isolate: *mut c_void, scope: Scope) -> Result<(), String> {
        event_log::follow(isolate)?;
        self.is_logged = true;
        let is_told = || {
            let line = self_check::MISSES;
            self_check::provoke(scope, line, Group::Compilation) > 0
        };
        if is_told() {
            return Ok(());
        }
        let turned_on = timer_flag::turn_on();
        if turned_on.is_ok() && is_told() {
            return Ok(());
        }
        event_log::unfollow(isolate);
        self.is_logged = false;
        turned_on.and(Err("V8 did not tell of a compilation".into()))
    }

    fn swap(&mut self, isolate: *mut c_void, group: Group) -> Result<(), String> {
        let functions = runtime_functions::runtime_functions()?;
        self.swapped
            .push(reference_table::swap(isolate, functions, group)?);
        Ok(())
    }

    /// Swaps a group, and leaves it so if a line has V8 call one of it.
    fn swap_seen(
        &mut self,
        isolate: *mut c_void,
        scope: Scope,
        group: Group,
        line: &str,
    ) -> Result<(), String> {
        self.swap(isolate, group)?;
        if self_check::provoke(scope, line, group) > 0 {
            return Ok(());
        }
        self.unswap_last();
        let what = match group {
            Group::Misses => "an inline-cache miss",
            Group::Compilation => "a compilation",
            Group::FunctionsOfText => "a function made of text",
        };
        Err(format!("V8 did not call what it was given for {what}"))
    }

    fn unswap_last(&mut self) {
        if let Some(swapped) = self.swapped.pop() {
            // SAFETY: during `hook`, on the isolate's thread.
            unsafe { swapped.undo() };
        }
    }

    /// Takes everything out again.
    ///
    /// # Safety
    /// On the thread of the isolate, while it lives.
    pub unsafe fn unhook(self) {
        let isolate = self.isolate as *mut c_void;
        if isolate.is_null() {
            return;
        }
        for swapped in &self.swapped {
            // SAFETY: by the caller.
            unsafe { swapped.undo() };
        }
        if self.is_logged {
            event_log::unfollow(isolate);
        }
        collections::unwatch(isolate);
    }
}

/// Calls of each watched function, by name.
pub fn calls(work: &Work) -> impl Iterator<Item = (&'static str, u32)> {
    let functions = runtime_functions::runtime_functions().unwrap_or_default();
    let names = functions.iter().map(|function| function.name.as_str());
    names.zip(work.calls)
}
