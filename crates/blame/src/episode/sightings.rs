//! Which samples fell into which pieces of a split.

use crate::episode::piece::Piece;
use crate::episode::split::Split;
use crate::kind::Kind;
use crate::who::ANSWER_OR_REQUEST;
use punctual_recording::Episode;
use punctual_recording::episode::StackSample;

/// The samples of the clock that fell into pieces of a split.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sightings {
    /// The position of each sample in the episode, and of its piece in the split.
    positions: Vec<(usize, usize)>,
}

impl Sightings {
    /// Those of a split; when each sample of the clock saw what it saw is known, ns.
    pub(crate) fn among(episode: &Episode, seen_at: impl Iterator<Item = u64>, split: &Split) -> Sightings {
        let clocked = episode.samples.iter().enumerate().filter(|(_, sample)| !sample.at_late_interrupt);
        let within = clocked.zip(seen_at).filter_map(|((number, sample), seen_at)| {
            // The piece that ends where the clock's interrupt begins is the one that was seen. Pieces do not overlap.
            let position = split.pieces.partition_point(|piece| piece.start_ns < seen_at).checked_sub(1)?;
            let piece = &split.pieces[position];
            let is_inside = piece.cpu == sample.cpu && seen_at <= piece.start_ns.saturating_add(piece.ns);
            (is_inside && !is_off_cpu(piece)).then_some((number, position))
        });
        Sightings { positions: within.collect() }
    }

    /// The samples, each with the position of its piece.
    pub(crate) fn in_pieces<'a>(&'a self, episode: &'a Episode) -> impl Iterator<Item = (&'a StackSample, usize)> {
        self.positions.iter().filter_map(|&(number, piece)| Some((episode.samples.get(number)?, piece)))
    }
}

/// Whether whoever was waited for within a request had no CPU then: what ran on its last one has nothing to do with it.
fn is_off_cpu(piece: &Piece) -> bool {
    let last = piece.path.last().map_or(piece.kind, |(kind, _)| *kind);
    let is_wait = matches!(piece.kind, Kind::Wait | Kind::Idle) || piece.who.name() == ANSWER_OR_REQUEST;
    last.is_off_cpu() && (!piece.path.is_empty() || is_wait)
}
