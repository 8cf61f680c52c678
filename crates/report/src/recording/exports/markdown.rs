//! Markdown for issues and wikis: the verdict and the stage tables, microseconds.

use crate::layout::microseconds;
use crate::{Measurement, stage_rows};

/// The verdict, and the stages of each recording for all CPUs together.
pub(super) fn markdown(measurement: &Measurement) -> String {
    let mut text = format!("{}\n\n", escaped(&measurement.verdict));
    text += "| load | threads | stage | wakeups | p50 us | p99 us | p99.9 us | p99.99 us | max us |\n";
    text += "|---|---|---|--:|--:|--:|--:|--:|--:|\n";
    let rows = measurement.parts.iter().flat_map(|(_, document)| stage_rows(document));
    for row in rows.filter(|row| row.cpu.is_none()) {
        let mut cells =
            vec![escaped(&row.load), escaped(&row.measure), row.stage.name().to_owned(), row.count.to_string()];
        cells.extend([row.p50_ns, row.p99_ns, row.p99_9_ns, row.p99_99_ns, row.max_ns].map(microseconds));
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

/// A name is text, whatever it contains: it neither ends a cell nor makes a link or a tag.
fn escaped(name: &str) -> String {
    let name = punctual_recording::printable(name);
    let is_markup = |letter: char| matches!(letter, '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '&');
    name.chars().flat_map(|letter| is_markup(letter).then_some('\\').into_iter().chain([letter])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_text() {
        assert_eq!(escaped("a|b [c](d) <e>"), "a\\|b \\[c\\](d) \\<e\\>");
        assert_eq!(escaped("a\nb").lines().count(), 1);
    }
}
