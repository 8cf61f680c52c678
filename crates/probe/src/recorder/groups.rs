//! Names and weights of control groups: the kernel's programs report only a number, the inode of the group's directory.

use punctual_recording::episode::Group;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Set in a group's number: it is not a control group but a session's automatic one (`AUTOMATIC_GROUP` in `groups.h`).
const AUTOMATIC: u32 = 1 << 31;
/// What the names of automatic groups begin with.
const AUTOMATIC_PATH: &str = "/autogroup-";
/// How many directories to look into at most, ...
const MAX_GROUPS: usize = 8_192;
/// ... how deep, ...
const MAX_DEPTH: usize = 16;
/// ... with paths how long, bytes, ...
const MAX_PATH: usize = 512;
/// ... and how often, ns: a group that is gone by then has no name.
const LOOK_NS: u64 = 200_000_000;
/// How many names are remembered when it looks: users may make groups of their own, and others all the time.
const MAX_REMEMBERED: usize = 2 * MAX_GROUPS;
/// How many weights are.
const MAX_WEIGHTS: usize = 1_024;
/// A group's weight may change: it is read anew after this time, ns.
const WEIGHT_NS: u64 = 1_000_000_000;
/// The weight of a group that nobody gave another one, in the scheduler's units; also that of a thread of nice 0.
const USUAL_WEIGHT: u64 = 1_024;
/// Idle ones have this weight.
const IDLE_WEIGHT: u64 = 3;

/// Where the hierarchy is mounted that shares out processor time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hierarchy {
    root: PathBuf,
    /// Whether it is the CPU controller's own (version 1), not the one of all controllers (version 2).
    pub(super) is_of_controller: bool,
}

impl Hierarchy {
    pub(super) fn find() -> Option<Hierarchy> {
        Hierarchy::of(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    /// From lines like `36 35 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu`.
    fn of(mounts: &str) -> Option<Hierarchy> {
        let mount = |line: &str| {
            let (place, kind) = line.split_once(" - ")?;
            let (mut place, mut kind) = (place.split(' ').skip(3), kind.split(' '));
            let is_whole = place.next()? == "/";
            let root = place.next()?.to_owned();
            let (kind, options) = (kind.next()?.to_owned(), kind.nth(1)?.to_owned());
            is_whole.then_some((root, kind, options))
        };
        let mounts: Vec<_> = mounts.lines().filter_map(mount).collect();
        let first =
            mounts.iter().find(|(_, kind, options)| kind == "cgroup" && options.split(',').any(|one| one == "cpu"));
        let second = || mounts.iter().find(|(_, kind, _)| kind == "cgroup2");
        let (root, kind, _) = first.or_else(second)?;
        Some(Hierarchy { root: PathBuf::from(root), is_of_controller: kind == "cgroup" })
    }

    /// How much of each period a group's real-time threads may run, us: kernels with `CONFIG_RT_GROUP_SCHED` say so,
    /// and limit all groups but the root to what they were given.
    fn real_time_us(&self, path: &str) -> Option<u64> {
        let below = path.strip_prefix('/').filter(|below| !below.is_empty() && !path.starts_with(AUTOMATIC_PATH))?;
        // -1, for no limit, is not one.
        std::fs::read_to_string(self.root.join(below).join("cpu.rt_runtime_us")).ok()?.trim().parse().ok()
    }

    /// The weight of a group in the scheduler's units; 0: it has none of its own.
    fn weight(&self, path: &Path) -> u64 {
        let number = |file: &str| std::fs::read_to_string(path.join(file)).ok()?.trim().parse::<u64>().ok();
        if number("cpu.idle") == Some(1) {
            return IDLE_WEIGHT;
        }
        match self.is_of_controller {
            true => number("cpu.shares").unwrap_or(0),
            false => number("cpu.weight").map_or(0, |weight| weight.saturating_mul(USUAL_WEIGHT) / 100),
        }
    }
}

/// What is known about groups.
pub(super) struct Groups {
    hierarchy: Option<Hierarchy>,
    paths: HashMap<u32, String>,
    weights: HashMap<String, (u64, u64)>,
    looked_ns: Option<u64>,
}

impl Groups {
    pub(super) fn new() -> Groups {
        Groups { hierarchy: Hierarchy::find(), paths: HashMap::new(), weights: HashMap::new(), looked_ns: None }
    }

    /// Those of another hierarchy, only for their paths.
    pub(super) fn below(root: Option<PathBuf>) -> Groups {
        let hierarchy = root.map(|root| Hierarchy { root, is_of_controller: false });
        Groups { hierarchy, paths: HashMap::new(), weights: HashMap::new(), looked_ns: None }
    }

    /// The path of a group below its mount; `None` for number 0, which is no group.
    pub(super) fn path(&mut self, number: u32, now_ns: u64) -> Option<String> {
        if number == 0 {
            return None;
        }
        if number & AUTOMATIC != 0 {
            return Some(format!("{AUTOMATIC_PATH}{}", number & !AUTOMATIC));
        }
        let is_old = self.looked_ns.is_none_or(|looked_ns| now_ns.saturating_sub(looked_ns) >= LOOK_NS);
        if !self.paths.contains_key(&number) && is_old {
            self.look(now_ns);
        }
        Some(self.paths.get(&number).cloned().unwrap_or_else(|| format!("cgroup {number}")))
    }

    /// Adds the groups that exist; those that are gone keep their names until there are too many.
    fn look(&mut self, now_ns: u64) {
        self.looked_ns = Some(now_ns);
        let Some(hierarchy) = &self.hierarchy else { return };
        if self.paths.len() > MAX_REMEMBERED {
            self.paths.clear();
        }
        let max_bytes = hierarchy.root.as_os_str().len() + MAX_PATH;
        let mut waiting = vec![(hierarchy.root.clone(), 0)];
        let mut seen = 0;
        while let Some((directory, depth)) = waiting.pop() {
            seen += 1;
            if let (Ok(metadata), Ok(below)) = (directory.metadata(), directory.strip_prefix(&hierarchy.root)) {
                self.paths.insert(metadata.ino() as u32 & !AUTOMATIC, format!("/{}", below.display()));
            }
            if depth < MAX_DEPTH {
                let room = MAX_GROUPS.saturating_sub(seen + waiting.len());
                let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
                let inside = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                let short = inside.map(|entry| entry.path()).filter(|path| path.as_os_str().len() <= max_bytes);
                waiting.extend(short.take(room).map(|path| (path, depth + 1)));
            }
        }
    }

    /// The group at a path, with the weight of each on the way to it.
    pub(super) fn group(&mut self, path: &str, now_ns: u64) -> Group {
        let mut weights = Vec::new();
        if path.starts_with(AUTOMATIC_PATH) {
            weights.push(USUAL_WEIGHT);
        } else if let (Some(hierarchy), true) = (&self.hierarchy, path.starts_with('/')) {
            let mut reached = String::new();
            for component in path.split('/').filter(|component| !component.is_empty()).take(MAX_DEPTH) {
                reached = format!("{reached}/{component}");
                let known =
                    self.weights.get(&reached).filter(|(_, read_ns)| now_ns.saturating_sub(*read_ns) < WEIGHT_NS);
                let weight = match known {
                    Some((weight, _)) => *weight,
                    None => {
                        let weight = hierarchy.weight(&hierarchy.root.join(&reached[1..]));
                        self.weights.insert(reached.clone(), (weight, now_ns));
                        weight
                    }
                };
                weights.push(weight);
            }
            if self.weights.len() > MAX_WEIGHTS {
                self.weights.clear();
            }
        }
        let real_time_us = self.hierarchy.as_ref().and_then(|hierarchy| hierarchy.real_time_us(path));
        Group { path: path.to_owned(), weights, real_time_us }
    }

    /// The path of the group that a thread is in now; `None`: it is gone.
    pub(super) fn path_of_thread(&self, tid: u32) -> Option<String> {
        let hierarchy = self.hierarchy.as_ref()?;
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{tid}/{file}")).ok();
        let path = path_in(&read("cgroup")?, hierarchy.is_of_controller)?;
        // The kernel makes groups for sessions by itself, below the root; it makes none for its own threads.
        let is_automatic = path == "/"
            && hierarchy.is_of_controller
            && std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|text| text.trim() == "1");
        let automatic = read("autogroup").filter(|_| is_automatic);
        let name = automatic
            .as_deref()
            .and_then(|text| text.split(' ').next())
            .filter(|name| name.starts_with(AUTOMATIC_PATH));
        Some(name.map_or(path, str::to_owned))
    }
}

/// From lines like `1:cpu,cpuacct:/a/b` and `0::/c`.
fn path_in(lines: &str, of_controller: bool) -> Option<String> {
    lines.lines().find_map(|line| {
        let mut words = line.splitn(3, ':').skip(1);
        let (controllers, path) = (words.next()?, words.next()?);
        let is_it = match of_controller {
            true => controllers.split(',').any(|controller| controller == "cpu"),
            false => controllers.is_empty(),
        };
        is_it.then(|| path.to_owned())
    })
}

/// The groups of one episode, each once, and who is in which.
#[derive(Default)]
pub(super) struct Members {
    numbers: HashMap<String, u32>,
    groups: Vec<Group>,
    members: BTreeMap<u32, u32>,
    /// Those that were told to be in another group as well, and that.
    others: BTreeSet<(u32, u32)>,
    /// Threads and the kernel's numbers for their groups, as the last events reported.
    told: HashMap<u32, u32>,
}

/// The group of at most this many threads is looked up by their numbers.
const MAX_ASKED: usize = 64;

impl Members {
    /// Thread `tid` is in a group.
    fn add(&mut self, tid: u32, path: &str, known: &mut Groups, now_ns: u64) {
        let number = match self.numbers.get(path) {
            Some(number) => *number,
            None => {
                let number = self.groups.len() as u32;
                self.groups.push(known.group(path, now_ns));
                self.numbers.insert(path.to_owned(), number);
                number
            }
        };
        let other = self.members.insert(tid, number);
        self.others.extend(other.map(|other| (tid, other)));
    }

    /// An event reported that a thread is in the group that has this number in the kernel.
    pub(super) fn tell(&mut self, tid: u32, number: u32, known: &mut Groups, now_ns: u64) {
        if tid == 0 || self.told.insert(tid, number) == Some(number) {
            return;
        }
        if let Some(path) = known.path(number, now_ns) {
            self.add(tid, &path, known, now_ns);
        }
    }

    /// Looks up those that no event reported.
    pub(super) fn ask_for(&mut self, tids: impl Iterator<Item = u32>, known: &mut Groups, now_ns: u64) {
        let mut missing: Vec<u32> = tids.filter(|tid| *tid != 0 && !self.members.contains_key(tid)).collect();
        missing.sort_unstable();
        missing.dedup();
        for tid in missing.into_iter().take(MAX_ASKED) {
            if let Some(path) = known.path_of_thread(tid) {
                self.add(tid, &path, known, now_ns);
            }
        }
    }

    /// The groups, and the number of each thread's. One that has changed its group has others behind all.
    pub(super) fn into_parts(self) -> (Vec<Group>, Vec<(u32, u32)>) {
        let Members { groups, members, others, .. } = self;
        let is_another = |(tid, number): &(u32, u32)| members.get(tid) != Some(number);
        let others: Vec<(u32, u32)> = others.into_iter().filter(is_another).collect();
        (groups, members.into_iter().chain(others).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controllers_own_hierarchy_goes_first() {
        let both = "30 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                    31 20 0:27 /part /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                    32 20 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
        let found = Hierarchy::of(both).unwrap();
        assert_eq!((found.root.to_str(), found.is_of_controller), (Some("/sys/fs/cgroup/cpu"), true));
        let found = Hierarchy::of(both.lines().next().unwrap()).unwrap();
        assert_eq!((found.root.to_str(), found.is_of_controller), (Some("/sys/fs/cgroup/unified"), false));
        assert_eq!(Hierarchy::of("nothing"), None);
    }

    #[test]
    fn groups_that_come_and_go_take_bounded_memory() {
        let directory = tempfile::tempdir().unwrap();
        let [long, longer, too_long] = ["x", "y", "z"].map(|letter| letter.repeat(250));
        std::fs::create_dir_all(directory.path().join(&long).join(&longer).join(too_long)).unwrap();
        let mut groups = Groups::below(Some(directory.path().to_owned()));
        groups.paths = (1..=MAX_REMEMBERED as u32 + 1).map(|number| (number, "/gone".to_owned())).collect();
        groups.look(1);
        let mut paths: Vec<&str> = groups.paths.values().map(String::as_str).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["/", &format!("/{long}"), &format!("/{long}/{longer}")]);
    }

    #[test]
    fn a_weight_is_read_anew_however_often_it_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("a")).unwrap();
        let set = |weight: &str| std::fs::write(directory.path().join("a/cpu.weight"), weight).unwrap();
        let mut groups = Groups::below(Some(directory.path().to_owned()));
        set("100\n");
        assert_eq!(groups.group("/a", 1).weights, [USUAL_WEIGHT]);
        set("200\n");
        assert_eq!(groups.group("/a", WEIGHT_NS).weights, [USUAL_WEIGHT]);
        assert_eq!(groups.group("/a", WEIGHT_NS + 1).weights, [2 * USUAL_WEIGHT]);
    }

    #[test]
    fn a_threads_path_is_that_of_the_hierarchy() {
        let lines = "5:memory:/m\n4:cpu,cpuacct:/a/b\n0::/c\n";
        assert_eq!(path_in(lines, true).as_deref(), Some("/a/b"));
        assert_eq!(path_in(lines, false).as_deref(), Some("/c"));
        assert_eq!(path_in("0::/c\n", true), None);
    }

    #[test]
    fn a_thread_that_changes_its_group_is_in_both() {
        let (mut members, mut known) = (Members::default(), Groups::new());
        for (tid, number) in [(100, 7), (100, 8), (100, 8), (101, 7)] {
            members.tell(tid, AUTOMATIC | number, &mut known, 0);
        }
        let (groups, members) = members.into_parts();
        let of = |(tid, number): (u32, u32)| (tid, groups[number as usize].path.clone());
        let told: Vec<_> = members.into_iter().map(of).collect();
        let is = |tid: u32, path: &str| (tid, path.to_owned());
        assert_eq!(told, [is(100, "/autogroup-8"), is(101, "/autogroup-7"), is(100, "/autogroup-7")]);
    }

    #[test]
    fn automatic_groups_have_names_of_their_own() {
        let mut groups = Groups::new();
        assert_eq!(groups.path(0, 0), None);
        assert_eq!(groups.path(AUTOMATIC | 7, 0).as_deref(), Some("/autogroup-7"));
        assert_eq!(groups.path(AUTOMATIC - 1, 0).as_deref(), Some("cgroup 2147483647"));
        assert_eq!(groups.group("/autogroup-7", 0).weights, [USUAL_WEIGHT]);
    }
}
