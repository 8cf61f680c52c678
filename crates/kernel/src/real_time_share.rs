//! The share of the CPUs that a control group has for real-time threads, on kernels that give each group its own.

/// Why the kernel refuses a thread every real-time priority, though no reservation, and what would allow it, if its control group
/// has no share for such threads at all. `who` is the thread's number, or `self`.
pub(crate) fn refused_by_group(who: &str) -> Option<String> {
    let file = share_file(&std::fs::read_to_string(format!("/proc/{who}/cgroup")).ok()?)?;
    let has_none = std::fs::read_to_string(&file).is_ok_and(|text| text.trim() == "0");
    let (whose, leave) = if who == "self" { ("this", "move") } else { ("its", "move it") };
    has_none.then(|| {
        format!("{whose} control group has no real-time share: echo 950000 > {file}, or {leave} out of the group")
    })
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
