//! The page of `punctual modem study --html`.

use super::{ASSUMED, Studied, StudyAnswer, by_table, class_name, endings, heading};
use crate::answer::value;
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Page, Section};
use crate::layout::counted;
use punctual_modem::tables::{Published, Row};
use punctual_modem::transfer::Attempt;

/// The tables as a page.
pub fn page(studied: &Studied<'_>) -> Page {
    let tables = studied.tables;
    let (bytes, attempts) = (counted(tables.bytes, "byte"), counted(tables.experiment.attempts, "attempt"));
    Page {
        title: "A file over a modem, as in the paper's Tables 1 to 3".to_owned(),
        context: format!("punctual modem study · {bytes}, {attempts} a row, in virtual time"),
        verdict: studied.verdict(),
        next: studied.next(),
        warnings: Vec::new(),
        blind: ASSUMED.map(str::to_owned).to_vec(),
        sections: by_table(tables).into_iter().map(|(table, rows)| section(studied, table, &rows)).collect(),
        report: value(&StudyAnswer::new(studied)),
    }
}

fn section(studied: &Studied<'_>, number: u8, rows: &[&Row]) -> Section {
    let clean = studied.tables.clean_s().unwrap_or(0.0);
    let table =
        |caption: &str, numbers: &[&'static str], words: &[&'static str], cells: &dyn Fn(&Row) -> Vec<Value>| {
            let mut columns = vec![Column::words("row")];
            columns.extend(numbers.iter().copied().map(Column::numbers));
            columns.extend(words.iter().copied().map(Column::words));
            let named = |row: &&Row| [vec![Value::text(row.name.clone())], cells(row)].concat();
            Block::Table(Table { caption: caption.to_owned(), columns, rows: rows.iter().map(named).collect() })
        };
    let of_times =
        ["min s", "max s", "mean s", "std dev", "successes", "times clean", "paper's times", "paper's successes"];
    let of_events = ["retrains", "CRC errors", "underruns", "overruns"];
    Section {
        id: format!("table-{number}"),
        title: heading(number).to_owned(),
        lead: format!(
            "Times clean are multiples of {clean:.3} s, a transfer that nothing delays; the paper's are of its interrupt version."
        ),
        blocks: vec![
            table("How long the transfers took", &of_times, &["here", "paper"], &|row| times(row, clean)),
            table("What happened to all attempts", &of_events, &["failed"], &events),
        ],
    }
}

fn times(row: &Row, clean: f64) -> Vec<Value> {
    let number = |value: Option<f64>, digits: usize| {
        Value::text(value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}")))
    };
    let seconds = row.transfer.seconds();
    let (class, published) = (row.class(clean), row.published.class());
    let here = class_name(class).to_owned();
    vec![
        number(seconds.map(|seconds| seconds.min), 3),
        number(seconds.map(|seconds| seconds.max), 3),
        number(seconds.map(|seconds| seconds.mean), 3),
        number(seconds.map(|seconds| seconds.deviation), 3),
        Value::text(format!("{} of {}", row.transfer.successes(), row.transfer.attempts.len())),
        number(row.times_clean(clean), 2),
        number(row.published.times_clean(), 2),
        Value::text(format!("{} of {}", row.published.successes, Published::ATTEMPTS)),
        if class == Some(published) { Value::Text(here) } else { Value::Marked(here) },
        Value::text(published.name()),
    ]
}

fn events(row: &Row) -> Vec<Value> {
    let sum = |of: fn(&Attempt) -> u64| Value::Count(Some(row.transfer.sum(of)));
    vec![
        sum(|attempt| attempt.retrains.into()),
        sum(|attempt| attempt.crc_errors + attempt.far_crc_errors),
        sum(|attempt| attempt.underruns),
        sum(|attempt| attempt.overruns),
        Value::text(endings(row)),
    ]
}
