//! After a recording without evidence from which a cause could be told.

use super::measurement::{of_stage, same_with, why_above, why_options, why_threshold};
use super::options::as_written;
use super::{NextStep, few};
use crate::layout::shell_word;
use punctual_recording::{Document, RecorderSummary, Stage, grouped, printable};

const SECOND_NS: u64 = 1_000_000_000;
/// More is not proposed, s.
const MAX_SECONDS: u64 = 24 * 3_600;
/// The threshold where nothing tells what is late.
const USUAL_THRESHOLD: &str = "5ms";
/// How many stacks a second and CPU are sampled where nobody said it.
const USUAL_SAMPLE_RATE: u32 = 1_000;
/// The most that `--sample-rate` takes.
const MAX_SAMPLE_RATE: u32 = 10_000;
/// So many times more are enough to see another one.
const MORE: u32 = 4;

/// Where no evidence of anything late was kept whole, or the threshold was never known: a fixed threshold, and a longer
/// recording. Where no request was recognised, the same for how late the threads begin. Loads have the names that the command line knows.
pub fn after_no_evidence(
    document: &Document,
    recorder: Option<&RecorderSummary>,
    known_loads: &[&str],
) -> Vec<NextStep> {
    let Some(recorder) = recorder else { return Vec::new() };
    if recorder.stage == Stage::Request && recorder.requests == Some(0) && recorder.threshold_ns.is_some() {
        let threshold = shell_word(&printable(&recorder.threshold));
        let command = same_with(document, &format!("--why {threshold} --why-stage total"), known_loads);
        let step =
            |command| NextStep::new("keeps evidence of threads that begin late, whatever their requests are", command);
        return few(command.map(step).into_iter().collect());
    }
    let stage = of_stage(recorder.stage);
    let period_ns = document.followed.as_ref().and_then(|followed| followed.period_ns);
    let of_longest = why_threshold(document, Some(recorder), None).is_some_and(|(threshold_ns, stage)| {
        stage == Stage::Response && period_ns.is_some_and(|period_ns| threshold_ns > period_ns)
    });
    let purpose = match (of_longest, recorder.threshold.starts_with('p')) {
        (true, _) => "keeps evidence of the longest overruns alone: its threshold is beyond the period",
        (false, true) => "keeps evidence from the beginning: its threshold is fixed",
        (false, false) => "keeps evidence above another threshold",
    };
    let (options, purpose) = match why_options(document, Some(recorder), None) {
        Some(options) => (options, purpose),
        None => (
            format!("--why {USUAL_THRESHOLD}{stage}"),
            "keeps evidence from the beginning: put the time that is too long for you in place of 5ms",
        ),
    };
    let fixed = same_with(document, &(options + &duration(document)), known_loads);
    let fixed = fixed.map(|command| NextStep::new(purpose, command));
    let longer = longer_s(recorder).and_then(|seconds| {
        let threshold = shell_word(&printable(&recorder.threshold));
        let command = same_with(document, &format!("-D {seconds}s --why {threshold}{stage}"), known_loads)?;
        Some(NextStep::new("records for longer, with the same threshold", command))
    });
    few(fixed.into_iter().chain(longer).collect())
}

/// Where most of what was late is what every wakeup takes: the same with a threshold above that. Loads have the names that the
/// command line knows; `None` if the threshold or the command is not known, and for a loop that would overrun below that.
pub fn above_ordinary(
    document: &Document,
    recorder: Option<&RecorderSummary>,
    known_loads: &[&str],
) -> Option<NextStep> {
    let recorder = recorder?;
    let words = &document.provenance.command_line;
    let twice_ns = recorder.threshold_ns?.saturating_mul(2);
    let period_ns = document.followed.as_ref().and_then(|followed| followed.period_ns);
    if recorder.stage == Stage::Response && period_ns.is_some_and(|period_ns| twice_ns > period_ns) {
        return None;
    }
    let why = why_above(twice_ns, recorder.stage);
    let command = same_with(document, &(why + &as_written(words, "", "--sample-rate")), known_loads)?;
    let purpose = "leaves out what merely took the ordinary path through the kernel, if twice the threshold will do";
    Some(NextStep::new(purpose, command))
}

/// The command that records the same with more stacks; `None` if there cannot be more, or the kernel refused those asked for.
pub fn more_samples(document: &Document, recorder: Option<&RecorderSummary>, known_loads: &[&str]) -> Option<String> {
    let recorder = recorder.filter(|recorder| !refused_samples(recorder))?;
    let rate = match recorder.sample_rate {
        0 => USUAL_SAMPLE_RATE,
        had => had.saturating_mul(MORE).min(MAX_SAMPLE_RATE),
    };
    (rate > recorder.sample_rate).then(|| same_with(document, &with_rate(document, recorder, rate), known_loads))?
}

/// Whether samples were asked for, and the kernel refused them.
fn refused_samples(recorder: &RecorderSummary) -> bool {
    recorder.sample_rate > 0 && recorder.sample_clock.is_none()
}

/// Where evidence was overwritten before it was saved: the command that records the same with fewer samples; `None` if there
/// were hardly any.
pub fn fewer_void(document: &Document, recorder: Option<&RecorderSummary>, known_loads: &[&str]) -> Option<NextStep> {
    let recorder = recorder.filter(|recorder| !refused_samples(recorder))?;
    let rate = Some(recorder.sample_rate / MORE).filter(|rate| *rate > 0)?;
    let options = with_rate(document, recorder, rate) + &duration(document);
    let purpose =
        "leaves the recorder more time, so that less of the evidence is overwritten before it is saved (void)";
    Some(NextStep::new(purpose, same_with(document, &options, known_loads)?))
}

/// Where much of what was late left no evidence: the command that keeps that of the worst, above a higher threshold; `named_ns` is
/// the one that the answer names already, ns. Loads have the names that the command line knows; `None` if all left some, or the
/// threshold or the command is not known.
pub fn more_kept(
    document: &Document,
    recorder: Option<&RecorderSummary>,
    named_ns: Option<u64>,
    known_loads: &[&str],
) -> Option<NextStep> {
    let recorder = recorder.filter(|recorder| recorder.without_evidence() > 0)?;
    let above = |threshold_ns| why_above(threshold_ns, recorder.stage);
    let of_worst = || if recorder.over_budget > 0 { why_options(document, Some(recorder), None) } else { None };
    let options = match named_ns.map(above).or_else(of_worst) {
        Some(options) => options,
        None => above(recorder.threshold_ns?.saturating_mul(2)),
    };
    let options = options + &as_written(&document.provenance.command_line, "", "--sample-rate") + &duration(document);
    let (without, late) = (grouped(recorder.without_evidence()), grouped(recorder.late));
    let purpose = format!("keeps evidence of the worst: {without} of the {late} that were late left none");
    Some(NextStep::new(&purpose, same_with(document, &options, known_loads)?))
}

/// What a recorder was asked for, with so many stacks a second.
fn with_rate(document: &Document, recorder: &RecorderSummary, rate: u32) -> String {
    let words = &document.provenance.command_line;
    let threshold = Some(as_written(words, "", "--why")).filter(|written| !written.is_empty());
    let threshold = threshold.unwrap_or_else(|| format!(" --why {}", shell_word(&printable(&recorder.threshold))));
    let episodes = as_written(words, "", "--why-episodes");
    format!("{}{} --sample-rate {rate}{episodes}", threshold.trim_start(), of_stage(recorder.stage))
}

/// For how long it was recorded, where somebody said it.
fn duration(document: &Document) -> String {
    as_written(&document.provenance.command_line, "-D", "--duration")
}

/// How long to record to know the quantile for half of the time; otherwise twice as long. In s, `None` if that is too long,
/// or nothing tells.
fn longer_s(recorder: &RecorderSummary) -> Option<u64> {
    let enough = RecorderSummary::MIN_FOR_QUANTILE;
    let twice = u128::from(recorder.armed_ns) * 2;
    let needed = match recorder.requests.filter(|requests| *requests < enough) {
        Some(requests) if recorder.threshold_ns.is_none() => {
            (twice * u128::from(enough)).checked_div(u128::from(requests))?
        }
        _ => twice,
    };
    let seconds = u64::try_from(needed.div_ceil(u128::from(SECOND_NS))).ok()?;
    (1..=MAX_SECONDS).contains(&seconds).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::Followed;

    #[test]
    fn a_fixed_threshold_and_a_longer_recording_are_proposed() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let document = serde_json::from_str::<Document>(text).unwrap();
        let told = |recorder: &RecorderSummary| -> Vec<String> {
            after_no_evidence(&document, Some(recorder), &[]).into_iter().map(|step| step.to_string()).collect()
        };
        let few = RecorderSummary {
            threshold: "p99".into(),
            stage: Stage::Request,
            requests: Some(800),
            armed_ns: 60 * SECOND_NS,
            ..RecorderSummary::default()
        };
        let steps = told(&few);
        assert_eq!(steps.len(), 2, "{steps:?}");
        assert!(steps[0].starts_with("next: `sudo punctual record --why ") && !steps[0].contains("p99"), "{steps:?}");
        assert!(steps[1].starts_with("next: `sudo punctual record -D 150s --why p99 --why-stage request"), "{steps:?}");
        assert!(steps.iter().all(|step| step.contains(" --why-stage request ")), "{steps:?}");
        assert!(steps[0].contains(" -D 1s --comm "), "{steps:?}");
        // Nothing tells what is late: a time that can be pasted, for as long as it was recorded.
        let mut unmeasured = document.clone();
        unmeasured.distributions = punctual_recording::Distributions::default();
        let step = after_no_evidence(&unmeasured, Some(&few), &[])[0].to_string();
        assert!(
            step.starts_with("next: `sudo punctual record --why 5ms --why-stage request -D 1s --comm ")
                && step.ends_with(" in place of 5ms"),
            "{step}"
        );
        // Nothing tells how long it would take.
        assert_eq!(told(&RecorderSummary { requests: Some(0), ..few.clone() }).len(), 1);
        assert!(after_no_evidence(&document, None, &[]).is_empty());
        // Whatever else is tried, no request was recognised.
        let none = told(&RecorderSummary {
            threshold: "15ms".into(),
            threshold_ns: Some(15_000_000),
            requests: Some(0),
            ..few
        });
        assert_eq!(none.len(), 1, "{none:?}");
        assert!(none[0].starts_with("next: `sudo punctual record --why 15ms --why-stage total --comm "), "{none:?}");
    }

    #[test]
    fn a_threshold_beyond_the_period_of_a_loop_is_said_to_leave_overruns_out() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let mut document = serde_json::from_str::<Document>(text).unwrap();
        let recorder = RecorderSummary {
            threshold: "1us".into(),
            threshold_ns: Some(1_000),
            stage: Stage::Response,
            late: 9,
            over_budget: 5,
            ..RecorderSummary::default()
        };
        let purpose = |document: &Document| after_no_evidence(document, Some(&recorder), &[]).remove(0).purpose;
        assert_eq!(purpose(&document), "keeps evidence above another threshold");
        document.followed.as_mut().unwrap().period_ns = Some(1_000);
        let said = purpose(&document);
        assert!(said.starts_with("keeps evidence of the longest overruns alone"), "{said}");
    }

    #[test]
    fn the_same_is_recorded_again_with_one_option_changed() {
        let text = include_str!("../../../cli/tests/golden/why.punctual/recording.json");
        let document = serde_json::from_str::<Document>(text).unwrap();
        let recorder = |sample_rate| RecorderSummary {
            threshold: "60us".into(),
            threshold_ns: Some(60_000),
            sample_rate,
            sample_clock: Some("cpu-clock".into()),
            ..RecorderSummary::default()
        };
        let higher = above_ordinary(&document, Some(&recorder(200)), &[]).unwrap();
        let own = "-i 10ms -a 1";
        assert_eq!(higher.command, format!("sudo punctual record --why 120us --sample-rate 200 {own}"));
        let more = |rate| more_samples(&document, Some(&recorder(rate)), &[]);
        for (had, next) in [(0, 1_000), (200, 800), (1_000, 4_000), (4_000, 10_000)] {
            let expected = format!("sudo punctual record --why 60us --sample-rate {next} --why-episodes 2 {own}");
            assert_eq!(more(had), Some(expected), "{had}");
        }
        assert_eq!(more(10_000), None);
        let fewer = |rate| fewer_void(&document, Some(&recorder(rate)), &[]).map(|step| step.command);
        let expected = format!("sudo punctual record --why 60us --sample-rate 250 --why-episodes 2 -D 1s {own}");
        assert_eq!(fewer(1_000), Some(expected));
        assert_eq!(fewer(3), None);
        let refused = RecorderSummary { sample_clock: None, ..recorder(1_000) };
        assert_eq!(more_samples(&document, Some(&refused), &[]), None);
        assert_eq!(fewer_void(&document, Some(&refused), &[]).map(|step| step.command), None);
        let above = |late, named_ns| {
            let left = RecorderSummary { late, kept: 100, writing_behind: late - 100, ..recorder(200) };
            more_kept(&document, Some(&left), named_ns, &[]).map(|step| step.to_string())
        };
        let kept = |late| above(late, None);
        assert_eq!(
            kept(300).unwrap(),
            format!(
                "next: `sudo punctual record --why 120us --sample-rate 200 -D 1s {own}` keeps evidence of the worst: 200 of the 300 \
                 that were late left none"
            )
        );
        assert_eq!(kept(100), None);
        // The threshold that the answer names is the one of the command.
        let named = above(300, Some(1_500_000)).unwrap();
        assert!(named.starts_with("next: `sudo punctual record --why 1.5ms --sample-rate 200 "), "{named}");
        assert_eq!(above_ordinary(&document, Some(&RecorderSummary::default()), &[]), None);
        // An overrun of a loop is not left out.
        let mut followed = document;
        let of_loop = |period_ns| Followed { period_ns: Some(period_ns), ..Followed::default() };
        let recorder = RecorderSummary { stage: Stage::Response, ..recorder(200) };
        followed.followed = Some(of_loop(119_999));
        assert_eq!(above_ordinary(&followed, Some(&recorder), &[]), None);
        followed.followed = Some(of_loop(120_000));
        let higher = above_ordinary(&followed, Some(&recorder), &[]).unwrap();
        assert!(higher.command.starts_with("sudo punctual record --why 120us --why-stage response "), "{higher}");
    }

    #[test]
    fn where_the_threshold_was_known_twice_as_long_is_long_enough() {
        let known = RecorderSummary {
            threshold_ns: Some(131_000_000),
            requests: Some(700),
            armed_ns: 60 * SECOND_NS,
            ..RecorderSummary::default()
        };
        assert_eq!(longer_s(&known), Some(120));
        assert_eq!(longer_s(&RecorderSummary { armed_ns: 0, ..known.clone() }), None);
        assert_eq!(longer_s(&RecorderSummary { armed_ns: u64::MAX, ..known }), None);
    }
}
