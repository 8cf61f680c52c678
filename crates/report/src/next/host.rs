//! Where the host ran something else while wakeups were late.

use super::{NextStep, few};
use crate::why::explain;
use punctual_blame::{Kind, Who};
use punctual_recording::{Counters, Document, Stage};

/// Whether the host took half or more, at most, of all the time by which wakeups were late that were later than this, ns.
pub(super) fn took_late(document: &Document, beyond_ns: u64) -> bool {
    let total = document.distributions.sum(|key| key.stage == Stage::Total);
    let late = total.buckets().filter(|(value_ns, _)| *value_ns > beyond_ns);
    let late_ns = late.fold(0_u64, |sum, (value_ns, count)| sum.saturating_add(value_ns.saturating_mul(count)));
    Counters::are_mostly_steal(late_ns, document.counters.wakeup_steal_ns)
}

/// The steps with what the owner of the host can change before them, if the host took most of what was late: no setting of this
/// machine gives that back.
pub fn with_host(steps: Vec<NextStep>, took_most: bool) -> Vec<NextStep> {
    let (command, who) = (explain::command(Kind::Steal), Who::from(Kind::Steal.plural()));
    if !took_most || steps.iter().any(|step| step.command == command) {
        return steps;
    }
    let remedy = Kind::Steal.remedy(&who).unwrap_or_default();
    let action = format!("{} {remedy}", Kind::Steal.happened(&who));
    let host = NextStep::to_change(action, explain::PURPOSE, command);
    few(std::iter::once(host).chain(steps).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_the_host_took_is_held_against_what_was_late() {
        let text = include_str!("../../../cli/tests/golden/record.punctual/recording.json");
        let mut document: Document = serde_json::from_str(text).unwrap();
        let key = document.distributions.iter().find(|(key, _)| key.stage == Stage::Total).unwrap().0.clone();
        let late = document.distributions.entry(key);
        late.record_n(5 * MS, 10);
        for (steal_ns, beyond_ns, expected) in [
            (Some(30 * MS), 4 * MS, true),
            // A bucket stands for its values to three digits.
            (Some(24 * MS), 4 * MS, false),
            (Some(30 * MS), 10 * MS, false),
            (None, 4 * MS, false),
        ] {
            document.counters.wakeup_steal_ns = steal_ns;
            assert_eq!(took_late(&document, beyond_ns), expected, "{steal_ns:?} beyond {beyond_ns}");
        }
    }

    #[test]
    fn what_the_host_took_comes_first_and_once() {
        let steps = || ["a", "b"].map(|command| NextStep::new("says so", command.to_owned())).to_vec();
        let told = |steps: Vec<NextStep>| steps.into_iter().map(|step| step.command).collect::<Vec<_>>();
        let host = "punctual why --explain steal";
        assert_eq!(told(with_host(steps(), false)), ["a", "b"]);
        assert_eq!(told(with_host(steps(), true)), [host, "a"]);
        assert_eq!(told(with_host(with_host(steps(), true), true)), [host, "a"]);
        let said = with_host(steps(), true).remove(0).to_string();
        assert!(said.starts_with("next: The host ran something else on this CPU. Give the virtual machine "), "{said}");
    }
}
