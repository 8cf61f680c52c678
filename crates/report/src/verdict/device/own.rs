//! What became of a user's own work, in sentences.

use crate::layout::{counted, grouped};
use punctual_recording::{OwnSummary, format_ns, printable};

/// Says that it ended before the run did, and why: the run's first sentence.
pub(super) fn end_sentence(own: &OwnSummary) -> Option<String> {
    let end = own.ended.as_ref()?;
    let (name, reason) = (printable(&own.name), printable(&end.reason));
    Some(format!("{name} ended at block {}, and the run with it: {reason}.", grouped(end.block)))
}

/// What it did.
pub(super) fn sentence(own: &OwnSummary) -> String {
    let OwnSummary { done, over, failed, longest_ns, budget_ns, .. } = *own;
    let name = printable(&own.name);
    if done == 0 {
        return format!("{name} was never called.");
    }
    let budget = format_ns(budget_ns);
    let kept = match over {
        0 => format!("none took longer than its budget of {budget}"),
        over => {
            format!("{} took longer than the budget of {budget}, the longest {}", grouped(over), format_ns(longest_ns))
        }
    };
    let failed = match failed {
        0 => String::new(),
        failed if failed == done => ", and it returned a failure for every one".to_owned(),
        failed => format!(", and it returned a failure for {}", grouped(failed)),
    };
    let whole = if own.ended.is_some() { " to its end" } else { "" };
    format!("{name} was called{whole} for {}: {kept}{failed}.", counted(done, "block"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::OwnEnd;

    #[test]
    fn an_end_and_failures_are_said() {
        let own = OwnSummary { name: "a.c".into(), done: 300, budget_ns: 20_000, ..OwnSummary::default() };
        assert_eq!(sentence(&own), "a.c was called for 300 blocks: none took longer than its budget of 20.0 us.");
        assert_eq!(end_sentence(&own), None);
        let failed = OwnSummary { failed: 300, ..own.clone() };
        assert!(sentence(&failed).ends_with(", and it returned a failure for every one."));
        let ended = Some(OwnEnd { block: 300, reason: "it divided by zero".into() });
        let ended = OwnSummary { failed: 2, ended, ..own };
        assert!(sentence(&ended).ends_with("20.0 us, and it returned a failure for 2."));
        let said = end_sentence(&ended).unwrap();
        assert_eq!(said, "a.c ended at block 300, and the run with it: it divided by zero.");
    }
}
