//! Guests of the lab: whether there can be any, and how those of one test are told from others'.

use super::{json, run};
use std::path::Path;

/// Whether any process is an emulator that was started with this directory for temporary files.
pub(crate) fn has_guest(scratch: &str) -> bool {
    let wanted = format!("TMPDIR={scratch}");
    std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let read = |name: &str| std::fs::read(process.path().join(name)).unwrap_or_default();
        let is_ours = read("environ").split(|byte| *byte == 0).any(|word| word == wanted.as_bytes());
        is_ours && String::from_utf8_lossy(&read("cmdline")).contains("qemu-system")
    })
}

/// A kernel on this machine with everything that guests need, or why there is none. `kernels` fetches it before this
/// runs.
pub(crate) fn kernel(name: &str) -> Result<String, String> {
    for program in ["qemu-system-x86_64", "busybox", "bash", "setpriv"] {
        punctual_lab::userland::find(program).ok_or_else(|| format!("{program} is not installed"))?;
    }
    let list = json(&run(Path::new("/"), &["lab", "kernels", name, "--json"]));
    let here = list["kernels"][0]["is_here"] == true;
    if here {
        Ok(name.to_owned())
    } else {
        Err(format!("kernel {name} is not here (punctual lab kernels {name} --fetch)"))
    }
}
