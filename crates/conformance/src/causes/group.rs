//! Control groups, version 1 or version 2, whichever this machine has.

use super::scene::{Refused, Scene};
use super::system::Pid;
use std::fs;
use std::path::{Path, PathBuf};

/// How the names of groups begin, before the examiner's process id.
const BEGINNING: &str = "causes-";

/// A group with a controller; [`sweep`] removes it.
pub(crate) struct Group {
    path: PathBuf,
    second: bool,
}

struct Mount {
    path: PathBuf,
    second: bool,
}

fn mounts() -> Vec<(Mount, String)> {
    let text = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mount = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (path, kind, options) = (words.next()?, words.next()?, words.next()?);
        let second = kind == "cgroup2";
        (second || kind == "cgroup").then(|| (Mount { path: path.into(), second }, options.to_owned()))
    };
    text.lines().filter_map(mount).collect()
}

/// The controller is named as in version 1; version 2 has another name for disks.
fn with(controller: &str) -> Result<Mount, Refused> {
    for (mount, options) in mounts() {
        let has = if mount.second {
            let has =
                fs::read_to_string(mount.path.join("cgroup.controllers")).unwrap_or_default().replace("io", "io blkio");
            controller == "freezer" || has.split_whitespace().any(|word| word == controller)
        } else {
            options.split(',').any(|word| word == controller)
        };
        if has && !(mount.second && controller == "freezer" && first_has("freezer")) {
            return Ok(mount);
        }
    }
    Err(Refused(format!("no control group controller {controller}")))
}

fn first_has(controller: &str) -> bool {
    mounts().iter().any(|(mount, options)| !mount.second && options.split(',').any(|word| word == controller))
}

impl Group {
    pub(crate) fn new(scene: &Scene, controller: &str, name: &str) -> Result<Group, Refused> {
        let Mount { path, second } = with(controller)?;
        if second && controller != "freezer" {
            fs::write(path.join("cgroup.subtree_control"), format!("+{}", controller.replace("blkio", "io")))
                .map_err(|error| Refused(format!("the controller {controller}: {error}")))?;
        }
        let path = path.join(format!("{BEGINNING}{}-{name}", scene.owner));
        fs::create_dir(&path).map_err(|error| Refused(format!("{}: {error}", path.display())))?;
        Ok(Group { path, second })
    }

    fn set(&self, file: &str, value: &str) -> Result<(), Refused> {
        let path = self.path.join(file);
        fs::write(&path, value).map_err(|error| Refused(format!("{}: {error}", path.display())))
    }

    pub(crate) fn take(&self, pid: Pid) -> Result<(), Refused> {
        self.set("cgroup.procs", &pid.to_string())
    }

    /// Limits CPU time to `quota` in each `period`, us.
    pub(crate) fn limit(&self, quota: u64, period: u64) -> Result<(), Refused> {
        if self.second {
            return self.set("cpu.max", &format!("{quota} {period}"));
        }
        self.set("cpu.cfs_period_us", &period.to_string())?;
        self.set("cpu.cfs_quota_us", &quota.to_string())
    }

    /// Limits the time of real-time threads in each period, us; only version 1 has that.
    pub(crate) fn limit_real_time(&self, budget: u64, period: u64) -> Result<(), Refused> {
        self.set("cpu.rt_period_us", &period.to_string())?;
        self.set("cpu.rt_runtime_us", &budget.to_string())
    }

    /// Limits memory, bytes.
    pub(crate) fn allow_memory(&self, bytes: u64) -> Result<(), Refused> {
        self.set(if self.second { "memory.max" } else { "memory.limit_in_bytes" }, &bytes.to_string())
    }

    /// Limits what may be read from a disk per second, bytes.
    pub(crate) fn limit_reads(&self, major: u32, minor: u32, bytes: u64) -> Result<(), Refused> {
        if self.second {
            return self.set("io.max", &format!("{major}:{minor} rbps={bytes}"));
        }
        self.set("blkio.throttle.read_bps_device", &format!("{major}:{minor} {bytes}"))
    }

    /// Limits what may be written to a disk per second, bytes.
    pub(crate) fn limit_writes(&self, major: u32, minor: u32, bytes: u64) -> Result<(), Refused> {
        if self.second {
            return self.set("io.max", &format!("{major}:{minor} wbps={bytes}"));
        }
        self.set("blkio.throttle.write_bps_device", &format!("{major}:{minor} {bytes}"))
    }

    /// Allows it only this CPU.
    pub(crate) fn place(&self, cpu: usize) -> Result<(), Refused> {
        if !self.second {
            self.set("cpuset.mems", "0")?;
        }
        self.set("cpuset.cpus", &cpu.to_string())
    }

    /// For how long it has been throttled, ns, summed over its CPUs.
    pub(crate) fn throttled_ns(&self) -> u64 {
        let text = fs::read_to_string(self.path.join("cpu.stat")).unwrap_or_default();
        let number = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|number| number.trim().parse::<u64>().ok())
        };
        number("throttled_time ").or(number("throttled_usec ").map(|us| us * 1000)).unwrap_or_default()
    }

    /// Gives it this many times the usual weight.
    pub(crate) fn weigh(&self, times: u64) -> Result<(), Refused> {
        if self.second {
            return self.set("cpu.weight", &(100 * times).to_string());
        }
        self.set("cpu.shares", &(1024 * times).to_string())
    }

    pub(crate) fn freeze(&self, frozen: bool) -> Result<(), Refused> {
        match (self.second, frozen) {
            (true, true) => self.set("cgroup.freeze", "1"),
            (true, false) => self.set("cgroup.freeze", "0"),
            (false, true) => self.set("freezer.state", "FROZEN"),
            (false, false) => self.set("freezer.state", "THAWED"),
        }
    }
}

/// Removes the groups of an examiner, and those of examiners that were killed. Their processes have ended.
pub(crate) fn sweep(owner: Pid) {
    for (mount, _) in mounts() {
        for entry in fs::read_dir(mount.path).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(of) = name.strip_prefix(BEGINNING).and_then(|rest| rest.split('-').next()) else { continue };
            if of == owner.to_string() || !Path::new(&format!("/proc/{of}")).exists() {
                remove(&entry.path());
            }
        }
    }
}

fn remove(path: &Path) {
    // A frozen group cannot end.
    let _ = fs::write(path.join("freezer.state"), "THAWED");
    let _ = fs::write(path.join("cgroup.freeze"), "0");
    // A process leaves its group a little after it has ended.
    for _ in 0..100 {
        if fs::remove_dir(path).is_ok() {
            return;
        }
        super::system::sleep(10_000_000);
    }
    eprintln!("causes: {} could not be removed", path.display());
}
