//! Turns what was copied out of the rings into an episode, with names instead of addresses.

use super::armers::{Armers, armer};
use super::disk_limits::{DiskGroups, name_limits};
use super::ended_threads::EndedThreads;
use super::faulted::name_faults;
use super::groups::{Groups, Members};
use super::kernel_code::KernelCode;
use super::late_wakeup::LateWakeup;
use super::maps::Maps;
use super::processes::Processes;
use super::rings::{Copied, is_whole};
use super::symbols::{KernelSymbols, place};
use crate::followed::shown;
use crate::shared::event_ring::{Record, Stack};
use punctual_kernel::clock;
use punctual_recording::episode::{Event, EventKind, Frame, HELD_BACK_WORK, HookedProgram, StackSample, Victim};
use punctual_recording::{Episode, Softirq};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Everything that was taken of an episode; none of it is looked up yet.
pub(crate) struct Evidence {
    pub(crate) late: LateWakeup,
    pub(crate) threshold_ns: u64,
    pub(crate) usual_delivery_ns: u64,
    pub(crate) fault_path_ns: u64,
    pub(crate) sample_period_ns: u64,
    pub(crate) nesting_known: bool,
    pub(crate) missed_runs: u64,
    pub(crate) copied: Vec<(u32, Copied)>,
    pub(crate) programs: Vec<HookedProgram>,
    /// See [`Episode::disk_limit`], whether or not anything was held back.
    pub(crate) disk_limit: Option<String>,
}

impl Evidence {
    /// How much memory it takes, roughly.
    pub(crate) fn bytes(&self) -> u64 {
        let copied = |(_, copied): &(u32, Copied)| {
            copied.records.capacity() * size_of::<Record>() + copied.stacks.capacity() * size_of::<Stack>()
        };
        let rings: usize = self.copied.iter().map(copied).sum();
        let programs: usize = self.programs.iter().map(|program| 128 + program.name.len()).sum();
        (size_of::<Evidence>() + rings + programs) as u64
    }

    /// Whether a part of what the recorder saw is missing.
    pub(crate) fn has_hole(&self) -> bool {
        !is_whole(&self.copied)
    }
}

/// Two stamps of one waking are no further apart than this, ns.
const SAME_NS: u64 = 10_000;

/// What the names of measuring threads begin with.
const MEASURED: &str = "measure-";

/// Makes episodes; remembers symbols between them.
pub(crate) struct Investigator {
    looks_up_faults: bool,
    kernel: KernelCode,
    maps: Maps,
    groups: Groups,
    disk_groups: DiskGroups,
    armers: Armers,
    processes: Processes,
    /// This process's threads that are not measured.
    own: BTreeSet<u32>,
}

/// Names and frames of one episode, each once.
#[derive(Default)]
struct Tables {
    names: Vec<String>,
    name_numbers: HashMap<String, u32>,
    frames: Vec<Frame>,
    frame_numbers: HashMap<Frame, u32>,
    members: Members,
}

impl Tables {
    fn name(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.name_numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.name_numbers.insert(name.to_owned(), number);
        number
    }

    fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(&number) = self.frame_numbers.get(&frame) {
            return number;
        }
        let number = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.frame_numbers.insert(frame, number);
        number
    }
}

impl Investigator {
    /// `symbols`: the kernel's. `own`: this process's programs. `ended`: the recorder's, if it knows about ends.
    /// `looks_up_faults`: whether the place of a page fault is whatever is mapped there now; not for evidence that waits
    /// for long, since something else may be there by then.
    pub(crate) fn new(
        symbols: KernelSymbols,
        own: &[u32],
        ended: Option<Arc<EndedThreads>>,
        looks_up_faults: bool,
    ) -> Investigator {
        Investigator {
            looks_up_faults,
            kernel: KernelCode::with(symbols, own),
            maps: Maps::default(),
            groups: Groups::new(),
            disk_groups: DiskGroups::new(),
            armers: Armers::new(ended),
            processes: Processes::new(),
            own: BTreeSet::new(),
        }
    }

    /// What it knows of the kernel's functions.
    pub(super) fn into_kernel_code(self) -> KernelCode {
        self.kernel
    }

    /// The episode with this number.
    pub(crate) fn investigate(&mut self, id: u64, evidence: &Evidence) -> Episode {
        // First what may vanish: the memory maps of those who ran, and programs loaded since.
        self.see_processes(&evidence.copied);
        self.kernel.refresh();
        self.own = own_threads();
        let mut tables = Tables::default();
        let (mut events, mut samples) = self.named(evidence, &mut tables);
        let broken =
            evidence.copied.iter().rev().find_map(|(cpu, copied)| Some(format!("CPU {cpu}: {}", copied.broken?)));
        if self.looks_up_faults {
            name_faults(&mut events, &evidence.late, &mut |name| tables.name(name));
        }
        let own = &self.own;
        self.armers.name(&mut events, &mut |tid, name| tables.name(&with_owner(own, tid, name)));
        tables.members.ask_for(events.iter().map(|event| event.tid), &mut self.groups, clock::monotonic_ns());
        let processes = self.processes.of(&evidence.late, &evidence.copied, &events);
        let is_held_back = |event: &Event| is_held_back(event, &tables.names);
        let disk_limit = evidence.disk_limit.clone().filter(|_| events.iter().any(is_held_back));
        events.sort_by_key(|event| event.at_ns);
        self.name_limits(&mut events, &mut tables);
        let (groups, members) = tables.members.into_parts();
        samples.sort_by_key(|sample| sample.at_ns);
        let late = &evidence.late;
        let Bounds { waking, expected_ns, end_ns } = Bounds::of(late, &events);
        let void = broken.or_else(|| waking.is_none().then(|| why_silent(late, &events, &tables.names)));
        let victim = Victim {
            tid: late.tid,
            name: late.name.clone(),
            priority: waking.map_or(late.priority, |waking| waking.other_priority()),
            cpu: late.cpu,
        };
        Episode {
            id,
            stage: late.stage,
            is_asked_for: late.is_asked_for,
            waits_for_answers: late.waits_for_answers,
            may_sleep_within: late.may_sleep_within,
            has_period: late.has_period,
            asker_unknown: late.asker_unknown,
            accepted: late.connections.accepted.clone(),
            connected: late.connections.connected.clone(),
            connections_unknown: late.connections.is_unknown,
            sockets: late.connections.paths.clone(),
            threshold_ns: evidence.threshold_ns,
            void,
            usual_delivery_ns: evidence.usual_delivery_ns,
            fault_path_ns: evidence.fault_path_ns,
            sample_period_ns: evidence.sample_period_ns,
            nesting_known: evidence.nesting_known,
            missed_runs: evidence.missed_runs,
            names: tables.names,
            frames: tables.frames,
            events,
            samples,
            programs: evidence.programs.clone(),
            groups,
            members,
            disk_limit,
            processes,
            ..Episode::of(victim, expected_ns, end_ns)
        }
    }

    /// Events and samples with names, CPU by CPU.
    fn named(&mut self, evidence: &Evidence, tables: &mut Tables) -> (Vec<Event>, Vec<StackSample>) {
        let mut events = Vec::new();
        let mut samples = Vec::new();
        for (cpu, copied) in &evidence.copied {
            // The host's counter counts from the CPU's first record on: that reads better and compresses.
            let first_steal = copied.records.first().map_or(0, |record| record.steal.saturating_sub(1));
            for record in &copied.records {
                events.extend(self.event(*cpu, record, first_steal, evidence.late.tid, tables));
            }
            for stack in &copied.stacks {
                samples.push(self.sample(*cpu, stack, tables));
            }
        }
        (events, samples)
    }

    /// For requests that a control group's limit had held back: whose limit that was.
    fn name_limits(&mut self, events: &mut [Event], tables: &mut Tables) {
        let lets_go = tables.name_numbers.get(HELD_BACK_WORK).copied();
        let now_ns = clock::monotonic_ns();
        name_limits(events, |name| Some(name) == lets_go, &mut |account, disk| {
            let disk = tables.names.get(disk as usize).cloned().unwrap_or_default();
            let limit = self.disk_groups.limit(account, &disk, now_ns)?;
            Some(tables.name(&limit))
        });
    }

    /// Keeps the memory maps of those who ran.
    fn see_processes(&mut self, copied: &[(u32, Copied)]) {
        let now = clock::monotonic_ns();
        for stack in copied.iter().flat_map(|(_, copied)| &copied.stacks) {
            if let Some(&instruction) = stack.user().first() {
                self.maps.see(stack.process, instruction, now);
            }
        }
    }

    fn function(&mut self, address: u64, at_ns: u64) -> Frame {
        let without = || Frame { function: format!("{address:#x}"), module: "kernel".to_owned() };
        self.kernel.find(address, at_ns).unwrap_or_else(without)
    }

    /// A thread's name; if this tool itself is in the way, nobody should have to guess that.
    fn thread_name(&self, tid: u32, name: &[u8; 16]) -> String {
        with_owner(&self.own, tid, &shown(name))
    }

    fn event(
        &mut self,
        cpu: u32,
        record: &Record,
        first_steal: u64,
        victim: u32,
        tables: &mut Tables,
    ) -> Option<Event> {
        let kind = EventKind::from_code(record.kind())?;
        let (mut value, mut extra) = (record.value, record.extra);
        match kind {
            EventKind::Switch | EventKind::Waking => {
                // The upper half holds the group of the thread in the lower half.
                value &= u64::from(u32::MAX);
                tables.members.tell(value as u32, (record.value >> 32) as u32, &mut self.groups, clock::monotonic_ns());
            }
            // A whole process is stopped, and so is its thread.
            EventKind::StopAsked if extra as u32 == 1 && is_thread_of(victim, value) => {
                value = u64::from(victim);
            }
            EventKind::StopAsked => extra &= !u64::from(u32::MAX),
            EventKind::TimerBegin | EventKind::CallbackBegin => value = armer(&record.name),
            EventKind::FunctionBegin | EventKind::FunctionEnd => extra = 0,
            // The function already has its name.
            EventKind::WorkBegin => (value, extra) = (extra, 0),
            _ => {}
        }
        let softirq = || Softirq::words(record.value).into_owned();
        let name = match kind {
            EventKind::TimerBegin | EventKind::CallbackBegin | EventKind::WorkBegin | EventKind::TaskletBegin => {
                self.function(record.value, record.time).function
            }
            EventKind::FunctionBegin | EventKind::FunctionEnd => self.function(record.extra, record.time).function,
            EventKind::SoftirqBegin | EventKind::SoftirqEnd => softirq(),
            EventKind::Switch => self.thread_name(record.value as u32, &record.name),
            EventKind::Waking
            | EventKind::VectorBegin
            | EventKind::StopAsked
            | EventKind::RequestBegin
            | EventKind::FunctionAsked
            | EventKind::InterruptSent
            | EventKind::WorkQueued
            | EventKind::InterruptsSent => self.thread_name(record.tid(), &record.name),
            EventKind::OutOfQuota => self.group_name(record.extra),
            EventKind::QuotaRefill => self.group_name(record.value),
            EventKind::HandlerBegin | EventKind::RequestEnd => shown(&record.name),
            _ => String::new(),
        };
        Some(Event {
            at_ns: record.time,
            cpu,
            kind,
            tid: record.tid(),
            priority: record.priority(),
            context: record.context(),
            steal_ns: record.steal.saturating_sub(first_steal),
            value,
            extra,
            name: tables.name(&name),
        })
    }

    fn group_name(&mut self, number: u64) -> String {
        self.groups.path(number as u32, clock::monotonic_ns()).unwrap_or_else(|| "a control group".to_owned())
    }

    fn sample(&mut self, cpu: u32, stack: &Stack, tables: &mut Tables) -> StackSample {
        let mut frames: Vec<u32> =
            stack.kernel().iter().map(|&address| tables.frame(self.function(address, stack.time))).collect();
        let own = self.maps.of(stack.process);
        for (depth, &address) in stack.user().iter().enumerate() {
            // All but the innermost are return addresses: the call comes before them.
            let at = if depth > 0 { address.saturating_sub(1) } else { address };
            let frame = place(own, at);
            // A frame pointer that leads nowhere was something else: what follows it is not a call.
            if depth > 0 && frame.module == "unmapped" {
                break;
            }
            frames.push(tables.frame(frame));
        }
        StackSample {
            at_ns: stack.time,
            cpu,
            tid: stack.tid,
            context: stack.context,
            at_late_interrupt: stack.late != 0,
            name: tables.name(&self.thread_name(stack.tid, &stack.name)),
            frames,
        }
    }
}

fn with_owner(own: &BTreeSet<u32>, tid: u32, name: &str) -> String {
    if own.contains(&tid) { format!("{name} (this recording)") } else { name.to_owned() }
}

/// Where an episode begins and ends, judging by what the recorder itself saw.
struct Bounds {
    /// What woke the thread.
    waking: Option<Event>,
    expected_ns: u64,
    end_ns: u64,
}

impl Bounds {
    /// Of events by time.
    fn of(late: &LateWakeup, events: &[Event]) -> Bounds {
        let own = |event: &&Event| event.kind == EventKind::Waking && event.value == u64::from(late.tid);
        let seen = |event: &&Event| event.at_ns >= late.expected_ns && event.at_ns <= late.end_ns;
        let waking = events.iter().filter(own).find(seen).copied();
        // Two programs stamp one waking, in either order: if the wakeup begins with a waking, the recorder's stamp counts.
        let tid = u64::from(late.tid);
        let concerns =
            |event: &&Event| event.value == tid && matches!(event.kind, EventKind::Waking | EventKind::Switch);
        let at_once = |event: &&Event| event.at_ns < late.expected_ns && late.expected_ns - event.at_ns < SAME_NS;
        let last = events.iter().filter(concerns).rfind(at_once);
        let begins = last.filter(own).copied();
        let expected_ns = begins.map_or(late.expected_ns, |begins| begins.at_ns);
        // The same for the switch that ends a response.
        let ends = events.iter().rfind(|event| {
            event.kind == EventKind::Switch && event.tid == late.tid && event.at_ns.abs_diff(late.end_ns) < SAME_NS
        });
        let end_ns = match ends {
            Some(ends) if late.stage.holds_work() => ends.at_ns.max(expected_ns),
            _ => late.end_ns,
        };
        Bounds { waking: begins.or(waking), expected_ns, end_ns }
    }
}

/// Whether a thread belongs, or just now belonged, to a process.
fn is_thread_of(tid: u32, process: u64) -> bool {
    u64::from(tid) == process || std::path::Path::new(&format!("/proc/{process}/task/{tid}")).exists()
}

/// Whether a worker of the kernel's begins to hand on what a limit of the disk held back.
fn is_held_back(event: &Event, names: &[String]) -> bool {
    event.kind == EventKind::WorkBegin && names.get(event.name as usize).is_some_and(|name| name == HELD_BACK_WORK)
}

/// This process's threads, except those that are measured.
fn own_threads() -> BTreeSet<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let tids = tasks.filter_map(|task| {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        let tid = task.file_name().to_str()?.parse().ok()?;
        (!name.starts_with(MEASURED)).then_some(tid)
    });
    tids.collect()
}

/// Why the victim's waking is not among the events. Some kernels' tracepoints are silent while certain threads run,
/// such as an agent of the host: then the CPU's longest silence begins with a switch to one.
fn why_silent(late: &LateWakeup, events: &[Event], names: &[String]) -> String {
    let nothing = "the kernel's events for this wakeup did not come";
    let own: Vec<&Event> = events.iter().filter(|event| event.cpu == late.cpu).collect();
    let silence =
        |before: &Event, after: &Event| after.at_ns.min(late.end_ns).saturating_sub(before.at_ns.max(late.expected_ns));
    let longest = own.windows(2).max_by_key(|pair| silence(pair[0], pair[1])).map(|pair| pair[0]);
    match longest.filter(|event| event.kind == EventKind::Switch && event.value != u64::from(late.tid)) {
        Some(switch) => {
            let name = names.get(switch.name as usize).map_or("?", String::as_str);
            format!("{nothing}: CPUs report nothing while `{name}` runs")
        }
        None => nothing.to_owned(),
    }
}
