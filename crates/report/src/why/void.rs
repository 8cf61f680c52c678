//! Episodes of which nothing is concluded, and why.

use crate::layout::{agreeing, counted};
use std::collections::{BTreeMap, BTreeSet};

/// In the reason of an episode whose evidence was gone before it was saved.
const OVERWRITTEN: &str = "overwritten";

/// Whether an episode is void because its evidence was gone before it was saved.
pub(super) fn is_overwritten(reason: &str) -> bool {
    reason.contains(OVERWRITTEN)
}

/// How many episodes are void, and why, each reason once; `None` if none is.
pub(super) fn in_words<'a>(reasons: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut count = 0_u64;
    // What is the same for several CPUs is said once, and so is what only ends differently.
    let mut cpus: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut others: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for reason in reasons {
        count += 1;
        for (cpu, what) in reason.split("; ").map(of_cpu) {
            match cpu {
                Some(cpu) => cpus.entry(what).or_default().insert(cpu),
                None => {
                    let (head, rest) = what.split_once(": ").unwrap_or((what, ""));
                    others.entry(head).or_default().insert(rest)
                }
            };
        }
    }
    if count == 0 {
        return None;
    }
    let of_cpus = cpus.iter().map(|(what, cpus)| {
        let numbers: Vec<&str> = cpus.iter().copied().collect();
        format!("{} {}: {what}", agreeing(numbers.len(), "CPU", "CPUs"), numbers.join(", "))
    });
    let of_others = others.iter().map(|(head, rests)| {
        let rests: Vec<&str> = rests.iter().copied().filter(|rest| !rest.is_empty()).collect();
        if rests.is_empty() { (*head).to_owned() } else { format!("{head}: {}", rests.join("; ")) }
    });
    let told: Vec<String> = of_others.chain(of_cpus).collect();
    let hint = match told.iter().any(|reason| is_overwritten(reason)) {
        true => " (a lower --sample-rate or a higher --why threshold leaves the recorder more time)",
        false => "",
    };
    Some(format!("{} {} void: {}{hint}", counted(count, "episode"), agreeing(count, "is", "are"), told.join("; ")))
}

/// The number of the CPU that a reason begins with, and the rest.
fn of_cpu(reason: &str) -> (Option<&str>, &str) {
    let found = reason.strip_prefix("CPU ").and_then(|rest| rest.split_once(": "));
    found.map_or((None, reason), |(cpu, what)| (Some(cpu), what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_episodes_share_is_said_once() {
        assert_eq!(in_words([].into_iter()), None);
        let ring = "the recorder's ring was overwritten before it could be read";
        let (zero, one) = (format!("CPU 0: {ring}"), format!("CPU 1: {ring}"));
        let told = in_words([zero.as_str(), one.as_str(), zero.as_str()].into_iter()).unwrap();
        assert!(told.starts_with(&format!("3 episodes are void: CPUs 0, 1: {ring} (a lower --sample-rate")), "{told}");
        let nothing = "the kernel's events did not come";
        let while_it_ran = format!("{nothing}: CPUs report nothing while qemu runs");
        let told = in_words([nothing, while_it_ran.as_str()].into_iter()).unwrap();
        assert_eq!(told, format!("2 episodes are void: {while_it_ran}"));
    }
}
