//! What this kernel and this user allow, what each thing is needed for, and what would allow what is missing.

use crate::hardware_counters::{COUNTERS, HardwareCounters, NAMES};
use crate::real_time_share::refused_by_group;
use crate::scheduling::{self, Scheduling};
use crate::steal::Teller;
use crate::{Missing, Refused, bpf, clock, hold, host, limits, per_cpu, steal};
use serde::Serialize;
use std::path::Path;

/// Whether something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// It is there and was tried.
    Yes,
    /// It is there with limits, given in the detail.
    Limited,
    /// It is not.
    No,
}

/// One line of what this kernel and this user allow.
#[derive(Debug, Clone, Serialize)]
pub struct Capability {
    /// A short name.
    pub name: String,
    /// Whether it is there.
    pub available: Availability,
    /// What was found.
    pub detail: String,
    /// What it is needed for.
    pub needed_for: String,
    /// The command or setting that would allow it; `None` where nothing is lacking or nothing helps.
    pub remedy: Option<String>,
    /// The first kernel that has it, such as `5.15`; `None` where the kernel's age does not matter.
    pub since: Option<&'static str>,
    /// What this kernel lacks of it.
    pub missing: Vec<Missing>,
}

/// Those that need none of our programs, tried one by one. Changes nothing on the machine.
pub fn all() -> Vec<Capability> {
    vec![
        real_time(),
        deadline(),
        bpf_programs(),
        type_information(),
        host_steal(),
        locked_memory(),
        power_request(),
        time_namespace(),
        pid_namespace(),
        throttling(),
        load_generator(),
        hardware_counters(),
    ]
}

/// Whether the calling process may make threads real-time; tried on a thread of its own, so that nothing changes.
///
/// # Errors
/// What the kernel refused.
pub fn try_scheduling(scheduling: Scheduling) -> Result<(), Refused> {
    std::thread::spawn(move || scheduling::set_scheduling(scheduling))
        .join()
        .unwrap_or_else(|_| Err(Refused::because("trying a scheduling policy", "the thread ended early")))
}

fn judged(
    name: &'static str,
    needed_for: &'static str,
    found: Result<String, String>,
    remedy: impl Into<String>,
) -> Capability {
    match found {
        Ok(detail) => row(name, Availability::Yes, detail, needed_for, None),
        Err(detail) => {
            let remedy = Some(remedy.into()).filter(|remedy| !remedy.is_empty());
            row(name, Availability::No, detail, needed_for, remedy)
        }
    }
}

pub(crate) fn row(
    name: &str,
    available: Availability,
    detail: String,
    needed_for: &str,
    remedy: Option<String>,
) -> Capability {
    let (name, needed_for) = (name.to_owned(), needed_for.to_owned());
    Capability { name, available, detail, needed_for, remedy, since: None, missing: Vec::new() }
}

const ROOT: &str = "run as root: sudo punctual ...";

/// Why real-time scheduling was refused and what would allow it: a limit of the user's, or of the control group's.
pub fn real_time_remedy() -> String {
    refused_by_group("self").unwrap_or_else(|| {
        format!(
            "{ROOT}, or CAP_SYS_NICE; or for a user: `@audio - rtprio 95` in /etc/security/limits.d/audio.conf, and log in again"
        )
    })
}

fn real_time() -> Capability {
    let found = try_scheduling(Scheduling::Fifo(80)).map(|()| "SCHED_FIFO 80 was granted".to_owned());
    judged(
        "real-time priority",
        "measuring what an audio engine or control loop would get",
        words(found),
        real_time_remedy(),
    )
}

fn deadline() -> Capability {
    let asked = Scheduling::Deadline { runtime_ns: 100_000, period_ns: 10_000_000 };
    let found = try_scheduling(asked).map(|()| "SCHED_DEADLINE was granted (not to pinned threads)".to_owned());
    judged("deadline reservation", "--policy deadline", words(found), ROOT)
}

fn bpf_programs() -> Capability {
    let found = bpf::may_load().map(|()| "BPF programs load".to_owned());
    judged("BPF", "splitting a wakeup into its stages", words(found), bpf::remedy())
}

fn type_information() -> Capability {
    let found = match Path::new("/sys/kernel/btf/vmlinux").exists() {
        true => Ok("/sys/kernel/btf/vmlinux is there".to_owned()),
        false => Err("/sys/kernel/btf/vmlinux is missing".to_owned()),
    };
    judged("BTF", "BPF programs that fit any kernel", found, "a kernel built with CONFIG_DEBUG_INFO_BTF=y")
}

fn host_steal() -> Capability {
    let needed_for = "how much of the lateness is the host's";
    let name = "host steal";
    if host::host().virtualization.as_deref() == Some("none") {
        return judged(name, needed_for, Ok("no hypervisor, nothing to steal".to_owned()), "");
    }
    let limited = |detail: &str, remedy: &str| {
        let remedy = Some(remedy.to_owned()).filter(|remedy| !remedy.is_empty());
        row(name, Availability::Limited, detail.to_owned(), needed_for, remedy)
    };
    match (steal::teller(), per_cpu::places().steal, bpf::may_load()) {
        (Teller::Silent(why), ..) => judged(name, needed_for, Err(why.to_owned()), ""),
        (Teller::Hypervisor, Some(_), Ok(())) => {
            judged(name, needed_for, Ok("the hypervisor reports it, readable for each wakeup".to_owned()), "")
        }
        (Teller::Hypervisor, ..) => {
            limited("only as a sum over the run, to 10 ms", "BPF and BTF can show it for each wakeup")
        }
        (Teller::Unknown, ..) => limited("not known whether this hypervisor reports it; only as a sum, to 10 ms", ""),
    }
}

fn locked_memory() -> Capability {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock);
    let root = is_root();
    let found = match limit.current {
        None => Ok("unlimited".to_owned()),
        Some(bytes) if root => Ok(format!("root may exceed the limit of {} KiB", bytes / 1024)),
        Some(bytes) if limits::may_lock_memory() => {
            Ok(format!("CAP_IPC_LOCK may exceed the limit of {} KiB", bytes / 1024))
        }
        Some(bytes) if bytes >= 256 << 20 => Ok(format!("{} MiB may be locked", bytes >> 20)),
        Some(bytes) => Err(format!("only {} KiB may be locked", bytes / 1024)),
    };
    judged(
        "locked memory",
        "wakeups without page faults",
        found,
        "`@audio - memlock unlimited` in /etc/security/limits.d/audio.conf",
    )
}

fn power_request() -> Capability {
    let found = hold::PowerRequest::hold().map(|_| format!("{} takes requests", hold::PowerRequest::PATH));
    let remedy = format!("{ROOT}; or: chmod o+w {}", hold::PowerRequest::PATH);
    judged("power-latency request", "keeping processors out of deep idle states while measuring", words(found), remedy)
}

fn time_namespace() -> Capability {
    let found = match clock::in_shifted_time_namespace() {
        false => Ok("the clock is the kernel's".to_owned()),
        true => Err("a time namespace shifts the clock".to_owned()),
    };
    judged("unshifted clock", "kernel stamps that fit the program's clock", found, "run outside the time namespace")
}

fn pid_namespace() -> Capability {
    let found = match clock::in_pid_namespace() {
        false => Ok("thread ids are the kernel's".to_owned()),
        true => Err("a PID namespace (a container?) hides this process's thread ids from BPF programs".to_owned()),
    };
    judged(
        "kernel's thread ids",
        "splitting a wakeup into its stages",
        found,
        "run outside the container, or with --pid=host",
    )
}

fn throttling() -> Capability {
    let read =
        |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse::<i64>().ok();
    let (name, needed_for) = ("real-time throttling", "a machine that survives a runaway real-time thread");
    match (read("sched_rt_runtime_us"), read("sched_rt_period_us")) {
        (Some(-1), _) => {
            let detail = "off: a real-time thread may hold a CPU for ever".to_owned();
            let remedy = Some("sysctl kernel.sched_rt_runtime_us=950000".to_owned());
            row(name, Availability::Limited, detail, needed_for, remedy)
        }
        (Some(runtime), Some(period)) => {
            judged(name, needed_for, Ok(format!("real-time threads get {runtime} of every {period} us")), "")
        }
        _ => judged(name, needed_for, Err("cannot be read".to_owned()), ""),
    }
}

fn load_generator() -> Capability {
    let found = match find_program("stress-ng") {
        Some(path) => Ok(path.display().to_string()),
        None => Err("not installed: a small built-in load stands in for it".to_owned()),
    };
    judged("stress-ng", "--load", found, "apt-get install stress-ng, or your distribution's equivalent")
}

/// Whether this process may do what only root may.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Where a program is on the `PATH`, or the name itself where it is a path; `None` where nothing there can be run.
pub fn find_program(name: &str) -> Option<std::path::PathBuf> {
    let is_program = |candidate: &std::path::PathBuf| {
        use std::os::unix::fs::PermissionsExt;
        candidate.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(std::path::PathBuf::from(name)).filter(is_program);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(is_program)
}

fn words(found: Result<String, Refused>) -> Result<String, String> {
    found.map_err(|refused| refused.to_string())
}

/// Whether this machine and this user have them: tried, and closed again.
fn hardware_counters() -> Capability {
    of_counters(&HardwareCounters::tried().refusals())
}

fn of_counters(refusals: &[Option<&str>; COUNTERS]) -> Capability {
    const BLIND: &str = "cycles, instructions and cache misses of each input";
    let needed_for = "interact: cycles, instructions and cache misses of each input";
    let absent: Vec<&str> =
        NAMES.iter().zip(refusals).filter(|(_, why)| why.is_some()).map(|(name, _)| *name).collect();
    let Some(why) = refusals.iter().flatten().next() else {
        let detail = "untested: the counters can be asked for, but punctual has never run on a machine with them";
        return row("hardware counters", Availability::Limited, detail.to_owned(), needed_for, None);
    };
    let is_forbidden = why.starts_with("not allowed");
    let remedy = is_forbidden.then(|| "run as root, or: sysctl kernel.perf_event_paranoid=1".to_owned());
    let (available, blind) = match absent.len() {
        COUNTERS => (Availability::No, BLIND.to_owned()),
        _ => (Availability::Limited, format!("{} of each input", absent.join(", "))),
    };
    let mut line = row("hardware counters", available, format!("{why}; not counted: {blind}"), needed_for, remedy);
    if available == Availability::No {
        line.missing = vec![Missing::new("performance counters", None).so_blind_for(&blind)];
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_tell_what_is_not_counted_and_what_nobody_has_tried() {
        let there = of_counters(&[None; COUNTERS]);
        assert!(there.available == Availability::Limited && there.detail.starts_with("untested"), "{there:?}");
        let none = of_counters(&[Some("no counters (PMU)"); COUNTERS]);
        assert!(
            none.available == Availability::No && none.detail.contains("PMU") && none.missing.len() == 1,
            "{none:?}"
        );
        let mut user_only = [None; COUNTERS];
        (1..COUNTERS).step_by(2).for_each(|at| user_only[at] = Some("not allowed to this user"));
        let limited = of_counters(&user_only);
        assert!(limited.available == Availability::Limited && limited.detail.contains("cycles_kernel"), "{limited:?}");
        assert!(limited.remedy.is_some() && !limited.detail.contains("cycles_user"), "{limited:?}");
    }

    #[test]
    fn every_line_says_what_it_is_for_and_what_lacks_has_a_detail() {
        let lines = all();
        for line in &lines {
            assert!(!line.needed_for.is_empty() && !line.detail.is_empty(), "{line:?}");
        }
        let mut names: Vec<_> = lines.iter().map(|line| line.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), lines.len());
    }

    #[test]
    fn a_program_is_found_where_it_is() {
        assert!(find_program("sh").is_some());
        assert!(find_program("no-such-program-anywhere").is_none());
    }
}
