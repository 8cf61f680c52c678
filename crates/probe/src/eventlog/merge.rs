//! Puts what comes from several sources in order of time.

use punctual_recording::episode::Event;

/// An event without names, as it was read.
#[derive(Debug, Clone)]
pub(super) struct Noted {
    /// `name` means nothing yet.
    pub(super) event: Event,
    /// A thread's or handler's name.
    pub(super) comm: [u8; 16],
    /// The text of a mark.
    pub(super) text: Option<Box<str>>,
}

impl Noted {
    /// So many events without a text need as much memory.
    pub(super) fn weight(&self) -> usize {
        1 + self.text.as_ref().map_or(0, |text| text.len() / size_of::<Noted>())
    }
}

/// Room beyond this is given back when so much is not needed any more.
pub(super) const MAX_SPARE: usize = 1 << 15;

/// Keeps whatever may still be preceded by something that has not come.
#[derive(Default)]
pub(super) struct Merger {
    pending: Vec<Noted>,
}

impl Merger {
    /// Takes them in, and leaves their room to the caller.
    pub(super) fn add(&mut self, noted: &mut Vec<Noted>) {
        if self.pending.capacity() > MAX_SPARE && self.pending.len() < MAX_SPARE / 2 {
            self.pending.shrink_to(MAX_SPARE);
        }
        self.pending.append(noted);
    }

    /// Everything up to a time has come: hands it on in order. Among equal times, what came first goes first.
    pub(super) fn ready(&mut self, reached_ns: u64) -> impl Iterator<Item = Noted> {
        self.pending.sort_by_key(|noted| noted.event.at_ns);
        let end = self.pending.partition_point(|noted| noted.event.at_ns <= reached_ns);
        self.pending.drain(..end)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_recording::episode::EventKind;

    pub(in crate::eventlog) fn noted(at_ns: u64, cpu: u32) -> Noted {
        let event = Event {
            at_ns,
            cpu,
            kind: EventKind::Waking,
            tid: 0,
            priority: 0,
            context: 0,
            steal_ns: 0,
            value: 0,
            extra: 0,
            name: 0,
        };
        Noted { event, comm: [0; 16], text: None }
    }

    #[test]
    fn a_long_text_weighs_as_much_as_many_events() {
        let with_text = |length: usize| Noted { text: Some("x".repeat(length).into()), ..noted(1, 0) };
        assert_eq!((noted(1, 0).weight(), with_text(0).weight()), (1, 1));
        assert_eq!(with_text(40 * size_of::<Noted>()).weight(), 41);
    }

    proptest! {
        #[test]
        fn rounds_come_out_in_order_and_whole(
            times in prop::collection::vec((0..1_000_u64, 0..4_u32), 0..300),
            rounds in prop::collection::vec(0..1_000_u64, 0..20),
        ) {
            let (mut rounds, mut times) = (rounds, times);
            rounds.sort_unstable();
            rounds.push(u64::MAX);
            times.sort_unstable();
            let (mut merger, mut out, mut taken) = (Merger::default(), Vec::new(), 0);
            for reached in rounds {
                // A round brings everything up to its time, and some of what came after, CPU by CPU.
                let end = (times.partition_point(|(at, _)| *at <= reached) + 3).min(times.len()).max(taken);
                let mut batch: Vec<Noted> = times[taken..end].iter().map(|&(at, cpu)| noted(at, cpu)).collect();
                batch.sort_by_key(|noted| noted.event.cpu);
                taken = end;
                merger.add(&mut batch);
                out.extend(merger.ready(reached).map(|noted| noted.event.at_ns));
            }
            let all: Vec<u64> = times.iter().map(|(at, _)| *at).collect();
            prop_assert_eq!(out, all);
        }
    }
}
