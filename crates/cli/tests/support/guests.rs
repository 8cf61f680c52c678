//! Guests of the lab: whether there can be any, and how those of one test are told from others'.

use super::{json, punctual, run};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Where a guest of [`beside_emulator`] has its temporary files.
pub(crate) const SCRATCH: &str = "scratch-of-this-test";

/// A program that no guest can do without, whatever its emulator.
pub(crate) fn missing() -> Option<String> {
    let is_missing = |program: &&str| punctual_lab::userland::find(program).is_none();
    let missing = ["busybox", "bash", "setpriv"].into_iter().find(is_missing);
    missing.map(|program| format!("{program} is not installed"))
}

/// Puts this script in the place of the emulator. Whatever the kernel: any ELF file is one, until it is booted.
pub(crate) fn put_emulator(directory: &Path, emulator: &str) {
    for place in ["programs", SCRATCH] {
        std::fs::create_dir(directory.join(place)).unwrap();
    }
    std::fs::write(directory.join("vmlinux"), "\x7fELF").unwrap();
    let path = directory.join("programs/qemu-system-x86_64");
    std::fs::write(&path, format!("#!/bin/sh\n{emulator}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Puts there what a guest that ended well leaves, for an emulator that hands it out: what it printed and what its kernel logged.
/// Returns the folder, to which more may be added.
pub(crate) fn put_left(directory: &Path, output: &str, kernel_log: &str) -> PathBuf {
    let left = directory.join("left");
    std::fs::create_dir_all(&left).unwrap();
    for (name, text) in [(".code", "0\n"), (".output", output), (".kernel-log", kernel_log)] {
        std::fs::write(left.join(name), text).unwrap();
    }
    left
}

/// The program, for which the emulator is what was put there.
pub(crate) fn beside_emulator(directory: &Path) -> Command {
    let mut command = punctual();
    command.current_dir(directory).env("TMPDIR", directory.join(SCRATCH));
    command.env("PUNCTUAL_KERNELS", directory.join("kernels"));
    let programs = directory.join("programs");
    command.env("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()));
    command
}
