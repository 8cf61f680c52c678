//! Reservations, settings and their classes in words.

use punctual_recording::format_ns;
use punctual_reserve::{Class, Reservation, Setting, Trial};

/// `2 ms of every 8 ms`.
pub(crate) fn in_words(budget_ns: u64, period_ns: u64) -> String {
    format!("{} of every {}", format_ns(budget_ns), format_ns(period_ns))
}

/// What ran while settings were tried, to follow *tried*: a load or what competed, or, without a name, what ran anyhow.
pub(super) fn beside(what: &str) -> String {
    match what {
        "" => "with no load added, beside whatever else this machine was doing".to_owned(),
        what => format!("beside {what}"),
    }
}

/// The setting in words.
pub(crate) fn setting_in_words(setting: Setting) -> String {
    match setting {
        Setting::AsItWas => "as it was".to_owned(),
        Setting::Priority(priority) => format!("fifo:{priority}"),
        Setting::Reserved(Reservation { budget_ns, period_ns }) => in_words(budget_ns, period_ns),
    }
}

/// What a trial showed: jobs that were late and do not count against it are not passed over.
pub(super) fn shown_in_words(trial: &Trial) -> String {
    let class = class_in_words(trial.class());
    match (trial.class(), trial.counts.by_host()) {
        (Class::Sufficient, 1..) => format!("{class}, but for the host"),
        _ => class.to_owned(),
    }
}

/// The class's word.
pub(super) fn class_in_words(class: Class) -> &'static str {
    match class {
        Class::Sufficient => "sufficient",
        Class::Marginal => "marginal",
        Class::Insufficient => "insufficient",
        Class::NotJudged => "not judged",
    }
}

/// Whether a model calls a setting sufficient, marked where that was wrong.
pub(super) fn predicted_in_words(predicted: bool, is_wrong: bool) -> String {
    format!("{}{}", if predicted { "yes" } else { "no" }, if is_wrong { " !" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_reserve::{AttemptCounts, Jobs};

    #[test]
    fn late_jobs_of_a_setting_that_was_sufficient_are_accounted_for() {
        let shown = |late, by_host| {
            let mut trial = Trial::new(Setting::AsItWas);
            trial.add(&AttemptCounts::new(Jobs { on_time: 600, late, missing: 0 }, by_host, 9_000_000));
            shown_in_words(&trial)
        };
        assert_eq!(shown(3, 3), "sufficient, but for the host");
        assert_eq!(shown(0, 0), "sufficient");
        assert_eq!(shown(3, 2), "insufficient");
    }
}
