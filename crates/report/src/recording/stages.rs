//! The stage table.

use crate::layout::{microseconds, table};
use crate::load_name;
use punctual_recording::{Distribution, Document, Stage};
use serde::Serialize;

/// A line of the stage table. Times in ns; `None` if there are too few wakeups to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StageRow {
    /// Whose wakeups: policy and priority.
    pub measure: String,
    /// The stage.
    #[cfg_attr(test, schemars(with = "String"))]
    pub stage: Stage,
    /// The load.
    pub load: String,
    /// The CPU; `None` for all together.
    pub cpu: Option<u32>,
    /// How many wakeups had this stage.
    pub count: u64,
    /// The shortest.
    pub min_ns: Option<u64>,
    /// The mean.
    pub mean_ns: Option<u64>,
    /// Half were at most this.
    pub p50_ns: Option<u64>,
    /// 99 % were at most this.
    pub p99_ns: Option<u64>,
    /// 99.9 % were at most this.
    pub p99_9_ns: Option<u64>,
    /// 99.99 % were at most this.
    pub p99_99_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
}

impl StageRow {
    fn new(measure: &str, stage: Stage, load: &str, cpu: Option<u32>, distribution: &Distribution) -> StageRow {
        // A quantile is given only where at least one wakeup lies beyond it.
        let quantile = |quantile: f64, needed: u64| {
            if distribution.count() >= needed { distribution.quantile(quantile) } else { None }
        };
        StageRow {
            measure: measure.to_owned(),
            stage,
            load: load.to_owned(),
            cpu,
            count: distribution.count(),
            min_ns: distribution.min(),
            mean_ns: distribution.mean(),
            p50_ns: quantile(0.5, 1),
            p99_ns: quantile(0.99, 100),
            p99_9_ns: quantile(0.999, 1_000),
            p99_99_ns: quantile(0.9999, 10_000),
            max_ns: distribution.max(),
        }
    }
}

/// The stage table of a recording: for each measure and stage a line for all CPUs together, then one for each.
pub fn stage_rows(document: &Document) -> Vec<StageRow> {
    let distributions = &document.distributions;
    let load = load_name(document);
    let cpus = distributions.cpus();
    let mut rows = Vec::new();
    for measure in distributions.measures() {
        for stage in Stage::ALL {
            let all = distributions.sum_of(&measure, stage, None);
            if all.count() == 0 {
                continue;
            }
            rows.push(StageRow::new(&measure, stage, load, None, &all));
            for &cpu in &cpus {
                let one = distributions.sum_of(&measure, stage, Some(cpu));
                if one.count() > 0 {
                    rows.push(StageRow::new(&measure, stage, load, Some(cpu), &one));
                }
            }
        }
    }
    rows
}

/// The stage table as text.
pub(crate) fn stage_table<'a>(
    rows: impl Iterator<Item = &'a StageRow>,
    several: bool,
    by_cpu: bool,
    followed: bool,
) -> String {
    let mut header = vec!["stage", "from -> to"];
    if several {
        header.insert(0, "threads");
    }
    if by_cpu {
        header.push("CPU");
    }
    let left = header.len();
    header.extend(["p50", "p99", "p99.9", "p99.99", "max us"]);
    table(
        &header,
        left..header.len(),
        rows.map(|row| {
            let mut cells = vec![row.stage.name().to_owned(), meaning(row.stage, followed).to_owned()];
            if several {
                cells.insert(0, row.measure.clone());
            }
            if by_cpu {
                cells.push(row.cpu.map_or_else(|| "all".to_owned(), |cpu| cpu.to_string()));
            }
            let quantiles = [row.p50_ns, row.p99_ns, row.p99_9_ns, row.p99_99_ns, row.max_ns];
            cells.extend(quantiles.map(microseconds));
            cells
        }),
    )
}

/// What the stage is: a followed thread's chain may begin elsewhere, and ends when it is switched in.
fn meaning(stage: Stage, followed: bool) -> &'static str {
    match stage {
        Stage::Total if followed => "timer, interrupt or waker -> switched in",
        _ => stage.meaning(),
    }
}
