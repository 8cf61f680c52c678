//! Events of a CPU, as the recorder and the event log note them.

use crate::table::codes;

codes! {
    /// What an event says. Its `value`, `extra` and `name` mean something else for each.
    pub enum EventKind {
        /// The CPU goes from thread `tid` to thread `value`, whose priority is the low half of `extra`; the high half is
        /// the state in which the first one left (see `Event::left_state`). `name` is the next thread's.
        Switch = 1, "switch";
        /// Somebody on this CPU makes thread `value` runnable; the lower 16 bits of `extra` are its priority, those above say
        /// of one that slept for a lock of its program how it came to be woken (see `Event::lock_waking`). `name` is the
        /// current thread's.
        Waking = 2, "waking";
        /// An interrupt of class `value` (see [`Vector`](crate::Vector)) begins; `extra` is the interrupted instruction, with
        /// `INTERRUPTED_USER` set where it was user code. `name` is the interrupted thread's.
        VectorBegin = 3, "vector_begin";
        /// It ends.
        VectorEnd = 4, "vector_end";
        /// A device's interrupt handler begins: number `value`, `name` its handler.
        HandlerBegin = 5, "handler_begin";
        /// It ends.
        HandlerEnd = 6, "handler_end";
        /// Softirq `value` begins; `name` is its name.
        SoftirqBegin = 7, "softirq_begin";
        /// It ends.
        SoftirqEnd = 8, "softirq_end";
        /// The function of a high-resolution timer begins; `name` is the function, `extra` when the timer was due. In an
        /// episode `value` says who armed it, see `Event::armed_by`.
        TimerBegin = 9, "timer_begin";
        /// It ends.
        TimerEnd = 10, "timer_end";
        /// The function of an ordinary kernel timer begins; `name` is the function. In an episode `value` says who armed it.
        CallbackBegin = 11, "callback_begin";
        /// It ends.
        CallbackEnd = 12, "callback_end";
        /// A kernel worker begins a work item; `name` is the function. In an episode `value` tells which item it is, as
        /// [`EventKind::WorkQueued`] has it.
        WorkBegin = 13, "work_begin";
        /// It ends.
        WorkEnd = 14, "work_end";
        /// Thread `value` moves from the CPU in the low half of `extra` to that in its high half.
        Migrate = 15, "migrate";
        /// The current thread touched the page at `value`, which is not there, from user code. Of a late thread's faults that
        /// took long `name` is the file that is mapped there, or what other memory it is.
        FaultUser = 16, "fault_user";
        /// The same from kernel code.
        FaultKernel = 17, "fault_kernel";
        /// The current thread begins to wait for a kernel lock; `extra` are the kernel's flags. With `LOCK_OF_PROGRAM` among
        /// them it is a lock of the program's that lends priority, and `value` the thread that holds it.
        LockBegin = 18, "lock_begin";
        /// It has the lock.
        LockEnd = 19, "lock_end";
        /// A tasklet begins; `name` is its function.
        TaskletBegin = 20, "tasklet_begin";
        /// It ends.
        TaskletEnd = 21, "tasklet_end";
        /// The page that the current thread touched last is there.
        FaultEnd = 22, "fault_end";
        /// Thread `value`, a normal one, waits on the CPU in the high half of `extra` for its control group to be given new
        /// quota; `name` is the group that ran out of it, the thread's own or one that this is in.
        OutOfQuota = 24, "out_of_quota";
        /// The group `name` was given new quota; `extra` are the CPUs, by bit, where it has none all the same.
        QuotaRefill = 25, "quota_refill";
        /// The current thread, `name`, sends thread `value`, or where the low half of `extra` is 1 its whole process, the
        /// signal in the high half of `extra`, which stops it.
        StopAsked = 26, "stop_asked";
        /// A request to a disk, `value`, of as many bytes as the lower half of `extra` says is made or goes out, on behalf of the current
        /// thread, `name`: the first of the two says whose it is. The upper half is one more than the position of the name of the
        /// control group whose limit for that disk had held it back; 0 where none did, or that is not known.
        RequestBegin = 27, "request_begin";
        /// It is done; `name` is the disk's.
        RequestEnd = 28, "request_end";
        /// Only in an event log, as those up to [`EventKind::Dropped`]: the current thread makes thread `value` of process `extra`. `name` is
        /// the new thread's.
        ProcessFork = 30, "fork";
        /// The current thread has become another program; `name` is its new name, `value` the thread id it had before.
        ProcessExec = 31, "exec";
        /// The current thread ends, with the kernel's exit code `value`; `extra` is 1 where its process ends with it. `name`
        /// is the thread's.
        ProcessExit = 32, "exit";
        /// Thread `value` changes its name to `name`.
        Rename = 33, "rename";
        /// The current thread begins a futex call with the word at `value`; the low half of `extra` is the operation, the
        /// high half the value that goes with it. `name` is the thread's.
        FutexBegin = 34, "futex_begin";
        /// It comes back with `value`, a negative error number or a result.
        FutexEnd = 35, "futex_end";
        /// A program's own mark: `name` is its text, `value` its number. Of marks by `trace_marker` `extra` is 1.
        Mark = 36, "mark";
        /// `value` events were lost here, before this time; `name` says where.
        Dropped = 37, "dropped";
        /// Only in episodes, as all that follow: the current thread, `name`, asks for a function to be called on CPU `extra`;
        /// `value` is the same as of its beginning there.
        FunctionAsked = 38, "function_asked";
        /// A function that was asked for begins; `name` is the function.
        FunctionBegin = 39, "function_begin";
        /// It ends; `name` is the function.
        FunctionEnd = 40, "function_end";
        /// The current thread, `name`, interrupts CPU `value`; `extra` is the class of the interrupt (see
        /// [`Vector`](crate::Vector)).
        InterruptSent = 41, "interrupt_sent";
        /// A work item, `value`, is handed to the kernel's workers in the name of the current thread, `name`.
        WorkQueued = 42, "work_queued";
        /// The current thread, `name`, interrupts several CPUs at once: `value` has a bit for each, the lowest is that of the CPU
        /// in the high half of `extra`; the low half is the class of the interrupt.
        InterruptsSent = 43, "interrupts_sent";
    }
}

impl EventKind {
    /// Whether it ends what an earlier event began.
    pub const fn is_end(self) -> bool {
        matches!(
            self,
            EventKind::VectorEnd
                | EventKind::HandlerEnd
                | EventKind::SoftirqEnd
                | EventKind::TimerEnd
                | EventKind::CallbackEnd
                | EventKind::WorkEnd
                | EventKind::LockEnd
                | EventKind::TaskletEnd
                | EventKind::FaultEnd
                | EventKind::RequestEnd
                | EventKind::FutexEnd
                | EventKind::FunctionEnd
        )
    }

    /// The class it belongs to.
    pub const fn class(self) -> EventClass {
        match self {
            EventKind::Switch
            | EventKind::Waking
            | EventKind::Migrate
            | EventKind::OutOfQuota
            | EventKind::QuotaRefill
            | EventKind::StopAsked => EventClass::Sched,
            EventKind::VectorBegin
            | EventKind::VectorEnd
            | EventKind::HandlerBegin
            | EventKind::HandlerEnd
            | EventKind::FunctionAsked
            | EventKind::FunctionBegin
            | EventKind::FunctionEnd
            | EventKind::InterruptSent
            | EventKind::InterruptsSent => EventClass::Irq,
            EventKind::SoftirqBegin | EventKind::SoftirqEnd | EventKind::TaskletBegin | EventKind::TaskletEnd => {
                EventClass::Softirq
            }
            EventKind::TimerBegin | EventKind::TimerEnd | EventKind::CallbackBegin | EventKind::CallbackEnd => {
                EventClass::Timer
            }
            EventKind::WorkBegin
            | EventKind::WorkEnd
            | EventKind::WorkQueued
            | EventKind::RequestBegin
            | EventKind::RequestEnd => EventClass::Work,
            EventKind::FaultUser | EventKind::FaultKernel | EventKind::FaultEnd => EventClass::Fault,
            EventKind::LockBegin | EventKind::LockEnd => EventClass::Lock,
            EventKind::ProcessFork | EventKind::ProcessExec | EventKind::ProcessExit | EventKind::Rename => {
                EventClass::Process
            }
            EventKind::FutexBegin | EventKind::FutexEnd => EventClass::Futex,
            EventKind::Mark => EventClass::Mark,
            EventKind::Dropped => EventClass::Dropped,
        }
    }
}

/// Groups of events to choose from for a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
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
    /// Threads and processes that are created, become another program, change their name, or end.
    Process,
    /// Programs' own marks.
    Mark,
    /// Places where events were lost.
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

    /// Those that are logged by default: all but the ones that can slow a program down or be very many.
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
    /// What is no class, and which classes there are.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_an_end_is_one() {
        let ends = EventKind::ALL.into_iter().filter(|kind| kind.is_end());
        assert_eq!(ends.clone().count(), 12);
        assert!(EventKind::ALL.into_iter().all(|kind| kind.is_end() == kind.name().ends_with("_end")));
    }

    #[test]
    fn lists_are_read_and_what_is_none_is_told() {
        assert_eq!(EventClass::parse_list("mark, sched,mark").unwrap(), [EventClass::Sched, EventClass::Mark]);
        assert_eq!(EventClass::parse_list("all").unwrap(), EventClass::CHOICES);
        assert_eq!(EventClass::parse_list("default").unwrap(), EventClass::DEFAULT);
        assert!(EventClass::parse_list("sched,cake").unwrap_err().contains("`cake`"));
    }
}
