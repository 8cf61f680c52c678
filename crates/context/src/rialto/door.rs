//! Whether to hear whoever comes: where the kernel has no room for one more connection, it says so at once, again and again.

use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};

/// After a failure, nobody new is heard for this long: the thread that hears them goes before everybody else.
pub(super) const REST: Duration = Duration::from_millis(100);

/// Who was let in, and who could not be.
#[derive(Debug, Default)]
pub(super) struct Door {
    shut_until: Option<Instant>,
    /// How often nobody could be let in.
    pub(super) failures: u64,
    /// Why, the last time.
    pub(super) why: Option<String>,
}

impl Door {
    /// For how long nobody new is to be heard; `None` if whoever comes may come in.
    pub(super) fn shut_for(&mut self, now: Instant) -> Option<Duration> {
        self.shut_until = self.shut_until.filter(|until| *until > now);
        self.shut_until.map(|until| until.duration_since(now))
    }

    /// A connection failed. Whoever is gone again makes room for the next one; anything else lasts.
    pub(super) fn failed(&mut self, error: &Error, now: Instant) {
        if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted | ErrorKind::WouldBlock) {
            return;
        }
        self.failures += 1;
        self.why = Some(punctual_kernel::plain(error));
        self.shut_until = Some(now + REST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_cannot_be_let_in_is_tried_again_after_a_rest() {
        let (mut door, start) = (Door::default(), Instant::now());
        assert_eq!(door.shut_for(start), None);
        door.failed(&Error::from(ErrorKind::ConnectionAborted), start);
        assert_eq!((door.shut_for(start), door.failures), (None, 0));
        // Too many open files.
        let full = Error::from_raw_os_error(24);
        let mut tries = 0;
        for millisecond in 0..1_000 {
            let now = start + Duration::from_millis(millisecond);
            if door.shut_for(now).is_none() {
                door.failed(&full, now);
                tries += 1;
            }
        }
        assert_eq!((tries, door.failures), (10, 10));
        assert!(door.why.as_ref().is_some_and(|why| why.contains("open files")), "{:?}", door.why);
        assert_eq!(door.shut_for(start + Duration::from_millis(950)), Some(Duration::from_millis(50)));
        assert_eq!(door.shut_for(start + Duration::from_secs(1)), None);
    }
}
