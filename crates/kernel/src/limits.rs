//! Limits that this process has been given.

use rustix::process::{Resource, getrlimit};

/// The largest stack of the first thread, bytes; `None` without a limit.
pub fn stack() -> Option<u64> {
    getrlimit(Resource::Stack).current
}

/// Whether this process may lock as much memory as it likes.
pub fn may_lock_memory() -> bool {
    getrlimit(Resource::Memlock).current.is_none() || has(rustix::thread::CapabilitySet::IPC_LOCK)
}

/// Whether the calling thread has the right by which the kernel gives performance events of all processes to whoever is not
/// root. Some distributions' kernels ask for more; see `kernel.perf_event_paranoid`.
pub fn may_watch_performance() -> bool {
    use rustix::thread::CapabilitySet;
    has(CapabilitySet::PERFMON) || has(CapabilitySet::SYS_ADMIN)
}

/// Whether the calling thread has a capability.
fn has(capability: rustix::thread::CapabilitySet) -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(capability))
}

/// What a program lacks that may not see where the kernel's functions are, and what would allow it.
pub const ADDRESSES_HIDDEN: &str = "the kernel hides where its functions are: it needs root, CAP_SYSLOG, or both \
     kernel.kptr_restrict=0 and kernel.perf_event_paranoid=1";

/// Whether the kernel hides from this process where its functions are: BPF programs then cannot recognise a timer by
/// what it calls, and functions have no names.
pub fn addresses_are_hidden() -> bool {
    use std::io::BufRead;
    let Ok(file) = std::fs::File::open("/proc/kallsyms") else { return false };
    let shown = std::io::BufReader::new(file).lines().take(64).map_while(Result::ok);
    let addresses: Vec<String> = shown.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
    // A few symbols really are at 0, but never all of them.
    !addresses.is_empty() && addresses.iter().all(|address| address.bytes().all(|digit| digit == b'0'))
}

/// How long a process may have a real-time priority without sleeping until the kernel sends it a signal that ends it
/// (RLIMIT_RTTIME), us; `None`: for any time, or it has ended. A reservation has no such limit.
pub fn real_time_limit_us(process: u32) -> Option<u64> {
    limit_in(&std::fs::read_to_string(format!("/proc/{process}/limits")).ok()?, "Max realtime timeout")
}

/// The limit that counts, the first of two, in what `/proc/PID/limits` says; `None`: there is none.
fn limit_in(limits: &str, name: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_counts_is_the_first_and_unlimited_is_none() {
        let said = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max realtime priority     0                    0                    \n\
                    Max realtime timeout      200000               unlimited            us        \n";
        assert_eq!(limit_in(said, "Max realtime timeout"), Some(200_000));
        assert_eq!(limit_in(&said.replace("200000  ", "unlimited"), "Max realtime timeout"), None);
        assert_eq!(limit_in("", "Max realtime timeout"), None);
    }
}
