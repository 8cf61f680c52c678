//! The stages of a wakeup.

use crate::table::codes;

codes! {
    /// A stage of a wakeup, or a sum of stages, computed for each wakeup.
    ///
    /// The first five are disjoint and each begins where the one before ended, so that those a wakeup
    /// passed through add up to [`Stage::Total`] exactly. A stage that was not passed through is absent.
    /// The names in parentheses are those of Cota-Robles and Held, OSDI 1999, section 2.1.
    pub enum Stage {
        /// Expected timer expiry to the first instruction of the interrupt's timer handler (interrupt latency).
        Irq = 0, "irq";
        /// To the first instruction of the softirq callback, where the wakeup passes through one (DPC latency).
        Softirq = 1, "softirq";
        /// To the thread being made runnable.
        Wake = 2, "wake";
        /// To the thread being switched in. Absent where the wakeup found the thread still on its CPU.
        Thread = 3, "thread";
        /// To the thread's first user-space instruction.
        User = 4, "user";
        /// Expected timer expiry to the first user-space instruction (thread interrupt latency).
        Total = 5, "total";
        /// `irq` + `softirq` (DPC interrupt latency).
        DpcInterruptLatency = 6, "dpc_interrupt_latency";
        /// `thread` + `user`: from the signal to the first instruction after the wait (thread latency).
        ThreadLatency = 7, "thread_latency";
        /// From being switched in until the thread blocks again, preemptions included. Not part of the total.
        Work = 8, "work";
        /// `total` + `work`: from what woke the thread until it blocks again.
        Response = 9, "response";
        /// From what woke the thread until it waits for the next unit of its work; waits for other threads and processes are a
        /// part of it. It may take several wakeups, and is no stage of one: only evidence reaches so far.
        Request = 10, "request";
    }
}

#[expect(clippy::derivable_impls, reason = "the table makes the type")]
impl Default for Stage {
    fn default() -> Stage {
        Stage::Total
    }
}

impl Stage {
    /// What the stage is, in a few words, for tables.
    pub fn meaning(self) -> &'static str {
        match self {
            Stage::Irq => "timer due -> interrupt",
            Stage::Softirq => "-> softirq callback",
            Stage::Wake => "-> made runnable",
            Stage::Thread => "-> switched in",
            Stage::User => "-> first instruction",
            Stage::Total => "timer due -> program",
            Stage::DpcInterruptLatency => "irq + softirq",
            Stage::ThreadLatency => "thread + user",
            Stage::Work => "switched in -> blocks again",
            Stage::Response => "total + work",
            Stage::Request => "woken -> waits for more work",
        }
    }

    /// Whether every wakeup may have it.
    pub fn is_of_a_wakeup(self) -> bool {
        self != Stage::Request
    }

    /// Whether it goes on after the thread has its CPU, through its own work.
    pub fn holds_work(self) -> bool {
        matches!(self, Stage::Response | Stage::Request)
    }
}
