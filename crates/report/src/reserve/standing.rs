//! What every page of `punctual reserve` has: the answer at its head, then its parts.

use crate::NextStep;
use crate::encode::head::{Head, Part, standing};

/// The page, one file.
pub(super) fn standing_answer(
    title: &str,
    (verdict, notes): (&str, &[String]),
    next: &[NextStep],
    parts: &[Part],
) -> String {
    let head = Head { title, context: "punctual reserve", verdict, next, warnings: notes, blind: &[] };
    standing(&head, parts, "")
}
