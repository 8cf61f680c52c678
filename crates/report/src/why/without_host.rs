//! What would be left to change if the host took no time.

use super::model::{EpisodeView, WhyReport};
use punctual_blame::Kind;
use punctual_recording::{counted, grouped};

/// The whole episodes that would exceed their threshold even so; empty if the host took nothing.
fn left<'report>(report: &'report WhyReport<'_>) -> Vec<&'report EpisodeView> {
    if report.total_of(Kind::Steal) == 0 {
        return Vec::new();
    }
    let whole = report.episodes.iter().filter(|episode| episode.void.is_none());
    whole.filter(|episode| episode.threshold_ns > 0 && rest_ns(episode) > episode.threshold_ns).collect()
}

/// How much of an episode neither the host took nor a wait for a request, ns.
fn rest_ns(episode: &EpisodeView) -> u64 {
    let apart = time_of(episode, Kind::Steal).saturating_add(time_of(episode, Kind::Idle));
    episode.total_ns.saturating_sub(apart)
}

fn time_of(episode: &EpisodeView, kind: Kind) -> u64 {
    episode.split.parts.iter().filter(|part| part.kind == kind).map(|part| part.ns).sum()
}

/// Whether a kind has at least this share, percent, of what would be left.
pub(super) fn has_share(report: &WhyReport<'_>, kind: Kind, percent: u128) -> bool {
    let (mut of_kind, mut all) = (0_u128, 0_u128);
    for episode in left(report) {
        of_kind += u128::from(time_of(episode, kind));
        all += u128::from(rest_ns(episode));
    }
    of_kind > 0 && of_kind * 100 >= all * percent
}

/// How many episodes would be left, in a sentence; `None` if the host took nothing, or no threshold is known.
pub(super) fn sentence(report: &WhyReport<'_>) -> Option<String> {
    let whole = report.episodes.iter().filter(|episode| episode.void.is_none());
    let known = whole.filter(|episode| episode.threshold_ns > 0).count();
    if known == 0 || report.total_of(Kind::Steal) == 0 {
        return None;
    }
    let all = counted(known, "episode");
    Some(match left(report).len() as u64 {
        0 => format!("Without what the host took, none of {all} would have exceeded the threshold."),
        left => {
            format!("Without what the host took, {} of {all} would still have exceeded the threshold.", grouped(left))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::tests::of_parts;
    use std::path::Path;

    #[test]
    fn what_the_host_did_not_take_is_what_is_left_to_change() {
        // Each is 100 ms late, and its threshold is 60 ms.
        let told = |parts: &[&[(Kind, &str, u64)]]| {
            let episodes = parts.iter().map(|parts| of_parts(parts)).collect();
            let report = WhyReport::new(Path::new("x"), 0, None, episodes, false, None, &[]);
            (sentence(&report), has_share(&report, Kind::Irq, 10), has_share(&report, Kind::Softirq, 10))
        };
        let host: &[(Kind, &str, u64)] = &[(Kind::Steal, "the host", 95), (Kind::Irq, "nic", 5)];
        let mixed: &[(Kind, &str, u64)] =
            &[(Kind::Steal, "the host", 20), (Kind::Irq, "nic", 75), (Kind::Softirq, "timer", 5)];
        let of_two = "Without what the host took, 1 of 2 episodes would still have exceeded the threshold.";
        assert_eq!(told(&[host, mixed]), (Some(of_two.to_owned()), true, false));
        let of_one = "Without what the host took, none of 1 episode would have exceeded the threshold.";
        assert_eq!(told(&[host]), (Some(of_one.to_owned()), false, false));
        let inside: &[(Kind, &str, u64)] = &[(Kind::Irq, "nic", 100)];
        assert_eq!(told(&[inside]), (None, false, false));
    }
}
