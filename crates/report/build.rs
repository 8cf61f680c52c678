//! Takes in the script of the pages, if the set-up could bundle it: `page/dist/page.js`, made by `npm run build`.
//!
//! Without it the crate still builds, and a page that needs it says how to get it.

use std::path::PathBuf;

fn main() {
    // The directory, not the file: a missing file would make every build start over.
    println!("cargo::rerun-if-changed=page/dist");
    let bundled =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("page/dist/page.js");
    let script = std::fs::read(bundled).unwrap_or_default();
    let target = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("page.js");
    std::fs::write(target, script).expect("the build directory can be written");
}
