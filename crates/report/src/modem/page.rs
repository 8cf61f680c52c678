//! The page of `punctual modem transfer --html`: each call's pending samples, beside what came of it.

use super::live;
use super::picture::{Axes, pending};
use super::text::how;
use super::{LiveSent, Sent};
use crate::device::device_table;
use crate::encode::head::{Head, Part, standing};
use crate::encode::html::setting::{context, provenance};
use crate::encode::plain_page::escape;
use crate::layout::{counted, for_screen, grouped, percent, thousands};
use punctual_modem::transfer::{Attempt, Seconds};
use std::fmt::Write as _;

/// A page has pictures of at most this many calls.
const MAX_PICTURES: usize = 64;

/// As wide as the pictures, so that what is above one does not push its neighbours away.
const STYLE: &str = ".planes figure{width:340px;max-width:100%}td.ending{white-space:nowrap}";

/// The page, one file.
pub fn transfer_page(sent: &Sent<'_>) -> String {
    let Sent { file, transfer, .. } = sent;
    let time = sent.live.as_ref().map_or_else(|| "in virtual time".to_owned(), live::time);
    let bytes = counted(transfer.bytes, "byte");
    let mut parts =
        vec![Part::new("pending", "Samples pending", pictures(sent)), Part::new("calls", "The calls", calls(sent))];
    let devices = sent.live.as_ref().and_then(|live| live.devices);
    if let Some(run) = devices {
        let body = format!(
            "<div class=\"wide\" tabindex=\"0\"><pre>{}</pre></div>\n",
            escape(&for_screen(&device_table(&run.activations.devices)))
        );
        parts.push(Part::new("devices", "The devices beside them", body));
    }
    let told = how(sent.experiment, sent.pump);
    let lines: Vec<String> = told.lines().map(|line| format!("<li>{}</li>", escape(line))).collect();
    parts.push(Part::new("how", "How they were made", format!("<ul>{}</ul>\n", lines.concat())));
    if let Some(run) = devices {
        let mut body = "<p class=\"soft\">Of the recording of the devices beside the modems.</p>\n".to_owned();
        provenance(&[("recording".to_owned(), run.document)]).0.html(&mut body);
        parts.push(Part::new("provenance", "Provenance", body));
    }
    let made = context("punctual modem transfer", devices.map(|run| run.document));
    let warnings = sent.live.as_ref().map(LiveSent::troubles).unwrap_or_default();
    let head = Head {
        title: "A file over a modem",
        context: &format!("{made} · {file}, {bytes} · {time}"),
        verdict: &sent.verdict(),
        next: &[],
        warnings: &warnings,
        blind: &[],
    };
    standing(&head, &parts, STYLE)
}

fn pictures(sent: &Sent<'_>) -> String {
    let transfer = sent.transfer;
    let ring = sent.experiment.setup.ring;
    let axes = Axes::of(&transfer.courses, ring);
    let mut body = format!(
        "<p class=\"soft\">The most samples that were left after a block, for each second of a call, as in Figures 5 to 7, 14 and \
         18 of MSR-TR-2000-88. The dashed line is the ring of {}: what stands above it is lost. A mark at the \
         top is a second in which the ring wrapped. A mark below the axis is one in which samples to send were not there. The dotted line is the \
         link. All pictures have the same axes.</p>\n<div class=\"planes\">\n",
        counted(ring, "sample")
    );
    let calls = transfer.courses.iter().zip(&transfer.attempts).enumerate();
    for (place, (course, attempt)) in calls.take(MAX_PICTURES) {
        body += &pending(&format!("attempt {}", live::name(sent.live.as_ref(), place)), course, attempt, &axes);
    }
    body.push_str("</div>\n");
    let left = transfer.courses.len().saturating_sub(MAX_PICTURES);
    if left > 0 {
        let _ = writeln!(body, "<p>Without a picture: {}.</p>", counted(left, "call"));
    }
    body
}

fn calls(sent: &Sent<'_>) -> String {
    let mut body = String::new();
    if let Some(Seconds { min, max, mean, deviation }) = sent.transfer.seconds() {
        let (successes, all) = (sent.transfer.successes(), sent.transfer.attempts.len());
        let throughput = sent.transfer.throughput().unwrap_or(0.0);
        let _ = writeln!(
            body,
            "<p>Transfers took {min:.3} to {max:.3} s, {mean:.3} s in the mean, with a deviation of {deviation:.3} s: {} \
             bit/s. {successes} of {all} arrived intact.</p>",
            thousands(&format!("{throughput:.0}"))
        );
    }
    if let Some(ratio) = live::against_clean(sent) {
        let _ = writeln!(body, "<p>On average {ratio}.</p>");
    }
    let live = sent.live.as_ref();
    if let Some(together) = live.filter(|live| live.modems > 1).and_then(|live| live::Together::of(sent, live)) {
        let _ = writeln!(body, "<p>All {}.</p>", together.words());
    }
    body.push_str("<div class=\"wide\" tabindex=\"0\"><table><caption>Calls</caption><thead><tr>");
    let mut heads =
        vec!["seconds", "bit/s", "retrains", "CRC errors", "far", "resent", "underruns", "overruns", "lost samples"];
    if live.is_some() {
        heads.extend(["CPU %", "datapump %", "late at most ms", "host took ms"]);
    }
    body.push_str("<th scope=\"col\">attempt</th><th scope=\"col\">ending</th>");
    heads.iter().for_each(|head| body += &format!("<th scope=\"col\" class=\"n\">{head}</th>"));
    body.push_str("</tr></thead><tbody>\n");
    for (place, attempt) in sent.transfer.attempts.iter().enumerate() {
        let class = if attempt.succeeded() { "" } else { " class=\"fails\"" };
        let (name, ending) = (live::name(live, place), attempt.ending.name().replace('_', " "));
        let _ = write!(body, "<tr{class}><th scope=\"row\">{name}</th><td class=\"ending\">{ending}</td>");
        cells(attempt, live, place).iter().for_each(|cell| body += &format!("<td class=\"n\">{cell}</td>"));
        body.push_str("</tr>\n");
    }
    body + "</tbody></table></div>\n"
}

fn cells(attempt: &Attempt, live: Option<&LiveSent<'_>>, place: usize) -> Vec<String> {
    let mut cells = vec![
        attempt.transfer_ns.map_or_else(|| "–".to_owned(), |ns| thousands(&format!("{:.3}", ns as f64 / 1e9))),
        thousands(&attempt.bits_per_second.to_string()),
        thousands(&attempt.retrains.to_string()),
        grouped(attempt.crc_errors),
        grouped(attempt.far_crc_errors),
        grouped(attempt.resent),
        grouped(attempt.underruns),
        grouped(attempt.overruns),
        grouped(attempt.lost_samples),
    ];
    if let Some(call) = live.and_then(|live| live.calls.get(place)) {
        let ms = |ns: u64| thousands(&format!("{:.1}", ns as f64 / 1e6));
        let of_call = |ns: u64| percent(ns, call.elapsed_ns);
        cells.push(format!("{:.1}", of_call(call.executed_ns)));
        cells.push(format!("{:.2}", of_call(call.datapump_ns)));
        cells.push(ms(call.max_late_ns));
        cells.push(call.host_ns.map_or_else(|| "?".to_owned(), ms));
    }
    cells
}
