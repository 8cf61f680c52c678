//! A simulated timeline as a Perfetto trace. Times are nanoseconds of the simulated machine's clock.

use crate::encode::perfetto::{
    ANNOTATION_NAME, ANNOTATION_UNSIGNED, EVENT_ANNOTATION, Lane, Packets, SLICE_BEGIN, bytes, describe, message,
    named, whole,
};
use punctual_sim::observe::Level;
use punctual_sim::recorded::{Timeline, TimelineSlice};
use punctual_sim::time::NANOSECOND;
use std::collections::BTreeMap;

fn lane(shown: &TimelineSlice) -> Option<Lane> {
    match shown.slice.level {
        Level::Irq => Some(Lane::Interrupts),
        Level::Dpc => Some(Lane::Deferred),
        Level::Thread => Some(Lane::Thread(shown.slice.index)),
        Level::Idle => None,
    }
}

/// The trace: the content of a file for Perfetto.
pub fn trace(timeline: &Timeline) -> Vec<u8> {
    let mut tracks: BTreeMap<(u32, Lane), (u64, &str)> = BTreeMap::new();
    for shown in &timeline.slices {
        let Some(lane) = lane(shown) else { continue };
        let name = match lane {
            Lane::Interrupts => "interrupts",
            Lane::Deferred => "deferred procedures",
            _ => &shown.name,
        };
        tracks.entry((shown.slice.cpu, lane)).or_insert((0, name));
    }
    let mut out = Packets::default();
    let mut last_cpu = None;
    for (rank, ((cpu, _), (uuid, name))) in tracks.iter_mut().enumerate() {
        let parent = (u64::from(*cpu) + 1) << 32;
        if last_cpu != Some(*cpu) {
            describe(&mut out.bytes, parent, &format!("CPU {cpu}"), None, u64::from(*cpu));
            last_cpu = Some(*cpu);
        }
        *uuid = parent + 1 + rank as u64;
        describe(&mut out.bytes, *uuid, name, Some(parent), rank as u64);
    }
    // Begin and end are written together: readers keep the order of equal times, and slices of a track never overlap.
    for shown in &timeline.slices {
        let Some(lane) = lane(shown) else { continue };
        let uuid = tracks[&(shown.slice.cpu, lane.clone())].0;
        let (category, rank) = match lane {
            Lane::Interrupts => ("interrupt", "interrupt level"),
            Lane::Deferred => ("deferred procedure", "interrupt level"),
            _ => ("thread", "priority"),
        };
        out.event(shown.slice.start / NANOSECOND, |event| {
            message(event, EVENT_ANNOTATION, |annotation| {
                whole(annotation, ANNOTATION_UNSIGNED, u64::from(shown.slice.rank));
                bytes(annotation, ANNOTATION_NAME, rank.as_bytes());
            });
            named(event, SLICE_BEGIN, uuid, category, &shown.name);
        });
        out.end_slice(shown.slice.end / NANOSECOND, uuid);
    }
    out.bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::perfetto::tests::{Field, fields, number, part};
    use punctual_sim::ledger::builtin;
    use punctual_sim::time::{MILLISECOND, SECOND};

    #[test]
    fn a_trace_reads_back_as_the_slices_it_was_made_from() {
        let experiment = builtin("soft-modem-dialup").unwrap().unwrap();
        let timeline = experiment.timeline(Some("THR 24"), 24 * SECOND, 24 * SECOND + 50 * MILLISECOND).unwrap();
        let data = trace(&timeline);
        let mut tracks = BTreeMap::new();
        let mut begun: BTreeMap<u64, (u64, String)> = BTreeMap::new();
        let mut slices = Vec::new();
        let whole = fields(&data);
        assert_eq!(whole.keys().copied().collect::<Vec<_>>(), [1]);
        for packet in &whole[&1] {
            let Field::Bytes(packet) = packet else { panic!("a packet is a message") };
            let packet = fields(packet);
            if let Some(track) = part(&packet, 60) {
                let track = fields(track);
                let name = String::from_utf8(part(&track, 2).unwrap().to_vec()).unwrap();
                assert!(tracks.insert(number(&track, 1).unwrap(), (name, number(&track, 5))).is_none());
                continue;
            }
            let time = number(&packet, 8).unwrap();
            let event = fields(part(&packet, 11).unwrap());
            let track = number(&event, 11).unwrap();
            assert!(tracks.contains_key(&track), "a track that was never described");
            match number(&event, 9) {
                Some(1) => {
                    let name = String::from_utf8(part(&event, 23).unwrap().to_vec()).unwrap();
                    assert!(begun.insert(track, (time, name)).is_none(), "two slices at once on one track");
                }
                Some(2) => {
                    let (start, name) = begun.remove(&track).expect("an end has its begin");
                    slices.push((start, time, name));
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(begun.is_empty());
        let expected: Vec<(u64, u64, String)> = timeline
            .slices
            .iter()
            .filter(|shown| shown.slice.level != Level::Idle)
            .map(|shown| (shown.slice.start / NANOSECOND, shown.slice.end / NANOSECOND, shown.name.clone()))
            .collect();
        assert_eq!(slices, expected);
        let names: Vec<&str> = tracks.values().map(|track| track.0.as_str()).collect();
        for name in ["CPU 0", "interrupts", "deferred procedures", "modem", "spin"] {
            assert_eq!(names.iter().filter(|known| **known == name).count(), 1, "{name} in {names:?}");
        }
        assert!(tracks.values().all(|(_, parent)| parent.is_none_or(|parent| tracks.contains_key(&parent))));
    }
}
