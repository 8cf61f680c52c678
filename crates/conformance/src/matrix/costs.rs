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
        let busy = numbers(&files.join("uptime")).map_or(0.0, |end| busy(&[0.0, 0.0, end[0], end[1]], cpus));
        let each = if busy > 0.0 { used.as_secs_f64() / busy } else { 0.0 };
        Costs { directory, cpus, each }
    }

    /// The cost of a part; `None` if the part did not reach its end.
    pub(super) fn of(&self, part: &str) -> Option<Duration> {
        let times = numbers(&self.directory.join(part).join("times")).filter(|times| times.len() == 4)?;
        Some(Duration::from_secs_f64((busy(&times, self.cpus) * self.each).max(0.0)))
    }
}

/// The seconds for which CPUs were busy between two readings of uptime and idle time.
fn busy(times: &[f64], cpus: f64) -> f64 {
    (times[2] - times[0]) * cpus - (times[3] - times[1])
}

fn numbers(path: &Path) -> Option<Vec<f64>> {
    let text = std::fs::read_to_string(path).ok()?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    (numbers.len() >= 2).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::Costs;
    use std::time::Duration;

    #[test]
    fn a_part_costs_what_it_kept_the_guest_busy() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("0")).unwrap();
        std::fs::write(directory.path().join("uptime"), "50.0 30.0\n").unwrap();
        std::fs::write(directory.path().join("0/times"), "10.0 5.0 20.0 10.0\n").unwrap();
        let used = Duration::from_secs(40);
        let costs = Costs::new(directory.path(), used, directory.path().to_owned(), 1);
        assert_eq!(costs.of("0"), Some(Duration::from_secs(10)));
        assert_eq!(costs.of("1"), None);
    }
}
