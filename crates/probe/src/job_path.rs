//! Reads the path that a job of Node's own file system keeps in itself.
//!
//! No header tells where it is, so nothing is believed before it was seen: the kernel copies the
//! path of the first jobs of a class, since it refuses an address that is none. Every job of a
//! class has the same fields, so when all of these were paths the later ones are read without
//! asking again, which would cost more than the rest of what is recorded of a job.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::libuv;
use crate::pool_name::PATH_BYTES_MAX;

/// Paths the kernel has to copy before a class is believed to keep one.
const PROOFS: u32 = 64;
/// A class that once kept something else is asked about for good.
const REFUTED: u32 = u32::MAX;
/// Classes with proofs; those beyond are asked about for good.
const CLASSES_MAX: usize = 64;
/// Bytes of the `uv_work_t` and of the pointer to the job's type.
const STRING: usize = 128 + 8;
const LONGEST: usize = libc::PATH_MAX as usize;

/// Paths the kernel copied, by the number of the class.
static PROVEN: [AtomicU32; CLASSES_MAX] = [const { AtomicU32::new(0) }; CLASSES_MAX];

/// Copies the path of a job: a `std::string` (pointer, length, then a short string itself or the
/// capacity) behind the node::ThreadPoolWork. The number of bytes; 0 when there is none.
///
/// # Safety
/// `request` is the `uv_work_t` of a live job of that class, with a `std::string` or as many other
/// bytes behind it.
pub unsafe fn copy(class: usize, request: usize, path: &mut [u8; PATH_BYTES_MAX]) -> usize {
    let proven = PROVEN.get(class);
    // SAFETY: by the caller.
    let copied = unsafe { copy_string(request, path, is_proven(proven)) };
    let length = copied.and_then(|length| text_length(&path[..length]));
    if let Some(proven) = proven {
        let count = proven.load(Relaxed);
        match length {
            Some(_) if count < PROOFS => proven.store(count + 1, Relaxed),
            Some(_) => {}
            None => proven.store(REFUTED, Relaxed),
        }
    }
    length.unwrap_or(0)
}

fn is_proven(proven: Option<&AtomicU32>) -> bool {
    proven.is_some_and(|count| count.load(Relaxed) == PROOFS)
}

/// SAFETY: as `copy`; `believed` only if the class keeps a `std::string` there.
unsafe fn copy_string(
    request: usize,
    path: &mut [u8; PATH_BYTES_MAX],
    believed: bool,
) -> Option<usize> {
    // SAFETY: by the caller.
    let (at, length, capacity) = unsafe {
        (
            libuv::get::<usize>(request, STRING),
            libuv::get::<usize>(request, STRING + 8),
            libuv::get::<usize>(request, STRING + 16),
        )
    };
    let is_short = at == request + STRING + 16;
    let fits = match is_short {
        true => length < 16,
        false => (16..=LONGEST).contains(&capacity) && length <= capacity && at != 0,
    };
    if !fits || length == 0 {
        return None;
    }
    let wanted = length.min(PATH_BYTES_MAX);
    let to = &mut path[..wanted];
    if believed || is_short {
        // SAFETY: a short string lies within the job; that a longer one lies at its pointer was
        // proven for the class.
        unsafe { std::ptr::copy_nonoverlapping(at as *const u8, to.as_mut_ptr(), wanted) };
        return Some(wanted);
    }
    copy_by_kernel(at, to).then_some(wanted)
}

/// False when there is nothing at that address.
fn copy_by_kernel(at: usize, to: &mut [u8]) -> bool {
    let local = libc::iovec {
        iov_base: to.as_mut_ptr().cast(),
        iov_len: to.len(),
    };
    let remote = libc::iovec {
        iov_base: at as *mut libc::c_void,
        iov_len: to.len(),
    };
    // SAFETY: `to` has room for that many bytes.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    copied == to.len() as isize
}

/// Length of the whole characters; `None` when this is no text.
fn text_length(bytes: &[u8]) -> Option<usize> {
    if bytes.contains(&0) {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(_) => Some(bytes.len()),
        // Cut within a character.
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            Some(error.valid_up_to())
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job with a long `std::string` of these bytes where the path is expected.
    fn copied(class: usize, text: &[u8], at: usize) -> Option<Vec<u8>> {
        let mut job = [0_u64; 24];
        let place = STRING / 8;
        job[place] = at as u64;
        job[place + 1] = text.len() as u64;
        job[place + 2] = text.len().max(16) as u64;
        let mut path = [0; PATH_BYTES_MAX];
        // SAFETY: a job of 192 bytes; `at` is readable unless the test wants it refused.
        let length = unsafe { copy(class, job.as_ptr() as usize, &mut path) };
        (length != 0).then(|| path[..length].to_vec())
    }

    #[test]
    fn believes_a_class_after_its_proofs() {
        let text = b"/data/a-path-that-is-not-short";
        for _ in 0..PROOFS {
            assert!(!is_proven(PROVEN.first()));
            assert_eq!(
                copied(0, text, text.as_ptr() as usize).as_deref(),
                Some(&text[..])
            );
        }
        assert!(is_proven(PROVEN.first()));
        assert_eq!(
            copied(0, text, text.as_ptr() as usize).as_deref(),
            Some(&text[..])
        );
    }

    #[test]
    fn never_believes_a_class_that_kept_something_else() {
        let text = b"/data/a-path-that-is-not-short";
        assert_eq!(copied(1, text, 8), None, "no address");
        for _ in 0..PROOFS * 2 {
            copied(1, text, text.as_ptr() as usize);
        }
        assert!(!is_proven(PROVEN.get(1)));
        assert_eq!(copied(1, text, 8), None);
        let bytes = [b'/', 0xff, b'a', 0, b'b'].repeat(8);
        assert_eq!(copied(2, &bytes, bytes.as_ptr() as usize), None, "no text");
        assert!(!is_proven(PROVEN.get(2)));
    }

    #[test]
    fn keeps_whole_characters() {
        assert_eq!(text_length("/päth".as_bytes()), Some(6));
        assert_eq!(text_length(&"/pä".as_bytes()[..3]), Some(2));
        assert_eq!(text_length(b"/p\0"), None);
    }
}
