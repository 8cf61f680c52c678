//! What comes with the program: machines and experiments as texts, and the predictions that are known not to hold.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The machines that experiments build on: name and text.
pub const MACHINES: &[(&str, &str)] = &[("soft-modem", include_str!("../../../experiments/machines/soft-modem.toml"))];

/// Predictions that are known not to hold, each with the measured reason.
const CONTRADICTED: &str = include_str!("../../../experiments/contradicted.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contradicted {
    contradicted: Vec<Known>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    rows: Vec<String>,
    because: String,
}

fn known() -> &'static BTreeMap<String, String> {
    static KNOWN: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let list: Contradicted = toml::from_str(CONTRADICTED).unwrap_or(Contradicted { contradicted: Vec::new() });
        let rows = list.contradicted.into_iter();
        rows.flat_map(|known| known.rows.into_iter().map(move |row| (row, known.because.clone()))).collect()
    })
}

/// Why this row is known not to hold, if it is.
pub fn contradicted(row: &str) -> Option<String> {
    known().get(row).cloned()
}

/// Every row that is listed as contradicted.
pub fn all_contradicted() -> impl Iterator<Item = &'static str> {
    known().keys().map(String::as_str)
}

/// The experiments that come with the program: file name and text.
pub const BUILTIN: &[(&str, &str)] = &[
    ("nt-timers-table2.toml", include_str!("../../../experiments/nt-timers-table2.toml")),
    ("nt-timers-table3.toml", include_str!("../../../experiments/nt-timers-table3.toml")),
    ("soft-modem-dialup.toml", include_str!("../../../experiments/soft-modem-dialup.toml")),
    ("soft-modem-callbacks.toml", include_str!("../../../experiments/soft-modem-callbacks.toml")),
    ("soft-modem-rialto.toml", include_str!("../../../experiments/soft-modem-rialto.toml")),
    ("soft-modem-table1.toml", include_str!("../../../experiments/soft-modem-table1.toml")),
    ("soft-modem-table2.toml", include_str!("../../../experiments/soft-modem-table2.toml")),
    ("soft-modem-table3.toml", include_str!("../../../experiments/soft-modem-table3.toml")),
    ("wdm-latency.toml", include_str!("../../../experiments/wdm-latency.toml")),
    ("wdm-rates.toml", include_str!("../../../experiments/wdm-rates.toml")),
    ("interactive.toml", include_str!("../../../experiments/interactive.toml")),
    ("two-modems.toml", include_str!("../../../experiments/two-modems.toml")),
    ("global-edf.toml", include_str!("../../../experiments/global-edf.toml")),
    ("priority-inversion.toml", include_str!("../../../experiments/priority-inversion.toml")),
];
