//! What came of sending a file several times, as the tables of MSR-TR-2000-88, section 6.5, show it.

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every byte arrived and was acknowledged.
    Arrived,
    /// The exchange did not understand the number.
    Unobtainable,
    /// The ends did not get a link within 60 s of the answer.
    NoLink,
    /// One end stopped getting answers.
    LinkFailed,
    /// The far end had had enough of retrains.
    HungUp,
    /// It took more time than it was given.
    TooLong,
}

impl Ending {
    /// All, the good one first.
    pub const ALL: [Ending; 6] =
        [Ending::Arrived, Ending::Unobtainable, Ending::NoLink, Ending::LinkFailed, Ending::HungUp, Ending::TooLong];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Arrived => "arrived",
            Ending::Unobtainable => "unobtainable",
            Ending::NoLink => "no_link",
            Ending::LinkFailed => "link_failed",
            Ending::HungUp => "hung_up",
            Ending::TooLong => "too_long",
        }
    }

    /// What happened, for people.
    pub fn words(self) -> &'static str {
        match self {
            Ending::Arrived => "every byte arrived",
            Ending::Unobtainable => "the exchange did not understand the number",
            Ending::NoLink => "no link within 60 s of the answer",
            Ending::LinkFailed => "an end got no answer any more",
            Ending::HungUp => "the far end hung up after too many retrains",
            Ending::TooLong => "it took too long",
        }
    }
}

/// One call and the file that was sent in it. Times are ns of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// How it ended.
    pub ending: Ending,
    /// Whether what arrived is the file, byte by byte.
    pub is_exact: bool,
    /// Bytes that arrived.
    pub received: u64,
    /// From lifting the receiver to the link, or to the end.
    pub set_up_ns: u64,
    /// From the link to the last byte; `None` if that never came.
    pub transfer_ns: Option<u64>,
    /// The rate at which the ends were last connected; 0: never.
    pub bits_per_second: u32,
    /// Start-ups that began again after a connection.
    pub retrains: u32,
    /// Damaged frames at the starved end.
    pub crc_errors: u64,
    /// Damaged frames at the far end.
    pub far_crc_errors: u64,
    /// Frames of the file that were sent again.
    pub resent: u64,
    /// How often the starved end had no samples to send.
    pub underruns: u64,
    /// How many samples were missing.
    pub underrun_samples: u64,
    /// How often its receive ring wrapped around.
    pub overruns: u64,
    /// Received samples that its datapump never saw.
    pub lost_samples: u64,
    /// Stalls that were injected.
    pub stalls: u64,
}

impl Attempt {
    /// Whether the whole file arrived intact.
    pub fn succeeded(&self) -> bool {
        self.ending == Ending::Arrived && self.is_exact && self.transfer_ns.is_some()
    }
}

/// A second of a call, as its starved end had it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    /// The most samples that were waiting when a block had been worked on; `None`: none was.
    pub max_pending: Option<u32>,
    /// Underruns that began in it.
    pub underruns: u32,
    /// How often the receive ring wrapped around in it.
    pub overruns: u32,
}

/// A call, second by second, from lifting the receiver on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Course {
    /// Its seconds; the last one is rarely whole.
    pub seconds: Vec<Second>,
}

impl Course {
    /// The second that contains a time.
    pub(crate) fn at(&mut self, second: u64) -> &mut Second {
        let place = second as usize;
        if self.seconds.len() <= place {
            self.seconds.resize(place + 1, Second::default());
        }
        &mut self.seconds[place]
    }

    /// The most samples that were ever waiting when a block had been worked on.
    pub fn max_pending(&self) -> Option<u32> {
        self.seconds.iter().filter_map(|second| second.max_pending).max()
    }
}

/// The samples that were waiting when a block had been worked on are counted in steps of this size.
pub const PENDING_STEP: u64 = 45;

/// What there is to say about a call in real time besides. Times are ns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveAttempt {
    /// Which attempt it is part of, from 0.
    pub attempt: u32,
    /// Which of the modems that call at once it is, from 0.
    pub modem: u32,
    /// The CPU that it was on, or began on.
    pub cpu: u32,
    /// From the call's beginning to its end.
    pub elapsed_ns: u64,
    /// How much of its processor time its own datapump took: the rest is the line, the far end, and the time spent to
    /// reach what a block should take.
    pub datapump_ns: u64,
    /// Blocks that were worked on.
    pub activations: u64,
    /// The processor time of the thread.
    pub executed_ns: u64,
    /// How late work began at most, after its block was complete.
    pub max_late_ns: u64,
    /// What the host took of the thread's processor meanwhile; `None`: not known.
    pub host_ns: Option<u64>,
    /// How many of the underruns coincide with something that the host took.
    pub underruns_by_host: u64,
    /// How often this many samples were waiting when a block had been worked on, in steps of [`PENDING_STEP`].
    pub pending: Vec<u64>,
}

impl LiveAttempt {
    /// This many samples were waiting.
    pub fn note_pending(&mut self, samples: u64) {
        let step = (samples / PENDING_STEP).min(255) as usize;
        if self.pending.len() <= step {
            self.pending.resize(step + 1, 0);
        }
        self.pending[step] += 1;
    }
}

/// Figures of the attempts that succeeded, s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds {
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation of a sample; 0 for a single one.
    pub deviation: f64,
}

/// Attempts at one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Bytes of the file.
    pub bytes: u64,
    /// The attempts, in order.
    pub attempts: Vec<Attempt>,
    /// The course of each, if it was kept.
    pub courses: Vec<Course>,
}

impl Transfer {
    /// How many succeeded.
    pub fn successes(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.succeeded()).count()
    }

    /// The transfer times of those that succeeded; `None` if none did.
    pub fn seconds(&self) -> Option<Seconds> {
        let succeeded = self.attempts.iter().filter(|attempt| attempt.succeeded());
        let nanoseconds: Vec<u64> = succeeded.filter_map(|attempt| attempt.transfer_ns).collect();
        if nanoseconds.is_empty() {
            return None;
        }
        let times: Vec<f64> = nanoseconds.iter().map(|&ns| ns as f64 / 1e9).collect();
        let count = times.len() as f64;
        // Of whole numbers: the mean of equal times is that time.
        let mean = nanoseconds.iter().sum::<u64>() as f64 / count / 1e9;
        let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
        Some(Seconds {
            min: times.iter().copied().fold(f64::INFINITY, f64::min),
            max: times.iter().copied().fold(0.0, f64::max),
            mean,
            deviation: if times.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 },
        })
    }

    /// Bits of the file per second, averaged over those that succeeded.
    pub fn throughput(&self) -> Option<f64> {
        self.seconds().filter(|seconds| seconds.mean > 0.0).map(|seconds| self.bytes as f64 * 8.0 / seconds.mean)
    }

    /// A count over all attempts.
    pub fn sum(&self, of: impl Fn(&Attempt) -> u64) -> u64 {
        self.attempts.iter().map(of).sum()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One that ended this way after so many seconds of sending, with a retrain and two damaged frames.
    pub(crate) fn attempt(ending: Ending, seconds: u64) -> Attempt {
        Attempt {
            ending,
            is_exact: true,
            received: 100,
            set_up_ns: 0,
            transfer_ns: Some(seconds * 1_000_000_000),
            bits_per_second: 9_600,
            retrains: 1,
            crc_errors: 2,
            far_crc_errors: 0,
            resent: 0,
            underruns: 0,
            underrun_samples: 0,
            overruns: 0,
            lost_samples: 0,
            stalls: 0,
        }
    }

    #[test]
    fn figures_are_of_what_succeeded_and_sums_of_everything() {
        let arrived = |seconds| attempt(Ending::Arrived, seconds);
        let damaged = Attempt { is_exact: false, ..arrived(1) };
        let attempts = vec![arrived(30), arrived(40), attempt(Ending::HungUp, 5), damaged];
        let transfer = Transfer { bytes: 350, attempts, ..Transfer::default() };
        assert_eq!(transfer.successes(), 2);
        let seconds = transfer.seconds().unwrap();
        assert_eq!((seconds.min, seconds.max, seconds.mean), (30.0, 40.0, 35.0));
        assert!((seconds.deviation - 50.0_f64.sqrt()).abs() < 1e-9);
        assert_eq!(transfer.throughput(), Some(80.0));
        assert_eq!(transfer.sum(|attempt| attempt.crc_errors), 8);
        assert_eq!(Transfer::default().seconds(), None);
        let alike = Attempt { transfer_ns: Some(177_237_500_000), ..arrived(0) };
        let seconds = Transfer { bytes: 350, attempts: vec![alike; 10], ..Transfer::default() }.seconds().unwrap();
        assert_eq!((seconds.mean, seconds.deviation), (seconds.min, 0.0));
    }
}
