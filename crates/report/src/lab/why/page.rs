//! The same as a page.

use super::super::model::MODELLED;
use super::answer::OutsideAnswer;
use super::model::{OutsideReport, Stretch};
use crate::answer::value;
use crate::encode::html::setting::provenance;
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Page, Section};
use crate::layout::{as_percent, counted};
use punctual_recording::{Document, format_ns};

/// At most this many stretches have rows; if there are more, the page says so.
const MAX_STRETCHES: usize = 400;

/// The page of an episode that was looked at from outside; `document` is the guest's recording's own.
pub fn outside_page(report: &OutsideReport<'_>, document: &Document) -> Page {
    Page {
        title: format!("{} of episode {}, from outside", report.victim, report.episode),
        context: format!("punctual lab why · {} · seed {}", report.kernel, report.seed),
        verdict: report.verdict(),
        next: report.next().into(),
        warnings: report.notes(),
        blind: vec![MODELLED.to_owned()],
        sections: vec![arrival(report), stretches(report), functions(report), classes(report), origin(document)],
        report: value(&OutsideAnswer::new(report)),
    }
}

fn arrival(report: &OutsideReport<'_>) -> Section {
    Section {
        id: "arrival".into(),
        title: "Why the interrupt came when it did".into(),
        lead: report.arrival_in_words(),
        blocks: vec![Block::Text(report.proof())],
    }
}

fn stretches(report: &OutsideReport<'_>) -> Section {
    let row = |stretch: &Stretch| {
        let named: Vec<&str> = stretch.functions.iter().map(|function| function.name.as_str()).collect();
        vec![
            Value::text(stretch.what()),
            Value::Ns(Some(stretch.ns)),
            Value::Ns(Some(stretch.at_ns)),
            Value::text(named.join(", ")),
        ]
    };
    // A telephone has room for the first ones.
    let columns = vec![
        Column::words("what"),
        Column::numbers("for us"),
        Column::numbers("at us"),
        Column::words("functions, longest first"),
    ];
    let rows: Vec<Vec<Value>> = report.stretches.iter().take(MAX_STRETCHES).map(row).collect();
    let mut blocks = vec![Block::Table(Table { caption: "From due to running".into(), columns, rows })];
    if let Some(more) = report.stretches.len().checked_sub(MAX_STRETCHES + 1) {
        blocks.push(Block::Text(format!("Not shown: {}.", counted(more + 1, "more piece"))));
    }
    Section {
        id: "stretches".into(),
        title: "What had the CPU".into(),
        lead: "Each stretch of time in one place, in order, without gap or overlap: they add up to the lateness."
            .into(),
        blocks,
    }
}

fn functions(report: &OutsideReport<'_>) -> Section {
    let share = |ns: u64| as_percent(ns, report.total_ns);
    let rows = report.functions.iter();
    let rows = rows.map(|row| vec![Value::text(row.name.clone()), Value::Ns(Some(row.ns)), Value::text(share(row.ns))]);
    let columns = vec![Column::words("function"), Column::numbers("us"), Column::numbers("share")];
    let table = Table { caption: "Without what each called, longest first".into(), columns, rows: rows.collect() };
    let mut blocks = vec![Block::Table(table)];
    let (further, ns) = report.further;
    if further > 0 {
        blocks.push(Block::Text(format!(
            "Not shown: {}, {} in all.",
            counted(further, "more function"),
            format_ns(ns)
        )));
    }
    Section {
        id: "functions".into(),
        title: "Functions".into(),
        lead: "By their own time, over all stretches.".into(),
        blocks,
    }
}

fn classes(report: &OutsideReport<'_>) -> Section {
    let rows = report
        .classes
        .iter()
        .map(|row| vec![Value::text(row.class), Value::Ns(Some(row.inside_ns)), Value::Ns(Some(row.outside_ns))]);
    let columns =
        vec![Column::words("what had it"), Column::numbers("as why says, us"), Column::numbers("from outside, us")];
    let table = Table { caption: "Both add up to the lateness".into(), columns, rows: rows.collect() };
    Section {
        id: "classes".into(),
        title: "Inside beside outside".into(),
        lead: "The split that `punctual why` makes of the evidence in the guest, and what ran.".into(),
        blocks: vec![Block::Table(table)],
    }
}

fn origin(document: &Document) -> Section {
    let (table, _) = provenance(&[("recording".to_owned(), document)]);
    Section {
        id: "provenance".into(),
        title: "Provenance".into(),
        lead: "The guest, its settings and the command that measured. The seed sets the day on which its clock begins."
            .into(),
        blocks: vec![Block::Table(table)],
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{Arrival, ClassRow, FunctionRow, StretchKind};
    use super::super::text::outside_text;
    use super::*;
    use crate::why::page::tests::document;
    use std::path::Path;

    fn report() -> OutsideReport<'static> {
        let function = |name: &str, ns| FunctionRow { name: name.to_owned(), ns };
        let stretch = |at_ns, ns, kind, name: &str| Stretch {
            at_ns,
            ns,
            kind,
            name: name.to_owned(),
            thread: "khugepaged".to_owned(),
            tid: 40,
            is_numbered: false,
            functions: vec![function("copy_pages", ns)],
            all_functions: vec![function("copy_pages", ns)],
        };
        OutsideReport {
            kernel: "6.12".to_owned(),
            seed: 3,
            recording: Path::new("a b.punctual"),
            episode: 7,
            victim: "measure-0".to_owned(),
            victim_tid: 41,
            total_ns: 120_000,
            same_files: 6,
            times_found: 12,
            times: 12,
            passed_over: 1,
            instruction_ns: 4,
            instructions: 30_000,
            is_cut: false,
            arrival: Arrival::AtOnce { after_ns: 800 },
            later_off_ns: 0,
            stretches: vec![
                stretch(0, 800, StretchKind::Interrupt, "apic_timer_interrupt"),
                stretch(800, 119_200, StretchKind::Kernel, ""),
            ],
            functions: vec![function("copy_pages", 120_000)],
            further: (0, 0),
            classes: vec![ClassRow { class: "threads", inside_ns: 120_000, outside_ns: 119_200 }],
            used_ms: 90_000,
        }
    }

    #[test]
    fn the_verdict_sums_by_function_and_says_most_only_of_more_than_half() {
        let mut report = report();
        let all =
            |names: [(&str, u64); 2]| Vec::from(names.map(|(name, ns)| FunctionRow { name: name.to_owned(), ns }));
        // The longest stretch's first function is not the one that ran for longest.
        let mut other = report.stretches[1].clone();
        (other.at_ns, other.ns) = (60_000, 60_000);
        other.all_functions = all([("format_decode", 40_000), ("vsnprintf", 20_000)]);
        report.stretches[1].ns = 60_200;
        report.stretches[1].all_functions = all([("get_symbol_offset", 30_200), ("format_decode", 30_000)]);
        report.stretches.push(other);
        let verdict = report.verdict();
        assert!(verdict.ends_with("120 us of it khugepaged: kernel code, most of that in format_decode."), "{verdict}");
        report.stretches[1].all_functions = all([("get_symbol_offset", 50_200), ("format_decode", 10_000)]);
        let verdict = report.verdict();
        assert!(verdict.ends_with(", the largest part of that in get_symbol_offset, 42 %."), "{verdict}");
    }

    #[test]
    fn what_was_not_written_down_is_said_first_and_nothing_is_concluded_from_it() {
        let mut report = report();
        let mut missing = report.stretches[1].clone();
        (missing.at_ns, missing.ns, missing.kind) = (50_800, 69_200, StretchKind::NotWritten);
        missing.functions.clear();
        missing.all_functions.clear();
        report.stretches[0].kind = StretchKind::Kernel;
        report.stretches[1].ns = 50_000;
        report.stretches[1].all_functions[0].ns = 50_000;
        report.stretches.push(missing);
        (report.is_cut, report.arrival) = (true, Arrival::NotSeen);
        let verdict = report.verdict();
        let expected = ": what had the last 69.2 us of it was not written down; 50.8 us of it khugepaged: kernel code, \
                        most of that in copy_pages.";
        assert!(verdict.ends_with(expected), "{verdict}");
        let expected = "No interrupt was seen in the 50.8 us after it was due that were written down; whether one came \
                        later is not known.";
        assert_eq!(report.arrival_in_words(), expected);
        let text = outside_text(&report);
        assert!(text.contains("not written down"), "{text}");
        assert_eq!(value(&OutsideAnswer::new(&report))["stretches"][2]["kind"], "not_written");
        let notes = report.notes();
        assert!(notes.iter().any(|note| note.contains("and 69.2 us of the lateness with it")), "{notes:?}");
    }

    #[test]
    fn a_note_says_for_how_long_interrupts_were_off_once_more() {
        let mut report = report();
        let noted = |report: &OutsideReport<'_>| report.notes().iter().any(|note| note.contains("once more after"));
        report.later_off_ns = 11_000;
        assert!(!noted(&report), "less than a tenth: {:?}", report.notes());
        report.later_off_ns = 70_000;
        let expected = "interrupts were off once more after that one came, for at least 70.0 us in all";
        assert!(report.notes().iter().any(|note| note == expected), "{:?}", report.notes());
        assert_eq!(value(&OutsideAnswer::new(&report))["later_off_ns"], 70_000);
    }

    #[test]
    fn functions_that_are_left_out_are_counted() {
        let mut report = report();
        let last = |report: &OutsideReport<'_>| outside_page(report, &document()).sections[2].blocks.len();
        assert_eq!(last(&report), 1, "none is left out");
        report.further = (12, 14_200);
        let answer = value(&OutsideAnswer::new(&report));
        assert_eq!((&answer["further_functions"], &answer["further_functions_ns"]), (&12.into(), &14_200.into()));
        let page = outside_page(&report, &document());
        let Some(Block::Text(words)) = page.sections[2].blocks.last() else { panic!("the page says nothing of them") };
        assert_eq!(words, "Not shown: 12 more functions, 14.2 us in all.");
    }

    #[test]
    fn threads_of_one_name_have_their_numbers() {
        let mut report = report();
        for stretch in &mut report.stretches {
            (stretch.thread, stretch.is_numbered) = ("measure-0".to_owned(), true);
        }
        let text = outside_text(&report);
        assert!(text.starts_with("Seen from outside, measure-0 (thread 41) of episode 7"), "{text}");
        assert!(text.contains("measure-0 (thread 40): kernel code"), "{text}");
        assert_eq!(value(&OutsideAnswer::new(&report))["stretches"][1]["tid"], 40);
    }

    #[test]
    fn the_arrival_says_on_only_of_what_was_on() {
        let mut report = report();
        let on_in = "do_idle".to_owned();
        report.arrival = Arrival::OffBefore { after_ns: 2_100, off_at_ns: -4_000, on_after_ns: 2_000, on_in };
        let expected = "The interrupt came 2.10 us after it was due: interrupts were off, for at least 6.00 us. Who had \
                        turned them off is not known; do_idle turned them on 2.00 us after it was due.";
        assert_eq!(report.arrival_in_words(), expected);
        report.arrival = Arrival::NotKnown { after_ns: 2_100, on_after_ns: None, on_in: None };
        assert!(report.arrival_in_words().ends_with("it is not known whether interrupts were off."));
        report.arrival = Arrival::AtOnce { after_ns: 20_000 };
        let words = report.arrival_in_words();
        assert!(words.contains("What else held it back"), "{words}");
        report.arrival = Arrival::NotSeen;
        let words = report.arrival_in_words();
        assert!(words.contains("interrupt apic_timer_interrupt was already being served"), "{words}");
        report.stretches.remove(0);
        assert_eq!(report.arrival_in_words(), "No interrupt was seen between due and running.");
    }

    #[test]
    fn a_sentence_begins_with_a_capital_where_a_function_has_no_name() {
        let mut report = report();
        for (off_in, beginning) in [
            ("code without a name", "Code without a name"),
            ("a program's own code", "A program's own code"),
            ("_raw_spin_lock_irq", "_raw_spin_lock_irq"),
        ] {
            report.arrival = Arrival::InterruptsOff {
                after_ns: 2_100,
                off_from_ns: -4_000,
                on_after_ns: 2_000,
                off_in: off_in.to_owned(),
                off_for: Some("one".to_owned()),
                on_in: "code without a name".to_owned(),
            };
            let expected = format!(
                "The interrupt came 2.10 us after it was due: interrupts were off. {beginning}, called by one, had turned \
                 them off 4.00 us before, and code without a name turned them on 2.00 us after it was due."
            );
            assert_eq!(report.arrival_in_words(), expected);
            let on_in = Some(off_in.to_owned());
            report.arrival = Arrival::NotKnown { after_ns: 2_100, on_after_ns: Some(50), on_in };
            let words = report.arrival_in_words();
            assert!(words.contains(&format!(". {beginning} turned them on 50 ns after it was due")), "{words}");
        }
    }

    #[test]
    fn interrupts_that_were_off_in_the_end_explain_no_more_than_the_end() {
        let words = |on_when_due, off_from_ns: Option<u64>| {
            let mut report = report();
            report.arrival = Arrival::Otherwise {
                after_ns: 2_200_000,
                on_when_due,
                off_from_ns,
                on_after_ns: off_from_ns.map(|_| 2_200_000),
                off_in: off_from_ns.map(|_| "mask_then_cli".to_owned()),
                off_for: off_from_ns.map(|_| "one".to_owned()),
            };
            report.arrival_in_words()
        };
        let unseen =
            "something else held it back, such as a raised task priority (CR8) or a masked timer, which is not seen.";
        let late = "The interrupt came 2.20 ms after it was due: ";
        let on = format!("{late}interrupts were on when it was due, and {unseen}");
        assert_eq!(words(true, None), on);
        assert_eq!(words(true, Some(2_199_980)), on, "20 ns explain nothing");
        let last =
            " For the last 1.00 ms of that interrupts were off: mask_then_cli, called by one, had turned them off.";
        assert_eq!(words(true, Some(1_200_000)), format!("{on}{last}"));
        assert_eq!(words(false, None), format!("{late}interrupts were on for most of that, and {unseen}"));
        assert_eq!(words(false, Some(1_200_000)), format!("{late}what held it back at first is not known.{last}"));
    }

    #[test]
    fn a_note_says_where_the_time_of_ksoftirqd_counts() {
        let mut report = report();
        assert!(!report.notes().iter().any(|note| note.contains("ksoftirqd")), "{:?}", report.notes());
        report.stretches[1].thread = "ksoftirqd/0".to_owned();
        let notes = report.notes();
        assert!(notes.iter().any(|note| note.starts_with("119 us of kernel code ran in ksoftirqd")), "{notes:?}");
    }

    #[test]
    fn a_page_says_what_the_text_says_and_where_it_comes_from() {
        let (report, document) = (report(), document());
        let page = outside_page(&report, &document);
        let text = outside_text(&report);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], page.verdict, "the verdict comes first");
        let next: Vec<String> = page.next.iter().map(ToString::to_string).collect();
        assert_eq!(lines[lines.len() - next.len()..], next, "what to do comes last");
        assert!(next[0].contains("`punctual why 'a b.punctual' --episode 7`"), "{next:?}");
        let ids: Vec<&str> = page.sections.iter().map(|section| section.id.as_str()).collect();
        assert_eq!(ids, ["arrival", "stretches", "functions", "classes", "provenance"]);
        let [Block::Table(stretches)] = &page.sections[1].blocks[..] else { panic!("one table") };
        assert_eq!(stretches.columns[1].name, "for us");
        let ns: Vec<&Value> = stretches.rows.iter().map(|row| &row[1]).collect();
        assert_eq!(ns, [&Value::Ns(Some(800)), &Value::Ns(Some(119_200))]);
        let [Block::Table(provenance)] = &page.sections[4].blocks[..] else { panic!("one table") };
        let has = |name: &str| provenance.rows.iter().any(|row| row[0] == Value::text(name));
        assert!(["began", "kernel", "command", "punctual"].into_iter().all(has));
    }
}
