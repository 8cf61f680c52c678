//! The same as a page.

use super::super::model::MODELLED;
use super::answer::OutsideAnswer;
use super::model::{OutsideReport, Stretch};
use crate::NextStep;
use crate::answer::value;
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Page, Section};
use crate::layout::counted;

/// So many stretches have rows; of more the page says so.
const MAX_STRETCHES: usize = 400;

/// The page of an episode that was looked at from outside.
pub fn outside_page(report: &OutsideReport<'_>) -> Page {
    Page {
        title: format!("{} of episode {}, from outside", report.victim, report.episode),
        context: format!("punctual lab why · {} · seed {}", report.kernel, report.seed),
        verdict: report.verdict(),
        next: vec![NextStep::new("sums up all late wakeups as seen from inside", report.next())],
        warnings: report.notes(),
        blind: vec![MODELLED.to_owned()],
        sections: vec![arrival(report), stretches(report), functions(report), classes(report)],
        report: value(&OutsideAnswer::new(report)),
    }
}

fn arrival(report: &OutsideReport<'_>) -> Section {
    Section {
        id: "arrival".into(),
        title: "Why the interrupt came when it did".into(),
        lead: report.arrival_in_words(),
        blocks: vec![Block::Text(report.proof())],
    }
}

fn stretches(report: &OutsideReport<'_>) -> Section {
    let row = |stretch: &Stretch| {
        let named: Vec<&str> = stretch.functions.iter().map(|function| function.name.as_str()).collect();
        vec![
            Value::text(stretch.what()),
            Value::Ns(Some(stretch.at_ns)),
            Value::Ns(Some(stretch.ns)),
            Value::text(named.join(", ")),
        ]
    };
    let columns = vec![
        Column::words("what"),
        Column::numbers("at us"),
        Column::numbers("for us"),
        Column::words("functions, longest first"),
    ];
    let rows: Vec<Vec<Value>> = report.stretches.iter().take(MAX_STRETCHES).map(row).collect();
    let mut blocks = vec![Block::Table(Table { caption: "From due to running".into(), columns, rows })];
    if let Some(more) = report.stretches.len().checked_sub(MAX_STRETCHES + 1) {
        blocks.push(Block::Text(format!("Not shown: {}.", counted(more + 1, "more piece"))));
    }
    Section {
        id: "stretches".into(),
        title: "What had the CPU".into(),
        lead: "Each stretch of time in one place, in order, without gap or overlap: they add up to the lateness."
            .into(),
        blocks,
    }
}

fn functions(report: &OutsideReport<'_>) -> Section {
    let share = |ns: u64| format!("{:.1} %", ns as f64 * 100.0 / report.total_ns.max(1) as f64);
    let rows = report.functions.iter();
    let rows = rows.map(|row| vec![Value::text(row.name.clone()), Value::Ns(Some(row.ns)), Value::text(share(row.ns))]);
    let columns = vec![Column::words("function"), Column::numbers("us"), Column::numbers("share")];
    let table = Table { caption: "Without what each called, longest first".into(), columns, rows: rows.collect() };
    Section {
        id: "functions".into(),
        title: "Functions".into(),
        lead: "By their own time, over all stretches.".into(),
        blocks: vec![Block::Table(table)],
    }
}

fn classes(report: &OutsideReport<'_>) -> Section {
    let rows = report
        .classes
        .iter()
        .map(|row| vec![Value::text(row.class), Value::Ns(Some(row.inside_ns)), Value::Ns(Some(row.outside_ns))]);
    let columns =
        vec![Column::words("what had it"), Column::numbers("as why says, us"), Column::numbers("from outside, us")];
    let table = Table { caption: "Both add up to the lateness".into(), columns, rows: rows.collect() };
    Section {
        id: "classes".into(),
        title: "Inside beside outside".into(),
        lead: "The split that `punctual why` makes of the evidence in the guest, and what ran.".into(),
        blocks: vec![Block::Table(table)],
    }
}
