//! What each part of a guest's run cost.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the parts of a guest's run cost, in time of the host's processors: each part's share is the time for which it
/// kept the guest busy.
pub(super) struct Costs {
    directory: PathBuf,
    cpus: f64,
    /// The host's seconds for each second in which the guest is busy.
    each: f64,
}

impl Costs {
    /// `files` is what a guest left that took `used`, with its final `uptime`; `directory` has the directories of the
    /// parts.
    pub(super) fn new(files: &Path, used: Duration, directory: PathBuf, cpus: u32) -> Costs {
        let cpus = f64::from(cpus);
        let end = Reading::all(&files.join("uptime")).first().copied();
        let busy = end.map_or(0.0, |end| end.busy_since(Reading::default(), cpus));
        let each = if busy > 0.0 { used.as_secs_f64() / busy } else { 0.0 };
        Costs { directory, cpus, each }
    }

    /// The cost of a part; `None` if the part did not reach its end.
    pub(super) fn of(&self, part: &str) -> Option<Duration> {
        let [began, ended] = Reading::all(&self.directory.join(part).join("times"))[..] else { return None };
        Some(Duration::from_secs_f64((ended.busy_since(began, self.cpus) * self.each).max(0.0)))
    }
}

/// What a guest's kernel has counted until some moment, s.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    up: f64,
    idle: f64,
    /// How long threads have run, on all CPUs together; 0 from a kernel that does not say.
    ran: f64,
}

impl Reading {
    /// The readings in a file, of three numbers each: uptime and idle time in seconds, and in nanoseconds how long threads
    /// have run.
    fn all(path: &Path) -> Vec<Reading> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        numbers
            .chunks_exact(3)
            .map(|reading| Reading { up: reading[0], idle: reading[1], ran: reading[2] / 1e9 })
            .collect()
    }

    /// The seconds for which CPUs were busy since an earlier reading. What is left of the time without the idle time is
    /// the difference of two large numbers in a guest that sleeps nearly all the time, and Linux 7.3 counts more idle time
    /// than passes where a thread wakes often: its drills came out as nothing.
    fn busy_since(self, earlier: Reading, cpus: f64) -> f64 {
        if self.ran > 0.0 { self.ran - earlier.ran } else { (self.up - earlier.up) * cpus - (self.idle - earlier.idle) }
    }
}

#[cfg(test)]
mod tests {
    use super::Costs;
    use std::time::Duration;

    fn costs(uptime: &str, times: &str) -> Option<Duration> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("0")).unwrap();
        std::fs::write(directory.path().join("uptime"), uptime).unwrap();
        std::fs::write(directory.path().join("0/times"), times).unwrap();
        let costs = Costs::new(directory.path(), Duration::from_secs(40), directory.path().to_owned(), 1);
        assert_eq!(costs.of("1"), None);
        costs.of("0")
    }

    #[test]
    fn a_part_costs_what_it_kept_the_guest_busy() {
        assert_eq!(costs("50.0 30.0 0\n", "10.0 5.0 0 20.0 10.0 0\n"), Some(Duration::from_secs(10)));
        assert_eq!(costs("50.0 30.0 0\n", "10.0 5.0 0\n"), None);
    }

    #[test]
    fn idle_time_that_is_too_large_hides_no_cost() {
        // By its idle time, this guest was busy for less than nothing.
        let cost = costs("500.0 501.0 20000000000\n", "100.0 99.0 8000000000 200.0 200.5 9000000000\n");
        assert_eq!(cost, Some(Duration::from_secs(2)));
    }
}
