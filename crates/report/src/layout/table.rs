//! Tables.

use super::markdown::table_of;
use super::width::{is_markdown, width};
use std::fmt::Write;
use std::ops::Range;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What separates two columns.
const GAP: usize = 2;
/// A word longer than this, columns, is cut if its column is too narrow.
const LONG_WORD: usize = 22;
/// A column of sentences may go below its row if it is at least this wide, columns.
const MIN_SENTENCE: usize = 24;
/// How far below its row it is indented.
const BELOW: usize = 6;

/// A table without lines; the columns in the range `numbers` are right-aligned, words left-aligned. The header may be
/// empty. It is laid out for the reader (`lay_out`).
pub fn table(header: &[&str], numbers: Range<usize>, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    Table::new(header, numbers, rows).laid_out(0)
}

/// Adds a table below a heading: two spaces before each line.
pub(crate) fn indented(
    out: &mut String,
    header: &[&str],
    numbers: Range<usize>,
    rows: impl IntoIterator<Item = Vec<String>>,
) {
    let table = Table::new(header, numbers, rows).laid_out(2);
    for line in table.lines() {
        let _ = writeln!(out, "{}", format!("  {line}").trim_end());
    }
}

/// The content to lay out: the header, if there is one, is the first row.
struct Table {
    rows: Vec<Vec<String>>,
    has_header: bool,
    columns: Vec<Column>,
}

/// One column; widths in columns of a terminal.
#[derive(Debug, Clone, Copy)]
struct Column {
    is_number: bool,
    natural: usize,
    /// If narrower than this, more than its heading wraps.
    body: usize,
    /// If narrower than this, its words would be cut.
    least: usize,
}

impl Table {
    fn new(header: &[&str], numbers: Range<usize>, rows: impl IntoIterator<Item = Vec<String>>) -> Table {
        let has_header = !header.is_empty();
        let header = has_header.then(|| header.iter().map(|cell| (*cell).to_owned()).collect());
        let rows: Vec<Vec<String>> = header.into_iter().chain(rows).collect();
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let column = |index: usize| {
            let is_number = numbers.contains(&index);
            let cells = || rows.iter().filter_map(|row| row.get(index)).enumerate();
            let natural = cells().flat_map(|(_, cell)| cell.lines().map(UnicodeWidthStr::width)).max().unwrap_or(0);
            let least = cells().map(|(row, cell)| match is_number && !(has_header && row == 0) {
                true => cell.width(),
                false => cell.split_whitespace().map(|word| word.width().min(LONG_WORD)).max().unwrap_or(0),
            });
            let least = least.max().unwrap_or(0).min(natural);
            let body =
                cells().skip(usize::from(has_header)).flat_map(|(_, cell)| cell.lines().map(UnicodeWidthStr::width));
            Column { is_number, natural, body: body.max().unwrap_or(0).max(least), least }
        };
        let columns = (0..count).map(column).collect();
        Table { rows, has_header, columns }
    }

    /// For the reader, with this many columns to its left.
    fn laid_out(&self, indent: usize) -> String {
        if is_markdown() && !self.columns.is_empty() {
            let numbers: Vec<bool> = self.columns.iter().map(|column| column.is_number).collect();
            return table_of(&self.rows, self.has_header, &numbers);
        }
        self.fitted(width().map_or(usize::MAX, |width| width - indent))
    }

    /// As it is, if it fits. Otherwise with words that wrap, with the last column below its row, or in several parts
    /// that begin with the same column, whichever reads best.
    fn fitted(&self, width: usize) -> String {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let Some((last, others)) = all.split_last() else { return String::new() };
        if let Some(widths) = self.widths(&all, width)
            && self.height(&all, &widths) <= 2
        {
            return self.lines(&all, &widths, None).join("\n");
        }
        let hangs = !self.columns[*last].is_number && self.columns[*last].natural >= MIN_SENTENCE;
        if hangs
            && !others.is_empty()
            && let Some(widths) = self.widths(others, width)
            && self.height(others, &widths) <= 3
        {
            return self.lines(others, &widths, Some((*last, width.saturating_sub(BELOW)))).join("\n");
        }
        if let Some(widths) = self.widths(&all, width)
            && self.height(&all, &widths) <= 4
        {
            return self.lines(&all, &widths, None).join("\n");
        }
        self.parts(width)
    }

    /// Several tables one below the other, each with the first column.
    fn parts(&self, width: usize) -> String {
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for index in 1..self.columns.len() {
            let fits = |part: &Vec<usize>| {
                let more: Vec<usize> = part.iter().copied().chain([index]).collect();
                self.widths(&more, width).is_some_and(|widths| self.height(&more, &widths) <= 2)
            };
            match parts.last_mut() {
                Some(part) if fits(part) => part.push(index),
                _ => parts.push(vec![0, index]),
            }
        }
        if parts.is_empty() {
            parts.push(vec![0]);
        }
        let texts = parts.iter().map(|part| {
            // One column that is wider than everything is cut.
            let widths = self.widths(part, width).unwrap_or_else(|| {
                part.iter().map(|index| self.columns[*index].natural.min(width / 2 - GAP)).collect()
            });
            self.lines(part, &widths, None).join("\n")
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// How wide each of these columns is if all are to fit: headings give way first, then the widest.
    fn widths(&self, chosen: &[usize], width: usize) -> Option<Vec<usize>> {
        let room = width.saturating_sub(GAP * chosen.len().saturating_sub(1));
        let mut widths: Vec<usize> = chosen.iter().map(|index| self.columns[*index].natural).collect();
        let mut excess = widths.iter().sum::<usize>().saturating_sub(room);
        while excess > 0 {
            let widest = |floor: fn(&Column) -> usize| {
                let can_give =
                    chosen.iter().enumerate().filter(|(place, index)| widths[*place] > floor(&self.columns[**index]));
                can_give.map(|(place, _)| (widths[place], place)).max()
            };
            let (_, widest) = widest(|column| column.body).or_else(|| widest(|column| column.least))?;
            widths[widest] -= 1;
            excess -= 1;
        }
        Some(widths)
    }

    /// The lines of the tallest row; those of the header do not count.
    fn height(&self, chosen: &[usize], widths: &[usize]) -> usize {
        let body = self.rows.iter().skip(usize::from(self.has_header));
        let cells = body.flat_map(|row| chosen.iter().zip(widths).map(|(index, width)| (row.get(*index), *width)));
        cells.filter_map(|(cell, width)| cell.map(|cell| cell_lines(cell, width).len())).max().unwrap_or(1)
    }

    /// The lines; `below` is a column that goes below its row, with its width.
    fn lines(&self, chosen: &[usize], widths: &[usize], below: Option<(usize, usize)>) -> Vec<String> {
        let mut lines = Vec::new();
        for row in &self.rows {
            let cell = |index: usize| row.get(index).map_or("", String::as_str);
            let cells: Vec<Vec<String>> =
                chosen.iter().zip(widths).map(|(index, width)| cell_lines(cell(*index), *width)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(1);
            for number in 0..height {
                let mut line = String::new();
                for (place, (index, width)) in chosen.iter().zip(widths).enumerate() {
                    let text = cells[place].get(number).map_or("", String::as_str);
                    let blanks = " ".repeat(width.saturating_sub(text.width()));
                    let gap = " ".repeat(if place + 1 < chosen.len() { GAP } else { 0 });
                    line += &match self.columns[*index].is_number {
                        true => format!("{blanks}{text}{gap}"),
                        false => format!("{text}{blanks}{gap}"),
                    };
                }
                lines.push(line.trim_end().to_owned());
            }
            if let Some((index, width)) = below {
                let more = cell_lines(cell(index), width).into_iter().filter(|line| !line.is_empty());
                lines.extend(more.map(|line| format!("{}{line}", " ".repeat(BELOW))));
            }
        }
        lines
    }
}

/// A cell's lines in a column of this width.
fn cell_lines(cell: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in cell.split('\n') {
        if line.width() <= width {
            lines.push(line.to_owned());
            continue;
        }
        let mut current = String::new();
        for word in line.split_whitespace() {
            if !current.is_empty() && current.width() + 1 + word.width() <= width {
                current.push(' ');
                current += word;
                continue;
            }
            if !current.is_empty() {
                lines.push(std::mem::take(&mut current));
            }
            current = cut(word, width, &mut lines);
        }
        lines.push(current);
    }
    lines
}

/// The rest of a word after its beginning has filled lines.
fn cut(word: &str, width: usize, lines: &mut Vec<String>) -> String {
    let mut current = String::new();
    let mut taken = 0;
    for letter in word.chars() {
        let wide = letter.width().unwrap_or(0);
        if taken + wide > width && taken > 0 {
            lines.push(std::mem::take(&mut current));
            taken = 0;
        }
        current.push(letter);
        taken += wide;
    }
    current
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    fn at(width: usize, header: &[&str], numbers: Range<usize>, rows: &[&[&str]]) -> String {
        let text = Table::new(header, numbers, rows.iter().map(|cells| row(cells))).fitted(width);
        assert!(text.lines().all(|line| line.width() <= width), "{text}");
        text
    }

    #[test]
    fn a_table_that_fits_stays_as_it_is() {
        let text = at(80, &["name", "us"], 1..2, &[&["a", "1.0"], &["longer", "12.0"]]);
        assert_eq!(text, "name      us\na        1.0\nlonger  12.0");
    }

    #[test]
    fn words_wrap_before_numbers_are_touched() {
        let text = at(24, &["worst us", "what it was"], 0..1, &[&["123456.7", "a thread of the kernel"]]);
        assert_eq!(text, "worst us  what it was\n123456.7  a thread of\n          the kernel");
    }

    #[test]
    fn sentences_stand_below_their_row() {
        let rows: &[&[&str]] = &[&["audio", "5.33 ms", "12.5 ms", "cannot tell yet: nothing was seen in this time"]];
        let text = at(40, &["device", "period", "slack", "verdict"], 1..3, rows);
        let expected = "device   period    slack\n      verdict\naudio   5.33 ms  12.5 ms\n      cannot tell yet: nothing was seen\n      in this time";
        assert_eq!(text, expected);
    }

    #[test]
    fn many_numbers_come_in_parts_with_the_same_first_column() {
        let header = ["stage", "one", "two", "three", "four"];
        let rows: &[&[&str]] = &[&["irq", "111111.1", "222222.2", "333333.3", "444444.4"]];
        let text = at(26, &header, 1..5, rows);
        assert_eq!(
            text,
            "stage       one       two\nirq    111111.1  222222.2\n\nstage     three      four\nirq    333333.3  444444.4"
        );
    }
}
