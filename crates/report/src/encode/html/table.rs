//! Tables of a page. They contain numbers twice: as people read them, and exactly, in `data-` attributes.

use crate::encode::plain_page::{escape, prose};
use crate::layout::{grouped, microseconds, thousands};
use std::fmt::Write;

/// A table with more columns than this is set as a list of its rows where a screen is narrow.
const MAX_NARROW: usize = 3;

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

    /// What stands before its cells where the headings above them are not seen.
    fn label(&self, is_stacked: bool) -> String {
        if is_stacked && !self.name.is_empty() {
            format!(" data-label=\"{}\"", escape(&self.name))
        } else {
            String::new()
        }
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

impl Table {
    pub(crate) fn html(&self, out: &mut String) {
        let is_stacked = self.columns.len() > MAX_NARROW;
        // Set as a list it is a table still for those who do not see it.
        let role = |name: &str| if is_stacked { format!(" role=\"{name}\"") } else { String::new() };
        let _ = write!(
            out,
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table: {0}\"><table{1}{2}><caption>{0}</caption>\n\
             <thead{3}><tr{4}>",
            escape(&self.caption),
            if is_stacked { " class=\"stacked\"" } else { "" },
            role("table"),
            role("rowgroup"),
            role("row")
        );
        let class = |column: &Column| if column.numbers { " class=\"n\"" } else { "" };
        let heading = role("columnheader");
        for column in &self.columns {
            let _ = write!(out, "<th scope=\"col\"{}{heading}>{}</th>", class(column), escape(&column.name));
        }
        let _ = writeln!(out, "</tr></thead>\n<tbody{}>", role("rowgroup"));
        for row in &self.rows {
            let _ = write!(out, "<tr{}>", role("row"));
            for (index, (column, value)) in self.columns.iter().zip(row).enumerate() {
                let (text, exact) = value.html();
                let class = class(column);
                let _ = match index {
                    // A row that continues the one above has no heading of its own.
                    0 if !text.is_empty() => {
                        write!(out, "<th scope=\"row\"{class}{exact}{}>{text}</th>", role("rowheader"))
                    }
                    _ => write!(out, "<td{class}{exact}{}{}>{text}</td>", role("cell"), column.label(is_stacked)),
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
        assert!(!html.contains("data-label") && !html.contains("role=\"cell\""), "three columns fit: {html}");
    }

    #[test]
    fn cells_of_a_wide_table_have_their_headings_and_are_a_table_still() {
        let table = Table {
            caption: "a".into(),
            columns: vec![
                Column::words("name"),
                Column::numbers("p50 \"us\""),
                Column::words(""),
                Column::numbers("count"),
            ],
            rows: vec![vec![Value::text("irq"), Value::Ns(Some(1_000)), Value::text("x"), Value::Count(Some(2))]],
        };
        let mut html = String::new();
        table.html(&mut html);
        let cell = "<td class=\"n\" data-ns=\"1000\" role=\"cell\" data-label=\"p50 &quot;us&quot;\">1.0</td>";
        assert!(html.contains(cell) && html.contains("<td role=\"cell\">x</td>"), "{html}");
        let met = [
            "<table class=\"stacked\" role=\"table\">",
            "<thead role=\"rowgroup\"><tr role=\"row\">",
            "<th scope=\"col\" role=\"columnheader\">name</th>",
            "<tbody role=\"rowgroup\">",
            "<tr role=\"row\"><th scope=\"row\" role=\"rowheader\">irq</th>",
        ];
        for part in met {
            assert!(html.contains(part), "no {part} in {html}");
        }
    }
}
