//! Frames and retransmission together: bytes on one side, bits on the other.

use crate::arq::{Arq, Options, Side, State};
use crate::hdlc::{Decoder, Encoder, Received};

/// One end of an error-corrected link. Times are samples of the line, see [`crate::arq`].
#[derive(Debug, Clone)]
pub struct Link {
    /// The procedure.
    pub arq: Arq,
    encoder: Encoder,
    decoder: Decoder,
    /// Frames that came damaged or broke off.
    pub damaged: u64,
}

impl Link {
    /// An end without a link.
    pub fn new(side: Side, options: Options) -> Link {
        Link { arq: Arq::new(side, options), encoder: Encoder::default(), decoder: Decoder::default(), damaged: 0 }
    }

    /// The next bit to send.
    pub fn next_bit(&mut self, now: u64) -> bool {
        if self.encoder.is_idle()
            && let Some(frame) = self.arq.next_frame(now)
        {
            self.encoder.push(&frame);
        }
        self.encoder.next_bit()
    }

    /// Takes a bit that came.
    pub fn push_bit(&mut self, bit: bool, now: u64) {
        match self.decoder.push(bit) {
            Some(Received::Frame(frame)) => self.arq.receive(&frame, now),
            Some(Received::Damaged | Received::Aborted) => self.damaged += 1,
            None => {}
        }
    }

    /// Whether the link has ended and its last frame has left.
    pub fn is_over(&self) -> bool {
        matches!(self.arq.state(), State::Disconnected | State::Failed) && self.encoder.is_idle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_random::Random;
    use std::collections::VecDeque;

    /// A pipe of bits that delays them and inverts some.
    struct Pipe {
        bits: VecDeque<bool>,
        random: Random,
        /// How many of a million bits.
        wrong: u64,
        /// How many bits of a burst are left.
        burst: u64,
    }

    impl Pipe {
        fn new(delay: usize, wrong: u64, seed: u64) -> Pipe {
            Pipe { bits: std::iter::repeat_n(true, delay).collect(), random: Random(seed), wrong, burst: 0 }
        }

        fn pass(&mut self, bit: bool) -> bool {
            if self.random.below(1_000_000) < self.wrong {
                self.burst = self.random.below(60);
            }
            self.burst = self.burst.saturating_sub(1);
            let inverts = self.burst > 0 && self.random.below(2) == 0;
            self.bits.push_back(bit ^ inverts);
            self.bits.pop_front().unwrap_or(true)
        }
    }

    /// Runs two ends until both are over; returns what each got. `None`: they never ended.
    fn exchange(ends: &mut [Link; 2], pipes: &mut [Pipe; 2], slow_reader: bool) -> Option<[Vec<u8>; 2]> {
        let mut got = [Vec::new(), Vec::new()];
        ends[0].arq.connect(0);
        for now in 0..40_000_000 {
            let sent = [ends[0].next_bit(now), ends[1].next_bit(now)];
            for side in 0..2 {
                let bit = pipes[side].pass(sent[1 - side]);
                ends[side].push_bit(bit, now);
                if !slow_reader || now % 50_000 == 0 {
                    got[side].extend(ends[side].arq.take(700));
                }
            }
            if ends.iter().all(Link::is_over) {
                for (side, got) in got.iter_mut().enumerate() {
                    got.extend(ends[side].arq.take(usize::MAX));
                }
                return Some(got);
            }
        }
        None
    }

    fn bytes(seed: u64, count: usize) -> Vec<u8> {
        let mut random = Random(seed);
        (0..count).map(|_| random.bits() as u8).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn any_bytes_arrive_exact_and_in_order_or_the_link_says_that_it_failed(
            seed in any::<u64>(),
            counts in [0..20_000usize, 0..20_000usize],
            delay in 0..2_000usize,
            wrong in prop::sample::select(vec![0u64, 20, 100, 400]),
            window in 1..=127usize,
            slow_reader in any::<bool>(),
        ) {
            // Go-back-N takes a window of all numbers but one: 127 of 128.
            let options = Options { window, buffer: 2_048, timer: 12_000, ..Options::default() };
            let mut ends = [Link::new(Side::Calling, options), Link::new(Side::Answering, options)];
            let sent = [bytes(seed, counts[0]), bytes(!seed, counts[1])];
            for (end, sent) in ends.iter_mut().zip(&sent) {
                end.arq.send(sent);
            }
            // One side ends it when its own bytes have been acknowledged: what has come of the other's by then is a beginning.
            ends[0].arq.close();
            let mut pipes = [Pipe::new(delay, wrong, seed ^ 1), Pipe::new(delay, wrong, seed ^ 2)];
            let got = exchange(&mut ends, &mut pipes, slow_reader);
            prop_assert!(got.is_some(), "neither came to an end: {:?}", ends);
            let [at_calling, at_answering] = got.unwrap();
            prop_assert!(sent[1].starts_with(&at_calling), "what came is not what was sent");
            prop_assert!(sent[0].starts_with(&at_answering), "what came is not what was sent");
            let ended_well = ends.iter().all(|end| end.arq.state() == State::Disconnected);
            prop_assert!(ended_well, "{:?} {:?}", ends[0].arq.state(), ends[1].arq.state());
            // Everything from the side that ended it has come.
            prop_assert_eq!(at_answering.len(), sent[0].len());
            if wrong == 0 {
                prop_assert_eq!(ends[0].damaged + ends[1].damaged, 0);
            }
        }
    }

    #[test]
    fn a_line_that_gives_nothing_but_noise_fails_and_does_not_hang() {
        let mut ends = [Link::new(Side::Calling, Options::default()), Link::new(Side::Answering, Options::default())];
        ends[0].arq.send(&bytes(3, 1_000));
        ends[0].arq.connect(0);
        let mut random = Random(4);
        for now in 0..20 * 2 * crate::SAMPLE_RATE {
            let _ = (ends[0].next_bit(now), ends[1].next_bit(now));
            ends[0].push_bit(random.bits() & 1 == 1, now);
            ends[1].push_bit(random.bits() & 1 == 1, now);
        }
        assert_eq!(ends[0].arq.state(), State::Failed);
        assert!(ends[0].is_over());
        assert!(ends[0].damaged > 0);
    }

    #[test]
    fn random_frames_are_taken_in_every_state() {
        let mut random = Random(9);
        let mut states = std::collections::HashSet::new();
        for round in 0..400 {
            let mut arq = Arq::new(if round % 2 == 0 { Side::Calling } else { Side::Answering }, Options::default());
            arq.send(&bytes(round, 300));
            if round % 3 > 0 {
                arq.connect(0);
            }
            if round % 5 == 0 {
                arq.close();
            }
            for now in 0..80 {
                let length = random.below(6) as usize;
                let mut frame = bytes(random.bits(), length);
                if length > 1 {
                    frame[0] = [1, 3][random.below(2) as usize];
                    frame[1] = [0x73, 0x63, 0x7f, 0x53, 0x1f, 1, 5, 9, 0, 2][random.below(10) as usize];
                }
                arq.receive(&frame, now);
                let _ = arq.next_frame(now * 3_000);
                states.insert(format!("{:?}", arq.state()));
            }
        }
        assert!(states.len() >= 5, "{states:?}");
    }
}
