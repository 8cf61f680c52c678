//! Links BPF objects, in memory: nothing is written to a disk.

use crate::{Refused, bpf_words};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// Makes one object of several: what one calls but lacks, another has. Read-only data are in the order of the objects.
///
/// # Errors
/// If they do not fit together, and what the operating system refused.
pub fn link(objects: &[&[u8]]) -> Result<Vec<u8>, Refused> {
    let doing = "linking BPF programs";
    let memory = rustix::fs::memfd_create("punctual-linked", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|error| Refused::because(doing, error.to_string()))?;
    let mut memory = File::from(memory);
    bpf_words::begin();
    let linked = Linker::new(&memory)
        .is_some_and(|mut linker| objects.iter().all(|object| linker.add(object)) && linker.finish());
    if !linked {
        return Err(Refused::because(doing, "they do not match each other (-v shows the library's message)"));
    }
    let mut object = Vec::new();
    memory.read_to_end(&mut object).map_err(|error| Refused::because(doing, crate::plain(&error)))?;
    Ok(object)
}

/// The library's linker. The library's wrapper takes its negative codes for error numbers, which have to be positive, and panics.
struct Linker(NonNull<libbpf_sys::bpf_linker>);

impl Linker {
    fn new(memory: &File) -> Option<Linker> {
        let path = std::ffi::CString::new(format!("/proc/self/fd/{}", memory.as_raw_fd())).ok()?;
        // SAFETY: the name ends with 0 and lives through the call; there are no options.
        NonNull::new(unsafe { libbpf_sys::bpf_linker__new(path.as_ptr(), std::ptr::null_mut()) }).map(Linker)
    }

    fn add(&mut self, object: &[u8]) -> bool {
        let (start, length) = (object.as_ptr().cast_mut().cast(), object.len() as libbpf_sys::size_t);
        // SAFETY: the linker exists; the bytes live through the call, which copies them and writes nothing there.
        unsafe { libbpf_sys::bpf_linker__add_buf(self.0.as_ptr(), start, length, std::ptr::null()) == 0 }
    }

    fn finish(&mut self) -> bool {
        // SAFETY: the linker is there.
        unsafe { libbpf_sys::bpf_linker__finalize(self.0.as_ptr()) == 0 }
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and not used after this.
        unsafe { libbpf_sys::bpf_linker__free(self.0.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_and_nothing_panics() {
        for object in [b"".as_slice(), b"no object", &[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]] {
            assert!(link(&[object]).is_err(), "{object:?}");
        }
    }
}
