//! The ledger's rows on a page.

use crate::encode::plain_page::{escape, number};
use crate::sim::class_name;
use crate::sim::text::outcome_word;
use punctual_sim::experiment::{LedgerRow, Value};
use std::fmt::Write;

/// On a telephone each row of the ledger is a card of its own, because six columns do not fit side by side.
pub(crate) const STYLE: &str = "
.ledger .bad,.ledger .good{white-space:nowrap}
@media screen and (max-width:40rem){table.ledger,.ledger caption,.ledger tbody,.ledger tr,.ledger th,.ledger td{display:block}
.wide>table.ledger{width:100%}.ledger thead{display:none}
.ledger tbody tr{padding:.4rem 0;border-bottom:1px solid var(--line)}
.wide>table.ledger>tbody>tr>td,.wide>table.ledger>tbody>tr>th{max-width:none;min-width:0;border:0;padding:.05rem .4rem;text-align:left;
white-space:normal;overflow-wrap:anywhere}
.wide>table.ledger>tbody>tr>th[scope=row]:first-child{position:static;max-width:none;background:none;font-weight:600}
.ledger td::before{content:attr(data-name) \": \";color:var(--soft)}}
";

/// A value with its unit.
pub(super) fn shown(value: Option<&Value>, unit: &str) -> String {
    match value {
        None => "–".to_owned(),
        Some(Value::Text(word)) => escape(word),
        Some(Value::Number(value)) if unit.is_empty() => number(*value),
        Some(Value::Number(value)) => format!("{} {}", number(*value), escape(unit)),
    }
}

/// The content of the verdict column: never colour alone.
fn verdict(row: &LedgerRow) -> String {
    let word = outcome_word(row);
    match word {
        "" => "<span class=\"soft\">not judged</span>".to_owned(),
        "holds" | "fits" => format!("<span class=\"good\">✓ {word}</span>"),
        _ => format!("<strong class=\"bad\">✗ {word}</strong>"),
    }
}

/// Rows as a table. The paper's number is beside ours, and the reason is below what it explains.
pub(crate) fn table<'a>(caption: &str, rows: impl Iterator<Item = &'a LedgerRow>, out: &mut String) {
    let _ = writeln!(
        out,
        "<div class=\"wide\" tabindex=\"0\"><table class=\"ledger\"><caption>{}</caption>\n<thead><tr><th scope=\"col\">point</th>\
         <th scope=\"col\" class=\"n\">published</th><th scope=\"col\" class=\"n\">simulated</th><th scope=\"col\">verdict</th>\
         <th scope=\"col\">class</th><th scope=\"col\">held to</th></tr></thead>\n<tbody>",
        escape(caption)
    );
    for row in rows {
        let mut class = class_name(row.class).replace('_', " ");
        if let Some(assumption) = &row.assumption {
            let name = escape(assumption);
            let _ = write!(class, ": <a href=\"#assumed-{name}\">{name}</a>");
        }
        let contradicted = row.contradicted.as_ref().filter(|_| row.holds == Some(false));
        let held: Vec<String> = [Some(&row.tolerance), row.resolution.as_ref(), row.because.as_ref(), contradicted]
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .map(|part| escape(part))
            .collect();
        let _ = writeln!(
            out,
            "<tr{}><th scope=\"row\">{}<span class=\"id\">{}</span></th><td class=\"n\" data-name=\"published\">{}</td>\
             <td class=\"n\" data-name=\"simulated\">{}</td><td data-name=\"verdict\">{}</td><td data-name=\"class\">{class}</td>\
             <td class=\"words\" data-name=\"held to\">{}</td></tr>",
            if row.holds == Some(false) { " class=\"fails\"" } else { "" },
            escape(&row.point()),
            escape(&row.id),
            shown(row.published.as_ref(), &row.unit),
            shown(row.simulated.as_ref(), &row.unit),
            verdict(row),
            held.join("<br/>")
        );
    }
    out.push_str("</tbody></table></div>\n");
}
