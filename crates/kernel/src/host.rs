//! What a recording says about the machine.

use punctual_recording::{Host, Provenance, Setting};
use std::collections::BTreeMap;
use std::fs;

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The machine on which this runs.
pub fn host() -> Host {
    let uname = rustix::system::uname();
    // On a machine of many processors it is long.
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let text = |part: &std::ffi::CStr| Some(part.to_string_lossy().into_owned()).filter(|part| !part.is_empty());
    Host {
        name: text(uname.nodename()),
        id: read("/etc/machine-id").map(|id| digest(&id)),
        kernel_release: text(uname.release()),
        kernel_version: text(uname.version()),
        preemption: preemption(&uname.version().to_string_lossy()),
        architecture: text(uname.machine()),
        cpu_model: cpu_model(&processors),
        cpus_online: u32::try_from(std::thread::available_parallelism().map_or(0, usize::from)).ok(),
        clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        virtualization: virtualization(&processors),
        memory_bytes: memory_bytes(),
    }
}

/// Tells machines apart without revealing the identity.
fn digest(text: &str) -> String {
    format!("{:016x}", punctual_recording::digest(text))
}

/// The kernel's preemption model: what it was built with, or under `PREEMPT_DYNAMIC` what it was told to use.
fn preemption(version: &str) -> Option<String> {
    // Readable by root alone, where debugfs is mounted: `none voluntary (full) lazy`.
    let told = read("/sys/kernel/debug/sched/preempt").and_then(|modes| {
        modes.split_whitespace().find_map(|mode| mode.strip_prefix('(')?.strip_suffix(')').map(str::to_owned))
    });
    let built = if version.contains("PREEMPT_RT") {
        Some("rt")
    } else if version.contains("PREEMPT_DYNAMIC") {
        Some("dynamic")
    } else if version.contains("PREEMPT") {
        Some("full")
    } else {
        None
    };
    told.or_else(|| built.map(str::to_owned))
}

/// Whether this kernel is built with `PREEMPT_RT`.
pub fn is_preempt_rt() -> bool {
    read("/sys/kernel/realtime").is_some_and(|flag| flag == "1")
        || rustix::system::uname().version().to_string_lossy().contains("PREEMPT_RT")
}

fn cpu_model(processors: &str) -> Option<String> {
    let line = processors.lines().find(|line| line.starts_with("model name") || line.starts_with("Model"))?;
    line.split_once(':').map(|(_, model)| model.trim().to_owned())
}

/// `none` where this kernel runs on bare hardware; `None` where that is not known: only x86 processors tell.
fn virtualization(processors: &str) -> Option<String> {
    if let Some(kind) = read("/sys/hypervisor/type") {
        return Some(kind);
    }
    if cfg!(not(target_arch = "x86_64")) {
        return None;
    }
    let mut flags = processors.lines().filter(|line| line.starts_with("flags"));
    if !flags.any(|line| line.split_whitespace().any(|flag| flag == "hypervisor")) {
        return Some("none".to_owned());
    }
    let kvm = fs::read_to_string("/proc/interrupts").is_ok_and(|text| text.contains("Hypervisor callback"))
        || read("/sys/devices/system/clocksource/clocksource0/available_clocksource")
            .is_some_and(|all| all.contains("kvm"));
    Some(if kvm { "kvm" } else { "unknown hypervisor" }.to_owned())
}

fn memory_bytes() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

/// Settings of the system that change latency, by name; those that cannot be read are absent.
pub fn tuning() -> BTreeMap<String, Setting> {
    let mut settings = BTreeMap::new();
    let files = [
        ("sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us"),
        ("sched_rt_period_us", "/proc/sys/kernel/sched_rt_period_us"),
        ("timer_migration", "/proc/sys/kernel/timer_migration"),
        ("numa_balancing", "/proc/sys/kernel/numa_balancing"),
        ("watchdog", "/proc/sys/kernel/watchdog"),
        ("cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        ("idle_driver", "/sys/devices/system/cpu/cpuidle/current_driver"),
        ("idle_governor", "/sys/devices/system/cpu/cpuidle/current_governor"),
        ("isolated_cpus", "/sys/devices/system/cpu/isolated"),
        ("nohz_full_cpus", "/sys/devices/system/cpu/nohz_full"),
        ("smt", "/sys/devices/system/cpu/smt/control"),
        ("transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled"),
        ("kernel_command_line", "/proc/cmdline"),
    ];
    for (name, path) in files {
        if let Some(text) = read(path) {
            let setting = text.parse().map_or(Setting::Text(text), Setting::Number);
            settings.insert(name.to_owned(), setting);
        }
    }
    if let Some(cgroups) = read("/proc/self/cgroup") {
        settings.insert("cgroup".to_owned(), Setting::Text(cgroups.replace('\n', " ")));
    }
    settings
}

/// What every recording of a run on this machine says about its origin.
pub fn provenance(command_line: &[String]) -> Provenance {
    Provenance {
        punctual_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: command_line.to_vec(),
        run_id: run_id(),
        host: host(),
        tuning: tuning(),
        ..Provenance::default()
    }
}

/// 128 bits that no other run shares, in hexadecimal.
pub fn run_id() -> String {
    read("/proc/sys/kernel/random/uuid").map_or_else(
        || format!("{:016x}{:016x}", crate::clock::unix_ns(), std::process::id()),
        |uuid| uuid.replace('-', ""),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_called_as_the_kernel_lists_the_first() {
        let of_x86 = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: One (R) 2.45GHz\nmodel name\t: Other\n";
        assert_eq!(cpu_model(of_x86).as_deref(), Some("One (R) 2.45GHz"));
        assert_eq!(cpu_model("Model\t\t: A Board\n").as_deref(), Some("A Board"));
        assert_eq!(cpu_model(""), None);
    }
}
