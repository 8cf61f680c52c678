//! Text for people.

use crate::device::under_origins;
use crate::layout::{
    agreeing, counted, grouped, is_simulated, load_heading, on_machine, shell_word, spoken_duration, table,
};
use crate::recording::judged::{LATE_WAKEUPS, judged_devices};
use crate::recording::stages::stage_table;
use crate::why::request_times::{cut_in_words, times_in_words};
use crate::{Measurement, load_name, load_words, stage_rows};
use punctual_device::Profile;
use punctual_recording::{Counters, Document, RecorderSummary, Stage, format_ns, printable, printable_path};
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

/// The report on one or more recordings.
pub fn measurement_text(measurement: &Measurement) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", measurement.verdict);
    for note in notes(measurement) {
        let _ = writeln!(text, "note: {note}");
    }
    let documents: Vec<&Document> = measurement.parts.iter().map(|(_, document)| document).collect();
    for (path, document) in &measurement.parts {
        if let Some(followed) = &document.followed {
            let _ =
                write!(text, "\n{}", crate::recording::followed::followed_text(document, followed, measurement.by_cpu));
            if let Some(recorder) = &document.recorder {
                let _ = writeln!(text, "\n{}", crate::why::cost::recorder_lines(recorder, document.ended.is_none()));
                if let Some(lines) = requests_lines(recorder, path) {
                    let _ = writeln!(text, "{lines}");
                }
            }
            let _ = writeln!(text, "\n{}", recording_line(path, document));
            continue;
        }
        let _ = writeln!(text, "\n{}{}", heading(document), on_machine(document, &documents));
        let _ = writeln!(text, "{}", losses(document));
        if let Some(line) = load_line(document) {
            let _ = writeln!(text, "{line}");
        }
        if let Some(recorder) = &document.recorder {
            let _ = writeln!(text, "{}", crate::why::cost::recorder_lines(recorder, document.ended.is_none()));
        }
        let rows = stage_rows(document);
        let shown = rows.iter().filter(|row| measurement.by_cpu || row.cpu.is_none());
        let several = document.distributions.measures().len() > 1;
        let _ = writeln!(text, "\n{}", stage_table(shown, several, measurement.by_cpu, false));
        let _ = writeln!(text, "\n{}", recording_line(path, document));
    }
    for cycles in &measurement.cycles {
        let _ = writeln!(text, "\n{}\n", cycles.text());
    }
    if !measurement.devices.is_empty() {
        let _ = writeln!(text, "\n{}", device_table(measurement));
    }
    text
}

/// Where it is; of a sum, where the first is.
fn recording_line(path: &Path, document: &Document) -> String {
    match document.added {
        0 => format!("recording: {}", printable_path(path)),
        added => format!("recordings: {} and {} more", printable_path(path), grouped(added)),
    }
}

/// What is known of the requests of followed threads, of which the tables have nothing, and of responses, which end earlier there;
/// `None` if neither was asked.
fn requests_lines(recorder: &RecorderSummary, recording: &Path) -> Option<String> {
    if recorder.stage != Stage::Request {
        return recorder.note_on_response().map(str::to_owned);
    }
    let (late, explained) = match recorder.late {
        0 => ("none".to_owned(), String::new()),
        late => {
            let path = shell_word(&printable_path(recording));
            (grouped(late), format!("; `punctual why {path}` says what delayed the late ones"))
        }
    };
    let all = match recorder.requests {
        None => "not counted".to_owned(),
        Some(0) => "none recognised".to_owned(),
        Some(all) => format!("{} recognised", grouped(all)),
    };
    let threshold = printable(&recorder.threshold);
    let before = match recorder.not_judged {
        0 => String::new(),
        before => format!(" (the first {} came before that was known)", grouped(before)),
    };
    let times = times_in_words(recorder).map_or_else(|| cut_in_words(recorder), |times| format!("; {times}"));
    Some(format!(
        "requests: {all}, {late} beyond --why {threshold}{before}{times}\n\
         the tables end where a thread first sleeps, requests where it waits for more work{explained}"
    ))
}

/// What comes before the tables, each once: fallbacks, trouble with the load.
fn notes(measurement: &Measurement) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for (_, document) in &measurement.parts {
        for note in document.provenance.notes() {
            if known.insert(note) {
                notes.push(note.clone());
            }
        }
        if document.counters.lost > 0 {
            notes.push(format!(
                "{} {} measured and lost",
                counted(document.counters.lost, "wakeup"),
                agreeing(document.counters.lost, "was", "were")
            ));
        }
    }
    notes
}

fn heading(document: &Document) -> String {
    let provenance = &document.provenance;
    let mut measures: Vec<&str> = document.tasks.iter().map(|task| task.measure.as_str()).collect();
    measures.dedup();
    measures.sort_unstable();
    measures.dedup();
    let cpus: Vec<String> = provenance.configuration.cpus.iter().map(u32::to_string).collect();
    let via = match provenance.configuration.via.as_str() {
        "softirq" => " through a softirq callback",
        "driver" => " of a driver",
        _ => "",
    };
    // Of a driver it may not be known, and simulated devices each have their own.
    let every = match provenance.configuration.interval_ns {
        0 => String::new(),
        interval => format!(" every {}", format_ns(interval)),
    };
    format!(
        "{}: {}{every}{via} on CPU {}, {}, {}",
        if is_simulated(document) { format!("Simulated {}", load_name(document)) } else { load_heading(document) },
        measures.join(" and "),
        cpus.join(","),
        spoken_duration(document),
        counted(document.counters.wakeups, "wakeup")
    )
}

/// What the load got done, if that is known.
fn load_line(document: &Document) -> Option<String> {
    let load = &document.provenance.load;
    if load.scores.is_empty() {
        return None;
    }
    let mut line = format!("load did {}", crate::load::scores_in_words(&load.scores));
    if let Some(compression) = load.compression_thousandths {
        let _ = write!(line, "   an hour of it stands for {} of use", crate::layout::thousandths(compression));
    }
    Some(line)
}

fn losses(document: &Document) -> String {
    let Counters { wakeups, missed, unobserved, lost, armed_late, cpu_ns, .. } = document.counters;
    let missed = missed.map_or_else(|| "-".to_owned(), grouped);
    let mut line = format!("missed {missed}   unobserved {}   lost {}", grouped(unobserved), grouped(lost));
    if let Some(late) = armed_late.filter(|late| *late > 0) {
        let _ = write!(line, "   armed late {}", grouped(late));
    }
    if let Some(steal) = document.counters.steal_in_words() {
        let _ = write!(line, "   {steal}");
    }
    // Nothing costs nothing: it was not measured, as on a simulated machine.
    if let Some(cost) = cpu_ns.checked_div(wakeups).filter(|cost| *cost > 0) {
        let _ = write!(line, "   cost {} of CPU a wakeup", format_ns(cost));
    }
    line
}

fn device_table(measurement: &Measurement) -> String {
    let mut loads: Vec<&str> = Vec::new();
    for row in &measurement.devices {
        if !loads.contains(&row.load.as_str()) {
            loads.push(&row.load);
        }
    }
    let headings: Vec<String> = loads.iter().map(|load| format!("late wakeups, {}", load_words(load))).collect();
    let last = loads.last().copied().unwrap_or_default();
    let verdict = format!("forecast, {}", load_words(last));
    let mut header = vec!["device", "tolerance", "slack"];
    header.extend(headings.iter().map(String::as_str));
    header.push(&verdict);
    let devices = judged_devices(&measurement.devices);
    let rows = devices.iter().filter_map(|device| {
        // Of threads of several priorities, those of which the verdict speaks.
        let of_load = |load: &str| {
            let own = measurement.devices.iter().filter(|row| row.answer.device == **device && row.load == load);
            own.max_by_key(|row| row.ran_dry())
        };
        let row = of_load(last)?;
        let mut tolerance = format_ns(device.tolerance_ns());
        if let Some(printed) = &device.printed {
            let (from, to) = printed.tolerance_ns;
            tolerance += &format!(" ({} to {})", format_ns(from), format_ns(to));
        }
        let slack = u64::try_from(device.slack_ns()).map_or("none".to_owned(), format_ns);
        let mut cells = vec![device.name_among(devices.iter().copied()), tolerance, slack];
        cells.extend(loads.iter().map(|load| of_load(load).map_or("-".to_owned(), |row| grouped(row.late_wakeups))));
        cells.push(crate::forecast::outcome_in_words(&row.answer));
        Some((*device, cells))
    });
    let (shown, rows): (Vec<&Profile>, Vec<Vec<String>>) = rows.unzip();
    let mut text = format!("{LATE_WAKEUPS} (in parentheses after a tolerance: the range its source prints)\n\n");
    text += &table(&header, 3..3 + loads.len(), under_origins(shown.into_iter(), rows.into_iter()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests_support::input;
    use punctual_device::Catalogue;
    use punctual_forecast::{JudgedDevice, Question, answer};
    use punctual_recording::RequestTimes;

    /// The verdict speaks of the threads of which most would have run dry; so does the table below it.
    #[test]
    fn why_a_load_failed_stands_in_the_verdict_alone() {
        let mut document = crate::why::page::tests::document();
        document.provenance.load.failure = Some("stress ended with 1".to_owned());
        document.provenance.load.trouble = ["stress ended with 1", "the load rested"].map(str::to_owned).to_vec();
        let verdict = crate::recording_verdict(&[&document]);
        let measurement = Measurement { parts: vec![("a".into(), document)], verdict, ..Measurement::default() };
        let text = measurement_text(&measurement);
        assert_eq!(text.matches("stress ended with 1").count(), 1, "{text}");
        assert!(text.contains("note: the load rested\n"), "{text}");
    }

    #[test]
    fn requests_are_counted_below_the_tables_that_do_not_have_them() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let said = |recorder: RecorderSummary| {
            let mut document: Document = serde_json::from_str(text).unwrap();
            document.recorder = Some(recorder);
            let measurement = Measurement { parts: vec![("a b.punctual".into(), document)], ..Measurement::default() };
            let text = measurement_text(&measurement);
            let found = text.find("requests: ").map(|at| text[at..].lines().take(2).collect::<Vec<&str>>());
            found.unwrap_or_default().join("\n")
        };
        let asked = RecorderSummary {
            stage: Stage::Request,
            threshold: "p99".into(),
            requests: Some(1_103),
            request_times: Some(RequestTimes {
                p50_ns: 1_200_000,
                p99_ns: Some(8_310_000),
                max_ns: 31_000_000,
                sure: 1_103,
                ..RequestTimes::default()
            }),
            late: 11,
            ..RecorderSummary::default()
        };
        assert_eq!(
            said(asked.clone()),
            "requests: 1,103 recognised, 11 beyond --why p99; p50 1.20 ms, p99 8.31 ms, longest 31.0 ms\n\
             the tables end where a thread first sleeps, requests where it waits for more work; `punctual why 'a b.punctual'` says what \
             delayed the late ones"
        );
        let before = said(RecorderSummary { not_judged: 1_089, ..asked.clone() });
        let begins =
            "requests: 1,103 recognised, 11 beyond --why p99 (the first 1,089 came before that was known); p50 1.20 ms";
        assert!(before.starts_with(begins), "{before}");
        let older = said(RecorderSummary { requests: None, request_times: None, late: 0, ..asked.clone() });
        assert_eq!(
            older,
            "requests: not counted, none beyond --why p99\n\
             the tables end where a thread first sleeps, requests where it waits for more work"
        );
        let none =
            RecorderSummary { requests: Some(0), request_times: None, late: 0, cut_requests: 3, ..asked.clone() };
        let none = said(none);
        assert!(
            none.starts_with(
                "requests: none recognised, none beyond --why p99; another 3 were not followed to the end\n"
            ),
            "{none}"
        );
        assert_eq!(said(RecorderSummary { stage: Stage::Response, ..asked }), "");
    }

    #[test]
    fn a_table_of_devices_says_whose_they_are() {
        let told = |specs: &[&str]| {
            let devices = specs.iter().map(|spec| Catalogue::shipped().parse_spec(spec).unwrap()).collect();
            let question = Question { devices, ..Question::default() };
            let found = answer(&[input(30, 0)], &question).unwrap();
            let judged = found.groups[0].devices.iter().map(|answer| JudgedDevice {
                load: "mixed".to_owned(),
                measure: "fifo:80".to_owned(),
                answer: answer.clone(),
                late_wakeups: 7,
                late_wakeups_on_worst_cpu: 7,
            });
            let text = device_table(&Measurement { devices: judged.collect(), ..Measurement::default() });
            let lines = text.lines().skip(3).map(|line| line.split("  ").next().unwrap_or_default().to_owned());
            lines.collect::<Vec<String>>()
        };
        let names = |specs: &[&str]| {
            let name = |spec: &&str| Catalogue::shipped().parse_spec(spec).unwrap().name;
            specs.iter().map(name).collect::<Vec<String>>()
        };
        let (today, papers) = (names(&["audio64"]), names(&["modem"]));
        let expected = [vec!["today's:".to_owned()], today, vec!["the papers':".to_owned()], papers.clone()].concat();
        assert_eq!(told(&["audio64", "modem"]), expected);
        assert_eq!(told(&["modem"]), papers);
    }

    #[test]
    fn a_table_of_devices_is_of_the_threads_that_the_verdict_is_of() {
        let device = Catalogue::shipped().parse_spec("ros2-control").unwrap();
        let question = Question { devices: vec![device], ..Question::default() };
        let judged = |stalls: u64, late_wakeups: u64| JudgedDevice {
            load: "mixed".to_owned(),
            measure: format!("fifo:{stalls}"),
            answer: answer(&[input(stalls, 0)], &question).unwrap().groups[0].devices[0].clone(),
            late_wakeups,
            late_wakeups_on_worst_cpu: late_wakeups,
        };
        let measurement = Measurement {
            devices: vec![judged(30, 77_777), judged(3_000, 5_000), judged(20, 88_888)],
            ..Measurement::default()
        };
        let text = device_table(&measurement);
        assert!(text.contains("late wakeups, mixed") && text.contains(" 5,000 "), "{text}");
        assert!(!text.contains("77,777") && text.contains("each wait counts once, however many wakeups"), "{text}");
    }
}
