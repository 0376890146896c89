//! Link options of the addon.
//!
//! `nodelete` keeps it loaded when a worker thread that loaded it ends: unloading would leave
//! threads and thread-local destructors of the runtime pointing into unmapped code.

fn main() {
    napi_build::setup();
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // The protocol between a build script and cargo is its standard output.
        #[allow(clippy::print_stdout)]
        {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
    }
}
