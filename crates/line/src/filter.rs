//! Filters of whole numbers.

use crate::SampleRate;

/// What a telephone line lets through: Butterworth sections of second order, a high-pass at 300 Hz and a low-pass at
/// 3,400 Hz, as the first 64 samples of their impulse response at 7,200 Hz; 1 is 2^15.
const BAND: [i32; 64] = [
    24_064, -2_917, -14_260, -785, -8_872, 638, -4_790, 1_322, -2_004, 1_431, -295, 1_187, 618, 787, 1_001, 374, 1_066,
    32, 965, -206, 796, -339, 616, -384, 453, -367, 318, -313, 213, -244, 135, -173, 78, -110, 38, -60, 11, -23, -6, 2,
    -16, 17, -21, 24, -23, 25, -22, 24, -19, 20, -16, 16, -12, 12, -9, 8, -6, 5, -4, 3, -2, 1, -1, 0,
];

/// What a hybrid returns: a high-pass at 500 Hz and a low-pass at 2,600 Hz, after four samples; 1 is 2^15.
const HYBRID: [i32; 44] = [
    0, 0, 0, 0, 13_476, 8_545, -17_394, -9_490, -1_053, -3_757, 1_261, 1_479, 1_821, 2_199, 1_603, 1_273, 787, 356, 70,
    -144, -244, -270, -247, -194, -132, -74, -26, 7, 27, 35, 35, 29, 21, 13, 6, 1, -2, -4, -5, -4, -3, -2, -1, 0,
];

/// The band at 8,000 Hz: the same sections.
const BAND_8000: [i32; 64] = [
    19_852, 6_357, -17_398, -1_239, -6_313, -3_736, -1_100, -3_024, 640, -1_387, 944, -70, 856, 611, 730, 790, 617,
    700, 499, 516, 372, 334, 246, 189, 139, 88, 59, 24, 7, -12, -21, -29, -32, -33, -32, -30, -27, -24, -20, -17, -13,
    -10, -8, -5, -4, -2, -1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0,
];

/// What a hybrid returns at 8,000 Hz.
const HYBRID_8000: [i32; 48] = [
    0, 0, 0, 0, 11_593, 11_208, -12_670, -12_741, -2_262, -3_287, -1_047, 992, 1_374, 1_802, 1_843, 1_564, 1_230, 851,
    493, 203, -12, -150, -221, -239, -221, -181, -133, -85, -43, -10, 12, 25, 31, 30, 26, 20, 14, 8, 3, 0, -3, -4, -4,
    -4, -3, -2, -1, -1,
];

/// What a pair of long wires lets through at a DSL's rate: three low-passes of first order, the highest tone 28 dB
/// below the lowest; 1 is 2^15.
const CABLE: [i32; 24] = [
    4_096, 6_144, 6_144, 5_120, 3_840, 2_688, 1_792, 1_152, 720, 440, 264, 156, 91, 52, 30, 17, 10, 5, 3, 2, 1, 0, 0, 0,
];

/// A filter and the samples that it still remembers.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    taps: &'static [i32],
    /// Written twice, so that the newest samples are contiguous.
    samples: Vec<f64>,
    position: usize,
}

impl Filter {
    pub(crate) fn band(rate: SampleRate) -> Filter {
        Filter::new(match rate {
            SampleRate::Hz7200 => &BAND,
            SampleRate::Hz8000 => &BAND_8000,
        })
    }

    pub(crate) fn hybrid(rate: SampleRate) -> Filter {
        Filter::new(match rate {
            SampleRate::Hz7200 => &HYBRID,
            SampleRate::Hz8000 => &HYBRID_8000,
        })
    }

    pub(crate) fn cable() -> Filter {
        Filter::new(&CABLE)
    }

    fn new(taps: &'static [i32]) -> Filter {
        Filter { taps, samples: vec![0.0; 2 * taps.len()], position: 0 }
    }

    pub(crate) fn pass(&mut self, sample: f64) -> f64 {
        let length = self.taps.len();
        self.position = if self.position == 0 { length - 1 } else { self.position - 1 };
        self.samples[self.position] = sample;
        self.samples[self.position + length] = sample;
        let newest = &self.samples[self.position..self.position + length];
        newest.iter().zip(self.taps).map(|(sample, tap)| sample * f64::from(*tap)).sum::<f64>() / 32_768.0
    }
}
