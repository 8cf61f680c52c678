//! The same keystrokes as an idle loop, a program and the kernel's programs saw them: text for people.

use crate::layout::{agreeing, counted, microseconds, table};
use punctual_recording::{SeenKeystroke, ValidationDocument, format_ns};
use std::fmt::Write as _;

/// Means over the keystrokes, ns: they add up as each keystroke does.
pub(crate) struct Means {
    pub(crate) count: usize,
    pub(crate) undisturbed: bool,
    pub(crate) gap: u64,
    pub(crate) program: u64,
    pub(crate) parts: Vec<(&'static str, u64)>,
    pub(crate) thread: Option<u64>,
}

/// Over the keystrokes during which nothing else had the CPU, if there are five of them; otherwise over those of which
/// it is known what had it, and if there are none, over all.
pub(crate) fn means(document: &ValidationDocument) -> Option<Means> {
    let mut taken: Vec<&SeenKeystroke> = document.seen.iter().filter(|seen| seen.is_undisturbed()).collect();
    let undisturbed = taken.len() >= 5;
    if !undisturbed {
        taken = document.seen.iter().filter(|seen| seen.parts.is_some()).collect();
    }
    let are_known = !taken.is_empty();
    if !are_known {
        taken = document.seen.iter().collect();
    }
    let count = taken.len();
    if count == 0 {
        return None;
    }
    let mean = |of: &dyn Fn(&SeenKeystroke) -> u64| taken.iter().map(|seen| of(seen)).sum::<u64>() / count as u64;
    let parts = if are_known {
        let position = |index: usize| mean(&|seen| seen.parts.map_or(0, |parts| parts.named()[index].1));
        let names = taken[0].parts.unwrap_or_default().named();
        names.iter().enumerate().map(|(index, &(name, _))| (name, position(index))).collect()
    } else {
        vec![("before_read", mean(&|seen| seen.before_ns)), ("after_echo", mean(&|seen| seen.after_ns))]
    };
    Some(Means {
        count,
        undisturbed,
        gap: mean(&|seen| seen.gap_ns),
        program: mean(&|seen| seen.program_ns),
        parts,
        thread: are_known.then(|| mean(&|seen| seen.thread_ns.unwrap_or(0))),
    })
}

/// The tables.
pub fn text(document: &ValidationDocument) -> String {
    let mut text = String::new();
    let all = &document.seen;
    let _ = writeln!(
        text,
        "\nOf {}, {} {} in a gap on CPU {}, {} in none; the program computes for {} between read and echo",
        counted(document.keystrokes, "keystroke"),
        all.len(),
        agreeing(all.len(), "lies", "lie"),
        document.cpu,
        document.not_found,
        format_ns(document.compute_ns)
    );
    if !document.followed {
        text.push_str(
            "without BPF: what the program does not see is not split into interrupt, wake, reschedule and echo\n",
        );
    }
    let Some(means) = means(document) else { return text };
    let row = |name: &str, of: &dyn Fn(&SeenKeystroke) -> Option<u64>| {
        let mut values: Vec<u64> = all.iter().filter_map(of).collect();
        values.sort_unstable();
        let at = |percent: usize| values.get((values.len() * percent / 100).min(values.len().saturating_sub(1)));
        let mut cells = vec![name.to_owned()];
        cells.extend([0, 50, 90, 100].map(|percent| microseconds(at(percent).copied())));
        cells
    };
    let rows = [
        row("idle loop", &|seen| Some(seen.gap_ns)),
        row("program's thread, by BPF", &|seen| seen.thread_ns),
        row("program's own stamps", &|seen| Some(seen.program_ns)),
        row("from outside, key to echo", &|seen| Some(seen.keystroke.seen_ns - seen.keystroke.typed_ns)),
    ];
    let _ = writeln!(text, "\n{}", table(&["all keystrokes, us", "min", "p50", "p90", "max"], 1..5, rows));
    let of = if means.undisturbed { "nothing else had the CPU" } else { "all" };
    let difference = means.gap.saturating_sub(means.program);
    let mut rows: Vec<Vec<String>> = vec![vec!["the program sees".to_owned(), microseconds(Some(means.program))]];
    for (name, ns) in &means.parts {
        let what = match *name {
            "interrupt" => "interrupt: interrupts and softirqs",
            "wake" => "wake: passing the key on, the program's return from read",
            "reschedule" => "reschedule: in and out of the kernel, switching",
            "echo" => "echo: passing it on, the program's way back to sleep",
            "others" => "other threads",
            "outside" => "outside this kernel",
            "before_read" => "before its read returned",
            _ => "after its echo was written",
        };
        rows.push(vec![format!("+ {what}"), microseconds(Some(*ns))]);
    }
    // Means are rounded down one by one.
    let rest = difference.saturating_sub(means.parts.iter().map(|(_, ns)| ns).sum());
    if rest >= 1_000 {
        rows.push(vec!["+ rounding".to_owned(), microseconds(Some(rest))]);
    }
    rows.push(vec!["= the idle loop sees".to_owned(), microseconds(Some(means.gap))]);
    let header = format!("mean of {} ({of})", counted(means.count, "keystroke"));
    let _ = writeln!(text, "\n{}", table(&[&header, "us"], 1..2, rows));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idle::answer::ValidationRow;
    use crate::verdict::idle::keystrokes_verdict;
    use punctual_recording::{Keystroke, KeystrokeParts, VALIDATION_SCHEMA};

    fn json(document: &ValidationDocument) -> serde_json::Value {
        serde_json::to_value(ValidationRow::new(document)).unwrap()
    }

    fn document(followed: bool) -> ValidationDocument {
        let seen = |others_ns: u64| SeenKeystroke {
            keystroke: Keystroke { typed_ns: 0, read_ns: 50_000, echoed_ns: 7_470_000, seen_ns: 7_480_000 },
            gap_ns: 7_500_000 + others_ns,
            before_ns: 40_000,
            program_ns: 7_420_000,
            after_ns: 40_000 + others_ns,
            thread_ns: followed.then_some(7_440_000),
            parts: followed.then_some(KeystrokeParts {
                interrupt_ns: 10_000,
                wake_ns: 20_000,
                reschedule_ns: 30_000,
                echo_ns: 20_000,
                others_ns,
                outside_ns: 0,
            }),
        };
        let mut all = vec![seen(0); 6];
        all.push(seen(3_000_000));
        let schema = VALIDATION_SCHEMA.to_owned();
        ValidationDocument { schema, keystrokes: 8, compute_ns: 7_420_000, cpu: 1, followed, seen: all, not_found: 1 }
    }

    #[test]
    fn the_difference_is_assigned() {
        let followed = document(true);
        let said = keystrokes_verdict(&followed);
        assert!(said.contains("80.0 us is hidden from the program: interrupt 10.0 us, wake 20.0 us"), "{said}");
        let json = json(&followed);
        let means = &json["means"];
        let parts: u64 = means["parts"].as_object().unwrap().values().map(|ns| ns.as_u64().unwrap()).sum();
        assert_eq!(means["difference_ns"].as_u64(), Some(parts));
        assert_eq!((means["keystrokes"].as_u64(), means["undisturbed"].as_bool()), (Some(6), Some(true)));
        assert!(text(&followed).contains("= the idle loop sees"));
    }

    #[test]
    fn what_was_lost_of_a_keystroke_counts_for_nothing() {
        let mut some = document(true);
        let lose = |seen: &mut SeenKeystroke| (seen.parts, seen.thread_ns) = (None, None);
        some.seen[2..].iter_mut().for_each(lose);
        let means = means(&some).unwrap();
        assert_eq!((means.count, means.thread, means.undisturbed), (2, Some(7_440_000), false));
        some.seen.iter_mut().for_each(lose);
        assert!(keystrokes_verdict(&some).contains("before read"), "{}", keystrokes_verdict(&some));
        assert!(json(&some)["means"]["thread_ns"].is_null());
    }

    #[test]
    fn without_bpf_it_says_so() {
        let blind = document(false);
        assert!(text(&blind).contains("without BPF"));
        assert!(json(&blind)["seen"][0]["parts"].is_null());
        assert!(keystrokes_verdict(&blind).contains("before read"), "{}", keystrokes_verdict(&blind));
        let empty = ValidationDocument::default();
        assert!(keystrokes_verdict(&empty).contains("No keystroke") && json(&empty)["means"].is_null());
        text(&empty);
    }
}
