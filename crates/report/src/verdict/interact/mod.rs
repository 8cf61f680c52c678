//! Of inputs to a program: how soon it answered; of two programs, in `compare`; of a script that was learned.

pub(crate) mod compare;

use crate::interact::InteractReport;
use crate::interact::sums::judged;
use crate::layout::{percent, shortened};
use punctual_recording::{EndReason, Limit, agreeing, counted, format_ns, printable_path};
use std::path::Path;

/// The verdict shows a cause's words up to this length, characters: a forged recording may have names of any length.
const MAX_SHOWN: usize = 160;
/// And what was typed up to this one.
const MAX_LABEL: usize = 20;

impl InteractReport<'_> {
    /// The answer in a sentence or two.
    pub fn verdict(&self) -> String {
        let program = self.summary.program.first().map_or("the program", String::as_str);
        let ended = self.document.ended.as_ref();
        let failed = ended.filter(|ended| ended.reason == EndReason::Failed);
        let before = match failed.and_then(|ended| ended.detail.as_deref()) {
            Some(detail) => format!("Ended early: {detail}. "),
            None if ended.is_some_and(|ended| ended.reason == EndReason::Interrupted) => "Interrupted. ".to_owned(),
            None => String::new(),
        };
        if self.failed_early() && self.summary.inputs == 0 {
            let end = self.end_in_words();
            return format!("{before}{program} ended {end} before anything was typed: there is nothing to measure.");
        }
        if self.is_own_use() && self.typed().next().is_none() {
            return format!("{before}No input to {program} was seen: there is nothing to measure.");
        }
        let all = self.latencies();
        let (Some(median), Some(longest)) = (all.quantile(0.5), all.max()) else {
            let inputs = counted(self.typed().count(), "input");
            let sure = if self.doubtful().next().is_some() { " for certain" } else { "" };
            let (doubt, stuck) = (self.doubt_in_words(), self.stuck_in_words());
            return format!("{before}{program} answered none of {inputs}{sure}.{doubt}{stuck}");
        };
        let show = format_ns;
        let mut verdict = format!(
            "{before}{program} answered {} of {}, half of them within {}, the slowest in {}",
            all.count(),
            counted(self.typed().count(), "input"),
            show(median),
            show(longest)
        );
        if let Some(cause) = self.causes.iter().find(|_| self.summary.followed) {
            let waited: u64 = self.causes.iter().map(|cause| cause.ns).sum();
            let share = percent(cause.ns, waited);
            let on = shortened(&cause.on.in_a_sentence(), MAX_SHOWN);
            verdict.push_str(&format!("; largest cause of the waiting: {on} ({share:.0} %)"));
        }
        verdict.push('.');
        verdict.push_str(&self.doubt_in_words());
        verdict.push_str(&self.start_in_words());
        if self.failed_early() {
            verdict.push_str(&format!(" It ended {} before the script was through.", self.end_in_words()));
        }
        verdict.push_str(&self.stuck_in_words());
        verdict.push_str(&self.unjudged_in_words());
        let is_over = |limit: &Limit| limit.exceeded && !self.draws_by_itself();
        for (kind, limit) in self.limits.iter().filter(|(_, limit)| is_over(limit) || limit.found_ns.is_none()) {
            match limit.found_ns {
                Some(found) => verdict.push_str(&format!(
                    " Over the limit: {} of {kind} is {}; {} is allowed.",
                    limit.what,
                    show(found),
                    show(limit.limit_ns)
                )),
                None => {
                    verdict.push_str(&format!(" No input of the kind {kind} was seen: its limit could not be judged."))
                }
            }
        }
        verdict + &self.few_in_words()
    }

    /// Of what came out it is not known whether an input caused it.
    fn doubt_in_words(&self) -> String {
        let (count, last_ns) = self.doubtful().fold((0, 0), |(count, last), ns| (count + 1, ns.max(last)));
        if count == 0 {
            return String::new();
        }
        format!(
            " After {} something came out whose cause is not known, up to {} after {}: if that was the answer, it took so long.",
            counted(count, "input"),
            format_ns(last_ns),
            agreeing(count, "it", "one")
        )
    }

    /// How long the start took, and where most of that time went.
    fn start_in_words(&self) -> String {
        if self.summary.never_quiet {
            let also = if self.draws_by_itself() {
                ": what it draws by itself may count as an input's, and no limit counts as kept or exceeded"
            } else {
                ""
            };
            return format!(
                " It never stopped putting something out before the first input: its start has no end{also}."
            );
        }
        let Some((at, parts)) = &self.start else { return String::new() };
        let (latency, show) = (self.inputs[*at].latency_ns().unwrap_or(0), format_ns);
        let mut words = format!(" Its start took {}", show(latency));
        if let Some(largest) = parts.first().filter(|_| self.summary.followed) {
            let on = shortened(&largest.on.in_a_sentence(), MAX_SHOWN);
            words.push_str(&format!(", {} of that {on}", show(largest.ns)));
        }
        words + "."
    }

    fn stuck_in_words(&self) -> String {
        let Some((on, left)) = self.stuck() else { return String::new() };
        format!(
            " It was still at work on {} {} when the script was through, and {} after that {} not taken.",
            on.kind,
            shortened(&on.label, MAX_LABEL),
            counted(left, "input"),
            agreeing(left, "was", "were")
        )
    }

    /// What no limit covers, if there are limits.
    fn unjudged_in_words(&self) -> String {
        let told = [(self.began_before(), "When", "began"), (self.unfinished(), "How long", "took")];
        let told = told.iter().filter(|(count, ..)| *count > 0 && !self.limits.is_empty());
        let doubted = self.limits.iter().filter(|(kind, limit)| !limit.exceeded && self.perhaps_over(kind, limit));
        let doubted = doubted.map(|(kind, limit)| {
            format!(" Whether {} of {kind} keeps to {} is not known.", limit.what, format_ns(limit.limit_ns))
        });
        let told = told.map(|(count, what, did)| {
            format!(" {what} {} {did} is not known: no limit counts as kept.", counted(*count, "input"))
        });
        told.chain(doubted).collect()
    }

    /// Which limits judged the longest input, because a quantile takes more of them.
    fn few_in_words(&self) -> String {
        let limits = self.limits.iter().filter(|(_, limit)| limit.found_ns.is_some());
        let told = limits.filter_map(|(kind, limit)| {
            let inputs = judged(kind, &self.inputs).count();
            let (takes, of) = (counted(limit.takes_more_than(inputs)?, "input"), counted(inputs, "input"));
            let what = &limit.what;
            Some(format!(
                " It takes {takes} to tell {what} of {kind} from the longest, so the longest of {of} was judged."
            ))
        });
        told.collect()
    }
}

/// Of a person's use of a program that was learned: so many keys, clicks and turns of the wheel in so long a time, ns, and
/// where the script is.
pub(crate) fn learned_verdict(done: [u64; 3], lasted_ns: u64, script: Option<&Path>) -> String {
    let lasted = format_ns(lasted_ns);
    let Some(script) = script else {
        return format!("Nothing was done in {lasted} that a script can contain: none was written.");
    };
    let told = done.into_iter().zip(["key", "click", "scroll"]).filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, what)| counted(count, what)).collect();
    format!("Learned {} in {lasted}, into {}.", listed(&told), printable_path(script))
}

/// `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}
