//! Tables.

use super::markdown::table_of;
use super::twice::{is_laid_out_twice, kept};
use super::width::{is_markdown, unit_behind, width};
use std::collections::BTreeSet;
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
/// A row of a block is at most this many lines high, if words can be kept whole.
const MAX_HEIGHT: usize = 3;
/// At most this many columns tell the rows of a block apart.
const MAX_KEYS: usize = 3;
/// Among at most this many of the leading columns.
const MAX_NAMES: usize = 6;

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

/// One of several tables below one another: columns and rows of the whole, by their places there.
#[derive(Debug)]
struct Block {
    columns: Vec<usize>,
    widths: Vec<usize>,
    /// With the header's.
    rows: Vec<usize>,
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
                false => words(cell).map(|word| word.width().min(LONG_WORD)).max().unwrap_or(0),
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
        if self.columns.is_empty() {
            return String::new();
        }
        if is_markdown() {
            return self.as_markdown();
        }
        let screen = self.fitted(width().map_or(usize::MAX, |width| width - indent));
        if is_laid_out_twice() { kept(screen, self.as_markdown()) } else { screen }
    }

    fn as_markdown(&self) -> String {
        let numbers: Vec<bool> = self.columns.iter().map(|column| column.is_number).collect();
        table_of(&self.rows, self.has_header, &numbers)
    }

    /// As it is, if it fits. Otherwise with words that wrap, with the last column below its row, or in several blocks
    /// that repeat what names their rows, whichever reads best.
    fn fitted(&self, width: usize) -> String {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let Some((last, others)) = all.split_last() else { return String::new() };
        if let Some(widths) = self.widths(&all, width)
            && self.height(&all, &widths) <= 2
        {
            return self.lines(&self.rows, &all, &widths, None).join("\n");
        }
        let hangs = !self.columns[*last].is_number && self.columns[*last].natural >= MIN_SENTENCE;
        if hangs
            && !others.is_empty()
            && let Some(widths) = self.widths(others, width)
            && self.height(others, &widths) <= 3
        {
            return self.lines(&self.rows, others, &widths, Some((*last, width.saturating_sub(BELOW)))).join("\n");
        }
        if let Some(widths) = self.widths(&all, width)
            && self.height(&all, &widths) <= 4
        {
            return self.lines(&self.rows, &all, &widths, None).join("\n");
        }
        self.parts(width)
    }

    /// The rows below the header.
    fn body(&self) -> impl Iterator<Item = &Vec<String>> {
        self.rows.iter().skip(usize::from(self.has_header))
    }

    /// Several tables one below the other. Each repeats the columns that tell its rows apart, or numbers its rows.
    fn parts(&self, width: usize) -> String {
        match self.keys(width) {
            Some(keys) => self.in_blocks(&keys, width),
            None => self.numbered().in_blocks(&[0], width),
        }
    }

    fn in_blocks(&self, keys: &[usize], width: usize) -> String {
        let blocks = self.blocks(keys, width);
        let texts = blocks.iter().map(|block| {
            let rows = block.rows.iter().map(|row| &self.rows[*row]);
            self.lines(rows, &block.columns, &block.widths, None).join("\n")
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// As many columns in each as fit beside the keys. A column in which nothing stands is left out, and so is a row of
    /// a later block that would have its keys alone.
    fn blocks(&self, keys: &[usize], width: usize) -> Vec<Block> {
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let others = (0..self.columns.len()).filter(|index| !keys.contains(index) && self.says_something(*index));
        for index in others {
            let with = |part: &[usize]| {
                let mut more: Vec<usize> = part.iter().copied().chain([index]).collect();
                more.sort_unstable();
                more
            };
            let fits = |part: &Vec<usize>| {
                self.widths(part, width).is_some_and(|widths| self.height(part, &widths) <= MAX_HEIGHT)
            };
            match parts.last().map(|part| with(part)).filter(fits) {
                Some(wider) => {
                    parts.pop();
                    parts.push(wider);
                }
                None => parts.push(with(keys)),
            }
        }
        if parts.is_empty() {
            parts.push(keys.to_vec());
        }
        let block = |(number, columns): (usize, Vec<usize>)| {
            let widths = self.widths(&columns, width).unwrap_or_else(|| self.cut_to(&columns, width));
            let is_shown = |row: &usize| {
                let says = |index: &usize| !keys.contains(index) && !is_blank(self.rows[*row].get(*index));
                number == 0 || (self.has_header && *row == 0) || columns.iter().any(says)
            };
            let rows = (0..self.rows.len()).filter(is_shown).collect();
            Block { columns, widths, rows }
        };
        parts.into_iter().enumerate().map(block).collect()
    }

    /// The fewest columns that tell the rows apart wherever anything does; of several such sets, the leftmost. `None` if
    /// only figures do, or if they would leave too little room beside them.
    fn keys(&self, width: usize) -> Option<Vec<usize>> {
        let names: Vec<usize> =
            (0..self.columns.len()).filter(|index| self.names_rows(*index)).take(MAX_NAMES).collect();
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let kinds = self.kinds_of_rows(&all);
        let leaves_room = |columns: &[usize]| {
            columns.iter().map(|index| self.columns[*index].least + GAP).sum::<usize>() <= width / 3 * 2
        };
        sets(&names).into_iter().find(|columns| leaves_room(columns) && self.kinds_of_rows(columns) == kinds)
    }

    /// How many different rows there are if only these columns are seen.
    fn kinds_of_rows(&self, columns: &[usize]) -> usize {
        let seen = |row: &Vec<String>| -> Vec<String> {
            columns.iter().map(|index| row.get(*index).cloned().unwrap_or_default()).collect()
        };
        self.body().map(seen).collect::<BTreeSet<Vec<String>>>().len()
    }

    /// Whether a column can name rows: one of words, or a leading one of whole numbers, such as of CPUs.
    fn names_rows(&self, index: usize) -> bool {
        let is_whole = |cell: &String| cell.chars().all(|letter| letter.is_ascii_digit());
        !self.columns[index].is_number || (index == 0 && self.body().filter_map(|row| row.first()).all(is_whole))
    }

    /// Whether anything stands in a column below its heading, or nothing does in any.
    fn says_something(&self, index: usize) -> bool {
        self.body().next().is_none() || self.body().any(|row| !is_blank(row.get(index)))
    }

    /// The same with a number before each row.
    fn numbered(&self) -> Table {
        let header = usize::from(self.has_header);
        let number = |row: usize| if row < header { "#".to_owned() } else { (row + 1 - header).to_string() };
        let rows = self.rows.iter().enumerate();
        let rows = rows.map(|(at, row)| [number(at)].into_iter().chain(row.iter().cloned()).collect()).collect();
        let digits = self.rows.len().to_string().len();
        let numbers = Column { is_number: true, natural: digits, body: digits, least: digits };
        let columns = [numbers].into_iter().chain(self.columns.iter().copied()).collect();
        Table { rows, has_header: self.has_header, columns }
    }

    /// Widths for columns whose words do not all fit: each has the same room at most, and what is longer is cut.
    fn cut_to(&self, chosen: &[usize], width: usize) -> Vec<usize> {
        let room = width.saturating_sub(GAP * chosen.len().saturating_sub(1)) / chosen.len().max(1);
        chosen.iter().map(|index| self.columns[*index].natural.min(room)).collect()
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
        let cells =
            self.body().flat_map(|row| chosen.iter().zip(widths).map(|(index, width)| (row.get(*index), *width)));
        cells.filter_map(|(cell, width)| cell.map(|cell| cell_lines(cell, width).len())).max().unwrap_or(1)
    }

    /// The lines of these rows; `below` is a column that goes below its row, with its width: there its heading stands before
    /// each cell, since no reader would look for it above.
    fn lines<'a>(
        &self,
        rows: impl IntoIterator<Item = &'a Vec<String>>,
        chosen: &[usize],
        widths: &[usize],
        below: Option<(usize, usize)>,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        for (at, row) in rows.into_iter().enumerate() {
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
                let heading = self.rows.first().filter(|_| self.has_header).and_then(|row| row.get(index));
                let text = match (cell(index), heading.map_or("", String::as_str)) {
                    ("", _) => String::new(),
                    _ if self.has_header && at == 0 => String::new(),
                    (text, "") => text.to_owned(),
                    (text, heading) => format!("{heading}: {text}"),
                };
                let more = cell_lines(&text, width).into_iter().filter(|line| !line.is_empty());
                lines.extend(more.map(|line| format!("{}{line}", " ".repeat(BELOW))));
            }
        }
        lines
    }
}

/// Whether nothing stands in a cell.
fn is_blank(cell: Option<&String>) -> bool {
    cell.is_none_or(|cell| cell.trim().is_empty())
}

/// Every set of one to [`MAX_KEYS`] of these, in ascending order: small sets first, and of as large ones those that begin
/// further left.
fn sets(names: &[usize]) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = names.iter().map(|name| vec![*name]).collect();
    let mut begin = 0;
    for _ in 1..MAX_KEYS {
        let end = all.len();
        for at in begin..end {
            let last = all[at].last().copied();
            for name in names.iter().filter(|name| Some(**name) > last) {
                let wider = all[at].iter().copied().chain([*name]).collect();
                all.push(wider);
            }
        }
        begin = end;
    }
    all
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
        for word in words(line) {
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

/// The words of a cell; a number and its unit are one.
fn words(cell: &str) -> impl Iterator<Item = &str> {
    let mut rest = cell.trim_start();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let end = end + unit_behind(&rest[..end], &rest[end..]);
        let (word, behind) = rest.split_at(end);
        rest = behind.trim_start();
        Some(word)
    })
}

/// Where a word is cut that is too long for this width, bytes: behind the last `:` or `/` of what fits, so that the times of a
/// reservation stay whole, unless that leaves most of the line empty.
fn cut_at(word: &str, width: usize) -> Option<usize> {
    let mut taken = 0;
    let mut best = None;
    for (at, letter) in word.char_indices() {
        taken += letter.width().unwrap_or(0);
        if taken > width && at > 0 {
            return Some(best.unwrap_or(at));
        }
        if matches!(letter, ':' | '/') && 2 * taken >= width {
            best = Some(at + 1);
        }
    }
    None
}

/// The rest of a word after its beginning has filled lines.
fn cut(mut word: &str, width: usize, lines: &mut Vec<String>) -> String {
    while let Some(end) = cut_at(word, width) {
        let (line, rest) = word.split_at(end);
        lines.push(line.to_owned());
        word = rest;
    }
    word.to_owned()
}

#[cfg(test)]
mod tests;
