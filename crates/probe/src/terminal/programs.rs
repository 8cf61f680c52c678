//! Loads the programs that note what threads at a terminal do: the Rust side of `bpf/terminal.bpf.c`.

use super::cost::{Measured, TerminalCost};
use super::seen::{MomentRecord, Seen};
use crate::recorder::programs::switch_tells_state;
use crate::shared::lossy_ring;
use punctual_kernel::bpf::{LeftOut, LoadedObject, SharedMemory, enable_run_time_statistics, run_statistics};
use punctual_kernel::features::{CURRENT_THREAD, Feature, LARGE_PROGRAMS, explain};
use punctual_kernel::{Refused, bpf_programs, clock, cpus, per_cpu};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// What a kernel must have for the programs.
pub(crate) const NEEDED: &[Feature] = &[LARGE_PROGRAMS, CURRENT_THREAD];

/// The compiled programs.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/terminal.bpf.o"));

const RECORDS: usize = 16_384;
/// Where `struct terminal_state` says by the low bits of a process's number whether it may be watched.
const MAY_BE_WATCHED_AT: usize = 72;
const WATCH_PLACES: usize = 4096;
/// A record may become visible this much later than the time that it holds, ns.
const SETTLE_NS: u64 = 2_000_000;

/// `struct moment_ring` of `bpf/terminal_records.h`.
#[repr(C)]
struct MomentRing {
    records: [MomentRecord; RECORDS],
    head: u64,
    since: u64,
    pad: [u64; 6],
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
    statistics: Option<OwnedFd>,
    measured: Measured,
    /// When the programs left the kernel, ns; `None`: they have not.
    detached_ns: Option<u64>,
}

/// Whose threads are followed, and how input gets to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// Whoever is at a terminal; this process types.
    Terminal,
    /// Whoever is at a terminal into which somebody else types.
    OthersTerminal,
    /// Chosen processes, in a display that others use too.
    Processes,
}

/// Programs that see input come to a terminal, without which only its being taken is seen. Who types knows when that was.
const OF_ARRIVALS: &str = "input_";

fn is_chosen(program: &str, follows: Follows) -> bool {
    follows == Follows::OthersTerminal || !program.starts_with(OF_ARRIVALS)
}

fn load(own_descriptor: i32, server: Option<u32>, follows: Follows) -> Result<LoadedObject, Refused> {
    let mut configuration = per_cpu::places().nesting.bytes().to_vec();
    let server = u64::from(server.unwrap_or(0));
    let (switch_tells, by_process) = (u64::from(switch_tells_state()), u64::from(follows == Follows::Processes));
    let own = [u64::from(std::process::id()), own_descriptor as u64, switch_tells, server, by_process];
    own.iter().for_each(|word| configuration.extend_from_slice(&word.to_ne_bytes()));
    let sizes = [("moment_rings", cpus::possible() as u32)];
    let chosen = |program: &str| is_chosen(program, follows);
    LoadedObject::load_chosen("terminal", OBJECT, Some(&configuration), &sizes, &chosen)
        .map_err(|refused| explain(refused, NEEDED))
}

/// Loads the programs and unloads them again; returns those that this kernel has no place for, or refused.
pub(crate) fn try_out() -> Result<Vec<LeftOut>, Refused> {
    // With a display they contain more that a kernel may refuse.
    load(-1, Some(1), Follows::Terminal)?;
    load(-1, Some(1), Follows::Processes)?;
    Ok(load(-1, None, Follows::OthersTerminal)?.left_out())
}

impl TerminalWatch {
    /// Loads and attaches the programs for whoever is at this terminal. The descriptor is the terminal's own end, not
    /// the typist's, and nobody may be at it yet. With the process of a display's `server`, input and output are what
    /// goes over the sockets between that and whoever is there; this process must have one too, through which it types.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(terminal: BorrowedFd<'_>, server: Option<u32>) -> Result<TerminalWatch, Refused> {
        TerminalWatch::start_with(terminal, server, Follows::Terminal, &[])
    }

    /// The same for whoever is at a terminal into which somebody else types; [`Moment::Came`](punctual_recording::Moment::Came)
    /// tells when input came.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start_at_others(terminal: BorrowedFd<'_>) -> Result<TerminalWatch, Refused> {
        TerminalWatch::start_with(terminal, None, Follows::OthersTerminal, &[])
    }

    /// Loads and attaches the programs for these processes, and those that they will start, on a display that others
    /// use too: what the server says over this `connection` is what it has drawn.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start_for(connection: BorrowedFd<'_>, server: u32, processes: &[u32]) -> Result<TerminalWatch, Refused> {
        TerminalWatch::start_with(connection, Some(server), Follows::Processes, processes)
    }

    /// No longer watches a process of those that it was started for, but what that has started.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn leave_out(&self, process: u32) -> Result<(), Refused> {
        self.object.remove("watched_processes", &process.to_ne_bytes())
    }

    fn start_with(
        terminal: BorrowedFd<'_>,
        server: Option<u32>,
        follows: Follows,
        processes: &[u32],
    ) -> Result<TerminalWatch, Refused> {
        let doing = "following a program";
        if clock::in_shifted_time_namespace() || clock::in_pid_namespace() {
            let reason = "a namespace hides this process's clock or thread ids from the kernel's programs";
            return Err(Refused::because(doing, reason));
        }
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return Err(Refused::because(doing, "system calls are known only for x86-64 and arm64"));
        }
        let mut object = load(terminal.as_raw_fd(), server, follows)?;
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
        Ok(TerminalWatch {
            object,
            memory,
            read,
            waiting: Vec::new(),
            lost: 0,
            statistics,
            measured: Measured::default(),
            detached_ns: None,
        })
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
        self.detached_ns = Some(clock::monotonic_ns());
        self.take_until(u64::MAX, into);
    }

    fn take_until(&mut self, until_ns: u64, into: &mut Vec<Seen>) {
        self.give_up_measuring();
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
        !self.object.left_out().iter().any(|one| one.program.starts_with(OF_ARRIVALS))
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

    /// From now on, the program does what it will do until the end: a few seconds of that are measured, and tell what the
    /// rest costs. The kernel's measuring costs something itself, with every run of every program.
    pub fn begin_usual(&mut self) {
        let cost = self.cost_so_far();
        self.measured.begin_usual(clock::monotonic_ns(), cost);
    }

    fn give_up_measuring(&mut self) {
        let now_ns = clock::monotonic_ns();
        if self.statistics.is_some() && self.measured.is_enough(now_ns) {
            let cost = self.cost_so_far();
            self.measured.give_up(now_ns, cost);
            self.statistics = None;
        }
    }

    /// What the programs have cost so far: as the kernel measured it and, once that was given up, as it implies.
    pub fn cost(&self) -> TerminalCost {
        let until_ns = self.detached_ns.unwrap_or_else(clock::monotonic_ns);
        self.measured.cost(until_ns).unwrap_or_else(|| self.cost_so_far())
    }

    fn cost_so_far(&self) -> TerminalCost {
        let ran = self.programs().into_iter().filter_map(|(_, program)| run_statistics(program));
        ran.fold(TerminalCost::default(), |sum, (runs, ns, _)| TerminalCost { runs: sum.runs + runs, ns: sum.ns + ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::helper_calls::{calls_in, casts_in};
    use libbpf_rs::btf::Btf;
    use libbpf_sys::{
        BPF_FUNC_get_smp_processor_id, BPF_FUNC_map_delete_elem, BPF_FUNC_probe_read_kernel,
        BPF_FUNC_probe_read_kernel_str, BPF_FUNC_probe_read_user,
    };
    use punctual_kernel::bpf_layout::{record_layout, variable_offsets};
    use punctual_kernel::layout_of;

    #[test]
    fn the_numbers_are_those_of_the_programs() {
        let number_of_records = crate::shared::source_numbers::number_in("terminal_records.h", "RECORDS");
        assert_eq!(number_of_records, RECORDS as u64);
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

    /// Kernels before 6.2 have no casts: for them, each way has a helper beside it.
    #[test]
    fn files_and_terminals_are_read_by_casts_where_there_are_any() {
        for program in ["call_begins", "call_ends", "thread_switches"] {
            let (helpers, casts) = (calls_in(OBJECT, program, BPF_FUNC_probe_read_kernel), casts_in(OBJECT, program));
            assert!(casts > 0 && helpers <= casts, "{program}: {helpers} helpers beside {casts} casts");
        }
    }

    /// To make a place for a call in the table, and to take it back, costs more than all else that is done about it.
    #[test]
    fn a_thread_keeps_its_place_for_calls_until_it_ends() {
        let deletions = |program| calls_in(OBJECT, program, BPF_FUNC_map_delete_elem);
        assert_eq!(["call_begins", "call_ends", "thread_is_gone"].map(deletions), [0, 0, 1]);
    }

    /// Programs look for input far more often than they get any.
    #[test]
    fn a_call_that_begins_is_noted_only_for_its_output() {
        // Each record goes into the ring of its CPU: from two places for the program, and three for the server.
        let records = calls_in(OBJECT, "call_begins", BPF_FUNC_get_smp_processor_id);
        assert!(records <= 5, "{records}");
    }

    /// Whether a call waits at all is known before its descriptors are looked at, which takes several reads for each.
    #[test]
    fn a_poll_reads_its_time_limit_its_list_and_its_set_in_one_place_each() {
        let reads = calls_in(OBJECT, "call_begins", BPF_FUNC_probe_read_user);
        assert!(reads <= 3, "{reads}");
    }

    /// Each key is handed to a worker of the kernel's, and so is each output: these programs would run at all of that.
    #[test]
    fn input_is_seen_to_come_only_where_somebody_else_types() {
        let all = punctual_kernel::bpf::optional_programs(OBJECT);
        let left_out = |follows: Follows| -> Vec<&str> {
            all.iter().map(String::as_str).filter(|program| !is_chosen(program, follows)).collect()
        };
        assert_eq!(left_out(Follows::OthersTerminal), [""; 0]);
        for follows in [Follows::Terminal, Follows::Processes] {
            let mut left_out = left_out(follows);
            left_out.sort_unstable();
            assert_eq!(left_out, ["input_begins_to_come", "input_has_come", "input_is_told"], "{follows:?}");
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
