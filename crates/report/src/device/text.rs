//! Soft devices in their contexts, as text for people.

use super::calibrated::{miss, taken_words};
use super::came::came;
use super::origins::under_origins;
use super::pending::{in_blocks, most_in_own, stands_for};
use super::run::Run;
use crate::layout::{counted, grouped, percent, table};
use crate::microseconds;
use crate::verdict::device::device_run_verdict;
use crate::verdict::tools::profiles_verdict;
use punctual_device::{Profile, Sampling, pc99};
use punctual_forecast::format_seconds;
use punctual_recording::{DeviceSummary, Distribution, Stage, format_ns, printable, printable_path};
use std::fmt::Write as _;

/// The width of a bin of the times between callbacks, as in the paper's Figures 10 to 13 and 16.
pub const INTERVAL_BIN_NS: u64 = 50_000;

/// Bins of 50 us that are not empty: where each begins, and its count.
pub fn bins(distribution: &Distribution) -> Vec<(u64, u64)> {
    binned(distribution, INTERVAL_BIN_NS)
}

/// The same for bins of another width.
pub(super) fn binned(distribution: &Distribution, bin: u64) -> Vec<(u64, u64)> {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    for (value, count) in distribution.buckets() {
        let from = value / bin * bin;
        match bins.last_mut() {
            Some(last) if last.0 == from => last.1 += count,
            _ => bins.push((from, count)),
        }
    }
    bins
}

/// What comes before the tables: fallbacks, trouble with the load, what was lost or refused.
pub(super) fn notes(run: &Run<'_>) -> Vec<String> {
    let mut notes: Vec<String> = run.document.provenance.notes().cloned().collect();
    for device in &run.activations.devices {
        notes.extend(miss(device, run.document).map(|miss| {
            format!(
                "{}: its work took {miss} (the median): the machine's speed changed after calibration; runs that differ this much \
                 cannot be compared",
                device.device
            )
        }));
        for (count, what) in [
            (device.records_lost, "activations measured and lost"),
            (device.refused, "blocks not processed, to leave others their share of the CPU"),
            (device.elsewhere, "activations that ended on another CPU, since reservations cannot be pinned"),
            (device.cut, "blocks given up after 5 ms"),
            (
                device.rested,
                "blocks late or lost while punctual's threads rested, because together they left no CPU time for anything else; they do not \
                 count as underruns",
            ),
            (
                device.unobserved,
                "interrupts for which no program was called: their blocks waited for the next one, or were lost, and do not count as underruns",
            ),
        ] {
            if count > 0 {
                notes.push(format!("{}: {what}: {}", device.device, grouped(count)));
            }
        }
        if let Some(refused) = device.callbacks_refused.filter(|refused| *refused > 0) {
            notes.push(format!(
                "{}: softirq callbacks that the kernel refused to queue ({}), so their blocks waited for the next one: {}",
                device.device,
                device.refusal.as_deref().unwrap_or("why is not known"),
                grouped(refused)
            ));
        }
    }
    notes
}

/// A run as text: the verdict first.
pub fn text(run: &Run<'_>) -> String {
    let mut text = device_run_verdict(run);
    text.push('\n');
    for note in notes(run) {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = writeln!(text, "\n{}", device_table(&run.activations.devices));
    for device in &run.activations.devices {
        let _ = writeln!(
            text,
            "PC 99 System Design Guide: {} in {}: {}",
            device.device,
            device.context,
            pc99_words(device)
        );
        let _ = writeln!(text, "{}", how(run, device));
    }
    if let Some(load) = run.load_sentence() {
        let _ = writeln!(text, "{load}");
    }
    let _ = writeln!(
        text,
        "\nThe bystander, {} every 1 ms on the same CPU; us\n\n{}",
        run.activations.bystander,
        bystander_table(run)
    );
    let _ = writeln!(text, "\nrecording: {}", printable_path(run.path));
    text
}

pub(super) fn pc99_words(device: &DeviceSummary) -> String {
    let pc99 = pc99(device);
    match pc99.keeps {
        Some(true) => format!("met ({})", pc99.why),
        Some(false) => format!("not met ({})", pc99.why),
        None => pc99.why,
    }
}

pub(super) fn how(run: &Run<'_>, device: &DeviceSummary) -> String {
    let proven = match device.proven.as_slice() {
        [] => String::new(),
        levels => format!(", by the kernel's own count in {} context", levels.join(" and ")),
    };
    let taken = taken_words(device);
    if let Some(decoded) = &device.decoded {
        let with = match decoded.taps {
            // Only a DSL has an echo canceller whose taps are known.
            0 if decoded.frame != "superframe" => String::new(),
            taps => format!(" with {} of the echo canceller", counted(taps, "tap")),
        };
        return format!(
            "Work: {} asked for every {}{taken}, {} of {} decoded{with}, {} a {}{proven}",
            format_ns(device.compute_ns),
            format_ns(device.period_ns),
            counted(decoded.symbols_a_block, &decoded.unit),
            decoded.signal,
            format_ns(decoded.symbol_ns),
            decoded.unit,
        );
    }
    if let Some(own) = &device.own {
        let output: Vec<String> = own.output.iter().map(i64::to_string).collect();
        return format!(
            "Work: {}, {} of every {} allowed, {} a block before the run{proven}; it left {} (digest {})",
            printable(&own.name),
            format_ns(own.budget_ns),
            format_ns(device.period_ns),
            format_ns(own.block_ns),
            output.join(" "),
            printable(&own.digest),
        );
    }
    format!(
        "Work: {} asked for every {}{taken}, {}{} filtered {}, {:.2} ns a multiply-accumulate{proven}{}",
        format_ns(device.compute_ns),
        format_ns(device.period_ns),
        counted(device.samples, "sample"),
        stands_for(run, device),
        counted(device.passes, "time"),
        device.mac_thousandths_ns as f64 / 1e3,
        most_in_own(run, device),
    )
}

/// One line per device; first what decides whether it keeps up.
pub fn device_table(devices: &[DeviceSummary]) -> String {
    let header = [
        "device",
        "context",
        "underruns",
        "machine's",
        "CPU %",
        "overruns",
        "blocks",
        "executed p50 us",
        "executed max us",
        "elapsed p50 us",
        "elapsed max us",
        "pending blocks p99",
        "pending blocks max",
    ];
    table(
        &header,
        2..13,
        devices.iter().map(|device| {
            vec![
                device.device.clone(),
                device.context.clone(),
                grouped(device.underruns),
                grouped(device.underruns_outside),
                format!("{:.1}", device.share_millionths as f64 / 1e4),
                grouped(device.overruns),
                grouped(came(device)),
                microseconds(device.executed.quantile(0.5)),
                microseconds(device.executed.max()),
                microseconds(device.elapsed.quantile(0.5)),
                microseconds(device.elapsed.max()),
                in_blocks(device.pending.quantile(0.99), device),
                in_blocks(device.pending.max(), device),
            ]
        }),
    )
}

fn bystander_table(run: &Run<'_>) -> String {
    let line = |name: &str, count: u64, values: [Option<u64>; 6]| {
        let mut cells = vec![name.to_owned(), grouped(count)];
        cells.extend(values.map(microseconds));
        cells
    };
    let mut rows: Vec<Vec<String>> = run
        .bystander()
        .iter()
        .map(|row| {
            line(
                row.stage.name(),
                row.count,
                [row.min_ns, row.mean_ns, row.p50_ns, row.p99_ns, row.p99_9_ns, row.max_ns],
            )
        })
        .collect();
    let intervals = &run.activations.bystander_intervals;
    let quantile = |quantile| intervals.quantile(quantile);
    rows.push(line(
        "between",
        intervals.count(),
        [intervals.min(), intervals.mean(), quantile(0.5), quantile(0.99), quantile(0.999), intervals.max()],
    ));
    table(&["stage", "count", "min", "mean", "p50", "p99", "p99.9", "max"], 1..8, rows)
}

/// The largest value of a stage of the bystander, ns.
pub fn bystander_max(run: &Run<'_>, stage: Stage) -> Option<u64> {
    run.bystander().iter().find(|row| row.stage == stage).and_then(|row| row.max_ns)
}

/// Profiles as text, one line each.
pub fn list_text(profiles: &[Profile]) -> String {
    let rows = profiles.iter().map(list_row);
    table(
        &[
            "device",
            "period",
            "buffers",
            "compute",
            "CPU %",
            "tolerance",
            "slack",
            "samples",
            "on a miss",
            "what it is",
        ],
        2..3,
        under_origins(profiles.iter(), rows),
    )
}

fn list_row(profile: &Profile) -> Vec<String> {
    let slack = u64::try_from(profile.slack_ns()).map_or_else(|_| "none".to_owned(), format_ns);
    vec![
        profile.id.clone(),
        format_ns(profile.period_ns),
        profile.buffers.to_string(),
        format_ns(profile.compute_ns),
        format!("{:.1}", share(profile)),
        format_ns(profile.tolerance_ns()),
        slack,
        Sampling::of(profile).samples.to_string(),
        profile.on_miss.name().replace('_', " "),
        profile.what.clone(),
    ]
}

fn share(profile: &Profile) -> f64 {
    percent(profile.compute_ns, profile.period_ns)
}

/// A profile with its sources, as text.
pub fn show_text(profile: &Profile) -> String {
    let Sampling { samples, ring } = Sampling::of(profile);
    let sources = &profile.sources;
    let rows = [
        ("period", format_ns(profile.period_ns), sources.period.to_string()),
        ("buffers", profile.buffers.to_string(), sources.buffers.to_string()),
        (
            "compute",
            format!("{} ({:.1} % of a CPU)", format_ns(profile.compute_ns), share(profile)),
            sources.compute.to_string(),
        ),
        ("want", format!("one underrun in {}", format_seconds(profile.want_s as f64)), sources.want.to_string()),
        ("tolerance", format_ns(profile.tolerance_ns()), "(n-1)·t".to_owned()),
        (
            "slack",
            u64::try_from(profile.slack_ns()).map_or_else(|_| "none".to_owned(), format_ns),
            "(n-1)·t - c".to_owned(),
        ),
        (
            "samples",
            format!("{samples} in a block, {ring} in the ring"),
            match Sampling::is_nominal(profile) {
                true => "as `punctual device` runs it, whatever the device has".to_owned(),
                false => "as `punctual device` runs it".to_owned(),
            },
        ),
        (
            "signal",
            profile.signal.map_or_else(|| "none: samples are filtered".to_owned(), |signal| signal.name().to_owned()),
            if profile.signal.is_some() { "decoded, bit by bit (--work)".to_owned() } else { String::new() },
        ),
        ("on a miss", profile.on_miss.name().replace('_', " "), String::new()),
    ];
    let rows = rows.into_iter().map(|(name, value, source)| vec![name.to_owned(), value, source]);
    let verdict = profiles_verdict(std::slice::from_ref(profile));
    format!("{verdict}\n\n{}", table(&["", "value", "from"], 1..1, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_every_interval() {
        let mut intervals = Distribution::new();
        for value in [1_000_000, 1_010_000, 999_000, 5_020_000, 0] {
            intervals.record(value);
        }
        let bins = bins(&intervals);
        assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), 5);
        assert!(bins.contains(&(1_000_000, 2)) && bins.contains(&(950_000, 1)));
    }

    #[test]
    fn every_profile_is_shown_with_its_sources() {
        let catalogue = punctual_device::Catalogue::shipped();
        let list = list_text(catalogue.profiles());
        for profile in catalogue.profiles() {
            assert!(list.contains(&profile.id));
            assert!(show_text(profile).contains("tolerance"));
        }
        let answer = serde_json::to_value(crate::device::ProfilesAnswer::new(catalogue.profiles())).unwrap();
        assert_eq!(answer["devices"].as_array().unwrap().len(), catalogue.profiles().len());
    }
}
