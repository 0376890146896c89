//! Turns on the events of V8's timers, which Node 22 and later only tell with a flag.
//!
//! The flag cannot simply be set: V8 mixes all flags into the tag of its code caches, and Node's
//! own would be refused (start-up takes three times as long). So it is set to see which byte of
//! V8's flags it is, unset again, the tag is computed and kept by V8, and only then the byte is
//! written. Nothing of it can be undone half: if the tag is not what it was, the byte goes back.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::memory_map;
use crate::napi::find_symbol;
use crate::symbols::symbols;

const ON: &str = "--log-timer-events";
const OFF: &str = "--no-log-timer-events";
/// V8 keeps its flags in one page.
const FLAGS_BYTES_MAX: usize = 1 << 16;

type SetFlags = unsafe extern "C" fn(*const u8, usize);
type Tag = unsafe extern "C" fn() -> u32;

/// Turns the events on for the process, once.
///
/// # Errors
/// A reason in words; V8 is then as it was.
pub fn turn_on() -> Result<(), String> {
    static TURNED_ON: OnceLock<Result<(), String>> = OnceLock::new();
    TURNED_ON.get_or_init(|| Flags::find()?.turn_on()).clone()
}

/// V8's flags, and the functions around them.
struct Flags {
    at: usize,
    bytes: usize,
    set: SetFlags,
    tag: Tag,
}

impl Flags {
    fn find() -> Result<Self, String> {
        let (at, bytes) = symbols().map_err(str::to_owned)?.v8_flags;
        if at == 0 || !(1..=FLAGS_BYTES_MAX).contains(&bytes) {
            return Err("V8's flags were not found".into());
        }
        let set = find_symbol(b"_ZN2v82V818SetFlagsFromStringEPKcm\0");
        let tag = find_symbol(b"_ZN2v814ScriptCompiler20CachedDataVersionTagEv\0");
        let (Some(set), Some(tag)) = (set, tag) else {
            return Err("V8 does not export its flags or the tag of its code cache".into());
        };
        // SAFETY: the signatures of v8-initialization.h and v8-script.h.
        unsafe {
            Ok(Self {
                at,
                bytes,
                set: std::mem::transmute::<usize, SetFlags>(set),
                tag: std::mem::transmute::<usize, Tag>(tag),
            })
        }
    }

    fn byte(&self, offset: usize) -> &AtomicU8 {
        // SAFETY: within V8's flags (`find`), which live as long as the process.
        unsafe { AtomicU8::from_ptr((self.at + offset) as *mut u8) }
    }

    fn copy(&self) -> Vec<u8> {
        (0..self.bytes)
            .map(|offset| self.byte(offset).load(Relaxed))
            .collect()
    }

    fn set(&self, flag: &str) {
        // SAFETY: a string and its length.
        unsafe { (self.set)(flag.as_ptr(), flag.len()) };
    }

    fn tag(&self) -> u32 {
        // SAFETY: takes nothing and only reads flags.
        unsafe { (self.tag)() }
    }

    /// With `--freeze-flags-after-init` V8 makes its flags read-only, and ends the process of
    /// whoever sets one.
    fn are_frozen(&self) -> Result<bool, String> {
        let ends = [self.at, self.at + self.bytes - 1];
        let regions = memory_map::regions()?;
        let is_writable = |at: &usize| {
            regions
                .iter()
                .any(|region| region.is_writable && region.range.contains(at))
        };
        Ok(!ends.iter().all(is_writable))
    }

    fn turn_on(&self) -> Result<(), String> {
        if self.are_frozen()? {
            return Err("V8's flags are frozen (--freeze-flags-after-init)".into());
        }
        let tag = self.tag();
        let before = self.copy();
        self.set(ON);
        let during = self.copy();
        self.set(OFF);
        let after = self.copy();
        if before == during {
            // Somebody set it already: it stays as it is.
            self.set(ON);
            return Ok(());
        }
        if before != after {
            return Err("V8's flags do not go back to what they were".into());
        }
        let turned_on = changes(&before, &during)
            .ok_or("setting V8's timer flag changes more than flags that were off")?;
        // V8 keeps the tag until a flag is set by its name.
        if self.tag() != tag {
            return Err("the tag of V8's code cache does not go back to what it was".into());
        }
        self.write(&turned_on, 1);
        if self.tag() != tag {
            self.write(&turned_on, 0);
            return Err("the timer flag changes the tag of V8's code cache".into());
        }
        Ok(())
    }

    fn write(&self, offsets: &[usize], value: u8) {
        for &offset in offsets {
            self.byte(offset).store(value, Relaxed);
        }
    }
}

/// Where a flag went from off to on; `None` when anything else changed, too, or nothing.
fn changes(before: &[u8], during: &[u8]) -> Option<Vec<usize>> {
    let differs = |&offset: &usize| before[offset] != during[offset];
    let offsets: Vec<usize> = (0..before.len()).filter(differs).collect();
    let is_switch = |&offset: &usize| before[offset] == 0 && during[offset] == 1;
    // The flag itself, and one that it implies.
    let is_plausible = (1..=2).contains(&offsets.len()) && offsets.iter().all(is_switch);
    is_plausible.then_some(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_which_flag_was_set() {
        assert_eq!(changes(&[0, 1, 0], &[0, 1, 1]), Some(vec![2]));
        assert_eq!(changes(&[0, 1, 0], &[0, 1, 0]), None);
        assert_eq!(changes(&[0, 1, 7], &[0, 1, 8]), None);
        assert_eq!(changes(&[0; 4], &[1, 1, 1, 0]), None);
    }
}
