//! Whether programs of a few instructions load.

use crate::Refused;

/// Whether this user may load BPF programs; the reason where not.
///
/// # Errors
/// What the kernel refused.
pub fn may_load() -> Result<(), Refused> {
    // Two instructions: return 0.
    let program = [
        libbpf_sys::bpf_insn { code: 0xb7, ..Default::default() },
        libbpf_sys::bpf_insn { code: 0x95, ..Default::default() },
    ];
    loads(&program, c"may_load")
}

/// Whether a program of these instructions loads; it is gone afterwards.
pub(crate) fn loads(program: &[libbpf_sys::bpf_insn], name: &std::ffi::CStr) -> Result<(), Refused> {
    // SAFETY: the program and its licence live through the call; no options are passed.
    let descriptor = unsafe {
        libbpf_sys::bpf_prog_load(
            libbpf_sys::BPF_PROG_TYPE_TRACEPOINT,
            name.as_ptr(),
            c"GPL".as_ptr(),
            program.as_ptr(),
            program.len() as _,
            std::ptr::null_mut(),
        )
    };
    if descriptor < 0 {
        let error = std::io::Error::from_raw_os_error(-descriptor);
        return Err(Refused::because("loading a BPF program", crate::plain(&error)));
    }
    // SAFETY: a descriptor just made, owned by nobody else.
    drop(unsafe { <std::os::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(descriptor) });
    Ok(())
}
