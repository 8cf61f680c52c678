//! What a chain of interrupt, softirq callback and thread counted: whether everything came that was due.

use punctual_kernel::callbacks::CallbackCounts;
use punctual_recording::counted;

/// Counts of a run whose threads are woken by softirq callbacks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChainCounts {
    /// Activations that became a wakeup.
    pub(crate) wakeups: u64,
    /// Activations whose interrupt no program saw.
    pub(crate) unobserved: u64,
    /// Activations whose interrupt was seen but whose wake never came.
    pub(crate) never_woken: u64,
    /// The callbacks between the two.
    pub(crate) callbacks: CallbackCounts,
}

impl ChainCounts {
    /// What never came, in words; `None` if everything came that was due, except for single interrupts that no program saw.
    pub(crate) fn trouble(&self) -> Option<String> {
        if let Some(trouble) = self.callbacks.trouble() {
            return Some(trouble);
        }
        if self.never_woken > 0 {
            return Some(format!(
                "after {} of {} the thread was never woken",
                self.never_woken,
                counted(self.never_woken + self.wakeups, "interrupt")
            ));
        }
        (self.wakeups == 0 && self.unobserved > 0)
            .then(|| format!("no interrupt of {} was seen by a program", counted(self.unobserved, "activation")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_came_is_an_error_with_its_name() {
        let refused = CallbackCounts { refused: 1, error: -22, ..CallbackCounts::default() };
        let all_refused = ChainCounts { never_woken: 1, callbacks: refused, ..ChainCounts::default() };
        assert!(all_refused.trouble().unwrap().contains("Invalid argument"));
        let callbacks = CallbackCounts { queued: 1_000, ran: 1_000, ..CallbackCounts::default() };
        let one_lost = ChainCounts { wakeups: 999, never_woken: 1, unobserved: 0, callbacks };
        assert!(one_lost.trouble().unwrap().contains("1 of 1,000 interrupts"), "{:?}", one_lost.trouble());
        let unseen = ChainCounts { unobserved: 500, ..ChainCounts::default() };
        assert!(unseen.trouble().unwrap().contains("500 activations"));
    }

    #[test]
    fn single_interrupts_that_no_program_saw_are_no_error() {
        let callbacks = CallbackCounts { queued: 990, ran: 990, ..CallbackCounts::default() };
        assert_eq!(ChainCounts { wakeups: 990, unobserved: 10, never_woken: 0, callbacks }.trouble(), None);
        // Stopped before anything was due.
        assert_eq!(ChainCounts::default().trouble(), None);
    }
}
