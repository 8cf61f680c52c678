//! A whole call in virtual time: two ends, an exchange and a line; one of the ends is starved.
//!
//! The calling end has an [`Adapter`]; its dialling tones, its datapump and its link all run as the adapter's work. The
//! far end always has its processor. Time advances by samples, as fast as they are computed; the same plan gives the
//! same bytes.

use crate::SAMPLE_RATE;
use crate::adapter::{Adapter, BLOCK, Cpu, Moment, Setup, Slot, Stalls, time_of};
use crate::arq::{Options, Side, State};
use crate::end::{Caller, End, Pump};
use crate::tones::{Exchange, Progress};
use crate::transfer::{Attempt, Course, Ending};
use punctual_line::Opposite;
use std::collections::VecDeque;

mod live;
pub use live::Live;

/// Which way the file goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the starved end, as in the paper.
    Download,
    /// From it.
    Upload,
}

/// Who the far end is. The paper's two differed in what they put up with; how, it does not say. Both are assumptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FarEnd {
    /// A pool of servers: it retrains as often as it is asked to.
    Pool,
    /// A dedicated server: it hangs up at the fourth retrain within a minute.
    Dedicated,
}

/// Retrains within [`IMPATIENT_FOR`] at which a dedicated server hangs up.
const IMPATIENT_AT: usize = 4;
/// Samples: a minute.
const IMPATIENT_FOR: u64 = 60 * SAMPLE_RATE;
/// The far end rings so long, samples: 2 s.
const RINGING: u64 = 2 * SAMPLE_RATE;
/// So long may pass between the answer and the link, samples: S7 of a modem, 60 s.
const MAX_TRAINING: u64 = 60 * SAMPLE_RATE;
/// The number of the far end.
const NUMBER: &str = "5550100";

/// What to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Which way the file goes.
    pub direction: Direction,
    /// Who the far end is.
    pub far_end: FarEnd,
    /// How the starved end is made.
    pub setup: Setup,
    /// Its part of the processor; `None`: the whole of it.
    pub slot: Option<Slot>,
    /// Its stalls.
    pub stalls: Option<Stalls>,
    /// Options of the link.
    pub link: Options,
    /// The call is given up after this much time on the line, samples.
    pub limit: u64,
}

/// A line: takes a sample of the calling end and returns what reaches it; meanwhile the answering end sends and hears samples by
/// its own clock.
pub type Circuit<'a> = dyn FnMut(i16, &mut dyn Opposite) -> i16 + 'a;

/// The end that is never late, and its blocks.
#[derive(Debug)]
struct Far<P> {
    end: End<P>,
    /// The block that is being received, and the one that is being sent.
    received: Vec<i16>,
    sent: Vec<i16>,
    /// A block was complete since the call was last looked at.
    has_worked: bool,
}

impl<P: Pump> Opposite for Far<P> {
    fn sends(&self) -> i16 {
        self.sent[self.received.len()]
    }

    fn hears(&mut self, sample: i16) {
        self.received.push(sample);
        if self.received.len() == BLOCK {
            self.end.process(&self.received, &mut self.sent);
            self.received.clear();
            self.has_worked = true;
        }
    }
}

/// A call in progress.
#[derive(Debug)]
struct Call<P> {
    plan: Plan,
    adapter: Adapter,
    caller: Caller<P>,
    far: Far<P>,
    exchange: Exchange,
    received: Vec<u8>,
    sample: u64,
    answered: Option<u64>,
    linked: Option<u64>,
    complete: Option<u64>,
    far_retrains: u32,
    retrained_at: VecDeque<u64>,
    bits_per_second: u32,
    course: Course,
    /// How many blocks had been worked on, underruns and overruns when that was last noted.
    noted: [u64; 3],
}

/// What came of a call.
#[derive(Debug)]
pub struct Called {
    /// How it ended, and what was counted.
    pub attempt: Attempt,
    /// What arrived.
    pub received: Vec<u8>,
    /// Second by second.
    pub course: Course,
}

/// Makes a call and sends these bytes. `seed` chooses the phases of the slots and the stalls. `progress` is told how
/// many bytes have arrived and the line's time, ns, and says whether to go on; if not, there is no attempt.
pub fn call<P: Pump>(
    plan: Plan,
    seed: u64,
    bytes: &[u8],
    pumps: [P; 2],
    circuit: &mut Circuit<'_>,
    progress: &mut dyn FnMut(usize, u64) -> bool,
) -> Option<Called> {
    let mut call = Call::new(plan, seed, bytes, pumps);
    let ending = loop {
        if call.sample.is_multiple_of(SAMPLE_RATE) && !progress(call.received.len(), time_of(call.sample)) {
            return None;
        }
        if let Some(ending) = call.step(circuit, bytes.len()) {
            break ending;
        }
    };
    let attempt = call.attempt(ending, bytes);
    Some(Called { attempt, received: call.received, course: call.course })
}

impl<P: Pump> Call<P> {
    /// A call whose receiver has just been lifted, with a file to send.
    fn new(plan: Plan, seed: u64, bytes: &[u8], pumps: [P; 2]) -> Call<P> {
        let [near, far] = pumps;
        let near = End::new(Side::Calling, near, plan.link);
        let mut call = Call {
            plan,
            adapter: Adapter::new(plan.setup, Cpu::new(plan.slot, plan.stalls, seed)),
            caller: Caller::new(near, NUMBER),
            far: Far {
                end: End::new(Side::Answering, far, plan.link),
                received: Vec::with_capacity(BLOCK),
                sent: vec![0; BLOCK],
                has_worked: false,
            },
            exchange: Exchange::new(NUMBER, RINGING),
            received: Vec::with_capacity(bytes.len()),
            sample: 0,
            answered: None,
            linked: None,
            complete: None,
            far_retrains: 0,
            retrained_at: VecDeque::new(),
            bits_per_second: 0,
            course: Course::default(),
            noted: [0; 3],
        };
        call.adapter.cpu.begin_stalls(Moment::Lifted, 0);
        let (sender, _) = call.ends();
        sender.link.arq.send(bytes);
        sender.link.arq.close();
        call
    }

    /// The end that sends the file, and the one that takes it.
    fn ends(&mut self) -> (&mut End<P>, &mut End<P>) {
        match self.plan.direction {
            Direction::Download => (&mut self.far.end, &mut self.caller.end),
            Direction::Upload => (&mut self.caller.end, &mut self.far.end),
        }
    }

    /// A sample of time. Returns how the call ended, if it did.
    fn step(&mut self, circuit: &mut Circuit<'_>, length: usize) -> Option<Ending> {
        let caller = &mut self.caller;
        let from_near = self.adapter.send(&mut |received, sent| caller.process(received, sent));
        self.pass(from_near, circuit, length)
    }

    /// The rest of a sample of time: sends on what the calling end sent.
    fn pass(&mut self, from_near: i16, circuit: &mut Circuit<'_>, length: usize) -> Option<Ending> {
        self.note();
        let is_connected = self.answered.is_some();
        let to_near = if is_connected { circuit(from_near, &mut self.far) } else { 0 };
        self.adapter.receive(to_near);
        self.sample += 1;
        if !is_connected {
            return match self.exchange.push(from_near) {
                Progress::Unobtainable => Some(Ending::Unobtainable),
                // The far end's blocks begin with the line's.
                Progress::Connected if self.sample.is_multiple_of(BLOCK as u64) => {
                    self.answered = Some(self.sample);
                    self.adapter.cpu.begin_stalls(Moment::Answered, time_of(self.sample));
                    self.caller.answered();
                    None
                }
                _ => None,
            };
        }
        if std::mem::take(&mut self.far.has_worked) { self.look(length) } else { None }
    }

    /// Notes what has happened at the starved end since the last sample.
    fn note(&mut self) {
        let now = self.adapter.so_far();
        if self.noted == now {
            return;
        }
        let [processed, underruns, overruns] = std::mem::replace(&mut self.noted, now);
        let second = self.course.at(self.sample / SAMPLE_RATE);
        second.underruns += (now[1] - underruns) as u32;
        second.overruns += (now[2] - overruns) as u32;
        if now[0] > processed {
            let pending = self.adapter.pending(time_of(self.sample)).min(u32::MAX.into()) as u32;
            second.max_pending = second.max_pending.max(Some(pending));
        }
    }

    /// After each block: what has come, and whether the call is over.
    fn look(&mut self, length: usize) -> Option<Ending> {
        let sample = self.sample;
        let (sender, receiver) = self.ends();
        let (is_linked, state) = (sender.is_linked() && receiver.is_linked(), sender.link.arq.state());
        let is_failed = state == State::Failed || receiver.link.arq.state() == State::Failed;
        let is_over = sender.link.is_over() && receiver.link.is_over();
        let arrived = receiver.link.arq.take(usize::MAX);
        self.received.extend(arrived);
        if is_linked && self.linked.is_none() {
            self.linked = Some(sample);
            self.adapter.cpu.begin_stalls(Moment::Linked, time_of(sample));
        }
        if self.received.len() >= length && self.linked.is_some() {
            self.complete.get_or_insert(sample);
        }
        let status = self.far.end.pump.status();
        if status.is_connected {
            self.bits_per_second = status.bits_per_second;
        }
        if status.retrains > self.far_retrains {
            self.far_retrains = status.retrains;
            self.retrained_at.push_back(sample);
            self.retrained_at.retain(|retrain| sample - retrain < IMPATIENT_FOR);
        }
        let since_answer = sample - self.answered.unwrap_or(sample);
        match () {
            () if is_failed => Some(Ending::LinkFailed),
            // The last acknowledgement may have been damaged: what counts is that the file is there and the sender knows.
            () if is_over || (self.complete.is_some() && state == State::Disconnected) => Some(Ending::Arrived),
            () if self.linked.is_none() && since_answer > MAX_TRAINING => Some(Ending::NoLink),
            () if self.plan.far_end == FarEnd::Dedicated && self.retrained_at.len() >= IMPATIENT_AT => {
                Some(Ending::HungUp)
            }
            () if sample > self.plan.limit => Some(Ending::TooLong),
            () => None,
        }
    }

    fn attempt(&mut self, ending: Ending, bytes: &[u8]) -> Attempt {
        let counted = self.adapter.counters();
        let linked = self.linked.unwrap_or(self.sample);
        let resent = self.ends().0.link.arq.counters.resent;
        Attempt {
            ending,
            is_exact: self.received == bytes,
            received: self.received.len() as u64,
            set_up_ns: time_of(linked),
            transfer_ns: self.complete.map(|complete| time_of(complete - linked)),
            bits_per_second: self.bits_per_second,
            retrains: self.caller.end.pump.status().retrains.max(self.far_retrains),
            crc_errors: self.caller.end.link.damaged,
            far_crc_errors: self.far.end.link.damaged,
            resent,
            underruns: counted.underruns,
            underrun_samples: counted.underrun_samples,
            overruns: counted.overruns,
            lost_samples: counted.lost_samples(),
            stalls: self.adapter.cpu.met,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::Late;
    use crate::end::PumpStatus;
    use crate::transfer::Second;
    use proptest::prelude::*;
    use punctual_random::Random;

    /// One bit for each sample: its sign. It connects once it has heard something.
    #[derive(Default)]
    struct Signs {
        has_heard: bool,
    }

    impl Pump for Signs {
        fn process(
            &mut self,
            received: &[i16],
            sent: &mut [i16],
            next_bit: &mut dyn FnMut() -> bool,
            push_bit: &mut dyn FnMut(bool),
        ) {
            for (received, sent) in received.iter().zip(sent) {
                self.has_heard |= *received != 0;
                if self.has_heard {
                    push_bit(*received > 0);
                }
                let bit = !self.has_heard || next_bit();
                *sent = if bit { 1_000 } else { -1_000 };
            }
        }

        fn status(&self) -> PumpStatus {
            PumpStatus { is_connected: self.has_heard, bits_per_second: 7_200, retrains: 0 }
        }
    }

    fn plan() -> Plan {
        Plan {
            direction: Direction::Download,
            far_end: FarEnd::Pool,
            setup: Setup::default(),
            slot: None,
            stalls: None,
            link: Options::default(),
            limit: 600 * SAMPLE_RATE,
        }
    }

    /// Wires that do nothing to what they carry.
    fn crossed(near: i16, far: &mut dyn Opposite) -> i16 {
        let heard = far.sends();
        far.hears(near);
        heard
    }

    fn run(plan: Plan, seed: u64, count: usize) -> (Attempt, Vec<u8>, Vec<u8>) {
        let mut random = Random(seed);
        let bytes: Vec<u8> = (0..count).map(|_| random.bits() as u8).collect();
        let pumps = [Signs::default(), Signs::default()];
        let called = call(plan, seed, &bytes, pumps, &mut crossed, &mut |_, _| true).unwrap();
        let noted =
            |of: fn(&Second) -> u32| called.course.seconds.iter().map(|second| u64::from(of(second))).sum::<u64>();
        let counted = (called.attempt.underruns, called.attempt.overruns);
        assert_eq!((noted(|second| second.underruns), noted(|second| second.overruns)), counted);
        (called.attempt, called.received, bytes)
    }

    #[test]
    fn a_starved_call_fails_at_the_exchange() {
        let slot = Some(Slot { runtime_ns: 1_000_000, period_ns: 60_000_000 });
        let (attempt, received, _) = run(Plan { slot, ..plan() }, 1, 100);
        assert_eq!((attempt.ending, received.len()), (Ending::Unobtainable, 0));
        assert!(!attempt.succeeded() && attempt.underruns > 0 && attempt.lost_samples > 0, "{attempt:?}");
    }

    #[test]
    fn a_pump_of_a_kind_that_only_its_maker_knows_makes_the_same_call() {
        let with = |pumps: [Box<dyn Pump>; 2]| call(plan(), 1, b"text", pumps, &mut crossed, &mut |_, _| true).unwrap();
        let unknown = with([Box::new(Signs::default()), Box::new(Signs::default())]);
        let pumps = [Signs::default(), Signs::default()];
        let known = call(plan(), 1, b"text", pumps, &mut crossed, &mut |_, _| true).unwrap();
        assert_eq!((unknown.attempt, unknown.received.as_slice()), (known.attempt, &b"text"[..]));
    }

    #[test]
    fn whoever_stops_it_gets_no_attempt() {
        let pumps = [Signs::default(), Signs::default()];
        let stopped = call(plan(), 1, b"text", pumps, &mut crossed, &mut |_, ns| ns < 2_000_000_000);
        assert!(stopped.is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn whatever_the_stalls_what_arrives_is_what_was_sent(
            seed in any::<u64>(), length in 0..200_000_000u64, upload in any::<bool>(), stale in any::<bool>(),
            count in 0..20_000usize,
        ) {
            let mut plan = plan();
            plan.stalls = Some(Stalls::every(length, 3_000_000_000));
            if upload {
                plan.direction = Direction::Upload;
            }
            if stale {
                plan.setup.late = Late::DropStale;
            }
            let (attempt, received, bytes) = run(plan, seed, count);
            prop_assert!(bytes.starts_with(&received));
            prop_assert!(attempt.succeeded(), "{:?}", attempt);
            // Whatever was within the slack cost nothing, and all damage came from a loss that was counted.
            let losses = attempt.underruns + attempt.overruns + attempt.lost_samples;
            if length <= plan.setup.slack_ns() {
                prop_assert_eq!((losses, attempt.resent), (0, 0));
            }
            if losses == 0 {
                prop_assert_eq!(attempt.crc_errors + attempt.far_crc_errors, 0);
            }
            let (again, _, _) = run(plan, seed, count);
            prop_assert_eq!(attempt, again, "the same plan gives the same");
        }
    }
}
