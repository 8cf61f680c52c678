//! The programs of the event log, by class.

use super::rings::Written;
use crate::recorder::performance_events::{count_faults, try_fault_counts};
use crate::recorder::programs::{configuration, is_cost_known};
use crate::shared::left_out::lacking;
use punctual_kernel::bpf::{self, LeftOut, LoadedObject};
use punctual_kernel::features::{Feature, LARGE_PROGRAMS, explain};
use punctual_kernel::{Refused, cpus};
use punctual_recording::EventClass;
use std::os::fd::OwnedFd;

/// What a kernel must have for the programs: each record takes its place in a ring with one of these.
pub(crate) const NEEDED: &[Feature] = &[LARGE_PROGRAMS];

/// The compiled programs.
pub(crate) const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/log.bpf.o"));

/// The class that a program is for; `None` for those that a log does not need.
fn class_of(program: &str) -> Option<EventClass> {
    Some(match program {
        "note_switch" | "note_waking" | "note_migration" => EventClass::Sched,
        "softirq_begins" | "softirq_ends" | "tasklet_begins" | "tasklet_ends" => EventClass::Softirq,
        "timer_begins" | "timer_ends" | "callback_begins" | "callback_ends" => EventClass::Timer,
        "work_begins" | "work_ends" => EventClass::Work,
        "user_fault" | "kernel_fault" | "fault_ends" => EventClass::Fault,
        "lock_begins" | "lock_ends" => EventClass::Lock,
        "futex_begins" | "futex_ends" => EventClass::Futex,
        "process_forks" | "process_execs" | "process_exits" | "thread_renamed" => EventClass::Process,
        "softirq_raised" | "take_sample" => return None,
        // Interrupts have two programs for each vector.
        _ if program.ends_with("_begins") || program.ends_with("_ends") => EventClass::Irq,
        _ => return None,
    })
}

/// Loads those of some classes, without attaching them yet. Returns also one more than the highest CPU number, and
/// whether an event's context is the kernel's own count.
fn load(classes: &[EventClass]) -> Result<(LoadedObject, usize, bool), Refused> {
    // No timer is that late, so no stacks are taken.
    let (configuration, places) = configuration("logging events", 1 << 60, false)?;
    let possible = cpus::possible();
    let chosen = |program: &str| class_of(program).is_some_and(|class| classes.contains(&class));
    let sizes = [("rings", possible as u32)];
    let object = LoadedObject::load_chosen("log", OBJECT, Some(&configuration), &sizes, &chosen)
        .map_err(|refused| explain(refused, NEEDED))?;
    classes.iter().try_for_each(|class| refuse_if_empty(*class, &object))?;
    Ok((object, possible, places.nesting.is_known()))
}

/// A class all of whose programs were left out would give a log without events.
fn refuse_if_empty(class: EventClass, object: &LoadedObject) -> Result<(), Refused> {
    let left_out: Vec<LeftOut> =
        object.left_out().into_iter().filter(|one| class_of(&one.program) == Some(class)).collect();
    let is_loaded = |name: &str| class_of(name) == Some(class) && left_out.iter().all(|one| one.program != name);
    if !needs_programs(class) || object.programs().iter().any(|(name, _)| is_loaded(name)) {
        return Ok(());
    }
    let doing = format!("logging {}", events_of(class));
    Err(match lacking(&left_out).into_iter().next() {
        Some(lack) => Refused::lacking(doing, lack.so_blind_for("")),
        None => Refused::because(doing, "this kernel has no place for any of its programs"),
    })
}

/// Loads the programs of a class and unloads them again, with what they take beside; returns those that this kernel has
/// no place for, or refused.
fn try_out(class: EventClass) -> Result<Vec<LeftOut>, Refused> {
    let left_out = load(&[class])?.0.left_out();
    if class == EventClass::Fault {
        try_fault_counts()?;
    }
    Ok(left_out.into_iter().filter(|one| class_of(&one.program) == Some(class)).collect())
}

/// What came of trying classes one by one.
#[derive(Default)]
pub(crate) struct TriedClasses {
    /// Those that can be logged here.
    pub(crate) available: Vec<EventClass>,
    /// Their programs that this kernel has no place for, or refused.
    pub(crate) left_out: Vec<LeftOut>,
    /// The others, and why.
    pub(crate) refused: Vec<(EventClass, Refused)>,
}

impl TriedClasses {
    /// Tries each of these.
    pub(crate) fn of(classes: &[EventClass]) -> TriedClasses {
        let mut tried = TriedClasses::default();
        for &class in classes {
            let outcome = if needs_programs(class) { try_out(class) } else { Ok(Vec::new()) };
            match outcome {
                Ok(left_out) => {
                    tried.available.push(class);
                    tried.left_out.extend(left_out);
                }
                Err(refused) => tried.refused.push((class, refused)),
            }
        }
        tried
    }
}

/// What a result without a class cannot see.
pub(crate) fn events_of(class: EventClass) -> String {
    format!("events of the class {}", class.name())
}

/// Whether a class is logged by programs in the kernel: marks come from whoever makes them.
pub(crate) fn needs_programs(class: EventClass) -> bool {
    !matches!(class, EventClass::Mark | EventClass::Dropped)
}

/// The programs in the kernel; they leave it when this is dropped.
pub(super) struct LogPrograms {
    pub(super) object: LoadedObject,
    pub(super) possible: usize,
    /// Whether an event's context is the kernel's own count.
    pub(super) nesting_known: bool,
    written: Written,
    /// While this is held, the kernel measures how long programs run.
    statistics: Option<OwnedFd>,
    /// How long they had run when that was given up, ns, and how many records they had written by then.
    measured: Option<(u64, u64)>,
}

impl LogPrograms {
    /// Loads and attaches those of some classes; `None` if none of them needs any.
    pub(super) fn start(classes: &[EventClass], cpus: &[u32]) -> Result<Option<LogPrograms>, Refused> {
        if !classes.iter().any(|class| needs_programs(*class)) {
            return Ok(None);
        }
        if classes.contains(&EventClass::Futex) && !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return Err(Refused::because("logging futex calls", "this is known only for x86-64 and arm64"));
        }
        let (mut object, possible, nesting_known) = load(classes)?;
        let written = Written::new(object.shared_array("rings")?, possible);
        // Not if this user may not: then the cost is not known.
        let statistics = bpf::enable_run_time_statistics().ok();
        object.attach()?;
        if classes.contains(&EventClass::Fault) {
            count_faults(&mut object, cpus)?;
        }
        Ok(Some(LogPrograms { object, possible, nesting_known, written, statistics, measured: None }))
    }

    /// Stops the kernel's measuring of the programs once that has told what a record costs, since it costs something with
    /// every run of every program; `measured_ns` have passed since the log began.
    pub(super) fn stop_measuring_once_known(&mut self, measured_ns: u64) {
        let records = self.written.records();
        if self.statistics.is_some() && is_cost_known(measured_ns, records) {
            self.measured = Some((self.ran().1, records));
            self.statistics = None;
        }
    }

    /// Programs of chosen classes for which this kernel has no tracepoint, or which it refuses.
    pub(super) fn left_out(&self, classes: &[EventClass]) -> Vec<LeftOut> {
        let chosen = |one: &LeftOut| class_of(&one.program).is_some_and(|class| classes.contains(&class));
        self.object.left_out().into_iter().filter(chosen).collect()
    }

    /// How often a program was skipped because it was already running, and how long all ran, ns.
    fn ran(&self) -> (u64, u64) {
        let of = |(_, program): (String, i32)| bpf::run_statistics(program);
        self.object
            .programs()
            .into_iter()
            .filter_map(of)
            .fold((0, 0), |sum, (_, ns, misses)| (sum.0 + misses, sum.1 + ns))
    }

    /// How often a program was skipped because it was already running; and how long all ran, ns: as the kernel measures
    /// it, or as a measured while and the number of records imply.
    pub(super) fn statistics(&self) -> (u64, Option<u64>) {
        let (skipped, ran_ns) = self.ran();
        let records = self.written.records();
        let scaled = |(ns, until): (u64, u64)| (u128::from(ns) * u128::from(records) / u128::from(until.max(1))) as u64;
        (skipped, self.statistics.as_ref().map(|_| ran_ns).or_else(|| self.measured.map(scaled)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::helper_calls::calls_in;
    use libbpf_rs::ObjectBuilder;
    use libbpf_sys::BPF_FUNC_get_current_task_btf;

    #[test]
    fn an_event_asks_for_the_current_thread_once() {
        let asks = |program| calls_in(OBJECT, program, BPF_FUNC_get_current_task_btf);
        // In a switch it is the thread that leaves.
        assert_eq!(asks("note_switch"), 0);
        for program in ["note_waking", "note_migration", "local_timer_begins", "local_timer_ends", "handler_begins"] {
            assert_eq!(asks(program), 1, "{program}");
        }
        for program in ["softirq_begins", "softirq_ends", "user_fault", "work_begins", "lock_begins", "futex_begins"] {
            assert_eq!(asks(program), 1, "{program}");
        }
    }

    /// Only the flight recorder adds up what handlers take.
    #[test]
    fn a_log_takes_no_memory_for_sums() {
        let object = ObjectBuilder::default().open_memory(OBJECT).unwrap();
        let maps: Vec<String> = object.maps().map(|map| map.name().to_string_lossy().into_owned()).collect();
        assert!(maps.iter().any(|map| map == "rings"), "{maps:?}");
        assert!(!maps.iter().any(|map| map.ends_with("sums")), "{maps:?}");
    }

    /// In which interrupt it ends stands in its event already.
    #[test]
    fn a_timers_end_asks_for_the_current_thread_once() {
        assert_eq!(calls_in(OBJECT, "timer_ends", BPF_FUNC_get_current_task_btf), 1);
    }

    /// A program that is added to the flight recorder gets a class here, or is known not to need one.
    #[test]
    fn every_program_has_a_class() {
        let object = ObjectBuilder::default().open_memory(OBJECT).unwrap();
        let without: Vec<String> = object
            .progs()
            .map(|program| program.name().to_string_lossy().into_owned())
            .filter(|name| class_of(name).is_none())
            .collect();
        let mut without = without;
        without.sort();
        assert_eq!(without, ["softirq_raised", "take_sample"]);
        assert_eq!(class_of("local_timer_begins"), Some(EventClass::Irq));
    }
}
