//! What ran between two moments, from blocks of instructions.

use super::clock::Clock;
use super::seen::{Story, Switches};
use super::symbols::Symbols;
use super::teller::Teller;
use super::trace::Trace;
use std::io;
use std::ops::Range;

/// Tells what ran in a stretch of time, ns of the guest's clock.
///
/// # Errors
///
/// If the trace cannot be read.
pub fn story(
    trace: &Trace,
    clock: &Clock,
    symbols: &Symbols,
    switches: &Switches,
    due_to_running: Range<u64>,
) -> io::Result<Story> {
    let mut teller = Teller::new(clock, symbols, switches, due_to_running);
    let not_written = trace.each(|record| teller.take(record))?;
    Ok(teller.story(not_written == Some(0)))
}

#[cfg(test)]
mod tests {
    use super::super::seen::{Delivery, FunctionTime, OffAtLast, Place};
    use super::*;
    use std::io::Write as _;

    const FUNCTIONS: [&str; 10] = [
        "copy_pages",
        "_raw_spin_lock_irq",
        "_raw_spin_unlock_irq",
        "asm_sysvec_apic_timer_interrupt",
        "hrtimer_interrupt",
        "handle_softirqs",
        "native_irq_return_iret",
        "schedule",
        "__switch_to_asm",
        "asm_exc_page_fault",
    ];

    /// Of a function's beginning, or so many bytes behind it: `schedule+16`.
    fn address(place: &str) -> u64 {
        let (function, behind) = place.split_once('+').unwrap_or((place, "0"));
        let number = FUNCTIONS.iter().position(|name| *name == function).unwrap() as u64;
        0xffff_ffff_8100_0000 + number * 0x100 + behind.parse::<u64>().unwrap()
    }

    fn symbols() -> Symbols {
        let lines = FUNCTIONS.map(|name| format!("{:x} T {name}", address(name)));
        Symbols::parse(&lines.join("\n"))
    }

    /// Numbers of `plugin.c`: blocks, and what turns interrupts off and on.
    const BLOCK: u64 = 16;
    const CALLS: u64 = 17;
    const RETURNS: u64 = 18;
    const LEAVES: u64 = 19;
    const OFF: u64 = 2;
    const ON: u64 = 3;
    const FLAGS: u64 = 4;

    /// A clock that is 1,000 ns ahead, at 4 ns for each instruction.
    fn clock() -> Clock {
        let reads: Vec<u64> = (0..40).map(|number| number * number * 37).collect();
        let times: Vec<u64> = reads.iter().map(|count| count * 4 + 1_000).collect();
        Clock::align(&times, &reads, 4).unwrap()
    }

    /// `khugepaged` copies with interrupts off while a wakeup is due at 5,000 ns; the interrupt comes once they are on,
    /// serves a softirq at its end and returns; then the late thread is let in, and runs at 9,000 ns.
    fn told() -> Story {
        told_of(&[
            (3_900, "schedule", ON),
            (4_000, "copy_pages", CALLS),
            (4_040, "_raw_spin_lock_irq", RETURNS),
            (4_048, "_raw_spin_lock_irq", OFF),
            (4_080, "copy_pages", CALLS),
            (5_600, "_raw_spin_unlock_irq", RETURNS),
            (5_640, "_raw_spin_unlock_irq", ON),
            (5_680, "asm_sysvec_apic_timer_interrupt", CALLS),
            (5_760, "hrtimer_interrupt", CALLS),
            (6_000, "handle_softirqs", RETURNS),
            (6_400, "hrtimer_interrupt", RETURNS),
            (6_480, "native_irq_return_iret", LEAVES),
            (6_520, "copy_pages", BLOCK),
            (8_000, "schedule", BLOCK),
            (8_400, "__switch_to_asm", BLOCK),
        ])
    }

    /// Steps by the guest's clock, and then the late thread's own code.
    fn told_of(steps: &[(u64, &str, u64)]) -> Story {
        let user = 0x5555_0000_0000;
        let mut file = tempfile::tempfile().unwrap();
        let mut put = |ns: u64, address: u64, kind: u64| {
            file.write_all(&[((ns - 1_000) / 4).to_le_bytes(), (address << 8 | kind).to_le_bytes()].concat()).unwrap();
        };
        for (ns, function, kind) in steps {
            put(*ns, address(function), *kind);
        }
        put(8_600, user, BLOCK);
        put(9_400, user, BLOCK);
        put(1_000, 0, 255);
        read(file)
    }

    fn read(file: std::fs::File) -> Story {
        let switches = Switches::new(vec![(0, 40, "khugepaged".to_owned()), (8_200, 41, "audio".to_owned())]);
        story(&Trace::new(file), &clock(), &symbols(), &switches, 5_000..9_000).unwrap()
    }

    #[test]
    fn stretches_are_the_whole_each_in_its_place() {
        let story = told();
        let met: Vec<(Place, &str, u64)> =
            story.segments.iter().map(|segment| (segment.place, segment.thread.as_str(), segment.ns)).collect();
        let expected = [
            (Place::Kernel, "khugepaged", 680),
            (Place::Interrupt, "khugepaged", 320),
            (Place::Softirq, "khugepaged", 400),
            (Place::Interrupt, "khugepaged", 120),
            (Place::Kernel, "khugepaged", 1_880),
            (Place::Kernel, "audio", 200),
            (Place::User, "audio", 400),
        ];
        assert_eq!(met, expected);
        assert_eq!(met.iter().map(|(.., ns)| ns).sum::<u64>(), 4_000);
        assert_eq!(story.functions.iter().map(|function| function.ns).sum::<u64>(), 4_000);
        assert_eq!((story.instructions, story.is_cut), (1_000, false));
        assert_eq!(story.functions[0], FunctionTime { name: "copy_pages".to_owned(), ns: 600 + 1_480 });
        assert_eq!(story.segments[1].name, "apic_timer_interrupt");
        assert_eq!((story.segments[1].tid, story.segments[6].tid), (40, 41));
    }

    /// The log is full at 6,400 ns: whoever ran last has what was written down of it, and nothing else.
    #[test]
    fn what_was_not_written_down_is_a_stretch_of_its_own_and_nobodys() {
        let cut = |steps: &[(u64, &str, u64)]| {
            let mut file = tempfile::tempfile().unwrap();
            let steps = steps.iter().map(|(ns, function, kind)| ((ns - 1_000) / 4, address(function) << 8 | kind));
            // The last one says how many more there were.
            for (count, word) in steps.chain([(700, 255)]) {
                file.write_all(&[count.to_le_bytes(), word.to_le_bytes()].concat()).unwrap();
            }
            read(file)
        };
        let story = cut(&[(3_900, "schedule", ON), (4_000, "copy_pages", BLOCK), (6_400, "copy_pages", BLOCK)]);
        let met: Vec<(Place, u64, u64)> =
            story.segments.iter().map(|segment| (segment.place, segment.begin_ns, segment.ns)).collect();
        assert_eq!(met, [(Place::Kernel, 5_000, 1_400), (Place::NotWritten, 6_400, 2_600)]);
        let functions: Vec<(&str, u64)> =
            story.functions.iter().map(|function| (function.name.as_str(), function.ns)).collect();
        assert_eq!(functions, [("not written down", 2_600), ("copy_pages", 1_400)]);
        assert!(story.is_cut, "{story:?}");
        // It was full before the wakeup was due.
        let story = cut(&[(3_900, "schedule", ON), (4_000, "copy_pages", BLOCK)]);
        let met: Vec<(Place, u64)> = story.segments.iter().map(|segment| (segment.place, segment.ns)).collect();
        assert_eq!(met, [(Place::NotWritten, 4_000)]);
    }

    #[test]
    fn whoever_turned_interrupts_off_is_named_with_who_called_it() {
        let story = told();
        let expected = Delivery::InterruptsOff {
            section: 4_048..5_640,
            off_in: "_raw_spin_lock_irq".to_owned(),
            off_for: Some("copy_pages".to_owned()),
            on_in: "_raw_spin_unlock_irq".to_owned(),
        };
        assert_eq!((story.delivery, story.interrupt_ns), (expected, Some(5_680)));
    }

    /// The emulator begins a block with access to a device once more, in pieces: what it would have called is called once.
    #[test]
    fn a_block_that_was_cut_short_neither_calls_nor_returns() {
        let steps = [
            (3_900, "schedule", ON),
            (3_940, "schedule", CALLS),
            (3_960, "copy_pages", CALLS),
            (3_964, "copy_pages+16", BLOCK),
            (3_968, "copy_pages+20", CALLS),
            (4_000, "_raw_spin_lock_irq", RETURNS),
            (4_040, "copy_pages+32", RETURNS),
            (4_044, "copy_pages+36", BLOCK),
            (4_080, "copy_pages+40", OFF),
        ];
        let delivery = delivered_after(&steps);
        let Delivery::InterruptsOff { off_in, off_for, .. } = &delivery else { panic!("{delivery:?}") };
        assert_eq!((off_in.as_str(), off_for.as_deref()), ("copy_pages", Some("schedule")));
    }

    /// Interrupts are turned off just after it was due, before the timer's interrupt arrives; again within that, and by
    /// an exception; flags that are restored to off turn nothing on.
    #[test]
    fn interrupts_that_are_turned_off_after_it_was_due_keep_it_as_well() {
        let story = told_of(&[
            (3_900, "schedule", ON),
            (4_000, "copy_pages", CALLS),
            (5_040, "_raw_spin_lock_irq", OFF),
            (5_200, "copy_pages", OFF),
            (5_400, "copy_pages", FLAGS),
            (5_600, "asm_exc_page_fault", BLOCK),
            (5_680, "native_irq_return_iret", LEAVES),
            (5_800, "_raw_spin_unlock_irq", BLOCK),
            (6_000, "_raw_spin_unlock_irq", ON),
            (6_040, "asm_sysvec_apic_timer_interrupt", BLOCK),
            (6_400, "native_irq_return_iret", LEAVES),
            (6_480, "__switch_to_asm", BLOCK),
        ]);
        let Delivery::InterruptsOff { section, off_in, on_in, .. } = &story.delivery else { panic!("{story:?}") };
        assert_eq!(
            (section, off_in.as_str(), on_in.as_str()),
            (&(5_040..6_000), "_raw_spin_lock_irq", "_raw_spin_unlock_irq")
        );
    }

    /// What turns interrupts on at 6,000 ns after something before it was due at 5,000 ns, and the interrupt that comes then.
    fn delivered_after(steps: &[(u64, &str, u64)]) -> Delivery {
        let end = [
            (6_000, "_raw_spin_unlock_irq", ON),
            (6_040, "asm_sysvec_apic_timer_interrupt", BLOCK),
            (6_400, "native_irq_return_iret", LEAVES),
            (6_480, "__switch_to_asm", BLOCK),
        ];
        told_of(&[steps, &end[..]].concat()).delivery
    }

    fn off_in(delivery: &Delivery) -> (u64, &str) {
        let Delivery::InterruptsOff { section, off_in, .. } = delivery else { panic!("{delivery:?}") };
        (section.start, off_in)
    }

    #[test]
    fn interrupts_that_were_off_when_the_log_began_are_not_said_to_have_been_on() {
        let met = delivered_after(&[(4_000, "copy_pages", CALLS)]);
        let expected = Delivery::OffBefore { since_ns: 4_000, on_ns: 6_000, on_in: "_raw_spin_unlock_irq".to_owned() };
        assert_eq!(met, expected);
        // Nor were they on before somebody turned them off once more.
        let met = delivered_after(&[(4_000, "copy_pages", BLOCK), (4_400, "schedule", OFF)]);
        assert!(matches!(met, Delivery::OffBefore { since_ns: 4_400, .. }), "{met:?}");
        // An exception meanwhile is no proof either: it returns to code with interrupts off.
        let met = delivered_after(&[
            (4_000, "copy_pages", BLOCK),
            (5_200, "asm_exc_page_fault", BLOCK),
            (5_280, "native_irq_return_iret", LEAVES),
            (5_320, "copy_pages", BLOCK),
        ]);
        assert!(matches!(met, Delivery::OffBefore { .. }), "{met:?}");
        // It is due before they are turned on, but comes only long after that.
        let late = told_of(&[
            (4_000, "copy_pages", BLOCK),
            (5_600, "_raw_spin_unlock_irq", ON),
            (7_000, "asm_sysvec_apic_timer_interrupt", BLOCK),
            (7_400, "native_irq_return_iret", LEAVES),
        ]);
        assert_eq!(late.delivery, Delivery::NotKnown { on: Some((5_600, "_raw_spin_unlock_irq".to_owned())) });
    }

    #[test]
    fn flags_that_are_restored_to_off_turn_nothing_on() {
        for restored_ns in [4_400, 5_400] {
            let met = delivered_after(&[
                (3_800, "copy_pages", BLOCK),
                (3_900, "schedule", ON),
                (4_200, "copy_pages", OFF),
                (restored_ns, "schedule", FLAGS),
            ]);
            assert_eq!(off_in(&met), (4_200, "copy_pages"), "restored at {restored_ns}");
        }
        // An interrupt that comes at once shows that they were restored to on, whatever happened within.
        let met = told_of(&[
            (3_900, "schedule", ON),
            (4_200, "copy_pages", OFF),
            (4_400, "schedule", OFF),
            (6_000, "copy_pages", FLAGS),
            (6_040, "asm_sysvec_apic_timer_interrupt", BLOCK),
            (6_400, "native_irq_return_iret", LEAVES),
        ]);
        assert_eq!(off_in(&met.delivery), (4_200, "copy_pages"));
        // And with interrupts on, they turn them off.
        let met = delivered_after(&[(3_900, "schedule", ON), (4_400, "copy_pages", FLAGS)]);
        assert_eq!(off_in(&met), (4_400, "copy_pages"));
    }

    #[test]
    fn interrupts_that_are_off_once_more_after_it_came_are_summed_up() {
        let story = told_of(&[
            (3_900, "schedule", ON),
            (4_800, "copy_pages", OFF),
            (5_600, "copy_pages", ON),
            (5_640, "asm_sysvec_apic_timer_interrupt", BLOCK),
            // A handler has them off anyway.
            (5_680, "hrtimer_interrupt", OFF),
            (5_800, "native_irq_return_iret", LEAVES),
            (5_840, "copy_pages", BLOCK),
            (6_000, "copy_pages", OFF),
            (7_000, "copy_pages", ON),
            // Flags that are restored may turn them on.
            (7_040, "copy_pages", OFF),
            (7_080, "copy_pages", FLAGS),
            (7_400, "copy_pages", ON),
        ]);
        assert_eq!((off_in(&story.delivery), story.later_off_ns), ((4_800, "copy_pages"), 1_000));
        assert_eq!(told().later_off_ns, 0);
    }

    /// Each time who turned them off comes first; whoever does so again later is another one.
    #[test]
    fn whoever_turns_interrupts_off_after_flags_were_restored_is_not_named() {
        let not_known =
            |since_ns| Delivery::OffBefore { since_ns, on_ns: 6_000, on_in: "_raw_spin_unlock_irq".to_owned() };
        // `popf` turned them off.
        let met = delivered_after(&[(3_900, "schedule", ON), (4_000, "copy_pages", FLAGS), (4_400, "schedule", OFF)]);
        assert_eq!(met, not_known(4_400));
        // `cli` did, and a `popf` in between left them off, such as that of a probe.
        let met = delivered_after(&[
            (3_900, "schedule", ON),
            (4_000, "copy_pages", OFF),
            (4_200, "hrtimer_interrupt", FLAGS),
            (4_400, "_raw_spin_lock_irq", OFF),
        ]);
        assert_eq!(met, not_known(4_400));
        // The same, but the last `cli` came when the interrupt should have come long before.
        let late = |off_ns| {
            told_of(&[
                (3_900, "schedule", ON),
                (4_200, "copy_pages", FLAGS),
                (off_ns, "_raw_spin_lock_irq", OFF),
                (8_000, "_raw_spin_unlock_irq", ON),
                (8_040, "asm_sysvec_apic_timer_interrupt", BLOCK),
            ])
            .delivery
        };
        let on_in = "_raw_spin_unlock_irq".to_owned();
        assert_eq!(late(6_400), Delivery::OffBefore { since_ns: 6_400, on_ns: 8_000, on_in });
        assert_eq!(late(7_900), Delivery::NotKnown { on: None });
    }

    /// Interrupts were on for longer than one takes to come.
    #[test]
    fn whoever_turns_interrupts_off_when_it_should_have_come_did_not_keep_it() {
        let held = |steps: &[(u64, &str, u64)]| {
            let end = [(8_000, "_raw_spin_unlock_irq", ON), (8_040, "asm_sysvec_apic_timer_interrupt", BLOCK)];
            told_of(&[steps, &end[..]].concat()).delivery
        };
        let otherwise = |is_on_when_due, off_ns, off_in: &str| Delivery::Otherwise {
            is_on_when_due,
            off: Some(OffAtLast { section: off_ns..8_000, off_in: off_in.to_owned(), off_for: None }),
        };
        let met = held(&[(3_900, "schedule", ON), (7_980, "_raw_spin_lock_irq", OFF)]);
        assert_eq!(met, otherwise(true, 7_980, "_raw_spin_lock_irq"));
        // Off once more before that: what came of it is not known, so only the last one counts.
        let met = held(&[
            (3_900, "schedule", ON),
            (6_400, "copy_pages", OFF),
            (6_800, "copy_pages", FLAGS),
            (7_600, "_raw_spin_lock_irq", OFF),
        ]);
        assert_eq!(met, otherwise(true, 7_600, "_raw_spin_lock_irq"));
        // Off when it was due, then on, and it did not come.
        let met = held(&[
            (3_900, "schedule", ON),
            (4_000, "copy_pages", OFF),
            (6_400, "copy_pages", ON),
            (6_480, "schedule", OFF),
        ]);
        assert_eq!(met, otherwise(false, 6_480, "schedule"));
        // The same, but what the flags were afterwards is not known.
        let met = held(&[
            (3_900, "schedule", ON),
            (4_000, "copy_pages", OFF),
            (6_400, "copy_pages", ON),
            (6_800, "schedule", FLAGS),
        ]);
        assert_eq!(met, Delivery::NotKnown { on: None });
    }

    #[test]
    fn interrupts_are_not_on_between_sti_and_a_cli_that_follows_it() {
        let with_gap = |gap_ns: u64| {
            delivered_after(&[
                (3_900, "schedule", ON),
                (4_200, "copy_pages", OFF),
                (5_400, "copy_pages", ON),
                (5_400 + gap_ns, "schedule", OFF),
            ])
        };
        // One instruction takes 4 ns.
        assert_eq!(off_in(&with_gap(4)), (4_200, "copy_pages"));
        assert_eq!(off_in(&with_gap(8)), (5_408, "schedule"));
    }

    #[test]
    fn code_without_a_name_has_words() {
        let nameless = 0xffff_ffff_c020_0000_u64;
        let mut file = tempfile::tempfile().unwrap();
        let timer = address("asm_sysvec_apic_timer_interrupt");
        let steps = [
            (4_000, nameless, ON),
            (4_400, nameless, OFF),
            (6_000, nameless, ON),
            (6_040, timer, BLOCK),
            (1_000, 0, 255),
        ];
        for (ns, address, kind) in steps {
            let word: u64 = address << 8 | kind;
            file.write_all(&[((ns - 1_000_u64) / 4).to_le_bytes(), word.to_le_bytes()].concat()).unwrap();
        }
        let story = story(&Trace::new(file), &clock(), &symbols(), &Switches::new(Vec::new()), 5_000..9_000).unwrap();
        let Delivery::InterruptsOff { off_in, on_in, .. } = &story.delivery else { panic!("{story:?}") };
        assert_eq!((off_in.as_str(), on_in.as_str()), ("code without a name", "code without a name"));
    }

    #[test]
    fn another_interrupt_keeps_it_and_code_with_interrupts_on_does_not() {
        let handler = |on_ns: u64| {
            told_of(&[
                (4_000, "copy_pages", BLOCK),
                (4_400, "asm_sysvec_apic_timer_interrupt", BLOCK),
                (on_ns, "native_irq_return_iret", LEAVES),
                (on_ns + 40, "asm_sysvec_apic_timer_interrupt", BLOCK),
                (8_000, "native_irq_return_iret", LEAVES),
                (8_400, "__switch_to_asm", BLOCK),
            ])
        };
        assert_eq!(handler(5_600).delivery, Delivery::InInterrupt { name: "apic_timer_interrupt".to_owned() });
        // It had ended before this one was due.
        let late = told_of(&[
            (4_400, "asm_sysvec_apic_timer_interrupt", BLOCK),
            (4_800, "native_irq_return_iret", LEAVES),
            (4_840, "copy_pages", BLOCK),
            (5_120, "asm_sysvec_apic_timer_interrupt", BLOCK),
            (8_000, "native_irq_return_iret", LEAVES),
        ]);
        assert_eq!((late.delivery, late.interrupt_ns), (Delivery::AtOnce, Some(5_120)));
    }
}
