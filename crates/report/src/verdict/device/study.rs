//! Of a study of one device: which context is recommended, and what that rests on.

use crate::device::calibrated::{is_off, taken_ns};
use crate::device::study::evidence::{Evidence, options, passed_over};
use crate::device::study::{Row, StudyReport, is_untried};
use crate::layout::counted;
use punctual_device::{MAX_USED, pc99};
use punctual_recording::{DeviceSummary, EndReason, NO_LOAD, agreeing, format_ns, grouped};
use std::fmt::Write as _;

/// The study in a few sentences.
pub(crate) fn study_verdict(study: &StudyReport<'_>) -> String {
    let least = least_intrusive(study);
    let lowest = match study.lowest_sufficient {
        Some(thread) => format!(" The lowest priority that sufficed beside a spinning thread is {thread}."),
        None => String::new(),
    };
    let pc99 = against_pc99(study);
    if study.interrupted {
        // A context that was not tried can neither hold nor be the least.
        let ran = study.rows.iter().filter(|row| row.run.is_ok()).count();
        let tried = contexts_tried(study);
        let cut = if is_last_cut(study) { ", of which the last was cut" } else { "" };
        return format!(
            "The study was ended early, after {}{cut}: nothing is concluded for {} on this machine. {tried}{pc99}",
            counted(ran, "run"),
            study.profile.id
        );
    }
    let refused = contexts_refused(study);
    let untried = if refused.is_empty() || is_untried(study) {
        String::new()
    } else {
        let names: Vec<&str> = refused.iter().map(|(context, _)| *context).collect();
        format!(" Not tried, because this machine refused: {}.", names.join(", "))
    };
    let asked = match study.asked {
        Some(asked) => format!(
            " {} stands for {asked} here, as the paper's modem: {} of {}, {} of computing each.",
            study.profile.id,
            counted(study.profile.buffers, "buffer"),
            format_ns(study.profile.period_ns),
            format_ns(study.profile.compute_ns)
        ),
        None => String::new(),
    };
    format!("{least}{lowest}{pc99}{untried}{}{}{asked}", unjudged(study), calibration(study))
}

/// Whether the study was ended during its last run, and not while the next one was getting ready.
fn is_last_cut(study: &StudyReport<'_>) -> bool {
    let last = study.rows.last().and_then(|row| row.run.as_ref().ok());
    last.and_then(|run| run.document.ended.as_ref()).is_some_and(|ended| ended.reason == EndReason::Interrupted)
}

/// The context that the study recommends, or why there is none.
fn least_intrusive(study: &StudyReport<'_>) -> String {
    match study.least_intrusive {
        Some(context) => {
            let with = match options(study, context).trim_start() {
                "" => String::new(),
                options => format!(" with `{options}`"),
            };
            let recommends = format!("The study recommends {context}{with} for {} on this machine", study.profile.id);
            let Some(evidence) = Evidence::of(study, context) else { return format!("{recommends}.") };
            let (said, room, passed) = (evidence.sentence(), evidence.room(), not_recommended(study, &evidence));
            format!("{recommends}: {said}{room}{passed}")
        }
        None if is_untried(study) => untried_verdict(study),
        None => {
            let which = if study.rows.iter().any(|row| row.group == "contexts" && row.run.is_err()) {
                " that could be tried"
            } else if study.rows.iter().any(|row| row.group == "contexts" && row.is_unjudged()) {
                " that was judged"
            } else {
                ""
            };
            format!("In no context{which} does {} hold beside every competitor on this machine.", study.profile.id)
        }
    }
}

impl Evidence<'_> {
    /// What was seen and what it leaves open: `0 of 24,000 blocks were late in 10.2 s, ...`.
    pub(crate) fn sentence(&self) -> String {
        let beside: Vec<String> = (self.beside.iter())
            .map(|competitor| competitor.map_or_else(|| "alone".to_owned(), |what| format!("beside {what}")))
            .collect();
        let load = match self.load {
            NO_LOAD => "no load added".to_owned(),
            load => format!("under {load}"),
        };
        let whose = if self.late > 0 { ", only while the machine kept even FIFO 99 from the CPU" } else { "" };
        format!(
            "{} of {} {} late in {}{whose} ({}; {load}). With 95 % confidence, that leaves at most 1 late block in {}: it is too \
             early to say that it holds for longer, or beside more.",
            grouped(self.late),
            counted(self.blocks, "block"),
            agreeing(self.late, "was", "were"),
            format_ns(self.ran_ns),
            beside.join("; "),
            grouped(self.one_in())
        )
    }

    /// How close it was.
    pub(crate) fn room(&self) -> String {
        let Some(used) = self.used else { return String::new() };
        let (how_much, advice) = match used <= MAX_USED {
            true => ("", ""),
            false => ("little ", " One more buffer, or less computing, gives it more."),
        };
        let percent = used * 100.0;
        format!(" It had {how_much}room to spare: at worst it used {percent:.0} % of its time or budget.{advice}")
    }
}

/// Says which contexts disturbed others less and were not recommended.
fn not_recommended(study: &StudyReport<'_>, recommended: &Evidence<'_>) -> String {
    let names = passed_over(study, recommended);
    if names.is_empty() {
        return String::new();
    }
    let had = agreeing(names.len(), "disturbs others less, but kept up", "disturb others less, but kept up");
    format!(" {} {had} with little room to spare.", names.join(" and "))
}

/// Says which contexts are against PC 99.
fn against_pc99(study: &StudyReport<'_>) -> String {
    let mut broken: Vec<&str> = Vec::new();
    for row in study.rows.iter().filter(|row| row.group == "contexts") {
        if row.device().is_some_and(|device| pc99(device).keeps == Some(false))
            && !broken.contains(&row.context.as_str())
        {
            broken.push(&row.context);
        }
    }
    match broken.len() {
        0 => String::new(),
        contexts => {
            let violate = agreeing(contexts, "violates", "violate");
            format!(" {} {violate} the PC 99 limits.", broken.join(" and "))
        }
    }
}

/// Says in which contexts a run was no test, and why.
fn unjudged(study: &StudyReport<'_>) -> String {
    let names = |is_of: fn(&DeviceSummary) -> bool| {
        let rows = study.rows.iter().filter(|row| row.group == "contexts" && row.is_unjudged());
        let rows = rows.filter(|row| row.device().is_some_and(is_of));
        rows.map(Row::name).collect::<Vec<String>>().join(", ")
    };
    let mut said = String::new();
    for (names, reason) in [
        (
            names(|device| device.refused > 0),
            "punctual itself kept blocks from the device, to leave others their share of the CPU",
        ),
        (
            names(|device| device.refused == 0 && device.cut > 0),
            "punctual itself gave up blocks that took more than 5 ms in the kernel",
        ),
        (names(|device| device.refused + device.cut == 0), "too few of the blocks that were due reached it"),
    ] {
        if !names.is_empty() {
            let _ = write!(said, " Not judged, because {reason}: {names}.");
        }
    }
    said
}

/// Says how much what a block's work took differs between runs, if any is off.
fn calibration(study: &StudyReport<'_>) -> String {
    let devices = || study.rows.iter().filter_map(Row::device);
    let taken = || devices().filter_map(taken_ns);
    match taken().min().zip(taken().max()) {
        Some((least, most)) if devices().any(is_off) => format!(
            " A block's work took {} to {}, where {} were asked for: runs that differ this much cannot be compared{}.",
            format_ns(least),
            format_ns(most),
            format_ns(study.profile.compute_ns),
            match study.least_intrusive {
                Some(_) =>
                    ", and another study may recommend another context: run it for longer (`-D`), or several times",
                None => "",
            }
        ),
        _ => String::new(),
    }
}

/// Says that the study found nothing, and why: what the first context lacked is what most lack.
fn untried_verdict(study: &StudyReport<'_>) -> String {
    let refused = contexts_refused(study);
    let reason = refused.first().map_or_else(String::new, |(context, reason)| format!(" {context}: {reason}."));
    let others = match refused.len() {
        0 | 1 => String::new(),
        count => format!(" The other {} were refused as well.", count - 1),
    };
    format!(
        "No context could be tried: whether {} holds in any on this machine is not known.{reason}{others}",
        study.profile.id
    )
}

/// The contexts that this machine or this user may not have, each with the first reason given.
fn contexts_refused<'a>(study: &'a StudyReport<'_>) -> Vec<(&'a str, &'a str)> {
    let mut refused: Vec<(&str, &str)> = Vec::new();
    for row in study.rows.iter().filter(|row| row.group == "contexts") {
        if let Err(reason) = row.run
            && !refused.iter().any(|(context, _)| *context == row.context)
        {
            refused.push((&row.context, reason));
        }
    }
    refused
}

fn contexts_tried(study: &StudyReport<'_>) -> String {
    let mut tried: Vec<&str> = Vec::new();
    for row in study.rows.iter().filter(|row| row.run.is_ok() && row.context != "none") {
        if !tried.contains(&row.context.as_str()) {
            tried.push(&row.context);
        }
    }
    match tried.len() {
        0 => "No context was tried.".to_owned(),
        contexts => format!("Only {} {} tried.", tried.join(", "), agreeing(contexts, "was", "were")),
    }
}
