//! Performance events: of one CPU for all processes, or of one thread and all that it starts.

use crate::{Refused, limits};
use perf_event_open_sys::{bindings, perf_event_open};
use std::os::fd::{FromRawFd, OwnedFd};

/// The strictest level at which a program with `CAP_PERFMON` may have performance events everywhere: Debian adds 3, at which it
/// takes `CAP_SYS_ADMIN`.
const STRICTEST_USUAL_LEVEL: i64 = 2;
/// The strictest level at which everybody may.
const STRICTEST_OPEN_LEVEL: i64 = 0;

/// Opens an event on a CPU: for all processes, in no group, closed on exec.
///
/// # Errors
/// What the kernel refused, and what would allow it; `doing` says what the event is for.
pub fn open(attributes: bindings::perf_event_attr, cpu: u32, doing: &str) -> Result<OwnedFd, Refused> {
    open_at(attributes, -1, cpu as i32).map_err(|error| {
        let refused = Refused::because(format!("{doing} CPU {cpu}"), crate::plain(&error));
        let remedy = remedy(&refused.reason);
        refused.with_remedy(remedy)
    })
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

/// What would allow performance events that were refused to this user for this reason; `None` if this user's rights are not it.
pub fn remedy(reason: &str) -> Option<&'static str> {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
    remedy_at(reason, level.and_then(|level| level.trim().parse().ok()), limits::may_watch_performance())
}

/// What would allow performance events that were refused for this reason where `kernel.perf_event_paranoid` is this, to a user
/// who has `CAP_PERFMON` or not; `None` if this user's rights are not why.
fn remedy_at(reason: &str, level: Option<i64>, has_right: bool) -> Option<&'static str> {
    match reason {
        // What the events are for takes CAP_PERFMON at every level, so no level alone is a remedy.
        "Permission denied" if level.is_some_and(|level| level > STRICTEST_USUAL_LEVEL) => Some(match has_right {
            true => "run as root, or with CAP_SYS_ADMIN, or: sysctl kernel.perf_event_paranoid=2",
            false => "run as root: sudo punctual ...; or with CAP_PERFMON and sysctl kernel.perf_event_paranoid=2",
        }),
        "Permission denied" if !has_right && level.is_none_or(|level| level > STRICTEST_OPEN_LEVEL) => {
            Some("run as root: sudo punctual ...; or with CAP_PERFMON")
        }
        "Permission denied" | "Operation not permitted" => {
            Some("allow the system call perf_event_open, which a filter (seccomp) or a security module denies")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::remedy_at;

    #[test]
    fn the_remedy_is_what_refused_it() {
        let cases = [
            ("Permission denied", Some(3), true, Some("or: sysctl kernel.perf_event_paranoid=2")),
            ("Permission denied", Some(4), true, Some("CAP_SYS_ADMIN")),
            // Of whoever has CAP_PERFMON, this level asks for nothing more.
            ("Permission denied", Some(2), true, Some("seccomp")),
            ("Permission denied", None, true, Some("seccomp")),
            ("Permission denied", Some(3), false, Some("CAP_PERFMON and sysctl kernel.perf_event_paranoid=2")),
            ("Permission denied", Some(2), false, Some("or with CAP_PERFMON")),
            ("Permission denied", None, false, Some("or with CAP_PERFMON")),
            // Whoever asks may have them.
            ("Permission denied", Some(0), false, Some("seccomp")),
            ("Operation not permitted", Some(3), true, Some("seccomp")),
            ("Operation not permitted", Some(3), false, Some("seccomp")),
            ("No such file or directory", Some(3), true, None),
            ("Function not implemented", Some(-1), false, None),
        ];
        for (reason, level, has_right, expected) in cases {
            let remedy = remedy_at(reason, level, has_right);
            let is_it = match (remedy, expected) {
                (Some(remedy), Some(expected)) => remedy.contains(expected),
                (remedy, expected) => remedy == expected,
            };
            assert!(is_it, "{reason} at {level:?}, {has_right}: {remedy:?}");
        }
    }

    /// At level 3 the capability alone allows nothing, and no lower level makes up for it.
    #[test]
    fn no_remedy_names_what_does_not_do() {
        for level in [Some(2), Some(3), None] {
            let remedy = remedy_at("Permission denied", level, false).unwrap();
            assert!(!remedy.contains("paranoid=0"), "{level:?}: {remedy}");
        }
        let strict = remedy_at("Permission denied", Some(3), false).unwrap();
        assert!(!strict.ends_with("CAP_PERFMON"), "{strict}");
    }
}
