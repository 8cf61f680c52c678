//! `punctual capabilities`.

use crate::output::{self, Output};
use punctual_kernel::capabilities::{self, Availability, Capability};
use serde_json::json;

pub(crate) fn run(output: Output) -> anyhow::Result<u8> {
    let lines = capabilities::all();
    let lacking: Vec<&str> =
        lines.iter().filter(|line| line.available == Availability::No).map(|line| line.name).collect();
    let verdict = match lacking.as_slice() {
        [] => "This kernel and this user allow everything that punctual can use.".to_owned(),
        names => format!("Not available here: {}. Measuring works all the same, with less detail.", names.join(", ")),
    };
    if output.json {
        let report = json!({
            "schema": "punctual.capabilities/1", "verdict": verdict, "exit_code": 0, "capabilities": lines,
        });
        output::print(&output::pretty(&report));
        return Ok(0);
    }
    let rows = lines.iter().map(|line| {
        let mark = match line.available {
            Availability::Yes => "yes",
            Availability::Limited => "limited",
            Availability::No => "no",
        };
        vec![line.name.to_owned(), mark.to_owned(), line.detail.clone(), line.needed_for.to_owned()]
    });
    let mut text =
        format!("{verdict}\n\n{}\n", punctual_report::table(&["", "here", "found", "needed for"], 4..4, rows));
    let remedies: Vec<&Capability> = lines.iter().filter(|line| line.remedy.is_some()).collect();
    if !remedies.is_empty() {
        text += "\nWhat would allow it:\n";
        for line in remedies {
            text += &format!("  {}: {}\n", line.name, line.remedy.as_deref().unwrap_or_default());
        }
    }
    output::print_text(&text);
    Ok(0)
}
