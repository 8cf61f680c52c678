//! A stretch of a thread's time, and what it was doing.

/// What the thread was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It had asked to be woken by then, but allows its timer to come later: by the end of this.
    Slack,
    /// Its timer was due and it was not yet woken.
    Due,
    /// It could have run, on this CPU, since then; if it was moved there meanwhile, the position of that event.
    Waiting { since_ns: u64, moved: Option<usize> },
    /// The same, but its control group, or one that contains it, was out of quota: the position of that group's name.
    OutOfQuota { name: u32 },
    /// It ran.
    Running,
    /// It had its CPU and waited there for a lock of its program, which this thread held.
    Spinning { holder: u32 },
    /// It slept for a lock of its program, before this thread had it; who held it then was not seen.
    HeldBefore { taker: u32 },
    /// It waited for a disk, and a control group's limit held the request back: the position of the disk's name, that
    /// of the group's, if it is known, and whether the thread is under such a limit itself.
    HeldBack { disk: u32, limit: Option<u32>, is_under_one: bool },
    /// It waited, for a lock or otherwise, for somebody who did not wake it: for whom, where that is known, and the position of the waking
    /// that came meanwhile: that by which it came to be stopped, or that of a thread which handed it the answer.
    Interrupted { by: Option<u32>, is_lock: bool, woken_by: usize },
    /// It slept again in the kernel; what it left in is [`Event::left_state`], and the position of its waking follows.
    Blocked { left_state: u32, woken_by: Option<usize> },
}

impl Doing {
    /// Whether it would have run if it had had a CPU.
    pub(crate) fn wants_cpu(self) -> bool {
        !matches!(
            self,
            Doing::Slack
                | Doing::Blocked { .. }
                | Doing::HeldBefore { .. }
                | Doing::HeldBack { .. }
                | Doing::Interrupted { .. }
                | Doing::OutOfQuota { .. }
        )
    }
}

/// A span of the thread's story on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateSpan {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) cpu: u32,
    pub(crate) doing: Doing,
    /// The thread's priority at that time, see [`Event::priority`].
    pub(crate) priority: i16,
}
