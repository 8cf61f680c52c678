//! Compiles the plugin that looks at a guest from outside, for this processor's QEMU.

use std::path::PathBuf;

fn main() -> Result<(), String> {
    const SOURCE: &str = "src/outside/plugin.c";
    println!("cargo:rerun-if-changed={SOURCE}");
    let object = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?).join("plugin.so");
    let mut build = cc::Build::new();
    build.opt_level(2).pic(true).std("gnu11").warnings(true).extra_warnings(true);
    let mut command = build.get_compiler().to_command();
    // Without a C library: whatever the plugin needs of one is already loaded where it runs, whichever that is.
    command.args(["-shared", "-nostdlib", "-ffreestanding", "-fvisibility=hidden", SOURCE, "-o"]).arg(&object);
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    status.success().then_some(()).ok_or_else(|| format!("{command:?} failed"))
}
