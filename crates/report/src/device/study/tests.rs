//! What is said of a study.

use super::*;
use crate::encode::plain_page::tests::assert_well_formed;
use crate::verdict::device::study::study_verdict;
use punctual_recording::{ActivationDocument, EndReason};
use std::path::Path;

#[test]
fn a_page_of_a_study_that_could_not_be_is_well_formed_and_says_so() {
    let profile = punctual_device::Catalogue::shipped().find("v90").unwrap();
    let row = Row {
        group: "contexts",
        context: "softirq".to_owned(),
        competitor: Some("spin:normal".to_owned()),
        paper: Some("the paper's <words>"),
        paper_works: Some(true),
        predicted: Some(true),
        holds: None,
        off: None,
        run: Err("PREEMPT_RT kernels refuse bpf_timer"),
    };
    let study = StudyReport {
        profile,
        asked: Some("modem"),
        rows: vec![row],
        lowest_sufficient: None,
        least_intrusive: None,
        interrupted: false,
    };
    assert_eq!(study.scaling(), None);
    let html = html(&study, &[]);
    assert_well_formed(&html);
    assert!(html.contains("unavailable here: PREEMPT_RT") && !html.contains("<words>"));
    assert!(html.contains("context</th><th scope=\"col\">here</th><th scope=\"col\">competitor</th>"), "{html}");
    assert!(text(&study).contains("unavailable: PREEMPT_RT"));
    let answer = crate::answer::value(&crate::device::StudyAnswer::new(&study, &[]));
    assert_eq!(answer["contexts"][0]["unavailable"], "PREEMPT_RT kernels refuse bpf_timer");
    assert!(study_verdict(&study).contains("No context could be tried"));
    assert!(study_verdict(&study).contains(" stands for modem here"));
    let cut = study_verdict(&StudyReport { interrupted: true, least_intrusive: Some("irq"), ..study });
    assert!(
        cut.contains("nothing is concluded") && cut.contains("No context was tried.") && !cut.contains("least"),
        "{cut}"
    );
}

/// A study of one run beside a spinning thread.
pub(crate) fn study_of<'a>(run: Result<Run<'a>, &'a str>, holds: Option<bool>) -> StudyReport<'a> {
    let row = Row {
        group: "contexts",
        context: "irq".to_owned(),
        competitor: Some("spin:normal".to_owned()),
        paper: None,
        paper_works: Some(true),
        predicted: Some(true),
        holds,
        off: None,
        run,
    };
    StudyReport {
        profile: punctual_device::Catalogue::shipped().find("v90").unwrap(),
        asked: None,
        rows: vec![row],
        lowest_sufficient: None,
        least_intrusive: None,
        interrupted: false,
    }
}

#[test]
fn runs_whose_work_took_another_time_than_was_asked_for_are_told() {
    let document = crate::device::run::tests::document();
    let mut device = DeviceSummary { passes: 800, compute_ns: 1_840_000, ..DeviceSummary::default() };
    (0..20).for_each(|_| device.executed.record(1_000_000));
    let activations = ActivationDocument { devices: vec![device], ..ActivationDocument::default() };
    let run = Run { path: Path::new("a"), document: &document, activations: &activations };
    let study = study_of(Ok(run), Some(true));
    let said = study_verdict(&study);
    assert!(said.contains("runs that differ this much cannot be compared"), "{said}");
    let shown = text(&study);
    assert!(shown.contains("more or less than the 1.84 ms asked for in irq beside spin:normal (1.00 ms)"), "{shown}");
    // Each heading says by itself what it is of.
    for heading in ["work p50", "elapsed max", "bystander max"] {
        assert!(shown.contains(heading), "{heading}: {shown}");
    }
}

#[test]
fn the_load_beside_the_runs_is_said_and_so_is_that_none_was_added_or_that_it_failed() {
    let mut document = crate::device::run::tests::document();
    let device = DeviceSummary { context: "irq".to_owned(), arrived: 800, processed: 800, ..DeviceSummary::default() };
    let activations = ActivationDocument { devices: vec![device], ..ActivationDocument::default() };
    let said = |document: &punctual_recording::Document| {
        let run = Run { path: Path::new("a"), document, activations: &activations };
        let study = StudyReport { least_intrusive: Some("irq"), ..study_of(Ok(run), Some(true)) };
        (text(&study), html(&study, &[]))
    };
    let (idle, page) = said(&document);
    let none = "No load was added: what ran beside the device is whatever else this machine was doing.";
    assert!(idle.contains(none) && page.contains(none), "{idle}");
    assert!(idle.contains("; no load added)") && !idle.contains("load failed"), "{idle}");
    document.provenance.load.name = "make -j2 <all>".to_owned();
    document.provenance.load.failure = Some("`make` ended with code 2".to_owned());
    let (loaded, page) = said(&document);
    assert!(loaded.contains("The load make -j2 <all> ran beside every run."), "{loaded}");
    assert!(page.contains("The load make -j2 &lt;all&gt; ran beside every run.") && !page.contains(none), "{page}");
    assert!(loaded.contains("; under make -j2 <all>)"), "{loaded}");
    let note =
        "note: irq beside spin:normal: the load failed, so this was not measured under it: `make` ended with code 2\n";
    assert!(loaded.contains(note), "{loaded}");
    // Nothing ran, so that nothing is known of what ran beside it.
    assert!(!text(&study_of(Err("refused"), None)).contains("load was added"));
}

#[test]
fn a_reservation_that_the_kernel_stopped_serving_is_told_with_its_run() {
    let mut document = crate::device::run::tests::document();
    let activations = ActivationDocument { devices: vec![DeviceSummary::default()], ..ActivationDocument::default() };
    let said = |document: &punctual_recording::Document| {
        let run = Run { path: Path::new("a"), document, activations: &activations };
        text(&study_of(Ok(run), Some(true)))
    };
    assert!(!said(&document).contains("stopped serving"));
    let note = format!("sdr: {}; it was given back", punctual_recording::NOT_SERVED);
    document.provenance.fallbacks.push(note);
    let told = said(&document);
    let expected =
        "note: irq beside spin:normal: the kernel stopped serving this thread's reservation; it was given back";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn a_column_of_the_page_without_a_value_is_left_out() {
    let document = crate::device::run::tests::document();
    let activations = ActivationDocument { devices: vec![DeviceSummary::default()], ..ActivationDocument::default() };
    let run = Run { path: Path::new("a"), document: &document, activations: &activations };
    let heading = |name: &str| format!("<th scope=\"col\">{name}</th>");
    let mut study = study_of(Ok(run), Some(true));
    let page = html(&study, &[]);
    assert!(page.contains(&heading("paper")) && page.contains(&heading("here")), "{page}");
    study.rows[0].paper_works = None;
    let page = html(&study, &[]);
    assert!(!page.contains(&heading("paper")) && page.contains(&heading("here")), "{page}");
}

#[test]
fn only_a_run_that_was_ended_early_is_said_to_be_cut() {
    let mut document = crate::device::run::tests::document();
    let activations = ActivationDocument::default();
    let mut said = |reason: EndReason| {
        document.ended.as_mut().expect("it ended").reason = reason;
        let run = Run { path: Path::new("a"), document: &document, activations: &activations };
        study_verdict(&StudyReport { interrupted: true, ..study_of(Ok(run), None) })
    };
    let cut = said(EndReason::Interrupted);
    assert!(cut.contains("ended early, after 1 run, of which the last was cut: nothing"), "{cut}");
    let whole = said(EndReason::Completed);
    assert!(whole.contains("ended early, after 1 run: nothing is concluded for v90"), "{whole}");
}

#[test]
fn a_run_that_report_does_not_judge_is_not_judged_here_either() {
    let document = crate::device::run::tests::document();
    let limited = DeviceSummary {
        context: "irq".to_owned(),
        buffers: 32,
        arrived: 2_590,
        processed: 2_541,
        refused: 49,
        underruns: 49,
        underruns_outside: 1,
        ..DeviceSummary::default()
    };
    let activations = ActivationDocument { devices: vec![limited], ..ActivationDocument::default() };
    let run = Run { path: Path::new("a"), document: &document, activations: &activations };
    let study = study_of(Ok(run), None);
    let why = "irq beside spin:normal is not judged: punctual itself kept 49 blocks from it";
    let shown = text(&study);
    assert!(shown.contains(&format!("\nnote: {why}")) && !shown.contains("  kept up  holds  holds"), "{shown}");
    let page = html(&study, &[]);
    assert!(page.contains(why));
    let scaled = "The paper's verdicts are of its own modem";
    assert!(shown.contains(scaled) && page.contains(scaled), "{shown}");
    let said = study_verdict(&study);
    assert!(said.starts_with("In no context that was judged does v90 hold "), "{said}");
    assert!(said.contains("Not judged, because punctual itself kept blocks from the device"), "{said}");
    assert!(!said.contains("work took"), "{said}");
    // The same run, judged: no note.
    let judged = text(&study_of(Ok(run), Some(true)));
    assert!(!judged.contains("note:") && judged.contains("  kept up  holds  holds"), "{judged}");
}
