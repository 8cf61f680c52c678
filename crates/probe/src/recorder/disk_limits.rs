//! Limits of control groups for disks, of which the kernel's programs tell only that one held a request back.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The files with limits: of the second version, and of the first.
const LIMITS: [&str; 5] = [
    "io.max",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];
/// So many groups lie above one another at most.
const MAX_DEPTH: usize = 64;

/// What was found is looked up anew after this, ns.
const KEPT_NS: u64 = 1_000_000_000;
/// So many threads are remembered.
const MAX_KEPT: usize = 1_024;

/// Limits of the threads that were asked for. They are looked up as a wakeup is noticed: when it is written, the thread and its
/// group may be gone.
#[derive(Default)]
pub(crate) struct DiskLimits(HashMap<u32, (u64, Option<String>)>);

impl DiskLimits {
    /// The nearest control group with a limit for a disk that a thread is in, by its path below the mount.
    pub(crate) fn of(&mut self, tid: u32, now_ns: u64) -> Option<String> {
        if let Some((looked_ns, limit)) = self.0.get(&tid)
            && now_ns.saturating_sub(*looked_ns) < KEPT_NS
        {
            return limit.clone();
        }
        if self.0.len() >= MAX_KEPT {
            self.0.clear();
        }
        let limit = limit_of(tid);
        self.0.insert(tid, (now_ns, limit.clone()));
        limit
    }
}

fn limit_of(tid: u32) -> Option<String> {
    let groups = std::fs::read_to_string(format!("/proc/{tid}/cgroup")).ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    nearest_limit(&mount_of(&mounts)?, &group_of(&groups)?)
}

/// The group that counts for disks, of lines as `7:blkio:/a` (version 1) or `0::/a` (version 2).
fn group_of(groups: &str) -> Option<String> {
    let of = |wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            wanted(controllers).then(|| path.to_owned())
        })
    };
    of(&|controllers| controllers.split(',').any(|one| one == "blkio")).or_else(|| of(&str::is_empty))
}

/// Where that hierarchy is mounted, of lines as `36 35 0:30 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio`.
fn mount_of(mounts: &str) -> Option<PathBuf> {
    let of = |wanted: &dyn Fn(&str, &str) -> bool| {
        mounts.lines().find_map(|line| {
            let (place, kind) = line.split_once(" - ")?;
            let mut kind = kind.split(' ');
            let (name, options) = (kind.next()?, kind.nth(1)?);
            wanted(name, options).then(|| place.split(' ').nth(4).map(PathBuf::from))?
        })
    };
    let first = of(&|name, options| name == "cgroup" && options.split(',').any(|one| one == "blkio"));
    first.or_else(|| of(&|name, _| name == "cgroup2"))
}

/// The nearest group with a limit, from this one up. A file of limits has a line for each disk that has one.
fn nearest_limit(mount: &Path, group: &str) -> Option<String> {
    let mut group = Path::new(group.strip_prefix('/')?);
    for _ in 0..MAX_DEPTH {
        let has_limit = |file: &&str| {
            std::fs::read_to_string(mount.join(group).join(file)).is_ok_and(|text| !text.trim().is_empty())
        };
        if LIMITS.iter().any(has_limit) {
            return Some(format!("/{}", group.display()));
        }
        group = group.parent()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_of_disks_is_found_in_both_versions() {
        let first = "9:name=systemd:/a\n7:blkio:/b/c\n0::/d\n";
        assert_eq!(group_of(first).as_deref(), Some("/b/c"));
        assert_eq!(group_of("0::/d:e\n").as_deref(), Some("/d:e"));
        assert_eq!(group_of("nonsense\n"), None);
        let line =
            |place: &str, kind: &str, options: &str| format!("36 35 0:30 / {place} rw - {kind} {kind} rw{options}\n");
        let second = line("/sys/fs/cgroup", "cgroup2", "");
        let both = line("/cpu", "cgroup", ",cpu,cpuacct") + &second + &line("/blkio", "cgroup", ",blkio");
        assert_eq!(mount_of(&both), Some("/blkio".into()));
        assert_eq!(mount_of(&second), Some("/sys/fs/cgroup".into()));
        assert_eq!(mount_of("nonsense\n"), None);
    }

    #[test]
    fn what_was_found_is_kept_for_a_while() {
        let mut limits = DiskLimits(HashMap::from([(0, (5, Some("/kept".to_owned())))]));
        assert_eq!(limits.of(0, 5 + KEPT_NS - 1).as_deref(), Some("/kept"));
        // There is no thread of this number.
        assert_eq!(limits.of(0, 5 + KEPT_NS), None);
        assert_eq!(limits.of(0, 6 + KEPT_NS), None);
    }

    #[test]
    fn the_nearest_group_with_a_limit_counts() {
        let directory = tempfile::tempdir().unwrap();
        let group = |path: &str, file: &str, text: &str| {
            std::fs::create_dir_all(directory.path().join(path)).unwrap();
            std::fs::write(directory.path().join(path).join(file), text).unwrap();
        };
        group("a/b/c", "io.max", "");
        group("a/b", "blkio.throttle.read_bps_device", "254:0 4194304\n");
        group("a", "io.max", "254:0 rbps=1\n");
        let nearest = |group: &str| nearest_limit(directory.path(), group);
        assert_eq!(nearest("/a/b/c").as_deref(), Some("/a/b"));
        assert_eq!(nearest("/a").as_deref(), Some("/a"));
        assert_eq!(nearest("/"), None);
        assert_eq!(nearest("/gone"), None);
    }
}
