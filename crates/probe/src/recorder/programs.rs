//! Loads the flight recorder's programs.

use super::ended_threads::EndedThreads;
use super::fault_path;
use super::groups::Hierarchy;
use super::handlers::{Entry, timers_of, with_key};
use super::performance_events::{CPU_CLOCK, SAMPLER, Without, count_faults_if_allowed, sampling_clocks};
use super::rings::{Copied, Rings};
use super::symbols_ahead::SymbolsAhead;
use crate::shared::left_out;
use punctual_kernel::bpf::{
    LeftOut, LoadedObject, enable_run_time_statistics, kernel_record_has, run_statistics, tracepoint_arguments,
};
use punctual_kernel::bpf_programs::{self, FunctionCode};
use punctual_kernel::features::{Feature, LARGE_PROGRAMS, explain};
use punctual_kernel::per_cpu::{self, NESTING_BLIND, Places};
use punctual_kernel::{Refused, clock, cpus, function_addresses, host};
use punctual_recording::Stage;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The compiled programs.
pub(crate) const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recorder.bpf.o"));

/// What a kernel must have for the programs.
pub(crate) const NEEDED: &[Feature] = &[LARGE_PROGRAMS];

/// If a timer interrupt is later than this, the stack that it interrupted is taken, ns.
const LATE_NS: u64 = 50_000;

/// The kernel measures the programs at least for this long, ns, ...
const MEASURED_AT_LEAST_NS: u64 = 100_000_000;
/// ... until they have written so many records, which say what one costs, ...
const MEASURED_RECORDS: u64 = 30_000;
/// ... or for this long. After that the number of records says what they cost.
const MEASURED_AT_MOST_NS: u64 = 900_000_000;

/// The programs in the kernel; they leave it when this is dropped.
pub struct FlightRecorder {
    object: LoadedObject,
    places: Places,
    rings: Rings,
    ended: Arc<EndedThreads>,
    cpus: Vec<u32>,
    clock: Option<&'static str>,
    /// What it goes on without.
    without: Vec<Without>,
    /// Where the code of the sampling program is, if its interrupts can be told apart from other timers'.
    sampler: Vec<FunctionCode>,
    fault_path_ns: u64,
    /// Whether its evidence covers whole requests.
    requests: bool,
    /// While this is held, the kernel measures how long programs run.
    statistics: Option<OwnedFd>,
    /// What the programs had cost when the measurement began, and how many records had been written by then.
    before: (ProgramCost, u64),
    /// The cost when measuring it was given up, and how many records had been written by then.
    measured: Option<(ProgramCost, u64)>,
    /// The kernel's symbols, if they are being read for whoever names what is recorded.
    symbols: Option<SymbolsAhead>,
}

/// What the recorder's programs cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgramCost {
    /// How often they ran.
    pub runs: u64,
    /// How long in all, ns, including what interrupted them.
    pub ns: u64,
}

/// Programs that are needed only for evidence of whole requests.
const FOR_REQUESTS: &[&str] = &["packet_queued", "packet_delivered", "work_queued"];

/// The map that holds what handlers and callbacks have taken, ...
const SUMS: &str = "handler_sums";
/// ... and that for what has a number only: interrupts by class, and softirqs.
const NUMBERED_SUMS: &str = "numbered_sums";

/// Loads the programs, without attaching them yet. Returns also one more than the highest CPU number, and where the
/// kernel keeps what they look up.
fn load(waits: bool) -> Result<(LoadedObject, usize, Places), Refused> {
    let (configuration, places) = configuration("recording what makes wakeups late", LATE_NS, waits)?;
    let possible = cpus::possible();
    let chosen = |program: &str| waits || !FOR_REQUESTS.contains(&program);
    let sizes = [("rings", possible as u32)];
    let object = LoadedObject::load_chosen("recorder", OBJECT, Some(&configuration), &sizes, &chosen)
        .map_err(|refused| explain(refused, NEEDED))?;
    Ok((object, possible, places))
}

/// Loads the programs and unloads them again; returns those that this kernel has no place for, or refused.
pub(crate) fn try_out() -> Result<Vec<LeftOut>, Refused> {
    Ok(load(true)?.0.left_out())
}

impl FlightRecorder {
    /// Loads and attaches the programs. With a `sample_rate` above 0 every CPU's stack is taken that often a second;
    /// with `faults` the end of each page fault is noted too. Where the kernel refuses either, it goes on without.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(sample_rate: u32, faults: bool) -> Result<FlightRecorder, Refused> {
        FlightRecorder::start_for(sample_rate, if faults { Stage::Response } else { Stage::Total })
    }

    /// The same, with what evidence of this reach needs.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start_for(sample_rate: u32, stage: Stage) -> Result<FlightRecorder, Refused> {
        let (mut object, possible, places) = load(stage == Stage::Request)?;
        let rings = Rings::new(object.shared_array("rings")?, possible);
        let ended = Arc::new(EndedThreads::new(object.shared_array("ended")?));
        let cpus = cpus::online();
        // Not if this user may not: then the cost is not known.
        let statistics = enable_run_time_statistics().ok();
        object.attach()?;
        let mut without = Vec::new();
        let mut fault_path_ns = 0;
        if stage.holds_work() && count_faults_if_allowed(&mut object, &cpus, &mut without) {
            fault_path_ns = fault_path::measure(&rings, &cpus);
        }
        let clock = sampling_clocks(&mut object, &cpus, sample_rate, &mut without);
        let sampler = timed_sampler(&object, clock);
        Ok(FlightRecorder {
            object,
            places,
            rings,
            ended,
            cpus,
            clock,
            without,
            sampler,
            fault_path_ns,
            requests: stage == Stage::Request,
            statistics,
            before: Default::default(),
            measured: None,
            symbols: None,
        })
    }

    /// The same; meanwhile another thread reads the kernel's symbols, for whoever names what is recorded.
    pub(crate) fn start_with_symbols(sample_rate: u32, stage: Stage) -> Result<FlightRecorder, Refused> {
        let symbols = SymbolsAhead::begin();
        let mut recorder = FlightRecorder::start_for(sample_rate, stage)?;
        recorder.symbols = Some(symbols);
        Ok(recorder)
    }

    /// The kernel's symbols, for whoever names what is recorded.
    pub(crate) fn take_symbols(&mut self) -> SymbolsAhead {
        self.symbols.take().unwrap_or_else(SymbolsAhead::begin)
    }

    /// What the sampling clock is: `cpu-cycles` can look into code with interrupts off, `cpu-clock` cannot. `None` if no
    /// samples are taken.
    pub fn clock(&self) -> Option<&'static str> {
        self.clock
    }

    /// From one sample to the next at this rate, ns; 0 if no samples are taken.
    pub(crate) fn sample_period_ns(&self, rate: u32) -> u64 {
        let rate = self.clock.map_or(0, |_| rate);
        1_000_000_000_u64.checked_div(u64::from(rate)).unwrap_or(0)
    }

    /// What it had to do without, and what would allow it.
    pub(super) fn notes(&self) -> Vec<String> {
        self.without.iter().map(Without::note).collect()
    }

    /// Descriptors of its programs, by name, for statistics.
    pub fn programs(&self) -> Vec<(String, i32)> {
        self.object.programs()
    }

    /// The kernel's numbers for its programs.
    pub fn program_ids(&self) -> Vec<u32> {
        bpf_programs::ids_of(&self.object.programs())
    }

    /// Its programs.
    pub(super) fn object(&self) -> &LoadedObject {
        &self.object
    }

    /// From now on, the programs' cost counts towards the measurement.
    pub fn begin_measuring(&mut self) {
        self.before = (self.cost_so_far().unwrap_or_default(), self.rings.records_written());
    }

    /// What the programs have cost since [`FlightRecorder::begin_measuring`]: as the kernel measured it, and after
    /// [`FlightRecorder::stop_measuring`] as the number of records implies. It leaves out the sampling program if the
    /// clock's interrupts are measured.
    pub fn cost(&self) -> Option<ProgramCost> {
        let Some((cost, records)) = self.measured else { return self.measured_cost() };
        let now = self.rings.records_written().saturating_sub(self.before.1);
        let scale = |value: u64| (u128::from(value) * u128::from(now) / u128::from(records.max(1))) as u64;
        Some(ProgramCost { runs: scale(cost.runs), ns: scale(cost.ns) })
    }

    /// Stops the kernel's measuring of the programs once that has told what a record costs; `measured_ns` have passed
    /// since [`FlightRecorder::begin_measuring`].
    pub(super) fn stop_measuring_once_known(&mut self, measured_ns: u64) {
        if self.statistics.is_some()
            && is_cost_known(measured_ns, self.rings.records_written().saturating_sub(self.before.1))
        {
            self.stop_measuring();
        }
    }

    /// Stops the kernel's measuring of the programs: every run of every program reads the clock twice more for it.
    pub fn stop_measuring(&mut self) {
        if self.measured.is_none() {
            self.measured =
                self.measured_cost().map(|cost| (cost, self.rings.records_written().saturating_sub(self.before.1)));
        }
        self.statistics = None;
    }

    fn measured_cost(&self) -> Option<ProgramCost> {
        let (cost, before) = (self.cost_so_far()?, self.before.0);
        Some(ProgramCost { runs: cost.runs.saturating_sub(before.runs), ns: cost.ns.saturating_sub(before.ns) })
    }

    fn cost_so_far(&self) -> Option<ProgramCost> {
        self.statistics.as_ref()?;
        let measured_elsewhere = !self.sampler.is_empty();
        let programs = self.object.programs().into_iter();
        let counted = programs.filter(|(name, _)| !(measured_elsewhere && name == SAMPLER));
        let add =
            |sum: ProgramCost, (runs, ns, _): (u64, u64, u64)| ProgramCost { runs: sum.runs + runs, ns: sum.ns + ns };
        Some(counted.filter_map(|(_, program)| run_statistics(program)).fold(ProgramCost::default(), add))
    }

    /// How often one of its programs was due to run and did not, because it was already running on that CPU.
    pub(crate) fn missed_runs(&self) -> u64 {
        let missed = |(_, program): (String, i32)| run_statistics(program).map_or(0, |(_, _, missed)| missed);
        self.object.programs().into_iter().map(missed).sum()
    }

    /// The CPUs that it watches.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Programs for which this kernel has no tracepoint, or which it refuses.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let mut left_out = self.object.left_out();
        left_out.retain(|one| self.requests || !FOR_REQUESTS.contains(&one.program.as_str()));
        left_out
    }

    /// Whether the kernel's count of nested interrupts can be read; if not, an event's count says nothing.
    pub fn nesting_known(&self) -> bool {
        self.places.nesting.is_known()
    }

    /// Whether the host's steal is known for each event.
    pub fn steal_known(&self) -> bool {
        self.places.steal.is_some()
    }

    /// The threads that have ended since it began; `None` if this kernel does not report them.
    pub(crate) fn ended(&self) -> Option<Arc<EndedThreads>> {
        let is_told = !self.object.is_left_out("thread_ends");
        is_told.then(|| Arc::clone(&self.ended))
    }

    /// What it does not see on this kernel.
    pub fn blind(&self) -> Vec<String> {
        let mut blind = left_out::blind_without(&self.left_out());
        blind.extend(self.without.iter().map(Without::blind));
        if !self.nesting_known() {
            blind.push(NESTING_BLIND.to_owned());
        }
        if self.places.registers.is_none() {
            blind.push(
                "which instruction an interrupt interrupted: this kernel does not say where it keeps it".to_owned(),
            );
        }
        if kernel_record_has("cfs_rq", "throttle_count") != Some(true) {
            blind.push("that a control group is out of quota: this kernel has none, or does not say so".to_owned());
        } else if kernel_record_has("task_group", "se") != Some(true) {
            blind.push(
                "on which CPUs a control group was given new quota (it counts as given to all), and that it has none where a \
                 thread is moved to: this kernel keeps that where no program can look"
                    .to_owned(),
            );
        }
        if !self.steal_known() && host::host().virtualization.as_deref() != Some("none") {
            blind.push(
                "what the host stole within a late wakeup: it may be attributed to whoever had the CPU".to_owned(),
            );
        }
        blind
    }

    /// What a page fault costs outside its stamps, ns; 0 if not known.
    pub(crate) fn fault_path_ns(&self) -> u64 {
        self.fault_path_ns
    }

    pub(super) fn samples_taken(&self) -> u64 {
        self.rings.stacks_taken()
    }

    /// What every handler, softirq and callback has taken since the start.
    pub(super) fn handler_entries(&self) -> Vec<Entry> {
        let numbered = self.object.entries_per_cpu(NUMBERED_SUMS).into_iter().filter_map(with_key);
        self.object.entries_per_cpu(SUMS).into_iter().chain(numbered).collect()
    }

    /// How long the sampling clock's interrupts have taken since the start, ns; `None` where they cannot be told apart.
    pub(super) fn sampled_ns(&self) -> Option<u64> {
        (!self.sampler.is_empty()).then(|| timers_of(&self.object.entries_per_cpu(SUMS), &self.sampler))
    }

    /// What happened on each CPU between two times in the past.
    pub(crate) fn copy(&self, start: u64, end: u64) -> Vec<(u32, Copied)> {
        self.cpus.iter().map(|&cpu| (cpu, self.rings.copy(cpu, start, end))).collect()
    }
}

/// Whether what the kernel has measured for so long, ns, while so many records were written, tells what a record costs.
pub(crate) fn is_cost_known(measured_ns: u64, records: u64) -> bool {
    measured_ns >= MEASURED_AT_MOST_NS || measured_ns >= MEASURED_AT_LEAST_NS && records >= MEASURED_RECORDS
}

/// Where the code of the sampling program is; none where its clock is no timer, or the kernel hides addresses. Only this
/// program is looked up: to read all the kernel's symbols would take longer than everything else before the first wakeup.
fn timed_sampler(object: &LoadedObject, clock: Option<&str>) -> Vec<FunctionCode> {
    if clock != Some(CPU_CLOCK.0) {
        return Vec::new();
    }
    let mut sampler = object.programs();
    sampler.retain(|(name, _)| name == SAMPLER);
    let code = bpf_programs::ids_of(&sampler).into_iter().filter_map(bpf_programs::code_of);
    code.flat_map(|code| code.functions).collect()
}

/// In the order of `enum known_function`.
const FUNCTIONS: [&str; 6] = [
    "bpf_timer_cb",
    "perf_swevent_hrtimer",
    "sched_cfs_period_timer",
    "sched_cfs_slack_timer",
    "sched_ttwu_pending",
    "generic_smp_call_function_single_interrupt",
];

/// What the programs have to know about this kernel. If a timer is later than `late_ns` the stack that it interrupted
/// is taken; with `waits` each waking reports what the two threads had called the kernel for.
pub(crate) fn configuration(doing: &str, late_ns: u64, waits: bool) -> Result<(Vec<u8>, Places), Refused> {
    if clock::in_shifted_time_namespace() || clock::in_pid_namespace() {
        let reason = "a namespace hides this process's clock or thread ids from the kernel's programs";
        return Err(Refused::because(doing, reason));
    }
    let places = per_cpu::places();
    let mut configuration = Vec::new();
    for offset in [places.steal, places.registers] {
        configuration.extend_from_slice(&offset.unwrap_or(0).to_ne_bytes());
    }
    configuration.extend_from_slice(&places.nesting.bytes());
    let switch_tells_state = switch_tells_state();
    let exit_tells_last = tracepoint_arguments("sched_process_exit").is_some_and(|count| count > 1);
    let groups_of_controller = u64::from(Hierarchy::find().is_some_and(|hierarchy| hierarchy.is_of_controller));
    let cpus = cpus::possible() as u64;
    let requests_tell_queue = u64::from(tracepoint_arguments("block_rq_issue").is_some_and(|count| count > 1));
    let told = [switch_tells_state, exit_tells_last].map(u64::from);
    let waits = u64::from(waits);
    for word in [late_ns, told[0], told[1], groups_of_controller, cpus, requests_tell_queue, waits] {
        configuration.extend_from_slice(&word.to_ne_bytes());
    }
    configuration.extend_from_slice(function_addresses(FUNCTIONS).map(u64::to_ne_bytes).as_flattened());
    Ok((configuration, places))
}

/// Whether `sched_switch` reports the state in which a thread leaves: from 5.18 on.
pub(crate) fn switch_tells_state() -> bool {
    tracepoint_arguments("sched_switch").is_some_and(|count| count > 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::helper_calls::calls_in;
    use libbpf_sys::BPF_FUNC_ktime_get_ns;

    #[test]
    fn the_kernel_measures_the_programs_no_longer_than_it_takes_to_know_what_they_cost() {
        let cases = [
            (0, 0, false),
            // As fast as they come: what is measured should not be the beginning alone.
            (50_000_000, 100_000, false),
            (100_000_000, 30_000, true),
            (100_000_000, 29_999, false),
            // So little happens that it costs nothing to go on.
            (899_999_999, 2_000, false),
            (900_000_000, 0, true),
        ];
        for (measured_ns, records, is_known) in cases {
            assert_eq!(is_cost_known(measured_ns, records), is_known, "{records} records in {measured_ns} ns");
        }
    }

    /// The sums of handlers take their times from the events.
    #[test]
    fn an_interrupt_reads_the_clock_once_as_it_begins_and_once_as_it_ends() {
        let interrupts = ["local_timer", "reschedule", "call_function", "call_function_single", "irq_work"];
        let others = ["handler", "softirq", "tasklet", "callback"];
        for elf in [OBJECT, crate::eventlog::RECORDER_OF_LOG] {
            for (name, end) in interrupts.iter().chain(&others).flat_map(|name| [(name, "begins"), (name, "ends")]) {
                let program = format!("{name}_{end}");
                assert_eq!(calls_in(elf, &program, BPF_FUNC_ktime_get_ns), 1, "{program}");
            }
        }
    }

    /// A program that is added as an optional one says what is blind without it.
    #[test]
    fn every_optional_program_says_what_is_blind_without_it() {
        let without = |program: &str| LeftOut { program: program.to_owned(), refused: None };
        let mut optional = 0;
        for elf in [OBJECT, crate::eventlog::RECORDER_OF_LOG] {
            for name in punctual_kernel::bpf::optional_programs(elf) {
                optional += 1;
                assert_eq!(left_out::blind_without(&[without(&name)]).len(), 1, "{name}");
            }
        }
        assert!(optional > 40, "{optional}");
        // Both halves of a pair count as one thing.
        assert_eq!(left_out::blind_without(&["work_begins", "work_ends"].map(without)).len(), 1);
    }

    #[test]
    fn pointers_to_what_happened_are_followed_without_helpers() {
        for (elf, program) in [(OBJECT, "request_done"), (crate::eventlog::RECORDER_OF_LOG, "note_migration")] {
            // Kernels before 6.2 need two for what the host has taken and for the count of nested interrupts.
            assert!(calls_in(elf, program, libbpf_sys::BPF_FUNC_probe_read_kernel) <= 2, "{program}");
        }
    }

    #[test]
    fn a_waking_asks_for_the_waker_once() {
        // That the woken thread is out of quota is rare, and an event of its own.
        assert!(calls_in(OBJECT, "note_waking", libbpf_sys::BPF_FUNC_get_current_task_btf) <= 2);
    }
}
