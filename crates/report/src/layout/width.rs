//! How wide text may be, and sentences that fit.

use super::markdown::paragraphs;
use std::sync::OnceLock;
use unicode_width::UnicodeWidthStr;

/// The width of the narrowest possible table, columns.
const MIN_WIDTH: usize = 40;

/// How text is laid out for its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// In lines of at most this many columns.
    Columns(usize),
    /// As Markdown, which has no width.
    Markdown,
}

/// A process writes for one reader: this is set once, and does not change.
static LAYOUT: OnceLock<Layout> = OnceLock::new();

/// From now on lays out all text like this; without this call lines are not wrapped. Only the first call counts.
pub fn lay_out(layout: Layout) {
    let _ = LAYOUT.set(layout);
}

/// Whether text is laid out as Markdown.
pub(super) fn is_markdown() -> bool {
    LAYOUT.get() == Some(&Layout::Markdown)
}

/// How many columns a line may have.
pub(crate) fn width() -> Option<usize> {
    match LAYOUT.get()? {
        Layout::Columns(columns) => Some((*columns).max(MIN_WIDTH)),
        Layout::Markdown => None,
    }
}

/// Text whose lines fit the reader's columns: longer ones are broken at spaces and continue indented. A word that is too
/// long by itself, such as a path, stays whole, and so does a command between backticks, because it is to be copied; one that
/// no line could hold continues after a backslash, as a shell reads it. Markdown has no width.
pub fn fitted(text: &str) -> String {
    if is_markdown() {
        return paragraphs(text);
    }
    width().map_or_else(|| text.to_owned(), |width| wrapped(text, width))
}

fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        let line = line.trim_end_matches('\n');
        if line.width() <= width {
            out += line;
        } else {
            out += &broken(line, width);
        }
        out += end;
    }
    out
}

/// One line as several.
fn broken(line: &str, width: usize) -> String {
    let blanks = line.len() - line.trim_start_matches(' ').len();
    // A sentence continues where it began; text with a label or columns continues two further in.
    let first = line.split(' ').next().unwrap_or_default();
    let is_sentence = blanks == 0 && !first.ends_with([':', '!']) && !first.starts_with('(') && !line.contains("  ");
    let indent = " ".repeat(if is_sentence { 0 } else { (blanks + 2).min(width / 2) });
    let mut lines = vec![String::new()];
    let mut gap = &line[..blanks];
    for word in pieces(&line[blanks..]) {
        if word.text.starts_with('`') && indent.width() + word.text.width() > width {
            continued(word.text, gap, &indent, width, &mut lines);
            gap = word.gap;
            continue;
        }
        let last = lines.last_mut().map_or(0, |last| last.width());
        let begins = lines.last().is_some_and(|last| last.trim().is_empty());
        if !begins && last + gap.width() + word.text.width() > width {
            lines.push(indent.clone());
            gap = "";
        }
        if let Some(last) = lines.last_mut() {
            *last += gap;
            *last += word.text;
        }
        gap = word.gap;
    }
    lines.join("\n")
}

/// Puts a command that is too long for a line after what is there, with a backslash at the end of each line but the
/// last.
fn continued(command: &str, gap: &str, indent: &str, width: usize, lines: &mut Vec<String>) {
    let words = words_of_shell(command);
    let mut gap = gap;
    for (index, word) in words.iter().enumerate() {
        let room_behind = if index + 1 < words.len() { CONTINUED.len() } else { 0 };
        let Some(last) = lines.last_mut() else { return };
        if !last.trim().is_empty() && last.width() + gap.width() + word.width() + room_behind > width {
            *last += if index > 0 { CONTINUED } else { "" };
            lines.push(if index > 0 { format!("{indent}  {word}") } else { format!("{indent}{word}") });
        } else {
            *last += gap;
            *last += word;
        }
        gap = " ";
    }
}

/// What tells a shell that a command continues on the next line.
const CONTINUED: &str = " \\";

/// The words of a command as a shell splits it: at spaces outside of quotes.
fn words_of_shell(command: &str) -> Vec<&str> {
    let (mut words, mut begin) = (Vec::new(), 0);
    let (mut quote, mut is_escaped) = (None, false);
    for (at, letter) in command.char_indices() {
        match (quote, letter) {
            _ if is_escaped => is_escaped = false,
            (None, '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None, ' ') => {
                words.push(&command[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    words.push(&command[begin..]);
    words
}

/// A word and the spaces after it.
struct Piece<'a> {
    text: &'a str,
    gap: &'a str,
}

fn pieces(mut text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let first_blank = text.find(' ').unwrap_or(text.len());
        let opened = text[..first_blank].matches('`').count() % 2 == 1;
        let closed = text[first_blank..].find('`').filter(|_| opened);
        let end = closed.map_or(first_blank, |at| {
            let behind = first_blank + at;
            text[behind..].find(' ').map_or(text.len(), |blank| behind + blank)
        });
        let end = if opened { end } else { end + unit_behind(&text[..end], &text[end..]) };
        let blanks = text[end..].len() - text[end..].trim_start_matches(' ').len();
        pieces.push(Piece { text: &text[..end], gap: &text[end..end + blanks] });
        text = &text[end + blanks..];
    }
    pieces
}

/// What stays on the line of its number.
const UNITS: [&str; 7] = ["%", "ns", "us", "ms", "s", "min", "h"];

/// How long a space and the unit behind it are, bytes, if what stands before is a number; 0 if there is none.
pub(super) fn unit_behind(number: &str, rest: &str) -> usize {
    let word = rest.strip_prefix(' ').and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let is_unit = UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
    if is_unit && number.ends_with(|letter: char| letter.is_ascii_digit()) { 1 + word.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_unit_share_a_line() {
        assert_eq!(wrapped("it ran 16.2 ms late", 12), "it ran\n16.2 ms late");
        assert_eq!(wrapped("of 26.6 %. X", 8), "of\n26.6 %.\nX");
        assert_eq!(wrapped("it is 7 samples", 9), "it is 7\nsamples");
        assert_eq!(wrapped("so many as", 7), "so many\nas");
    }

    #[test]
    fn sentences_go_on_where_they_began_and_labels_further_in() {
        assert_eq!(wrapped("The worst of ten wakeups", 10), "The worst\nof ten\nwakeups");
        assert_eq!(wrapped("note: the worst of ten\nshort\n", 12), "note: the\n  worst of\n  ten\nshort\n");
        assert_eq!(wrapped("  a b   c d", 8), "  a b\n    c d");
        assert_eq!(wrapped("to /a/long/path/of/somebody x", 10), "to\n/a/long/path/of/somebody\nx");
        assert_eq!(wrapped("next: run `punctual why a b`.", 21), "next: run\n  `punctual why a b`.");
    }

    #[test]
    fn a_command_that_no_line_holds_goes_on_as_a_shell_reads_it() {
        let line = "next: `sudo punctual compare --repeat 9 --a 'sysctl -w a=1' --b 'it'\\''s -p 9'` measures both";
        let shown = wrapped(line, 34);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(
            lines,
            [
                "next: `sudo punctual compare \\",
                "    --repeat 9 --a \\",
                "    'sysctl -w a=1' --b \\",
                "    'it'\\''s -p 9'` measures both"
            ]
        );
        // A shell sees the same words.
        let command =
            shown.replace("\\\n", "").split('`').nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(Some(command.as_str()), line.split('`').nth(1));
    }
}
