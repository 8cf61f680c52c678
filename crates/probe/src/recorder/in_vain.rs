//! Wakeups that bring nothing and look like requests.
//!
//! Whoever reads what a server has written into a local stream socket makes room there, and for that the kernel also wakes the server, if it waits
//! there for its next request. It finds none, and waits on within the same call. What is recorded of a followed thread does not tell whether it left
//! the kernel. But such a stretch is short, and comes after a longer one: the one in which the server answered.

/// A wakeup in vain takes no longer than this, ns; most take 2,000 to 4,000.
const MAX_NS: u64 = 15_000;
/// So many times as long has the stretch before it to be.
const TIMES_LONGER: u64 = 2;

/// How long a thread's last request went on after its last wait, ns; 0: none did, or that may have been a wakeup in vain.
#[derive(Default)]
pub(super) struct InVain {
    before_ns: u64,
}

impl InVain {
    /// Takes in the stretch with which a request is over, in ns; whether the request may be a wakeup in vain, if it is one of those that can.
    pub(super) fn may_be(&mut self, worked_ns: u64, can_be: bool) -> bool {
        let is_shorter = worked_ns.saturating_mul(TIMES_LONGER) <= self.before_ns;
        let may_be = can_be && worked_ns <= MAX_NS && is_shorter;
        self.before_ns = if may_be { 0 } else { worked_ns };
        may_be
    }
}
