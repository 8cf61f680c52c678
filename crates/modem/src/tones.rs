//! The tones that dial a number (DTMF, ITU-T Q.23), made and recognised, in whole numbers.

use crate::SAMPLE_RATE;

/// What the keys say, row by row.
const KEYS: [[char; 4]; 4] = [['1', '2', '3', 'A'], ['4', '5', '6', 'B'], ['7', '8', '9', 'C'], ['*', '0', '#', 'D']];
/// `(sin w, 2 cos w)` at 7,200 samples/s, times 2^14: 697, 770, 852 and 941 Hz.
const ROWS: [(i64, i64); 4] = [(9_362, 26_891), (10_199, 25_645), (11_090, 24_120), (11_992, 22_327)];
/// The same for 1,209, 1,336, 1,477 and 1,633 Hz.
const COLUMNS: [(i64, i64); 4] = [(14_253, 16_161), (15_059, 12_909), (15_737, 9_115), (16_210, 4_759)];
const SHIFT: u32 = 14;
/// The amplitude of each of a digit's two tones.
const AMPLITUDE: i64 = 5_000;
/// A digit and the pause after it, samples: 70 ms each.
const DIGIT: usize = 504;
const PAUSE: usize = 504;
/// How long one look at the line is, samples: 20 ms. A digit must fill two, which is the 40 ms that ITU-T Q.24 requires at least.
const LOOK: usize = 144;
/// The smallest mean square of a tone that counts.
const MIN_POWER: i64 = 40_000;

/// Whether a number can be dialled: digits, A to D, star and hash, 32 at most.
pub fn is_number(number: &str) -> bool {
    !number.is_empty() && number.len() <= 32 && number.chars().all(|digit| place(digit).is_some())
}

fn place(digit: char) -> Option<(usize, usize)> {
    KEYS.iter()
        .enumerate()
        .find_map(|(row, keys)| keys.iter().position(|key| *key == digit).map(|column| (row, column)))
}

/// The samples that dial a number. Anything that is not a digit is left out.
pub fn dial(number: &str) -> Vec<i16> {
    let mut samples = Vec::new();
    for (row, column) in number.chars().filter_map(place) {
        let mut tones = [ROWS[row], COLUMNS[column]].map(|(sine, double_cosine)| (double_cosine, -sine, 0));
        for _ in 0..DIGIT {
            let mut sample = 0;
            for (double_cosine, before, now) in &mut tones {
                let next = ((*double_cosine * *now) >> SHIFT) - *before;
                (*before, *now) = (*now, next);
                sample += (*now * AMPLITUDE) >> SHIFT;
            }
            samples.push(sample.clamp(-32_000, 32_000) as i16);
        }
        samples.extend([0; PAUSE]);
    }
    samples
}

/// What an exchange hears: Goertzel's filter at the eight tones.
#[derive(Debug, Clone, Default)]
pub struct Listener {
    look: Vec<i16>,
    /// The digit of the previous look.
    before: Option<char>,
    /// The digit that was taken and has not ended.
    held: Option<char>,
}

impl Listener {
    /// Takes a sample; returns a digit once it is certain.
    pub fn push(&mut self, sample: i16) -> Option<char> {
        self.look.push(sample);
        if self.look.len() < LOOK {
            return None;
        }
        let heard = digit_in(&self.look);
        self.look.clear();
        let before = std::mem::replace(&mut self.before, heard);
        if heard.is_none() {
            self.held = None;
        }
        if heard.is_none() || heard != before || heard == self.held {
            return None;
        }
        self.held = heard;
        heard
    }
}

fn digit_in(samples: &[i16]) -> Option<char> {
    let count = samples.len() as i64;
    let total: i64 = samples.iter().map(|sample| i64::from(*sample).pow(2)).sum();
    if total < MIN_POWER * count {
        return None;
    }
    let strongest = |tones: &[(i64, i64); 4]| {
        let powers = tones.map(|(_, double_cosine)| power_at(samples, double_cosine));
        (0..4).map(|place| (powers[place], place)).max().unwrap_or_default()
    };
    let ((low, row), (high, column)) = (strongest(&ROWS), strongest(&COLUMNS));
    // A tone alone has half of `total` times the number of samples. The two must have nine tenths of the power, and
    // each a tenth of it.
    let full = total * count / 2;
    let is_digit = low + high > full / 10 * 9 && low > full / 10 && high > full / 10;
    is_digit.then(|| KEYS[row][column])
}

fn power_at(samples: &[i16], double_cosine: i64) -> i64 {
    let (mut before, mut now) = (0i64, 0i64);
    for sample in samples {
        let next = i64::from(*sample) + ((double_cosine * now) >> SHIFT) - before;
        (before, now) = (now, next);
    }
    now * now + before * before - ((double_cosine * now) >> SHIFT) * before
}

/// How far a call is, as seen by the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It is waiting for digits.
    Dialling,
    /// The number was complete and right: the called end rings.
    Ringing,
    /// The called end has answered: the ends are connected.
    Connected,
    /// Nobody has these digits, or none came in time.
    Unobtainable,
}

/// An exchange with one called end.
#[derive(Debug, Clone)]
pub struct Exchange {
    number: String,
    listener: Listener,
    digits: String,
    progress: Progress,
    /// Samples since the last digit, or since it began to ring.
    since: u64,
    ringing: u64,
}

/// How long an exchange waits for the first or the next digit, samples: 6 s.
const MAX_WAIT: u64 = 6 * SAMPLE_RATE;

impl Exchange {
    /// An exchange whose called end has this number and answers after this many samples of ringing.
    pub fn new(number: &str, ringing: u64) -> Exchange {
        let (listener, progress) = (Listener::default(), Progress::Dialling);
        Exchange { number: number.to_owned(), listener, digits: String::new(), progress, since: 0, ringing }
    }

    /// The digits that were recognised.
    pub fn digits(&self) -> &str {
        &self.digits
    }

    /// How far the call is.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Takes a sample of the calling end.
    pub fn push(&mut self, sample: i16) -> Progress {
        self.since += 1;
        match self.progress {
            Progress::Dialling => {
                if let Some(digit) = self.listener.push(sample) {
                    self.digits.push(digit);
                    self.since = 0;
                }
                if self.digits == self.number {
                    (self.progress, self.since) = (Progress::Ringing, 0);
                } else if !self.number.starts_with(&self.digits) || self.since > MAX_WAIT {
                    self.progress = Progress::Unobtainable;
                }
            }
            Progress::Ringing if self.since >= self.ringing => self.progress = Progress::Connected,
            _ => {}
        }
        self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_random::Random;

    fn heard(samples: impl IntoIterator<Item = i16>) -> String {
        let mut listener = Listener::default();
        samples.into_iter().filter_map(|sample| listener.push(sample)).collect()
    }

    proptest! {
        #[test]
        fn a_number_is_heard_as_it_was_dialled(
            number in "[0-9A-D*#]{1,20}", lead in 0..400usize, seed in any::<u64>(), attenuation in 1..8i16,
        ) {
            let mut random = Random(seed);
            let noise = |sample: i16| sample / attenuation + random.below(41) as i16 - 20;
            let samples = std::iter::repeat_n(0, lead).chain(dial(&number)).map(noise).chain([0; 300]);
            prop_assert_eq!(heard(samples.collect::<Vec<_>>()), number);
        }

        #[test]
        fn noise_is_no_number(seed in any::<u64>()) {
            let mut random = Random(seed);
            prop_assert_eq!(heard((0..20_000).map(|_| random.bits() as i16)), "");
        }
    }

    #[test]
    fn a_starved_digit_is_lost_and_the_call_goes_nowhere() {
        let mut samples = dial("5550100");
        let whole = samples.clone();
        // A third of every digit is wiped out.
        for (place, sample) in samples.iter_mut().enumerate() {
            if place % 270 < 90 {
                *sample = 0;
            }
        }
        let call = |samples: &[i16]| {
            let mut exchange = Exchange::new("5550100", 100);
            let last = samples.iter().chain([&0; 50_000]).map(|sample| exchange.push(*sample)).last();
            (last, exchange.digits().to_owned())
        };
        assert_eq!(call(&whole), (Some(Progress::Connected), "5550100".to_owned()));
        let (progress, digits) = call(&samples);
        assert_eq!(progress, Some(Progress::Unobtainable), "{digits}");
        assert_eq!(call(&[]).0, Some(Progress::Unobtainable));
    }

    #[test]
    fn numbers_that_can_be_dialled() {
        for (number, can) in [("5550100", true), ("*#AD", true), ("", false), ("55 1", false), ("555x", false)] {
            assert_eq!(is_number(number), can, "{number}");
        }
    }
}
