//! Which measures of two sides are of the same threads.

use crate::loops::name_of;
use std::collections::BTreeSet;

/// The name of the thread of `punctual reserve run`, which is followed with its command.
const WRAPPER: &str = "punctual";

/// The measures that are compared, each with its counterpart, in order: those that both sides have, and of the others
/// those whose name alone both have once, since a change of policy or priority is often what is compared. If there are
/// none and each side has one measure, those two; otherwise none.
pub(crate) fn matching(left: &BTreeSet<String>, right: &BTreeSet<String>) -> Vec<(String, String)> {
    let same = left.intersection(right).map(|measure| (measure.clone(), measure.clone()));
    let (only_left, only_right): (Vec<&String>, Vec<&String>) =
        (left.difference(right).collect(), right.difference(left).collect());
    let by_name = only_left.iter().filter_map(|measure| {
        only_one(&only_left, name_of(measure))?;
        Some(((*measure).clone(), only_one(&only_right, name_of(measure))?.clone()))
    });
    let mut found: Vec<(String, String)> = same.chain(by_name).collect();
    if let (true, 1, 1) = (found.is_empty(), left.len(), right.len()) {
        found.extend(left.first().cloned().zip(right.first().cloned()));
    }
    // It starts what was followed and keeps its reservation, and is nobody's work.
    let is_wrapper = |(one, other): &(String, String)| name_of(one) == WRAPPER && name_of(other) == WRAPPER;
    if !found.iter().all(is_wrapper) {
        found.retain(|pair| !is_wrapper(pair));
    }
    found.sort_unstable();
    found
}

/// The measure with this name, if there is only one.
fn only_one<'a>(measures: &[&'a String], name: &str) -> Option<&'a String> {
    let mut named = measures.iter().filter(|measure| name_of(measure) == name);
    let first = named.next()?;
    named.next().is_none().then_some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The measures of two sides, and which of them belong together.
    type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a [(&'a str, &'a str)]);

    #[test]
    fn a_thread_whose_policy_was_changed_is_compared_with_itself() {
        let cases: [Case<'_>; 9] = [
            (
                &["chrt other", "loop fifo:50"],
                &["loop deadline", "wrapper other"],
                &[("loop fifo:50", "loop deadline")],
            ),
            (
                &["helper other", "loop other"],
                &["helper other", "loop fifo:50"],
                &[("helper other", "helper other"), ("loop other", "loop fifo:50")],
            ),
            // Which of several is meant, nothing says.
            (&["loop fifo:50", "loop other"], &["loop deadline"], &[]),
            (&["loop fifo:50", "loop other"], &["loop other"], &[("loop other", "loop other")]),
            (&["one other"], &["two other"], &[("one other", "two other")]),
            (&["one other", "two other"], &["three other"], &[]),
            // `punctual reserve run` on both sides starts the loop; alone it was asked for.
            (
                &["loop deadline", "punctual other"],
                &["loop deadline", "punctual other"],
                &[("loop deadline", "loop deadline")],
            ),
            (&["punctual other"], &["punctual other"], &[("punctual other", "punctual other")]),
            // punctual's own threads have no name.
            (&["fifo:50", "other"], &["fifo:80", "other"], &[("other", "other")]),
        ];
        for (left, right, expected) in cases {
            let [left, right] = [left, right].map(|side| side.iter().map(|name| (*name).to_owned()).collect());
            let found = matching(&left, &right);
            let found: Vec<(&str, &str)> = found.iter().map(|(one, other)| (one.as_str(), other.as_str())).collect();
            assert_eq!(found, expected, "{left:?} {right:?}");
        }
    }
}
