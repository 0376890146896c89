//! Replaces libc functions that the node executable calls, by writing its global offset table.
//!
//! Not LD_PRELOAD, because the probe must load into a process that already runs; not uprobes,
//! because that needs root. Only the executable's own slots are written: libuv is linked into it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// One function to replace.
pub struct Replacement {
    pub name: &'static CStr,
    pub address: usize,
    /// Takes the address of the replaced function.
    pub original: &'static AtomicUsize,
}

/// What patching found and did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Patched {
    /// Slots written.
    pub slots: usize,
    /// Bit per replacement (in the order given): at least one slot was written.
    pub found: u64,
}

const DT_JMPREL: i64 = 23;
const DT_PLTRELSZ: i64 = 2;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_SYMTAB: i64 = 6;
const DT_STRTAB: i64 = 5;
#[cfg(target_arch = "x86_64")]
const SLOT_TYPES: [u32; 2] = [6, 7]; // R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT
#[cfg(not(target_arch = "x86_64"))]
const SLOT_TYPES: [u32; 0] = []; // Not supported: no slot is written, and `start` is refused.

#[repr(C)]
#[derive(Clone, Copy)]
struct Dynamic {
    tag: i64,
    value: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// The executable as it lies in memory.
#[derive(Default, Clone, Copy)]
struct Image {
    base: u64,
    dynamic: u64,
    relro: (u64, u64),
    /// Lowest and highest address of its segments.
    extent: (u64, u64),
    found: bool,
}

/// Where the running executable was loaded: the difference between file and memory addresses.
pub fn load_bias() -> u64 {
    image().base
}

fn image() -> Image {
    let mut image = Image::default();
    // SAFETY: the callback gets `image` back as its data pointer and does not keep it.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut image).cast()) };
    image
}

/// Called for each loaded object; the executable is the first, and its name is empty.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader gives a valid record; `data` is the `Image` of `image()`.
    let (info, image) = unsafe { (&*info, &mut *data.cast::<Image>()) };
    // SAFETY: the loader's name is a C string or null.
    let named = !info.dlpi_name.is_null() && unsafe { *info.dlpi_name } != 0;
    if named {
        return 0;
    }
    image.base = info.dlpi_addr;
    for index in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: `dlpi_phdr` has `dlpi_phnum` entries.
        let header = unsafe { &*info.dlpi_phdr.add(index) };
        let at = info.dlpi_addr.wrapping_add(header.p_vaddr);
        match header.p_type {
            libc::PT_DYNAMIC => image.dynamic = at,
            libc::PT_LOAD => {
                let low = if image.extent.1 == 0 {
                    at
                } else {
                    image.extent.0.min(at)
                };
                image.extent = (low, image.extent.1.max(at + header.p_memsz));
            }
            libc::PT_GNU_RELRO => image.relro = (at, at + header.p_memsz),
            _ => {}
        }
    }
    image.found = image.dynamic != 0;
    1
}

struct Tables {
    relocations: [(*const Relocation, usize); 2],
    symbols: *const Symbol,
    names: *const c_char,
}

/// SAFETY: `dynamic` is the dynamic section of a loaded object.
unsafe fn tables(dynamic: *const Dynamic) -> Option<Tables> {
    let (mut jump, mut rela) = ((0, 0), (0, 0));
    let (mut symbols, mut names) = (0, 0);
    let mut at = dynamic;
    loop {
        // SAFETY: the section ends with a null tag.
        let entry = unsafe { *at };
        match entry.tag {
            0 => break,
            DT_JMPREL => jump.0 = entry.value,
            DT_PLTRELSZ => jump.1 = entry.value,
            DT_RELA => rela.0 = entry.value,
            DT_RELASZ => rela.1 = entry.value,
            DT_SYMTAB => symbols = entry.value,
            DT_STRTAB => names = entry.value,
            _ => {}
        }
        // SAFETY: not yet at the null tag.
        at = unsafe { at.add(1) };
    }
    let table = |(at, bytes): (u64, u64)| {
        let count = if at == 0 {
            0
        } else {
            bytes as usize / size_of::<Relocation>()
        };
        (at as *const Relocation, count)
    };
    (symbols != 0 && names != 0).then(|| Tables {
        relocations: [table(jump), table(rela)],
        symbols: symbols as *const Symbol,
        names: names as *const c_char,
    })
}

/// Calls `visit(slot, index of the replacement)` for each slot that one of them belongs in.
fn each_slot(
    image: &Image,
    replacements: &[Replacement],
    mut visit: impl FnMut(*mut usize, usize),
) {
    // SAFETY: `dynamic` comes from the loader.
    let Some(tables) = (unsafe { tables(image.dynamic as *const Dynamic) }) else {
        return;
    };
    for (at, count) in tables.relocations {
        for index in 0..count {
            // SAFETY: within the table.
            let relocation = unsafe { *at.add(index) };
            // Data pointers (R_X86_64_64) belong to tables such as SQLite's; they stay.
            if !SLOT_TYPES.contains(&(relocation.info as u32)) {
                continue;
            }
            // SAFETY: the symbol index of a relocation is within the symbol table, and the name
            // within the string table.
            let name = unsafe {
                let symbol = &*tables.symbols.add((relocation.info >> 32) as usize);
                CStr::from_ptr(tables.names.add(symbol.name as usize))
            };
            if let Some(which) = replacements.iter().position(|r| r.name == name) {
                visit(
                    image.base.wrapping_add(relocation.offset) as *mut usize,
                    which,
                );
            }
        }
    }
}

/// Remembers what the slots hold: what the executable would call. A slot that was not bound yet
/// holds an address of the executable itself; libc's own function is taken then.
fn keep_originals(image: &Image, replacements: &[Replacement]) {
    each_slot(image, replacements, |slot, which| {
        // SAFETY: an aligned slot of the table.
        let bound = unsafe { AtomicUsize::from_ptr(slot).load(Ordering::Acquire) };
        let own = (image.extent.0..image.extent.1).contains(&(bound as u64));
        let Replacement {
            original,
            address,
            name,
        } = &replacements[which];
        if original.load(Ordering::Acquire) == 0 && bound != *address {
            let function = if own { of_libc(name) } else { bound };
            original.store(function, Ordering::Release);
        }
    });
}

/// Address of a function in libc itself; 0 when it has none of that name.
fn of_libc(name: &CStr) -> usize {
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: C strings; a library that is loaded stays so.
    unsafe {
        let library = libc::dlopen(c"libc.so.6".as_ptr(), flags);
        if library.is_null() {
            0
        } else {
            libc::dlsym(library, name.as_ptr()) as usize
        }
    }
}

/// Writes the replacements into the executable's slots.
///
/// # Errors
/// A reason in words when the table cannot be found or made writable; nothing is written then.
///
/// # Safety
/// Each replacement has the type of the function it replaces and lives as long as the process.
pub unsafe fn patch(replacements: &[Replacement]) -> Result<Patched, String> {
    let image = image();
    if !image.found {
        return Err("the executable has no dynamic section".into());
    }
    let page = 4095;
    let relro = (image.relro.0 & !page, (image.relro.1 + page) & !page);
    let protect = |protection| {
        if relro.1 <= relro.0 {
            return Ok(());
        }
        let length = (relro.1 - relro.0) as usize;
        // SAFETY: the range is the executable's own read-only-after-relocation segment.
        let result = unsafe { libc::mprotect(relro.0 as *mut c_void, length, protection) };
        if result == 0 {
            Ok(())
        } else {
            Err(format!("mprotect: {}", std::io::Error::last_os_error()))
        }
    };
    protect(libc::PROT_READ | libc::PROT_WRITE)?;
    keep_originals(&image, replacements);
    let mut patched = Patched::default();
    each_slot(&image, replacements, |slot, which| {
        if replacements[which].original.load(Ordering::Acquire) == 0 {
            return;
        }
        // SAFETY: an aligned slot of the table, writable now; other threads read it at any time,
        // so the store is atomic.
        unsafe {
            std::sync::atomic::AtomicUsize::from_ptr(slot).store(
                replacements[which].address,
                std::sync::atomic::Ordering::Release,
            );
        }
        patched.slots += 1;
        patched.found |= 1 << which;
    });
    protect(libc::PROT_READ)?;
    Ok(patched)
}

#[cfg(test)]
mod tests {
    use super::*;

    static GETPPID: AtomicUsize = AtomicUsize::new(0);
    static NONE: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn answer() -> libc::pid_t {
        424_242
    }

    #[test]
    fn replaces_a_function_of_this_executable() {
        let before = std::os::unix::process::parent_id();
        // SAFETY: same type; nothing else in this test binary needs the parent's pid.
        let patched = unsafe {
            patch(&[Replacement {
                name: c"getppid",
                address: answer as *const () as usize,
                original: &GETPPID,
            }])
        };
        let patched = patched.expect("patches");
        assert!(patched.slots >= 1, "{patched:?}");
        assert_eq!(patched.found, 1);
        // SAFETY: no arguments.
        assert_eq!(unsafe { libc::getppid() }, 424_242);
        type Function = unsafe extern "C" fn() -> libc::pid_t;
        // SAFETY: the original of that type.
        let original =
            unsafe { std::mem::transmute::<usize, Function>(GETPPID.load(Ordering::Acquire))() };
        assert_eq!(original as u32, before);
    }

    #[test]
    fn leaves_other_functions_alone() {
        // SAFETY: no such function, so nothing is written.
        let patched = unsafe {
            patch(&[Replacement {
                name: c"no_such_function",
                address: 1,
                original: &NONE,
            }])
        };
        assert_eq!(patched, Ok(Patched { slots: 0, found: 0 }));
    }

    #[test]
    fn finds_functions_of_libc() {
        assert_ne!(of_libc(c"close"), 0);
        assert_eq!(of_libc(c"no_such_function"), 0);
    }
}
