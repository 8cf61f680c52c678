//! Disk limits of control groups: the kernel's programs report only that one held a request back, and to which group
//! the request is charged.

use super::groups::Groups;
use punctual_recording::episode::{Event, EventKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The files with limits: of the second version, and of the first.
const LIMITS: [&str; 5] = [
    "io.max",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];
/// At most this many levels of groups.
const MAX_DEPTH: usize = 64;

/// What was found is looked up anew after this time, ns.
const KEPT_NS: u64 = 1_000_000_000;
/// How many threads are remembered.
const MAX_KEPT: usize = 1_024;

/// Limits of the threads that were asked for. They are looked up when a wakeup is noticed: by the time it is written,
/// the thread and its group may be gone.
#[derive(Default)]
pub(crate) struct DiskLimits(HashMap<u32, (u64, Option<String>)>);

impl DiskLimits {
    /// The nearest control group with a disk limit that a thread is in, by its path below the mount.
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

/// Fills the upper half of the extra word of a request's beginning, as recordings have it: one more than the position
/// of the name of the group whose limit held it back; 0 if none did, or that is not known. The programs report the
/// number of the group that the request is charged to.
///
/// `is_lets_go`: whether this is the name of the work by which the kernel releases what was held back.
pub(super) fn name_limits(
    events: &mut [Event],
    is_lets_go: impl Fn(u32) -> bool,
    limit: &mut impl FnMut(u32, u32) -> Option<u32>,
) {
    let mut lets_go: BTreeSet<u32> = BTreeSet::new();
    // By request: where it began, and which group it is charged to.
    let mut open: BTreeMap<u64, (usize, u32)> = BTreeMap::new();
    for position in 0..events.len() {
        let event = events[position];
        match event.kind {
            EventKind::WorkBegin if is_lets_go(event.name) => _ = lets_go.insert(event.tid),
            EventKind::WorkBegin | EventKind::WorkEnd => _ = lets_go.remove(&event.tid),
            EventKind::RequestBegin => {
                let account = (event.extra >> 32) as u32;
                events[position].extra &= u64::from(u32::MAX);
                if account != 0 && lets_go.contains(&event.tid) {
                    open.entry(event.value).or_insert((position, account));
                }
            }
            EventKind::RequestEnd => {
                if let Some((begin, account)) = open.remove(&event.value)
                    && let Some(name) = limit(account, event.name)
                {
                    events[begin].extra |= (u64::from(name) + 1) << 32;
                }
            }
            _ => {}
        }
    }
}

/// The control groups to which disk requests are charged.
pub(super) struct DiskGroups {
    mount: Option<PathBuf>,
    groups: Groups,
}

impl DiskGroups {
    pub(super) fn new() -> DiskGroups {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = mount_of(&mounts);
        DiskGroups { groups: Groups::below(mount.clone()), mount }
    }

    /// The nearest group with a limit for this disk, from the one with this number up.
    pub(super) fn limit(&mut self, number: u32, disk: &str, now_ns: u64) -> Option<String> {
        let group = self.groups.path(number, now_ns)?;
        let is_name = !disk.is_empty() && !disk.contains('/') && disk != "..";
        let device = std::fs::read_to_string(format!("/sys/class/block/{disk}/dev")).ok().filter(|_| is_name);
        nearest_limit(self.mount.as_deref()?, &group, device.as_deref().map(str::trim))
    }
}

fn limit_of(tid: u32) -> Option<String> {
    let groups = std::fs::read_to_string(format!("/proc/{tid}/cgroup")).ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    nearest_limit(&mount_of(&mounts)?, &group_of(&groups)?, None)
}

/// The group that counts for disks, from lines like `7:blkio:/a` (version 1) or `0::/a` (version 2).
fn group_of(groups: &str) -> Option<String> {
    let of = |wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            wanted(controllers).then(|| path.to_owned())
        })
    };
    of(&|controllers| controllers.split(',').any(|one| one == "blkio")).or_else(|| of(&str::is_empty))
}

/// Where that hierarchy is mounted, from lines like `36 35 0:30 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio`.
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

/// The nearest group with a limit, from this one up: for a disk with these numbers (`254:0`), or for any. A file of
/// limits has a line for each disk that has one.
fn nearest_limit(mount: &Path, group: &str, device: Option<&str>) -> Option<String> {
    let mut group = Path::new(group.strip_prefix('/')?);
    for _ in 0..MAX_DEPTH {
        let is_of_it = |line: &str| match device {
            Some(device) => line.split_whitespace().next() == Some(device),
            None => !line.trim().is_empty(),
        };
        let has_limit = |file: &&str| {
            std::fs::read_to_string(mount.join(group).join(file)).is_ok_and(|text| text.lines().any(is_of_it))
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
    use super::super::test_event::EVENT;
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
        // There is no thread with this number.
        assert_eq!(limits.of(0, 5 + KEPT_NS), None);
        assert_eq!(limits.of(0, 6 + KEPT_NS), None);
    }

    #[test]
    fn a_request_that_was_held_back_is_told_with_the_group_whose_limit_that_was() {
        let event = |at_ns, kind, tid, value, extra, name| Event { at_ns, kind, tid, value, extra, name, ..EVENT };
        let begin = |at_ns, tid, request| event(at_ns, EventKind::RequestBegin, tid, request, 7 << 32 | 4096, 0);
        let end = |at_ns, request| event(at_ns, EventKind::RequestEnd, 1, request, 0, 5);
        let mut events = [
            event(1, EventKind::WorkBegin, 9, 0, 0, 3),
            begin(2, 9, 100),
            // Another thread's meanwhile, and one after that work.
            begin(3, 8, 101),
            event(4, EventKind::WorkEnd, 9, 0, 0, 0),
            begin(5, 9, 102),
            end(6, 101),
            end(7, 100),
            end(8, 102),
        ];
        let mut asked = Vec::new();
        name_limits(&mut events, |name| name == 3, &mut |account, disk| {
            asked.push((account, disk));
            Some(11)
        });
        assert_eq!(asked, [(7, 5)]);
        assert_eq!([1, 2, 4].map(|at: usize| events[at].extra), [12 << 32 | 4096, 4096, 4096]);
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
        let nearest = |group: &str| nearest_limit(directory.path(), group, None);
        assert_eq!(nearest("/a/b/c").as_deref(), Some("/a/b"));
        let of_disk = |device| nearest_limit(directory.path(), "/a/b/c", Some(device));
        assert_eq!((of_disk("254:0").as_deref(), of_disk("254:1")), (Some("/a/b"), None));
        assert_eq!(nearest("/a").as_deref(), Some("/a"));
        assert_eq!(nearest("/"), None);
        assert_eq!(nearest("/gone"), None);
    }
}
