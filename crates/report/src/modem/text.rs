//! The same as text for people.

use super::{Sent, Stalled, direction_name, far_end_name, live};
use crate::layout::{counted, grouped, table};
use punctual_modem::adapter::Late;
use punctual_modem::experiment::Experiment;
use punctual_modem::telephone::{ECHO_BANK, Law};
use punctual_modem::transfer::Ending;
use punctual_recording::format_ns;
use std::fmt::Write as _;

/// What a transfer was and what became of it: the verdict first.
pub fn transfer_text(sent: &Sent<'_>) -> String {
    let Sent { file, experiment, transfer, .. } = sent;
    let mut text = format!("{}\n\n", sent.verdict());
    let (bytes, direction) = (counted(transfer.bytes, "byte"), direction_name(experiment.direction));
    let time = sent.live.as_ref().map_or_else(|| "in virtual time".to_owned(), live::time);
    let _ = writeln!(text, "{file}, {bytes}, {direction}; {time}");
    text += &how(experiment, sent.pump);
    if let (Some(seconds), Some(throughput)) = (transfer.seconds(), transfer.throughput()) {
        let header = ["min s", "max s", "mean s", "std dev", "successes", "bit/s"];
        let row = vec![
            format!("{:.3}", seconds.min),
            format!("{:.3}", seconds.max),
            format!("{:.3}", seconds.mean),
            format!("{:.3}", seconds.deviation),
            format!("{} of {}", transfer.successes(), transfer.attempts.len()),
            format!("{throughput:.0}"),
        ];
        let _ = writeln!(text, "\n{}", table(&header, 0..6, [row]));
    }
    if let Some(ratio) = live::against_clean(sent) {
        let _ = writeln!(text, "on average {ratio}");
    }
    if !transfer.attempts.is_empty() {
        let _ = writeln!(text, "\n{}", attempts(sent));
    }
    if let Some(live) = sent.live.as_ref().filter(|live| !live.calls.is_empty()) {
        let _ = writeln!(text, "\n{}", live::machine(sent, live));
        text += &live::together(sent, live);
    }
    if let Some(live) = &sent.live {
        text += &live::beside(live);
    }
    for ending in Ending::ALL.into_iter().skip(1) {
        let count = transfer.sum(|attempt| u64::from(attempt.ending == ending));
        if count > 0 {
            let _ = writeln!(text, "\n{count} of {}: {}", transfer.attempts.len(), ending.words());
        }
    }
    text
}

/// How the two ends and the line between them are set up; with a pump that is not ours, its name.
pub(super) fn how(experiment: &Experiment, pump: Option<&str>) -> String {
    let Experiment { telephone, .. } = experiment;
    let line = &telephone.line;
    let noise = line.signal_to_noise.map_or_else(|| "no noise".to_owned(), |noise| format!("noise {noise} dB below"));
    let echo = line.echo.map_or_else(|| "no echo".to_owned(), |echo| format!("echo {echo} dB below"));
    let law = match line.companding {
        Some(Law::A) => "A-law",
        Some(Law::Mu) => "u-law",
        None => "not companded",
    };
    let ours = || format!("at most {} bit/s", grouped(telephone.max_rate.bits_per_second().into()));
    let pump = pump.map_or_else(ours, str::to_owned);
    let far_end = far_end_name(experiment.far_end);
    let clock = match telephone.drift_ppm {
        0 => String::new(),
        ppm if ppm > 0 => format!(", its clock {ppm} ppm faster"),
        ppm => format!(", its clock {} ppm slower", -ppm),
    };
    let mut text = format!("line: {pump}, {noise}, {echo}, {law}; far end: {far_end}{clock}\n");
    text += &calling_end(experiment);
    if let Some(slot) = experiment.slot {
        let _ = writeln!(text, "its processor: {} of every {}", format_ns(slot.runtime_ns), format_ns(slot.period_ns));
    }
    if let Some(stalls) = experiment.stalls {
        let _ = writeln!(text, "stalls: {}, one in every {}", format_ns(stalls.length_ns), format_ns(stalls.every_ns));
    }
    text
}

/// How the end that runs late is set up.
pub(super) fn calling_end(experiment: &Experiment) -> String {
    let setup = &experiment.setup;
    let late = match setup.late {
        Late::WorkOff => "late blocks worked off",
        Late::DropStale => "late blocks dropped for the newest",
    };
    let taps = match experiment.telephone.echo_banks {
        1 => String::new(),
        banks => format!(", {} taps", grouped(u64::from(banks * ECHO_BANK))),
    };
    format!(
        "calling end: {} of each 12.5 ms{taps}, {}, slack {}, {late}\n",
        format_ns(setup.compute_ns),
        counted(setup.buffers, "buffer"),
        format_ns(setup.slack_ns()),
    )
}

fn attempts(sent: &Sent<'_>) -> String {
    let header = [
        "attempt",
        "seconds",
        "set-up s",
        "bit/s",
        "retrains",
        "CRC errors",
        "far",
        "resent",
        "underruns",
        "overruns",
        "lost samples",
        "stalls",
        "ending",
    ];
    let listed = live::listed(sent);
    let rows = listed.into_iter().map(|place| (place, &sent.transfer.attempts[place])).map(|(place, attempt)| {
        vec![
            live::name(sent.live.as_ref(), place),
            attempt.transfer_ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ns as f64 / 1e9)),
            format!("{:.3}", attempt.set_up_ns as f64 / 1e9),
            attempt.bits_per_second.to_string(),
            attempt.retrains.to_string(),
            attempt.crc_errors.to_string(),
            attempt.far_crc_errors.to_string(),
            attempt.resent.to_string(),
            attempt.underruns.to_string(),
            attempt.overruns.to_string(),
            attempt.lost_samples.to_string(),
            attempt.stalls.to_string(),
            attempt.ending.name().replace('_', " "),
        ]
    });
    table(&header, 0..12, rows)
}

/// The table of stalls: the verdict first.
pub fn stalls_text(stalled: &Stalled<'_>) -> String {
    let mut text = format!("{}\n\nOne stall a call, at a point by chance; in virtual time\n", stalled.verdict());
    text += &how(stalled.experiment, None);
    let header = [
        "direction",
        "stall",
        "unharmed",
        "underruns",
        "overruns",
        "CRC errors",
        "retrained",
        "extra s mean",
        "max",
        "arrived",
    ];
    let seconds = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let rows = stalled.rows.iter().map(|row| {
        vec![
            direction_name(row.direction).to_owned(),
            format_ns(row.length_ns),
            format!("{} of {}", row.unharmed, row.calls),
            row.underruns.to_string(),
            row.overruns.to_string(),
            row.crc_errors.to_string(),
            format!("{} of {}", row.retrained, row.calls),
            seconds(row.mean_extra_s),
            seconds(row.max_extra_s),
            format!("{} of {}", row.succeeded, row.calls),
        ]
    });
    let _ = writeln!(text, "\n{}", table(&header, 1..10, rows));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Run;
    use crate::modem::{LiveSent, StallsAnswer, TransferAnswer, transfer_page};
    use punctual_modem::experiment::StallRow;
    use punctual_modem::transfer::{Attempt, Course, LiveAttempt, Second, Transfer};
    use punctual_modem::virtual_time::Direction;
    use punctual_recording::{ActivationDocument, Document};
    use std::path::Path;

    fn attempt(ending: Ending, transfer_ns: Option<u64>) -> Attempt {
        Attempt {
            ending,
            is_exact: transfer_ns.is_some(),
            received: 200_000,
            set_up_ns: 5_000_000_000,
            transfer_ns,
            bits_per_second: 9_600,
            retrains: 1,
            crc_errors: 2,
            far_crc_errors: 3,
            resent: 4,
            underruns: 5,
            underrun_samples: 400,
            overruns: 1,
            lost_samples: 450,
            stalls: 6,
        }
    }

    #[test]
    fn a_transfer_in_words_and_for_programs() {
        let attempts = vec![attempt(Ending::Arrived, Some(174_250_000_000)), attempt(Ending::HungUp, None)];
        let transfer = Transfer { bytes: 200_000, attempts, ..Transfer::default() };
        let experiment = Experiment::default();
        let (experiment, transfer) = (&experiment, &transfer);
        let sent = Sent { file: "a.gz", experiment, pump: None, transfer, interrupted: false, live: None };
        let foreign = transfer_text(&Sent { pump: Some("V.22bis of spandsp"), live: None, ..sent });
        assert!(foreign.contains("line: V.22bis of spandsp, noise 35 dB below"), "{foreign}");
        let text = transfer_text(&sent);
        assert!(text.contains("line: at most 9,600 bit/s, noise 35 dB below"), "{text}");
        assert!(text.contains("in virtual time"), "{text}");
        assert!(text.starts_with("1 of 2 attempts arrived intact, in 174.250 s on average.\n"), "{text}");
        for part in ["slack 10.7 ms", "1 of 2: the far end hung up", "hung up", "9182", "noise 35 dB below"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let value = crate::answer::value(&TransferAnswer::new(&sent));
        assert_eq!((value["exit_code"].as_u64(), value["successes"].as_u64()), (Some(1), Some(1)));
        assert!(value["attempts"][1]["transfer_ns"].is_null() && value["live"].is_null());
        // For a thread of this machine: the samples that were waiting, and what the host took.
        let mut beside = LiveAttempt { activations: 100, host_ns: None, ..LiveAttempt::default() };
        (0..98).for_each(|_| beside.note_pending(3));
        (0..2).for_each(|_| beside.note_pending(200));
        let live = LiveSent {
            context: "thread:other".to_owned(),
            modems: 1,
            cpus: &[1],
            competitors: vec!["spin:normal".to_owned()],
            load: None,
            scores: &[],
            notes: &[],
            load_failure: None,
            refused: &[],
            calls: &[beside.clone(), beside],
            clean_ns: Some(170_000_000_000),
            devices: None,
        };
        let sent = Sent { live: Some(live), ..sent };
        let text = transfer_text(&sent);
        for part in [
            "in real time, by a thread in thread:other on CPU 1, beside spin:normal",
            "<45  <225  <225",
            "\non average 1.025 times the 170.000 s of such a call in virtual time, where nothing is late\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let value = crate::answer::value(&TransferAnswer::new(&sent));
        assert_eq!(value["live"]["clean_transfer_ns"].as_u64(), Some(170_000_000_000));
        assert!(transfer_page(&sent).contains("<p>On average 1.025 times the 170.000 s of such a call"));
        assert_eq!(value["live"]["attempts"][0]["pending"], serde_json::json!([98, 0, 0, 0, 2]));
    }

    /// Two modems, out of three, that call at once, twice: their shares, what they did together, who was refused.
    #[test]
    fn modems_that_call_at_once_have_their_shares_and_their_pictures() {
        let attempts = vec![attempt(Ending::Arrived, Some(2_000_000_000)); 4];
        let seconds = [(Some(3), 0), (None, 1), (Some(500), 0)];
        let seconds =
            seconds.map(|(max_pending, underruns)| Second { max_pending, underruns, overruns: underruns }).to_vec();
        let transfer = Transfer { bytes: 1_000, attempts, courses: vec![Course { seconds }; 4] };
        let call = |place: u32| LiveAttempt {
            attempt: place / 2,
            modem: place % 2,
            cpu: place % 2,
            elapsed_ns: 4_000_000_000,
            executed_ns: 1_000_000_000,
            datapump_ns: 400_000_000,
            ..LiveAttempt::default()
        };
        let calls: Vec<LiveAttempt> = (0..4).map(call).collect();
        let live = LiveSent {
            context: "reservation:4ms/8ms".to_owned(),
            modems: 3,
            cpus: &[0, 1],
            competitors: Vec::new(),
            load: Some("mixed"),
            scores: &[],
            notes: &[],
            load_failure: None,
            refused: &[(2, "no room".to_owned())],
            calls: &calls,
            clean_ns: None,
            devices: None,
        };
        let experiment = Experiment::default();
        let live = Some(live);
        let (experiment, transfer) = (&experiment, &transfer);
        let sent = Sent { file: "a<b>", experiment, pump: None, transfer, interrupted: false, live };
        let text = transfer_text(&sent);
        for part in [
            "4 of 4 calls arrived intact",
            "by 3 threads in reservation:4ms/8ms on CPUs 0 and 1, beside mixed",
            "2.2",
            "together: 8,000 bit/s, 50.0 % of a CPU, of which the datapumps at the calling ends 20.0 %",
            "1 modem of 3 could not take part (3): no room",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let value = crate::answer::value(&TransferAnswer::new(&sent));
        assert_eq!((value["exit_code"].as_u64(), value["live"]["refused"][0]["modem"].as_u64()), (Some(1), Some(3)));
        assert_eq!(value["attempts"][3]["pending_by_second"], serde_json::json!([3, null, 500]));
        let page = transfer_page(&sent);
        crate::encode::plain_page::tests::assert_well_formed(&page);
        assert_eq!(page.matches("<svg").count(), 4, "a picture for each call");
        assert_eq!(page.matches("1 underrun").count(), 8, "in words, for whoever sees it and for whoever does not");
        assert!(page.contains("a&lt;b&gt;") && page.contains(">9,600</td>"));
        assert!(page.contains("<p class=\"context\">punctual modem transfer · a&lt;b&gt;, "), "{page:.2000}");
        // Devices beside them were recorded: where and when is known.
        let document = include_str!("../../../cli/tests/golden/device.punctual/recording.json");
        let document: Document = serde_json::from_str(document).unwrap();
        let activations = ActivationDocument::default();
        let run = Run { path: Path::new("d.punctual"), document: &document, activations: &activations };
        let sent = Sent { live: sent.live.map(|live| LiveSent { devices: Some(run), ..live }), ..sent };
        let page = transfer_page(&sent);
        assert!(page.contains("<p class=\"context\">punctual modem transfer · machine · 2026-"), "{page:.2000}");
        assert!(page.contains("<a href=\"#provenance\">") && page.contains("<th scope=\"row\">kernel</th>"));
    }

    #[test]
    fn stalls_in_words_and_for_programs() {
        let row = |length_ns, unharmed, retrained| StallRow {
            length_ns,
            direction: Direction::Upload,
            calls: 4,
            succeeded: 4,
            unharmed,
            underruns: 4,
            overruns: 0,
            crc_errors: 7,
            retrained,
            mean_extra_s: Some(0.5),
            max_extra_s: None,
        };
        let rows = [row(5_000_000, 4, 0), row(80_000_000, 0, 3)];
        let experiment = Experiment::default();
        let stalled = Stalled { experiment: &experiment, rows: &rows, interrupted: false };
        let text = stalls_text(&stalled);
        assert!(text.contains("harmed no call: 5.00 ms; shortest after which one trained again: 80.0 ms."), "{text}");
        assert!(text.contains("3 of 4") && text.contains("0.50"), "{text}");
        let value = crate::answer::value(&StallsAnswer::new(&stalled));
        assert_eq!(value["rows"][1]["retrained"], 3);
    }
}
