//! What the evidence of a recording says for a comparison: when slow requests ended, and who made what was late so.

use punctual_blame::{Kind, Split, split, summarize};
use punctual_comparison::{CauseName, CauseTimes, InTime, RunCauses, measured_ns, slow_request_ns};
use punctual_recording::{Document, Episode, RecorderSummary, look_into_episodes};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// No more threads than this read episodes.
const MAX_THREADS: usize = 4;

/// When slow requests ended, and the causes, as far as there is evidence that can be read: how many requests were slow is counted
/// without it.
pub(super) fn read(path: &Path, document: &Document) -> (Option<InTime>, Option<RunCauses>) {
    let Some(recorder) = &document.recorder else { return (None, None) };
    let mut found =
        slow_request_ns(document).map(|_| InTime::new(document.provenance.started_ns, measured_ns(document)));
    let mut whole: Vec<(u64, Split)> = Vec::new();
    let mut void = 0;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let are_read = look_into_episodes(
        path,
        threads,
        |episode| look(&episode),
        |(end_ns, split)| {
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
        return (None, None);
    }
    (found, Some(causes(recorder, &whole, void)))
}

/// When an episode ended, and the sums of its parts; no parts if it is void.
fn look(episode: &Episode) -> (u64, Option<Split>) {
    // The pieces of many episodes would take much room, and only their sums are needed.
    let parts = || Split { pieces: Vec::new(), ..split(episode) };
    (episode.end_ns, episode.void.is_none().then(parts))
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
    use punctual_recording::episode::{Event, EventKind, Victim};

    /// For 400 us another thread of the late one's name had the CPU: this one.
    fn episode(other: u32) -> Episode {
        let event = |after_ns: u64, kind, tid, value| Event {
            at_ns: 1_000_000 + after_ns,
            cpu: 0,
            kind,
            tid,
            priority: 19,
            context: 0,
            steal_ns: 0,
            value,
            extra: 20,
            name: 1,
        };
        let victim = Victim { tid: 7, name: "worker".into(), priority: 19, cpu: 0 };
        Episode {
            names: vec!["?".into(), "worker".into()],
            events: vec![event(5_000, EventKind::Waking, other, 7), event(399_000, EventKind::Switch, other, 7)],
            ..Episode::of(victim, 1_000_000, 1_400_000)
        }
    }

    #[test]
    fn causes_that_only_a_number_tells_apart_are_one_and_void_episodes_have_none() {
        let whole = [8, 9].map(|other| {
            let (end_ns, split) = look(&episode(other));
            (end_ns, split.unwrap())
        });
        let recorder = RecorderSummary { late: 2, kept: 2, ..RecorderSummary::default() };
        let found = causes(&recorder, &whole, 1);
        // The episodes are more than were counted last.
        assert_eq!((found.late, found.whole), (3, 2));
        let total_ns: u64 = found.by.values().map(|times| times.total_ns).sum();
        assert_eq!(total_ns, 800_000, "{found:?}");
        let (name, largest) = found.by.iter().max_by_key(|(_, times)| times.total_ns).unwrap();
        assert!(!name.who.contains("thread"), "{found:?}");
        assert_eq!(largest.ended_ns, [1_400_000; 2], "{found:?}");
        assert_eq!(look(&Episode { void: Some("overwritten".into()), ..episode(8) }).1, None);
    }
}
