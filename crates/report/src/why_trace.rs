//! An episode as a Perfetto trace: each CPU's threads, interrupts and softirqs, the victim's stages, the samples.

use crate::perfetto::{Lane, Tracks, begin_slice, end_slice, instant};
use punctual_blame::{Running, Slice, Split, replay, split};
use punctual_recording::Episode;
use punctual_recording::episode::{EventKind, VECTORS};
use std::collections::BTreeMap;

/// The trace: what a file for Perfetto holds. Times are those of `CLOCK_MONOTONIC`.
pub fn trace(episodes: &[Episode]) -> Vec<u8> {
    let mut tracks = Tracks::default();
    let mut body = Vec::new();
    let mut first = true;
    for episode in episodes {
        let split = split(episode);
        victim(&mut tracks, &mut body, &mut first, episode, &split);
        for (&cpu, timeline) in &replay(episode) {
            // The first slice reaches back to the beginning of time: what came before the evidence.
            let slices = timeline.slices.get(1..).unwrap_or_default();
            threads(&mut tracks, &mut body, &mut first, episode, cpu, slices);
            nested(&mut tracks, &mut body, &mut first, episode, cpu, slices);
        }
        for sample in &episode.samples {
            let innermost = sample.frames.first().and_then(|&frame| episode.frames.get(frame as usize));
            let name = innermost.map_or("?", |frame| frame.function.as_str());
            let stack: Vec<&str> = sample
                .frames
                .iter()
                .filter_map(|&frame| Some(episode.frames.get(frame as usize)?.function.as_str()))
                .collect();
            let uuid = tracks.of(Some(sample.cpu), Lane::Samples, "samples");
            let category = if sample.at_late_interrupt { "late interrupt" } else { "sample" };
            instant(&mut body, &mut first, sample.at_ns, uuid, category, name, &[("stack", &stack.join(" < "))]);
        }
    }
    let mut out = tracks.describe_all();
    out.extend(body);
    out
}

fn victim(tracks: &mut Tracks, body: &mut Vec<u8>, first: &mut bool, episode: &Episode, split: &Split) {
    let name = format!("late: {} (thread {})", episode.victim.name, episode.victim.tid);
    let uuid = tracks.of(None, Lane::Victim(episode.victim.tid), &name);
    let title = format!("episode {}: {} ns late", episode.id, episode.total_ns());
    begin_slice(body, first, episode.expected_ns, uuid, "late wakeup", &title, 0);
    for piece in &split.pieces {
        let title = format!("{} {}", piece.kind.name(), piece.name);
        begin_slice(body, first, piece.start_ns, uuid, piece.kind.name(), &title, piece.ns);
        end_slice(body, first, piece.start_ns + piece.ns, uuid);
    }
    end_slice(body, first, episode.end_ns, uuid);
}

fn threads(tracks: &mut Tracks, body: &mut Vec<u8>, first: &mut bool, episode: &Episode, cpu: u32, slices: &[Slice]) {
    let mut names: BTreeMap<u32, &str> = BTreeMap::new();
    for event in &episode.events {
        match event.kind {
            EventKind::Switch => names.insert(event.value as u32, episode.name(event.name)),
            EventKind::Waking | EventKind::VectorBegin => names.insert(event.tid, episode.name(event.name)),
            _ => None,
        };
    }
    let uuid = tracks.of(Some(cpu), Lane::Threads, "threads");
    for run in slices.chunk_by(|left, right| left.tid == right.tid) {
        let (Some(begin), Some(end)) = (run.first(), run.last()) else { continue };
        if begin.tid == 0 {
            continue;
        }
        let name = names.get(&begin.tid).map_or_else(|| format!("thread {}", begin.tid), |&name| name.to_owned());
        begin_slice(body, first, begin.start_ns, uuid, "thread", &name, begin.priority.max(0) as u64);
        end_slice(body, first, end.end_ns, uuid);
    }
}

/// Interrupts and softirqs: what is open may hold more inside.
fn nested(tracks: &mut Tracks, body: &mut Vec<u8>, first: &mut bool, episode: &Episode, cpu: u32, slices: &[Slice]) {
    for in_interrupt in [true, false] {
        let (lane, title) = if in_interrupt { (Lane::Interrupts, "interrupts") } else { (Lane::Softirqs, "softirqs") };
        let mut open: Vec<Running> = Vec::new();
        let mut reached = 0;
        for slice in slices {
            let now: Vec<Running> = (slice.open.iter())
                .filter(|running| running.in_interrupt == in_interrupt && running.kind != EventKind::WorkBegin)
                .copied()
                .collect();
            let same = open.iter().zip(&now).take_while(|(left, right)| left == right).count();
            if same == open.len() && same == now.len() {
                reached = slice.end_ns;
                continue;
            }
            let uuid = tracks.of(Some(cpu), lane.clone(), title);
            for _ in same..open.len() {
                end_slice(body, first, slice.start_ns, uuid);
            }
            for running in &now[same..] {
                let name = match running.kind {
                    EventKind::VectorBegin => VECTORS.get(running.value as usize).copied().unwrap_or("vector"),
                    _ => episode.name(running.name),
                };
                begin_slice(body, first, slice.start_ns, uuid, title, name, 0);
            }
            open = now;
            reached = slice.end_ns;
        }
        if !open.is_empty() {
            let uuid = tracks.of(Some(cpu), lane, title);
            for _ in &open {
                end_slice(body, first, reached, uuid);
            }
        }
    }
}
