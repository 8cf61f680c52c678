//! Other people's BPF programs at tracepoints inside interrupts: they have no stamps of their own, but the kernel can
//! measure how long they ran.

use punctual_kernel::bpf::enable_run_time_statistics;
use punctual_kernel::bpf_programs::{self, ProgramList};
use punctual_kernel::clock;
use punctual_recording::episode::HookedProgram;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;

/// Tracepoints that are passed in interrupts and softirqs.
const INSIDE: [&str; 11] = [
    "hrtimer_expire_entry",
    "hrtimer_expire_exit",
    "irq_handler_entry",
    "irq_handler_exit",
    "softirq_entry",
    "softirq_exit",
    "timer_expire_entry",
    "timer_expire_exit",
    "sched_waking",
    "local_timer_entry",
    "local_timer_exit",
];
/// The list of programs is read anew this often, ns, and as soon as there is a new one.
const LIST_NS: u64 = 500_000_000;
/// Readings are kept this long, ns.
const KEPT_NS: u64 = 2_000_000_000;

/// Run times of the programs, read between two times: on a busy machine those are apart.
struct Reading {
    begun_ns: u64,
    done_ns: u64,
    run_ns: Vec<(u32, u64)>,
}

/// Watches such programs.
pub(crate) struct HookWatch {
    list: ProgramList,
    /// Programs of this process.
    own: Vec<u32>,
    /// Number, name, tracepoint.
    present: Vec<(u32, String, String)>,
    listed_ns: u64,
    /// The highest number of a program when they were listed.
    newest: u32,
    readings: VecDeque<Reading>,
    /// Held while such programs exist: measuring costs every program on the machine tens of nanoseconds a run.
    statistics: Option<OwnedFd>,
}

impl HookWatch {
    pub(crate) fn new(own: Vec<u32>) -> HookWatch {
        HookWatch {
            list: ProgramList::default(),
            own,
            present: Vec::new(),
            listed_ns: 0,
            newest: 0,
            readings: VecDeque::new(),
            statistics: None,
        }
    }

    /// Reads the run times; call this often.
    pub(crate) fn read(&mut self, now_ns: u64) {
        let is_old = now_ns - self.listed_ns >= LIST_NS || self.listed_ns == 0;
        if is_old || bpf_programs::has_newer(self.newest) {
            self.listed_ns = now_ns;
            self.newest = bpf_programs::present().last().copied().unwrap_or(0);
            let programs = self.list.now().into_iter();
            let mut found = programs
                .filter(|program| !self.own.contains(&program.id) && INSIDE.contains(&program.hook.as_str()))
                .collect::<Vec<_>>();
            found.sort_by_key(|program| program.id);
            self.present = found.into_iter().map(|program| (program.id, program.name, program.hook)).collect();
            if self.present.is_empty() {
                self.statistics = None;
                self.readings.clear();
            } else if self.statistics.is_none() {
                self.statistics = enable_run_time_statistics().ok();
            }
        }
        if self.statistics.is_none() {
            return;
        }
        let begun_ns = clock::monotonic_ns();
        let run_ns = self.present.iter().filter_map(|(id, ..)| Some((*id, self.list.run_time_ns(*id)?))).collect();
        self.readings.push_back(Reading { begun_ns, done_ns: clock::monotonic_ns(), run_ns });
        while self.readings.front().is_some_and(|oldest| begun_ns.saturating_sub(oldest.begun_ns) > KEPT_NS) {
            self.readings.pop_front();
        }
    }

    /// The programs that existed between two times, with how long they ran in the readings around them.
    pub(crate) fn between(&self, start_ns: u64, end_ns: u64) -> Vec<HookedProgram> {
        let before = self.readings.iter().rev().find(|reading| reading.done_ns <= start_ns);
        let after = self.readings.iter().find(|reading| reading.begun_ns >= end_ns);
        let of = |reading: Option<&Reading>, id: u32| {
            reading?.run_ns.iter().find(|(other, _)| *other == id).map(|(_, run_ns)| *run_ns)
        };
        self.present
            .iter()
            .map(|(id, name, hook)| HookedProgram {
                name: name.clone(),
                hook: hook.clone(),
                ran_ns: of(before, *id).zip(of(after, *id)).map(|(before, after)| after.saturating_sub(before)),
            })
            .collect()
    }
}
