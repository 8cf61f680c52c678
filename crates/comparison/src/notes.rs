//! What a reader of a comparison must know first.

use crate::blocks::Run;
use crate::counts::{shared_devices, shared_loops, slow_request_ns};
use crate::differences::Difference;
use crate::loops;
use crate::settings::differences_of_runs;
use crate::side::{Side, summary};
use crate::standing::{Standing, began, out_of_turn};
use punctual_recording::{
    Document, EndReason, RecorderSummary, RecordingKind, RequestTimes, Stage, agreeing, counted, grouped, printable,
};
use std::collections::BTreeSet;

/// No more values of what differs between the runs of a side are named, and no more of each, characters.
const MAX_VALUES: usize = 3;
const MAX_VALUE: usize = 60;

fn notes_of_side(label: &str, side: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    let summary = summary(side);
    if summary.lost > 0 {
        notes.push(format!(
            "{label}: {} {} measured and lost",
            counted(summary.lost, "wakeup"),
            agreeing(summary.lost, "was", "were")
        ));
    }
    if summary.cut {
        notes.push(format!("{label}: a recording was cut short: its last second or so is missing"));
    }
    let recorders = side.runs.iter().filter_map(|run| run.document.recorder.as_ref());
    let times: Vec<RequestTimes> = recorders.filter_map(|recorder| recorder.request_times).collect();
    notes.extend(note_on_late_clients(label, &times));
    for run in &side.runs {
        let provenance = &run.document.provenance;
        let ended = run.document.ended.as_ref().map(|ended| ended.reason);
        let early = match ended {
            Some(EndReason::LimitExceeded) => Some("a recording stopped at its limit, which makes it look late"),
            Some(EndReason::Watchdog | EndReason::Failed) => Some("a recording was ended early"),
            _ => None,
        };
        let noted = provenance.notes_with_failure();
        let spoken = noted.iter().map(String::as_str).chain(early);
        for note in spoken.map(|note| format!("{label}: {note}")) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    if let Some(first) = side.runs.first() {
        let others = side.runs.iter().skip(1);
        let found: Vec<Difference> = others.flat_map(|run| differences_of_runs(first, run)).collect();
        notes.extend(varying(&found).map(|varying| format!("{label}: its own runs differ in {varying}")));
    }
    notes
}

/// In what the runs of one side differ from its first, with the values; `None` if in nothing.
fn varying(found: &[Difference]) -> Option<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for difference in found {
        let what = format!("{} {}", difference.area, difference.what);
        let position = all.iter().position(|(known, _)| *known == what);
        let position = position.unwrap_or_else(|| {
            all.push((what, Vec::new()));
            all.len() - 1
        });
        let values = &mut all[position].1;
        for value in
            [&difference.a, &difference.b].map(|value| value.as_deref().map_or_else(|| "none".to_owned(), shortened))
        {
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    let told = |(what, values): &(String, Vec<String>)| match values.len().saturating_sub(MAX_VALUES) {
        0 => format!("{what} ({})", values.join("; ")),
        more => format!("{what} ({}; and {more} more)", values[..MAX_VALUES].join("; ")),
    };
    let told: Vec<String> = all.iter().map(told).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// A value that fits into a line.
fn shortened(value: &str) -> String {
    let printed = printable(value);
    match printed.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}...", &printed[..end]),
        None => printed,
    }
}

/// That requests began without their timer, or may leave out the wait for their answer: what all runs of a side have of these.
fn note_on_late_clients(label: &str, times: &[RequestTimes]) -> Option<String> {
    let sum = |of: fn(&RequestTimes) -> u64| times.iter().map(of).fold(0, u64::saturating_add);
    let of_side = RequestTimes {
        without_timer: sum(|times| times.without_timer),
        late_from_due: sum(|times| times.late_from_due),
        maybe_several: sum(|times| times.maybe_several),
        after_answers: sum(|times| times.after_answers),
        unanswered: sum(|times| times.unanswered),
        ..RequestTimes::default()
    };
    let mut told = Vec::new();
    for (count, what) in of_side.of_late_clients().into_iter().filter(|(count, _)| *count > 0) {
        let requests = if told.is_empty() { counted(count, "request") } else { grouped(count) };
        told.push(format!("{requests} {what}"));
    }
    (!told.is_empty()).then(|| format!("{label}: {}", told.join("; ")))
}

/// Says that requests were recorded that cannot be compared.
fn note_on_requests(a: &Side, b: &Side) -> Option<String> {
    let documents = || a.runs.iter().chain(&b.runs).map(|run| &run.document);
    let are_of_requests =
        |document: &Document| document.recorder.as_ref().is_some_and(|recorder| recorder.stage == Stage::Request);
    let thresholds: BTreeSet<Option<u64>> = documents().map(slow_request_ns).collect();
    let are_compared = thresholds.len() == 1 && !thresholds.contains(&None);
    (documents().any(are_of_requests) && !are_compared).then(|| {
        "requests were not compared, since not all recordings have the same fixed threshold, such as `--why 20ms`: the verdict is \
         on how late each thread ran once it was woken; `punctual why` of each recording says which requests were late, and why"
            .to_owned()
    })
}

/// That devices were recorded, of which the wakeups are not, and whether their blocks are compared.
fn note_on_devices(a: &Side, b: &Side) -> Option<String> {
    let is_of_devices = |run: &Run| run.document.kind == Some(RecordingKind::Activations) || !run.served.is_empty();
    let note = match shared_devices(&a.runs, &b.runs).is_empty() {
        true => {
            "devices were not compared: the wakeups are those of the threads beside them; `punctual report` of each recording says \
             whether its devices kept up"
        }
        false => {
            "the wakeups are those of the threads beside the devices; the devices themselves are compared by their underruns"
        }
    };
    a.runs.iter().chain(&b.runs).any(is_of_devices).then(|| note.to_owned())
}

/// Which runs to leave out, so that the others were measured in turn.
fn to_be_in_turn(a: &Side, b: &Side) -> Option<String> {
    let [times_a, times_b] = [a, b].map(|side| began(side.runs.iter().map(|run| &run.document)));
    let left_out = out_of_turn(&times_a, &times_b)?;
    let of_side = |(places, label): (&Vec<usize>, &str)| {
        let places: Vec<String> = places.iter().map(|place| (place + 1).to_string()).collect();
        let runs = agreeing(places.len(), "run", "runs");
        (!places.is_empty()).then(|| format!("{runs} {} of {label}", places.join(", ")))
    };
    let runs: Vec<String> = left_out.iter().zip(["A", "B"]).filter_map(of_side).collect();
    Some(format!(". Without {} they were; counted in the order of their names, or as given", runs.join(" and ")))
}

pub(crate) fn notes(a: &Side, b: &Side, standing: Standing, is_paired: bool) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(note_on_requests(a, b));
    let mut recorders = a.runs.iter().chain(&b.runs).filter_map(|run| run.document.recorder.as_ref());
    notes.extend(recorders.find_map(RecorderSummary::note_on_response).map(str::to_owned));
    notes.extend(note_on_devices(a, b));
    notes.extend(notes_of_side("A", a));
    notes.extend(notes_of_side("B", b));
    for name in shared_loops(&a.runs, &b.runs).map_or_else(Vec::new, |(_, names)| names) {
        notes.extend(loops::notes_on_unseen("A", &a.runs, name));
        notes.extend(loops::notes_on_unseen("B", &b.runs, name));
    }
    let run_ids = |side: &Side| -> BTreeSet<String> {
        side.runs.iter().map(|run| run.document.provenance.run_id.clone()).filter(|id| !id.is_empty()).collect()
    };
    if run_ids(a).intersection(&run_ids(b)).next().is_some() {
        notes.push("the same run is on both sides".to_owned());
    }
    let in_turn = (standing == Standing::Systems && !is_paired).then(|| to_be_in_turn(a, b)).flatten();
    notes.extend(standing.note(is_paired).map(|note| note.to_owned() + &in_turn.unwrap_or_default()));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_the_runs_of_a_side_is_named_with_its_values() {
        let difference = |area, what: &str, a: Option<&str>, b: Option<&str>| Difference {
            area,
            what: what.to_owned(),
            a: a.map(str::to_owned),
            b: b.map(str::to_owned),
        };
        let option = |b: Option<&str>| difference("program", "options", Some("--comm ^my-loop"), b);
        let kernel = difference("host", "kernel", Some("6.1"), Some("6.12"));
        let exact = option(Some("--comm ^my-loop$"));
        for (found, expected) in [
            (vec![], None),
            (vec![exact.clone(), exact.clone()], Some("program options (--comm ^my-loop; --comm ^my-loop$)")),
            (
                vec![exact.clone(), kernel, option(None)],
                Some("program options (--comm ^my-loop; --comm ^my-loop$; none), host kernel (6.1; 6.12)"),
            ),
            (
                vec![exact, option(None), option(Some("-i 1ms")), option(Some("-i 2ms"))],
                Some("program options (--comm ^my-loop; --comm ^my-loop$; none; and 2 more)"),
            ),
        ] {
            assert_eq!(varying(&found).as_deref(), expected, "{found:?}");
        }
        let long = varying(&[option(Some("x".repeat(70).as_str()))]).unwrap();
        assert_eq!(long, format!("program options (--comm ^my-loop; {}...)", "x".repeat(60)));
    }

    #[test]
    fn requests_of_late_clients_are_counted_over_all_runs_of_a_side() {
        let behind = RequestTimes { without_timer: 600, late_from_due: 400, ..RequestTimes::default() };
        let other = RequestTimes { without_timer: 213, late_from_due: 2, maybe_several: 1, ..RequestTimes::default() };
        let after = RequestTimes { after_answers: 3_191, ..RequestTimes::default() };
        let began = |count: &str| {
            format!(
                "B: {count} requests began without their timer, because the client was behind, and are timed from when they were sent, not from \
                 when they were due"
            )
        };
        let several = "1 may be several requests of a client that was behind its timer";
        let left_out = "B: 3,191 requests may begin with the answer to the one before, and leave out the wait for it, if the client was behind its timer \
                        or had none";
        for (times, expected) in [
            (&[RequestTimes::default(); 3][..], None),
            (
                &[behind, other][..],
                Some(format!(
                    "{} (counted from then, 402 more took longer than the threshold); {several}",
                    began("813")
                )),
            ),
            (&[RequestTimes { late_from_due: 0, ..behind }][..], Some(began("600"))),
            (&[after][..], Some(left_out.to_owned())),
        ] {
            assert_eq!(note_on_late_clients("B", times), expected);
        }
    }
}
