//! `punctual capabilities`.

use crate::output::{self, Output, Usage};
use punctual_device::{did_you_mean, nearest};
use punctual_kernel::capabilities::{self, Availability, Capability};
use punctual_kernel::{Trial, kernel_types};
use punctual_report::capabilities::answer::{CapabilitiesAnswer, CapabilityRow, MissingRow};

pub(crate) fn run(wanted: &[String], output: Output) -> anyhow::Result<u8> {
    let lines = tried(wanted)?;
    let named = |wanted: Availability| -> Vec<&str> {
        lines.iter().filter(|line| line.available == wanted).map(|line| line.name.as_str()).collect()
    };
    let (lacking, limited) = (named(Availability::No), named(Availability::Limited));
    let verdict = punctual_report::capabilities_verdict(&lacking, &limited, !wanted.is_empty());
    if output.json {
        output::answer(CapabilitiesAnswer::new(&verdict, lines.iter().map(row).collect()), 0);
        return Ok(0);
    }
    let rows = lines.iter().map(|line| {
        let mark = word(line.available);
        let since = line.since.unwrap_or_default();
        vec![line.name.clone(), mark.to_owned(), since.to_owned(), line.detail.clone(), line.needed_for.clone()]
    });
    let heads = ["", "here", "Linux", "found", "needed for"];
    let mut text = format!("{verdict}\n\n{}\n", punctual_report::table(&heads, 5..5, rows));
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

fn word(available: Availability) -> &'static str {
    match available {
        Availability::Yes => "yes",
        Availability::Limited => "limited",
        Availability::No => "no",
    }
}

fn row(line: &Capability) -> CapabilityRow<'_> {
    let missing = line.missing.iter();
    CapabilityRow {
        name: &line.name,
        available: word(line.available),
        detail: &line.detail,
        needed_for: &line.needed_for,
        remedy: line.remedy.as_deref(),
        since: line.since,
        missing: missing.map(|lack| MissingRow { what: &lack.what, since: lack.since, blind: &lack.blind }).collect(),
    }
}

/// First what needs no BPF program of ours, then what needs one: each program is loaded and removed again. All rows if
/// no row is named.
fn tried(wanted: &[String]) -> Result<Vec<Capability>, Usage> {
    let (mut lines, trials) = (capabilities::all(), trials());
    lines.push(punctual_probe::recorder::counter_sampling());
    let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).chain(trials.iter().map(Trial::name)).collect();
    if let Some(unknown) = wanted.iter().find(|wanted| !names.contains(&wanted.as_str())) {
        let meant = did_you_mean(nearest(unknown, &names).as_deref());
        return Err(Usage(format!("there is no row `{unknown}`{meant}: give one of {}", names.join(", "))));
    }
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let _types = kernel_types::keep();
    let tried = trials.iter().filter(|trial| is_wanted(trial.name())).map(Trial::capability);
    Ok(lines.into_iter().filter(|line| is_wanted(&line.name)).chain(tried).collect())
}

/// Every trial that loads BPF programs.
pub(crate) fn trials() -> Vec<Trial> {
    punctual_probe::trials().into_iter().chain(punctual_context::trials()).collect()
}
