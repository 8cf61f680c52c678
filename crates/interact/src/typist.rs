//! The typist's place among everything else that runs: a person needs no CPU.

use rustix::process::{getpriority_process, setpriority_process};

/// The highest that a thread of normal scheduling can have.
const FIRST: i32 = -20;

/// While this lives, the calling thread comes before all others of normal scheduling, where it may: on a busy machine its keys
/// are on time, and what it sees is taken before rings overflow. Programs that it starts inherit this, so they start before.
pub(crate) struct ComesFirst {
    /// The nice value that it had; `None` if it was refused.
    before: Option<i32>,
}

impl ComesFirst {
    pub(crate) fn begin() -> ComesFirst {
        // Without a process the kernel takes the calling thread.
        let before = getpriority_process(None).ok();
        ComesFirst { before: before.filter(|_| setpriority_process(None, FIRST).is_ok()) }
    }
}

impl Drop for ComesFirst {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // To be less urgent is allowed to everybody.
            let _ = setpriority_process(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_as_it_was_before() {
        let before = getpriority_process(None).unwrap();
        let first = ComesFirst::begin();
        let now = getpriority_process(None).unwrap();
        assert_eq!(now, if first.before.is_some() { FIRST } else { before });
        drop(first);
        assert_eq!(getpriority_process(None).unwrap(), before);
    }
}
