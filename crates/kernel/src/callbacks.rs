//! What became of softirq callbacks that interrupts queue: the Rust side of `callback.h` in `bpf/include`.

use crate::bpf::SharedMemory;
use punctual_recording::counted;

/// `struct callback_counts` of `callback.h`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CallbackCounts {
    /// Callbacks that the kernel queued.
    pub queued: u64,
    /// Callbacks that ran.
    pub ran: u64,
    /// Of these, those that ran on a CPU other than the one whose interrupt queued them.
    pub elsewhere: u64,
    /// Callbacks that the kernel refused to queue.
    pub refused: u64,
    /// Why it last did so: a negative error number.
    pub error: i64,
}

impl CallbackCounts {
    /// The counts in memory that programs share, `offset` bytes from its start.
    ///
    /// # Panics
    /// Where the record would lie outside the memory.
    pub fn read(memory: &SharedMemory, offset: usize) -> CallbackCounts {
        // SAFETY: the record lies within the mapping (`at` checked); the programs go on counting in it, and each of its
        // words is read on its own.
        unsafe { memory.at::<CallbackCounts>(offset, 1).as_ptr().read_volatile() }
    }

    /// Why the kernel last refused callbacks, in words; `None` where it refused none.
    pub fn refusal(&self) -> Option<String> {
        let number = i32::try_from(self.error.unsigned_abs()).unwrap_or(0);
        (self.refused > 0)
            .then(|| format!("bpf_timer_start: {}", crate::plain(&std::io::Error::from_raw_os_error(number))))
    }

    /// Why none of the expected callbacks came; `None` where one did, or none was expected.
    pub fn silence(&self) -> Option<String> {
        self.trouble().filter(|_| self.ran == 0)
    }

    /// What went wrong with the expected callbacks; `None` where they came.
    pub fn trouble(&self) -> Option<String> {
        if let Some(refusal) = self.refusal() {
            let asked = self.queued + self.refused;
            return Some(format!(
                "the kernel refused to queue {} of {} ({refusal})",
                self.refused,
                counted(asked, "softirq callback")
            ));
        }
        (self.queued > 0 && self.ran == 0)
            .then(|| format!("{} queued and none ran", counted(self.queued, "softirq callback")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_that_never_came_are_trouble_with_a_name() {
        let refused = CallbackCounts { refused: 3, error: -22, ..CallbackCounts::default() };
        let words = refused.trouble().unwrap();
        assert!(words.contains("refused to queue 3 of 3") && words.contains("Invalid argument"), "{words}");
        let some = CallbackCounts { queued: 997, ran: 997, refused: 3, error: -16, elsewhere: 0 };
        assert!(some.trouble().unwrap().contains("3 of 1,000"), "{:?}", some.trouble());
        assert_eq!((some.silence(), refused.silence()), (None, refused.trouble()));
        assert!(some.refusal().unwrap().contains("busy"), "{:?}", some.refusal());
        let silent = CallbackCounts { queued: 10, ..CallbackCounts::default() };
        assert!(silent.trouble().unwrap().contains("none ran"));
        // The last one may still be on its way; one that is queued again before it has run runs only once.
        let fine = CallbackCounts { queued: 10, ran: 9, ..CallbackCounts::default() };
        assert_eq!(fine.trouble(), None);
        assert_eq!(CallbackCounts::default().trouble(), None);
        assert_eq!(CallbackCounts::default().refusal(), None);
        assert_eq!(silent.silence(), silent.trouble());
    }
}
