//! Finds the words of an isolate by which generated code reaches C++, and swaps them.
//!
//! Generated code calls C++ through the isolate's external reference table. Where that lies in an
//! isolate changes with every version, so the words are recognized by what they hold, and only
//! where their neighbours hold addresses of code too: the same address elsewhere in an isolate
//! (Node 26 keeps the function that runs) is not the table.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::memory_map;
use super::names::Group;
use super::runtime_functions::RuntimeFunction;
use super::wrappers;

/// The table lies in the first part of an isolate, before what is only a few words each.
const LOOKED_AT_BYTES: usize = 64 << 10;

/// A word of the table, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    at: usize,
    /// Number of the function.
    index: usize,
}

/// Words that were swapped; put back by `undo`.
#[derive(Default)]
pub struct Swapped(Vec<(usize, usize, usize)>);

/// Swaps the words of all functions of a group.
///
/// # Errors
/// A reason in words when one is not there, or there twice; nothing is swapped then.
pub fn swap(
    isolate: *mut c_void,
    functions: &[RuntimeFunction],
    group: Group,
) -> Result<Swapped, String> {
    let regions = memory_map::regions()?;
    // A neighbour may be swapped already: this library's code is code, too.
    let own = swap as *const () as usize;
    let known = functions.iter().map(|function| function.address);
    let mut texts: Vec<Range<usize>> = Vec::new();
    for address in known.chain([own]) {
        let mut found = regions.iter();
        let region = found.find(|region| region.range.contains(&address) && region.is_executable);
        if let Some(region) = region.filter(|region| !texts.contains(&region.range)) {
            texts.push(region.range.clone());
        }
    }
    let at = isolate as usize;
    let words = memory_map::words(at, LOOKED_AT_BYTES / size_of::<usize>())?;
    let slots = find(&words, at, functions, group, &texts)?;
    let mut swapped = Vec::with_capacity(slots.len());
    for slot in slots {
        let mut found = regions.iter();
        if !found.any(|region| region.range.contains(&slot.at) && region.is_writable) {
            return Err("the isolate is not writable".into());
        }
        let function = &functions[slot.index];
        let wrapper = wrappers::address_of(slot.index, function)
            .ok_or_else(|| format!("{} functions are too many", functions.len()))?;
        swapped.push((slot.at, function.address, wrapper));
    }
    let swapped = Swapped(swapped);
    swapped.each(|word, original, wrapper| {
        // Another value than the one found belongs to somebody else.
        let _ = word.compare_exchange(original, wrapper, Relaxed, Relaxed);
    });
    Ok(swapped)
}

impl Swapped {
    /// Puts back what the words held, where they still hold what was put there.
    ///
    /// # Safety
    /// On the isolate's thread, while the isolate lives.
    pub unsafe fn undo(&self) {
        self.each(|word, original, wrapper| {
            let _ = word.compare_exchange(wrapper, original, Relaxed, Relaxed);
        });
    }

    fn each(&self, change: impl Fn(&AtomicUsize, usize, usize)) {
        for &(at, original, wrapper) in &self.0 {
            // SAFETY: an aligned word of an isolate that lives (`swap` and `undo` are called on
            // its thread), in writable memory.
            change(
                unsafe { AtomicUsize::from_ptr(at as *mut usize) },
                original,
                wrapper,
            );
        }
    }
}

/// The word of each function of a group, each exactly once.
fn find(
    words: &[usize],
    from: usize,
    functions: &[RuntimeFunction],
    group: Group,
    texts: &[Range<usize>],
) -> Result<Vec<Slot>, String> {
    let is_text = |word: usize| texts.iter().any(|text| text.contains(&word));
    let mut slots = Vec::new();
    for (before, window) in words.windows(3).enumerate() {
        let &[left, word, right] = window else {
            continue;
        };
        let Ok(index) = functions.binary_search_by_key(&word, |function| function.address) else {
            continue;
        };
        if functions[index].group == group && is_text(left) && is_text(right) {
            let at = from + (before + 1) * size_of::<usize>();
            slots.push(Slot { at, index });
        }
    }
    let of_group = |index: &usize| functions[*index].group == group;
    let wanted = (0..functions.len()).filter(of_group);
    let count = wanted.clone().count();
    for index in wanted {
        let times = slots.iter().filter(|slot| slot.index == index).count();
        if times != 1 {
            let (name, prefix) = (&functions[index].name, group.prefix());
            let found = slots.len();
            return Err(format!(
                "V8's reference table has {prefix}{name} {times} times ({found} of {count} found)"
            ));
        }
    }
    match count {
        0 => Err("V8's functions of this kind were not found".into()),
        _ => Ok(slots),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: Range<usize> = 1000..2000;

    fn functions() -> Vec<RuntimeFunction> {
        let function = |name: &str, address, group| RuntimeFunction {
            name: name.into(),
            address,
            group,
        };
        vec![
            function("CompileLazy", 1100, Group::Compilation),
            function("LoadIC_Miss", 1200, Group::Misses),
            function("StoreIC_Miss", 1300, Group::Misses),
        ]
    }

    fn find_misses(words: &[usize]) -> Result<Vec<Slot>, String> {
        find(words, 8000, &functions(), Group::Misses, &[TEXT])
    }

    #[test]
    fn finds_words_between_words_of_code() {
        // The first 1200 is not in a table.
        let words = [5, 1200, 7, 1001, 1200, 1300, 1100, 1002, 9];
        let slots = find_misses(&words).expect("all found");
        let expected = [Slot { at: 8032, index: 1 }, Slot { at: 8040, index: 2 }];
        assert_eq!(slots, expected);
    }

    #[test]
    fn refuses_a_missing_and_a_second_word() {
        let missing = find_misses(&[1001, 1200, 1002]).expect_err("one is missing");
        assert!(
            missing.contains("StoreIC_Miss 0 times (1 of 2 found)"),
            "{missing}"
        );
        let twice = find_misses(&[1001, 1200, 1300, 1200, 1002]).expect_err("one is there twice");
        assert!(twice.contains("LoadIC_Miss 2 times"), "{twice}");
        assert!(find(&[], 0, &[], Group::Misses, &[TEXT]).is_err());
    }

    #[test]
    fn puts_back_only_its_own() {
        let words = [AtomicUsize::new(10), AtomicUsize::new(77)];
        let at = |index: usize| &raw const words[index] as usize;
        let swapped = Swapped(vec![(at(0), 1, 10), (at(1), 2, 20)]);
        // SAFETY: words of this test.
        unsafe { swapped.undo() };
        assert_eq!(words[0].load(Relaxed), 1);
        assert_eq!(words[1].load(Relaxed), 77);
    }
}
