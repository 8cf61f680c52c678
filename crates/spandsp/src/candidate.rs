//! The library's modems as candidates of a judgement.

use crate::{Library, OneWay, Receiver, Sender, V22bis};
use punctual_line::SampleRate;
use punctual_modem::judge::{Candidate, Pair};

/// One of the library's modems.
#[derive(Debug, Clone, Copy)]
pub struct Theirs {
    library: &'static Library,
    /// `None`: V.22bis.
    one_way: Option<OneWay>,
}

impl Theirs {
    /// A modem that sends one way, or V.22bis.
    pub fn new(library: &'static Library, one_way: Option<OneWay>) -> Theirs {
        Theirs { library, one_way }
    }

    /// All of them, the slowest first.
    pub fn all(library: &'static Library) -> Vec<Theirs> {
        let kinds = [None].into_iter().chain(OneWay::ALL.map(Some));
        kinds.map(|one_way| Theirs::new(library, one_way)).collect()
    }
}

impl Candidate for Theirs {
    fn name(&self) -> String {
        let name = match self.one_way {
            None => "V.22bis",
            Some(OneWay::V27ter) => "V.27ter",
            Some(OneWay::V29) => "V.29",
            Some(OneWay::V17) => "V.17",
        };
        name.to_owned()
    }

    fn maker(&self) -> &'static str {
        "spandsp"
    }

    fn bits_per_second(&self) -> u32 {
        self.one_way.map_or(2_400, OneWay::bits_per_second)
    }

    fn sample_rate(&self) -> SampleRate {
        SampleRate::Hz8000
    }

    fn is_duplex(&self) -> bool {
        self.one_way.is_none()
    }

    /// The library's modems train again, or do not, as they like.
    fn pair(&self, _retrains: bool) -> Option<Pair> {
        let library = self.library;
        Some(match self.one_way {
            None => [Box::new(V22bis::new(library, true)?), Box::new(V22bis::new(library, false)?)],
            Some(kind) => [Box::new(Sender::new(library, kind)?), Box::new(Receiver::new(library, kind)?)],
        })
    }
}
