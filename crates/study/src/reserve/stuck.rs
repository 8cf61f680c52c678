//! Threads that the kernel did not let run although they had work and time reserved.

use punctual_kernel::reservation_watch::{Freed, Stuck};
use punctual_recording::counted;
use std::collections::BTreeMap;

/// Those that were stuck since somebody asked.
#[derive(Debug, Default)]
pub(super) struct StuckThreads {
    /// How often the reservation of each was set anew.
    set_anew: BTreeMap<u32, u64>,
    /// Whose reservation was given up, and why.
    given_up: Option<(u32, String)>,
}

impl StuckThreads {
    /// Notes some; returns whether a reservation was given up.
    pub(super) fn take(&mut self, stuck: Vec<Stuck>) -> bool {
        for Stuck { tid, freed } in stuck {
            match freed {
                Freed::SetAnew => *self.set_anew.entry(tid).or_default() += 1,
                Freed::GivenUp(why) => self.given_up = Some((tid, why)),
            }
        }
        self.given_up.is_some()
    }

    /// The thread whose reservation was given up, and why; once.
    pub(super) fn given_up(&mut self) -> Option<(u32, String)> {
        self.given_up.take()
    }

    /// How often each reservation was set anew, in sentences; once.
    pub(super) fn in_words(&mut self) -> Vec<String> {
        std::mem::take(&mut self.set_anew).into_iter().map(|(tid, count)| in_words(tid, count)).collect()
    }
}

/// Says how often a thread's reservation was set anew.
fn in_words(tid: u32, count: u64) -> String {
    let times = if count == 1 { "once".to_owned() } else { counted(count, "time") };
    format!(
        "Thread {tid} had work to do and time reserved, but the kernel did not let it run: its reservation was set anew {times}."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_stuck_is_told_once() {
        let set_anew = |tid| Stuck { tid, freed: Freed::SetAnew };
        let mut threads = StuckThreads::default();
        assert!(!threads.take(vec![set_anew(7), set_anew(8), set_anew(7)]));
        assert!(threads.take(vec![Stuck { tid: 8, freed: Freed::GivenUp("so it is".to_owned()) }]));
        assert_eq!(threads.given_up(), Some((8, "so it is".to_owned())));
        assert_eq!(threads.given_up(), None);
        let words = threads.in_words();
        assert!(
            words.len() == 2 && words[0].starts_with("Thread 7 ") && words[0].contains("anew 2 times"),
            "{words:?}"
        );
        assert!(words[1].contains("anew once") && threads.in_words().is_empty(), "{words:?}");
    }
}
