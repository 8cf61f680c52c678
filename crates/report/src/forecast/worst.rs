//! The rows of a table of worst cases: horizons of which these data say the same share one.

use punctual_forecast::WorstCase;

/// Worst cases as rows, in order. Only where there is no more than the same bound for several horizons are they one row: what such
/// rows differ in is how long it takes to tell more.
pub(super) fn rows_of(worst: &[WorstCase]) -> impl Iterator<Item = &[WorstCase]> {
    worst.chunk_by(says_the_same)
}

fn says_the_same(one: &WorstCase, next: &WorstCase) -> bool {
    let is_unsaid = |worst: &WorstCase| worst.level.level.value.is_none() && worst.next.is_err();
    let is_bound = is_unsaid(one) && is_unsaid(next) && one.stage == next.stage;
    is_bound && one.level.level == next.level.level && one.level.veto == next.level.veto
}

/// The horizons of a row, as a choice.
pub(super) fn horizons(row: &[WorstCase]) -> String {
    either(row.iter().map(|worst| worst.horizon.to_string()).collect())
}

/// *hour, day or week*; nothing for nothing.
pub(super) fn either(mut words: Vec<String>) -> String {
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} or {last}", words.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests_support::input;
    use punctual_forecast::{Question, answer};

    #[test]
    fn horizons_of_which_nothing_can_be_said_are_one_row() {
        // The same bound for each horizon, and nothing beyond it.
        let worst = answer(&[input(0, 0)], &Question::default()).unwrap().groups.remove(0).worst;
        assert_eq!(worst.len(), 3);
        let mut unsaid = worst.clone();
        for case in &mut unsaid {
            (case.level, case.next) = (worst[2].level.clone(), Err("too short".to_owned()));
            case.level.level.value = None;
        }
        let told = |worst: &[WorstCase]| rows_of(worst).map(horizons).collect::<Vec<String>>();
        assert_eq!(told(&unsaid), ["hour, day or week"]);
        unsaid[0].next = Ok(7);
        assert_eq!(told(&unsaid), ["hour", "day or week"]);
        unsaid[1].level.level.low = Some(7.0);
        assert_eq!(told(&unsaid), ["hour", "day", "week"]);
        assert_eq!(told(&[]), [""; 0]);
    }
}
