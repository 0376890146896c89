//! Where V8's watched functions lie: the C++ side of what generated code cannot do itself.
//!
//! From the symbol table of the executable, which dlsym does not see since Node 24. A stripped
//! executable has none; then from `Runtime::kIntrinsicFunctions`, V8's own table of them, which is
//! recognized by its numbering: the entries of 32 bytes count 0, 1, 2 …. Builtins are not in it.

use std::ffi::CStr;
use std::sync::OnceLock;

use super::memory_map::{self, Region};
use super::names::{Group, group_of};
use crate::symbols::symbols;

/// A function that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeFunction {
    /// Without `Runtime_` or `Builtin_`.
    pub name: String,
    pub address: usize,
    pub group: Group,
}

/// V8's entry: number, type (0 function, 1 inline), name, address, two counts.
#[repr(C)]
#[derive(Clone, Copy)]
struct Intrinsic {
    number: u32,
    kind: u32,
    name: usize,
    entry: usize,
    counts: u64,
}

/// V8 has always had more; a shorter run of numbers is something else.
const INTRINSICS_MIN: usize = 300;

/// The watched functions by address, looked up once per process.
///
/// # Errors
/// A reason in words when neither table tells.
pub fn runtime_functions() -> Result<&'static [RuntimeFunction], String> {
    static FUNCTIONS: OnceLock<Result<Vec<RuntimeFunction>, String>> = OnceLock::new();
    FUNCTIONS
        .get_or_init(|| {
            let mut functions = from_symbols();
            if functions.is_empty() {
                functions = from_intrinsics(&memory_map::regions()?);
            }
            functions.sort_by_key(|function| function.address);
            functions.dedup_by_key(|function| function.address);
            match functions.is_empty() {
                true => Err("V8's runtime functions were not found".into()),
                false => Ok(functions),
            }
        })
        .as_ref()
        .map(Vec::as_slice)
        .map_err(String::clone)
}

fn named(name: &str, address: usize) -> Option<RuntimeFunction> {
    let group = group_of(name)?;
    Some(RuntimeFunction {
        name: name.to_owned(),
        address,
        group,
    })
}

fn from_symbols() -> Vec<RuntimeFunction> {
    let Ok(symbols) = symbols() else {
        return Vec::new();
    };
    let found = symbols.runtime_functions.iter();
    found.filter_map(|(name, at)| named(name, *at)).collect()
}

/// Reads V8's own table out of the executable's data.
fn from_intrinsics(regions: &[Region]) -> Vec<RuntimeFunction> {
    let Some(own) = std::fs::read_link("/proc/self/exe")
        .ok()
        .and_then(|path| path.to_str().map(str::to_owned))
    else {
        return Vec::new();
    };
    let own: Vec<&Region> = regions
        .iter()
        .filter(|region| region.is_readable && region.path == own)
        .collect();
    for region in &own {
        if let Some(table) = find_intrinsics(region) {
            return read_intrinsics(table, &own);
        }
    }
    Vec::new()
}

/// The longest run of entries is V8's.
fn find_intrinsics(region: &Region) -> Option<&'static [Intrinsic]> {
    let count = region.range.len() / size_of::<u64>();
    // SAFETY: a readable mapping of the executable, which stays; data that other threads write is
    // not in the runs that are taken: V8's table is constant.
    let words = unsafe { std::slice::from_raw_parts(region.range.start as *const u64, count) };
    let step = size_of::<Intrinsic>() / size_of::<u64>();
    for at in 0..count.saturating_sub(step * INTRINSICS_MIN) {
        let number = |index: usize| {
            words
                .get(at + index * step)
                .map(|word| *word as u32 as usize)
        };
        if (0..3).any(|index| number(index) != Some(index)) {
            continue;
        }
        let length = (0..)
            .take_while(|&index| number(index) == Some(index))
            .count();
        if length >= INTRINSICS_MIN {
            let length = length.min((count - at) / step);
            // SAFETY: `length` entries of this size lie within the mapping; any bits are valid.
            let table = unsafe {
                std::slice::from_raw_parts(words.as_ptr().add(at).cast::<Intrinsic>(), length)
            };
            return Some(table);
        }
    }
    None
}

fn read_intrinsics(table: &[Intrinsic], own: &[&Region]) -> Vec<RuntimeFunction> {
    let region_of = |address: usize| own.iter().find(|region| region.range.contains(&address));
    let read = |entry: &Intrinsic| {
        let _ = entry.counts;
        let name = region_of(entry.name).filter(|_| entry.kind == 0)?;
        region_of(entry.entry).filter(|region| region.is_executable)?;
        let left = (name.range.end - entry.name).min(128);
        // SAFETY: within a readable mapping of the executable.
        let bytes = unsafe { std::slice::from_raw_parts(entry.name as *const u8, left) };
        let name = CStr::from_bytes_until_nul(bytes).ok()?.to_str().ok()?;
        named(name, entry.entry)
    };
    table.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region_of<T>(words: &[T], path: &str) -> Region {
        let range = words.as_ptr_range();
        Region {
            range: range.start as usize..range.end as usize,
            is_readable: true,
            is_writable: false,
            is_executable: true,
            path: path.into(),
        }
    }

    #[test]
    fn reads_v8s_own_table() {
        let name = |number: usize| match number {
            7 => c"LoadIC_Miss",
            8 => c"CompileLazy",
            _ => c"Other",
        };
        let mut words = vec![0_u64; 5];
        for number in 0..400 {
            // The name's own address stands for that of the function.
            let text = name(number).as_ptr() as u64;
            words.extend([number as u64, text, text, 0]);
        }
        let table = find_intrinsics(&region_of(&words, "")).expect("found");
        assert_eq!(table.len(), 400);
        let names = region_of(name(7).to_bytes_with_nul(), "");
        let functions = read_intrinsics(table, &[&names]);
        let [miss] = functions.as_slice() else {
            panic!("{functions:?}");
        };
        assert_eq!(
            (miss.name.as_str(), miss.group),
            ("LoadIC_Miss", Group::Misses)
        );
    }

    #[test]
    fn refuses_a_short_run() {
        let words: Vec<u64> = (0..100).flat_map(|number| [number, 1, 1, 0]).collect();
        assert!(find_intrinsics(&region_of(&words, "")).is_none());
    }
}
