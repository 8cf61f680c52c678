//! The share of the CPUs that a control group has for real-time threads, on kernels that give each group its own.

/// The file with the share of a thread's control group, if that is none at all: the kernel then refuses its threads every real-time
/// priority, though no reservation. `who` is its number, or `self`.
pub(crate) fn file_without_share(who: &str) -> Option<String> {
    let file = share_file(&std::fs::read_to_string(format!("/proc/{who}/cgroup")).ok()?)?;
    std::fs::read_to_string(&file).is_ok_and(|text| text.trim() == "0").then_some(file)
}

/// The file for what `/proc/PID/cgroup` says; `None` for the root group, which has all, and if the groups have no shares.
fn share_file(groups: &str) -> Option<String> {
    let of_cpus = groups.lines().find_map(|line| line.split_once(":cpu:").or_else(|| line.split_once(":cpu,cpuacct:")));
    let (_, path) = of_cpus.filter(|(_, path)| *path != "/")?;
    Some(format!("/sys/fs/cgroup/cpu{path}/cpu.rt_runtime_us"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_share_is_that_of_the_groups_for_cpus() {
        let audio = Some("/sys/fs/cgroup/cpu/audio/cpu.rt_runtime_us".to_owned());
        assert_eq!(share_file("5:memory:/other\n4:cpu,cpuacct:/audio\n0::/\n"), audio);
        assert_eq!(share_file("2:cpu:/audio\n"), audio);
        assert_eq!(["4:cpu,cpuacct:/\n", "0::/audio\n", ""].map(share_file), [None, None, None]);
    }
}
