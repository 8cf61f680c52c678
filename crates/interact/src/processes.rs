//! What the kernel says without any privilege of a process and those that it started.

use std::collections::HashSet;

/// Threads that are looked at; a program with more is not looked at in all.
const MAX_THREADS: usize = 256;
/// Processes likewise.
const MAX_PROCESSES: usize = 64;

/// CPU time and time kept from a CPU, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) cpu_ns: u64,
    pub(crate) delayed_ns: u64,
}

impl Spent {
    /// What was added since; where a thread has ended meanwhile it is less than it was.
    pub(crate) fn since(self, before: Spent) -> Spent {
        Spent {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            delayed_ns: self.delayed_ns.saturating_sub(before.delayed_ns),
        }
    }
}

/// What a process and those below it have spent so far; `None` where this kernel does not say.
pub(crate) fn spent_by(process: u32) -> Option<Spent> {
    let mut sum = None;
    let (mut waiting, mut seen, mut threads) = (vec![process], HashSet::new(), 0);
    while let Some(process) = waiting.pop() {
        if seen.len() >= MAX_PROCESSES || threads >= MAX_THREADS {
            break;
        }
        if !seen.insert(process) {
            continue;
        }
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        for task in tasks {
            threads += 1;
            if threads > MAX_THREADS {
                break;
            }
            let words = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            if let Some(spent) = parse(&words) {
                let sum = sum.get_or_insert(Spent::default());
                sum.cpu_ns += spent.cpu_ns;
                sum.delayed_ns += spent.delayed_ns;
            }
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            waiting.extend(children.split_whitespace().take(MAX_PROCESSES).filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    sum
}

/// From `139000 1700 4`.
fn parse(words: &str) -> Option<Spent> {
    let mut words = words.split_whitespace();
    Some(Spent { cpu_ns: words.next()?.parse().ok()?, delayed_ns: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_read() {
        assert_eq!(parse("139000 1700 4\n"), Some(Spent { cpu_ns: 139_000, delayed_ns: 1_700 }));
        assert_eq!(parse(""), None);
        let (early, late) = (Spent { cpu_ns: 5, delayed_ns: 9 }, Spent { cpu_ns: 8, delayed_ns: 4 });
        assert_eq!(late.since(early), Spent { cpu_ns: 3, delayed_ns: 0 });
        assert_eq!(spent_by(u32::MAX), None);
    }
}
