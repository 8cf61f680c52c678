//! What happened and what would change it: a cause in words that lead to an action.

use super::ends::{End, tells_the_end, told};
use super::model::{EpisodeView, FollowedLoops, WhyReport};
use super::remedy::{OF_THIS_RECORDING, Setting, remedy};
use super::without_host;
use super::words::part_of_wait;
use crate::layout::shell_word;
use punctual_blame::{ANSWER_OR_REQUEST, Cause, Detail, IDLE_WEIGHT, Kind};
use punctual_recording::{counted, printable, printable_path};
use std::path::Path;

/// A cause that has at least this share of the lateness is worth a change, percent.
pub(super) const WORTH_A_CHANGE: u128 = 10;
/// More would be too many to act on at once.
pub(super) const MAX_SHOWN: usize = 2;

/// Stands in a remedy for an episode that shows the cause.
const EXAMPLE: &str = "RECORDING --episode N";

/// Stands in a remedy for the number of the late thread.
const LATE_THREAD: &str = "TID";

/// Stands in a remedy for the number of its process.
const LATE_PROCESS: &str = "/proc/PID/";

/// Stands behind a remedy with its number: a program that is started anew has others.
const STARTED_ANEW: &str = "If it was started anew since, `ps -eLo tid,comm` has its number.";

/// What a remedy says of a thread that runs, and what of a program that is to be started.
const FOR_STARTED: [(&str, &str); 3] = [
    ("`sudo chrt -f -p 50 TID`", "start its program under `sudo chrt -f 50`"),
    ("`sudo chrt -f -p PRIORITY TID`", "start its program under `sudo chrt -f PRIORITY`"),
    ("`sudo taskset -cp CPU TID`", "start its program under `taskset -c CPU`"),
];

/// What happened, and what would change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Advice {
    /// One sentence.
    pub(super) happened: String,
    /// One or two sentences, in the imperative; `None` if there is nothing to change.
    pub(super) remedy: Option<String>,
    /// The kind whose page says more.
    pub(super) kind: Kind,
}

impl Advice {
    /// On a cause in this recording, of such threads on such a kernel; the episode to look at is the one in which it had most.
    pub(super) fn on(cause: &Cause, recording: &Path, setting: Setting) -> Advice {
        let mut happened = cause.happened();
        if let Some(ended) = ended(cause) {
            happened.pop();
            happened.push_str(&format!(", {ended}."));
        }
        if let Some(fate) = cause.detail.as_ref().and_then(Detail::fate) {
            // In a wait, what matters is what held up whoever was waited for.
            happened.pop();
            happened.push_str(&format!(", and meanwhile {fate}{}.", part_of_wait(cause)));
        }
        let remedy = remedy(cause, setting).map(|remedy| remedy.replace(EXAMPLE, &example(cause, recording)));
        Advice { happened, remedy, kind: cause.kind }
    }

    /// The same; for a wait, about what it came down to at the end of its chains.
    pub(super) fn in_report(report: &WhyReport<'_>, cause: &Cause) -> Advice {
        let advice = Advice::on(cause, report.recording, report.setting);
        if cause.kind != Kind::Wait {
            let remedy = after_a_loop(report, cause)
                .or_else(|| without_answers(report, cause))
                .or_else(|| real_time(report, cause))
                .or_else(|| with_samples(report, cause))
                .or(advice.remedy);
            return Advice { remedy, ..advice }.for_thread(
                late_thread(report),
                late_process(report),
                has_ended(report),
            );
        }
        let (ends, all_ns) = End::of(report.waits(Some(&cause.who)));
        let first = ends.first().filter(|first| first.is_worth_telling(all_ns));
        let Some((first, remedy)) = first.and_then(|first| Some((first, first.remedy()?))) else {
            return advice;
        };
        // If one chain was most of it, its end is told already.
        let happened = match tells_the_end(cause) {
            true => advice.happened,
            false => format!("{} What these waits came down to: {}.", cause.happened(), told(&ends, all_ns)),
        };
        let remedy = match report.setting.preemption.remedy(first.all.kind, first.all.who.name()) {
            Some(remedy) => remedy.to_owned(),
            None => remedy.replace(EXAMPLE, &example(cause, report.recording)),
        };
        Advice { happened, remedy: Some(remedy), kind: first.page() }
    }

    /// The same with commands for this late thread; for one that has ended, with how to start its program.
    fn for_thread(self, tid: Option<u32>, process: Option<u32>, has_ended: bool) -> Advice {
        let named = |told: String, what: &str, number: Option<String>| match number {
            Some(number) => told.replace(what, &number),
            None => told,
        };
        let told = |remedy: String| {
            if has_ended {
                return FOR_STARTED.iter().fold(remedy, |told, (running, started)| told.replace(running, started));
            }
            let anew = if tid.is_some() && remedy.contains(LATE_THREAD) { STARTED_ANEW } else { "" };
            let told = named(remedy, LATE_THREAD, tid.map(|tid| tid.to_string()));
            let told = named(told, LATE_PROCESS, process.map(|process| format!("/proc/{process}/")));
            format!("{told} {anew}").trim_end().to_owned()
        };
        Advice { remedy: self.remedy.map(told), ..self }
    }
}

/// The thread that was late in all episodes. punctual's own threads are gone by now.
fn late_thread(report: &WhyReport<'_>) -> Option<u32> {
    report.followed?;
    let mut late = report.episodes.iter().map(|episode| episode.victim.tid);
    let first = late.next()?;
    late.all(|other| other == first).then_some(first)
}

/// The process of all late threads, if that is one and known.
fn late_process(report: &WhyReport<'_>) -> Option<u32> {
    report.followed?;
    let mut processes = report.episodes.iter().map(|episode| episode.process.as_ref().map(|(number, _)| *number));
    let first = processes.next()??;
    processes.all(|other| other == Some(first)).then_some(first)
}

/// Whether the late threads were a command's, and are gone with it.
fn has_ended(report: &WhyReport<'_>) -> bool {
    report.has_ended || report.loops == Some(FollowedLoops::EndedWithCommand)
}

/// Where samples would tell more, the command that takes them: of what is unknown, and of work without a stack.
fn with_samples(report: &WhyReport<'_>, cause: &Cause) -> Option<String> {
    let command = report.more_samples.as_ref()?;
    let has_stacks = report.recorder.as_ref().is_some_and(|recorder| recorder.samples > 0);
    match cause.kind {
        Kind::Unknown if cause.who.name() != ANSWER_OR_REQUEST => Some(format!(
            "Record again with more samples: `{command}`; the notes (--all) say what this kernel does not show."
        )),
        Kind::Own if !has_stacks => Some(format!(
            "Record stacks to see what takes the time: `{command}`; then do less at once, split it among threads, or begin \
             earlier."
        )),
        _ => None,
    }
}

/// For a thread that waited for a loop which was followed with a period: that one has to go first, whatever else waits.
pub(super) fn after_a_loop(report: &WhyReport<'_>, cause: &Cause) -> Option<String> {
    let is_by_turn = matches!(cause.kind, Kind::HigherPriority | Kind::SamePriority | Kind::LowerPriority);
    let loops = report.loop_names.iter().find(|name| is_by_turn && cause.who.name() == name.as_str())?;
    Some(format!(
        "Leave the priorities as they are: {} was followed with a period, which it has to keep. Give one of the two another CPU \
         (taskset), or let --comm name the loops alone if no period applies to the late thread.",
        printable(loops)
    ))
}

/// Where the waits for answers are left out, no priority makes these come sooner: they are what has to be looked at.
fn without_answers(report: &WhyReport<'_>, cause: &Cause) -> Option<String> {
    let is_for_cpu = matches!(cause.kind, Kind::HigherPriority | Kind::SamePriority | Kind::LowerPriority);
    (is_for_cpu && report.leaves_out_answers()).then(|| {
        "Record the threads that answer instead (--comm), or let the late thread ask less often, so that it sleeps until its timer: the waits for its \
         answers may be left out here."
            .to_owned()
    })
}

/// For a loop that waited among normal threads: the one change that puts it before them all comes first.
fn real_time(report: &WhyReport<'_>, cause: &Cause) -> Option<String> {
    let waits_among_normal = cause.turn.is_some_and(|turn| turn.waiting_weight != IDLE_WEIGHT)
        && matches!(cause.kind, Kind::SamePriority | Kind::HigherPriority)
        && !cause.who.name().contains(OF_THIS_RECORDING);
    let loops = report.loops.filter(|_| waits_among_normal)?;
    late_thread(report)?;
    let give = match loops {
        FollowedLoops::RunOn => {
            "Give the late thread a real-time priority if its work is short: `sudo chrt -f -p 50 TID`."
        }
        FollowedLoops::EndedWithCommand => {
            "Give the late thread a real-time priority if its work is short: start its program under `sudo chrt -f 50`."
        }
    };
    Some(format!("{give} Otherwise give it more weight (nice, cpu.weight) or a CPU of its own (taskset)."))
}

/// For a wait: says that whoever was waited for ended, and so the wait.
fn ended(cause: &Cause) -> Option<String> {
    match cause.ended {
        0 => None,
        all if all == cause.episodes => Some("which ended".to_owned()),
        some => Some(format!("which ended in {some} of {}", counted(cause.episodes, "episode"))),
    }
}

/// The causes that are worth a change, with advice: the largest one of each kind. A single one that is larger than any of the kind
/// that the first sentence names comes first, because one change ends it; then that sentence's; then they follow as in the table.
pub(super) fn leading(report: &WhyReport<'_>) -> Vec<Advice> {
    let late_ns = u128::from(report.late_ns());
    let mut kinds = report.kinds();
    // Nobody inside a virtual machine can change what its host takes: beside that, a share of the rest is worth a change.
    let is_worth = |kind: Kind, ns: u64| {
        u128::from(ns) * 100 >= late_ns * WORTH_A_CHANGE || without_host::has_share(report, kind, WORTH_A_CHANGE)
    };
    kinds.retain(|(kind, ns)| *kind != Kind::Idle && is_worth(*kind, *ns));
    if !is_own_work_to_blame(report) {
        kinds.retain(|(kind, _)| *kind != Kind::Own);
    }
    let single = report.largest_single().map(|cause| cause.kind);
    kinds.sort_by_key(|(kind, _)| Some(*kind) != single);
    let largest = |(kind, _): (Kind, u64)| report.causes().iter().find(|cause| cause.kind == kind);
    let mut causes: Vec<&Cause> = kinds.into_iter().filter_map(largest).collect();
    if let Some((_, others)) = causes.split_first_mut() {
        others.sort_by_key(|cause| std::cmp::Reverse(cause.total_ns));
    }
    let advice = causes.into_iter().map(|cause| Advice::in_report(report, cause));
    advice.filter(|advice| advice.remedy.is_some()).take(MAX_SHOWN).collect()
}

/// Whether late threads' own work is most of all, and not what they had to catch up with after another delay: it took longer
/// than the threshold for itself, or hardly anything else was in the way.
pub(crate) fn is_own_work_to_blame(report: &WhyReport<'_>) -> bool {
    let largest = report.kinds().into_iter().find(|(kind, _)| *kind != Kind::Idle);
    let Some((Kind::Own, own_ns)) = largest else { return false };
    let own_of = |episode: &EpisodeView| time_of(episode, |kind| kind == Kind::Own);
    let is_delay = |kind: Kind| !matches!(kind, Kind::Own | Kind::Idle | Kind::KernelWake | Kind::TimerSlack);
    let is_alone = |episode: &EpisodeView| {
        let late_ns = episode.total_ns.saturating_sub(episode.idle_ns());
        u128::from(time_of(episode, is_delay)) * 100 < u128::from(late_ns) * WORTH_A_CHANGE
    };
    // Without a threshold it is not known what would have been late anyway.
    let is_late_anyway = |episode: &EpisodeView| episode.threshold_ns > 0 && own_of(episode) > episode.threshold_ns;
    let whole = report.episodes.iter().filter(|episode| episode.void.is_none());
    let to_blame = whole.filter(|episode| is_alone(episode) || is_late_anyway(episode));
    to_blame.map(own_of).fold(0, u64::saturating_add) > own_ns / 2
}

/// A command's words that show the episode in which a cause was longest.
fn example(cause: &Cause, recording: &Path) -> String {
    format!("{} --episode {}", shell_word(&printable_path(recording)), cause.example)
}

/// How much of an episode is of some kinds, ns.
fn time_of(episode: &EpisodeView, is_it: impl Fn(Kind) -> bool) -> u64 {
    episode.split.parts.iter().filter(|part| is_it(part.kind)).map(|part| part.ns).sum()
}

#[cfg(test)]
mod tests;
