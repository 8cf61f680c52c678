//! Text that is laid out twice: for its reader, and as Markdown for a file. Until then each table stands in it as one line, the
//! table's mark.

use std::sync::{Mutex, OnceLock, PoisonError};

/// A table in both forms.
#[derive(Debug)]
struct Forms {
    screen: String,
    markdown: String,
}

/// The tables made so far, by the number in their mark; unset where text is laid out once.
static KEPT: OnceLock<Mutex<Vec<Forms>>> = OnceLock::new();

/// Encloses the number of a table in its mark. It is for private use, so that no word of ours has it.
const MARK: char = '\u{f8ff}';

/// From now on every text needs [`for_screen`] or [`for_markdown`], which put the tables where their marks are; without this call
/// tables are laid out at once, and both return what they are given.
pub fn lay_out_twice() {
    let _ = KEPT.set(Mutex::default());
}

/// Whether tables are kept in both forms.
pub(super) fn is_laid_out_twice() -> bool {
    KEPT.get().is_some()
}

/// Keeps a table in both forms, and returns its mark.
pub(super) fn kept(screen: String, markdown: String) -> String {
    let Some(kept) = KEPT.get() else { return screen };
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push(Forms { screen, markdown });
    format!("{MARK}{}{MARK}", kept.len() - 1)
}

/// Text with its tables as they are laid out for its reader.
pub fn for_screen(text: &str) -> String {
    of_kept(text, |forms| &forms.screen)
}

/// The same text with its tables in Markdown; `paragraphs` makes the rest Markdown.
pub fn for_markdown(text: &str) -> String {
    of_kept(text, |forms| &forms.markdown)
}

fn of_kept(text: &str, form: fn(&Forms) -> &str) -> String {
    let Some(kept) = KEPT.get() else { return text.to_owned() };
    with_tables(text, &kept.lock().unwrap_or_else(PoisonError::into_inner), form)
}

/// Text in which each mark has become its table, as far to the right as the mark was.
fn with_tables(text: &str, kept: &[Forms], form: fn(&Forms) -> &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let words = line.trim_end_matches('\n');
        let (indent, mark) = words.split_at(words.len() - words.trim_start_matches(' ').len());
        match number(mark).and_then(|number| kept.get(number)) {
            Some(forms) => {
                let lines = form(forms).lines().map(|line| format!("{indent}{line}").trim_end().to_owned());
                out += &lines.collect::<Vec<_>>().join("\n");
            }
            None => out += words,
        }
        out += &line[words.len()..];
    }
    out
}

/// The number in a mark.
fn number(mark: &str) -> Option<usize> {
    mark.strip_prefix(MARK)?.strip_suffix(MARK)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_stands_where_its_mark_was() {
        let kept = [("a  b\n\n1  2", "| a | b |"), ("c", "| c |")]
            .map(|(screen, markdown)| Forms { screen: screen.to_owned(), markdown: markdown.to_owned() });
        let text = format!("Verdict.\n\n{MARK}0{MARK}\nbetween\n  {MARK}1{MARK}\n\n  {MARK}0{MARK}");
        let screen = with_tables(&text, &kept, |forms| &forms.screen);
        assert_eq!(screen, "Verdict.\n\na  b\n\n1  2\nbetween\n  c\n\n  a  b\n\n  1  2");
        let markdown = with_tables(&text, &kept, |forms| &forms.markdown);
        assert_eq!(markdown, "Verdict.\n\n| a | b |\nbetween\n  | c |\n\n  | a | b |");
        // What is no mark of a table stays.
        for other in ["", "\n", "x\n\ny", "\u{f8ff}7\u{f8ff}", "\u{f8ff}", "see \u{f8ff}0\u{f8ff}\n"] {
            assert_eq!(with_tables(other, &kept, |forms| &forms.screen), other);
        }
    }
}
