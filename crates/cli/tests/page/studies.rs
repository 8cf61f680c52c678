//! Pages of studies of every shape: what a machine measured, and when somebody ended the study, decides what is on them.

use crate::browser::browser;
use crate::faults::faults_of;
use crate::support::{self, skip};
use punctual_device::Catalogue;
use punctual_recording::{ActivationDocument, DeviceSummary, Distribution, Document};
use punctual_report::device::Run;
use punctual_report::device::study::{Row, StudyReport, html};
use std::path::Path;

const MS: u64 = 1_000_000;

/// One run of a study, or why this machine refused it.
struct Tried {
    group: &'static str,
    context: &'static str,
    competitor: Option<&'static str>,
    outcome: Result<ActivationDocument, &'static str>,
}

/// Values, each with its count.
fn values(values: &[(u64, u64)]) -> Distribution {
    let mut all = Distribution::new();
    for &(value, count) in values {
        all.record_n(value, count);
    }
    all
}

/// A run without the device.
fn control(intervals: &[(u64, u64)]) -> Tried {
    let activations = ActivationDocument {
        bystander: "fifo:95".to_owned(),
        control: "fifo:99".to_owned(),
        bystander_intervals: values(intervals),
        ..ActivationDocument::default()
    };
    Tried { group: "control", context: "none", competitor: None, outcome: Ok(activations) }
}

/// A run in which these blocks were processed, all of them too late if `late`: how long each took, and the samples that
/// were pending afterwards.
fn ran(context: &'static str, intervals: &[(u64, u64)], blocks: &[(u64, u64)], late: bool) -> Tried {
    let processed = blocks.len() as u64;
    let underruns = if late { processed * 1_000 } else { 0 };
    let device = DeviceSummary {
        device: "v90".to_owned(),
        context: context.to_owned(),
        period_ns: 12_500_000,
        buffers: 2,
        arrived: processed + underruns,
        processed,
        underruns,
        underruns_outside: underruns / 2,
        pending_max: blocks.iter().map(|block| block.1).max().unwrap_or(0),
        elapsed: values(&blocks.iter().map(|block| (block.0, 1)).collect::<Vec<_>>()),
        pending: values(&blocks.iter().map(|block| (block.1, 1)).collect::<Vec<_>>()),
        ..DeviceSummary::default()
    };
    let mut tried = control(intervals);
    if let Ok(activations) = &mut tried.outcome {
        activations.devices.push(device);
    }
    Tried { group: "contexts", context, ..tried }
}

/// A study that was ended while it got its last runs ready or had only begun them.
fn cut() -> Vec<Tried> {
    // Each value in a bar of its own: no bar is higher than one.
    let blocks = [(1_810_000, 13), (2_020_000, 25), (2_490_000, 103), (3_330_000, 207)];
    vec![
        control(&[]),
        ran("irq", &[], &[], false),
        Tried { competitor: Some("spin:normal"), ..ran("irq", &[(MS, 1)], &blocks[..1], false) },
        Tried {
            competitor: Some("spin:normal and walk"),
            ..ran("irq", &[(MS, 1), (2 * MS, 1), (9 * MS, 1)], &blocks, false)
        },
    ]
}

/// A study on a machine that keeps everybody from its CPU, and of which each group has something.
fn starved() -> Vec<Tried> {
    let intervals = [(MS, 4_000_000), (40 * MS, 1), (3_000 * MS, 1)];
    let blocks: Vec<(u64, u64)> = (1..200).map(|block| (block * block * MS / 9, block * 17 % 512)).collect();
    let groups = ["contexts", "priorities", "competing", "slots"];
    let runs = groups.into_iter().map(|group| Tried {
        group,
        competitor: Some("spin:fifo:50 and flood"),
        ..ran("reservation:1.9ms/6.25ms", &intervals, &blocks, true)
    });
    [control(&intervals), ran("softirq", &[(40 * MS, 1)], &blocks[150..153], true)].into_iter().chain(runs).collect()
}

/// A study on a machine that refuses everything.
fn refused() -> Vec<Tried> {
    let reason = "this user may not load BPF programs: CAP_BPF, CAP_PERFMON and CAP_SYS_RESOURCE are needed";
    let contexts = ["irq", "softirq", "thread:80", "reservation:3.7ms/12.5ms"];
    contexts
        .into_iter()
        .map(|context| Tried { group: "contexts", context, competitor: None, outcome: Err(reason) })
        .collect()
}

fn page_of(tried: &[Tried], document: &Document, interrupted: bool) -> String {
    let rows = tried.iter().map(|tried| {
        let late = tried.outcome.as_ref().is_ok_and(|run| run.devices.iter().any(|device| device.underruns > 0));
        let run =
            tried.outcome.as_ref().map(|activations| Run { path: Path::new("a.punctual"), document, activations });
        Row {
            group: tried.group,
            context: tried.context.to_owned(),
            competitor: tried.competitor.map(str::to_owned),
            paper: Some("no buffer was late in 30 minutes"),
            paper_works: Some(true),
            predicted: Some(true),
            holds: run.is_ok().then_some(!late),
            off: run.is_ok().then_some(0.1779),
            run: run.map_err(|reason| *reason),
        }
    });
    let study = StudyReport {
        profile: Catalogue::shipped().find("v90").expect("a profile that comes with the program"),
        asked: None,
        rows: rows.collect(),
        lowest_sufficient: None,
        least_intrusive: None,
        interrupted,
    };
    html(&study, &[])
}

/// The page of a study that is measured shows one shape, and which one depends on the machine.
#[test]
fn no_page_of_a_study_has_faults_whatever_was_measured() {
    const NAME: &str = "no_page_of_a_study_has_faults_whatever_was_measured";
    let Some(browser) = browser() else { return skip(NAME, "there is no chromium") };
    let document = std::fs::read(support::golden().join("device.punctual/recording.json")).unwrap();
    let document: Document = serde_json::from_slice(&document).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut pages = Vec::new();
    for (name, tried, interrupted) in
        [("cut", cut(), true), ("starved", starved(), false), ("refused", refused(), false)]
    {
        let page = directory.path().join(format!("study-{name}.html"));
        std::fs::write(&page, page_of(&tried, &document, interrupted)).unwrap();
        pages.push((name, page));
    }
    let faults = faults_of(&browser, &pages);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
