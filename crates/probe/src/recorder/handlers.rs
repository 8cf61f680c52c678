//! The sums of every handler, softirq and callback over a run.

use super::kernel_code::KernelCode;
use punctual_kernel::bpf_programs::FunctionCode;
use punctual_kernel::clock;
use punctual_recording::HandlerSum;
use punctual_recording::{EventKind, Softirq, Vector};

/// `QUEUED` of `bpf/event_ring.h`.
const QUEUED: u32 = 100;

/// `SUM_NUMBERS` of `bpf/event_ring.h`.
const SUM_NUMBERS: u32 = 32;

/// One entry of the map: the key as `struct handler_key`, for each CPU a value as `struct handler_sum`.
pub(super) type Entry = (Vec<u8>, Vec<Vec<u8>>);

/// An entry of `numbered_sums`, which has a place for a key, with the key that it stands for.
pub(super) fn with_key((place, values): Entry) -> Option<Entry> {
    let place = u32::from_ne_bytes(<[u8; 4]>::try_from(place).ok()?);
    let kind = match place / SUM_NUMBERS {
        0 => u32::from(EventKind::VectorEnd.code()),
        1 => u32::from(EventKind::SoftirqEnd.code()),
        _ => QUEUED,
    };
    Some(([kind.to_ne_bytes(), (place % SUM_NUMBERS).to_ne_bytes(), [0; 4], [0; 4]].concat(), values))
}

/// Names what was added up, the longest first.
pub(super) fn handler_sums(entries: &[Entry], code: &mut KernelCode) -> Vec<HandlerSum> {
    let mut sums: Vec<HandlerSum> = entries.iter().filter_map(|entry| handler_sum(entry, code)).collect();
    sums.sort_by(|left, right| right.longest_ns.cmp(&left.longest_ns).then_with(|| left.name.cmp(&right.name)));
    sums
}

/// How long timers took in interrupts whose function is one of these, ns.
pub(super) fn timers_of(entries: &[Entry], functions: &[FunctionCode]) -> u64 {
    let is_one = |address: u64| functions.iter().any(|function| (function.start..function.end).contains(&address));
    let ns = |(key, values): &Entry| {
        let (kind, number, function) = taken_apart(key)?;
        let is_timer = EventKind::from_code(kind) == Some(EventKind::TimerEnd) && number != 0;
        (is_timer && is_one(function)).then(|| values.iter().filter_map(|value| word(value, 1)).sum::<u64>())
    };
    entries.iter().filter_map(ns).sum()
}

/// A key: what kind it is, its number, and where its function is.
fn taken_apart(key: &[u8]) -> Option<(u32, u32, u64)> {
    let half = |at: usize| Some(u32::from_ne_bytes(key.get(at..at + 4)?.try_into().ok()?));
    Some((half(0)?, half(4)?, word(key, 1)?))
}

fn word(bytes: &[u8], number: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(number * 8..number * 8 + 8)?.try_into().ok()?))
}

fn handler_sum((key, values): &Entry, code: &mut KernelCode) -> Option<HandlerSum> {
    let (kind, number, function) = taken_apart(key)?;
    let mut named = || {
        let found = code.find(function, clock::monotonic_ns());
        found.map_or_else(|| format!("{function:#x}"), |frame| frame.function)
    };
    let listed = |name: Option<&str>| name.map_or_else(|| number.to_string(), str::to_owned);
    let (kind, name) = match EventKind::from_code(u8::try_from(kind).ok()?) {
        _ if kind == QUEUED => ("softirq_queue", "all softirqs of a CPU".to_owned()),
        Some(EventKind::VectorEnd) => ("irq", listed(Vector::name_of(number))),
        Some(EventKind::HandlerEnd) => ("handler", format!("{} (interrupt {number})", named())),
        Some(EventKind::SoftirqEnd) => ("softirq", listed(Softirq::name_of(number))),
        Some(EventKind::TaskletEnd) => ("tasklet", named()),
        Some(EventKind::CallbackEnd) => ("callback", named()),
        Some(EventKind::TimerEnd) => (if number == 0 { "timer_softirq" } else { "timer_irq" }, named()),
        _ => return None,
    };
    let mut sum = HandlerSum { kind: kind.to_owned(), name, count: 0, total_ns: 0, longest_ns: 0, longest_at_ns: 0 };
    for value in values {
        sum.count += word(value, 0)?;
        sum.total_ns += word(value, 1)?;
        let longest_ns = word(value, 2)?;
        if longest_ns > sum.longest_ns {
            (sum.longest_ns, sum.longest_at_ns) = (longest_ns, word(value, 3)?);
        }
    }
    (sum.count > 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_all_cpus_are_added_and_the_longest_is_kept() {
        let key = |kind: u32, number: u32| [kind.to_ne_bytes(), number.to_ne_bytes(), [0; 4], [0; 4]].concat();
        let value = |words: [u64; 4]| words.map(u64::to_ne_bytes).concat();
        let entries = [
            (key(4, 1), vec![value([2, 30, 20, 5]), value([1, 40, 40, 9])]),
            (key(8, 3), vec![value([1, 7, 7, 1])]),
            (key(100, 0), vec![value([1, 70, 70, 1])]),
            (key(77, 0), vec![value([1, 70, 70, 1])]),
            (key(8, 4), vec![value([0, 0, 0, 0])]),
        ];
        let sums = handler_sums(&entries, &mut KernelCode::default());
        let told: Vec<_> = sums.iter().map(|sum| (sum.kind.as_str(), sum.name.as_str(), sum.longest_ns)).collect();
        assert_eq!(
            told,
            [("softirq_queue", "all softirqs of a CPU", 70), ("irq", "local_timer", 40), ("softirq", "net_rx", 7)]
        );
        assert_eq!((sums[1].count, sums[1].total_ns, sums[1].longest_at_ns), (3, 70, 9));
    }

    #[test]
    fn a_place_among_the_numbered_sums_stands_for_a_kind_and_a_number() {
        use crate::shared::source_numbers::number_in;

        assert_eq!(number_in("event_ring.h", "SUM_NUMBERS"), u64::from(SUM_NUMBERS));
        assert_eq!(number_in("event_ring.h", "QUEUED"), u64::from(QUEUED));
        let value = [1, 7, 7, 1].map(u64::to_ne_bytes).concat();
        let entries: Vec<Entry> = [1, 32 + 3, 64]
            .into_iter()
            .filter_map(|place: u32| with_key((place.to_ne_bytes().to_vec(), vec![value.clone()])))
            .collect();
        let sums = handler_sums(&entries, &mut KernelCode::default());
        let told: Vec<_> = sums.iter().map(|sum| (sum.kind.as_str(), sum.name.as_str())).collect();
        assert_eq!(told, [("softirq_queue", "all softirqs of a CPU"), ("irq", "local_timer"), ("softirq", "net_rx")]);
    }

    #[test]
    fn only_interrupts_of_a_timer_with_this_function_are_added() {
        let key = |kind: u32, number: u32, function: u64| {
            [&kind.to_ne_bytes()[..], &number.to_ne_bytes(), &function.to_ne_bytes()].concat()
        };
        let value = |words: [u64; 4]| words.map(u64::to_ne_bytes).concat();
        let entries = [
            (key(10, 1, 0x1000), vec![value([2, 30, 20, 5]), value([1, 40, 40, 9])]),
            (key(10, 1, 0x103f), vec![value([1, 5, 5, 5])]),
            (key(10, 1, 0x1040), vec![value([1, 1_000, 1_000, 5])]),
            (key(10, 0, 0x1000), vec![value([1, 1_000, 1_000, 5])]),
            (key(8, 1, 0x1000), vec![value([1, 1_000, 1_000, 5])]),
        ];
        let functions = [FunctionCode { start: 0x1000, end: 0x1040, name: None }];
        assert_eq!(timers_of(&entries, &functions), 75);
        assert_eq!(timers_of(&entries, &[]), 0);
    }
}
