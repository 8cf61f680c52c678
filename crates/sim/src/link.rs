//! A file over the modem's line: what late blocks cost in retransmission and retraining.
//!
//! The line carries bits at its rate. A V.42 frame adds its overhead, HDLC stuffs bits, PPP, IP and TCP add their
//! headers and PPP escapes bytes: what is left of the rate follows from these, not from a fit. A block that was not
//! processed in time loses what was in flight, which is sent again, and makes both modems train again. A block that is
//! not processed in time during training restarts it.

use crate::modem::{Block, Fate};
use crate::time::{NEVER, Picoseconds, SECOND};

/// The line, the protocols over it, and the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkSpec {
    /// Bits a second downstream.
    pub line_rate: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Data bytes of one frame.
    pub frame_bytes: u64,
    /// Bytes that a frame adds: flag, address, control, check sequence.
    pub frame_overhead: u64,
    /// Frames in flight, lost and sent again when the line fails.
    pub window_frames: u64,
    /// Data bytes of one network packet.
    pub packet_bytes: u64,
    /// Bytes that a packet adds: PPP, IP and TCP headers.
    pub packet_overhead: u64,
    /// Of 256 bytes, how many are escaped to two.
    pub escaped_of_256: u64,
    /// How long training takes without a fault.
    pub retrain: Picoseconds,
    /// The time of the transfer in which nothing of the file flows: opening, closing, acknowledging, the network.
    pub setup: Picoseconds,
    /// After this long without a line, the connection is given up.
    pub give_up: Picoseconds,
    /// After this long without one block processed in time, nothing has been sent, and the modem at the other end hangs
    /// up; `None` for never.
    pub carrier_loss: Option<Picoseconds>,
    /// How many late blocks in a row the modem at the other end tolerates: they lose what was in flight, and no more.
    pub patience: u64,
    /// The phase of the device from which the connection is up.
    pub connected_phase: u32,
}

/// The outcome of one transfer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transfer {
    /// How long it took; `None` if the connection was given up, or the run ended before the file was through.
    pub took: Option<Picoseconds>,
    /// How often the modems trained again.
    pub retrains: u64,
    /// Blocks that were late or lost, from the start of the transfer to its end.
    pub faults: u64,
    /// Whether the other end hung up.
    pub broken: bool,
}

impl LinkSpec {
    /// How long the line needs for one byte of the file, with all overheads, in picoseconds.
    pub fn byte_time(&self) -> Picoseconds {
        let numerator = u128::from(SECOND)
            * 8
            * u128::from(self.packet_bytes + self.packet_overhead)
            * u128::from(256 + self.escaped_of_256)
            * u128::from(self.frame_bytes + self.frame_overhead)
            * 63;
        // HDLC stuffs a bit after five ones: once in 62 random bits.
        let denominator =
            u128::from(self.line_rate) * u128::from(self.packet_bytes) * 256 * u128::from(self.frame_bytes) * 62;
        u64::try_from(numerator / denominator).unwrap_or(NEVER)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Up,
    Training { since: Picoseconds, down: Picoseconds },
    Over,
}

/// A transfer under way, fed with the device's blocks in order.
#[derive(Debug, Clone)]
pub struct Link {
    spec: LinkSpec,
    byte_time: Picoseconds,
    state: State,
    started: Option<Picoseconds>,
    last: Picoseconds,
    /// Late blocks since one was processed in time.
    late_in_a_row: u64,
    /// When a block was last processed in time.
    heard: Picoseconds,
    /// The time on the line that the file still needs.
    missing: Picoseconds,
    transfer: Transfer,
}

impl Link {
    /// A transfer that begins with the first block of the connected phase.
    pub fn new(spec: LinkSpec) -> Link {
        let byte_time = spec.byte_time();
        Link {
            spec,
            byte_time,
            state: State::Up,
            started: None,
            last: 0,
            late_in_a_row: 0,
            heard: 0,
            missing: spec.setup + spec.file_bytes * byte_time,
            transfer: Transfer::default(),
        }
    }

    /// One block of the device has been settled.
    pub fn block(&mut self, block: &Block) {
        if block.phase < self.spec.connected_phase || self.state == State::Over {
            return;
        }
        let now = block.end;
        let Some(started) = self.started else {
            self.started = Some(now);
            (self.last, self.heard) = (now, now);
            return;
        };
        let passed = now - self.last;
        self.last = now;
        let good = block.fate == Fate::Good;
        self.transfer.faults += u64::from(!good);
        if self.spec.carrier_loss.is_some_and(|max| now - self.heard > max) {
            self.transfer.broken = true;
            self.state = State::Over;
        }
        self.late_in_a_row = if good { 0 } else { self.late_in_a_row + 1 };
        if good {
            self.heard = now;
        }
        match self.state {
            State::Up if good => {
                if passed >= self.missing {
                    self.transfer.took = Some(now - started - (passed - self.missing));
                    self.state = State::Over;
                }
                self.missing = self.missing.saturating_sub(passed);
            }
            State::Up => {
                let whole = self.spec.setup + self.spec.file_bytes * self.byte_time;
                let window = self.spec.window_frames * self.spec.frame_bytes * self.byte_time;
                self.missing = (self.missing + window).min(whole);
                if self.late_in_a_row > self.spec.patience {
                    self.transfer.retrains += 1;
                    self.state = State::Training { since: now, down: now };
                }
            }
            State::Training { since, down } => {
                if now - down > self.spec.give_up {
                    self.state = State::Over;
                } else if !good {
                    self.state = State::Training { since: now, down };
                } else if now - since >= self.spec.retrain {
                    self.state = State::Up;
                }
            }
            State::Over => {}
        }
    }

    /// Whether the file is through, or the connection given up.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Its outcome so far.
    pub fn transfer(&self) -> Transfer {
        self.transfer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MILLISECOND;
    use proptest::prelude::*;

    fn spec() -> LinkSpec {
        LinkSpec {
            line_rate: 50_000,
            file_bytes: 100_000,
            frame_bytes: 128,
            frame_overhead: 6,
            window_frames: 15,
            packet_bytes: 1460,
            packet_overhead: 48,
            escaped_of_256: 2,
            retrain: 5 * SECOND,
            setup: SECOND,
            give_up: 100 * SECOND,
            carrier_loss: Some(7 * SECOND / 5),
            patience: 0,
            connected_phase: 0,
        }
    }

    fn send(faults: &[u64]) -> Transfer {
        send_over(spec(), faults)
    }

    fn send_over(spec: LinkSpec, faults: &[u64]) -> Transfer {
        let mut link = Link::new(spec);
        for index in 0..10_000u64 {
            let end = index * 12_500 * (MILLISECOND / 1000);
            let fate = if faults.contains(&index) { Fate::Late } else { Fate::Good };
            link.block(&Block { arrival: end, start: end, end, pending: 0, phase: 0, samples: 100, fate });
        }
        link.transfer()
    }

    #[test]
    fn a_clean_line_carries_the_file_at_the_rate_less_overheads() {
        let took = send(&[]).took.unwrap();
        assert_eq!(took, SECOND + 100_000 * spec().byte_time());
        let ideal = 100_000 * 8 * SECOND / 50_000;
        assert!(took > ideal + SECOND && took < ideal * 5 / 4);
    }

    /// 12.5 ms a block: 113 in a row are more than 1.4 s, 111 are less.
    #[test]
    fn the_other_end_hangs_up_when_it_has_heard_nothing_for_too_long() {
        let some = send(&(50..161).collect::<Vec<_>>());
        assert!(!some.broken && some.took.is_some() && some.faults == 111, "{some:?}");
        let more = send(&(50..163).collect::<Vec<_>>());
        assert!(more.broken && more.took.is_none() && more.faults == 113, "{more:?}");
        // As many, with one block in time among them: it trains anew.
        let heard: Vec<u64> = (50..163).filter(|block| *block != 100).collect();
        assert!(!send(&heard).broken && send(&heard).took.is_some());
    }

    #[test]
    fn a_patient_modem_sends_again_what_late_blocks_lost_and_trains_anew_only_after_more() {
        let sent = |patience, faults: &[u64]| send_over(LinkSpec { patience, ..spec() }, faults);
        let (clean, three) = (sent(3, &[]), sent(3, &[500, 501, 502]));
        assert_eq!(three.retrains, 0);
        let window = spec().window_frames * spec().frame_bytes * spec().byte_time();
        let cost = three.took.unwrap() - clean.took.unwrap();
        assert!(cost >= 3 * window && cost < 3 * window + SECOND / 10, "{cost}");
        assert_eq!(sent(3, &[500, 501, 502, 600, 601]).retrains, 0, "not in a row");
        assert_eq!(sent(3, &[500, 501, 502, 503]).retrains, 1);
        assert_eq!(sent(0, &[500]).retrains, 1);
    }

    proptest! {
        #[test]
        fn every_fault_costs_at_least_a_retrain_unless_it_falls_into_one(faults in prop::collection::vec(1..1200u64, 0..4)) {
            let clean = send(&[]);
            let faulty = send(&faults);
            prop_assert!(faulty.took.unwrap() >= clean.took.unwrap() + faulty.retrains * 5 * SECOND);
            prop_assert!(faulty.retrains <= faulty.faults);
        }
    }
}
