//! What to do after the answer of `punctual why`.

use super::advice::Advice;
use super::model::{EpisodeView, WhyReport};
use super::{advice, apart, explain, void, without_host};
use crate::NextStep;
use punctual_blame::Kind;

/// One thread alone, if it was late for another reason than most; a higher threshold, if most was what every wakeup takes; and what
/// would change the leading causes, each with the command that prints its page. Last what leaves less out, if that was much; first, if
/// that was most, because advice then rests on a small part. At most two.
pub(super) fn next(report: &WhyReport<'_>) -> Vec<NextStep> {
    let mut steps: Vec<NextStep> = apart::step(report).into_iter().collect();
    let is_ordinary = report.leading().is_some_and(|(kind, ..)| kind == Kind::KernelWake);
    // Above a higher threshold less is left out, too.
    let above_ordinary = report.above_ordinary.as_ref().filter(|_| is_ordinary);
    steps.extend(above_ordinary.cloned());
    for advice in advice::leading(report) {
        add(&mut steps, report, advice);
    }
    if report.lacks_evidence() {
        steps.extend_from_slice(&report.without_evidence);
    } else if let Some(step) = leaving_out_less(report).filter(|_| above_ordinary.is_none()) {
        steps.truncate(advice::MAX_SHOWN - 1);
        let place = if report.leaves_out_most() { 0 } else { steps.len() };
        steps.insert(place, step.clone());
    }
    steps.truncate(advice::MAX_SHOWN);
    steps
}

/// What would change the largest parts of one episode, each with the command that prints its page, at most two; where its evidence has
/// a hole, what comes next after all of them.
pub(super) fn of_episode(report: &WhyReport<'_>, episode: &EpisodeView) -> Vec<NextStep> {
    if episode.void.is_some() {
        return next(report);
    }
    let late_ns = u128::from(episode.total_ns.saturating_sub(episode.idle_ns()));
    let mut steps = Vec::new();
    for part in &episode.split.parts {
        if part.kind == Kind::Idle || u128::from(part.ns) * 100 < late_ns * advice::WORTH_A_CHANGE {
            continue;
        }
        let cause = report.causes().iter().find(|cause| cause.kind == part.kind && cause.who == part.who);
        let advice = cause.map(|cause| Advice::in_report(report, cause));
        if let Some(advice) = advice.filter(|advice| advice.remedy.is_some()) {
            add(&mut steps, report, advice);
        }
    }
    steps.truncate(advice::MAX_SHOWN);
    steps
}

/// Adds what would change a cause, unless its page is named already: two kinds may come down to the same at the end of a chain.
fn add(steps: &mut Vec<NextStep>, report: &WhyReport<'_>, advice: Advice) {
    let command = explain::command(advice.kind);
    if steps.iter().any(|step| step.command == command) {
        return;
    }
    let mut action = format!("{} {}", advice.happened, advice.remedy.unwrap_or_default());
    if advice.kind == Kind::Steal {
        action.extend(without_host::sentence(report).map(|sentence| format!(" {sentence}")));
    }
    steps.push(NextStep::to_change(action, explain::PURPOSE, command));
}

/// What leaves out less of what was late than this recording, if that was much: by what most of it was left out for.
fn leaving_out_less<'a>(report: &'a WhyReport<'_>) -> Option<&'a NextStep> {
    if !report.leaves_out_much() {
        return None;
    }
    let [void, without, _] = report.left_out_counts();
    let is_overwritten = report.episodes.iter().filter_map(|episode| episode.void.as_deref()).any(void::is_overwritten);
    let fewer_void = report.fewer_void.as_ref().filter(|_| is_overwritten && void > without);
    fewer_void.or(report.more_kept.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::EpisodeView;
    use crate::why::tests::of_parts;
    use punctual_recording::RecorderSummary;
    use std::path::Path;

    #[test]
    fn where_most_was_the_ordinary_path_a_higher_threshold_comes_first() {
        let told = |parts: &[(Kind, &str, u64)], above: Option<&str>| {
            let mut report = WhyReport::new(Path::new("x"), 0, None, vec![of_parts(parts)], false, None, &[]);
            report.above_ordinary = above.map(|command| NextStep::new("leaves these out", command.to_owned()));
            next(&report).into_iter().map(|step| step.command).collect::<Vec<_>>()
        };
        let ordinary = [(Kind::KernelWake, "switch", 60), (Kind::Irq, "nic", 25), (Kind::Blind, "x", 15)];
        let (record, irq, blind) = ("record --why 2ms", "punctual why --explain irq", "punctual why --explain blind");
        assert_eq!(told(&ordinary, Some(record)), [record, irq]);
        assert_eq!(told(&ordinary, None), [irq, blind]);
        let handler = [(Kind::KernelWake, "switch", 30), (Kind::Irq, "nic", 70)];
        assert_eq!(told(&handler, Some(record)), [irq]);
    }

    #[test]
    fn an_episode_ends_with_what_would_change_its_own_largest_parts() {
        let usual = || of_parts(&[(Kind::Irq, "nic", 90), (Kind::Softirq, "net_rx", 10)]);
        let single = of_parts(&[(Kind::Lock, "flusher", 60), (Kind::KernelWake, "switch", 35), (Kind::Irq, "nic", 5)]);
        let void = EpisodeView { void: Some("overwritten".to_owned()), ..of_parts(&[]) };
        let views = vec![usual(), usual(), single, void];
        let report = WhyReport::new(Path::new("x"), 0, None, views, false, None, &[]);
        let told = |index: usize| {
            let steps = of_episode(&report, &report.episodes[index]);
            steps.into_iter().map(|step| step.command).collect::<Vec<_>>()
        };
        assert_eq!(told(0), ["punctual why --explain irq", "punctual why --explain softirq"]);
        // Nothing would change the ordinary path, and little the 5 % of an interrupt.
        assert_eq!(told(2), ["punctual why --explain lock"]);
        assert_eq!(of_episode(&report, &report.episodes[3]), next(&report));
    }

    #[test]
    fn where_much_is_left_out_the_last_step_leaves_out_less_and_the_first_where_that_is_most() {
        let told = |whole: usize, void: &[u64], without: u64| {
            let mut episodes: Vec<EpisodeView> =
                (0..whole).map(|_| of_parts(&[(Kind::Lock, "flusher", 100)])).collect();
            episodes.extend(void.iter().map(|&total_ns| {
                let reason = "CPU 1: the ring was overwritten before it was saved".to_owned();
                EpisodeView { total_ns, void: Some(reason), ..of_parts(&[]) }
            }));
            let kept = episodes.len() as u64;
            let recorder = RecorderSummary { late: kept + without, kept, ..RecorderSummary::default() };
            let mut report = WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]);
            report.fewer_void = Some(NextStep::new("loses less", "lower rate".to_owned()));
            report.more_kept = Some(NextStep::new("keeps more", "higher threshold".to_owned()));
            next(&report).into_iter().map(|step| step.command).collect::<Vec<_>>()
        };
        let (rate, threshold, lock) = ("lower rate", "higher threshold", "punctual why --explain lock");
        assert_eq!(told(30, &[], 0), [lock]);
        assert_eq!(told(30, &[90_000_000; 2], 1), [lock]);
        assert_eq!(told(30, &[90_000_000; 4], 1), [lock, rate]);
        assert_eq!(told(30, &[90_000_000; 4], 20), [lock, threshold]);
        assert_eq!(told(30, &[90_000_000; 4], 40), [threshold, lock]);
        // A single one, and the longest that was seen.
        assert_eq!(told(30, &[503_000_000], 0), [lock, rate]);
        // Few, which have most of the time.
        assert_eq!(told(30, &[1_600_000_000; 2], 0), [rate, lock]);
    }
}
