//! For how long a thread wanted a CPU and had none, which tells one that others keep away from one that is stopped.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// For how long the thread that opened it has been ready to run and had no CPU.
#[derive(Debug)]
pub(super) struct Queued(Option<File>);

impl Queued {
    /// Of the calling thread.
    pub(super) fn open() -> Queued {
        Queued(File::open("/proc/thread-self/schedstat").ok())
    }

    /// As on a kernel that does not tell.
    #[cfg(test)]
    pub(super) fn untold() -> Queued {
        Queued(None)
    }

    /// Since the thread began, ns; `None` where the kernel does not tell.
    pub(super) fn ns(&self) -> Option<u64> {
        let mut text = [0; 64];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length]).ok()?.split_whitespace().nth(1)?.parse().ok()
    }

    /// Since an earlier answer, ns; `None` where the kernel does not tell.
    pub(super) fn since(&self, before_ns: Option<u64>) -> Option<u64> {
        Some(self.ns()?.saturating_sub(before_ns?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock, scheduling};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    /// Two threads on one CPU: one computes, and the other is ready for about half of the time.
    #[test]
    fn machine_a_thread_is_queued_while_another_has_its_cpu_and_not_while_it_sleeps() {
        if Queued::open().ns().is_none() {
            return punctual_testing::skip("time in the queue", "there is no schedstat");
        }
        std::thread::spawn(|| {
            let cpu = scheduling::allowed_cpus()[0];
            scheduling::pin_to(cpu).unwrap();
            let queued = Queued::open();
            let before = queued.ns();
            std::thread::sleep(std::time::Duration::from_millis(300));
            let asleep_ns = queued.since(before).unwrap();
            let busy = AtomicBool::new(true);
            let beside_ns = std::thread::scope(|scope| {
                scope.spawn(|| {
                    scheduling::pin_to(cpu).unwrap();
                    while busy.load(Relaxed) {
                        std::hint::spin_loop();
                    }
                });
                let (began_ns, before) = (clock::monotonic_ns(), queued.ns());
                while clock::monotonic_ns() - began_ns < 300_000_000 {}
                busy.store(false, Relaxed);
                queued.since(before).unwrap()
            });
            assert!(asleep_ns < beside_ns, "asleep {asleep_ns} ns, beside another {beside_ns} ns");
        })
        .join()
        .unwrap();
    }
}
