//! The slice of an ordinary thread: how long it runs before an equal one has its turn. From Linux 6.12 on a thread may have
//! its own, which the kernel reports, and takes, as the runtime of its scheduling.

use crate::scheduling;
use std::sync::OnceLock;

/// The slice that these attributes say a thread has of its own, ns. 0 if it has the kernel's: written back, that would
/// become the thread's own, and not follow the kernel's any more.
pub(crate) fn own_slice(attributes: &libc::sched_attr) -> u64 {
    own_among(attributes, kernels)
}

fn own_among(attributes: &libc::sched_attr, kernels: impl FnOnce() -> Option<u64>) -> u64 {
    let is_ordinary =
        [libc::SCHED_OTHER, libc::SCHED_BATCH].map(|policy| policy as u32).contains(&attributes.sched_policy);
    match attributes.sched_runtime {
        0 => 0,
        _ if !is_ordinary => 0,
        // Where the kernel's is not known, the thread's stays as long as it was.
        slice => slice * u64::from(kernels() != Some(slice)),
    }
}

/// The slice of threads that have none of their own, ns; `None` if the kernel does not say.
fn kernels() -> Option<u64> {
    static KERNELS: OnceLock<Option<u64>> = OnceLock::new();
    *KERNELS.get_or_init(|| std::thread::Builder::new().spawn(ask).ok()?.join().ok()?)
}

/// Asks as a thread that gives up whatever slice it has inherited.
fn ask() -> Option<u64> {
    // SAFETY: takes plain numbers; 0 is the calling thread.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    set_own(nice, 0).then(|| scheduling::attributes_of(0)).flatten().map(|now| now.sched_runtime)
}

/// Makes the calling thread ordinary, with this slice, ns; 0: the kernel's. Says whether the kernel did so.
fn set_own(nice: i32, slice_ns: u64) -> bool {
    let attributes = libc::sched_attr {
        sched_policy: libc::SCHED_OTHER as u32,
        sched_nice: nice,
        sched_runtime: slice_ns,
        ..scheduling::no_attributes()
    };
    scheduling::set_attributes_of(0, &attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::other_thread::{Before, PutBack, ThreadScheduling};

    #[test]
    fn only_a_slice_that_is_not_the_kernels_is_a_threads_own() {
        const KERNELS: Option<u64> = Some(2_800_000);
        let of = |policy: i32, sched_runtime: u64, kernels: Option<u64>| {
            let attributes =
                libc::sched_attr { sched_policy: policy as u32, sched_runtime, ..scheduling::no_attributes() };
            own_among(&attributes, || kernels)
        };
        assert_eq!(of(libc::SCHED_OTHER, 2_800_000, KERNELS), 0);
        assert_eq!(of(libc::SCHED_OTHER, 10_000_000, KERNELS), 10_000_000);
        assert_eq!(of(libc::SCHED_BATCH, 10_000_000, KERNELS), 10_000_000);
        assert_eq!(of(libc::SCHED_OTHER, 2_800_000, None), 2_800_000);
        assert_eq!(of(libc::SCHED_FIFO, 10_000_000, KERNELS), 0);
        assert_eq!(of(libc::SCHED_IDLE, 10_000_000, KERNELS), 0);
        // Older kernels say nothing of slices.
        assert_eq!(of(libc::SCHED_OTHER, 0, Some(0)), 0);
    }

    #[test]
    fn a_slice_of_its_own_is_put_back_and_the_kernels_is_not_made_its_own() {
        const NAME: &str = "a_slice_of_its_own_is_put_back_and_the_kernels_is_not_made_its_own";
        /// Within what kernels take, and no kernel's own.
        const OWN_NS: u64 = 37_000_000;
        std::thread::spawn(|| {
            if kernels().is_none_or(|slice| slice == 0) {
                return punctual_testing::skip(NAME, "this kernel reports no slices, as from Linux 6.12 on");
            }
            let read = || scheduling::attributes_of(0).unwrap().sched_runtime;
            // SAFETY: takes plain numbers; 0 is the calling thread.
            let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
            for (slice_ns, expected_ns) in [(OWN_NS, OWN_NS), (0, 0)] {
                assert!(set_own(nice, slice_ns));
                let before = Before::of(crate::clock::thread_id()).unwrap();
                assert_eq!(own_slice(&scheduling::attributes_of(0).unwrap()), expected_ns);
                let slice = read();
                // As --apply changes it, if this user may.
                if let Err(refused) = ThreadScheduling::reserved(100_000, 10_000_000).set(before.tid) {
                    punctual_testing::skip(NAME, refused.to_string());
                }
                assert!(matches!(before.put_back(), PutBack::Done));
                assert_eq!((read(), own_slice(&scheduling::attributes_of(0).unwrap())), (slice, expected_ns));
            }
        })
        .join()
        .unwrap();
    }
}
