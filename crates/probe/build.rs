//! Links the addon so that it is never unloaded: patched slots and swapped callbacks point into it
//! for the rest of the process, also after the worker that loaded it is gone.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
