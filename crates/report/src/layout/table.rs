//! Tables.

use comfy_table::{CellAlignment, Table, presets};
use std::fmt::Write;
use std::ops::Range;

/// A table without lines; the columns in the range `numbers` are set right, words left. The header may be empty.
pub fn table(header: &[&str], numbers: Range<usize>, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if !header.is_empty() {
        table.set_header(header.to_vec());
    }
    for row in rows {
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if numbers.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    text.join("\n")
}

/// Adds the lines of a table below a heading: two blanks before each.
pub(crate) fn indented(out: &mut String, table: &str) {
    for line in table.lines() {
        let _ = writeln!(out, "  {line}");
    }
}
