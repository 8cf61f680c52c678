//! What the kernel says, without any privilege, of a process and those that it started.

use punctual_kernel::hardware_counters::{Counted, HardwareCounters, Reading};
use punctual_kernel::stat_line::StatLine;
use punctual_recording::{HardwareCounts, InputCounters};
use std::collections::HashMap;
use std::path::Path;

/// How many threads are examined; a program with more is only partly examined.
const MAX_THREADS: usize = 256;
/// The same for processes.
const MAX_PROCESSES: usize = 64;

/// What was spent between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// CPU time of the threads that exist at the end, ns.
    pub(crate) cpu_ns: Option<u64>,
    /// Time that they were kept from a CPU, ns.
    pub(crate) delayed_ns: Option<u64>,
    pub(crate) counters: InputCounters,
}

/// What a thread has spent so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct OfThread {
    /// CPU time and time kept from a CPU, ns.
    times: Option<[u64; 2]>,
    /// Sleeps, preemptions, changes of CPU.
    counts: [Option<u64>; 3],
}

/// What a process has spent so far, including ended threads and children that it has waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct OfProcess {
    /// Page faults, without a disk and with one.
    faults: [Option<u64>; 2],
    /// How many of the former belong to children that it has waited for.
    of_ended: Option<u64>,
    /// Reads, writes, the bytes of both, and those of disks.
    io: [Option<u64>; 6],
}

/// A reading of a process and its descendants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Account {
    threads: HashMap<u32, OfThread>,
    processes: HashMap<u32, OfProcess>,
    /// What the processor counts.
    hardware: Reading,
    /// Whether there were more, or some ended meanwhile.
    is_partial: bool,
}

impl Account {
    /// With what the processor has counted.
    pub(crate) fn with(self, counters: &HardwareCounters) -> Account {
        Account { hardware: counters.read(), ..self }
    }

    /// What was spent since an earlier reading. Counts cover everybody, or are absent.
    pub(crate) fn since(&self, before: &Account) -> Spent {
        let is_partial = self.is_partial || before.is_partial || self.lost_since(before);
        let of_all = |value: &dyn Fn(&OfProcess) -> Option<u64>| {
            let sum = |account: &Account| account.processes.values().map(value).sum::<Option<u64>>();
            sum(self)?.checked_sub(sum(before)?).filter(|_| !is_partial)
        };
        // Nobody tells how often an ended thread slept.
        let has_ended = before.threads.keys().any(|thread| !self.threads.contains_key(thread))
            || self.of_ended() != before.of_ended();
        let of_threads = |at: usize| {
            let since = self.threads.iter().map(|(thread, now)| {
                let before = before.threads.get(thread).map_or(Some(0), |before| before.counts[at]);
                now.counts[at]?.checked_sub(before?)
            });
            since.sum::<Option<u64>>().filter(|_| !is_partial && !has_ended)
        };
        let cpu_ns = self.time_since(before, 0);
        let [reads, writes, read_bytes, written_bytes, disk_read_bytes, disk_written_bytes] =
            std::array::from_fn(|at| of_all(&|process| process.io[at]));
        let counters = InputCounters {
            minor_faults: of_all(&|process| process.faults[0]),
            major_faults: of_all(&|process| process.faults[1]),
            waits: of_threads(0),
            preemptions: of_threads(1),
            migrations: of_threads(2),
            reads,
            writes,
            read_bytes,
            written_bytes,
            disk_read_bytes,
            disk_written_bytes,
            hardware: self.hardware_since(before, cpu_ns),
        };
        Spent { cpu_ns, delayed_ns: self.time_since(before, 1), counters }
    }

    /// What the processor counted since; of a program that ran and was not counted meanwhile nothing is known.
    fn hardware_since(&self, before: &Account, cpu_ns: Option<u64>) -> HardwareCounts {
        let mut least: Option<u64> = None;
        let counts = std::array::from_fn(|at| {
            let (value, thousandths) = counted_since(self.hardware[at]?, before.hardware[at]?, cpu_ns)?;
            least = Some(least.unwrap_or(thousandths).min(thousandths));
            Some(value)
        });
        HardwareCounts::of(counts, least)
    }

    fn time_since(&self, before: &Account, at: usize) -> Option<u64> {
        let times = self.threads.iter().filter_map(|(thread, now)| {
            let before = before.threads.get(thread).and_then(|before| before.times);
            Some(now.times?[at].saturating_sub(before.map_or(0, |times| times[at])))
        });
        times.reduce(u64::saturating_add)
    }

    /// Page faults of children that were waited for.
    fn of_ended(&self) -> Option<u64> {
        self.processes.values().map(|process| process.of_ended).sum()
    }

    /// Whether a process of the earlier reading is gone without anybody in the program having waited for it: what it
    /// spent is nowhere.
    fn lost_since(&self, before: &Account) -> bool {
        let gone = before.processes.iter().filter(|(process, _)| !self.processes.contains_key(process));
        let gone: Vec<&OfProcess> = gone.map(|(_, of)| of).collect();
        if gone.is_empty() {
            return false;
        }
        // What is gone had these, which include those that it had waited for: they were counted then.
        let spent: Option<u64> = gone.iter().map(|of| of.faults[0]?.checked_sub(of.of_ended?)).sum();
        let taken_over = self.of_ended().zip(before.of_ended()).and_then(|(now, before)| now.checked_sub(before));
        spent.zip(taken_over).is_none_or(|(spent, taken_over)| taken_over < spent)
    }

    /// Adds a process and its threads, and returns its children; `false` if it has ended, or not everything about it is
    /// known.
    fn add(&mut self, process: u32, children: &mut Vec<u32>) -> bool {
        let directory = format!("/proc/{process}");
        let (Some(stat), Ok(tasks)) = (StatLine::of_process(process), Path::new(&directory).join("task").read_dir())
        else {
            return false;
        };
        self.processes.insert(process, OfProcess::of(&stat, &words(&format!("{directory}/io")).unwrap_or_default()));
        let mut is_whole = true;
        for task in tasks.flatten() {
            if self.threads.len() >= MAX_THREADS {
                return false;
            }
            let of = |name: &str| words(&format!("{}/{name}", task.path().display()));
            let thread = task.file_name().to_str().and_then(|name| name.parse().ok());
            let (Some(thread), Some(status)) = (thread, of("status")) else {
                is_whole = false;
                continue;
            };
            let [times, moves] = ["schedstat", "sched"].map(|name| of(name).unwrap_or_default());
            self.threads.insert(thread, OfThread::of(&times, &status, &moves));
            match of("children") {
                Some(list) => children.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok())),
                None => is_whole = false,
            }
        }
        is_whole
    }
}

/// What a process and its descendants have spent so far; `None` if it does not exist.
pub(crate) fn spent_by(process: u32) -> Option<Account> {
    let mut account = Account::default();
    let mut waiting = vec![process];
    while let Some(process) = waiting.pop() {
        if account.processes.contains_key(&process) {
            continue;
        }
        if account.processes.len() >= MAX_PROCESSES || account.threads.len() >= MAX_THREADS {
            account.is_partial = true;
            break;
        }
        account.is_partial |= !account.add(process, &mut waiting);
    }
    (!account.processes.is_empty()).then_some(account)
}

/// A process and its descendants, as far as they are examined.
pub(crate) fn program_of(process: u32) -> Vec<u32> {
    let (mut found, mut waiting) = (Vec::new(), vec![process]);
    while let Some(process) = waiting.pop() {
        if found.len() >= MAX_PROCESSES || found.contains(&process) {
            continue;
        }
        let Ok(tasks) = Path::new(&format!("/proc/{process}/task")).read_dir() else { continue };
        found.push(process);
        for task in tasks.flatten().take(MAX_THREADS) {
            let list = words(&format!("{}/children", task.path().display())).unwrap_or_default();
            waiting.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    found
}

impl OfThread {
    fn of(schedstat: &str, status: &str, sched: &str) -> OfThread {
        let counts = [
            named_number(status, "voluntary_ctxt_switches"),
            named_number(status, "nonvoluntary_ctxt_switches"),
            named_number(sched, "se.nr_migrations"),
        ];
        OfThread { times: times(schedstat), counts }
    }
}

impl OfProcess {
    fn of(stat: &StatLine, io: &str) -> OfProcess {
        // Its own, and those of children that have ended: first the ones without reading from a disk, then the others.
        let [own, of_ended, own_from_disk, of_ended_from_disk] =
            [10, 11, 12, 13].map(|number| stat.field::<u64>(number));
        let both = |own: Option<u64>, of_ended: Option<u64>| own?.checked_add(of_ended?);
        let names = ["syscr", "syscw", "rchar", "wchar", "read_bytes", "write_bytes"];
        OfProcess {
            faults: [both(own, of_ended), both(own_from_disk, of_ended_from_disk)],
            of_ended,
            io: names.map(|name| named_number(io, name)),
        }
    }
}

/// What a counter of the processor had counted since, and for how many thousandths of the time that it should have; events
/// that take turns are scaled up to all of it.
fn counted_since(now: Counted, before: Counted, cpu_ns: Option<u64>) -> Option<(u64, u64)> {
    let value = now.value.checked_sub(before.value)?;
    let wanted_ns = now.wanted_ns.checked_sub(before.wanted_ns)?;
    let counted_ns = now.counted_ns.checked_sub(before.counted_ns)?;
    if wanted_ns == 0 {
        // Whoever becomes a program of another user's is counted no longer.
        return (cpu_ns == Some(0) && value == 0).then_some((0, 1_000));
    }
    let scale = |part: u64| u128::from(part) * u128::from(wanted_ns) / u128::from(counted_ns.max(1));
    let thousandths = u128::from(counted_ns) * 1_000 / u128::from(wanted_ns);
    (counted_ns > 0).then_some((u64::try_from(scale(value)).ok()?, thousandths.min(1_000) as u64))
}

/// From `139000 1700 4`.
fn times(words: &str) -> Option<[u64; 2]> {
    let mut words = words.split_whitespace();
    Some([words.next()?.parse().ok()?, words.next()?.parse().ok()?])
}

/// One of the kernel's files; a process's name may be anything, in no encoding.
fn words(path: &str) -> Option<String> {
    std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The number after a name at the beginning of a line.
fn named_number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, number) = lines.find(|(before, _)| before.trim_end() == name)?;
    number.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(count: u64) -> OfThread {
        OfThread { times: Some([count * 10, count]), counts: [Some(count); 3] }
    }

    fn process(own: u64, of_ended: u64) -> OfProcess {
        let all = Some(own + of_ended);
        OfProcess { faults: [all, Some(0)], of_ended: Some(of_ended), io: [all; 6] }
    }

    fn account(threads: &[(u32, OfThread)], processes: &[(u32, OfProcess)]) -> Account {
        let (threads, processes) = (threads.iter().copied().collect(), processes.iter().copied().collect());
        Account { threads, processes, ..Account::default() }
    }

    #[test]
    fn the_kernels_words_are_read() {
        assert_eq!(times("139000 1700 4\n"), Some([139_000, 1_700]));
        assert_eq!(times(""), None);
        let stat = "7 (a) b) S 1 7 7 34817 7 4194304 123 20 5 3 1 2";
        let io = "rchar: 11\nwchar: 12\nsyscr: 13\nsyscw: 14\nread_bytes: 15\nwrite_bytes: 16\n";
        let read = OfProcess::of(&StatLine::parsed(stat).unwrap(), io);
        assert_eq!((read.faults, read.of_ended), ([Some(143), Some(8)], Some(20)));
        assert_eq!(read.io, [13, 14, 11, 12, 15, 16].map(Some));
        assert_eq!(OfProcess::of(&StatLine::parsed("7 (a)").unwrap(), ""), OfProcess::default());
        let status = "voluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t3\n";
        let sched = "se.nr_migrations                             :                    2\n";
        assert_eq!(OfThread::of("5 6 7", status, sched).counts, [Some(9), Some(3), Some(2)]);
        assert_eq!(OfThread::of("5 6 7", status, "").counts, [Some(9), Some(3), None]);
    }

    #[test]
    fn what_is_there_all_the_time_is_counted() {
        let before = account(&[(7, thread(5))], &[(7, process(100, 40))]);
        let now = account(&[(7, thread(8)), (8, thread(2))], &[(7, process(130, 40))]);
        let Spent { cpu_ns, delayed_ns, counters } = now.since(&before);
        assert_eq!((cpu_ns, delayed_ns), (Some(50), Some(5)));
        assert_eq!((counters.waits, counters.minor_faults, counters.major_faults), (Some(5), Some(30), Some(0)));
        // What one process does not tell cannot be told of all.
        let mut other = now.clone();
        other.processes.insert(9, OfProcess { io: [None; 6], ..process(1, 0) });
        let counters = other.since(&before).counters;
        assert_eq!((counters.reads, counters.minor_faults), (None, Some(31)));
        let partial = Account { is_partial: true, ..now };
        assert_eq!(partial.since(&before).counters, InputCounters::default());
    }

    #[test]
    fn what_the_processor_counted_for_a_part_of_the_time_is_scaled_and_what_it_did_not_count_is_not_known() {
        let read = |value, wanted_ns, counted_ns| Counted { value, wanted_ns, counted_ns };
        let before = read(100, 1_000, 1_000);
        let since = |now, cpu_ns| counted_since(now, before, Some(cpu_ns));
        assert_eq!(since(read(700, 3_000, 3_000), 2_000), Some((600, 1_000)));
        assert_eq!(since(read(700, 3_000, 1_500), 2_000), Some((2_400, 250)), "it had a quarter of the time");
        assert_eq!(since(read(100, 3_000, 1_000), 2_000), None, "it had no turn");
        assert_eq!(since(before, 0), Some((0, 1_000)), "the program did not run");
        assert_eq!(since(before, 2_000), None, "it ran and was not counted");
        assert_eq!(counted_since(before, before, None), None);
        assert_eq!(since(read(99, 3_000, 3_000), 2_000), None, "it went backwards");

        let with = |hardware: Reading| Account { hardware, ..account(&[(7, thread(5))], &[(7, process(100, 40))]) };
        let [one, other] = [before, read(700, 3_000, 1_500)].map(Some);
        let mut now = with([other, None, other, None, one, None]);
        now.threads.insert(7, thread(8));
        let hardware = now.since(&with([one, None, one, None, None, one])).counters.hardware;
        let user = (hardware.cycles_user, hardware.instructions_user, hardware.cache_misses_user);
        assert_eq!(user, (Some(2_400), Some(2_400), None));
        assert_eq!((hardware.cycles_kernel, hardware.cache_misses_kernel), (None, None));
        assert_eq!(hardware.counted_thousandths, Some(250));
    }

    #[test]
    fn whoever_ends_takes_its_sleeps_along_and_leaves_its_faults_to_who_waited_for_it() {
        let before = account(&[(7, thread(5)), (9, thread(5))], &[(7, process(100, 40)), (9, process(50, 0))]);
        let reaped = account(&[(7, thread(6))], &[(7, process(100, 95))]);
        let counters = reaped.since(&before).counters;
        assert_eq!((counters.waits, counters.minor_faults, counters.reads), (None, Some(5), Some(5)));
        // Somebody else now waits for it.
        let lost = account(&[(7, thread(6))], &[(7, process(200, 40))]);
        assert_eq!(lost.since(&before).counters, InputCounters::default());
        // One that came and went.
        let early = account(&[(7, thread(5))], &[(7, process(100, 40))]);
        let counters = reaped.since(&early).counters;
        assert_eq!((counters.waits, counters.minor_faults), (None, Some(55)));
        // A thread that ended.
        let two = account(&[(7, thread(5)), (8, thread(5))], &[(7, process(100, 40))]);
        let one = account(&[(7, thread(6))], &[(7, process(110, 40))]);
        assert_eq!((one.since(&two).counters.waits, one.since(&two).counters.writes), (None, Some(10)));
    }

    #[test]
    fn what_this_process_does_is_counted() {
        let before = spent_by(std::process::id()).expect("this process");
        let bytes = std::fs::read("/proc/self/exe").expect("this program").len();
        let after = spent_by(std::process::id()).expect("this process");
        assert_eq!(spent_by(u32::MAX), None);
        let spent = after.since(&before);
        assert!(spent.cpu_ns > Some(0), "{spent:?}");
        // If other tests start threads meanwhile, a reading may be partial.
        if !before.is_partial && !after.is_partial {
            let counters = spent.counters;
            assert!(counters.minor_faults > Some(0) && counters.read_bytes >= Some(bytes as u64), "{counters:?}");
        }
    }
}
