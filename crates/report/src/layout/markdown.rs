//! Text as Markdown, for issues and wikis: tables become its tables, each line is a paragraph, and whatever a name contains, it
//! stays text.

/// A table. The first row is its header if it has one; `numbers` says of each column whether it holds numbers.
pub(super) fn table_of(rows: &[Vec<String>], has_header: bool, numbers: &[bool]) -> String {
    let (header, body) = match rows.split_first() {
        Some((header, body)) if has_header => (header.as_slice(), body),
        _ => (&[][..], rows),
    };
    let row = |cells: &[String]| {
        let cell = |index: usize| cells.get(index).map_or_else(String::new, |cell| in_a_cell(cell));
        format!("| {} |", (0..numbers.len()).map(cell).collect::<Vec<_>>().join(" | "))
    };
    let ruler: Vec<&str> = numbers.iter().map(|is_number| if *is_number { "--:" } else { "---" }).collect();
    let mut lines = vec![row(header), format!("| {} |", ruler.join(" | "))];
    lines.extend(body.iter().map(|cells| row(cells)));
    lines.join("\n")
}

fn in_a_cell(cell: &str) -> String {
    cell.split('\n').map(escaped).collect::<Vec<_>>().join("<br>")
}

/// Lines with tables among them: a blank line after each line and each table, because what stands right below one would go on
/// with it. A line that only looks like a row, such as a name, is text: a table's first row has a ruler below it.
pub fn paragraphs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_table = false;
    let mut lines = text.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let is_above_ruler = lines.peek().is_some_and(|below| below.starts_with("| --"));
        let is_row = line.starts_with("| ") && (in_table || is_above_ruler);
        if !out.is_empty() && !line.is_empty() {
            out += if is_row && in_table { "\n" } else { "\n\n" };
        }
        out += &if is_row { line.to_owned() } else { with_code(line) };
        in_table = is_row;
    }
    // What is printed next is a paragraph of its own.
    if !out.is_empty() {
        out += "\n\n";
    }
    out
}

/// A line of text in which commands between backticks stay as they are; a backtick that is left over is text.
fn with_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let mut out = String::with_capacity(line.len());
    for (number, part) in parts.iter().enumerate() {
        let opens = number % 2 == 1;
        out += &match (opens, number + 1 < parts.len()) {
            (true, true) => format!("`{part}`"),
            (true, false) => format!("\\`{}", escaped(part)),
            (false, _) => escaped(part),
        };
    }
    out
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
        assert_eq!(with_code("run `a_b | c` as *d* `"), "run `a_b | c` as \\*d\\* \\`");
    }

    #[test]
    fn a_table_has_a_ruler_and_cells_for_every_column() {
        let rows = [["stage", "max us"], ["irq", "1.2"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table_of(&rows, true, &[false, true]), "| stage | max us |\n| --- | --: |\n| irq | 1.2 |");
        let short = [vec!["a|b\nc".to_owned()]];
        assert_eq!(table_of(&short, false, &[false, false]), "|  |  |\n| --- | --- |\n| a\\|b<br>c |  |");
    }

    #[test]
    fn lines_and_tables_stand_apart() {
        let text = "Worst: 1 us.\nnote: a_b\n\n  | a |\n  | --- |\nbelow\n";
        assert_eq!(paragraphs(text), "Worst: 1 us.\n\nnote: a\\_b\n\n| a |\n| --- |\n\nbelow\n\n");
        assert_eq!(paragraphs("| a |\n| --- |\n\n| b |\n| --: |\n"), "| a |\n| --- |\n\n| b |\n| --: |\n\n");
        assert_eq!(paragraphs("| <b> | was late\n"), "\\| \\<b\\> \\| was late\n\n");
        assert_eq!(paragraphs("\n"), "");
    }
}
