//! Performance events: of one CPU for all processes, or of one thread and all that it starts.

use crate::Refused;
use perf_event_open_sys::{bindings, perf_event_open};
use std::os::fd::{FromRawFd, OwnedFd};

/// Opens an event on a CPU: for all processes, in no group, closed on exec.
///
/// # Errors
/// What the kernel refused; `doing` says what the event is for.
pub fn open(attributes: bindings::perf_event_attr, cpu: u32, doing: &str) -> Result<OwnedFd, Refused> {
    open_at(attributes, -1, cpu as i32)
        .map_err(|error| Refused::because(format!("{doing} CPU {cpu}"), crate::plain(&error)))
}

/// Opens an event of a thread, wherever that runs: in no group, closed on exec.
///
/// # Errors
/// What the kernel refused.
pub fn open_for(attributes: bindings::perf_event_attr, thread: u32) -> std::io::Result<OwnedFd> {
    open_at(attributes, thread as i32, -1)
}

fn open_at(mut attributes: bindings::perf_event_attr, thread: i32, cpu: i32) -> std::io::Result<OwnedFd> {
    attributes.size = size_of::<bindings::perf_event_attr>() as u32;
    let flags = bindings::PERF_FLAG_FD_CLOEXEC.into();
    // SAFETY: the attributes are as large as they say and live through the call.
    let descriptor = unsafe { perf_event_open(&raw mut attributes, thread, cpu, -1, flags) };
    if descriptor < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: a descriptor just made, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
