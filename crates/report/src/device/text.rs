//! Soft devices in their contexts, as text for people.

use super::origins::under_origins;
use super::own;
use crate::layout::{counted, grouped, table};
use crate::{StageRow, microseconds, stage_rows};
use punctual_device::{Profile, Sampling, pc99};
use punctual_recording::{
    ActivationDocument, DecodedSummary, DeviceSummary, Distribution, Document, EndReason, Stage, WAS_STOPPED,
    format_ns, printable, printable_path,
};
use std::fmt::Write as _;
use std::path::Path;

/// The width of a bin of the times between callbacks, as in the paper's Figures 10 to 13 and 16.
pub const INTERVAL_BIN_NS: u64 = 50_000;

/// A recording with devices.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// The bystander and the control.
    pub document: &'a Document,
    /// The devices.
    pub activations: &'a ActivationDocument,
}

impl Run<'_> {
    /// The bystander's stages.
    pub fn bystander(&self) -> Vec<StageRow> {
        let rows = stage_rows(self.document).into_iter();
        rows.filter(|row| row.cpu.is_none() && row.measure == self.activations.bystander).collect()
    }
}

/// Whether a device kept up: no underruns except those that the machine explains, and what came to it was served. `None` if nothing
/// came to it, or if what it did not do is punctual's own doing; what came to a device that never got a turn was dropped.
pub fn keeps_up(device: &DeviceSummary) -> Option<bool> {
    if device.processed == 0 && device.underruns == 0 {
        return (device.dropped > 0).then_some(false);
    }
    let own = device.underruns.saturating_sub(device.underruns_outside);
    if own > limited(device) || !device.served_but_for(device.underruns_outside as f64) {
        return Some(false);
    }
    let is_most = device.processed.saturating_mul(2) >= device.arrived;
    (own == 0 && is_most).then_some(true)
}

/// Blocks that punctual kept from the device, to leave others their share of the CPU. Where a user's own work took longer than its
/// budget, that is its own doing.
fn limited(device: &DeviceSummary) -> u64 {
    let is_over = device.own.as_ref().is_some_and(|own| own.over > 0);
    if is_over { 0 } else { device.refused }
}

/// The result, one sentence per device.
pub fn verdict(run: &Run<'_>) -> String {
    let mut sentences: Vec<String> =
        crate::recording::verdict::load_failure_in_words(run.document).into_iter().collect();
    let owns = run.activations.devices.iter().filter_map(|device| device.own.as_ref());
    sentences.splice(0..0, owns.filter_map(own::end_sentence));
    sentences.extend(run.activations.not_reached.iter().map(|phases| format!("{phases}.")));
    for device in &run.activations.devices {
        sentences.push(sentence(run, device));
        sentences.extend(device.decoded.as_ref().map(decoded_sentence));
        sentences.extend(device.own.as_ref().map(own::sentence));
    }
    if run.activations.devices.is_empty() {
        sentences.push("No device ran: this is what the bystander meets alone.".to_owned());
    }
    if run.document.ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Interrupted) {
        let length = crate::layout::spoken_duration(run.document);
        sentences.push(format!("It was interrupted after {length}: all of this rests on that time."));
    }
    sentences.join(" ")
}

fn sentence(run: &Run<'_>, device: &DeviceSummary) -> String {
    let beside = match run.activations.competitors.join(" and ") {
        none if none.is_empty() => String::new(),
        competitors => format!(" beside {competitors}"),
    };
    let name = format!("{} in {}{beside}", device.device, device.context);
    let was_stopped = run.document.provenance.fallbacks.iter().any(|note| note == WAS_STOPPED);
    let share = device.share_millionths as f64 / 1e4;
    let gone = device.dropped + device.lost + device.refused;
    let blocks = device.processed + device.underruns.min(gone);
    // Buffers make up for a block that nobody worked on: it is no underrun, and still not done.
    let not_done = match gone - device.underruns.min(gone) {
        0 => String::new(),
        blocks => format!(", {} not worked on", grouped(blocks)),
    };
    let worked_on = match blocks == device.processed {
        true => String::new(),
        false => format!(", {} worked on", counted(device.processed, "block")),
    };
    match keeps_up(device) {
        None if device.processed == 0 => format!("{name} processed nothing."),
        None => format!(
            "{name} is not judged: {}; {} of {} ({} of them the machine's){worked_on}, {share:.1} % of a CPU.",
            why_not_judged(device),
            underruns(device),
            counted(blocks.max(device.underruns), "block"),
            grouped(device.underruns_outside)
        ),
        Some(true) if device.underruns == 0 => {
            format!("{name} keeps up: {}, no underrun{not_done}, {share:.1} % of a CPU.", counted(blocks, "block"))
        }
        Some(true) => format!(
            "{name} keeps up: {}, {}{not_done}, all when {}the machine kept even FIFO 99 from the CPU.",
            counted(blocks, "block"),
            underruns(device),
            if was_stopped { "punctual itself was stopped, or " } else { "" }
        ),
        Some(false) if device.processed == 0 && device.underruns == 0 => {
            format!("{name} does not keep up: it never had its turn, {} dropped.", counted(device.dropped, "block"))
        }
        Some(false) => format!(
            "{name} does not keep up: {} of {} ({} of them the machine's{}{}){worked_on}{}, {share:.1} % of a CPU.",
            underruns(device),
            counted(blocks.max(device.underruns), "block"),
            grouped(device.underruns_outside),
            if was_stopped { ", or while punctual itself was stopped" } else { "" },
            kept_from_it(device),
            shortfall(device)
        ),
    }
}

fn why_not_judged(device: &DeviceSummary) -> String {
    match device.refused {
        0 => format!(
            "only {} of {} came to be processed, by no fault of its own",
            grouped(device.processed),
            counted(device.arrived, "block")
        ),
        refused => {
            let kept = counted(refused, "block");
            format!("punctual itself kept {kept} from it, to leave others their share of the CPU")
        }
    }
}

/// How many of the underruns may be of blocks that punctual kept from the device.
fn kept_from_it(device: &DeviceSummary) -> String {
    match limited(device).min(device.underruns.saturating_sub(device.underruns_outside)) {
        0 => String::new(),
        kept => {
            format!(", at most {} of blocks that punctual kept from it, to leave others their share", grouped(kept))
        }
    }
}

/// What the number of underruns does not say: blocks that waited to the end, and whole rings that were lost.
fn shortfall(device: &DeviceSummary) -> String {
    let unserved = match device.underruns == device.underruns_outside {
        true => {
            format!(", it processed {} of {} that came", grouped(device.processed), counted(device.arrived, "block"))
        }
        false => String::new(),
    };
    let overran = match device.overruns {
        0 => String::new(),
        times => format!(", its ring overran {}", counted(times, "time")),
    };
    format!("{unserved}{overran}")
}

/// What became of the signal.
fn decoded_sentence(decoded: &DecodedSummary) -> String {
    let DecodedSummary { symbols, connected, bits, wrong, missing, connections_lost, .. } = *decoded;
    if symbols == 0 {
        return "Nothing of its signal was decoded.".to_owned();
    }
    if wrong + missing + connections_lost == 0 && connected == symbols {
        return format!("All {} that it decoded are right.", counted(bits, "bit"));
    }
    let came = symbols + decoded.skipped;
    let frames_lost = decoded.frames.saturating_sub(decoded.frames_right);
    let mut lost = Vec::new();
    if decoded.frames > 0 {
        lost.push(format!("{} of {} lost", grouped(frames_lost), counted(decoded.frames, &decoded.frame)));
    }
    match connections_lost {
        // A radio's packets stand for themselves.
        0 if decoded.frame == "packet" => {}
        0 => lost.push("it stayed connected".to_owned()),
        connections => lost.push(format!(
            "it lost {}, and was connected for {:.1} % of the time",
            counted(connections, "connection"),
            connected as f64 * 100.0 / came as f64
        )),
    }
    let gone = match decoded.skipped {
        0 => String::new(),
        skipped => format!(" ({} of blocks that were dropped, overwritten or cut)", counted(skipped, &decoded.unit)),
    };
    let wrong = counted(wrong, "bit");
    format!("Of its signal {wrong} came out wrong and {} not at all{gone}; {}.", grouped(missing), lost.join("; "))
}

fn underruns(device: &DeviceSummary) -> String {
    counted(device.underruns, "underrun")
}

/// Bins of 50 us that are not empty: where each begins, and its count.
pub fn bins(distribution: &Distribution) -> Vec<(u64, u64)> {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    for (value, count) in distribution.buckets() {
        let from = value / INTERVAL_BIN_NS * INTERVAL_BIN_NS;
        match bins.last_mut() {
            Some(last) if last.0 == from => last.1 += count,
            _ => bins.push((from, count)),
        }
    }
    bins
}

/// What comes before the tables: fallbacks, trouble with the load, what was lost or refused.
pub(super) fn notes(run: &Run<'_>) -> Vec<String> {
    let provenance = &run.document.provenance;
    let mut notes: Vec<String> = provenance.fallbacks.iter().chain(&provenance.load.trouble).cloned().collect();
    for device in &run.activations.devices {
        for (count, what) in [
            (device.records_lost, "activations measured and lost"),
            (device.refused, "blocks not processed, to leave others their share of the CPU"),
            (device.elsewhere, "activations that ended on another CPU, since reservations cannot be pinned"),
            (device.cut, "blocks given up after 5 ms"),
            (
                device.rested,
                "blocks late or lost while punctual's threads rested, since together they left others none of a CPU; they do not count \
                 as underruns",
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
    let mut text = verdict(run);
    text.push('\n');
    for note in notes(run) {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = writeln!(text, "\n{}", device_table(&run.activations.devices));
    for device in &run.activations.devices {
        let _ = writeln!(text, "PC 99: {} in {}: {}", device.device, device.context, pc99_words(device));
        let _ = writeln!(text, "{}", how(device));
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
        Some(true) => format!("kept ({})", pc99.why),
        Some(false) => format!("broken ({})", pc99.why),
        None => pc99.why,
    }
}

pub(super) fn how(device: &DeviceSummary) -> String {
    let proven = match device.proven.as_slice() {
        [] => String::new(),
        levels => format!(", by the kernel's own count in {} context", levels.join(" and ")),
    };
    if let Some(decoded) = &device.decoded {
        let with = match decoded.taps {
            0 if decoded.frame == "packet" => String::new(),
            taps => format!(" with {} of the echo canceller", counted(taps, "tap")),
        };
        return format!(
            "Work: {} asked for every {}, {} of {} decoded{with}, {} a {}{proven}",
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
        "Work: {} asked for every {}, {} filtered {}, {:.2} ns a multiply-accumulate{proven}",
        format_ns(device.compute_ns),
        format_ns(device.period_ns),
        counted(device.samples, "sample"),
        counted(device.passes, "time"),
        device.mac_thousandths_ns as f64 / 1e3,
    )
}

/// One line per device.
pub fn device_table(devices: &[DeviceSummary]) -> String {
    let header = [
        "device",
        "context",
        "blocks",
        "underruns",
        "machine's",
        "overruns",
        "pending p99",
        "max",
        "elapsed p50",
        "max",
        "executed p50",
        "max",
        "CPU %",
    ];
    table(
        &header,
        2..13,
        devices.iter().map(|device| {
            vec![
                device.device.clone(),
                device.context.clone(),
                grouped(device.processed),
                grouped(device.underruns),
                grouped(device.underruns_outside),
                grouped(device.overruns),
                device.pending.quantile(0.99).map_or_else(|| "-".to_owned(), |pending| pending.to_string()),
                device.pending.max().map_or_else(|| "-".to_owned(), |pending| pending.to_string()),
                microseconds(device.elapsed.quantile(0.5)),
                microseconds(device.elapsed.max()),
                microseconds(device.executed.quantile(0.5)),
                microseconds(device.executed.max()),
                format!("{:.1}", device.share_millionths as f64 / 1e4),
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
    profile.compute_ns as f64 * 100.0 / profile.period_ns as f64
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
        (
            "want",
            format!("one underrun in {}", format_ns(profile.want_s.saturating_mul(1_000_000_000))),
            sources.want.to_string(),
        ),
        ("tolerance", format_ns(profile.tolerance_ns()), "(n-1)·t".to_owned()),
        (
            "slack",
            u64::try_from(profile.slack_ns()).map_or_else(|_| "none".to_owned(), format_ns),
            "(n-1)·t - c".to_owned(),
        ),
        ("samples", format!("{samples} in a block, {ring} in the ring"), "as `punctual device` runs it".to_owned()),
        (
            "signal",
            profile.signal.map_or_else(|| "none: samples are filtered".to_owned(), |signal| signal.name().to_owned()),
            if profile.signal.is_some() { "decoded, bit by bit (--work)".to_owned() } else { String::new() },
        ),
        ("on a miss", profile.on_miss.name().replace('_', " "), String::new()),
    ];
    let rows = rows.into_iter().map(|(name, value, source)| vec![name.to_owned(), value, source]);
    format!("{}: {}\n\n{}", profile.name, profile.what, table(&["", "value", "from"], 1..1, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::OwnSummary;

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
    fn what_came_of_a_signal_is_said_in_its_own_words() {
        let radio = DecodedSummary {
            unit: "unit".to_owned(),
            frame: "packet".to_owned(),
            symbols: 100,
            connected: 100,
            bits: 1_200,
            frames: 5,
            frames_right: 5,
            ..DecodedSummary::default()
        };
        assert_eq!(decoded_sentence(&radio), "All 1,200 bits that it decoded are right.");
        let lossy = DecodedSummary { wrong: 1, missing: 240, skipped: 1, frames_right: 4, ..radio.clone() };
        assert_eq!(
            decoded_sentence(&lossy),
            "Of its signal 1 bit came out wrong and 240 not at all (1 unit of blocks that were dropped, overwritten or cut); 1 of 5 \
             packets lost."
        );
        let (unit, frame) = ("symbol".to_owned(), "superframe".to_owned());
        let line = DecodedSummary { unit, frame, ..lossy };
        assert!(decoded_sentence(&line).ends_with("cut); 1 of 5 superframes lost; it stayed connected."));
        let lost = DecodedSummary { connections_lost: 1, connected: 50, skipped: 0, frames: 0, ..line };
        assert!(
            decoded_sentence(&lost)
                .ends_with("240 not at all; it lost 1 connection, and was connected for 50.0 % of the time.")
        );
        assert_eq!(decoded_sentence(&DecodedSummary::default()), "Nothing of its signal was decoded.");
    }

    #[test]
    fn only_the_devices_own_underruns_count_against_it() {
        let mut device = DeviceSummary::default();
        assert_eq!(keeps_up(&device), None);
        device.dropped = 7;
        assert_eq!(keeps_up(&device), Some(false));
        (device.processed, device.dropped) = (10, 0);
        assert_eq!(keeps_up(&device), Some(true));
        (device.underruns, device.underruns_outside) = (3, 2);
        assert_eq!(keeps_up(&device), Some(false));
        device.underruns_outside = 3;
        assert_eq!(keeps_up(&device), Some(true));
        // One that was woken twice for two hundred blocks was late twice, by the machine's doing, and served next to nothing.
        (device.arrived, device.buffers) = (200, 2);
        assert_eq!(keeps_up(&device), Some(false));
        assert_eq!(shortfall(&device), ", it processed 10 of 200 blocks that came");
        device.processed = 196;
        assert_eq!(keeps_up(&device), Some(true));
    }

    #[test]
    fn what_punctual_kept_from_a_device_does_not_count_against_it() {
        let device = DeviceSummary { buffers: 2, arrived: 1_000, ..DeviceSummary::default() };
        let limited = DeviceSummary { processed: 960, refused: 40, underruns: 38, ..device.clone() };
        assert_eq!(keeps_up(&limited), None);
        assert!(why_not_judged(&limited).starts_with("punctual itself kept 40 blocks from it"));
        // More were late than that explains.
        let late = DeviceSummary { underruns: 41, overruns: 7, ..limited.clone() };
        assert_eq!(keeps_up(&late), Some(false));
        assert!(kept_from_it(&late).starts_with(", at most 40 of blocks"), "{}", kept_from_it(&late));
        assert_eq!(shortfall(&late), ", its ring overran 7 times");
        // A user's own work that takes too long is kept from blocks by its own doing.
        let own = OwnSummary { over: 1, ..OwnSummary::default() };
        assert_eq!(keeps_up(&DeviceSummary { own: Some(own), ..limited }), Some(false));
        // Few came to be processed.
        let few = DeviceSummary { processed: 17, unobserved: 983, ..device };
        assert_eq!(keeps_up(&few), None);
        assert!(why_not_judged(&few).starts_with("only 17 of 1,000 blocks came"), "{}", why_not_judged(&few));
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
