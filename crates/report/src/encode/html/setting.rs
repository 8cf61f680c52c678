//! Where recordings come from, as a table: one column per recording, with differences marked.

use crate::encode::html::table::{Column, Table, Value};
use crate::layout::{day, load_words, spoken_duration};
use punctual_recording::{Document, Setting, format_ns};

fn or_unknown(value: Option<&String>) -> String {
    value.cloned().unwrap_or_else(|| "–".to_owned())
}

fn yes(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

/// When a recording began; `None` if its clock's offset is not known.
pub(crate) fn began(document: &Document) -> Option<String> {
    day(document.provenance.started_ns, document.provenance.monotonic_to_unix_ns)
}

/// The line above a page's heading: the command, and where and when the first of its recordings was made.
pub(crate) fn context(command: &str, first: Option<&Document>) -> String {
    let host = first.and_then(|document| document.provenance.host.name.clone());
    let parts = [Some(command.to_owned()), host, first.and_then(began)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn rows_of(document: &Document) -> Vec<(String, String)> {
    let provenance = &document.provenance;
    let (host, configuration) = (&provenance.host, &provenance.configuration);
    let number = |value: Option<u32>| value.map_or_else(|| "–".to_owned(), |value| value.to_string());
    let commands: Vec<String> = provenance.load.commands.iter().map(|words| words.join(" ")).collect();
    let cpus: Vec<String> = configuration.cpus.iter().map(u32::to_string).collect();
    let rows = [
        ("began", began(document).unwrap_or_else(|| "–".to_owned())),
        ("measured for", spoken_duration(document)),
        (
            "ended",
            document.ended.as_ref().map_or_else(
                || "cut short".to_owned(),
                |ended| {
                    let reason = serde_json::to_value(ended.reason).ok();
                    reason.as_ref().and_then(|reason| reason.as_str()).unwrap_or_default().replace('_', " ")
                },
            ),
        ),
        ("command that was followed", document.followed_command().unwrap_or("–").to_owned()),
        ("load", load_words(document.load_beside()).to_owned()),
        ("load commands", if commands.is_empty() { "–".to_owned() } else { commands.join("; ") }),
        ("period", if configuration.interval_ns == 0 { "–".to_owned() } else { format_ns(configuration.interval_ns) }),
        (
            "policy",
            format!(
                "{} {}",
                configuration.policy,
                configuration.priorities.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
            ),
        ),
        ("CPUs measured", cpus.join(", ")),
        ("woken by", configuration.via.clone()),
        ("followed in the kernel", yes(configuration.bpf)),
        ("kept from deep idle", yes(configuration.power_request)),
        ("memory locked", yes(configuration.memory_locked)),
        ("host", or_unknown(host.name.as_ref())),
        ("kernel", or_unknown(host.kernel_release.as_ref())),
        ("preemption", or_unknown(host.preemption.as_ref())),
        ("processor", or_unknown(host.cpu_model.as_ref())),
        ("CPUs on line", number(host.cpus_online)),
        ("clock source", or_unknown(host.clock_source.as_ref())),
        ("virtualization", or_unknown(host.virtualization.as_ref())),
        ("command", provenance.command_line.join(" ")),
        ("punctual", provenance.punctual_version.clone()),
        ("run", provenance.run_id.clone()),
    ];
    let mut rows: Vec<(String, String)> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    rows.extend(provenance.tuning.iter().map(|(name, value)| {
        let value = match value {
            Setting::Number(number) => number.to_string(),
            Setting::Text(text) => text.clone(),
        };
        (name.clone(), value)
    }));
    rows
}

/// The table; the second value says how many lines differ.
pub(crate) fn provenance(parts: &[(String, &Document)]) -> (Table, usize) {
    let each: Vec<Vec<(String, String)>> = parts.iter().map(|(_, document)| rows_of(document)).collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in each.iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut differing = 0;
    let mut rows = Vec::new();
    for name in names {
        let values: Vec<&str> = each
            .iter()
            .map(|rows| rows.iter().find(|(other, _)| other == name).map_or("–", |(_, value)| value.as_str()))
            .collect();
        let same = values.windows(2).all(|pair| pair[0] == pair[1]);
        // Times and names of runs always differ and say nothing.
        let expected = matches!(name.as_str(), "began" | "run" | "measured for" | "command");
        differing += usize::from(!same && !expected);
        let mut row = vec![Value::text(name.replace('_', " "))];
        row.extend(
            values.into_iter().map(
                |value| {
                    if same || expected { Value::text(value) } else { Value::Marked(value.to_owned()) }
                },
            ),
        );
        rows.push(row);
    }
    let mut columns = vec![Column::words("what")];
    columns.extend(parts.iter().map(|(name, _)| Column::words(name.clone())));
    (Table { caption: "Where the numbers come from".to_owned(), columns, rows }, differing)
}
