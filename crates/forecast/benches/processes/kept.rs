//! What was counted of a cell so far, in a file: a run of the benchmark can stop after some minutes, and another one goes
//! on from there.

use std::fmt::Write as _;
use std::path::Path;

/// A number that is kept.
pub(crate) enum Number<'a> {
    Count(&'a mut u32),
    Sum(&'a mut f64),
    /// Sixty-four bits that tell one thing from another.
    Mark(&'a mut u64),
}

impl Number<'_> {
    fn written(&self) -> String {
        match self {
            Number::Count(count) => count.to_string(),
            // The shortest that is read as the same again.
            Number::Sum(sum) => format!("{sum:?}"),
            Number::Mark(mark) => format!("{mark:016x}"),
        }
    }

    /// Takes what was written; `None` if that is no such number.
    fn take(&mut self, written: &str) -> Option<()> {
        match self {
            Number::Count(count) => **count = written.parse().ok()?,
            Number::Sum(sum) => **sum = written.parse().ok()?,
            Number::Mark(mark) => **mark = u64::from_str_radix(written, 16).ok()?,
        }
        Some(())
    }
}

/// Numbers with their names, in the order of the file.
pub(crate) type Numbers<'a> = Vec<(String, Number<'a>)>;

/// The text of a file with these numbers: a line each, the name before the number.
pub(crate) fn written(numbers: &[(String, Number<'_>)]) -> String {
    let mut text = String::new();
    for (name, number) in numbers {
        let _ = writeln!(text, "{name} {}", number.written());
    }
    text
}

/// Takes all numbers from such a text.
///
/// # Errors
/// What is wrong with the text, if it does not have exactly these, in this order. Some may have been taken then.
pub(crate) fn take(text: &str, numbers: Numbers<'_>) -> Result<(), String> {
    let mut lines = text.lines();
    for (name, mut number) in numbers {
        let line = lines.next().unwrap_or_default();
        let value = line.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix(' '));
        value
            .and_then(|value| number.take(value))
            .ok_or_else(|| format!("`{name}` is expected where `{line}` stands"))?;
    }
    match lines.next() {
        Some(line) => Err(format!("nothing is expected where `{line}` stands")),
        None => Ok(()),
    }
}

/// Writes such a file: whoever stops this finds the old one or the new one, whole.
///
/// # Errors
/// Which file cannot be written, and why.
pub(crate) fn store(path: &Path, text: &str) -> Result<(), String> {
    let part = path.with_extension("part");
    let stored = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
    stored.map_err(|error| format!("{}: {error}", path.display()))
}

/// Ends the part of a page that is generated.
const END: &str = "<!-- processes: end -->";

/// A page with this table, indented as code, in place of what it had between the marks for recordings of this length, s.
///
/// # Errors
/// Which mark the page lacks.
pub(crate) fn with_table(page: &str, seconds: f64, table: &str) -> Result<String, String> {
    let begin = format!("<!-- processes: {seconds} s -->");
    let (before, rest) = page.split_once(&begin).ok_or_else(|| format!("there is no line {begin}"))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| format!("no line {END} follows {begin}"))?;
    let mut indented = String::new();
    for line in table.lines() {
        let _ = writeln!(indented, "    {line}");
    }
    Ok(format!("{before}{begin}\n\n{indented}\n{END}{after}"))
}
