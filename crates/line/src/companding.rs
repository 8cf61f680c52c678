//! A-law and u-law (ITU-T G.711): samples in eight bits, whose steps grow with the sample.

/// How samples are written in eight bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// A-law: Europe and most of the world.
    A,
    /// u-law: North America and Japan.
    Mu,
}

impl Law {
    /// A sample after it was written in eight bits and read again.
    pub fn compand(self, sample: i16) -> i16 {
        let magnitude = i32::from(sample).abs().min(32_767);
        let read = match self {
            Law::A => a_law(magnitude),
            Law::Mu => mu_law(magnitude),
        };
        // Between -32,256 and 32,256.
        (if sample < 0 { -read } else { read }) as i16
    }
}

/// Steps of 16 up to 511, then 16 to each doubling; what is read is the middle of a step.
fn a_law(magnitude: i32) -> i32 {
    let doublings = (magnitude >> 9).checked_ilog2().map_or(0, |log| log + 1);
    let step = 16 << doublings;
    magnitude / step * step + step / 2
}

/// Like A-law, but shifted by 132, so that steps begin at 8.
fn mu_law(magnitude: i32) -> i32 {
    let biased = magnitude.min(32_635) + 132;
    let step = 8 << (biased >> 7).ilog2();
    biased / step * step + step / 2 - 132
}
