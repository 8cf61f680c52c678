//! Performance events of one CPU, for all processes.

use crate::Refused;
use perf_event_open_sys::{bindings, perf_event_open};
use std::os::fd::{FromRawFd, OwnedFd};

/// Opens an event on a CPU: for all processes, in no group, closed on exec.
///
/// # Errors
/// What the kernel refused; `doing` says what the event is for.
pub fn open(mut attributes: bindings::perf_event_attr, cpu: u32, doing: &str) -> Result<OwnedFd, Refused> {
    attributes.size = size_of::<bindings::perf_event_attr>() as u32;
    let flags = bindings::PERF_FLAG_FD_CLOEXEC.into();
    // SAFETY: the attributes are as large as they say and live through the call.
    let descriptor = unsafe { perf_event_open(&raw mut attributes, -1, cpu as i32, -1, flags) };
    if descriptor < 0 {
        return Err(Refused::last_os_error(format!("{doing} CPU {cpu}")));
    }
    // SAFETY: a descriptor just made, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
