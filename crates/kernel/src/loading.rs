//! Loads programs of a few instructions, which need no object.

use crate::Refused;
use libbpf_sys::{bpf_insn, bpf_prog_load_opts, bpf_prog_type};
use std::ffi::CStr;
use std::os::fd::{FromRawFd, OwnedFd};

/// Whether this user may load BPF programs; the reason where not.
///
/// # Errors
/// What the kernel refused.
pub fn may_load() -> Result<(), Refused> {
    // Two instructions: return 0.
    let program = [bpf_insn { code: 0xb7, ..Default::default() }, bpf_insn { code: 0x95, ..Default::default() }];
    loads(&program, c"may_load")
}

/// Whether a program of these instructions loads; it is gone afterwards.
pub(crate) fn loads(program: &[bpf_insn], name: &CStr) -> Result<(), Refused> {
    let loaded = load(libbpf_sys::BPF_PROG_TYPE_TRACEPOINT, 0, program, name);
    loaded.map(drop).map_err(|error| Refused::because("loading a BPF program", crate::plain(&error)))
}

/// Loads a program of these instructions, which is gone with its descriptor.
pub(crate) fn load(kind: bpf_prog_type, flags: u32, program: &[bpf_insn], name: &CStr) -> std::io::Result<OwnedFd> {
    let mut options =
        bpf_prog_load_opts { sz: size_of::<bpf_prog_load_opts>() as _, prog_flags: flags, ..Default::default() };
    // SAFETY: the instructions, both names and the options live through the call, and the lengths are theirs.
    let descriptor = unsafe {
        libbpf_sys::bpf_prog_load(
            kind,
            name.as_ptr(),
            c"GPL".as_ptr(),
            program.as_ptr(),
            program.len() as _,
            &raw mut options,
        )
    };
    if descriptor < 0 {
        return Err(std::io::Error::from_raw_os_error(-descriptor));
    }
    // SAFETY: a descriptor just made, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
