//! What is held for as long as it lives.

use crate::Refused;
use std::fs::File;
use std::io::Write;

/// Keeps the processors out of deep idle states, as a power-latency request of 0 us, until it is dropped
/// or the process ends.
#[derive(Debug)]
pub struct PowerRequest(#[expect(dead_code, reason = "the request lasts as long as the file is open")] File);

impl PowerRequest {
    /// Where the kernel takes power-latency requests.
    pub const PATH: &str = "/dev/cpu_dma_latency";

    /// Makes the request.
    ///
    /// # Errors
    /// What the kernel refused, with its reason.
    pub fn hold() -> Result<PowerRequest, Refused> {
        let ask = || {
            let mut file = File::options().write(true).open(PowerRequest::PATH)?;
            file.write_all(&0i32.to_ne_bytes())?;
            Ok(file)
        };
        ask().map(PowerRequest).map_err(|error: std::io::Error| {
            let mut reason = crate::plain(&error);
            if error.kind() == std::io::ErrorKind::PermissionDenied {
                reason += ": it needs root, CAP_DAC_OVERRIDE, or a udev rule that lets this user write it";
            }
            Refused::because(format!("writing {}", PowerRequest::PATH), reason)
        })
    }
}

/// Releases what [`lock_memory`] holds: afterwards one can look into large files without reading them whole.
pub fn unlock_memory() {
    // SAFETY: takes nothing, and changes no memory.
    unsafe { libc::munlockall() };
}

/// Locks all memory the process has and will have, so that none of it is paged out or faulted in late.
///
/// # Errors
/// What the kernel refused, with its reason.
pub fn lock_memory() -> Result<(), Refused> {
    // SAFETY: takes plain flags.
    let result = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    if result == 0 { Ok(()) } else { Err(Refused::last_os_error("locking memory")) }
}

/// Touches this much of the calling thread's stack, so that its first use does not fault later.
#[inline(never)]
pub fn touch_stack() {
    let mut pages = [0u8; 64 * 1024];
    for byte in pages.iter_mut().step_by(4096) {
        // SAFETY: writes one byte that the exclusive reference covers; volatile so that it is not optimized away.
        unsafe { std::ptr::write_volatile(byte, 1) };
    }
}
