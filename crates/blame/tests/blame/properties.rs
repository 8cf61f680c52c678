//! Whatever the events, the parts are disjoint and add up to the total.

use crate::support::sums::adds_up;
use proptest::prelude::*;
use punctual_blame::{Detail, Kind, chain, is_nesting_known, replay, split};
use punctual_recording::episode::{Event, EventKind, Group, HookedProgram, StackSample, Victim};
use punctual_recording::{Episode, Stage};

const STAGES: &[Stage] = &[Stage::Total, Stage::Response, Stage::Request, Stage::Request];

fn event() -> impl Strategy<Value = Event> {
    let context = prop_oneof![Just(0u32), Just(1 << 16), Just(1 << 8), Just((1 << 16) | (1 << 8))];
    (
        0..10_000u64,
        0..2u32,
        prop::sample::select(EventKind::ALL.map(EventKind::code).to_vec()),
        0..4u32,
        -1..140i16,
        context,
        0..8_000u64,
        0..5u64,
        any::<u64>(),
    )
        .prop_map(|(at_ns, cpu, kind, tid, priority, context, steal_ns, value, extra)| Event {
            at_ns,
            cpu,
            kind: EventKind::from_code(kind).unwrap(),
            tid,
            priority,
            context,
            steal_ns,
            value,
            // Often between CPUs that are there, and often a plain state.
            extra: if extra % 2 == 0 { ((extra % 3) << 32) | ((extra >> 8) % 2) } else { extra },
            name: (extra % 5) as u32,
        })
}

fn episode() -> impl Strategy<Value = Episode> {
    let sample = (0..10_000u64, 0..2u32, 0..4u32, any::<bool>(), prop::collection::vec(0..3u32, 0..3));
    (
        prop::collection::vec(event(), 0..60),
        prop::collection::vec(sample, 0..5),
        (0..9_000u64, 0..4_000u64, 0..4u32, -1..140i16, 0..2u32),
        (0..500u64, 0..2_000u64, prop::option::of(0..5_000u64), prop::sample::select(STAGES)),
    )
        .prop_map(|(events, samples, (expected_ns, total, tid, priority, cpu), (usual, period, ran_ns, stage))| {
            let victim = Victim { tid, name: "victim".into(), priority, cpu };
            Episode {
                stage,
                threshold_ns: 1,
                usual_delivery_ns: usual,
                fault_path_ns: usual / 2,
                sample_period_ns: period,
                names: vec!["a".into(), "b".into(), "migration/0".into()],
                events,
                samples: samples
                    .into_iter()
                    .map(|(at_ns, cpu, tid, at_late_interrupt, frames)| StackSample {
                        at_ns,
                        cpu,
                        tid,
                        context: 0,
                        at_late_interrupt,
                        name: 0,
                        frames,
                    })
                    .collect(),
                programs: vec![HookedProgram { name: "p".into(), hook: "hrtimer_expire_entry".into(), ran_ns }],
                groups: vec![Group { path: "/a".into(), weights: vec![1_024], real_time_us: None }],
                members: vec![(1, 0), (2, 0), (3, 7)],
                ..Episode::of(victim, expected_ns, expected_ns + total)
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn parts_are_disjoint_and_add_up(mut episode in episode(), in_order in any::<bool>()) {
        if in_order {
            episode.events.sort_by_key(|event| event.at_ns);
        }
        adds_up(&episode)?;
        chain(&episode);
    }

    /// A file may say anything: the times of the end of the world, and periods as long as that.
    #[test]
    fn no_figure_is_too_large(mut episode in episode(), period in any::<u64>(), path in any::<u64>()) {
        let shift = u64::MAX - 20_000;
        episode.expected_ns += shift;
        episode.end_ns += shift;
        for event in &mut episode.events {
            event.at_ns += shift;
        }
        for sample in &mut episode.samples {
            sample.at_ns += shift;
        }
        episode.sample_period_ns = period;
        (episode.fault_path_ns, episode.usual_delivery_ns) = (path, path);
        let split = split(&episode);
        prop_assert_eq!(split.parts.iter().map(|part| part.ns).sum::<u64>(), episode.total_ns());
        episode.expected_ns = u64::MAX;
        episode.end_ns = u64::MAX;
        punctual_blame::split(&episode);
        chain(&episode);
    }

    /// Where the host's counter grew as fast as time went by, all of it is the host's.
    #[test]
    fn nobody_is_accused_of_what_the_host_took(mut episode in episode(), first in event()) {
        // Only between two readings of the counter can anything be said.
        episode.events.extend([0, 1].map(|cpu| Event { at_ns: 0, cpu, ..first }));
        episode.events.sort_by_key(|event| event.at_ns);
        for event in &mut episode.events {
            event.steal_ns = event.at_ns + 1;
        }
        for part in split(&episode).parts {
            // A group that is out of quota waits for it, whatever the host does.
            let quota = part.kind == Kind::Throttled && matches!(&part.detail, Some(Detail::Seen(detail)) if detail.contains("quota"));
            let waits = part.kind.is_off_cpu() && part.kind != Kind::Throttled;
            let is_innocent = waits || matches!(part.kind, Kind::Steal | Kind::KernelWake | Kind::Own);
            prop_assert!(is_innocent || quota, "{:?}", part);
        }
    }

    #[test]
    fn an_episode_without_events_is_unknown(total in 1..1_000_000u64) {
        let mut episode = Episode::of(Victim { tid: 1, name: "v".into(), priority: 1, cpu: 0 }, 5, 5 + total);
        let parts = split(&episode).parts;
        prop_assert_eq!(parts.len(), 1);
        prop_assert_eq!((parts[0].kind, parts[0].ns), (Kind::Unknown, total));
        episode.victim.tid = 0;
        split(&episode);
    }

    /// Counts that say nothing close nothing: whoever was in an interrupt is in it until it ends.
    #[test]
    fn an_unknown_count_closes_no_open_interrupt(
        mut episode in episode(),
        reads_as_zero in any::<bool>(),
        (from_ns, length_ns) in (0..8_000u64, 2..2_000u64),
        within in prop::collection::vec((1..2_000u64, prop::sample::select(NEITHER_BEGIN_NOR_END)), 0..8),
    ) {
        // What stands between the two says neither that an interrupt begins nor that one ends.
        let first = Event {
            at_ns: from_ns, cpu: 0, kind: EventKind::VectorBegin, tid: 1, priority: 120, context: 0, steal_ns: 0, value: 1,
            extra: 0, name: 0,
        };
        let end_ns = from_ns + length_ns;
        episode.events.retain(|event| event.cpu != 0);
        episode.events.push(first);
        for (after, kind) in within {
            episode.events.push(Event { at_ns: from_ns + 1 + after % (length_ns - 1), kind, ..first });
        }
        episode.events.push(Event { at_ns: end_ns, kind: EventKind::VectorEnd, ..first });
        episode.events.sort_by_key(|event| (event.at_ns, event.kind == EventKind::VectorEnd));
        for event in &mut episode.events {
            event.context = 0;
        }
        // Either the recording says that it does not know, or it believed a count that was none.
        episode.nesting_known = reads_as_zero;
        prop_assert!(!is_nesting_known(&episode));
        let timelines = replay(&episode);
        let inside = timelines[&0].within(from_ns, end_ns);
        prop_assert!(!inside.is_empty());
        for slice in inside.iter().filter(|slice| slice.start_ns >= from_ns && slice.end_ns <= end_ns) {
            prop_assert!(slice.interrupt().is_some(), "closed in {slice:?}");
        }
    }
}

const NEITHER_BEGIN_NOR_END: &[EventKind] = &[
    EventKind::Waking,
    EventKind::TimerBegin,
    EventKind::TimerEnd,
    EventKind::FaultKernel,
    EventKind::LockBegin,
    EventKind::LockEnd,
    EventKind::Migrate,
];
