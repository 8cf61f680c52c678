//! What the evidence of a recording says for a comparison: when slow requests ended, and who made what was late so.

use punctual_blame::{Kind, Piece, Split, longest_stretch_ns, split, summarize};
use punctual_comparison::{CauseName, CauseTimes, InTime, RunCauses, measured_ns, slow_request_ns};
use punctual_recording::{Document, Episode, RecorderSummary, Stage, look_into_episodes};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// No more threads than this read episodes.
const MAX_THREADS: usize = 4;

/// What the evidence of a run says.
#[derive(Default)]
pub(super) struct Evidence {
    /// When its slow requests ended.
    pub(super) slow_requests: Option<InTime>,
    /// How many of them are not known to have been slow.
    pub(super) maybe_slow: u64,
    /// Who made it late.
    pub(super) causes: Option<RunCauses>,
}

/// As far as there is evidence that can be read: how many requests may have been slow is counted without it.
pub(super) fn read(path: &Path, document: &Document) -> Evidence {
    let Some(recorder) = &document.recorder else { return Evidence::default() };
    let mut found =
        slow_request_ns(document).map(|_| InTime::new(document.provenance.started_ns, measured_ns(document)));
    let mut whole: Vec<(u64, Split)> = Vec::new();
    let (mut void, mut maybe_slow) = (0, 0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let are_read = look_into_episodes(
        path,
        threads,
        |episode| look(&episode),
        |(end_ns, split, is_known)| {
            maybe_slow += u64::from(!is_known);
            if let Some(found) = &mut found {
                found.take(end_ns);
            }
            match split {
                Some(split) => whole.push((end_ns, split)),
                None => void += 1,
            }
        },
    );
    if are_read.is_err() {
        return Evidence::default();
    }
    Evidence { slow_requests: found, maybe_slow, causes: Some(causes(recorder, &whole, void)) }
}

/// When an episode ended, and the sums of its parts, no parts if it is void; and whether it is known to have been late: not if a request was not known to
/// wait for long enough.
fn look(episode: &Episode) -> (u64, Option<Split>, bool) {
    if episode.void.is_some() {
        return (episode.end_ns, None, true);
    }
    let split = split(episode);
    let is_known = episode.stage != Stage::Request
        || split.pieces.iter().all(Piece::is_of_a_request)
        || longest_stretch_ns(&split.pieces, Piece::is_of_a_request) > episode.threshold_ns;
    // The pieces of many episodes would take much room, and only their sums are needed.
    (episode.end_ns, Some(Split { pieces: Vec::new(), ..split }), is_known)
}

/// The causes that `punctual why` finds in the episodes that are whole, each with its end. Those of one kind are one if only the
/// number of a thread or the control group tells them apart: these are other ones in the next run.
fn causes(recorder: &RecorderSummary, whole: &[(u64, Split)], void: u64) -> RunCauses {
    let mut counts = recorder.clone();
    counts.agree_with((whole.len() as u64).saturating_add(void), void);
    let mut found: BTreeMap<CauseName, (BTreeSet<u64>, u64)> = BTreeMap::new();
    let places = (0..).zip(whole.iter().map(|(_, split)| split));
    for cause in summarize(places).causes {
        // Time without a request is no part of a late one.
        if cause.kind == Kind::Idle {
            continue;
        }
        let name = CauseName { kind: cause.kind.name(), who: cause.who.shared_name().to_owned() };
        let (places, total_ns) = found.entry(name).or_default();
        places.extend(cause.in_episodes);
        *total_ns = total_ns.saturating_add(cause.total_ns);
    }
    let ends = |places: BTreeSet<u64>| -> Vec<u64> {
        places.into_iter().filter_map(|place| Some(whole.get(usize::try_from(place).ok()?)?.0)).collect()
    };
    let by = found
        .into_iter()
        .map(|(name, (places, total_ns))| (name, CauseTimes { ended_ns: ends(places), total_ns }))
        .collect();
    RunCauses { late: counts.late, whole: whole.len() as u64, by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_blame::Part;
    use punctual_recording::episode::Victim;

    fn part(kind: Kind, who: &str, cgroup: &str, ns: u64) -> Part {
        Part {
            kind,
            who: who.into(),
            thread: None,
            has_namesakes: false,
            ns,
            detail: None,
            unknown_ns: 0,
            inside: Vec::new(),
            call: None,
            has_ended: false,
            cgroup: Some(cgroup.to_owned()),
            turn: None,
            priorities: None,
        }
    }

    #[test]
    fn causes_that_only_a_number_or_a_group_tells_apart_are_one() {
        let lock = |tid: u32, cgroup, ns| part(Kind::Lock, &format!("another worker (thread {tid})"), cgroup, ns);
        let parts = [
            vec![lock(8, "/a", 300), lock(9, "/a", 20), part(Kind::Idle, "no request was waiting", "/a", 1_000)],
            vec![lock(17, "/b", 40), part(Kind::Wait, "another worker", "/b", 5)],
        ];
        let whole: Vec<(u64, Split)> =
            (7..).zip(parts).map(|(end_ns, parts)| (end_ns, Split { pieces: Vec::new(), parts })).collect();
        let recorder = RecorderSummary { late: 2, kept: 2, ..RecorderSummary::default() };
        let found = causes(&recorder, &whole, 1);
        // The episodes are more than were counted last.
        assert_eq!((found.late, found.whole), (3, 2));
        let rows: Vec<(&str, &str, &[u64], u64)> = (found.by.iter())
            .map(|(name, times)| (name.kind, name.who.as_str(), &times.ended_ns[..], times.total_ns))
            .collect();
        assert_eq!(rows, [("lock", "another worker", &[7, 8][..], 360), ("wait", "another worker", &[8][..], 5)]);
    }

    #[test]
    fn a_void_episode_has_an_end_and_no_causes() {
        let victim = Victim { tid: 7, name: "worker".into(), priority: 19, cpu: 0 };
        let whole = Episode::of(victim, 1_000_000, 1_400_000);
        let (end_ns, split, is_known) = look(&whole);
        let split = split.expect("it is whole");
        let total_ns: u64 = split.parts.iter().map(|part| part.ns).sum();
        assert_eq!((end_ns, total_ns, split.pieces.len(), is_known), (1_400_000, 400_000, 0, true));
        assert_eq!(look(&Episode { void: Some("overwritten".into()), ..whole }), (1_400_000, None, true));
    }
}
