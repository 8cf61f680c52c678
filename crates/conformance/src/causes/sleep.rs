//! Whether it was a sleep that kept a thread: what it did itself meanwhile, and who had its CPU, is no doing of those for whom it slept.

use super::system::now;

/// The time of the calling thread from some moment on.
pub(crate) struct Sleep {
    start: u64,
    /// `None` where the kernel does not count that.
    awake_before: Option<u64>,
}

impl Sleep {
    /// From now on.
    pub(crate) fn begin() -> Sleep {
        Sleep::from(now())
    }

    /// From a time on until which the thread sleeps anyway.
    pub(crate) fn from(start: u64) -> Sleep {
        Sleep { start, awake_before: awake_ns() }
    }

    /// Whether it slept for the larger part of the time until now; true where nothing tells.
    pub(crate) fn was_most(&self) -> bool {
        let awake = awake_ns().zip(self.awake_before).map_or(0, |(after, before)| after - before);
        awake * 2 < now().saturating_sub(self.start)
    }
}

/// How long the calling thread had a CPU or was ready for one since it began, ns.
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
        // A thread of a busy machine waits for its CPU after its sleep, and the host may take what it works in: not every time.
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
