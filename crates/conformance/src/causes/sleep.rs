//! Whether a sleep is what kept a thread: what the thread itself did meanwhile, and whoever had its CPU, is not the
//! doing of those for whom it slept.

use super::system::now;

/// The time of the calling thread since some moment.
pub(crate) struct Sleep {
    start: u64,
    /// `None` if the kernel does not count that.
    awake_before: Option<u64>,
}

impl Sleep {
    /// Begins now.
    pub(crate) fn begin() -> Sleep {
        Sleep::from(now())
    }

    /// Begins at a time until which the thread sleeps anyway.
    pub(crate) fn from(start: u64) -> Sleep {
        Sleep { start, awake_before: awake_ns() }
    }

    /// Whether it slept for the larger part of the time until now; true if nothing can tell.
    pub(crate) fn was_most(&self) -> bool {
        let awake = awake_ns().zip(self.awake_before).map_or(0, |(after, before)| after - before);
        awake * 2 < now().saturating_sub(self.start)
    }
}

/// For how long the calling thread has had a CPU, or been ready for one, since it began, ns.
fn awake_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let mut numbers = text.split_whitespace().map_while(|word| word.parse::<u64>().ok());
    Some(numbers.next()? + numbers.next()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn machine_work_and_sleep_are_told_apart() {
        if awake_ns().is_none() {
            return punctual_testing::skip("sleep and work are told apart", "the kernel keeps no /proc/PID/schedstat");
        }
        // On a busy machine, a thread waits for its CPU after its sleep, and the host may take the CPU on which it
        // works: not every time.
        let mostly_slept = |act: fn()| {
            let sleep = Sleep::begin();
            act();
            sleep.was_most()
        };
        let asleep = || std::thread::sleep(Duration::from_millis(200));
        let at_work = || {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(50) {
                std::hint::spin_loop();
            }
        };
        assert!((0..10).any(|_| mostly_slept(asleep)));
        assert!((0..10).any(|_| !mostly_slept(at_work)));
    }
}
