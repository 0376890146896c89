//! Says what the probe cannot do on this platform, before anything of the process is touched.

use crate::napi::find_symbol;

/// Replacing libc functions and calling V8 by mangled name rest on the ABI of this one platform.
const IS_BUILT_FOR: bool = cfg!(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    target_pointer_width = "64"
));
/// libuv did file operations by io_uring up to here, where it was asked to.
const LAST_MINOR_WITH_RING_FILES: u32 = 48;

/// The process can be observed.
///
/// # Errors
/// A reason in words when the probe was built for another platform or runs on another libc.
pub fn check() -> Result<(), String> {
    if !IS_BUILT_FOR {
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        return Err(format!(
            "{os} {arch} is not supported: Linux x64 with glibc is"
        ));
    }
    // Loaded into a musl process by a compatibility layer.
    match find_symbol(b"gnu_get_libc_version\0") {
        Some(_) => Ok(()),
        None => Err("the C library is not glibc".into()),
    }
}

/// The thread pool is not used for files.
///
/// # Errors
/// A reason in words when libuv does them by io_uring.
pub fn check_pool() -> Result<(), String> {
    type Version = unsafe extern "C" fn() -> u32;
    let minor = find_symbol(b"uv_version\0").map_or(0, |address| {
        // SAFETY: uv_version of uv.h.
        unsafe { std::mem::transmute::<usize, Version>(address)() >> 8 & 0xff }
    });
    let asked = std::env::var("UV_USE_IO_URING").unwrap_or_default();
    match minor <= LAST_MINOR_WITH_RING_FILES && is_positive(&asked) && has_io_uring() {
        true => Err("UV_USE_IO_URING: file operations bypass the thread pool".into()),
        false => Ok(()),
    }
}

/// As C's `atoi` reads it.
fn is_positive(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix('+').unwrap_or(text);
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.into_iter().any(|digit| digit != b'0')
}

/// The kernel has io_uring and allows it: it then complains of the missing parameters instead.
fn has_io_uring() -> bool {
    let none: *mut libc::c_void = std::ptr::null_mut();
    // SAFETY: the kernel refuses the null pointer.
    let result = unsafe { libc::syscall(libc::SYS_io_uring_setup, 0, none) };
    let error = std::io::Error::last_os_error().raw_os_error();
    result >= 0 || !matches!(error, Some(libc::ENOSYS | libc::EPERM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_platform_is_supported() {
        assert_eq!(check(), Ok(()));
    }

    #[test]
    fn reads_numbers_as_libuv_does() {
        for text in ["1", " 2", "+1", "010", "1x"] {
            assert!(is_positive(text), "{text}");
        }
        for text in ["", "0", "-1", "x1", "00"] {
            assert!(!is_positive(text), "{text}");
        }
    }
}
