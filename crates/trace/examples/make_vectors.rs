//! Writes the golden vectors and their expected texts to `spec/vectors/v1`.
//!
//! `cargo run -p bobtail-trace --example make_vectors`

use std::error::Error;
use std::fs;
use std::path::Path;

use bobtail_trace::OnDamage;

#[path = "../tests/support/vectors.rs"]
mod vectors;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/v1");
    fs::create_dir_all(&folder)?;
    for (name, bytes) in vectors::vectors()? {
        fs::write(folder.join(format!("{name}.trace")), &bytes)?;
        let strict = vectors::text(&bytes, OnDamage::Fail);
        let lenient = vectors::text(&bytes, OnDamage::Skip);
        fs::write(folder.join(format!("{name}.txt")), &strict)?;
        if lenient != strict {
            fs::write(folder.join(format!("{name}.lenient.txt")), &lenient)?;
        }
    }
    Ok(())
}
