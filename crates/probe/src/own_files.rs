//! Knows the agent's own JavaScript files, so that no location ever names them.
//!
//! By where the addon itself was loaded from (`<package>/native`), because the package may lie
//! anywhere.

use std::ffi::CStr;
use std::sync::OnceLock;

static FOLDER: OnceLock<Option<Vec<u8>>> = OnceLock::new();

/// The file with this path is part of the agent.
pub fn contains(path: &[u8]) -> bool {
    let folder = FOLDER.get_or_init(|| agent_folder(&addon_path()?));
    folder
        .as_ref()
        .is_some_and(|folder| path.starts_with(folder))
}

/// Path this code was loaded from.
fn addon_path() -> Option<Vec<u8>> {
    // SAFETY: zeros are a valid Dl_info; it is read when dladdr filled it.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: an address of this library, and a valid out pointer.
    let found = unsafe { libc::dladdr(contains as *const libc::c_void, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's C string lives as long as the library.
    Some(
        unsafe { CStr::from_ptr(info.dli_fname) }
            .to_bytes()
            .to_vec(),
    )
}

/// `<package>/native/bobtail-probe.node` → `<package>/dist/agent/`; `None` for another place.
fn agent_folder(addon: &[u8]) -> Option<Vec<u8>> {
    let folder = &addon[..addon.iter().rposition(|&byte| byte == b'/')?];
    let package = folder.strip_suffix(b"/native")?;
    Some([package, b"/dist/agent/"].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_lies_beside_the_addon() {
        assert_eq!(
            agent_folder(b"/app/node_modules/bobtail/native/bobtail-probe.node").as_deref(),
            Some(b"/app/node_modules/bobtail/dist/agent/".as_slice())
        );
        assert_eq!(agent_folder(b"/target/release/libbobtail_probe.so"), None);
        assert_eq!(agent_folder(b"bobtail-probe.node"), None);
    }

    #[test]
    fn knows_where_it_was_loaded_from() {
        let path = addon_path().expect("loaded from a file");
        assert!(path.contains(&b'/'), "{path:?}");
        assert!(!contains(b"/app/server.js"));
    }
}
