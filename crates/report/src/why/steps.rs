//! What to do after the answer of `punctual why`.

use super::model::WhyReport;
use super::{advice, apart, explain};
use crate::NextStep;
use punctual_blame::Kind;

/// One thread alone, if it was late for another reason than most; a higher threshold, if most was what every wakeup takes; and what
/// would change the leading causes, each with the command that prints its page. At most two.
pub(super) fn next(report: &WhyReport<'_>) -> Vec<NextStep> {
    let mut steps: Vec<NextStep> = apart::step(report).into_iter().collect();
    if report.leading().is_some_and(|(kind, ..)| kind == Kind::KernelWake) {
        steps.extend(report.above_ordinary.clone());
    }
    for advice in advice::leading(report) {
        // Two kinds may come down to the same at the end of a chain.
        let command = explain::command(advice.kind);
        if steps.iter().any(|step| step.command == command) {
            continue;
        }
        let action = format!("{} {}", advice.happened, advice.remedy.unwrap_or_default());
        steps.push(NextStep::to_change(action, explain::PURPOSE, command));
    }
    if report.lacks_evidence() {
        steps.extend_from_slice(&report.without_evidence);
    }
    steps.truncate(advice::MAX_SHOWN);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::tests::of_parts;
    use std::path::Path;

    #[test]
    fn where_most_was_the_ordinary_path_a_higher_threshold_comes_first() {
        let told = |parts: &[(Kind, &str, u64)], above: Option<&str>| {
            let mut report = WhyReport::new(Path::new("x"), 0, None, vec![of_parts(parts)], false, None, &[]);
            report.above_ordinary = above.map(|command| NextStep::new("leaves these out", command.to_owned()));
            next(&report).into_iter().map(|step| step.command).collect::<Vec<_>>()
        };
        let ordinary = [(Kind::KernelWake, "switch", 60), (Kind::Irq, "nic", 25), (Kind::Blind, "x", 15)];
        let (record, irq, blind) = ("record --why 2ms", "punctual why --explain irq", "punctual why --explain blind");
        assert_eq!(told(&ordinary, Some(record)), [record, irq]);
        assert_eq!(told(&ordinary, None), [irq, blind]);
        let handler = [(Kind::KernelWake, "switch", 30), (Kind::Irq, "nic", 70)];
        assert_eq!(told(&handler, Some(record)), [irq]);
    }
}
