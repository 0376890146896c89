//! Knows what the process's memory may be used for, before the probe looks at V8's or writes it.
//!
//! The kernel's own list, because V8 and the allocator tell nobody where their memory ends.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// A mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    pub range: Range<usize>,
    pub is_readable: bool,
    pub is_writable: bool,
    pub is_executable: bool,
    pub path: String,
}

/// All mappings, by address.
///
/// # Errors
/// A reason in words when the kernel does not tell.
pub fn regions() -> Result<Vec<Region>, String> {
    let text = std::fs::read_to_string("/proc/self/maps")
        .map_err(|error| format!("/proc/self/maps: {error}"))?;
    Ok(text.lines().filter_map(parse).collect())
}

fn parse(line: &str) -> Option<Region> {
    // Address, rights, offset, device and inode; what follows is the path, with its spaces.
    let mut fields = line.splitn(6, ' ');
    let (from, to) = fields.next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let rights = fields.next()?.as_bytes();
    let [read, write, execute, ..] = rights else {
        return None;
    };
    Some(Region {
        range: address(from)?..address(to)?,
        is_readable: *read == b'r',
        is_writable: *write == b'w',
        is_executable: *execute == b'x',
        path: fields.nth(3).unwrap_or_default().trim_start().to_owned(),
    })
}

/// Copies up to `count` words from `at` on; fewer where the memory ends. Asks the kernel instead
/// of reading, because another thread may give back the memory behind an allocation at any time.
///
/// # Errors
/// A reason in words when the kernel refuses.
pub fn words(at: usize, count: usize) -> Result<Vec<usize>, String> {
    let text = |error: std::io::Error| format!("/proc/self/mem: {error}");
    let mut bytes = vec![0; count * size_of::<usize>()];
    let file = File::open("/proc/self/mem").map_err(text)?;
    let length = file.read_at(&mut bytes, at as u64).map_err(text)?;
    let words = bytes[..length].chunks_exact(size_of::<usize>());
    Ok(words
        .map(|word| usize::from_ne_bytes(word.try_into().unwrap_or_default()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_this_code_and_this_stack() {
        let regions = regions().expect("the kernel tells");
        let region = |address: usize| {
            let found = regions
                .iter()
                .find(|region| region.range.contains(&address));
            found.expect("mapped").clone()
        };
        assert!(region(regions_address()).is_executable);
        let local = 1;
        assert!(region(&raw const local as usize).is_writable);
    }

    #[test]
    fn a_path_may_have_spaces() {
        let path = |line| parse(line).expect("a mapping").path;
        let mapped = "00400000-00fbc000 r-xp 00001000 fe:00 1234                       /a b/no  de";
        assert_eq!(path(mapped), "/a b/no  de");
        assert_eq!(path("7ffe0000-7fff0000 rw-p 00000000 00:00 0 "), "");
        assert_eq!(path("7ffe0000-7fff0000 rw-p 00000000 00:00 0"), "");
    }

    fn regions_address() -> usize {
        regions as *const () as usize
    }

    #[test]
    fn reads_words_and_refuses_what_is_not_mapped() {
        let known = [11_usize, 22, 33];
        assert_eq!(words(known.as_ptr() as usize, 3), Ok(known.to_vec()));
        assert!(words(8, 1).is_err());
    }
}
