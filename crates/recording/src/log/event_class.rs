//! Classes of events, and the names of their kinds.

use crate::episodes::episode::EventKind;
use serde::{Deserialize, Serialize};

/// What belongs together when one chooses what to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventClass {
    /// Switches between threads, wakings, migrations.
    Sched,
    /// Interrupts: every vector, and the handlers of devices.
    Irq,
    /// Softirqs and tasklets.
    Softirq,
    /// Functions of high-resolution timers and of ordinary kernel timers.
    Timer,
    /// Work items of kernel workers.
    Work,
    /// Page faults.
    Fault,
    /// Waiting for the kernel's own locks.
    Lock,
    /// Futex calls: how programs wait for and wake one another.
    Futex,
    /// Threads and processes that are made, become another program, change their name, or end.
    Process,
    /// Programs' own marks.
    Mark,
    /// Where events were lost.
    Dropped,
}

impl EventClass {
    /// Those that can be chosen.
    pub const CHOICES: [EventClass; 10] = [
        EventClass::Sched,
        EventClass::Irq,
        EventClass::Softirq,
        EventClass::Timer,
        EventClass::Work,
        EventClass::Fault,
        EventClass::Lock,
        EventClass::Futex,
        EventClass::Process,
        EventClass::Mark,
    ];

    /// Those that are logged where nobody chooses: all but the ones that can slow a program down or be very many.
    pub const DEFAULT: [EventClass; 7] = [
        EventClass::Sched,
        EventClass::Irq,
        EventClass::Softirq,
        EventClass::Timer,
        EventClass::Work,
        EventClass::Process,
        EventClass::Mark,
    ];

    /// Its name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            EventClass::Sched => "sched",
            EventClass::Irq => "irq",
            EventClass::Softirq => "softirq",
            EventClass::Timer => "timer",
            EventClass::Work => "work",
            EventClass::Fault => "fault",
            EventClass::Lock => "lock",
            EventClass::Futex => "futex",
            EventClass::Process => "process",
            EventClass::Mark => "mark",
            EventClass::Dropped => "dropped",
        }
    }

    /// Reads a list as in `sched,irq` or `all`.
    ///
    /// # Errors
    /// What is no class, and which there are.
    pub fn parse_list(text: &str) -> Result<Vec<EventClass>, String> {
        let mut classes = Vec::new();
        for word in text.split(',').map(str::trim) {
            let found = EventClass::CHOICES.into_iter().find(|class| class.name() == word);
            match found {
                Some(class) => classes.push(class),
                None if word == "all" => classes.extend(EventClass::CHOICES),
                None if word == "default" => classes.extend(EventClass::DEFAULT),
                None => {
                    let names = EventClass::CHOICES.map(EventClass::name).join(", ");
                    return Err(format!("there is no class `{word}`: give some of {names}, or all"));
                }
            }
        }
        classes.sort_unstable();
        classes.dedup();
        Ok(classes)
    }
}

impl EventKind {
    /// Its name in tables, and the class it belongs to.
    fn about(self) -> (&'static str, EventClass) {
        match self {
            EventKind::Switch => ("switch", EventClass::Sched),
            EventKind::Waking => ("waking", EventClass::Sched),
            EventKind::Migrate => ("migrate", EventClass::Sched),
            EventKind::VectorBegin => ("vector_begin", EventClass::Irq),
            EventKind::VectorEnd => ("vector_end", EventClass::Irq),
            EventKind::HandlerBegin => ("handler_begin", EventClass::Irq),
            EventKind::HandlerEnd => ("handler_end", EventClass::Irq),
            EventKind::SoftirqBegin => ("softirq_begin", EventClass::Softirq),
            EventKind::SoftirqEnd => ("softirq_end", EventClass::Softirq),
            EventKind::TaskletBegin => ("tasklet_begin", EventClass::Softirq),
            EventKind::TaskletEnd => ("tasklet_end", EventClass::Softirq),
            EventKind::TimerBegin => ("timer_begin", EventClass::Timer),
            EventKind::TimerEnd => ("timer_end", EventClass::Timer),
            EventKind::CallbackBegin => ("callback_begin", EventClass::Timer),
            EventKind::CallbackEnd => ("callback_end", EventClass::Timer),
            EventKind::WorkBegin => ("work_begin", EventClass::Work),
            EventKind::WorkEnd => ("work_end", EventClass::Work),
            EventKind::FaultUser => ("fault_user", EventClass::Fault),
            EventKind::FaultKernel => ("fault_kernel", EventClass::Fault),
            EventKind::FaultEnd => ("fault_end", EventClass::Fault),
            EventKind::LockBegin => ("lock_begin", EventClass::Lock),
            EventKind::LockEnd => ("lock_end", EventClass::Lock),
            EventKind::ProcessFork => ("fork", EventClass::Process),
            EventKind::ProcessExec => ("exec", EventClass::Process),
            EventKind::ProcessExit => ("exit", EventClass::Process),
            EventKind::Rename => ("rename", EventClass::Process),
            EventKind::FutexBegin => ("futex_begin", EventClass::Futex),
            EventKind::FutexEnd => ("futex_end", EventClass::Futex),
            EventKind::Mark => ("mark", EventClass::Mark),
            EventKind::Dropped => ("dropped", EventClass::Dropped),
        }
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        self.about().0
    }

    /// The class it belongs to.
    pub fn class(self) -> EventClass {
        self.about().1
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<EventKind> {
        EventKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_code_and_name() {
        for &kind in EventKind::ALL {
            assert_eq!(EventKind::from_code(kind as u8), Some(kind));
            assert_eq!(EventKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(EventKind::from_code(0), None);
        assert_eq!(EventKind::from_code(29), None);
        assert_eq!(EventKind::from_name("nothing"), None);
    }

    #[test]
    fn lists_are_read_and_what_is_none_is_told() {
        assert_eq!(EventClass::parse_list("mark, sched,mark").unwrap(), [EventClass::Sched, EventClass::Mark]);
        assert_eq!(EventClass::parse_list("all").unwrap(), EventClass::CHOICES);
        assert_eq!(EventClass::parse_list("default").unwrap(), EventClass::DEFAULT);
        assert!(EventClass::parse_list("sched,cake").unwrap_err().contains("`cake`"));
    }
}
