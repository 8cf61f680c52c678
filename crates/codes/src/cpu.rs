//! What interrupts a CPU.

use crate::table::codes;

codes! {
    /// Classes of interrupts.
    pub enum Vector {
        /// A device's: it has a handler with a name.
        Device = 0, "device";
        /// The CPU's own timer.
        LocalTimer = 1, "local_timer";
        /// Another CPU wants this one to choose a thread again.
        Reschedule = 2, "reschedule";
        /// Another CPU has functions called here.
        CallFunction = 3, "call_function";
        /// Another CPU has a function called only here.
        CallFunctionSingle = 4, "call_function_single";
        /// Work that could not be done where it came up.
        IrqWork = 5, "irq_work";
        /// The processor's temperature.
        Thermal = 6, "thermal";
        /// One without a tracepoint.
        OtherVector = 7, "unknown";
    }
}

codes! {
    /// Softirqs by number, as in `/proc/softirqs`.
    pub enum Softirq {
        /// Tasklets that go first.
        Hi = 0, "hi";
        /// Ordinary kernel timers.
        Timer = 1, "timer";
        /// Outgoing packets.
        NetTx = 2, "net_tx";
        /// Incoming packets.
        NetRx = 3, "net_rx";
        /// Finished disk requests.
        Block = 4, "block";
        /// Polled disks.
        IrqPoll = 5, "irq_poll";
        /// Tasklets.
        Tasklet = 6, "tasklet";
        /// The scheduler's balancing.
        Sched = 7, "sched";
        /// High-resolution timers that need not be exact.
        Hrtimer = 8, "hrtimer";
        /// Read-copy-update.
        Rcu = 9, "rcu";
    }
}

impl Softirq {
    /// The name of a softirq, known or not.
    pub fn words(number: u64) -> std::borrow::Cow<'static, str> {
        Softirq::name_of(number).map_or_else(|| format!("softirq {number}").into(), Into::into)
    }
}
