//! Of modems: files that were sent, what stalls did, modems that were judged, in use for a while, or held against the paper's tables.

use crate::layout::{counted, grouped};
use crate::modem::study::Studied;
use crate::modem::{Judging, Lined, LiveSent, Sent, Stalled};
use punctual_modem::experiment::StallRow;
use punctual_modem::judge::Judged;
use punctual_modem::office::{EndRun, FileRun};
use punctual_modem::station::CallEnding;
use punctual_recording::{agreeing, format_ns};

impl Sent<'_> {
    /// The outcome, in a sentence.
    pub fn verdict(&self) -> String {
        let (successes, attempts) = (self.transfer.successes(), self.transfer.attempts.len());
        let what = if self.live.as_ref().is_some_and(LiveSent::is_many) { "call" } else { "attempt" };
        let cut = if self.interrupted { "; interrupted" } else { "" };
        match self.transfer.seconds() {
            Some(seconds) => {
                format!(
                    "{successes} of {} arrived intact, in {:.3} s on average{cut}.",
                    counted(attempts, what),
                    seconds.mean
                )
            }
            None if attempts == 0 => format!("No attempt was finished{cut}."),
            None => format!("None of {} arrived{cut}.", counted(attempts, what)),
        }
    }
}

impl Stalled<'_> {
    /// The outcome, in a sentence.
    pub fn verdict(&self) -> String {
        let longest = |of: fn(&StallRow) -> bool| self.rows.iter().filter(|row| of(row)).map(|row| row.length_ns).max();
        let shortest =
            |of: fn(&StallRow) -> bool| self.rows.iter().filter(|row| of(row)).map(|row| row.length_ns).min();
        let ms = |ns: Option<u64>| ns.map_or_else(|| "none".to_owned(), format_ns);
        let cut = if self.interrupted { "; interrupted" } else { "" };
        format!(
            "Slack {}. Longest stall that harmed no call: {}; shortest after which one trained again: {}{cut}.",
            format_ns(self.experiment.setup.slack_ns()),
            ms(longest(|row| row.unharmed == row.calls)),
            ms(shortest(|row| row.retrained > 0)),
        )
    }
}

/// A verdict names so many modems.
const MAX_NAMED: usize = 4;

impl Judging<'_> {
    /// The outcome, in a sentence.
    pub fn verdict(&self) -> String {
        let cut = if self.interrupted { "; interrupted" } else { "" };
        let mut order: Vec<&Judged> = self.judged.iter().collect();
        // Modems that others can be compared with, the fastest first: V.17 and ours at 14,400, and so on.
        order.sort_by_key(|judged| (!self.has_rival(judged), std::cmp::Reverse(judged.bits_per_second)));
        let Some((first, others)) = order.split_first() else { return format!("No modem was judged{cut}.") };
        let from = |judged: &Judged| match judged.flawless_from() {
            Some(ratio) => format!("from {ratio} dB on"),
            None => "at no ratio".to_owned(),
        };
        let mut sentence = format!("The line carries {} without an error {}", named(first), from(first));
        let listed = &others[..others.len().min(MAX_NAMED - 1)];
        for (place, judged) in listed.iter().enumerate() {
            let joint = if place + 1 == listed.len() { " and" } else { "," };
            sentence += &format!("{joint} {} {}", named(judged), from(judged));
        }
        let more = others.len() - listed.len();
        if more > 0 {
            sentence += &format!("; {more} more below");
        }
        format!("{sentence}{cut}.")
    }

    /// Whether somebody else's modem has the same rate.
    fn has_rival(&self, judged: &Judged) -> bool {
        let is_rival = |other: &&Judged| other.bits_per_second == judged.bits_per_second && other.maker != judged.maker;
        self.judged.iter().any(|other| is_rival(&other))
    }
}

fn named(judged: &Judged) -> String {
    format!("{} of {}", judged.name, judged.maker)
}

impl Lined<'_> {
    /// The outcome, in a sentence.
    pub fn verdict(&self) -> String {
        if let Some(file) = &self.run.file {
            return self.of_file(file);
        }
        let connected = |end: &EndRun| end.calls.iter().filter(|call| call.bits_per_second > 0).count();
        let ends = &self.run.ends;
        let bytes: u64 = ends.iter().flat_map(|end| &end.calls).map(|call| call.received).sum();
        let calls = ends.iter().map(connected).max().unwrap_or_default();
        let lost = self.run.lost.as_ref().map(|lost| format!("Carrier lost: {lost}; ")).unwrap_or_default();
        let way = if ends.len() == 2 { "over the line" } else { "received" };
        format!("{lost}{} connected, {} {way}; {}.", counted(calls, "call"), counted(bytes, "byte"), self.lateness())
    }

    fn lateness(&self) -> String {
        match (self.run.left_out_ns, self.run.late_blocks) {
            (0, 0) => "the line was never late".to_owned(),
            (0, late) => format!("the line waited for this machine {}", counted(late, "time")),
            (left_out, _) => format!("the line stood still for {}", format_ns(left_out)),
        }
    }

    /// The same for one file.
    fn of_file(&self, file: &FileRun) -> String {
        let bytes = counted(file.bytes, "byte");
        match (file.is_through, file.length) {
            (true, Some(_)) => {
                format!("{bytes} sent, and the other end has acknowledged the last; {}.", self.lateness())
            }
            (true, None) => format!("{bytes} received, and the other end hung up after the last; {}.", self.lateness()),
            (false, Some(length)) => {
                format!("The file was not sent: {}; {bytes} of {} acknowledged.", self.why(), grouped(length))
            }
            (false, None) => format!("The file did not arrive: {}; {bytes} received.", self.why()),
        }
    }

    /// Why a file is not through.
    fn why(&self) -> String {
        if let Some(lost) = &self.run.lost {
            return format!("carrier lost, {lost}");
        }
        let last = self.run.ends.iter().filter_map(|end| end.calls.last()).next_back();
        match last.map(|call| call.ending) {
            None => "no call was set up",
            Some(CallEnding::Open) => "this end was stopped during the call",
            Some(CallEnding::HungUp) => "this end hung up",
            Some(CallEnding::FarHungUp) => "the other end hung up",
            Some(CallEnding::NoAnswer) => "nobody answered",
            Some(CallEnding::Busy) => "the called end was in a call",
            Some(CallEnding::Unobtainable) => "the exchange did not understand the number",
            Some(CallEnding::NoLink) => "the modems connected, but set up no link",
            Some(CallEnding::LinkFailed) => "the other end stopped answering",
        }
        .to_owned()
    }
}

impl Studied<'_> {
    /// The outcome, in a sentence.
    pub fn verdict(&self) -> String {
        let tables = self.tables;
        let (agree, whole) = tables.agreeing();
        let cut = if self.interrupted { "; interrupted" } else { "" };
        if whole == 0 {
            return format!("No row has all of its attempts{cut}.");
        }
        let of = if whole < tables.rows.len() {
            format!(" of {} that {} whole", counted(whole, "row"), agreeing(whole, "is", "are"))
        } else {
            format!(" of {}", counted(whole, "row"))
        };
        let come = agreeing(whole, "comes", "come");
        format!("{agree}{of} {come} out as in the paper: sufficient, marginal or insufficient{cut}.")
    }
}
