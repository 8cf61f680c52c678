//! The plugin as QEMU is handed it: files without a name, so that nothing is left of it whatever ends this program.

use super::trace::{MAX_RECORDS, Trace};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plugin.so"));

/// What a guest is looked at with.
#[derive(Debug)]
pub struct Plugin {
    object: OwnedFd,
    // What the emulator inherits, and the same for this program.
    out: OwnedFd,
    trace: File,
    window: Option<Range<u64>>,
}

impl Plugin {
    /// One that writes down each reading of the clock, and every block within a window of instructions.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn new(window: Option<Range<u64>>) -> io::Result<Plugin> {
        // In memory: where temporary files are, programs may not be run. Both are inherited, by any program that happens to be started
        // just now as well, where they do nothing.
        let object = memfd_create("plugin", MemfdFlags::empty())?;
        File::from(object.try_clone()?).write_all(OBJECT)?;
        let trace = tempfile::tempfile()?;
        let out = rustix::io::dup(&trace)?;
        Ok(Plugin { object, out, trace, window })
    }

    /// What stands after `-plugin`.
    #[must_use]
    pub fn words(&self) -> String {
        let Range { start, end } = self.window.clone().unwrap_or(0..0);
        let (object, out) = (self.object.as_raw_fd(), self.out.as_raw_fd());
        format!("/proc/self/fd/{object},out={out},max={MAX_RECORDS},from={start},to={end}")
    }

    /// What it wrote, once the guest has ended.
    #[must_use]
    pub fn into_trace(self) -> Trace {
        Trace::new(self.trace)
    }
}
