//! How long the slowest request took, as far as that is known.

use crate::why::model::{EpisodeView, WhyReport};
use punctual_recording::{Stage, agreeing, format_ns, grouped};

impl WhyReport<'_> {
    /// How long the longest of several requests took: a cause's longest part is easily taken for it. Where nothing tells whether a request was waiting for
    /// some of the time, only the longest stretch around that is known of its length; a void one may have begun later than it seems, and took at most what
    /// it seems to have taken. So did one that may be several.
    pub(crate) fn slowest(&self, late: u64) -> String {
        if self.stage() != Stage::Request || late <= 1 {
            return String::new();
        }
        let whole = || self.episodes.iter().filter(|episode| episode.void.is_none());
        let took: Vec<(u64, bool)> = whole().filter_map(EpisodeView::took_ns).collect();
        let are_all = took.len() as u64 == late && self.maybe_unjudged() == 0;
        let is_of_all = are_all && took.iter().all(|(_, is_all)| *is_all);
        let Some(longest_ns) = took.iter().map(|(ns, _)| *ns).max() else { return String::new() };
        let times = self.recorder.as_ref().and_then(|recorder| recorder.request_times).unwrap_or_default();
        // Which of them a client sent that was behind is not in the recording.
        let single = whole().filter(|episode| !episode.may_be_several && times.maybe_several == 0);
        let single_ns = single.filter_map(EpisodeView::took_ns).map(|(ns, _)| ns).max();
        let several = whole().filter(|episode| episode.may_be_several && episode.took_ns().is_some()).count() as u64;
        let each = match several {
            0 => String::new(),
            _ => format!(" ({} may {}be several requests)", grouped(several), agreeing(several, "", "each ")),
        };
        let void_ns = self.longest_void_ns();
        let longer =
            |ns| if void_ns > ns { format!(" (a void one up to {})", format_ns(void_ns)) } else { String::new() };
        match (is_of_all, single_ns.filter(|ns| *ns == longest_ns)) {
            (true, Some(ns)) => format!(", the slowest {}{}", format_ns(ns), longer(ns)),
            (true, None) => format!(", the slowest at most {}{each}{}", format_ns(longest_ns), longer(longest_ns)),
            (false, Some(ns)) => format!(", the slowest at least {}{}", format_ns(ns), longer(ns)),
            (false, None) => match single_ns {
                Some(ns) => format!(", the slowest at least {}{each}{}", format_ns(ns), longer(ns)),
                None => format!(", the slowest not known{each}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::why::requests::tests::requests_with;
    use crate::why::tests::of_pieces;
    use punctual_blame::{ANSWER_OR_REQUEST, Kind};
    use punctual_recording::RequestTimes;

    fn verdict(maybe_several: u64, episodes: Vec<EpisodeView>) -> String {
        requests_with(episodes, Some(RequestTimes { maybe_several, ..RequestTimes::default() }))
    }

    /// Requests that a server found in its queue count as one; so do those of a client that was behind its timer.
    #[test]
    fn what_may_be_several_requests_took_at_most_so_long() {
        let late = |ms| of_pieces(&[(Kind::Own, "late", ms)]);
        let several = |ms| EpisodeView { may_be_several: true, ..late(ms) };
        let untold = |ms| of_pieces(&[(Kind::Own, "late", ms), (Kind::Unknown, ANSWER_OR_REQUEST, 20)]);
        for (maybe_several, episodes, expected) in [
            (0, vec![late(70), late(90)], "the slowest 90.0 ms: "),
            (0, vec![late(90), several(80)], "the slowest 90.0 ms: "),
            (0, vec![late(70), several(80)], "the slowest at most 80.0 ms (1 may be several requests): "),
            (0, vec![several(70), several(80)], "the slowest at most 80.0 ms (2 may each be several requests): "),
            (0, vec![untold(70), several(80)], "the slowest at least 70.0 ms (1 may be several requests): "),
            (0, vec![untold(90), several(80)], "the slowest at least 90.0 ms: "),
            (3, vec![late(70), late(90)], "the slowest at most 90.0 ms: "),
            (3, vec![untold(70), late(90)], "the slowest not known: "),
        ] {
            let told = verdict(maybe_several, episodes);
            assert!(told.starts_with(&format!("2 requests took longer than 60.0 ms, {expected}")), "{told}");
        }
    }
}
