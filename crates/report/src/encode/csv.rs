//! CSV: what all such tables share.

use punctual_recording::printable;

/// A cell that may hold anything, such as a load's command line or a thread's name. What a spreadsheet would take for a
/// formula gets an apostrophe in front, and the whole stays on its line.
pub(crate) fn quoted(cell: &str) -> String {
    let guard = if cell.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    let cell = printable(&format!("{guard}{cell}"));
    if cell.contains([',', '"']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        assert_eq!(quoted("mixed"), "mixed");
        assert_eq!(quoted("make -j2, \"x\""), "\"make -j2, \"\"x\"\"\"");
    }

    #[test]
    fn no_cell_is_a_formula_or_ends_its_line() {
        for first in "=+-@\t\r\n".chars() {
            let cell = quoted(&format!("{first}HYPERLINK(\"http://x\",1)"));
            assert!(cell.starts_with("\"'") || cell.starts_with("\"\u{fffd}"), "{cell}");
            assert!(!cell.contains(punctual_recording::is_control), "{cell:?}");
        }
        assert_eq!((quoted("a=b"), quoted("-bash")), ("a=b".into(), "'-bash".into()));
    }
}
