//! Reservations, settings and their classes in words.

use punctual_recording::format_ns;
use punctual_reserve::{Class, Reservation, Setting};

/// `2 ms of every 8 ms`.
pub(super) fn in_words(budget_ns: u64, period_ns: u64) -> String {
    format!("{} of every {}", format_ns(budget_ns), format_ns(period_ns))
}

/// The setting in words.
pub(super) fn setting_in_words(setting: Setting) -> String {
    match setting {
        Setting::AsItWas => "as it was".to_owned(),
        Setting::Priority(priority) => format!("fifo:{priority}"),
        Setting::Reserved(Reservation { budget_ns, period_ns }) => in_words(budget_ns, period_ns),
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
