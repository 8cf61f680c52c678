//! CSV: what every table of that form shares.

/// A cell that may hold anything, such as a load's command line.
pub(crate) fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        assert_eq!(quoted("mixed"), "mixed");
        assert_eq!(quoted("make -j2, \"x\""), "\"make -j2, \"\"x\"\"\"");
    }
}
