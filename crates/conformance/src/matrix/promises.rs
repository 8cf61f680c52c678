//! Whether `punctual capabilities` promises what works, and nothing else.

use super::answer::{json, list};
use super::cell::{Cell, Printed, Verdict};
use super::plan::table;
use serde_json::Value;
use std::collections::BTreeMap;

/// What each row said, by its name: what it printed, and what its recording says of itself.
pub(super) type Said = BTreeMap<String, String>;

/// What capabilities promise of something that takes several of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Promise {
    Nothing,
    WithLimits,
    All,
}

/// A row that capabilities speak of.
struct Row {
    name: String,
    capabilities: Vec<String>,
    /// Whether somebody else judges what came of it: of a drill, only that it runs is promised.
    is_drill: bool,
}

pub(super) fn name() -> String {
    "capabilities promise what works".to_owned()
}

/// The rows of the table that capabilities speak of.
fn rows() -> Vec<Row> {
    let table = table();
    let of_drill = |name: String| {
        let name = format!("drill {name}");
        Row { capabilities: vec![name.clone()], name, is_drill: true }
    };
    let commands = table.command.into_iter().filter(|command| !command.capabilities.is_empty());
    let commands =
        commands.map(|command| Row { name: command.name, capabilities: command.capabilities, is_drill: false });
    commands.chain(table.drill.into_iter().map(|drill| of_drill(drill.name))).collect()
}

/// Compares what was promised with what came of the rows.
pub(super) fn cell(capabilities: &Printed, cells: &[Cell], said: &Said) -> Cell {
    let (mut compared, mut wrong) = (0, Vec::new());
    match json(capabilities).and_then(|answer| list(&answer, "capabilities").cloned()) {
        Err(what) => wrong.push(what),
        Ok(lines) => {
            for row in rows() {
                let Some(cell) = cells.iter().find(|cell| cell.row == row.name) else { continue };
                compared += 1;
                let said = said.get(&row.name).map_or("", String::as_str);
                wrong.extend(fault(&row, &lines, &cell.verdict, said));
            }
        }
    }
    let verdict =
        if wrong.is_empty() { Verdict::Right(format!("{compared} rows")) } else { Verdict::Wrong(wrong.join("; ")) };
    Cell { row: name(), verdict, cost: None }
}

/// What is wrong about the promise for a row, if anything is.
fn fault(row: &Row, lines: &[Value], verdict: &Verdict, said: &str) -> Option<String> {
    let mut named: Vec<&Value> = Vec::new();
    for name in &row.capabilities {
        match lines.iter().find(|line| line["name"] == name.as_str()) {
            Some(line) => named.push(line),
            None => return Some(format!("capabilities has no line `{name}`")),
        }
    }
    let (line, promise) = named.iter().map(|line| (*line, promise(line))).min_by_key(|(_, promise)| *promise)?;
    let differs = |is: &str| Some(format!("`{}` is {is}, but {} {}", text(&line["name"]), row.name, verdict.word()));
    let works = matches!(verdict, Verdict::Right(_) | Verdict::Degraded);
    match (promise, verdict) {
        // It has been said already that something else is wrong, or there is nothing to compare.
        (_, Verdict::Wrong(_) | Verdict::LeftOut | Verdict::NotRun) => None,
        (Promise::Nothing, Verdict::Refused) => None,
        (Promise::Nothing, Verdict::Degraded) if !row.is_drill => None,
        (Promise::Nothing, _) => differs("refused"),
        (Promise::All | Promise::WithLimits, _) if row.is_drill && works => None,
        (Promise::All, Verdict::Right(_)) | (Promise::WithLimits, Verdict::Degraded) => None,
        (Promise::All, _) => differs("promised"),
        (Promise::WithLimits, Verdict::Right(_)) => {
            let unsaid = named.iter().find_map(|line| unsaid(line, said))?;
            Some(format!("`{}` is limited ({unsaid}), and {} does not say so", text(&line["name"]), row.name))
        }
        (Promise::WithLimits, Verdict::Refused) => differs("promised with limits"),
    }
}

fn promise(line: &Value) -> Promise {
    match line["available"].as_str() {
        Some("yes") => Promise::All,
        Some("limited") => Promise::WithLimits,
        _ => Promise::Nothing,
    }
}

/// A log that was not asked for a class of events need not say that it has none of them.
const NOT_ASKED: &str = "events of the class ";

/// What a limited line says is missing and the row does not. A limit that is nothing missing from the kernel makes the
/// row a lesser one.
fn unsaid(line: &Value, said: &str) -> Option<String> {
    if promise(line) != Promise::WithLimits {
        return None;
    }
    let missing = line["missing"].as_array().filter(|missing| !missing.is_empty());
    let Some(missing) = missing else {
        let detail = text(&line["detail"]);
        return (!detail.contains(NOT_ASKED)).then(|| detail.to_owned());
    };
    let asked = missing.iter().filter(|missing| !text(&missing["blind"]).starts_with(NOT_ASKED));
    asked.map(|missing| text(&missing["what"])).find(|what| !said.contains(*what)).map(str::to_owned)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Row, Verdict, fault, rows};
    use serde_json::{Value, json};

    fn line(name: &str, available: &str, missing: &[(&str, &str)]) -> Value {
        let missing: Vec<Value> =
            missing.iter().map(|(what, blind)| json!({ "what": what, "since": null, "blind": blind })).collect();
        json!({ "name": name, "available": available, "detail": "in words", "missing": missing })
    }

    fn row(capabilities: &[&str], is_drill: bool) -> Row {
        let capabilities = capabilities.iter().map(|name| (*name).to_owned()).collect();
        Row { name: "the row".to_owned(), capabilities, is_drill }
    }

    #[test]
    fn what_is_promised_must_work_and_what_is_refused_must_not() {
        let right = || Verdict::Right(String::new());
        let lines = [line("whole", "yes", &[]), line("none", "no", &[])];
        let is_fault = |row: &Row, verdict: Verdict| fault(row, &lines, &verdict, "").is_some();
        let (whole, none) = (row(&["whole"], false), row(&["whole", "none"], false));
        assert!(
            !is_fault(&whole, right()) && is_fault(&whole, Verdict::Degraded) && is_fault(&whole, Verdict::Refused)
        );
        assert!(is_fault(&none, right()) && !is_fault(&none, Verdict::Degraded) && !is_fault(&none, Verdict::Refused));
        // Of a drill, nothing is promised about how it is blamed.
        let (whole, none) = (row(&["whole"], true), row(&["none"], true));
        assert!(!is_fault(&whole, Verdict::Degraded) && is_fault(&whole, Verdict::Refused));
        assert!(is_fault(&none, Verdict::Degraded) && !is_fault(&none, Verdict::Refused));
        for told_elsewhere in [Verdict::Wrong(String::new()), Verdict::LeftOut, Verdict::NotRun] {
            assert!(!is_fault(&row(&["none"], false), told_elsewhere));
        }
        assert!(is_fault(&row(&["unheard of"], false), right()));
    }

    #[test]
    fn what_is_limited_says_so() {
        let lack = ("the tracepoint `x`", "locks");
        let lines = [
            line("recorder", "limited", &[lack]),
            line("log", "limited", &[("the tracepoint `y`", "events of the class fault")]),
            line("samples", "limited", &[]),
            json!({ "name": "denied", "available": "limited", "detail": "without events of the class fault (denied)", "missing": [] }),
        ];
        let fault =
            |name: &str, verdict: Verdict, said: &str| super::fault(&row(&[name], false), &lines, &verdict, said);
        let right = || Verdict::Right(String::new());
        assert_eq!(fault("recorder", right(), "locks: this kernel lacks the tracepoint `x`"), None);
        let unsaid = fault("recorder", right(), "nothing").unwrap();
        assert!(unsaid.contains("limited (the tracepoint `x`)"), "{unsaid}");
        assert_eq!(fault("recorder", Verdict::Degraded, ""), None);
        assert_eq!(fault("log", right(), ""), None);
        assert_eq!(fault("denied", right(), ""), None);
        assert!(fault("samples", right(), "in words").is_some() && fault("samples", Verdict::Degraded, "").is_none());
        assert!(fault("recorder", Verdict::Refused, "").is_some());
    }

    #[test]
    fn most_rows_that_ask_the_kernel_for_something_are_compared() {
        let rows = rows();
        assert!(rows.len() > 25, "{} rows", rows.len());
        assert!(rows.iter().filter(|row| row.is_drill).count() > 5);
    }
}
