//! Addresses of local functions and variables of the node executable, from its symbol table.
//!
//! dlsym does not see them (they are `static` in libuv), so the table is read from the file on
//! disk, once per process. A stripped executable has none: what depends on it is then unavailable.

use std::sync::OnceLock;

use object::elf::{FileHeader64, STT_FILE, STT_OBJECT};
use object::read::elf::{FileHeader, Sym};
use object::{Endianness, SectionIndex};

use crate::job_name::JobClass;

/// What the probe looks for; 0 is "not found".
#[derive(Debug, Default, Clone)]
pub struct Symbols {
    /// `mutex`, `wq`, `slow_io_pending_wq` and `run_slow_work_message` of libuv's threadpool.c.
    pub pool_mutex: usize,
    pub pool_queue: usize,
    pub pool_slow_queue: usize,
    pub pool_slow_message: usize,
    pub pool_exit_message: usize,
    pub fs_done: usize,
    pub getaddrinfo_done: usize,
    pub getnameinfo_done: usize,
    pub queue_done: usize,
    /// `node::Environment::RunTimers` and `CheckImmediate`.
    pub run_timers: usize,
    pub check_immediate: usize,
    /// The function node::ThreadPoolWork gives to `uv_queue_work`.
    pub node_work: usize,
    /// Virtual tables of node::ThreadPoolWork's descendants: from, to, class.
    pub job_tables: Vec<(usize, usize, JobClass)>,
    /// V8's runtime functions that are watched, by name.
    pub runtime_functions: Vec<(String, usize)>,
    /// V8's flags: where, and how many bytes.
    pub v8_flags: (usize, usize),
}

static SYMBOLS: OnceLock<Result<Symbols, String>> = OnceLock::new();

/// The symbols of the running executable.
///
/// # Errors
/// A reason in words when the file cannot be read or has no symbol table.
pub fn symbols() -> Result<&'static Symbols, &'static str> {
    SYMBOLS
        .get_or_init(|| {
            let file = std::fs::File::open("/proc/self/exe")
                .map_err(|error| format!("/proc/self/exe: {error}"))?;
            let mapped = Mapped::new(&file)?;
            let mut symbols = read(mapped.bytes())?;
            symbols.move_by(crate::got::load_bias() as usize);
            Ok(symbols)
        })
        .as_ref()
        .map_err(String::as_str)
}

/// A file mapped read-only: the table is a few of its hundred megabytes.
struct Mapped {
    at: *mut libc::c_void,
    length: usize,
}

impl Mapped {
    fn new(file: &std::fs::File) -> Result<Self, String> {
        use std::os::fd::AsRawFd;
        let length = file.metadata().map_err(|error| error.to_string())?.len() as usize;
        // SAFETY: a fresh private read-only mapping.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ,
                libc::MAP_PRIVATE,
                file.as_raw_fd(),
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(format!("mmap: {}", std::io::Error::last_os_error()));
        }
        Ok(Self { at, length })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for the life of `self`; a running executable is not truncated
        // (the kernel refuses writes to it).
        unsafe { std::slice::from_raw_parts(self.at.cast(), self.length) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`; no borrow of it is left.
        unsafe { libc::munmap(self.at, self.length) };
    }
}

fn read(bytes: &[u8]) -> Result<Symbols, String> {
    let text = |error: object::read::Error| error.to_string();
    let header = FileHeader64::<Endianness>::parse(bytes).map_err(text)?;
    let endian = header.endian().map_err(text)?;
    let sections = header.sections(endian, bytes).map_err(text)?;
    let table = sections
        .symbols(endian, bytes, object::elf::SHT_SYMTAB)
        .map_err(text)?;
    if table.section() == SectionIndex(0) || table.is_empty() {
        return Err("the executable has no symbol table (stripped)".into());
    }
    let mut found = Symbols::default();
    let mut in_pool = false;
    for symbol in table.iter() {
        let Ok(name) = table.symbol_name(endian, symbol) else {
            continue;
        };
        let at = symbol.st_value(endian) as usize;
        if symbol.st_type() == STT_FILE {
            in_pool = name == b"threadpool.c";
        } else if in_pool && symbol.st_type() == STT_OBJECT {
            found.take_pool_variable(name, at);
        } else if name.len() >= 11 {
            found.take(name, at, symbol.st_size(endian) as usize);
        }
    }
    Ok(found)
}

impl Symbols {
    fn take_pool_variable(&mut self, name: &[u8], at: usize) {
        match name {
            b"mutex" => self.pool_mutex = at,
            b"wq" => self.pool_queue = at,
            b"slow_io_pending_wq" => self.pool_slow_queue = at,
            b"run_slow_work_message" => self.pool_slow_message = at,
            b"exit_message" => self.pool_exit_message = at,
            _ => {}
        }
    }

    fn take(&mut self, name: &[u8], at: usize, size: usize) {
        match name {
            b"uv__fs_done" => self.fs_done = at,
            b"uv__getaddrinfo_done" => self.getaddrinfo_done = at,
            b"uv__getnameinfo_done" => self.getnameinfo_done = at,
            b"uv__queue_done" => self.queue_done = at,
            b"_ZN4node11Environment9RunTimersEP10uv_timer_s" => self.run_timers = at,
            b"_ZN4node11Environment14CheckImmediateEP10uv_check_s" => self.check_immediate = at,
            b"_ZN2v88internal8v8_flagsE" => self.v8_flags = (at, size),
            _ if name.starts_with(b"_ZN2v88internal") => {
                if let Some(function) = crate::v8::watched_symbol(name) {
                    self.runtime_functions.push((function.to_owned(), at));
                }
            }
            _ if name.starts_with(b"_ZTV") => self.take_job_table(name, at, size),
            _ => {
                let lambda = b"_ZZN4node14ThreadPoolWork12ScheduleWorkEvENUlP9uv_work_sE";
                if name.starts_with(lambda) {
                    self.node_work = at;
                }
            }
        }
    }

    fn take_job_table(&mut self, name: &[u8], at: usize, size: usize) {
        let Ok(name) = std::str::from_utf8(name) else {
            return;
        };
        if let Some(class) = JobClass::of_table(name) {
            self.job_tables.push((at, at + size, class));
        }
    }

    fn move_by(&mut self, bias: usize) {
        for at in [
            &mut self.pool_mutex,
            &mut self.pool_queue,
            &mut self.pool_slow_queue,
            &mut self.pool_slow_message,
            &mut self.pool_exit_message,
            &mut self.fs_done,
            &mut self.getaddrinfo_done,
            &mut self.getnameinfo_done,
            &mut self.queue_done,
            &mut self.run_timers,
            &mut self.check_immediate,
            &mut self.node_work,
            &mut self.v8_flags.0,
        ] {
            if *at != 0 {
                *at = at.wrapping_add(bias);
            }
        }
        for (_, at) in &mut self.runtime_functions {
            *at = at.wrapping_add(bias);
        }
        for (from, to, _) in &mut self.job_tables {
            *from = from.wrapping_add(bias);
            *to = to.wrapping_add(bias);
        }
    }

    /// The pool's variables were all found.
    pub fn has_pool(&self) -> bool {
        [
            self.pool_mutex,
            self.pool_queue,
            self.pool_slow_queue,
            self.pool_slow_message,
        ]
        .iter()
        .all(|&at| at != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_table_of_this_executable() {
        let bytes = std::fs::read("/proc/self/exe").expect("readable");
        let symbols = read(&bytes).expect("has symbols");
        assert!(!symbols.has_pool(), "this test binary has no libuv");
    }

    #[test]
    fn refuses_what_is_not_an_executable() {
        assert!(read(b"not an executable").is_err());
    }
}
