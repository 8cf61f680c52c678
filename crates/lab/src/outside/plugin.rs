//! The plugin as QEMU receives it: files without a name, so that nothing is left of them however this program ends.

use super::trace::{MAX_RECORDS, Trace};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plugin.so"));

/// What is used to watch a guest.
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
        // In memory: the place for temporary files may forbid running programs. Both are inherited, also by any program
        // that happens to be started at this moment, where they do nothing.
        let object = memfd_create("plugin", MemfdFlags::empty())?;
        File::from(object.try_clone()?).write_all(OBJECT)?;
        let trace = tempfile::tempfile()?;
        let out = rustix::io::dup(&trace)?;
        Ok(Plugin { object, out, trace, window })
    }

    /// What follows `-plugin`.
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
