//! Tables of a page. They contain numbers twice: as people read them, and exactly, in `data-` attributes.

use crate::encode::plain_page::{escape, prose};
use crate::layout::{grouped, microseconds};
use std::fmt::Write;

/// A table.
pub struct Table {
    /// What it is.
    pub caption: String,
    /// The columns. The first names the row.
    pub columns: Vec<Column>,
    /// The rows, each as long as there are columns.
    pub rows: Vec<Vec<Value>>,
}

/// A column's heading.
pub struct Column {
    /// The heading.
    pub name: String,
    /// Whether it holds numbers, which are right-aligned.
    pub numbers: bool,
}

impl Column {
    /// A column of words.
    pub fn words(name: impl Into<String>) -> Column {
        Column { name: name.into(), numbers: false }
    }

    /// A column of numbers.
    pub fn numbers(name: impl Into<String>) -> Column {
        Column { name: name.into(), numbers: true }
    }
}

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Words.
    Text(String),
    /// Words that deserve attention because they differ from those beside them.
    Marked(String),
    /// A point in favour; never shown by colour alone.
    Good(String),
    /// A point against.
    Bad(String),
    /// Nanoseconds, shown as microseconds; `None` is unknown.
    Ns(Option<u64>),
    /// A count; `None` is unknown.
    Count(Option<u64>),
}

impl Value {
    /// Words.
    pub fn text(text: impl Into<String>) -> Value {
        Value::Text(text.into())
    }

    fn html(&self) -> (String, String) {
        let unknown = || "–".to_owned();
        match self {
            Value::Text(text) => (prose(text), String::new()),
            Value::Marked(text) => (format!("<strong>{}</strong>", prose(text)), String::new()),
            Value::Good(text) => (format!("<span class=\"good\">✓ {}</span>", prose(text)), String::new()),
            Value::Bad(text) => (format!("<strong class=\"bad\">✗ {}</strong>", prose(text)), String::new()),
            Value::Ns(Some(ns)) => (thousands(&microseconds(Some(*ns))), format!(" data-ns=\"{ns}\"")),
            Value::Count(Some(count)) => (grouped(*count), format!(" data-count=\"{count}\"")),
            Value::Ns(None) => (unknown(), " data-ns=\"\"".to_owned()),
            Value::Count(None) => (unknown(), " data-count=\"\"".to_owned()),
        }
    }
}

/// Separates the thousands of a decimal number.
pub(crate) fn thousands(number: &str) -> String {
    match number.split_once('.') {
        Some((whole, tenths)) => {
            whole.parse().map_or_else(|_| number.to_owned(), |whole| format!("{}.{tenths}", grouped(whole)))
        }
        None => number.to_owned(),
    }
}

impl Table {
    pub(crate) fn html(&self, out: &mut String) {
        let _ = write!(
            out,
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table: {0}\"><table><caption>{0}</caption>\n<thead><tr>",
            escape(&self.caption)
        );
        let class = |column: &Column| if column.numbers { " class=\"n\"" } else { "" };
        for column in &self.columns {
            let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(column), escape(&column.name));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (index, (column, value)) in self.columns.iter().zip(row).enumerate() {
                let (text, exact) = value.html();
                let class = class(column);
                let _ = match index {
                    // A row that continues the one above has no heading of its own.
                    0 if !text.is_empty() => write!(out, "<th scope=\"row\"{class}{exact}>{text}</th>"),
                    _ => write!(out, "<td{class}{exact}>{text}</td>"),
                };
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_there_for_people_and_exactly() {
        let table = Table {
            caption: "a".into(),
            columns: vec![Column::words("stage"), Column::numbers("max us"), Column::numbers("count")],
            rows: vec![vec![Value::text("<irq>"), Value::Ns(Some(1_234_567)), Value::Count(None)]],
        };
        let mut html = String::new();
        table.html(&mut html);
        assert!(html.contains("<td class=\"n\" data-ns=\"1234567\">1,234.6</td>"), "{html}");
        assert!(html.contains("&lt;irq&gt;") && html.contains("data-count=\"\">–<"), "{html}");
    }
}
