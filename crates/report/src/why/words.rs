//! Causes and details in words.

use crate::layout::{as_percent, shortened};
use punctual_blame::{Cause, Detail, IDLE_WEIGHT, Turn, Who};
use punctual_recording::Stage;

/// Among this many, leaving one out changes little.
const MANY_LEFT_OUT: u64 = 10;

/// Symbols of generic code are longer than any column is wide.
const MAX_CHARACTERS: usize = 56;

/// The longest path of a control group that is shown whole beside a name, characters.
const MAX_PATH: usize = 40;

/// Within what else time counts as unknown, because whoever held it or ended it was not seen.
pub(crate) fn within_what(stage: Stage) -> &'static str {
    if stage == Stage::Request { "locks and waits" } else { "locks" }
}

/// Whether so many of all are so many that leaving them out changes more than a little.
pub(crate) fn is_much(left_out: u64, all: u64) -> bool {
    left_out > 0 && left_out.saturating_mul(MANY_LEFT_OUT) >= all
}

pub(super) fn with_group(who: &Who, cgroup: Option<&str>, turn: Option<Turn>, is_the_victims: bool) -> Who {
    let turn = turn.filter(|turn| !is_the_victims && turn.weight != turn.waiting_weight);
    let path = cgroup.filter(|cgroup| *cgroup != "/").map(|cgroup| shortened(cgroup, MAX_PATH));
    let weights = turn.map(|turn| format!("weight {} against {}", weighs(turn.weight), weighs(turn.waiting_weight)));
    let words: Vec<String> = path.into_iter().chain(weights).collect();
    match who {
        Who::Seen(name) if !words.is_empty() => Who::Seen(format!("{name} [{}]", words.join(", "))),
        who => who.clone(),
    }
}

/// The name, with the number of its thread, and that of its process if it is known, where several have the name.
pub(super) fn numbered(who: &Who, thread: Option<u32>, process: Option<u32>) -> Who {
    match (who, thread, process) {
        (Who::Seen(name), Some(tid), Some(process)) => Who::Seen(format!("{name} (thread {tid} of process {process})")),
        (Who::Seen(name), Some(tid), None) => Who::Seen(format!("{name} (thread {tid})")),
        // The name has the thread's number already.
        (Who::Seen(name), None, Some(process)) if number_in(who).is_some() => {
            Who::Seen(format!("{} of process {process})", name.trim_end_matches(')')))
        }
        (who, ..) => who.clone(),
    }
}

/// The number of the thread that a name ends with, as that of a thread does for which another one of its name waits.
pub(super) fn number_in(who: &Who) -> Option<u32> {
    let (_, rest) = who.name().rsplit_once(" (thread ")?;
    rest.strip_suffix(')')?.parse().ok()
}

/// A weight; with the reason, if it means that the thread runs only when nobody else wants the CPU.
fn weighs(weight: u64) -> String {
    if weight == IDLE_WEIGHT { format!("{weight} (idle)") } else { weight.to_string() }
}

/// A detail in a column of its own: code is cut short, what became of somebody is not.
pub(super) fn as_detail(detail: &Detail) -> String {
    match detail.fate() {
        Some(_) => detail.to_string(),
        None => shortened(&detail.to_string(), MAX_CHARACTERS),
    }
}

/// What follows a cause's name: the code in brackets, or a sentence about what became of whoever was waited for.
pub(crate) fn beside(cause: &Cause) -> String {
    let Some(detail) = cause.detail.as_ref().filter(|detail| !is_name(detail, &cause.who)) else {
        return String::new();
    };
    match detail.fate() {
        Some(_) => format!(": {}{}", as_detail(detail), part_of_wait(cause)),
        None => format!(" ({}{})", as_detail(detail), part_of_wait(cause)),
    }
}

/// How much of a wait its detail covers, with a space before, if that is not most of it.
pub(super) fn part_of_wait(cause: &Cause) -> String {
    let share = |ns| format!(" for {} of it", as_percent(ns, cause.total_ns));
    cause.detail_part_ns().map_or_else(String::new, share)
}

/// Whether a detail says no more than the name beside it.
pub(super) fn is_name(detail: &Detail, who: &Who) -> bool {
    matches!((detail, who), (Detail::Seen(code), Who::Seen(name)) if code == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_blame::Awaited;

    #[test]
    fn only_who_was_seen_has_a_group() {
        let told = |who: &Who| with_group(who, Some("/background"), None, false).to_string();
        assert_eq!(told(&"rustc".into()), "rustc [/background]");
        assert_eq!(told(&Awaited::Holder.into()), "holder not seen");
    }
}
