//! The programs of the event log, by class.

use crate::why::recorder::{configuration, possible_cpus};
use punctual_kernel::Refused;
use punctual_kernel::bpf::{self, LoadedObject};
use punctual_recording::EventClass;

/// The compiled programs.
pub(super) const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/log.bpf.o"));

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

/// The programs in the kernel; they leave it when this is dropped.
pub(super) struct LogPrograms {
    pub(super) object: LoadedObject,
    pub(super) possible: usize,
}

impl LogPrograms {
    /// Loads and attaches those of some classes; `None` where none of them needs any.
    pub(super) fn start(classes: &[EventClass]) -> Result<Option<LogPrograms>, Refused> {
        let is_needed = |class: &EventClass| !matches!(class, EventClass::Mark | EventClass::Dropped);
        if !classes.iter().any(is_needed) {
            return Ok(None);
        }
        if classes.contains(&EventClass::Futex) && !cfg!(target_arch = "x86_64") {
            return Err(Refused::because("logging futex calls", "this is known only of x86-64"));
        }
        // No timer is that late: no stacks.
        let configuration = configuration("logging events", 1 << 60)?;
        let possible = possible_cpus();
        let chosen = |program: &str| class_of(program).is_some_and(|class| classes.contains(&class));
        let sizes = [("rings", possible as u32)];
        let mut object = LoadedObject::load_chosen("log", OBJECT, Some(&configuration), &sizes, &chosen)?;
        object.attach()?;
        Ok(Some(LogPrograms { object, possible }))
    }

    /// Programs of chosen classes that this kernel has no tracepoint for.
    pub(super) fn left_out(&self, classes: &[EventClass]) -> Vec<String> {
        let chosen = |program: &String| class_of(program).is_some_and(|class| classes.contains(&class));
        self.object.left_out().into_iter().filter(chosen).collect()
    }

    /// How often a program was not run because it was running already, and how long all ran, ns, where that is measured.
    pub(super) fn statistics(&self) -> (u64, Option<u64>) {
        let (mut skipped, mut ran_ns) = (0, 0);
        for (_, program) in self.object.programs() {
            if let Some((_, ns, misses)) = bpf::run_statistics(program) {
                skipped += misses;
                ran_ns += ns;
            }
        }
        (skipped, (ran_ns > 0).then_some(ran_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::ObjectBuilder;

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
