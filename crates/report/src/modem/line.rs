//! What became of modems that were in use for a while: two of one process, or one of two.

use crate::answer::Answer;
use crate::layout::{agreeing, counted, grouped, table};
use punctual_modem::SAMPLE_RATE;
use punctual_modem::adapter::time_of;
use punctual_modem::arq::Side;
use punctual_modem::office::{EndRun, LineRun, NUMBERS};
use punctual_modem::station::CallRecord;
use punctual_recording::format_ns;
use serde::Serialize;
use std::fmt::Write as _;

/// The two ends' names.
const NAMES: [&str; 2] = ["A", "B"];

/// The ends, their calls, and how late the line was.
#[derive(Debug)]
pub struct Lined<'a> {
    /// What became of them.
    pub run: &'a LineRun,
    /// What to do next, if there is something.
    pub next: Option<String>,
}

impl Lined<'_> {
    /// 1 if the other end was lost, or a file did not pass.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.run.lost.is_some() || self.run.file.is_some_and(|file| !file.is_through))
    }
}

/// Modems that were in use for a while. Times are ns.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LineAnswer {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    line_ns: u64,
    late_blocks: u64,
    max_late_ns: u64,
    left_out_ns: u64,
    starved: Option<StarvedRow>,
    /// Both ends of the line, or the one of this process.
    ends: Vec<EndRow>,
    refused_connections: u64,
    /// Why the other end's process was lost; `null`: it was not.
    lost: Option<String>,
    file: Option<FileRow>,
}

/// A file that was to be sent or received.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FileRow {
    /// Of a file to be sent; `null`: one was to be received.
    length_bytes: Option<u64>,
    passed_bytes: u64,
    is_through: bool,
}

/// What the first modem's processor missed by its stalls.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StarvedRow {
    stalls: u64,
    underruns: u64,
    underrun_samples: u64,
    overruns: u64,
    lost_samples: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EndRow {
    path: String,
    number: &'static str,
    /// All of them; only the first thousand are listed.
    counted_calls: u64,
    unread_bytes: u64,
    calls: Vec<CallRow>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CallRow {
    called: bool,
    ending: &'static str,
    duration_ns: u64,
    connected_ns: u64,
    /// At the first connection; `null`: never.
    bits_per_second: Option<u32>,
    sent_bytes: u64,
    received_bytes: u64,
    retrains: u32,
    crc_errors: u64,
}

impl CallRow {
    fn new(call: &CallRecord) -> CallRow {
        CallRow {
            called: call.side == Side::Calling,
            ending: call.ending.name(),
            duration_ns: time_of(call.samples),
            connected_ns: time_of(call.connected_samples),
            bits_per_second: Some(call.bits_per_second).filter(|rate| *rate > 0),
            sent_bytes: call.sent,
            received_bytes: call.received,
            retrains: call.retrains,
            crc_errors: call.damaged,
        }
    }
}

impl LineAnswer {
    /// The answer for programs.
    pub fn new(lined: &Lined<'_>) -> LineAnswer {
        let run = lined.run;
        let end = |end: &EndRun| EndRow {
            path: end.path.display().to_string(),
            number: NUMBERS[end.place],
            counted_calls: end.counted,
            unread_bytes: end.unread,
            calls: end.calls.iter().map(CallRow::new).collect(),
        };
        LineAnswer {
            schema: "punctual.modem-line/1",
            verdict: lined.verdict(),
            exit_code: lined.exit_code(),
            line_ns: run.blocks * punctual_modem::adapter::BLOCK_NS,
            late_blocks: run.late_blocks,
            max_late_ns: run.max_late_ns,
            left_out_ns: run.left_out_ns,
            starved: run.starved.map(|(counters, stalls)| StarvedRow {
                stalls,
                underruns: counters.underruns,
                underrun_samples: counters.underrun_samples,
                overruns: counters.overruns,
                lost_samples: counters.lost_samples(),
            }),
            ends: run.ends.iter().map(end).collect(),
            refused_connections: run.refused_connections,
            lost: run.lost.clone(),
            file: run.file.map(|file| FileRow {
                length_bytes: file.length,
                passed_bytes: file.bytes,
                is_through: file.is_through,
            }),
        }
    }
}

impl Answer for LineAnswer {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// The same as text for people: the verdict first.
pub fn line_text(lined: &Lined<'_>) -> String {
    let run = lined.run;
    let mut text = format!("{}\n", lined.verdict());
    let header = ["end", "call", "seconds", "bit/s", "sent", "received", "retrains", "CRC errors", "ending"];
    let rows: Vec<Vec<String>> = run.ends.iter().flat_map(rows_of).collect();
    if !rows.is_empty() {
        let _ = writeln!(text, "\n{}", table(&header, 2..8, rows));
    }
    if run.late_blocks > 0 {
        let _ = writeln!(
            text,
            "\nOf {} of 12.5 ms, {} {} processed late, the worst by {}; none was lost",
            counted(run.blocks, "block"),
            grouped(run.late_blocks),
            agreeing(run.late_blocks, "was", "were"),
            format_ns(run.max_late_ns)
        );
    }
    if let Some((counters, stalls)) = &run.starved {
        let _ = writeln!(
            text,
            "\nA's processor stalled {}: {}, {}",
            counted(*stalls, "time"),
            counted(counters.underruns, "underrun"),
            counted(counters.overruns, "overrun")
        );
    }
    for end in run.ends.iter().filter(|end| end.unread > 0) {
        let _ = writeln!(
            text,
            "\n{} for {} {} read by no program",
            counted(end.unread, "byte"),
            NAMES[end.place],
            agreeing(end.unread, "was", "were")
        );
    }
    if run.refused_connections > 0 {
        let refused = counted(run.refused_connections, "connection");
        let _ = writeln!(text, "\n{refused} refused: what called there was not a modem of this user");
    }
    if let Some(next) = &lined.next {
        let _ = writeln!(text, "\nnext: {next}");
    }
    text
}

/// A row for each call of an end.
fn rows_of(end: &EndRun) -> Vec<Vec<String>> {
    let row = |call: &CallRecord| {
        vec![
            NAMES[end.place].to_owned(),
            if call.side == Side::Calling { "called" } else { "answered" }.to_owned(),
            format!("{:.1}", call.samples as f64 / SAMPLE_RATE as f64),
            call.bits_per_second.to_string(),
            grouped(call.sent),
            grouped(call.received),
            call.retrains.to_string(),
            call.damaged.to_string(),
            call.ending.name().replace('_', " "),
        ]
    };
    end.calls.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_modem::office::FileRun;
    use punctual_modem::station::CallEnding;

    fn run(ending: Option<CallEnding>, lost: Option<&str>, file: Option<FileRun>) -> LineRun {
        let call = |ending| CallRecord {
            side: Side::Calling,
            ending,
            samples: 72_000,
            connected_samples: 36_000,
            bits_per_second: 9_600,
            sent: 20,
            received: 1,
            retrains: 0,
            damaged: 0,
        };
        let calls: Vec<CallRecord> = ending.into_iter().map(call).collect();
        let end = EndRun { place: 0, path: "/dev/pts/9".into(), counted: calls.len() as u64, calls, unread: 0 };
        LineRun { ends: vec![end], lost: lost.map(str::to_owned), file, ..LineRun::default() }
    }

    fn said(run: &LineRun) -> (String, u8) {
        let lined = Lined { run, next: None };
        assert_eq!(LineAnswer::new(&lined).exit_code, lined.exit_code());
        (line_text(&lined).lines().next().unwrap_or_default().to_owned(), lined.exit_code())
    }

    #[test]
    fn the_verdict_says_what_became_of_the_file_or_the_line() {
        let file = |length, bytes, is_through| Some(FileRun { length, bytes, is_through });
        for (run, verdict, code) in [
            (
                run(Some(CallEnding::HungUp), None, file(Some(3_000), 3_000, true)),
                "3,000 bytes sent, and the other end has acknowledged the last; the line was never late.",
                0,
            ),
            (
                run(Some(CallEnding::FarHungUp), None, file(None, 1, true)),
                "1 byte received, and the other end hung up after the last; the line was never late.",
                0,
            ),
            (
                run(Some(CallEnding::Open), Some("its process is gone"), file(Some(3_000), 12, false)),
                "The file was not sent: carrier lost, its process is gone; 12 bytes of 3,000 acknowledged.",
                1,
            ),
            (
                run(None, None, file(None, 0, false)),
                "The file did not arrive: no call was set up; 0 bytes received.",
                1,
            ),
            (
                run(Some(CallEnding::FarHungUp), Some("its process is gone"), None),
                "Carrier lost: its process is gone; 1 call connected, 1 byte received; the line was never late.",
                1,
            ),
            (
                run(Some(CallEnding::HungUp), None, None),
                "1 call connected, 1 byte received; the line was never late.",
                0,
            ),
        ] {
            assert_eq!(said(&run), (verdict.to_owned(), code));
        }
    }
}
