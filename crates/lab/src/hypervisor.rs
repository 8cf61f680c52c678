//! A hypervisor below a kernel: Xen, which boots the kernel as dom0, the system that works the machine's devices.

use crate::apt::Apt;
use crate::cache::{Cache, CacheError, Held, Wanted};
use crate::table::Hypervisor;
use crate::{image, package};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

const ELF: &str = "xen";

/// The emulated processor. Xen or its dom0 do not get along with these of its features.
pub(crate) const CPU: &str = "max,-la57,-smap,-smep,-pks,-pku";

/// Where the kernel's console is: Xen has the first serial line, and passes on what dom0 writes. A panic before dom0 has
/// its console is told by the early one.
pub(crate) const CONSOLE: &str = "hvc0 earlyprintk=xen";

/// Xen's own parameters: its console is the first serial line, and it does as little against leaks of processors as the
/// lab's kernels do. It has no claim on the second line, which is dom0's, for the results.
pub(crate) const PARAMETERS: &str = "console=com1 com1=115200,8n1 spec-ctrl=no";

/// How the guest ends. Told to power off, Xen may halt the machine, which nobody would notice; the emulator ends when the
/// machine starts again.
pub(crate) const END: &str = "reboot -f\n";

/// What Xen says when it gives up; the reason is on the next line.
pub(crate) const PANIC: &str = "Panic on CPU";

/// What the emulator hands to Xen: dom0's kernel with its parameters, and its first file system. A file's name ends at a
/// space; commas stand between files, and doubled for themselves.
pub(crate) fn modules(kernel: &OsStr, parameters: &str, initramfs: &str) -> OsString {
    let mut words = kernel.to_owned();
    words.push(" ");
    words.push(parameters.replace(',', ",,"));
    words.push(",");
    words.push(initramfs);
    words
}

fn wanted(hypervisor: &Hypervisor) -> Wanted<'_> {
    Wanted { name: &hypervisor.name, elf: ELF, recorded: Some(&hypervisor.recorded), extract }
}

fn extract(opened: &File, deb: &Path, elf: &Path) -> Result<(), CacheError> {
    Ok(image::extract_whole(&package::hypervisor_of(opened, deb)?, deb, elf)?)
}

impl Cache {
    /// A hypervisor that is already there: the recorded version, or what replaced it.
    #[must_use]
    pub fn held_hypervisor(&self, hypervisor: &Hypervisor) -> Option<Held> {
        self.kept(&wanted(hypervisor))
    }

    /// A hypervisor, fetched if it is not there.
    ///
    /// # Errors
    ///
    /// If it is not to be had, or is not the recorded one, or if the directory is not this user's.
    pub fn hypervisor(&self, hypervisor: &Hypervisor) -> Result<Held, CacheError> {
        let wanted = wanted(hypervisor);
        if let Some(held) = self.kept(&wanted) {
            return Ok(held);
        }
        self.claim()?;
        let apt = Apt::new(&self.directory.join("apt"), &hypervisor.suites)?;
        let versions = apt.versions(&hypervisor.recorded.package)?;
        self.take_first(&apt, &wanted, &versions, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::tests::deb;
    use std::io::{Seek, Write};
    use std::process::Command;

    #[test]
    fn commas_of_parameters_do_not_end_the_kernels_part() {
        let words = modules(OsStr::new("vmlinux"), "console=hvc0 trace_event=sched:a,irq:b", "/proc/self/fd/0");
        assert_eq!(words, "vmlinux console=hvc0 trace_event=sched:a,,irq:b,/proc/self/fd/0");
    }

    #[test]
    fn a_packages_hypervisor_is_taken_and_nothing_else_of_it() {
        let is_missing = |program: &str| Command::new(program).arg("--version").output().is_err();
        if is_missing("dpkg-deb") || is_missing("gzip") {
            return punctual_testing::skip("a hypervisor from a package", "dpkg-deb or gzip is not installed");
        }
        let directory = tempfile::tempdir().unwrap();
        let [plain, elf] = ["plain", "xen"].map(|name| directory.path().join(name));
        std::fs::write(&plain, "\x7fELF of 32 bits").unwrap();
        let packed = Command::new("gzip").arg("-c").arg(&plain).output().unwrap().stdout;
        let opened = |files: &[(&str, &[u8])]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&deb("amd64", files)).and_then(|()| file.rewind()).unwrap();
            file
        };
        let beside = [("./boot/xen-4.17-amd64.efi", &b"MZ"[..]), ("./usr/share/doc/xen/changelog.gz", b"no ELF")];
        let path = Path::new("xen.deb");
        let said = extract(&opened(&beside), path, &elf).unwrap_err().to_string();
        assert!(said.contains("xen.deb: no hypervisor") && said.lines().count() == 1 && !elf.exists(), "{said}");
        let whole = [beside[0], beside[1], ("./boot/xen-4.17-amd64.gz", &packed[..])];
        extract(&opened(&whole), path, &elf).unwrap();
        assert_eq!(std::fs::read(&elf).unwrap(), b"\x7fELF of 32 bits");
    }
}
