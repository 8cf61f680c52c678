//! What takes a CPU away from the idle loop.

use crate::table::codes;

codes! {
    /// What kind of thing had the CPU.
    pub enum CauseKind {
        /// An interrupt: one of the processor's own by class, a device's by its handler.
        Irq = 0, "irq";
        /// A softirq.
        Softirq = 1, "softirq";
        /// Another thread.
        Thread = 2, "thread";
        /// Nothing that this kernel traced: the host, the firmware, a sibling hyperthread.
        Outside = 3, "outside";
        /// Before, between and after what was traced (entering and leaving the kernel, switching), or where entries were
        /// lost.
        Unknown = 4, "unknown";
        /// Nothing was followed.
        NotFollowed = 5, "not_followed";
    }
}
