//! Waits for a word in memory up to a time limit, of which only the limit was seen. Whoever waits so may sleep for some
//! time, or ask again and again for a lock, such as an interpreter's: what it does next may tell.

use super::answer::End;
use super::classifier::Classifier;
use punctual_recording::episode::{Event, LEFT_FOR_LOCK, LEFT_FOR_SPINLOCK, WakingAct};

/// A condition variable of the C library has two adjacent words.
pub(super) const SAME_WORD: u32 = 2;
/// So far apart, in words, are the parts of one lock: its mutex, and its conditions.
const OF_ONE_LOCK: u32 = 32;

impl Classifier<'_> {
    /// How a wait ended that others wait for, and that a timer ended. Whoever then wakes those who wait for the same word has had what
    /// it waited for: a lock. By a word beside that it may let a part of the lock go, or tell somebody of something else.
    pub(super) fn at_limit(&self, woken_by: &Event) -> End {
        let is_of_word = woken_by.wait_end().is_none() && woken_by.lock_waking().act != WakingAct::NotTold;
        if self.subject.is_due || !is_of_word {
            return End::Timer;
        }
        match self.lets_go_beside(self.ended_at_last(woken_by).map_or(woken_by, |(last, _)| last)) {
            Some(..=SAME_WORD) => End::Lock,
            Some(..=OF_ONE_LOCK) => {
                let what = "it waited for a word up to a time limit, and woke another thread by one beside that";
                End::NotBy(format!("{what}: it may have slept, or waited for a lock"))
            }
            _ => End::Timer,
        }
    }

    /// How many words away from the one that a thread waited for is the nearest by which it woke others before it slept again.
    pub(super) fn lets_go_beside(&self, woken_by: &Event) -> Option<u32> {
        let (tid, since_ns) = (woken_by.value as u32, woken_by.at_ns.saturating_add(1));
        // It may wait for the mutex around what it looks at.
        let is_sleep =
            |leave: &&&Event| leave.left_state() != 0 && leave.left_state() & (LEFT_FOR_LOCK | LEFT_FOR_SPINLOCK) == 0;
        let sleeps = self.index.leaves_within(tid, since_ns, u64::MAX).iter().find(is_sleep);
        let until_ns = sleeps.map_or(u64::MAX, |leave| leave.at_ns);
        let wakings = self.index.wakings_by(tid, since_ns, until_ns).iter().filter(|event| self.wakes_itself(event));
        let places = wakings.filter_map(|event| {
            let told = event.lock_waking();
            let is_by_word = matches!(told.act, WakingAct::WakesWord | WakingAct::UnlocksWord | WakingAct::Requeues);
            (is_by_word && event.wait_end().is_none()).then_some(told.place)
        });
        places.map(|place| place.abs_diff(woken_by.lock_waking().place)).min()
    }
}
