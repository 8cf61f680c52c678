//! Compares a recording's first part with the rest of it, and each recording with the next: `scripts/back-test` makes
//! the recordings.
//!
//! `cargo bench -p punctual-forecast --bench backtest -- [--next] [--first SECONDS] A.punctual ...`
//!
//! For every shipped device and CPU it prints the mean time between underruns that is forecast from the first seconds
//! (a tenth by default), and what the rest had. It holds out wakeups, so this shows what the interval is worth if the
//! load stays as it was. With `--next` it also forecasts from each whole recording and prints what the next one had,
//! with the limit below which the next hour should stay.

use punctual_device::Catalogue;
use punctual_forecast::{Horizon, Input, Late, Lateness, Question, Stage, answer, format_seconds};
use punctual_recording::{Distribution, Recording, TAIL_LENGTH};

/// The part of a recording that lies within `from..to` of its wakeups.
fn part(recording: &Recording, from: f64, to: f64) -> Result<Vec<Input>, Box<dyn std::error::Error>> {
    let document = recording.document();
    let (tail, seconds) = recording.tail_and_seconds()?;
    let whole = Input::from_recording(document, &tail, &seconds, recording.damaged())?;
    let (mut first, mut last) = (u64::MAX, 0);
    recording.for_each_wakeup(|wakeup| {
        first = first.min(wakeup.expected_ns);
        last = last.max(wakeup.expected_ns);
    })?;
    let at = |share: f64| first + ((last - first) as f64 * share) as u64;
    let (begin, end) = (at(from), at(to));
    let mut parts = Vec::new();
    for input in whole {
        let mut part = Input { exposure_ns: end - begin, ..input };
        for task in &mut part.tasks {
            (task.wakeups, task.missed) = (0, Some(0));
        }
        let mut own: Vec<(Distribution, Vec<Late>)> = part.tasks.iter().map(|_| Default::default()).collect();
        recording.for_each_wakeup(|wakeup| {
            let position = part.tasks.iter().position(|task| task.tid == wakeup.tid);
            let Some(task) = position.filter(|_| (begin..end).contains(&wakeup.expected_ns)) else { return };
            part.tasks[task].wakeups += 1;
            *part.tasks[task].missed.get_or_insert(0) += wakeup.missed;
            own[task].0.record(wakeup.total_ns);
            own[task].1.push(Late { at_ns: wakeup.expected_ns - begin, task, value_ns: wakeup.total_ns });
        })?;
        let lateness = lateness(own);
        part.stages = [(Stage::Total, lateness)].into();
        parts.push(part);
    }
    Ok(parts)
}

/// What each task had, keeping its largest values as a recording keeps them.
fn lateness(tasks: Vec<(Distribution, Vec<Late>)>) -> Lateness {
    let (mut distribution, mut largest, mut by_task) = (Distribution::new(), Vec::new(), Vec::new());
    for (own, mut values) in tasks {
        values.sort_unstable_by_key(|late| std::cmp::Reverse(late.value_ns));
        let complete_above_ns = values.get(TAIL_LENGTH).map_or(0, |late| late.value_ns);
        values.truncate(TAIL_LENGTH);
        largest.extend(values);
        distribution.add(&own);
        by_task.push((own, complete_above_ns));
    }
    largest.sort_unstable();
    let complete_above_ns = by_task.iter().map(|task| task.1).max().unwrap_or(0);
    Lateness { distribution, largest, complete_above_ns, by_task }
}

/// How the forecasts of one recording fared.
#[derive(Default)]
struct Tally {
    agree: u32,
    /// The interval holds the mean time of the rest itself.
    covers: u32,
    /// Contradicted, but the forecast spoke only of conditions as recorded.
    hedged: u32,
    /// Contradicted, and forecast without a condition.
    plain: u32,
    /// Of the limits for an hour: how often the forecast gave one, and how often the hour stayed below it.
    said: u32,
    kept: u32,
    /// And how often it gave none.
    refused: u32,
}

/// Compares one part with another, device by device and CPU by CPU, and prints where they contradict each other.
#[allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn compare(early: &Input, rest: &Input) -> Result<Tally, Box<dyn std::error::Error>> {
    let mut tally = Tally::default();
    for device in Catalogue::shipped().profiles() {
        let (forecast, found) = (early.underruns(device, Stage::Total)?, rest.underruns(device, Stage::Total)?);
        for own in &forecast.cpus {
            let Some(other) = found.cpus.iter().find(|other| other.cpu == own.cpu) else { continue };
            // The rest is a sample too: it contradicts the forecast where the two intervals do not meet.
            let (low, high) = (own.mttf_s.low.unwrap_or(0.0), own.mttf_s.high.unwrap_or(f64::INFINITY));
            // Where the rest had no underrun, its mean time may lie anywhere above its limit.
            let had = other.mttf_s.value.map_or((other.mttf_s.low.unwrap_or(0.0), f64::INFINITY), |had| (had, had));
            tally.covers += u32::from(low <= had.1 && had.0 <= high);
            let meets = own.mttf_s.low.is_none_or(|low| other.mttf_s.high.is_none_or(|high| low <= high))
                && own.mttf_s.high.is_none_or(|high| other.mttf_s.low.is_none_or(|low| low <= high));
            if meets {
                tally.agree += 1;
                continue;
            }
            let condition = if forecast.conditions.is_empty() { "" } else { ", while conditions stay as recorded" };
            if forecast.conditions.is_empty() {
                tally.plain += 1
            } else {
                tally.hedged += 1
            }
            let seconds = |value: Option<f64>| value.map_or("-".to_owned(), format_seconds);
            let (low, high) = (seconds(own.mttf_s.low), seconds(own.mttf_s.high));
            let cpu = own.cpu.map_or("any CPU".to_owned(), |cpu| format!("CPU {cpu}"));
            let had = format!("{} ({} over)", seconds(other.mttf_s.value), other.over);
            println!("  {} on {cpu}: {low} to {high}{condition}; the rest had {had}", device.id);
        }
    }
    Ok(tally)
}

/// Compares the limit below which the next hour should stay with what came.
fn next_hour(early: &Input, later: &Input, tally: &mut Tally) -> Result<(), Box<dyn std::error::Error>> {
    // An hour of this load, whatever it stands for.
    let question =
        Question { horizons: vec![Horizon::Hour], compression_thousandths: Some(1_000), ..Question::default() };
    let found = answer(std::slice::from_ref(early), &question)?;
    let longest = later.stages.get(&Stage::Total).and_then(|stage| stage.distribution.max()).unwrap_or(0);
    match found.groups.first().and_then(|group| group.worst.first()).map(|worst| &worst.next) {
        Some(Ok(limit)) => {
            tally.said += 1;
            tally.kept += u32::from(longest <= *limit);
        }
        _ => tally.refused += 1,
    }
    Ok(())
}

/// The share of a recording that its first seconds make up: this many, or a tenth by default.
fn share_of(recording: &Recording, first_s: Option<f64>) -> Result<f64, Box<dyn std::error::Error>> {
    let Some(first_s) = first_s else { return Ok(0.1) };
    let (mut first, mut last) = (u64::MAX, 0);
    recording.for_each_wakeup(|wakeup| {
        first = first.min(wakeup.expected_ns);
        last = last.max(wakeup.expected_ns);
    })?;
    let seconds = last.saturating_sub(first) as f64 / 1e9;
    if first_s < seconds { Ok(first_s / seconds) } else { Err(format!("it lasts {seconds:.0} s only").into()) }
}

#[allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench").peekable();
    let is_next = arguments.next_if(|argument| argument == "--next").is_some();
    let first_s = match arguments.next_if(|argument| argument == "--first") {
        Some(_) => Some(arguments.next().ok_or("--first needs a number of seconds")?.parse::<f64>()?),
        None => None,
    };
    let paths: Vec<String> = arguments.collect();
    let mut all = Tally::default();
    for path in &paths {
        let recording = Recording::open(path)?;
        let share = share_of(&recording, first_s).map_err(|error| format!("{path}: {error}"))?;
        let (early, rest) = (part(&recording, 0.0, share)?, part(&recording, share, 1.0)?);
        for (early, rest) in early.iter().zip(&rest) {
            println!("{path}: {} under {}", early.measure, early.load);
            let tally = compare(early, rest)?;
            println!("  {}", tally.in_words());
            all.add(&tally);
        }
    }
    println!("first against rest: {}", all.in_words());
    if is_next {
        let mut all = Tally::default();
        for pair in paths.windows(2) {
            let (one, next) = (Recording::open(&pair[0])?, Recording::open(&pair[1])?);
            for (one, next) in part(&one, 0.0, 1.0)?.iter().zip(&part(&next, 0.0, 1.0)?) {
                println!("{} and the next: {} under {}, then {}", pair[0], one.measure, one.load, next.load);
                let mut tally = compare(one, next)?;
                next_hour(one, next, &mut tally)?;
                println!("  {}", tally.in_words());
                all.add(&tally);
            }
        }
        println!("each against the next: {}", all.in_words());
    }
    Ok(())
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        for (sum, own) in [
            (&mut self.agree, other.agree),
            (&mut self.covers, other.covers),
            (&mut self.hedged, other.hedged),
            (&mut self.plain, other.plain),
            (&mut self.said, other.said),
            (&mut self.kept, other.kept),
            (&mut self.refused, other.refused),
        ] {
            *sum += own;
        }
    }

    fn in_words(&self) -> String {
        let Tally { agree, covers, hedged, plain, said, kept, refused } = self;
        let of = agree + hedged + plain;
        let mut words = format!(
            "{agree} of {of} agree; {hedged} do not, with a condition; {plain} do not, without one; {covers} hold the mean time that came"
        );
        if said + refused > 0 {
            words += &format!("; the next hour: {kept} of {said} stayed below their limit, {refused} had none");
        }
        words
    }
}
