//! A recording's first tenth against the rest of it.
//!
//! `cargo bench -p punctual-forecast --bench backtest -- A.punctual ...`
//!
//! For every shipped device: the mean time between underruns forecast from the first tenth, and what the other nine
//! tenths had. Held out are wakeups, so this shows what the interval is worth if the load goes on as it was.

use punctual_device::Catalogue;
use punctual_forecast::{Input, Late, Lateness, Stage, format_seconds};
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
        let mut values: Vec<Late> = Vec::new();
        let mut distribution = Distribution::new();
        for task in &mut part.tasks {
            (task.wakeups, task.missed) = (0, Some(0));
        }
        recording.for_each_wakeup(|wakeup| {
            let position = part.tasks.iter().position(|task| task.tid == wakeup.tid);
            let Some(task) = position.filter(|_| (begin..end).contains(&wakeup.expected_ns)) else { return };
            part.tasks[task].wakeups += 1;
            *part.tasks[task].missed.get_or_insert(0) += wakeup.missed;
            distribution.record(wakeup.total_ns);
            values.push(Late { at_ns: wakeup.expected_ns - begin, task, value_ns: wakeup.total_ns });
        })?;
        values.sort_unstable_by_key(|late| std::cmp::Reverse(late.value_ns));
        let complete_above_ns = values.get(TAIL_LENGTH).map_or(0, |late| late.value_ns);
        values.truncate(TAIL_LENGTH);
        values.sort_unstable();
        let lateness = Lateness { distribution, largest: values, complete_above_ns, by_task: Vec::new() };
        part.stages = [(Stage::Total, lateness)].into();
        parts.push(part);
    }
    Ok(parts)
}

#[allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        let recording = Recording::open(&path)?;
        let (tenth, rest) = (part(&recording, 0.0, 0.1)?, part(&recording, 0.1, 1.0)?);
        for (tenth, rest) in tenth.iter().zip(&rest) {
            println!("{path}: {} under {}", tenth.measure, tenth.load);
            println!("device          forecast from a tenth            the rest had       within");
            let (mut within, mut all) = (0, 0);
            for device in Catalogue::shipped().profiles() {
                let forecast = tenth.underruns(device, Stage::Total)?.mttf_s;
                let found = rest.underruns(device, Stage::Total)?;
                let seconds = |value: Option<f64>| value.map_or("-".to_owned(), format_seconds);
                // The rest is a sample too: the forecast is contradicted where the two intervals do not meet.
                let meets = forecast.low.is_none_or(|low| found.mttf_s.high.is_none_or(|high| low <= high))
                    && forecast.high.is_none_or(|high| found.mttf_s.low.is_none_or(|low| low <= high));
                all += 1;
                within += u32::from(meets);
                println!(
                    "{:15} {:>10} to {:<10} {:>10} ({} over)  {}",
                    device.id,
                    seconds(forecast.low),
                    seconds(forecast.high),
                    seconds(found.mttf_s.value),
                    found.over,
                    if meets { "yes" } else { "NO" }
                );
            }
            println!("{within} of {all}");
        }
    }
    Ok(())
}
