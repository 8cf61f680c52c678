//! The programs in the kernel, and the threads that they are told to follow.

use super::makers::{MAX_THREADS, Makers};
use super::memory::{Rings, ThreadTable};
use super::records::{Configuration, FOLLOW_NAME, FOLLOW_THREADS, MAX_CPUS, NAME_SIZE, Slot, text};
use super::selection::{Selection, has_ended, is_own, mark, name_of, processes, threads_of};
use crate::recorder::FlightRecorder;
use crate::recorder::programs::switch_tells_state;
use crate::shared::beside::load_beside;
use crate::shared::left_out;
use crate::shared::namespaces::refuse_namespaces;
use punctual_kernel::bpf::{LeftOut, LoadedObject};
use punctual_kernel::bpf_jumps::Jumps;
use punctual_kernel::{Refused, cpus, function_addresses, limits, per_cpu};

pub(super) const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/foreign.bpf.o"));
/// The same for kernels before 5.12.
const WITHOUT_ATOMICS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/foreign_without_atomics.bpf.o"));

const OTHER_INTERRUPTS: &str = "interrupts without a tracepoint of their own: the wakeups that they make count as made by \
                                the thread that they interrupted, because this kernel's count of nested interrupts is not known";
const TIMERS: &str = "when the timers of followed threads were due, so lateness counts from the wake on";
const RACES: &str = "a thread that begins at the same instant as another one on another CPU: it may not be followed, because \
                     this kernel lacks atomic operations that return a value (from 5.12 on)";

const DOING: &str = "following other programs' threads";

/// What timers of threads call, in the order of `enum timer_function`.
const TIMER_FUNCTIONS: [&str; 4] = ["hrtimer_wakeup", "timerfd_tmrproc", "posix_timer_fn", "it_real_fn"];

/// Programs of the flight recorder that go on with these where it runs. Switches are the first that are seen no more: a
/// thread that is switched in and was not seen to be woken counts as unobserved.
const JUMPED_TO: [(&str, &str); 2] = [("note_switch", "threads_switched"), ("note_waking", "thread_woken")];

/// The same in interrupts, where nobody minds if these run for as long as the recorder's.
const JUMPED_TO_IN_INTERRUPTS: [(&str, &str); 12] = [
    ("local_timer_begins", "local_timer_begins"),
    ("local_timer_ends", "local_timer_ends"),
    ("reschedule_begins", "reschedule_begins"),
    ("reschedule_ends", "reschedule_ends"),
    ("call_function_begins", "call_function_begins"),
    ("call_function_ends", "call_function_ends"),
    ("call_function_single_begins", "call_function_single_begins"),
    ("call_function_single_ends", "call_function_single_ends"),
    ("irq_work_begins", "irq_work_begins"),
    ("irq_work_ends", "irq_work_ends"),
    ("handler_begins", "device_begins"),
    ("handler_ends", "device_ends"),
];

/// How these programs are entered where they are not attached themselves.
struct Entered {
    jumps: Jumps,
    in_interrupts: Vec<Jumps>,
    /// The programs' names.
    programs: Vec<&'static str>,
}

/// Has the flight recorder's programs go on with these, if the kernel lets them.
fn enter_from(recorder: &FlightRecorder, object: &LoadedObject) -> Option<Entered> {
    let jumps = recorder.go_on_with(object, &JUMPED_TO)?;
    let all = object.programs();
    let descriptor = |name: &str| all.iter().find(|(other, _)| other == name).map(|(_, descriptor)| *descriptor);
    let mut programs = JUMPED_TO.map(|(_, program)| program).to_vec();
    let mut in_interrupts = Vec::new();
    for (of_recorder, program) in JUMPED_TO_IN_INTERRUPTS {
        if let Some(jump) = descriptor(program).and_then(|program| recorder.goes_on_with(of_recorder, program)) {
            in_interrupts.push(jump);
            programs.push(program);
        }
    }
    Some(Entered { jumps, in_interrupts, programs })
}

/// So many threads are looked at each time for whether they ended unseen: the kernel writes a page about each.
const LOOKED_AT: usize = 128;

/// Whose turn it is among so many, from one of them on.
fn turn(from: usize, count: usize) -> impl Iterator<Item = usize> {
    (from..from + count.min(LOOKED_AT)).map(move |number| number % count)
}

/// What is refused if the programs cannot be loaded.
const LOADING: &str = "loading the BPF programs that follow other programs' threads";

/// The programs, one more than the highest CPU number, and what they do not see on this kernel.
type Loaded = (LoadedObject, usize, Vec<String>);

/// Loads the programs, without attaching them yet.
fn load(selection: &Selection, with_places: bool) -> Result<Loaded, Refused> {
    refuse_namespaces(DOING)?;
    // Rings go by the CPUs' numbers, not by how many there are: numbers may be missing.
    let cpus = cpus::possible();
    if cpus > MAX_CPUS {
        let reason =
            format!("this machine's CPUs may have numbers up to {}, supported are up to {}", cpus - 1, MAX_CPUS - 1);
        return Err(Refused::because(DOING, reason));
    }
    let mut configuration = Configuration {
        nesting: per_cpu::places().nesting,
        names_wanted: u64::from(selection.by_name()),
        switch_tells_state: u64::from(switch_tells_state()),
        places_wanted: u64::from(with_places),
        timers: function_addresses(TIMER_FUNCTIONS),
        mark: [0; NAME_SIZE],
    };
    if selection.command {
        let mark = mark();
        configuration.mark[..mark.len()].copy_from_slice(mark.as_bytes());
    }
    let mut blind = Vec::new();
    let load = |elf| LoadedObject::load_sized("foreign", elf, Some(&configuration.bytes()), &[("rings", cpus as u32)]);
    // Whatever keeps the newer programs from loading keeps the older ones too, unless it is the atomics.
    let object = match load(OBJECT) {
        Ok(object) => object,
        Err(refused) => {
            // The object's name means nothing to whoever reads this.
            let object = load(WITHOUT_ATOMICS).map_err(|_| Refused { doing: LOADING.to_owned(), ..refused })?;
            blind.push(RACES.to_owned());
            object
        }
    };
    if !configuration.nesting.is_known() {
        blind.push(OTHER_INTERRUPTS.to_owned());
    }
    if limits::addresses_are_hidden() {
        blind.push(format!("{TIMERS}: {}", limits::ADDRESSES_HIDDEN));
    }
    Ok((object, cpus, blind))
}

/// Loads the programs and unloads them again; returns those that this kernel has no place for, or refused.
pub(crate) fn try_out() -> Result<Vec<LeftOut>, Refused> {
    Ok(load(&Selection::default(), false)?.0.left_out())
}

/// The same with everything that they can be asked for, which is more for a verifier to go through.
pub(crate) fn try_out_whole() -> Result<Vec<LeftOut>, Refused> {
    Ok(load(&Selection::of_everybody(), true)?.0.left_out())
}

/// The programs in the kernel, attached; they leave it when this is dropped.
pub struct Programs {
    /// Those that the flight recorder's programs go on with are not attached themselves.
    jumps: Option<Jumps>,
    // Dropped before its memory, so that nothing writes into what is gone.
    object: Option<LoadedObject>,
    /// What they do not see on this kernel.
    blind: Vec<String>,
    pub(super) table: ThreadTable,
    pub(super) rings: Rings,
    /// Whose turn it is to be looked at.
    next: usize,
    makers: Makers,
}

impl Programs {
    /// Loads and attaches the programs, and follows those of the selection that exist.
    ///
    /// # Errors
    /// What the kernel refused; a thread or process that does not exist.
    pub fn start(selection: &Selection) -> Result<Programs, Refused> {
        Programs::start_with(selection, false)
    }

    /// The same; with `places`, records tell where in its program a thread waits.
    pub(super) fn start_with(selection: &Selection, places: bool) -> Result<Programs, Refused> {
        selection.check()?;
        Programs::attached(load(selection, places)?, selection, None)
    }

    /// The same beside a flight recorder, whose programs go on with these. It must not end before them.
    ///
    /// # Errors
    /// As for [`Programs::start`].
    pub fn start_beside(selection: &Selection, recorder: &FlightRecorder) -> Result<Programs, Refused> {
        selection.check()?;
        Programs::attached(load(selection, false)?, selection, Some(recorder))
    }

    /// The same beside a flight recorder that may start: the programs are loaded meanwhile, and attached after its own.
    pub(super) fn start_after(
        selection: &Selection,
        places: bool,
        start_recorder: impl FnOnce() -> Option<FlightRecorder>,
    ) -> (Result<Programs, Refused>, Option<FlightRecorder>) {
        if let Err(refused) = selection.check() {
            return (Err(refused), start_recorder());
        }
        let (loaded, recorder) = load_beside(|| load(selection, places), start_recorder);
        (loaded.and_then(|loaded| Programs::attached(loaded, selection, recorder.as_ref())), recorder)
    }

    fn attached(
        (mut object, cpus, mut blind): Loaded,
        selection: &Selection,
        recorder: Option<&FlightRecorder>,
    ) -> Result<Programs, Refused> {
        let table = ThreadTable::new(object.shared_globals()?);
        let rings = Rings::new(object.shared_array("rings")?, cpus);
        let entered = recorder.and_then(|recorder| enter_from(recorder, &object));
        let jumped_to: &[&str] = match &entered {
            Some(entered) => &entered.programs,
            None => &[],
        };
        object.attach_without(jumped_to)?;
        blind.extend(left_out::blind_without(&object.left_out()));
        let (jumps, in_interrupts) = entered.map(|entered| (entered.jumps, entered.in_interrupts)).unzip();
        let programs =
            Programs { jumps, object: Some(object), blind, table, rings, next: 0, makers: Makers::default() };
        for &tid in &selection.threads {
            programs.table.follow(tid, 0);
        }
        programs.follow_processes(selection);
        programs.follow_names(selection);
        if !selection.by_name() && !selection.command && programs.table.alive() == 0 {
            return Err(Refused::because(DOING, "they have just ended"));
        }
        // Nothing can fail any more. Until here, whoever returns takes them out.
        in_interrupts.into_iter().flatten().for_each(Jumps::keep);
        Ok(programs)
    }

    /// What they do not see on this kernel.
    pub(super) fn blind(&self) -> &[String] {
        &self.blind
    }

    /// The kernel's numbers for the programs.
    pub(super) fn program_ids(&self) -> Vec<u32> {
        let programs = self.object.as_ref().map(LoadedObject::programs).unwrap_or_default();
        punctual_kernel::bpf_programs::ids_of(&programs)
    }

    /// Follows the threads of the selection's processes, until no new one shows up: a thread that is not followed yet
    /// may start another while this looks.
    pub(super) fn follow_processes(&self, selection: &Selection) {
        for &process in &selection.processes {
            for _ in 0..10 {
                let new: Vec<u32> =
                    threads_of(process).into_iter().filter(|&tid| !self.table.holds(tid) && !has_ended(tid)).collect();
                if new.is_empty() || new.iter().all(|&tid| !self.table.follow(tid, FOLLOW_THREADS)) {
                    break;
                }
            }
        }
    }

    /// Follows all threads whose names are selected, except punctual's own.
    pub(super) fn follow_names(&self, selection: &Selection) {
        if !selection.by_name() {
            return;
        }
        let is_wanted = |&tid: &u32| name_of(tid).is_some_and(|name| selection.wants_name(&name));
        for process in processes() {
            let wanted: Vec<u32> = threads_of(process).into_iter().filter(is_wanted).collect();
            if wanted.is_empty() || is_own(process) {
                continue;
            }
            for tid in wanted {
                self.table.follow(tid, FOLLOW_NAME);
            }
        }
    }

    /// Follows threads that took a selected name since the last call.
    pub(super) fn follow_renamed(&mut self, selection: &Selection) {
        if !selection.by_name() {
            return;
        }
        let (renames, overwritten) = self.table.take_renames();
        for rename in renames {
            if selection.wants_name(&text(&rename.name)) && !is_own(rename.process) {
                self.table.follow(rename.tid, FOLLOW_NAME);
                if selection.is_by_name_alone() && self.makers.took_name(rename.tid, rename.process) {
                    self.follow_makers(rename.process);
                }
            }
        }
        if overwritten {
            self.follow_names(selection);
        }
    }

    /// Follows the threads of a process, whatever their names, so that those that they make are followed from their first sleep on.
    fn follow_makers(&self, process: u32) {
        let threads = threads_of(process);
        if threads.len() <= MAX_THREADS {
            threads.into_iter().filter(|&tid| !self.table.holds(tid) && !has_ended(tid)).for_each(|tid| {
                self.table.follow(tid, FOLLOW_THREADS);
            });
        }
    }

    /// Forgets threads that ended without the programs having seen it, of those whose turn it is.
    pub(super) fn sweep(&mut self) {
        let slots = self.table.slots();
        for tid in turn(self.next, slots.len()).map(|number| slots[number].owner as u32) {
            if has_ended(tid) {
                self.table.forget(tid);
            }
        }
        self.next = (self.next + LOOKED_AT) % slots.len().max(1);
    }

    /// What the slots of the followed threads hold.
    pub(super) fn slots(&self) -> Vec<Slot> {
        self.table.slots()
    }

    /// Takes the programs out of the kernel; what they wrote stays readable.
    pub(super) fn detach(&mut self) {
        drop(self.jumps.take());
        self.object = None;
    }

    /// Takes the records that are in the rings, and says how many; for benchmarks.
    pub fn discard(&self) -> u64 {
        let mut records = Vec::new();
        self.rings.take(&mut records);
        records.len() as u64
    }

    /// Records for which there was no room, so far.
    pub fn lost(&self) -> u64 {
        self.rings.lost()
    }

    /// Descriptors of the programs, by name, for statistics.
    pub fn programs(&self) -> Vec<(String, i32)> {
        self.object.as_ref().map(LoadedObject::programs).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{JUMPED_TO, JUMPED_TO_IN_INTERRUPTS, LOOKED_AT, OBJECT, Programs, Selection, load, turn};
    use crate::recorder::FlightRecorder;
    use crate::shared::helper_calls::calls_in;
    use libbpf_sys::{
        BPF_FUNC_get_current_task_btf, BPF_FUNC_ktime_get_ns, BPF_FUNC_probe_read_kernel, BPF_FUNC_tail_call,
    };
    use punctual_kernel::bpf::run_statistics;
    use punctual_kernel::clock;
    use std::collections::HashSet;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn only_the_recorder_goes_on_with_programs_that_follow_threads() {
        for program in ["note_switch", "note_waking"] {
            assert_eq!(calls_in(crate::recorder::programs::OBJECT, program, BPF_FUNC_tail_call), 1, "{program}");
            assert_eq!(calls_in(crate::eventlog::RECORDER_OF_LOG, program, BPF_FUNC_tail_call), 0, "log: {program}");
        }
    }

    #[test]
    fn machine_the_recorders_programs_go_on_with_these() {
        // While it runs, the kernel counts how often programs are entered.
        let recorder = match FlightRecorder::start(0, false) {
            Ok(recorder) => recorder,
            Err(refused) => return punctual_testing::skip("going on with other programs", refused),
        };
        let own = Selection::of_processes(vec![std::process::id()]);
        let mut programs = Programs::start_beside(&own, &recorder).unwrap();
        assert!(programs.jumps.is_some(), "the kernel refused the jumps");
        let (begun, mut told) = (clock::monotonic_ns(), Vec::new());
        for _ in 0..100 {
            sleep(Duration::from_millis(1));
            programs.rings.take(&mut told);
        }
        let copied = recorder.copy(begun, clock::monotonic_ns());
        let seen: HashSet<u64> = copied.iter().flat_map(|(_, copied)| &copied.records).map(|one| one.time).collect();
        let (all, told) = (told.len(), told.iter().filter(|one| one.switch_in > begun && one.wake.waking > begun));
        let same = told.filter(|one| seen.contains(&one.switch_in) && seen.contains(&one.wake.waking)).count();
        assert!(same > 10, "of 100 wakeups {all} were told, {same} of them with the recorder's times");
        let entered: Vec<(String, u64)> = (programs.programs().into_iter())
            .filter(|(name, _)| JUMPED_TO.iter().chain(&JUMPED_TO_IN_INTERRUPTS).any(|(_, other)| other == name))
            .filter_map(|(name, program)| Some((name, run_statistics(program)?.0)))
            .collect();
        // Those that are not loaded have no statistics: each kernel has these two and those of devices.
        assert!(entered.len() >= 4 && entered.iter().all(|(_, runs)| *runs == 0), "{entered:?}");
        programs.detach();
        programs.discard();
        sleep(Duration::from_millis(5));
        assert_eq!(programs.discard(), 0, "detached, they tell of nothing more");
    }

    #[test]
    fn machine_the_recorders_programs_go_on_with_none_that_could_not_start() {
        let recorder = match FlightRecorder::start(0, false) {
            Ok(recorder) => recorder,
            Err(refused) => return punctual_testing::skip("going on with none that could not start", refused),
        };
        let goes_on = |(of_recorder, _): &&(&str, &str)| recorder.goes_on_no_more(of_recorder);
        let taken_out = || JUMPED_TO.iter().chain(&JUMPED_TO_IN_INTERRUPTS).filter(goes_on).count();
        // There is nobody to follow, which shows only once they are attached.
        let nobody = Selection::default();
        let started = Programs::attached(load(&nobody, false).unwrap(), &nobody, Some(&recorder));
        assert!(started.is_err(), "nobody is followed");
        assert_eq!(taken_out(), 0, "jumps were left");
        let own = Selection::of_processes(vec![std::process::id()]);
        drop(Programs::start_beside(&own, &recorder).unwrap());
        let kept = taken_out();
        assert!(kept >= 2, "{kept} jumps in interrupts stay until the recorder ends");
    }

    #[test]
    fn a_switch_of_followed_threads_reads_the_kernel_without_helpers() {
        assert_eq!(calls_in(OBJECT, "threads_switched", BPF_FUNC_probe_read_kernel), 0);
        assert!(calls_in(OBJECT, "threads_switched", BPF_FUNC_ktime_get_ns) > 0, "it has a time all the same");
    }

    #[test]
    fn every_thread_has_its_turn() {
        for count in [0, 1, LOOKED_AT, LOOKED_AT + 1, 4_096] {
            let (mut seen, mut from) = (vec![0; count], 0);
            for _ in 0..count.div_ceil(LOOKED_AT) {
                turn(from, count).for_each(|number| seen[number] += 1);
                from = (from + LOOKED_AT) % count;
            }
            assert!(seen.iter().all(|&times| times > 0), "{count}");
            assert!(turn(from, count).count() <= LOOKED_AT);
        }
    }

    #[test]
    fn a_waking_reads_the_clock_and_asks_for_the_waker_once() {
        assert_eq!(calls_in(OBJECT, "thread_woken", BPF_FUNC_ktime_get_ns), 1);
        // The other place is for kernels before 5.11, which refuse it where they cannot do without.
        assert!(calls_in(OBJECT, "thread_woken", BPF_FUNC_get_current_task_btf) <= 2);
    }
}
