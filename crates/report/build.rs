//! Takes in the script of the pages, if the set-up could bundle it: `page/dist/page.js`, made by `npm run build`.
//!
//! Without it the crate still builds, and a page that needs it says how to get it.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

fn main() {
    // The directories, not the file: a missing file would make every build start over.
    println!("cargo::rerun-if-changed=page/dist");
    println!("cargo::rerun-if-changed=page/src");
    let page = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("page");
    let bundled = page.join("dist/page.js");
    if is_older_than_its_sources(&bundled, &page.join("src")) {
        // Pictures that it does not know yet would be missing from pages.
        println!("cargo::warning=the script of the pages is older than its sources: run scripts/setup and build again");
    }
    let script = std::fs::read(bundled).unwrap_or_default();
    let target = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("page.js");
    std::fs::write(target, script).expect("the build directory can be written");
}

fn is_older_than_its_sources(bundled: &Path, sources: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    let newest = |directory: &Path| -> Option<SystemTime> {
        directory.read_dir().ok()?.flatten().filter_map(|entry| changed(&entry.path())).max()
    };
    changed(bundled).zip(newest(sources)).is_some_and(|(bundled, newest)| bundled < newest)
}
