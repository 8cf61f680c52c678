//! Links BPF objects, in memory: nothing is written to a disk.

use crate::{Refused, bpf_words};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;

/// One object of several: what one calls and does not have, another has. Read-only data stand in the order of the objects.
///
/// # Errors
/// Where they do not fit one another, and what the operating system refused.
pub fn link(objects: &[&[u8]]) -> Result<Vec<u8>, Refused> {
    let doing = "linking BPF programs";
    let memory = rustix::fs::memfd_create("punctual-linked", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|error| Refused::because(doing, error.to_string()))?;
    let mut memory = File::from(memory);
    bpf_words::begin();
    let linked = libbpf_rs::Linker::new(format!("/proc/self/fd/{}", memory.as_raw_fd())).and_then(|mut linker| {
        objects.iter().try_for_each(|object| linker.add_buf(object))?;
        linker.link()
    });
    linked.map_err(|_| Refused::because(doing, "they do not fit one another (-v shows the library's words)"))?;
    let mut object = Vec::new();
    memory.read_to_end(&mut object).map_err(|error| Refused::because(doing, crate::plain(&error)))?;
    Ok(object)
}
