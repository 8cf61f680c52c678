//! Other people's BPF programs inside interrupts: they have no stamps of their own.

use super::detail::Detail;
use super::piece::Piece;
use super::replay::CpuTimeline;
use crate::kind::Kind;
use punctual_recording::Episode;
use punctual_recording::episode::EventKind;
use std::collections::BTreeMap;

/// Stretches of an interrupt shorter than this are not looked at for a program inside.
const PROGRAM_NS: u64 = 50_000;
/// Of a stretch that is a program's, the program ran this much, in percent; the rest is what stands around it.
const PROGRAM_PERCENT: u64 = 80;

/// BPF programs on tracepoints inside interrupts have no stamps of their own. Where one's measured run time covers a
/// long stretch of an interrupt, or only one was there, the stretch is its.
pub(super) fn name_by_programs(episode: &Episode, timelines: &BTreeMap<u32, CpuTimeline>, pieces: &mut [Piece]) {
    for piece in pieces.iter_mut() {
        if piece.ns < PROGRAM_NS || !matches!(piece.kind, Kind::Irq | Kind::Softirq | Kind::KernelWake) {
            continue;
        }
        let Some(slices) =
            timelines.get(&piece.cpu).map(|timeline| timeline.within(piece.start_ns, piece.start_ns.saturating_add(1)))
        else {
            continue;
        };
        let Some(slice) = slices.first() else { continue };
        let (Some((inner, _)), true) = (slice.interrupt().or(slice.softirq()), !slice.open.is_empty()) else {
            continue;
        };
        // A callback in a softirq has its own name.
        if slice.interrupt().is_none() && inner.kind != EventKind::SoftirqBegin {
            continue;
        }
        // The tracepoint is one that begins or ends this stretch, or what ran inside calls the program itself.
        let begins = hook_of(inner.kind);
        let ends = hook_of(episode.events[slice.ends_with].kind);
        let fits = |hook: &str| begins == Some(hook) || ends == Some(hook);
        let mut candidates: Vec<_> = episode.programs.iter().filter(|program| fits(&program.hook)).collect();
        // Others that came or went meanwhile, and so were not measured, are no reason to doubt one that was.
        let alone = candidates.len() == 1 && candidates[0].ran_ns.is_none();
        if !alone {
            candidates.retain(|program| program.ran_ns.is_some_and(|ran| ran >= piece.ns / 100 * PROGRAM_PERCENT));
            candidates.sort_by_key(|program| piece.ns.abs_diff(program.ran_ns.unwrap_or(0)));
        }
        if let Some(program) = candidates.first() {
            piece.detail = Some(Detail::Seen(format!("BPF program at {}, in {}", program.hook, piece.who)));
            piece.who = program.name.as_str().into();
            piece.thread = None;
            if piece.kind == Kind::KernelWake {
                piece.kind = if slice.interrupt().is_some() { Kind::Irq } else { Kind::Softirq };
            }
        }
    }
}

fn hook_of(kind: EventKind) -> Option<&'static str> {
    Some(match kind {
        EventKind::TimerBegin => "hrtimer_expire_entry",
        EventKind::TimerEnd => "hrtimer_expire_exit",
        EventKind::HandlerBegin => "irq_handler_entry",
        EventKind::HandlerEnd => "irq_handler_exit",
        EventKind::SoftirqBegin => "softirq_entry",
        EventKind::SoftirqEnd => "softirq_exit",
        EventKind::CallbackBegin => "timer_expire_entry",
        EventKind::CallbackEnd => "timer_expire_exit",
        EventKind::Waking => "sched_waking",
        EventKind::VectorBegin => "local_timer_entry",
        EventKind::VectorEnd => "local_timer_exit",
        _ => return None,
    })
}
