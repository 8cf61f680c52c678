//! Loads the programs that note what threads at a terminal do: the Rust side of `bpf/terminal.bpf.c`.

use crate::followed::shown;
use crate::recorder::programs::switch_tells_state;
use crate::shared::lossy_ring::{self, Marked};
use punctual_kernel::bpf::{LoadedObject, SharedMemory, enable_run_time_statistics, run_statistics};
use punctual_kernel::features::{ATOMICS, CURRENT_THREAD, Feature, explain};
use punctual_kernel::{Refused, bpf_programs, clock, cpus, per_cpu};
use punctual_recording::Moment;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// What a kernel must have for the programs.
const NEEDED: &[Feature] = &[ATOMICS, CURRENT_THREAD];

/// The compiled programs.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/terminal.bpf.o"));

const RECORDS: usize = 16_384;
const NAME_SIZE: usize = 16;
/// Where `struct terminal_state` says by the low bits of a process's number whether it may be watched.
const MAY_BE_WATCHED_AT: usize = 72;
const WATCH_PLACES: usize = 4096;
/// A record may become visible this much later than the time that it holds, ns.
const SETTLE_NS: u64 = 2_000_000;

const RAN_AND_SLEPT: u16 = 1;
const SLEEPS_FOR_IO: u16 = 2;
const SLEEPS_FOR_INPUT: u16 = 4;
const SLEEPS_FOR_SEVERAL: u16 = 8;
const WAKER_IS_THERE: u16 = 16;
const WOKEN_IS_THERE: u16 = 32;
const BY_INTERRUPT: u16 = 64;
const TAKES_LINES: u16 = 128;
const WOKEN_IS_KERNELS: u16 = 256;
const OF_SERVER: u16 = 512;
const TO_TERMINAL: u16 = 1_024;
const WAKER_IS_KERNELS: u16 = 2_048;
const TO_OTHERS: u16 = 4_096;
const INPUT_IS_THERE: u16 = 8_192;
/// The time limit of a call that has none.
const NO_LIMIT: u64 = u64::MAX;

/// `struct moment_record` of `bpf/terminal_records.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct MomentRecord {
    sequence: u64,
    at: u64,
    begin: u64,
    value: u64,
    tid: u32,
    process: u32,
    kind: u16,
    flags: u16,
    queued: u32,
    name: [u8; NAME_SIZE],
}

impl Marked for MomentRecord {
    const MARK_AT: usize = offset_of!(MomentRecord, sequence);
}

/// `struct moment_ring` of `bpf/terminal_records.h`.
#[repr(C)]
struct MomentRing {
    records: [MomentRecord; RECORDS],
    head: u64,
    since: u64,
    pad: [u64; 6],
}

/// What a thread at the terminal did. Times are ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// When; for what took time, when it ended.
    pub at_ns: u64,
    /// When that which took time began; 0 if that was not seen.
    pub begin_ns: u64,
    /// What.
    pub kind: Moment,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// For [`Moment::Got`] and [`Moment::Wrote`], bytes; for [`Moment::Woke`], the woken thread.
    pub value: u64,
    /// For [`Moment::Got`], how far the terminal's input was read, for [`Moment::Came`], how far there was some, if the
    /// kernel's worker had handed it on: bytes since the terminal was opened or emptied, modulo 2^32.
    pub position: u32,
    /// For [`Moment::Asks`] and a sleep, when it ends by itself; `None`: never.
    pub limit_ns: Option<u64>,
    /// Bytes to get from the terminal at that time; not for [`Moment::Woke`] and [`Moment::Became`].
    pub queued: u32,
    flags: u16,
}

impl Seen {
    fn new(record: &MomentRecord) -> Option<Seen> {
        let kind = Moment::from_code(record.kind)?;
        let has_limit = kind == Moment::Asks || kind == Moment::Ran && record.flags & RAN_AND_SLEPT != 0;
        let has_position = matches!(kind, Moment::Got | Moment::Came);
        let (value, position) = match has_position {
            true => (record.value & u64::from(u32::MAX), (record.value >> 32) as u32),
            false => (record.value, 0),
        };
        Some(Seen {
            at_ns: record.at,
            begin_ns: record.begin,
            kind,
            tid: record.tid,
            process: record.process,
            name: shown(&record.name),
            value,
            position,
            limit_ns: (has_limit && record.value != NO_LIMIT && record.value != 0).then_some(record.value),
            queued: record.queued,
            flags: record.flags,
        })
    }

    /// One that a test makes up.
    pub fn invented(at_ns: u64, kind: Moment, tid: u32) -> Seen {
        let name = format!("thread-{tid}");
        Seen {
            at_ns,
            begin_ns: 0,
            kind,
            tid,
            process: tid,
            name,
            value: 0,
            position: 0,
            limit_ns: None,
            queued: 0,
            flags: 0,
        }
    }

    fn with(mut self, flag: u16, is_set: bool) -> Seen {
        self.flags = if is_set { self.flags | flag } else { self.flags & !flag };
        self
    }

    /// An event that a toolkit has handed on; `name` is that of [`crate::toolkit::HandedOn`].
    pub fn handed_on_by_toolkit(at_ns: u64, process: u32, tid: u32, name: u32) -> Seen {
        let value = u64::from(name);
        Seen { process, value, name: String::new(), ..Seen::invented(at_ns, Moment::HandedOn, tid) }
    }

    /// The same for a thread that left its CPU to sleep, in a call that the terminal's input ends, or for I/O.
    pub fn sleeping(self, for_input: bool, for_io: bool) -> Seen {
        self.with(RAN_AND_SLEPT, true).with(SLEEPS_FOR_INPUT, for_input).with(SLEEPS_FOR_IO, for_io)
    }

    /// The same for a waking among threads at the terminal.
    pub fn among(self, waker: bool, woken: bool, by_interrupt: bool) -> Seen {
        self.with(WAKER_IS_THERE, waker).with(WOKEN_IS_THERE, woken).with(BY_INTERRUPT, by_interrupt)
    }

    /// For [`Moment::Ran`]: it left its CPU to sleep, not to go on later.
    pub fn slept(&self) -> bool {
        self.flags & RAN_AND_SLEPT != 0
    }

    /// ... for input or output of its own.
    pub fn sleeps_for_io(&self) -> bool {
        self.flags & SLEEPS_FOR_IO != 0
    }

    /// ... in a call that the terminal's input ends, or for [`Moment::Asks`], that it makes.
    pub fn for_input(&self) -> bool {
        self.flags & SLEEPS_FOR_INPUT != 0
    }

    /// ... in a call for which that is not known.
    pub fn for_several(&self) -> bool {
        self.flags & SLEEPS_FOR_SEVERAL != 0
    }

    /// For [`Moment::Woke`]: the waker is at the terminal, and no interrupt did it.
    pub fn by_thread_there(&self) -> bool {
        self.flags & WAKER_IS_THERE != 0 && !self.by_interrupt()
    }

    /// ... the woken thread is.
    pub fn woken_is_there(&self) -> bool {
        self.flags & WOKEN_IS_THERE != 0
    }

    /// ... the woken thread belongs to the kernel.
    pub fn woken_is_kernels(&self) -> bool {
        self.flags & WOKEN_IS_KERNELS != 0
    }

    /// The same for a waking of one of the kernel's own threads.
    pub fn of_kernels(self) -> Seen {
        self.with(WOKEN_IS_KERNELS, true)
    }

    /// ... an interrupt or a softirq did it, a timer's for instance.
    pub fn by_interrupt(&self) -> bool {
        self.flags & BY_INTERRUPT != 0
    }

    /// The same for a thread of the display's server.
    pub fn of_servers(self) -> Seen {
        self.with(OF_SERVER, true)
    }

    /// Whether the display's server did it: what it got is what was typed, what it put out reports what was drawn.
    pub fn by_server(&self) -> bool {
        self.flags & OF_SERVER != 0
    }

    /// The same for what is written to a terminal when the program has a window.
    pub fn into_terminal(self) -> Seen {
        self.with(TO_TERMINAL, true)
    }

    /// For [`Moment::Wrote`] when the program has a window: it went to a terminal, a terminal emulator's for instance.
    pub fn goes_to_terminal(&self) -> bool {
        self.flags & TO_TERMINAL != 0
    }

    /// The same for a waking by one of the kernel's own threads.
    pub fn by_kernels(self) -> Seen {
        self.with(WAKER_IS_KERNELS, true)
    }

    /// For [`Moment::Woke`]: the waker belongs to the kernel.
    pub fn waker_is_kernels(&self) -> bool {
        self.flags & WAKER_IS_KERNELS != 0
    }

    /// The same for what the display's server tells others than the typist.
    pub fn to_others(self) -> Seen {
        self.with(TO_OTHERS, true)
    }

    /// Whether the display's server tells others than the typist: the program.
    pub fn tells_others(&self) -> bool {
        self.flags & TO_OTHERS != 0
    }

    /// For [`Moment::Came`]: the kernel's worker has handed the input on; otherwise it is beginning to.
    pub fn has_come(&self) -> bool {
        self.flags & INPUT_IS_THERE != 0
    }

    /// The same for input that the kernel's worker has handed on up to there; it was told about it at that time.
    pub fn handed_on(self, told_ns: u64, position: u32) -> Seen {
        Seen { begin_ns: told_ns, position, ..self }.with(INPUT_IS_THERE, true)
    }

    /// Whether the terminal hands on whole lines then.
    pub fn takes_lines(&self) -> bool {
        self.flags & TAKES_LINES != 0
    }
}

/// What the programs have cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TerminalCost {
    /// How often they ran.
    pub runs: u64,
    /// How long in all, ns.
    pub ns: u64,
}

/// The programs in the kernel; they leave it when this is dropped.
pub struct TerminalWatch {
    // Dropped first, so that nothing writes into memory that is gone.
    object: LoadedObject,
    memory: SharedMemory,
    /// For each possible CPU: how far its ring has been read.
    read: Vec<u64>,
    waiting: Vec<MomentRecord>,
    lost: u64,
    /// While this is held, the kernel measures how long programs run.
    _statistics: Option<OwnedFd>,
}

fn load(own_descriptor: i32, server: Option<u32>, by_process: bool) -> Result<LoadedObject, Refused> {
    let mut configuration = per_cpu::places().nesting.bytes().to_vec();
    let server = u64::from(server.unwrap_or(0));
    let (switch_tells, by_process) = (u64::from(switch_tells_state()), u64::from(by_process));
    let own = [u64::from(std::process::id()), own_descriptor as u64, switch_tells, server, by_process];
    own.iter().for_each(|word| configuration.extend_from_slice(&word.to_ne_bytes()));
    let sizes = [("moment_rings", cpus::possible() as u32)];
    LoadedObject::load_sized("terminal", OBJECT, Some(&configuration), &sizes)
        .map_err(|refused| explain(refused, NEEDED))
}

/// Loads the programs and unloads them again; returns the names of those that this kernel has no place for.
pub(crate) fn try_out() -> Result<Vec<String>, Refused> {
    // With a display they contain more that a kernel may refuse.
    load(-1, Some(1), false)?;
    load(-1, Some(1), true)?;
    Ok(load(-1, None, false)?.left_out())
}

impl TerminalWatch {
    /// Loads and attaches the programs for whoever is at this terminal. The descriptor is the terminal's own end, not
    /// the typist's, and nobody may be at it yet. With the process of a display's `server`, input and output are what
    /// goes over the sockets between that and whoever is there; this process must have one too, through which it types.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(terminal: BorrowedFd<'_>, server: Option<u32>) -> Result<TerminalWatch, Refused> {
        TerminalWatch::start_with(terminal, server, &[])
    }

    /// Loads and attaches the programs for these processes, and those that they will start, on a display that others
    /// use too: what the server says over this `connection` is what it has drawn.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start_for(connection: BorrowedFd<'_>, server: u32, processes: &[u32]) -> Result<TerminalWatch, Refused> {
        TerminalWatch::start_with(connection, Some(server), processes)
    }

    /// No longer watches a process of those that it was started for, but what that has started.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn leave_out(&self, process: u32) -> Result<(), Refused> {
        self.object.remove("watched_processes", &process.to_ne_bytes())
    }

    fn start_with(terminal: BorrowedFd<'_>, server: Option<u32>, processes: &[u32]) -> Result<TerminalWatch, Refused> {
        let doing = "following a program";
        if clock::in_shifted_time_namespace() || clock::in_pid_namespace() {
            let reason = "a namespace hides this process's clock or thread ids from the kernel's programs";
            return Err(Refused::because(doing, reason));
        }
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return Err(Refused::because(doing, "system calls are known only for x86-64 and arm64"));
        }
        let mut object = load(terminal.as_raw_fd(), server, !processes.is_empty())?;
        let memory = object.shared_array("moment_rings")?;
        let state = object.shared_globals()?;
        for process in processes {
            let place = state.at::<u8>(MAY_BE_WATCHED_AT + *process as usize % WATCH_PLACES, 1);
            // SAFETY: a byte within the mapping (`at` checked); the programs do not run yet.
            unsafe { place.as_ptr().write_volatile(1) };
            object.put("watched_processes", &process.to_ne_bytes(), &process.to_ne_bytes())?;
        }
        // Panics now rather than later if a ring is smaller than the records say.
        let possible = cpus::possible();
        let _ = memory.at::<MomentRing>(0, possible);
        let statistics = enable_run_time_statistics().ok();
        object.attach()?;
        // SAFETY: writes no byte.
        unsafe { libc::write(terminal.as_raw_fd(), std::ptr::null(), 0) };
        let found = state.at::<u64>(0, 1).as_ptr();
        // SAFETY: a word within the mapping, which the programs write whole.
        if unsafe { found.read_volatile() } == 0 {
            return Err(Refused::because(doing, "the kernel's own view of the terminal was not found"));
        }
        let read = vec![0; possible];
        Ok(TerminalWatch { object, memory, read, waiting: Vec::new(), lost: 0, _statistics: statistics })
    }

    /// Hands on what is old enough to be in order: by time, everything up to the time that it returns, ns.
    pub fn take(&mut self, into: &mut Vec<Seen>) -> u64 {
        let settled = clock::monotonic_ns().saturating_sub(SETTLE_NS);
        self.take_until(settled, into);
        settled
    }

    /// Hands on what happened before this time, by time. It must be as far back as [`TerminalWatch::take`] waits.
    pub fn take_before(&mut self, until_ns: u64, into: &mut Vec<Seen>) {
        self.take_until(until_ns, into);
    }

    /// Hands on everything that is left. Call it when the programs have nothing more to see.
    pub fn take_all(&mut self, into: &mut Vec<Seen>) {
        self.object.detach();
        self.take_until(u64::MAX, into);
    }

    fn take_until(&mut self, until_ns: u64, into: &mut Vec<Seen>) {
        for cpu in 0..self.read.len() {
            let ring = self.memory.at::<MomentRing>(cpu * size_of::<MomentRing>(), 1).as_ptr();
            let waiting = &mut self.waiting;
            // SAFETY: within the mapping, which lives as long as `self`; a ring's size is a power of two. Only the programs
            // write them.
            self.lost += unsafe {
                let (records, head) = (&raw const (*ring).records, &raw const (*ring).head);
                lossy_ring::take(records.cast::<MomentRecord>(), RECORDS, head, &mut self.read[cpu], |record| {
                    waiting.push(*record);
                })
            };
        }
        self.waiting.sort_by_key(|record| record.at);
        let ready = self.waiting.partition_point(|record| record.at < until_ns);
        into.extend(self.waiting.drain(..ready).filter_map(|record| Seen::new(&record)));
    }

    /// Whether the programs see input come while the program is working.
    pub fn tells_of_input(&self) -> bool {
        !self.object.left_out().iter().any(|program| program.starts_with("input_"))
    }

    /// Records that were overwritten before they could be read.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Descriptors of the programs, by name, for statistics.
    pub fn programs(&self) -> Vec<(String, i32)> {
        self.object.programs()
    }

    /// The kernel's numbers for the programs.
    pub fn program_ids(&self) -> Vec<u32> {
        bpf_programs::ids_of(&self.programs())
    }

    /// What the programs have cost so far.
    pub fn cost(&self) -> TerminalCost {
        let ran = self.programs().into_iter().filter_map(|(_, program)| run_statistics(program));
        ran.fold(TerminalCost::default(), |sum, (runs, ns, _)| TerminalCost { runs: sum.runs + runs, ns: sum.ns + ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::helper_calls::calls_in;
    use libbpf_rs::btf::Btf;
    use libbpf_sys::{BPF_FUNC_probe_read_kernel, BPF_FUNC_probe_read_kernel_str};
    use punctual_kernel::bpf_layout::{record_layout, variable_offsets};
    use punctual_kernel::layout_of;

    #[test]
    fn the_numbers_are_those_of_the_programs() {
        use crate::shared::source_numbers::number_in;

        let flags = [
            ("RAN_AND_SLEPT", RAN_AND_SLEPT),
            ("SLEEPS_FOR_IO", SLEEPS_FOR_IO),
            ("SLEEPS_FOR_INPUT", SLEEPS_FOR_INPUT),
            ("SLEEPS_FOR_SEVERAL", SLEEPS_FOR_SEVERAL),
            ("WAKER_IS_THERE", WAKER_IS_THERE),
            ("WOKEN_IS_THERE", WOKEN_IS_THERE),
            ("BY_INTERRUPT", BY_INTERRUPT),
            ("TAKES_LINES", TAKES_LINES),
            ("WOKEN_IS_KERNELS", WOKEN_IS_KERNELS),
            ("OF_SERVER", OF_SERVER),
            ("TO_TERMINAL", TO_TERMINAL),
            ("WAKER_IS_KERNELS", WAKER_IS_KERNELS),
            ("TO_OTHERS", TO_OTHERS),
            ("INPUT_IS_THERE", INPUT_IS_THERE),
            ("RECORDS", RECORDS as u16),
            ("NAME_SIZE", NAME_SIZE as u16),
        ];
        for (name, flag) in flags {
            assert_eq!(number_in("terminal_records.h", name), u64::from(flag), "{name}");
        }
    }

    /// Every switch, every waking and every system call of the machine pays for it.
    #[test]
    fn who_is_at_the_terminal_is_seen_without_helpers() {
        assert_eq!(calls_in(OBJECT, "thread_is_made", BPF_FUNC_probe_read_kernel), 0);
        // Kernels before 6.2 need one for the count of nested interrupts.
        assert!(calls_in(OBJECT, "thread_is_woken", BPF_FUNC_probe_read_kernel) <= 1);
        for program in ["call_begins", "call_ends", "thread_switches", "thread_is_woken", "thread_becomes"] {
            assert_eq!(calls_in(OBJECT, program, BPF_FUNC_probe_read_kernel_str), 0, "{program}");
        }
    }

    #[test]
    fn the_records_are_those_of_the_programs() {
        let btf = Btf::from_raw("terminal", OBJECT).unwrap().unwrap();
        assert_eq!(
            record_layout(&btf, "moment_record"),
            layout_of!(MomentRecord, sequence, at, begin, value, tid, process, kind, flags, queued, name)
        );
        assert_eq!(record_layout(&btf, "moment_ring"), layout_of!(MomentRing, records, head, since, pad));
        let (size, configuration) = record_layout(&btf, "terminal_configuration");
        let offsets: Vec<usize> = configuration.iter().map(|(_, offset)| *offset).collect();
        assert_eq!((size, offsets), (64, vec![0, 24, 32, 40, 48, 56]));
        let (size, state) = record_layout(&btf, "terminal_state");
        assert!(state.contains(&("may_be_watched".to_owned(), MAY_BE_WATCHED_AT)), "{state:?}");
        assert_eq!(size, MAY_BE_WATCHED_AT + WATCH_PLACES);
        assert_eq!(variable_offsets(&btf, ".rodata"), [0]);
        assert_eq!(variable_offsets(&btf, ".bss"), [0]);
    }
}
