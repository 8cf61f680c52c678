//! Attributes a gap to what ran inside it. Pure: intervals in, parts out.

use punctual_recording::{CauseKind, Ran, TraceEntry};

/// A part of a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GapPart {
    /// What kind of thing ran.
    pub kind: CauseKind,
    /// Its name.
    pub name: String,
    /// For how long, less what ran inside it, ns.
    pub ns: u64,
}

/// The name of what is around and between the traced intervals of a gap.
pub const AROUND: &str = "entry, exit, switching";
/// Entering or leaving the kernel and switching take no longer than this at a stretch, ns; tens of us have been seen in
/// virtual machines. If nothing was traced for longer, the processor was elsewhere.
pub const MAX_AROUND_NS: u64 = 100_000;
/// The name of gaps with nothing traced inside.
pub const OUTSIDE: &str = "outside this kernel";

fn kind_and_name(ran: &Ran) -> (CauseKind, &str) {
    match ran {
        Ran::Interrupt(name) => (CauseKind::Irq, name),
        Ran::Softirq(name) => (CauseKind::Softirq, name),
        Ran::Thread(name) => (CauseKind::Thread, name),
    }
}

/// Splits the gap from `start_ns` to `end_ns` into parts that are disjoint and add up to it exactly.
///
/// Where intervals overlap, time belongs to the innermost: interrupts before softirqs before threads. What no interval
/// covers is [`CauseKind::Unknown`], or, for longer than [`MAX_AROUND_NS`] at a stretch, [`CauseKind::Outside`];
/// a gap that no interval touches is [`CauseKind::Outside`] as a whole.
pub fn attribute(start_ns: u64, end_ns: u64, entries: &[TraceEntry]) -> Vec<GapPart> {
    let end_ns = end_ns.max(start_ns);
    let clipped = |entry: &TraceEntry| (entry.start_ns.clamp(start_ns, end_ns), entry.end_ns.clamp(start_ns, end_ns));
    let inside: Vec<(u64, u64, CauseKind, &str)> = entries
        .iter()
        .filter_map(|entry| {
            let (from, to) = clipped(entry);
            let (kind, name) = kind_and_name(&entry.ran);
            (to > from).then_some((from, to, kind, name))
        })
        .collect();
    if inside.is_empty() {
        return if end_ns > start_ns {
            vec![GapPart { kind: CauseKind::Outside, name: OUTSIDE.to_owned(), ns: end_ns - start_ns }]
        } else {
            Vec::new()
        };
    }
    // A sweep over all ends: the list of what is open stays as short as intervals are nested.
    let mut edges: Vec<(u64, bool, usize)> = Vec::with_capacity(inside.len() * 2);
    for (index, &(from, to, ..)) in inside.iter().enumerate() {
        edges.push((from, true, index));
        edges.push((to, false, index));
    }
    edges.sort_unstable();
    let mut parts: Vec<GapPart> = Vec::new();
    let mut give = |kind: CauseKind, name: &str, ns: u64| {
        if ns > 0 {
            match parts.iter_mut().find(|part| part.kind == kind && part.name == name) {
                Some(part) => part.ns += ns,
                None => parts.push(GapPart { kind, name: name.to_owned(), ns }),
            }
        }
    };
    let uncovered = |ns: u64| {
        if ns > MAX_AROUND_NS { (CauseKind::Outside, OUTSIDE) } else { (CauseKind::Unknown, AROUND) }
    };
    let mut open: Vec<usize> = Vec::new();
    let mut at = start_ns;
    for (time, begins, index) in edges {
        // Of equals, the one that began last.
        let innermost = open.iter().min_by_key(|&&index| (inside[index].2, std::cmp::Reverse(inside[index].0)));
        match innermost {
            Some(&index) => give(inside[index].2, inside[index].3, time - at),
            None => {
                let (kind, name) = uncovered(time - at);
                give(kind, name, time - at);
            }
        }
        at = time;
        if begins {
            open.push(index);
        } else {
            open.retain(|&other| other != index);
        }
    }
    let (kind, name) = uncovered(end_ns - at);
    give(kind, name, end_ns - at);
    parts
}

/// Takes the loop's own time out of the parts of a stretch in which it also computed: out of what nothing else had.
///
/// If something was traced, the rest of that is called [`AROUND`] up to [`MAX_AROUND_NS`]: by now nothing tells in what
/// stretches it came.
pub fn without_own(mut parts: Vec<GapPart>, own_ns: u64) -> Vec<GapPart> {
    if own_ns == 0 {
        return parts;
    }
    let mut left = own_ns;
    // The kernel's own work is the last to be shortened: it was seen.
    parts.sort_by_key(|part| match part.kind {
        CauseKind::Unknown => 0,
        CauseKind::Outside => 1,
        _ => 2,
    });
    for part in &mut parts {
        let own = left.min(part.ns);
        part.ns -= own;
        left -= own;
    }
    let traced = parts.iter().any(|part| part.kind < CauseKind::Outside);
    for part in parts.iter_mut().filter(|part| traced && part.kind == CauseKind::Outside) {
        if part.ns <= MAX_AROUND_NS {
            (part.kind, part.name) = (CauseKind::Unknown, AROUND.to_owned());
        }
    }
    parts.retain(|part| part.ns > 0);
    let mut joined: Vec<GapPart> = Vec::with_capacity(parts.len());
    for part in parts {
        match joined.iter_mut().find(|other| other.kind == part.kind && other.name == part.name) {
            Some(other) => other.ns += part.ns,
            None => joined.push(part),
        }
    }
    joined
}

/// The period at which something recurs, if it does: (period in ns, thousandths of the intervals that fit it).
///
/// The period is the commonest interval; an interval fits if it is that, or up to four times that (the gaps between
/// were below the threshold, or fell together with others), to a tenth of the period. At least 20 intervals are
/// required and three of four must fit, so that a random stream is not called periodic: of exponential intervals about
/// a third would fit.
pub fn period(times_ns: &[u64]) -> Option<(u64, u64)> {
    let mut intervals: Vec<u64> = times_ns.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    intervals.retain(|&interval| interval > 0);
    if intervals.len() < 20 {
        return None;
    }
    intervals.sort_unstable();
    // The densest window of a tenth's width.
    let (mut first, mut best) = (0, (0, 0));
    for last in 0..intervals.len() {
        while intervals[last] - intervals[first] > intervals[last] / 10 {
            first += 1;
        }
        if last + 1 - first > best.0 {
            best = (last + 1 - first, first);
        }
    }
    let period = intervals[best.1 + best.0 / 2];
    let fits = |interval: u64| {
        let multiple = (interval + period / 2) / period;
        (1..=4).contains(&multiple) && interval.abs_diff(multiple * period) <= period / 10
    };
    let fitting = intervals.iter().filter(|&&interval| fits(interval)).count();
    let share = fitting as u64 * 1_000 / intervals.len() as u64;
    (share >= 750).then_some((period, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(start_ns: u64, end_ns: u64, ran: Ran) -> TraceEntry {
        TraceEntry { start_ns, end_ns, steal_ns: None, stolen_ns: 0, ran }
    }

    fn ran(kind: u64, name: u64) -> Ran {
        let name = format!("n{name}");
        match kind % 3 {
            0 => Ran::Interrupt(name),
            1 => Ran::Softirq(name),
            _ => Ran::Thread(name),
        }
    }

    /// Numbers that look random and are the same every time (a linear congruential generator).
    fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    #[test]
    fn parts_of_any_intervals_add_up_to_the_gap_and_are_named_once() {
        for seed in 0..2_000 {
            let mut number = numbers(seed);
            let (start, length) = (number(1_000), number(1_000));
            let count = number(12);
            let entries: Vec<TraceEntry> = (0..count)
                .map(|_| {
                    let from = number(2_500);
                    entry(from, from.saturating_add(number(600)).saturating_sub(number(100)), ran(number(3), number(4)))
                })
                .collect();
            let parts = attribute(start, start + length, &entries);
            assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), length, "seed {seed}");
            assert!(parts.iter().all(|part| part.ns > 0));
            for (index, part) in parts.iter().enumerate() {
                assert!(!parts[..index].iter().any(|other| (other.kind, &other.name) == (part.kind, &part.name)));
            }
            let touched = entries
                .iter()
                .any(|entry| entry.end_ns.clamp(start, start + length) > entry.start_ns.clamp(start, start + length));
            assert_eq!(parts.iter().any(|part| part.kind == CauseKind::Outside), !touched && length > 0);
            // No cause gets more than its own intervals.
            for part in parts.iter().filter(|part| part.kind < CauseKind::Outside) {
                let own = entries.iter().filter(|entry| kind_and_name(&entry.ran) == (part.kind, &part.name));
                let most: u64 = own.map(|entry| entry.end_ns.saturating_sub(entry.start_ns)).sum();
                assert!(part.ns <= most);
            }
        }
    }

    #[test]
    fn time_belongs_to_the_innermost() {
        let entries = [
            entry(110, 120, Ran::Interrupt("local_timer".to_owned())),
            entry(105, 150, Ran::Softirq("timer".to_owned())),
            entry(102, 190, Ran::Thread("burst".to_owned())),
        ];
        let parts = attribute(100, 200, &entries);
        let ns = |kind| parts.iter().find(|part| part.kind == kind).map(|part| part.ns);
        assert_eq!(ns(CauseKind::Irq), Some(10));
        assert_eq!(ns(CauseKind::Softirq), Some(35));
        assert_eq!(ns(CauseKind::Thread), Some(43));
        assert_eq!(ns(CauseKind::Unknown), Some(12));
    }

    #[test]
    fn a_long_stretch_with_nothing_traced_is_outside() {
        let entries = [entry(50_000, 60_000, Ran::Interrupt("local_timer".to_owned()))];
        let parts = attribute(0, 1_000_000, &entries);
        let ns = |kind| parts.iter().find(|part| part.kind == kind).map(|part| part.ns);
        assert_eq!(ns(CauseKind::Unknown), Some(50_000));
        assert_eq!(ns(CauseKind::Outside), Some(940_000));
    }

    #[test]
    fn a_computing_loops_own_time_is_not_put_down_to_anything() {
        let entries = [entry(500_000, 508_000, Ran::Interrupt("local_timer".to_owned()))];
        let parts = without_own(attribute(0, 1_020_000, &entries), 1_000_000);
        assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), 20_000);
        let ns = |kind| parts.iter().find(|part| part.kind == kind).map(|part| part.ns);
        assert_eq!((ns(CauseKind::Irq), ns(CauseKind::Unknown)), (Some(8_000), Some(12_000)));
        let parts = without_own(attribute(0, 1_960_000, &[]), 1_000_000);
        assert_eq!(parts, [GapPart { kind: CauseKind::Outside, name: OUTSIDE.to_owned(), ns: 960_000 }]);
        for seed in 0..500 {
            let mut number = numbers(seed);
            let length = 1 + number(3_000_000);
            let own = number(length + 1);
            let entries: Vec<TraceEntry> = (0..number(5))
                .map(|_| {
                    let from = number(length);
                    entry(from, from + number(400_000), ran(number(3), number(4)))
                })
                .collect();
            let parts = without_own(attribute(0, length, &entries), own);
            assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), length - own, "seed {seed}");
            for (index, part) in parts.iter().enumerate() {
                assert!(part.ns > 0);
                assert!(!parts[..index].iter().any(|other| (other.kind, &other.name) == (part.kind, &part.name)));
            }
        }
    }

    #[test]
    fn a_tick_is_periodic_even_if_some_are_missed_and_chance_is_not() {
        let mut number = numbers(7);
        let mut at = 0;
        let ticks: Vec<u64> = (0..500)
            .map(|_| {
                at += 4_000_000 * if number(5) == 0 { 2 } else { 1 };
                at + number(100_000)
            })
            .collect();
        let (period_ns, share) = period(&ticks).unwrap();
        assert!(period_ns.abs_diff(4_000_000) < 200_000 && share > 900, "{period_ns} {share}");
        for seed in 0..50 {
            let mut number = numbers(seed);
            let mut at = 0.0;
            let chance: Vec<u64> = (0..400)
                .map(|_| {
                    at -= (1.0 - number(1 << 24) as f64 / f64::from(1 << 24)).ln() * 4e6;
                    at as u64
                })
                .collect();
            assert_eq!(period(&chance), None, "seed {seed}");
        }
        assert_eq!(period(&ticks[..10]), None);
    }
    fn part(kind: CauseKind, name: &str, ns: u64) -> GapPart {
        GapPart { kind, name: name.to_owned(), ns }
    }

    #[test]
    fn as_long_as_the_kernel_may_take_is_around_and_a_moment_more_is_outside() {
        let after = |ns: u64| attribute(0, ns + 10, &[entry(ns, ns + 10, Ran::Interrupt("local_timer".to_owned()))]);
        let timer = part(CauseKind::Irq, "local_timer", 10);
        assert_eq!(after(0), std::slice::from_ref(&timer));
        assert_eq!(after(MAX_AROUND_NS), [part(CauseKind::Unknown, AROUND, MAX_AROUND_NS), timer.clone()]);
        assert_eq!(after(MAX_AROUND_NS + 1), [part(CauseKind::Outside, OUTSIDE, MAX_AROUND_NS + 1), timer]);
        // Each stretch by itself, wherever in the gap it is.
        let ran = |at_ns: u64| entry(at_ns, at_ns + 10, Ran::Interrupt("local_timer".to_owned()));
        let between = attribute(0, 180_020, &[ran(60_000), ran(120_010)]);
        assert_eq!(between, [part(CauseKind::Unknown, AROUND, 180_000), part(CauseKind::Irq, "local_timer", 20)]);
    }

    #[test]
    fn own_time_is_taken_first_out_of_what_nothing_was_seen_to_have() {
        let (first, second) = (part(CauseKind::Irq, "a", 10), part(CauseKind::Irq, "b", 20));
        let parts = || {
            let outside = part(CauseKind::Outside, OUTSIDE, 300_000);
            vec![first.clone(), second.clone(), outside, part(CauseKind::Unknown, AROUND, 50)]
        };
        let around = |ns| part(CauseKind::Unknown, AROUND, ns);
        let outside = |ns| part(CauseKind::Outside, OUTSIDE, ns);
        assert_eq!(without_own(parts(), 0), parts());
        assert_eq!(without_own(parts(), 40), [around(10), outside(300_000), first.clone(), second.clone()]);
        assert_eq!(without_own(parts(), 200_049), [outside(100_001), first.clone(), second.clone()]);
        assert_eq!(without_own(parts(), 200_050), [around(100_000), first.clone(), second.clone()]);
        assert_eq!(without_own(parts(), 300_060), std::slice::from_ref(&second));
        // Whatever is too short to be outside is joined with what is around.
        let short = vec![second.clone(), outside(60_000), around(50)];
        assert_eq!(without_own(short, 10), [around(60_040), second]);
        // If nothing was traced, nothing says that it was the kernel.
        assert_eq!(without_own(vec![outside(50_000)], 10_000), [outside(40_000)]);
    }

    #[test]
    fn a_period_is_held_to_its_limits() {
        let found = |intervals: &[(u64, usize)]| {
            let mut at = 1;
            let each = intervals.iter().flat_map(|&(interval, count)| std::iter::repeat_n(interval, count));
            let times: Vec<u64> = std::iter::once(at)
                .chain(each.map(|interval| {
                    at += interval;
                    at
                }))
                .collect();
            period(&times)
        };
        // Twenty intervals; those without length do not count.
        assert_eq!(found(&[(1_000, 20)]), Some((1_000, 1_000)));
        assert_eq!(found(&[(1_000, 19)]), None);
        assert_eq!(found(&[(1_000, 20), (0, 5)]), Some((1_000, 1_000)));
        assert_eq!(found(&[(1_000, 19), (0, 5)]), None);
        // Three of four.
        assert_eq!(found(&[(1_000, 15), (7_777, 5)]), Some((1_000, 750)));
        assert_eq!(found(&[(1_000, 14), (7_777, 6)]), None);
        // Up to four times, to a tenth.
        let share = |interval| found(&[(1_000, 16), (interval, 4)]).unwrap();
        for (interval, expected) in [(4_000, 1_000), (5_000, 800), (1_101, 800), (1_100, 1_000), (400, 800)] {
            assert_eq!(share(interval), (1_000, expected), "{interval}");
        }
        for (interval, expected) in [(3_900, 1_000), (3_899, 800), (4_100, 1_000), (4_101, 800)] {
            assert_eq!(share(interval), (1_000, expected), "{interval}");
        }
        // The densest stretch, in its middle; of two equally dense ones, the shorter.
        let wandering: Vec<(u64, usize)> = (1_000..1_020).map(|interval| (interval, 1)).collect();
        assert_eq!(found(&wandering), Some((1_010, 1_000)));
        let behind: Vec<(u64, usize)> = std::iter::once((100, 5)).chain(wandering).collect();
        assert_eq!(found(&behind), Some((1_010, 800)));
        assert_eq!(found(&[(1_000, 10), (4_000, 11)]), None);
        assert_eq!(found(&[(1_000, 10), (4_000, 10)]), Some((1_000, 1_000)));
        assert_eq!(found(&[(1_000, 8), (2_000, 6), (3_000, 6)]), Some((1_000, 1_000)));
        assert_eq!(found(&[(900, 10), (1_000, 10)]), Some((1_000, 1_000)));
    }
}
