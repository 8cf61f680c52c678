//! What became of two modems that were terminals for a while.

use crate::answer::Answer;
use crate::layout::{agreeing, counted, grouped, table};
use punctual_modem::SAMPLE_RATE;
use punctual_modem::adapter::time_of;
use punctual_modem::arq::Side;
use punctual_modem::office::{LineRun, NUMBERS};
use punctual_modem::station::CallRecord;
use punctual_recording::format_ns;
use serde::Serialize;
use std::fmt::Write as _;

/// The terminals, their calls, and how late the line was.
#[derive(Debug)]
pub struct Lined<'a> {
    /// What became of them.
    pub run: &'a LineRun,
}

impl Lined<'_> {
    /// The outcome, in a sentence.
    pub fn verdict(&self) -> String {
        let connected = |calls: &[CallRecord]| calls.iter().filter(|call| call.bits_per_second > 0).count();
        let [first, second] = &self.run.calls;
        let bytes: u64 = first.iter().chain(second).map(|call| call.received).sum();
        let late = match (self.run.left_out_ns, self.run.late_blocks) {
            (0, 0) => "the line was never late".to_owned(),
            (0, late) => format!("the line waited for this machine {}", counted(late, "time")),
            (left_out, _) => format!("the line stood still for {}", format_ns(left_out)),
        };
        let calls = connected(first).max(connected(second));
        format!("{} connected, {} over the line; {late}.", counted(calls, "call"), counted(bytes, "byte"))
    }
}

/// Two modems that were terminals. Times are ns.
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
    ends: Vec<EndRow>,
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
        let end = |place: usize| EndRow {
            path: run.paths[place].display().to_string(),
            number: NUMBERS[place],
            counted_calls: run.counted[place],
            unread_bytes: run.unread[place],
            calls: run.calls[place].iter().map(CallRow::new).collect(),
        };
        LineAnswer {
            schema: "punctual.modem-line/1",
            verdict: lined.verdict(),
            exit_code: 0,
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
            ends: vec![end(0), end(1)],
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
    let mut rows = Vec::new();
    for (name, calls) in ["A", "B"].into_iter().zip(&run.calls) {
        for call in calls {
            rows.push(vec![
                name.to_owned(),
                if call.side == Side::Calling { "called" } else { "answered" }.to_owned(),
                format!("{:.1}", call.samples as f64 / SAMPLE_RATE as f64),
                call.bits_per_second.to_string(),
                grouped(call.sent),
                grouped(call.received),
                call.retrains.to_string(),
                call.damaged.to_string(),
                call.ending.name().replace('_', " "),
            ]);
        }
    }
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
    for (name, unread) in ["A", "B"].into_iter().zip(run.unread).filter(|(_, unread)| *unread > 0) {
        let _ = writeln!(
            text,
            "\n{} for {name} {} read by no program",
            counted(unread, "byte"),
            agreeing(unread, "was", "were")
        );
    }
    text
}
