//! Of a recording, or several side by side, and of a check: how late wakeups were, and under what load.

use crate::layout::{counted, grouped, is_simulated, on_machine, percent, shortened, spoken_duration};
use crate::recording::followed::{never_slept_in_words, who_woke, with_policy};
use crate::recording::names::files_apart;
use crate::why::request_times::may_be_late;
use crate::why::words::is_much;
use crate::{Measurement, load_name, stage_rows};
use punctual_device::{Profile, Source};
use punctual_forecast::JudgedDevice;
use punctual_recording::{
    Counters, Distribution, Document, EndReason, Followed, NO_LOAD, RecordingKind, Stage, THREADS_RESTED, Wakeup,
    format_ns,
};
use std::path::PathBuf;

pub(super) fn total(document: &Document) -> Distribution {
    document.distributions.sum(|key| key.stage == Stage::Total)
}

/// The verdict on recordings side by side, or made one at a time.
pub fn recording_verdict(documents: &[&Document]) -> String {
    let sentences: Vec<String> = documents.iter().flat_map(|document| sentences_on(document, documents)).collect();
    sentences.join(" ")
}

/// The verdict on the parts of a report, each after the name of its file if their loads do not tell them apart.
pub fn recordings_verdict(parts: &[(PathBuf, Document)]) -> String {
    let documents: Vec<&Document> = parts.iter().map(|(_, document)| document).collect();
    let Some(files) = files_apart(parts) else { return recording_verdict(&documents) };
    let named = documents.iter().zip(files);
    let named = named.map(|(document, file)| format!("{file}: {}", sentences_on(document, &documents).join(" ")));
    named.collect::<Vec<String>>().join(" ")
}

/// The sentences on one of these recordings.
fn sentences_on(document: &Document, documents: &[&Document]) -> Vec<String> {
    let mut sentences: Vec<String> = load_failure_in_words(document).into_iter().collect();
    let total = total(document);
    let load = load_in_words(document) + &on_machine(document, documents);
    let (Some(max), Some(median)) = (total.max(), total.quantile(0.5)) else {
        let unjudged = if document.limits.is_empty() { "" } else { ", so no limit can be judged" };
        sentences.push(format!("No wakeup was measured {load}{unjudged}."));
        sentences.extend(never_slept_in_words(document).map(|told| told + "."));
        sentences.extend(never_slept(document));
        sentences.extend(end_in_words(document));
        return sentences;
    };
    if let Some(followed) = &document.followed {
        sentences.push(followed_verdict(document, followed, &load));
        sentences.extend(late_clients_in_words(document));
        sentences.extend(over_limits(document));
        sentences.extend(end_in_words(document));
        return sentences;
    }
    let mut sentence = format!(
        "In {} {load}, the worst of {} ran {} late; half ran within {}",
        spoken_duration(document),
        counted(total.count(), "wakeup"),
        format_ns(max),
        format_ns(median)
    );
    if total.count() >= 1_000 {
        sentence += &format!(", 99.9 % within {}", format_ns(total.quantile(0.999).unwrap_or(max)));
    }
    sentences.push(sentence + ".");
    sentences.extend(missed_in_words(document));
    sentences.extend(over_limits(document));
    sentences.extend(end_in_words(document));
    sentences
}

/// The verdict on a recording of other programs' threads.
pub(crate) fn followed_verdict(document: &Document, followed: &Followed, load: &str) -> String {
    let rows = stage_rows(document);
    let (all, judged, context) = (total(document), document.judged(Stage::Total), document.context_measures());
    // How late threads ran that are there for context is in the tables.
    let are_named = judged.count() > 0 && judged.count() < all.count();
    let totals = rows.iter().filter(|row| row.stage == Stage::Total && row.cpu.is_none());
    let told = totals.filter(|row| !are_named || !context.contains(row.measure.as_str()));
    let Some(worst) = told.max_by_key(|row| row.max_ns) else { return String::new() };
    let (named, half) = match are_named {
        true => (format!(", those asked for by name {}", counted(judged.count(), "time")), "half of these"),
        false => (String::new(), "half"),
    };
    let those = if are_named { &judged } else { &all };
    let mut sentence = format!(
        "In {} {load}, {} woke {}{named}; {half} ran within {} of being woken",
        spoken_duration(document),
        who_woke(document, followed),
        counted(all.count(), "time"),
        format_ns(those.quantile(0.5).unwrap_or(0)),
    );
    if those.count() >= 1_000 {
        sentence += &format!(", 99.9 % within {}", format_ns(those.quantile(0.999).unwrap_or(0)));
    }
    sentence
        + &format!(
            "; the slowest ({}) ran after {}.",
            with_policy(&worst.measure),
            format_ns(worst.max_ns.unwrap_or(0))
        )
}

/// That more requests may have been late than were seen, because clients were behind their timers.
fn late_clients_in_words(document: &Document) -> Option<String> {
    let recorder = document.recorder.as_ref().filter(|recorder| recorder.stage == Stage::Request)?;
    let told = may_be_late(recorder, &is_much).map(|(count, what)| format!("{} {what}", grouped(count)));
    let told: Vec<String> = told.collect();
    let all = counted(recorder.requests?, "recognised request");
    (!told.is_empty()).then(|| format!("Of {all} {}.", told.join("; ")))
}

/// What it may mean that threads existed but never woke.
fn never_slept(document: &Document) -> Option<String> {
    let watched = document.followed.is_some() && !document.tasks.is_empty();
    watched.then(|| {
        "The followed threads either slept all the time or never slept, which is how a loop looks that spins or is always behind: \
         `top -H` tells which. A loop that is behind needs a real-time priority, or less to do."
            .to_owned()
    })
}

/// Of a longer name of a load, characters, or of the command that was followed, a sentence has the ends; the heading has all of it.
const MAX_SPOKEN: usize = 100;

/// The conditions of the measurement. A machine on which other programs work is not idle just because no load was added.
fn load_in_words(document: &Document) -> String {
    let name = || shortened(load_name(document), MAX_SPOKEN);
    let beside = |load: &str| match load {
        NO_LOAD => String::new(),
        load => format!(" under load ({})", shortened(load, MAX_SPOKEN)),
    };
    if document.followed.as_ref().is_some_and(Followed::is_of_the_command) {
        let (load, command) = document.started_command().unwrap_or((NO_LOAD, load_name(document)));
        return format!("of the command ({}){}", shortened(command, MAX_SPOKEN), beside(load));
    }
    // It may be the followed threads' own, and need not be a load.
    if let Some((load, command)) = document.started_command() {
        return format!("with the command ({}) running{}", shortened(command, MAX_SPOKEN), beside(load));
    }
    if is_simulated(document) {
        return format!("of a simulated machine ({})", name());
    }
    // What keeps the CPU busy beside the bystander is the device, and what competes with it.
    if is_beside_devices(document) && load_name(document) == NO_LOAD {
        return "beside the device, with no load added".to_owned();
    }
    match (load_name(document), busy_with_others(document)) {
        (NO_LOAD, None) => "with no load added".to_owned(),
        (NO_LOAD, Some(percent)) => {
            format!("with no load added, while other programs kept the CPUs {percent:.0} % busy")
        }
        _ => format!("under load ({})", name()),
    }
}

/// Whether the wakeups are of a bystander of devices: these, and what competes with them, are no other programs.
fn is_beside_devices(document: &Document) -> bool {
    document.kind == Some(RecordingKind::Activations)
}

fn busy_with_others(document: &Document) -> Option<f64> {
    let others_share = document.counters.others_share().filter(|_| !is_beside_devices(document));
    crate::layout::busy_with_others(load_name(document), others_share)
}

/// Says that the threads could not keep up if so many periods passed without a wakeup that the figures do not belong to
/// the requested period.
fn missed_in_words(document: &Document) -> Option<String> {
    let missed = document.counters.missed?;
    let periods = document.counters.wakeups.saturating_add(missed);
    let is_much = missed.saturating_mul(MUCH) > periods;
    let shortest = document.tasks.iter().map(|task| task.period_ns).filter(|period| *period > 0).min()?;
    is_much.then(|| {
        let rested = document.provenance.fallbacks.iter().any(|note| note == THREADS_RESTED);
        let why = if rested { "rested, so that others had some of their CPU" } else { "could not keep up" };
        format!(
            "{} of {} went by without a wakeup: at an interval of {} the threads {why}.",
            grouped(missed),
            counted(periods, "period"),
            format_ns(shortest)
        )
    })
}

/// The verdict mentions missed periods if they are at least one in this many.
const MUCH: u64 = 20;

fn over_limits(document: &Document) -> Vec<String> {
    let mut sentences = Vec::new();
    for limit in &document.limits {
        let stage = limit.of_stage();
        let wakeups = document.judged(stage).count();
        if limit.found_ns.is_none() {
            sentences.push(format!("No limit on the {} can be judged: no wakeup here has that stage.", stage.name()));
            continue;
        }
        if limit.exceeded {
            let found = limit.found_ns.map_or_else(|| "unknown".to_owned(), format_ns);
            let allowed = format_ns(limit.limit_ns);
            // For a followed thread, much else could be meant: its work, its response.
            let of = match (stage, &document.followed) {
                (Stage::Total, None) => String::new(),
                (Stage::Total, Some(_)) => " of the time until they ran".to_owned(),
                (stage, _) => format!(" of the {}", stage.name()),
            };
            let met = match (limit.what.as_str(), &document.followed) {
                ("any wakeup", None) => format!("the worst wakeup ran {found} late"),
                ("any wakeup", Some(_)) => format!("the longest{of} is {found}"),
                (what, _) => format!("{what}{of} is {found}"),
            };
            sentences.push(format!("Over the limit: {met}; {allowed} is allowed."));
        }
        if let Some(takes) = limit.takes_more_than(wakeups) {
            sentences.push(format!(
                "It takes {} wakeups to tell {} from the maximum, so the maximum of these {} was judged.",
                grouped(takes),
                limit.what,
                grouped(wakeups)
            ));
        }
    }
    sentences
}

pub(crate) fn end_in_words(document: &Document) -> Option<String> {
    let Some(ended) = &document.ended else {
        return Some("The recording was cut short: its last second or so is missing.".to_owned());
    };
    let detail = ended.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
    match ended.reason {
        EndReason::Completed | EndReason::CommandEnded | EndReason::LimitExceeded => None,
        EndReason::ThreadsEnded => Some("It ended when the followed threads did.".to_owned()),
        EndReason::Interrupted => Some(format!("It was interrupted{detail}; what was measured was kept.")),
        EndReason::Watchdog => Some(format!("It was ended early{detail}.")),
        EndReason::Failed => Some(format!("It failed{detail}.")),
    }
}

/// What has to be known first about a recording whose load was not the requested one.
pub(crate) fn load_failure_in_words(document: &Document) -> Option<String> {
    Some(format!("The {}.", document.provenance.load.failed_in_words()?))
}

/// The sentence about the end of a recording if nobody asked for it and it could still be noted.
pub(crate) fn failure_in_words(document: &Document) -> Option<String> {
    if document.ended.as_ref()?.reason.is_failure() { end_in_words(document) } else { None }
}

/// The verdict of a check: what it means for music, which everybody can hear.
pub fn check_verdict(measurement: &Measurement) -> String {
    let documents: Vec<&Document> = measurement.parts.iter().map(|(_, document)| document).collect();
    if documents.iter().all(|document| total(document).count() == 0) {
        return recording_verdict(&documents);
    }
    // For each part: its name, how long it was, and how often the device would have crackled on one CPU.
    let crackles = |id: &str| -> Vec<String> {
        let parts = documents.iter().filter_map(|document| {
            let load = load_name(document);
            let rows = measurement.devices.iter().filter(|row| row.answer.device.id == id && row.load == load);
            // Of threads of several priorities, those of which most would have.
            let count = rows.map(JudgedDevice::ran_dry).max()?;
            (count > 0).then(|| format!("{} in {} {}", times(count), spoken_duration(document), when(document)))
        });
        parts.collect()
    };
    let work = |id: &str| {
        let mut devices = measurement.devices.iter().map(|row| &row.answer.device);
        devices.find(|device| device.id == id).map_or_else(String::new, assumed_work)
    };
    let (small, large) = (crackles("audio64"), crackles("audio256"));
    let mut verdict = if !large.is_empty() {
        let work = work("audio256");
        format!("Music would have crackled {}, even with 256-frame buffers at 48 kHz{work}.", large.join(" and "))
    } else if !small.is_empty() {
        format!(
            "Music with 64-frame buffers at 48 kHz{} would have crackled {}; with 256 frames it would have played without a gap.",
            work("audio64"),
            small.join(" and ")
        )
    } else {
        let parts: Vec<String> =
            documents.iter().map(|document| format!("{} {}", spoken_duration(document), when(document))).collect();
        let work = work("audio64");
        format!(
            "Music with 64-frame buffers at 48 kHz{work} would have played without a gap for {}.",
            parts.join(" and ")
        )
    };
    let worst: Vec<String> = documents
        .iter()
        .filter_map(|document| Some(format!("{} late {}", format_ns(total(document).max()?), when(document))))
        .collect();
    verdict += &format!(" The worst wakeup{} ran {}.", of_threads(&documents), worst.join(" and "));
    let ends = documents.iter().filter_map(|document| end_in_words(document));
    verdict += &ends.map(|end| format!(" {end}")).collect::<String>();
    format!("{}{verdict}{}{}", conditions(&documents), not_idle(&documents), rested(&documents))
}

/// What is known of the host's part in the worst wakeup of each part of a check, to follow the verdict; empty if it had none.
pub fn steal_of_worst(measurement: &Measurement, worst: &[Option<Wakeup>]) -> String {
    let parts = measurement.parts.iter().map(|(_, document)| document).zip(worst);
    let sentence = |(document, worst): (&Document, &Option<Wakeup>)| {
        let steal_ns = worst.and_then(|worst| worst.steal_ns);
        steal_in_words(total(document).max()?, steal_ns, document.counters.steal_ns, when(document))
    };
    parts.filter_map(sentence).map(|sentence| format!(" {sentence}")).collect()
}

/// Whether the host ran something else for half of the worst wakeup of the whole check, or more.
pub fn host_took_worst(measurement: &Measurement, worst: &[Option<Wakeup>]) -> bool {
    let parts = measurement.parts.iter().map(|(_, document)| total(document).max().unwrap_or(0)).zip(worst);
    let longest = parts.max_by_key(|(late_ns, _)| *late_ns);
    longest.is_some_and(|(late_ns, worst)| Counters::are_mostly_steal(late_ns, worst.and_then(|worst| worst.steal_ns)))
}

/// The same of one wakeup that came so late, ns: `steal_ns` says how much of that the host took at most, `whole_ns` how much it
/// took in the whole part.
fn steal_in_words(late_ns: u64, steal_ns: Option<u64>, whole_ns: Option<u64>, when: &str) -> Option<String> {
    let late = format_ns(late_ns);
    match (steal_ns, whole_ns) {
        (Some(steal_ns), _) if Counters::are_mostly_steal(late_ns, Some(steal_ns)) => {
            Some(format!("Of the {late} {when}, the host ran something else for up to {}.", format_ns(steal_ns)))
        }
        (None, Some(whole_ns)) if whole_ns > 0 => Some(format!(
            "Whether the host ran something else during the {late} {when} cannot be told; it did for {} of that half.",
            format_ns(whole_ns)
        )),
        _ => None,
    }
}

/// The share of each period that a device is taken to work, as it follows what else is said of the device; nothing where
/// the share is no assumption.
fn assumed_work(device: &Profile) -> String {
    let percent = percent(device.compute_ns, device.period_ns);
    if matches!(device.sources.compute, Source::Assumption(_)) {
        format!(" and {percent:.0} % of each period of work (assumed)")
    } else {
        String::new()
    }
}

/// Says that the half without a load was not an idle machine, at the end of a check's verdict.
pub(super) fn not_idle(documents: &[&Document]) -> String {
    let percent = documents.iter().find_map(|document| busy_with_others(document));
    percent.map_or_else(String::new, |percent| {
        format!(" Other programs kept the CPUs busy even when no load was added: {percent:.0} % of their time.")
    })
}

/// Says that the instrument itself was a reason for missed periods, at the end of a check's verdict.
pub(super) fn rested(documents: &[&Document]) -> &'static str {
    let has_rested = |document: &&Document| document.provenance.fallbacks.iter().any(|note| note == THREADS_RESTED);
    match documents.iter().any(has_rested) {
        true => " punctual's own threads rested meanwhile, so that others had some of their CPU.",
        false => "",
    }
}

/// What has to be known before reading a check's verdict: that it rests on less than it should.
pub(super) fn conditions(documents: &[&Document]) -> String {
    let mut sentences = Vec::new();
    if let Some(why) = documents.iter().find_map(|document| document.provenance.at_normal_priority()) {
        sentences.push(at_normal_priority(why));
    }
    if let [only] = documents
        && load_name(only) == NO_LOAD
    {
        sentences.push("Only the half with no load added was measured: the check ended before the other.".to_owned());
    }
    sentences.extend(documents.iter().filter_map(|document| load_failure_in_words(document)));
    sentences.iter().map(|sentence| format!("{sentence} ")).collect()
}

/// Says that threads ran at normal priority, and in place of what; the reason and the remedy are in a note.
fn at_normal_priority(why: &str) -> String {
    match why.split_once(" (") {
        Some((not_what, _)) => format!("Measured at normal priority, {not_what}: the note says why."),
        None => format!("Measured at normal priority, {why}."),
    }
}

/// Which threads the parts of a check measured, in parentheses: policy and priority, and how often.
pub(super) fn of_threads(documents: &[&Document]) -> String {
    let Some(first) = documents.first() else { return String::new() };
    let mut measures: Vec<&str> = first.tasks.iter().map(|task| task.measure.as_str()).collect();
    measures.sort_unstable();
    measures.dedup();
    let every = Some(first.provenance.configuration.interval_ns).filter(|interval| *interval > 0);
    let every = every.map(|interval| format!("every {}", format_ns(interval)));
    let words: Vec<String> = measures.into_iter().map(str::to_owned).chain(every).collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

pub(super) fn when(document: &Document) -> &'static str {
    if load_name(document) == NO_LOAD { "with no load added" } else { "under load" }
}

pub(super) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => counted(count, "time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::{RecorderSummary, RequestTimes};

    #[test]
    fn the_reason_for_normal_priority_is_left_to_the_note() {
        let why = "not fifo:80 (Operation not permitted; run as root, or CAP_SYS_NICE)";
        assert_eq!(at_normal_priority(why), "Measured at normal priority, not fifo:80: the note says why.");
        assert_eq!(at_normal_priority("not fifo:80"), "Measured at normal priority, not fifo:80.");
    }

    #[test]
    fn the_verdict_on_followed_threads_says_where_clients_were_behind() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let told = |stage, request_times| {
            let mut document = serde_json::from_str::<Document>(text).unwrap();
            let (requests, request_times) = (Some(1_500), Some(request_times));
            document.recorder = Some(RecorderSummary { stage, requests, request_times, ..RecorderSummary::default() });
            recording_verdict(&[&document])
        };
        let behind =
            RequestTimes { without_timer: 813, late_from_due: 402, maybe_several: 2, ..RequestTimes::default() };
        let words = " Of 1,500 recognised requests 813 began without their timer, because the client was behind, and are timed from when they were \
                     sent, not from when they were due (counted from then, 402 more took longer than the threshold); 2 may each be several requests of a client that was behind its timer.";
        let verdict = told(Stage::Request, behind);
        assert!(verdict.contains(words), "{verdict}");
        for (stage, times) in [(Stage::Request, RequestTimes::default()), (Stage::Response, behind)] {
            let verdict = told(stage, times);
            assert!(!verdict.contains("recognised"), "{verdict}");
        }
    }

    #[test]
    fn that_the_instrument_rested_comes_last() {
        let text = include_str!("../../../cli/tests/golden/record.punctual/recording.json");
        let mut document = serde_json::from_str::<Document>(text).unwrap();
        assert_eq!(rested(&[&document]), "");
        document.provenance.fallbacks.push(THREADS_RESTED.to_owned());
        assert!(rested(&[&document]).starts_with(" punctual's own threads rested"));
        assert!(!conditions(&[&document]).contains("rested"), "{}", conditions(&[&document]));
    }

    #[test]
    fn a_check_says_when_its_worst_wakeup_was_the_host_s_or_that_nobody_can_tell() {
        const MS: u64 = 1_000_000;
        let told = |steal_ns, whole_ns| steal_in_words(6 * MS, steal_ns, whole_ns, "under load").unwrap_or_default();
        for (steal_ns, whole_ns, expected) in [
            (Some(5 * MS), Some(40 * MS), "Of the 6.00 ms under load, the host ran something else for up to 5.00 ms."),
            // The steps of the other counter are too coarse for it.
            (Some(3 * MS), Some(0), "Of the 6.00 ms under load, the host ran something else for up to 3.00 ms."),
            (
                None,
                Some(40 * MS),
                "Whether the host ran something else during the 6.00 ms under load cannot be told; it did for 40.0 ms of that half.",
            ),
            // Less than half of it; and no sign of any.
            (Some(2 * MS), Some(40 * MS), ""),
            (None, Some(0), ""),
            (None, None, ""),
        ] {
            assert_eq!(told(steal_ns, whole_ns), expected, "{steal_ns:?} {whole_ns:?}");
        }
        assert_eq!(steal_in_words(0, Some(0), Some(0), "under load"), None);
    }

    #[test]
    fn the_work_of_a_check_is_said_where_it_is_assumed() {
        let catalogue = punctual_device::Catalogue::shipped();
        for id in ["audio64", "audio256"] {
            let device = catalogue.find(id).expect("the check asks about it");
            assert_eq!(assumed_work(device), " and 10 % of each period of work (assumed)", "{id}");
            assert_eq!(assumed_work(&device.with_written_compute("50%").unwrap()), "", "{id}");
        }
    }
}
