//! The project's own datapump as a candidate.

use super::{Candidate, Pair};
use crate::telephone::{Qam, Rate};
use punctual_datapump::{QamOptions, Role};
use punctual_line::SampleRate;

/// Our datapump at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ours(pub Rate);

impl Candidate for Ours {
    fn name(&self) -> String {
        format!("QAM {}", self.0.bits_per_second())
    }

    fn maker(&self) -> &'static str {
        "punctual"
    }

    fn bits_per_second(&self) -> u32 {
        self.0.bits_per_second()
    }

    fn sample_rate(&self) -> SampleRate {
        SampleRate::Hz7200
    }

    fn is_duplex(&self) -> bool {
        true
    }

    fn pair(&self, retrains: bool) -> Option<Pair> {
        let options = QamOptions { min_rate: self.0, max_rate: self.0, retrain: retrains, ..QamOptions::default() };
        let end = |role| Box::new(Qam::new(role, options));
        Some([end(Role::Calling), end(Role::Answering)])
    }
}
