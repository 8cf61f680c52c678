//! What was counted on this machine beside calls in real time, for people.

use super::{LiveSent, Sent};
use crate::device::device_table;
use crate::layout::{counted, grouped, percent, table};
use crate::load::scores_in_words;
use punctual_modem::transfer::{LiveAttempt, PENDING_STEP};
use punctual_recording::format_ns;
use std::fmt::Write as _;

/// Where it was, and beside what.
pub(super) fn time(live: &LiveSent<'_>) -> String {
    let threads = if live.is_many() { counted(live.modems, "thread") } else { "a thread".to_owned() };
    let cpus: Vec<String> = live.cpus.iter().map(ToString::to_string).collect();
    let cpus = match &cpus[..] {
        [cpu] => format!("CPU {cpu}"),
        [most @ .., last] => format!("CPUs {} and {last}", most.join(", ")),
        [] => String::new(),
    };
    let mut beside: Vec<&str> = live.competitors.iter().map(String::as_str).collect();
    beside.extend(live.load);
    let beside = if beside.is_empty() { String::new() } else { format!(", beside {}", beside.join(", ")) };
    let by = in_words(&live.context, &threads);
    format!("in real time, {by} on {cpus}{beside}")
}

/// Where the datapump worked.
fn in_words(context: &str, threads: &str) -> String {
    match context {
        "irq" => "in interrupts".to_owned(),
        "softirq" => "in softirq callbacks".to_owned(),
        _ => format!("by {threads} in {context}"),
    }
}

/// The name of a call: the attempt's number and, if several modems call at once, the modem's number after it.
pub(super) fn name(live: Option<&LiveSent<'_>>, place: usize) -> String {
    match live.filter(|live| live.is_many()).and_then(|live| live.calls.get(place)) {
        Some(call) => format!("{}.{}", call.attempt + 1, call.modem + 1),
        None => (place + 1).to_string(),
    }
}

/// The counts of the machine, and the samples that were waiting.
pub(super) fn machine(sent: &Sent<'_>, live: &LiveSent<'_>) -> String {
    let header = [
        "attempt",
        "CPU",
        "blocks",
        "CPU time",
        "CPU %",
        "datapump %",
        "late at most",
        "host took",
        "underruns then",
        "pending p50",
        "p99",
        "max",
    ];
    let rows =
        listed(sent).into_iter().filter_map(|place| Some((place, live.calls.get(place)?))).map(|(place, call)| {
            let pending = |share| pending_below(call, share);
            vec![
                name(Some(live), place),
                call.cpu.to_string(),
                grouped(call.activations),
                format_ns(call.executed_ns),
                format!("{:.1}", percent(call.executed_ns, call.elapsed_ns)),
                format!("{:.2}", percent(call.datapump_ns, call.elapsed_ns)),
                format_ns(call.max_late_ns),
                call.host_ns.map_or_else(|| "?".to_owned(), format_ns),
                call.underruns_by_host.to_string(),
                pending(0.5),
                pending(0.99),
                pending(1.0),
            ]
        });
    let mut text = table(&header, 0..12, rows);
    if live.calls.len() > MAX_LISTED {
        let _ = write!(
            text,
            "\nof {}, the {MAX_LISTED} with the most underruns, and then the longest delays",
            counted(live.calls.len(), "call")
        );
    }
    text
}

/// Text lists at most this many calls of modems that call at once; `--json` has all.
const MAX_LISTED: usize = 16;

/// The calls that are listed, in order: all, or, if there are many, those that did worst.
pub(super) fn listed(sent: &Sent<'_>) -> Vec<usize> {
    let attempts = &sent.transfer.attempts;
    let mut places: Vec<usize> = (0..attempts.len()).collect();
    let Some(live) = sent.live.as_ref().filter(|live| live.is_many() && attempts.len() > MAX_LISTED) else {
        return places;
    };
    let worst = |&place: &usize| {
        let (attempt, late) = (&attempts[place], live.calls.get(place).map_or(0, |call| call.max_late_ns));
        std::cmp::Reverse((!attempt.succeeded(), attempt.underruns + attempt.lost_samples, late))
    };
    places.sort_by_key(worst);
    places.truncate(MAX_LISTED);
    places.sort_unstable();
    places
}

/// What the modems that called at once did together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Together {
    /// Bits of files that arrived a second, all calls of an attempt together, on average.
    pub(super) bits_per_second: f64,
    /// Their share of a CPU, percent.
    pub(super) cpu_percent: f64,
    /// How much of that the datapumps of the calling ends took.
    pub(super) datapump_percent: f64,
}

impl Together {
    /// Averaged over the attempts; `None` if none is over.
    pub(super) fn of(sent: &Sent<'_>, live: &LiveSent<'_>) -> Option<Together> {
        let attempts = live.calls.iter().map(|call| call.attempt).max()? + 1;
        let mut sum = Together::default();
        for (call, attempt) in live.calls.iter().zip(&sent.transfer.attempts) {
            let seconds = attempt.transfer_ns.filter(|_| attempt.succeeded()).map(|ns| ns as f64 / 1e9);
            sum.bits_per_second += seconds.map_or(0.0, |seconds| sent.transfer.bytes as f64 * 8.0 / seconds);
            sum.cpu_percent += percent(call.executed_ns, call.elapsed_ns);
            sum.datapump_percent += percent(call.datapump_ns, call.elapsed_ns);
        }
        let mean = |value: f64| value / f64::from(attempts);
        Some(Together {
            bits_per_second: mean(sum.bits_per_second),
            cpu_percent: mean(sum.cpu_percent),
            datapump_percent: mean(sum.datapump_percent),
        })
    }

    /// In one line.
    pub(super) fn words(&self) -> String {
        format!(
            "together: {} bit/s, {:.1} % of a CPU, of which the datapumps at the calling ends {:.1} %",
            grouped(self.bits_per_second.round() as u64),
            self.cpu_percent,
            self.datapump_percent
        )
    }
}

/// How long the transfers took compared with one that nothing delays; `None` if that is not known.
pub(super) fn against_clean(sent: &Sent<'_>) -> Option<String> {
    let clean_s = sent.live.as_ref()?.clean_ns.filter(|&ns| ns > 0)? as f64 / 1e9;
    let mean_s = sent.transfer.seconds()?.mean;
    Some(format!(
        "{:.3} times the {clean_s:.3} s of such a call in virtual time, where nothing is late",
        mean_s / clean_s
    ))
}

/// The same, if there were several.
pub(super) fn together(sent: &Sent<'_>, live: &LiveSent<'_>) -> String {
    let together = Together::of(sent, live).filter(|_| live.is_many());
    together.map_or_else(String::new, |together| format!("{}\n", together.words()))
}

/// The devices and the load that worked meanwhile, and what went wrong.
pub(super) fn beside(live: &LiveSent<'_>) -> String {
    let mut text = String::new();
    if let Some(run) = &live.devices {
        let devices = &run.activations.devices;
        let _ = writeln!(text, "\nBeside them, {}:\n\n{}", counted(devices.len(), "device"), device_table(devices));
        let _ = writeln!(text, "recording: {}", run.path.display());
    }
    if !live.scores.is_empty() {
        let _ = writeln!(text, "\nthe load did {}", scores_in_words(live.scores));
    }
    for trouble in live.troubles() {
        let _ = writeln!(text, "\nnote: {trouble}");
    }
    text
}

/// This share of all blocks left fewer samples waiting.
fn pending_below(call: &LiveAttempt, share: f64) -> String {
    let all: u64 = call.pending.iter().sum();
    let wanted = (all as f64 * share).ceil().max(1.0) as u64;
    let mut sum = 0;
    let step = call.pending.iter().position(|count| {
        sum += count;
        sum >= wanted
    });
    step.map_or_else(|| "-".to_owned(), |step| format!("<{}", (step as u64 + 1) * PENDING_STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_no_threads() {
        assert_eq!(in_words("irq", "a thread"), "in interrupts");
        assert_eq!(in_words("reservation:2ms/8ms", "3 threads"), "by 3 threads in reservation:2ms/8ms");
    }
}
