//! Where the time of a keystroke goes that an idle loop sees and the program that handles it does not. Pure.

use punctual_blame::gap::{MAX_AROUND_NS, attribute};
use punctual_probe::idle::echo::PROGRAM_NAME;
use punctual_recording::{CauseKind, Keystroke, KeystrokeParts, SeenKeystroke, TraceEntry};

/// Splits the gap from `start_ns` to `end_ns` in which a keystroke was handled; `None` if the gap does not hold it.
/// `inside` is everything that ran there; `None` if that is not known.
pub fn split(
    keystroke: &Keystroke,
    start_ns: u64,
    end_ns: u64,
    inside: Option<&[TraceEntry]>,
) -> Option<SeenKeystroke> {
    let (read_ns, echoed_ns) = (keystroke.read_ns, keystroke.echoed_ns);
    if read_ns < start_ns || echoed_ns > end_ns || echoed_ns < read_ns {
        return None;
    }
    let parts = inside.map(|inside| {
        let mut parts = KeystrokeParts::default();
        for (from, to, after) in [(start_ns, read_ns, false), (echoed_ns, end_ns, true)] {
            for part in attribute(from, to, inside) {
                let belongs = part.name == PROGRAM_NAME || part.name.starts_with("kworker/");
                let sum = match part.kind {
                    CauseKind::Irq | CauseKind::Softirq => &mut parts.interrupt_ns,
                    CauseKind::Thread if belongs && after => &mut parts.echo_ns,
                    CauseKind::Thread if belongs => &mut parts.wake_ns,
                    CauseKind::Thread => &mut parts.others_ns,
                    // A short stretch that no interval touches is the way into or out of the kernel.
                    CauseKind::Outside if part.ns > MAX_AROUND_NS => &mut parts.outside_ns,
                    _ => &mut parts.reschedule_ns,
                };
                *sum += part.ns;
            }
        }
        parts
    });
    let is_program =
        |entry: &&TraceEntry| matches!(&entry.ran, punctual_recording::Ran::Thread(name) if name == PROGRAM_NAME);
    let on_cpu = |entry: &TraceEntry| entry.end_ns.min(end_ns).saturating_sub(entry.start_ns.max(start_ns));
    Some(SeenKeystroke {
        keystroke: *keystroke,
        gap_ns: end_ns - start_ns,
        before_ns: read_ns - start_ns,
        program_ns: echoed_ns - read_ns,
        after_ns: end_ns - echoed_ns,
        thread_ns: inside.map(|inside| inside.iter().filter(is_program).map(on_cpu).sum()),
        parts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::Ran;

    fn entry(start_ns: u64, end_ns: u64, ran: Ran) -> TraceEntry {
        TraceEntry { start_ns, end_ns, steal_ns: None, stolen_ns: 0, ran }
    }

    fn keystroke(read_ns: u64, echoed_ns: u64) -> Keystroke {
        Keystroke { typed_ns: 0, read_ns, echoed_ns, seen_ns: echoed_ns }
    }

    #[test]
    fn each_part_has_its_name() {
        let inside = [
            entry(105, 115, Ran::Interrupt("reschedule".to_owned())),
            entry(120, 130, Ran::Thread("kworker/1:2".to_owned())),
            entry(133, 460, Ran::Thread(PROGRAM_NAME.to_owned())),
            entry(470, 480, Ran::Thread("cron".to_owned())),
            entry(485, 490, Ran::Thread("kworker/u8:0".to_owned())),
        ];
        let seen = split(&keystroke(140, 450), 100, 500, Some(&inside)).unwrap();
        let parts = seen.parts.unwrap();
        assert_eq!(
            parts,
            KeystrokeParts {
                interrupt_ns: 10,
                wake_ns: 10 + 7,
                reschedule_ns: 5 + 5 + 3 + 10 + 5 + 10,
                echo_ns: 10 + 5,
                others_ns: 10,
                outside_ns: 0,
            }
        );
        assert_eq!((seen.gap_ns, seen.program_ns, seen.thread_ns), (400, 310, Some(327)));
        assert!(!seen.is_undisturbed());
    }

    #[test]
    fn whatever_ran_the_parts_add_up() {
        let mut state = 3u64;
        let mut number = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..2_000 {
            let inside: Vec<TraceEntry> = (0..number(8))
                .map(|_| {
                    let from = number(1_000_000);
                    let ran = match number(4) {
                        0 => Ran::Interrupt("local_timer".to_owned()),
                        1 => Ran::Softirq("timer".to_owned()),
                        2 => Ran::Thread(PROGRAM_NAME.to_owned()),
                        _ => Ran::Thread("other".to_owned()),
                    };
                    entry(from, from + number(300_000), ran)
                })
                .collect();
            let read = 100 + number(500_000);
            let key = keystroke(read, read + number(400_000));
            let Some(seen) = split(&key, number(1_000), 800_000 + number(200_000), Some(&inside)) else { continue };
            assert_eq!(seen.before_ns + seen.program_ns + seen.after_ns, seen.gap_ns);
            assert_eq!(seen.parts.unwrap().sum_ns(), seen.gap_ns - seen.program_ns);
        }
    }

    #[test]
    fn a_gap_that_does_not_hold_it_is_not_its_own() {
        assert_eq!(split(&keystroke(90, 300), 100, 500, None), None);
        assert_eq!(split(&keystroke(200, 600), 100, 500, None), None);
        let seen = split(&keystroke(200, 300), 100, 500, None).unwrap();
        assert_eq!((seen.before_ns, seen.after_ns, seen.parts, seen.thread_ns), (100, 200, None, None));
    }
}
