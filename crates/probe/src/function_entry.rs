//! Tells whether a function has only just been entered: V8 then gives the place of its parameters
//! as the place where it is.
//!
//! V8's interface does not tell this, so the text there is looked at. Each place is looked at once,
//! since that means copying the script's source.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use crate::napi;
use crate::stack_frames::V8;

/// Longest source looked at, in UTF-16 units: a copy takes less than a millisecond.
const SOURCE_MAX: usize = 2 << 20;
/// Places remembered.
const KNOWN_MAX: usize = 64;

/// A place in a script, and whether it is the begin of a function.
#[derive(Clone, Copy)]
struct Known {
    script: c_int,
    location: u64,
    is_entry: bool,
}

thread_local! {
    static KNOWN: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

/// The topmost frame is at the begin of its function.
///
/// # Safety
/// `frame` is the live topmost frame of this thread's stack trace, in a HandleScope.
pub unsafe fn is_at(v8: &V8, env: *mut c_void, frame: *mut c_void) -> bool {
    // SAFETY: by the caller.
    let (script, location) = unsafe { ((v8.script_id)(frame), (v8.location)(frame)) };
    let same = |known: &&Known| known.script == script && known.location == location;
    if let Some(known) = KNOWN.with_borrow(|known| known.iter().find(same).copied()) {
        return known.is_entry;
    }
    // SAFETY: by the caller; the source is a local handle or none.
    let source = unsafe {
        let source = (v8.script_source)(frame);
        match source.is_null() {
            true => None,
            false => napi::Scope::new(env).and_then(|scope| scope.to_utf16(source, SOURCE_MAX)),
        }
    };
    let (line, column) = (location as u32 as usize, (location >> 32) as usize);
    let is_entry = source.is_some_and(|source| begins_function(&source, line, column));
    KNOWN.with_borrow_mut(|known| {
        if known.len() == KNOWN_MAX {
            known.clear();
        }
        known.push(Known {
            script,
            location,
            is_entry,
        });
    });
    is_entry
}

/// A function's parameters begin at this place, both numbers from 0. A call is at the name of what
/// it calls, or at the parenthesis behind an expression: `)`, `]`.
fn begins_function(source: &[u16], line: usize, column: usize) -> bool {
    let Some(at) = line_start(source, line).and_then(|start| start.checked_add(column)) else {
        return false;
    };
    let (Some(before), Some(rest)) = (source.get(..at), source.get(at..)) else {
        return false;
    };
    let is = |unit: u16, text: &str| text.encode_utf16().any(|one| one == unit);
    let is_space = |unit: u16| is(unit, " \t\r\n");
    match rest.first() {
        Some(&first) if is(first, "(") => {
            let previous = before.iter().rev().find(|unit| !is_space(**unit));
            previous.is_none_or(|&unit| !is(unit, ")]}`"))
        }
        // `x => …`
        Some(_) => {
            let is_name = |unit: u16| {
                is(unit, "_$") || char::from_u32(u32::from(unit)).is_some_and(char::is_alphanumeric)
            };
            let mut behind = rest
                .iter()
                .skip_while(|unit| is_name(**unit))
                .skip_while(|unit| is_space(**unit));
            behind.next().is_some_and(|&unit| is(unit, "="))
                && behind.next().is_some_and(|&unit| is(unit, ">"))
        }
        None => false,
    }
}

/// Where the line begins; lines end as JavaScript's do.
fn line_start(source: &[u16], line: usize) -> Option<usize> {
    let (mut at, mut left) = (0, line);
    while left > 0 {
        let unit = *source.get(at)?;
        at += 1;
        let is_pair = unit == 13 && source.get(at) == Some(&10);
        if matches!(unit, 10 | 13 | 0x2028 | 0x2029) && !is_pair {
            left -= 1;
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the place marked with `|` begins a function.
    fn entry(text: &str) -> bool {
        let at = text.find('|').expect("marked");
        let line = text[..at].matches('\n').count();
        let column = text[..at]
            .rsplit('\n')
            .next()
            .map_or(0, |line| line.encode_utf16().count());
        let source = text.replace('|', "").encode_utf16().collect::<Vec<_>>();
        begins_function(&source, line, column)
    }

    #[test]
    fn parameters_begin_a_function() {
        for text in [
            "function now|() {}",
            "function |(a, b) {}",
            "\n\nclass A {\r\n  method |(a) {}\n}",
            "class A { constructor|() {} }",
            "class A { get b|() { return 1; } }",
            "const a = |(b) => b;",
            "const a = |b => b;",
            "async function a |(b) {}",
            "/* 中文 */\nfunction * a|(b) {}",
            "|() => 1",
        ] {
            assert!(entry(text), "{text}");
        }
    }

    #[test]
    fn calls_and_operands_do_not() {
        for text in [
            "function a() { return |b(); }",
            "a.|b(c)",
            "(0, a.b)|(c)",
            "a[1]|(c)",
            "new |B(c)",
            "a = |b == c",
            "a = |b >= c",
            "while (a < |until) {}",
            "a|",
        ] {
            assert!(!entry(text), "{text}");
        }
        assert!(!begins_function(&[], 3, 1));
    }
}
