//! Of a run of soft devices: whether each kept up; of a user's own work, in `own`; of a study of one device, in `study`.

mod own;
pub(crate) mod study;

use crate::device::budget::{TooSmall, too_small};
use crate::device::calibrated::miss;
use crate::device::came::{came, not_worked_on, waiting};
use crate::device::run::Run;
use crate::device::withheld;
use crate::layout::{counted, grouped, percent, shell_word};
use crate::load_name;
use punctual_device::{keeps_up, kept_from};
use punctual_recording::{DecodedSummary, DeviceSummary, EndReason, NO_LOAD, WAS_STOPPED, agreeing, format_ns};

/// The result, one sentence per device.
pub(crate) fn device_run_verdict(run: &Run<'_>) -> String {
    let mut sentences: Vec<String> =
        crate::verdict::recording::load_failure_in_words(run.document).into_iter().collect();
    let owns = run.activations.devices.iter().filter_map(|device| device.own.as_ref());
    sentences.splice(0..0, owns.filter_map(own::end_sentence));
    sentences.extend(run.activations.not_reached.iter().map(|phases| format!("{phases}.")));
    for device in &run.activations.devices {
        sentences.push(sentence(run, device));
        let too_small = too_small(run, device).filter(|_| keeps_up(device) == Some(false));
        sentences.extend(whose_underruns(device));
        sentences.extend(too_small.map(|found| found.sentence()));
        sentences.extend(miss(device, run.document).map(|miss| format!("Its work took {miss}.")));
        sentences.extend(device.decoded.as_ref().map(decoded_sentence));
        sentences.extend(device.own.as_ref().map(own::sentence));
    }
    if run.activations.devices.is_empty() {
        sentences.push("No device ran: these are the wakeups of the bystander alone.".to_owned());
    }
    if run.document.ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Interrupted) {
        let length = crate::layout::spoken_duration(run.document);
        sentences.push(format!("It was interrupted after {length}: all of this rests on that time."));
    } else if run.document.ended.is_none() {
        sentences.extend(crate::verdict::recording::end_in_words(run.document));
    }
    sentences.join(" ")
}

fn sentence(run: &Run<'_>, device: &DeviceSummary) -> String {
    let beside = match run.activations.competitors.join(" and ") {
        none if none.is_empty() => String::new(),
        competitors => format!(" beside {competitors}"),
    };
    let under = match load_name(run.document) {
        NO_LOAD => String::new(),
        load => format!(" under load ({load})"),
    };
    let name = format!("{} in {}{beside}{under}", device.device, device.context);
    let was_stopped = run.document.provenance.fallbacks.iter().any(|note| note == WAS_STOPPED);
    let share = device.share_millionths as f64 / 1e4;
    let (blocks, worked_on, lost) = (counted(came(device), "block"), worked_on(device), lost_all_the_same(device));
    match keeps_up(device) {
        None if device.processed == 0 => format!("{name} processed nothing."),
        None => format!(
            "{name} is not judged: {}; {} of {blocks} ({} of them the machine's){worked_on}, {share:.1} % of a CPU.",
            why_not_judged(device),
            underruns(device),
            grouped(device.underruns_outside)
        ),
        Some(true) if device.underruns == 0 => {
            format!("{name} keeps up{lost}: {blocks}{worked_on}, no underrun, {share:.1} % of a CPU.")
        }
        Some(true) => format!(
            "{name} keeps up{lost}: {blocks}{worked_on}, {}, {}when {}the machine kept even FIFO 99 from the CPU{}.",
            underruns(device),
            agreeing(device.underruns, "", "all "),
            if was_stopped { "punctual itself was stopped, or " } else { "" },
            if was_stopped { String::new() } else { at_this_rate(run, device) }
        ),
        Some(false) if device.processed == 0 && device.underruns == 0 => {
            format!("{name} does not keep up: it never had its turn, {} dropped.", counted(device.dropped, "block"))
        }
        Some(false) => format!(
            "{name} does not keep up: {} of {blocks} ({} of them the machine's{}{}){worked_on}{}{}, {share:.1} % of a CPU.",
            underruns(device),
            grouped(device.underruns_outside),
            if was_stopped { ", or while punctual itself was stopped" } else { "" },
            kept_from_it(device),
            not_called(device),
            overran(device)
        ),
    }
}

impl TooSmall {
    /// Why the device does not keep up.
    pub(crate) fn sentence(&self) -> String {
        let [budget, period, block, every, asked] =
            [self.budget_ns, self.period_ns, self.block_ns, self.every_ns, self.asked_ns].map(format_ns);
        let (given, taken) = (percent(self.budget_ns, self.period_ns), percent(self.block_ns, self.every_ns));
        format!(
            "Its reservation is smaller than its work: it gives {budget} of every {period} ({given:.1} % of a CPU), and a block took \
             {block} of every {every} ({taken:.1} %), with {asked} asked for."
        )
    }
}

/// Of forecasts that were compared with counts: of each whether it agrees, if that can be told.
pub(crate) fn verified_verdict(rows: &[Option<bool>]) -> String {
    if rows.is_empty() {
        return "No device ran, so no forecast was compared with what happens.".to_owned();
    }
    let count = |agrees: Option<bool>| rows.iter().filter(|row| **row == agrees).count();
    let (agree, untold) = (count(Some(true)), count(None));
    let told = rows.len() - untold;
    let mut sentences = Vec::new();
    if told > 0 {
        let (forecasts, agrees) = (counted(told, "forecast"), agreeing(told, "agrees", "agree"));
        sentences.push(format!("{agree} of {forecasts} {agrees} with the underruns that were counted."));
    }
    if untold > 0 {
        let (forecasts, agrees) = (counted(untold, "forecast"), agreeing(untold, "agrees", "agree"));
        sentences.push(format!(
            "Whether {forecasts} {agrees} with the underruns that were counted cannot be told: almost any count would."
        ));
    }
    sentences.join(" ")
}

/// Whether the host, the rest of the machine or the context is to blame for a device that does not keep up, as far as the run knows.
fn whose_underruns(device: &DeviceSummary) -> Option<String> {
    let outside = device.underruns_outside.min(device.underruns);
    let rest = device.underruns - outside;
    if keeps_up(device) != Some(false) || outside == 0 || rest == 0 {
        return None;
    }
    let (of_host, of_others) = match device.underruns_stolen.map(|stolen| stolen.min(outside)) {
        Some(0) => (None, Some("by interrupts or threads above it, none by the host")),
        Some(stolen) if stolen == outside => (Some(stolen), None),
        Some(stolen) => (Some(stolen), Some("by interrupts or threads above it")),
        None => (None, Some("by interrupts, threads above it or the host, whose steal is not known here")),
    };
    let others = of_others.map(|whom| format!("{} {whom}", grouped(outside - of_host.unwrap_or(0))));
    let host = of_host.map(|stolen| format!("{} by the host, which ran something else", grouped(stolen)));
    let causes: Vec<String> = host.into_iter().chain(others).collect();
    Some(format!(
        "While even FIFO 99 was kept from the CPU: {}. The other {} {} the context's: its thread or callback waited for others, or \
         its own work took too long.",
        causes.join("; "),
        grouped(rest),
        agreeing(rest, "is", "are")
    ))
}

/// Blocks that a device which keeps up has lost: to the machine, or since no program was called for their interrupts.
fn lost_all_the_same(device: &DeviceSummary) -> String {
    match device.dropped + device.lost {
        0 => String::new(),
        lost => {
            format!(
                ", but {} {} lost through no fault of its own{}",
                counted(lost, "block"),
                agreeing(lost, "was", "were"),
                not_called(device)
            )
        }
    }
}

/// Why blocks may not have been worked on: for how many of their interrupts no program was called.
fn not_called(device: &DeviceSummary) -> String {
    if device.unobserved == 0 || not_worked_on(device) == 0 {
        return String::new();
    }
    format!(" (no program was called for {})", counted(device.unobserved, "interrupt"))
}

/// What the machine's underruns come to in a day, and where that is judged: they are not held against the device, but its
/// user hears them all the same.
fn at_this_rate(run: &Run<'_>, device: &DeviceSummary) -> String {
    // Nobody else knows where the file of a user's own work is.
    if device.own.is_some() {
        return String::new();
    }
    let spec = shell_word(&run.written(device));
    let check = format!("`sudo punctual check --device {spec}` says whether that is acceptable");
    let seconds = run.document.measured_ns() as f64 / 1e9;
    // One wait has no rate.
    if device.stalls < 2 || seconds <= 0.0 {
        return format!(": {check}");
    }
    let day = two_digits(device.underruns as f64 * 86_400.0 / seconds);
    format!(", so at this rate the machine loses about {} a day: {check}", grouped(day))
}

/// A number to two digits.
fn two_digits(number: f64) -> u64 {
    let unit = 10_f64.powi((number.max(10.0).log10().floor() - 1.0) as i32);
    ((number / unit).round() * unit).round() as u64
}

/// Why a device that ran is not judged.
pub(crate) fn why_not_judged(device: &DeviceSummary) -> String {
    match (device.refused, device.cut) {
        (0, 0) => format!(
            "only {} of {} were processed, through no fault of its own",
            grouped(device.processed),
            counted(device.arrived, "block")
        ),
        (0, cut) => {
            let blocks = counted(cut, "block");
            format!("punctual itself gave up {blocks} after 5 ms, the longest that it lets one take in the kernel")
        }
        (refused, _) => {
            let kept = counted(refused, "block");
            format!(
                "punctual itself kept {kept} from it, to leave others their share of the CPU{}",
                withheld::why(device)
            )
        }
    }
}

/// How many of the underruns may belong to blocks that punctual kept from the device.
fn kept_from_it(device: &DeviceSummary) -> String {
    match kept_from(device).min(device.underruns.saturating_sub(device.underruns_outside)) {
        0 => String::new(),
        kept => {
            let how = if device.refused == 0 { "gave up after 5 ms" } else { "kept from it" };
            format!(", at most {} of blocks that punctual {how}, to leave others their share", grouped(kept))
        }
    }
}

/// How often whole rings were lost.
fn overran(device: &DeviceSummary) -> String {
    match device.overruns {
        0 => String::new(),
        1 => ", its ring overran once".to_owned(),
        times => format!(", its ring overran {}", counted(times, "time")),
    }
}

/// What became of the blocks that came, if it did not work on all of them.
fn worked_on(device: &DeviceSummary) -> String {
    let [not, waiting] = [not_worked_on(device), waiting(device)];
    if not + waiting == 0 {
        return String::new();
    }
    let mut words = format!(", {} worked on", grouped(device.processed));
    for (count, what) in [(not, "not"), (waiting, "waiting at the end")] {
        if count > 0 {
            words += &format!(", {} {what}", grouped(count));
        }
    }
    words
}

/// What became of the signal.
fn decoded_sentence(decoded: &DecodedSummary) -> String {
    let DecodedSummary { symbols, connected, bits, wrong, missing, connections_lost, .. } = *decoded;
    if symbols == 0 {
        return "None of its signal was decoded.".to_owned();
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
        // A radio's packets speak for themselves.
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

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::ActivationDocument;

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
        assert_eq!(decoded_sentence(&DecodedSummary::default()), "None of its signal was decoded.");
    }

    #[test]
    fn what_came_is_what_was_worked_on_what_was_not_and_what_waited() {
        let of = |arrived, processed, lost| DeviceSummary {
            arrived,
            processed,
            lost,
            buffers: 2,
            ..DeviceSummary::default()
        };
        for (device, blocks, words) in [
            (of(5_033, 5_017, 16), 5_033, ", 5,017 worked on, 16 not"),
            // What its buffers hold at the end came too late to be of this run.
            (of(20_031, 20_029, 0), 20_029, ""),
            (of(2_602, 5, 2_016), 2_602, ", 5 worked on, 2,016 not, 581 waiting at the end"),
            (of(0, 26, 0), 26, ""),
        ] {
            assert_eq!((came(&device), worked_on(&device).as_str()), (blocks, words));
        }
    }

    #[test]
    fn the_numbers_of_a_sentence_add_up() {
        let document = crate::device::run::tests::document();
        let device = DeviceSummary {
            device: "sdr".to_owned(),
            context: "irq".to_owned(),
            buffers: 8,
            arrived: 5_033,
            processed: 5_017,
            lost: 16,
            unobserved: 54,
            underruns: 1,
            underruns_outside: 1,
            ..DeviceSummary::default()
        };
        let activations = ActivationDocument { devices: vec![device.clone()], ..ActivationDocument::default() };
        let run = Run { path: std::path::Path::new("a"), document: &document, activations: &activations };
        let said = sentence(&run, &device);
        let expected = "sdr in irq keeps up, but 16 blocks were lost through no fault of its own (no program was called for 54 \
                        interrupts): 5,033 blocks, 5,017 worked on, 16 not, 1 underrun, when the machine kept even FIFO 99 from \
                        the CPU: `sudo punctual check --device sdr` says whether that is acceptable.";
        assert_eq!(said, expected);
        let mut loaded = document.clone();
        loaded.provenance.load.name = "workstation".to_owned();
        let said = sentence(&Run { document: &loaded, ..run }, &device);
        assert!(said.starts_with("sdr in irq under load (workstation) keeps up"), "{said}");
    }

    #[test]
    fn a_device_without_underruns_that_does_not_keep_up_has_a_reason() {
        let document = crate::device::run::tests::document();
        let activations = ActivationDocument::default();
        let run = Run { path: std::path::Path::new("a"), document: &document, activations: &activations };
        let of = |unobserved, lost| DeviceSummary {
            device: "encoder".to_owned(),
            context: "irq".to_owned(),
            buffers: 2,
            arrived: 1_000,
            processed: 1_000 - lost,
            lost,
            unobserved,
            ..DeviceSummary::default()
        };
        let said = |unobserved, lost| sentence(&run, &of(unobserved, lost));
        let starved = said(14, 18);
        assert!(starved.starts_with("encoder in irq does not keep up: 0 underruns of 1,000 blocks"), "{starved}");
        assert!(starved.contains(", 982 worked on, 18 not (no program was called for 14 interrupts), "), "{starved}");
        let lost = said(1, 1);
        assert!(
            lost.contains(
                "keeps up, but 1 block was lost through no fault of its own (no program was called for 1 interrupt): "
            ),
            "{lost}"
        );
        for other in [said(0, 18), said(14, 0)] {
            assert!(!other.contains("no program"), "{other}");
        }
    }

    #[test]
    fn underruns_of_a_device_that_does_not_keep_up_are_shared_out() {
        let of = |underruns_outside, underruns_stolen| {
            whose_underruns(&DeviceSummary {
                buffers: 2,
                arrived: 1_000,
                processed: 791,
                underruns: 209,
                underruns_outside,
                underruns_stolen,
                ..DeviceSummary::default()
            })
        };
        let said = of(193, Some(180)).unwrap();
        let expected = "180 by the host, which ran something else; 13 by interrupts or threads above it. The other 16 are the context's:";
        assert!(said.starts_with(&format!("While even FIFO 99 was kept from the CPU: {expected}")), "{said}");
        assert!(of(193, Some(193)).unwrap().contains("193 by the host, which ran something else. The other 16"));
        assert!(of(193, Some(0)).unwrap().contains("193 by interrupts or threads above it, none by the host"));
        assert!(of(193, None).unwrap().contains("whose steal is not known here"));
        assert_eq!(of(0, Some(0)), None);
        // It keeps up: all of them are the machine's, as its sentence says.
        assert_eq!(of(209, Some(209)), None);
    }

    #[test]
    fn what_the_machine_takes_in_a_day_is_said() {
        let mut document = crate::device::run::tests::document();
        document.provenance.command_line = ["punctual", "device", "run", "audio 64@48kHz"].map(str::to_owned).to_vec();
        let (device, processed) = ("audio".to_owned(), 15_000);
        let (underruns, underruns_outside, stalls) = (137, 137, 60);
        let device = DeviceSummary {
            device,
            context: "thread:80".to_owned(),
            buffers: 2,
            arrived: processed,
            processed,
            underruns,
            underruns_outside,
            stalls,
            ..DeviceSummary::default()
        };
        let activations = ActivationDocument { devices: vec![device.clone()], ..ActivationDocument::default() };
        let run = Run { path: std::path::Path::new("a"), document: &document, activations: &activations };
        let day = grouped(two_digits(137.0 * 86_400.0 / (document.measured_ns() as f64 / 1e9)));
        let expected = format!(
            ", 137 underruns, all when the machine kept even FIFO 99 from the CPU, so at this rate the machine loses about {day} a \
             day: `sudo punctual check --device 'audio 64@48kHz'` says whether that is acceptable."
        );
        let said = sentence(&run, &device);
        assert!(said.ends_with(&expected), "{said}");
        // One wait is no rate, and without underruns there is nothing to judge.
        let once = sentence(&run, &DeviceSummary { stalls: 1, ..device.clone() });
        assert!(once.contains("from the CPU: `sudo punctual check") && !once.contains("a day"), "{once}");
        let none = sentence(&run, &DeviceSummary { underruns: 0, underruns_outside: 0, ..device });
        assert!(none.contains(", no underrun, ") && !none.contains("check"), "{none}");
        let rounded = [0.0, 2.4, 99.6, 591_840.0, 4_320.0].map(two_digits);
        assert_eq!(rounded, [0, 2, 100, 590_000, 4_300]);
    }

    #[test]
    fn what_punctual_kept_from_a_device_is_said() {
        let device = DeviceSummary { buffers: 2, arrived: 1_000, ..DeviceSummary::default() };
        let limited = DeviceSummary { processed: 960, refused: 40, underruns: 38, ..device.clone() };
        assert!(why_not_judged(&limited).starts_with("punctual itself kept 40 blocks from it"));
        let late = DeviceSummary { underruns: 41, overruns: 7, ..limited };
        assert!(kept_from_it(&late).starts_with(", at most 40 of blocks"), "{}", kept_from_it(&late));
        assert_eq!(overran(&late), ", its ring overran 7 times");
        assert_eq!(overran(&DeviceSummary { overruns: 1, ..late }), ", its ring overran once");
        let given_up = DeviceSummary { processed: 1_000, cut: 1, underruns: 1, ..device.clone() };
        let said = why_not_judged(&given_up);
        assert!(said.starts_with("punctual itself gave up 1 block after 5 ms"), "{said}");
        let said = kept_from_it(&DeviceSummary { underruns: 3, ..given_up });
        assert!(said.starts_with(", at most 1 of blocks that punctual gave up after 5 ms"), "{said}");
        let few = DeviceSummary { processed: 17, unobserved: 983, ..device };
        assert!(why_not_judged(&few).starts_with("only 17 of 1,000 blocks were processed"), "{}", why_not_judged(&few));
    }
}
