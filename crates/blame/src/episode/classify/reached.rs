//! Whom a late thread's request has reached: asked by that thread itself, or by one that it had asked.

use super::classifier::Classifier;
use super::several::{MAX_WAKINGS, teller};
use std::collections::BTreeSet;

/// So many threads are looked at.
const MAX_REACHED: usize = 64;

impl Classifier<'_> {
    /// Whether a thread may have worked for the late one as that went to sleep: it was asked since the request began, owes what it was asked for before, or is at work
    /// and was seen to be asked before: whoever is at work is not woken to be asked.
    pub(super) fn may_serve(&self, tid: u32, slept_ns: u64, at_ns: u64) -> bool {
        let sleeper = self.subject.tid;
        let asked_ns = self.last_ask(tid, sleeper, slept_ns).map(|asked| asked.at_ns);
        let is_asked = asked_ns.is_some_and(|asked_ns| {
            let is_owed = asked_ns > self.answered_ns(tid, sleeper, slept_ns);
            asked_ns >= self.subject.start_ns || is_owed || self.is_awake(tid, slept_ns)
        });
        is_asked || self.is_reached(tid, at_ns)
    }

    /// Whether the request has reached a thread by a time.
    fn is_reached(&self, tid: u32, until_ns: u64) -> bool {
        let first = self.subject.tid;
        let (mut known, mut ask) = (BTreeSet::from([first]), vec![(first, self.subject.start_ns)]);
        while let Some((by, since_ns)) = ask.pop().filter(|_| known.len() < MAX_REACHED) {
            let wakings = self.index.wakings_by(by, since_ns, until_ns).iter().take(MAX_WAKINGS);
            for event in wakings.filter(|event| teller(event) == Some(by) && !self.lets_in(event)) {
                let woken = event.value as u32;
                if woken == tid {
                    return true;
                }
                if known.insert(woken) {
                    ask.push((woken, event.at_ns));
                }
            }
        }
        false
    }
}
