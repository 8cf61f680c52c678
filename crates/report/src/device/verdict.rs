//! Whether devices kept up, in sentences.

use super::calibrated::miss;
use super::own;
use super::run::Run;
use crate::layout::{counted, grouped};
use punctual_device::{keeps_up, kept_from};
use punctual_recording::{DecodedSummary, DeviceSummary, EndReason, WAS_STOPPED};

/// The result, one sentence per device.
pub fn verdict(run: &Run<'_>) -> String {
    let mut sentences: Vec<String> =
        crate::recording::verdict::load_failure_in_words(run.document).into_iter().collect();
    let owns = run.activations.devices.iter().filter_map(|device| device.own.as_ref());
    sentences.splice(0..0, owns.filter_map(own::end_sentence));
    sentences.extend(run.activations.not_reached.iter().map(|phases| format!("{phases}.")));
    for device in &run.activations.devices {
        sentences.push(sentence(run, device));
        sentences.extend(miss(device, run.document).map(|miss| format!("Its work took {miss}.")));
        sentences.extend(device.decoded.as_ref().map(decoded_sentence));
        sentences.extend(device.own.as_ref().map(own::sentence));
    }
    if run.activations.devices.is_empty() {
        sentences.push("No device ran: this is what the bystander meets alone.".to_owned());
    }
    if run.document.ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Interrupted) {
        let length = crate::layout::spoken_duration(run.document);
        sentences.push(format!("It was interrupted after {length}: all of this rests on that time."));
    } else if run.document.ended.is_none() {
        sentences.extend(crate::recording::verdict::end_in_words(run.document));
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
    // Buffers make up for a block that nobody worked on: it is not an underrun, but it is still not done.
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

/// Why a device that ran is not judged.
pub(super) fn why_not_judged(device: &DeviceSummary) -> String {
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

/// How many of the underruns may belong to blocks that punctual kept from the device.
fn kept_from_it(device: &DeviceSummary) -> String {
    match kept_from(device).min(device.underruns.saturating_sub(device.underruns_outside)) {
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
    fn a_device_that_served_next_to_nothing_fell_short_by_the_blocks_that_came() {
        let few = DeviceSummary { processed: 10, arrived: 200, underruns: 3, ..DeviceSummary::default() };
        let few = DeviceSummary { underruns_outside: 3, buffers: 2, ..few };
        assert_eq!(shortfall(&few), ", it processed 10 of 200 blocks that came");
    }

    #[test]
    fn what_punctual_kept_from_a_device_is_said() {
        let device = DeviceSummary { buffers: 2, arrived: 1_000, ..DeviceSummary::default() };
        let limited = DeviceSummary { processed: 960, refused: 40, underruns: 38, ..device.clone() };
        assert!(why_not_judged(&limited).starts_with("punctual itself kept 40 blocks from it"));
        let late = DeviceSummary { underruns: 41, overruns: 7, ..limited };
        assert!(kept_from_it(&late).starts_with(", at most 40 of blocks"), "{}", kept_from_it(&late));
        assert_eq!(shortfall(&late), ", its ring overran 7 times");
        let few = DeviceSummary { processed: 17, unobserved: 983, ..device };
        assert!(why_not_judged(&few).starts_with("only 17 of 1,000 blocks came"), "{}", why_not_judged(&few));
    }
}
