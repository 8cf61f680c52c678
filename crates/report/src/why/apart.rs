//! Whether one thread was late for another reason than all threads together, which a report on all of them hides.

use super::advice::WORTH_A_CHANGE;
use super::model::{ALWAYS_SHOWN, EpisodeView, WhyReport};
use crate::NextStep;
use crate::layout::{as_percent, shell_word};
use punctual_blame::{Kind, Summary, summarize};
use punctual_recording::{format_ns, printable, printable_path};
use std::collections::BTreeMap;

/// The step that asks about a single thread: the one that was late longest for another reason than the first sentence
/// names.
pub(super) fn step(report: &WhyReport<'_>) -> Option<NextStep> {
    if report.only.is_some() {
        return None;
    }
    let (all, ..) = report.leading()?;
    let mut threads: BTreeMap<&str, Vec<&EpisodeView>> = BTreeMap::new();
    for episode in report.episodes.iter().filter(|episode| episode.void.is_none()) {
        threads.entry(&episode.victim.name).or_default().push(episode);
    }
    // A name that consists of digits would be taken for a number.
    threads.retain(|name, _| !name.bytes().all(|byte| byte.is_ascii_digit()));
    let of = |(name, episodes): (&str, Vec<&EpisodeView>)| {
        let summary = summarize(episodes.iter().map(|episode| (episode.id, &episode.split)));
        let (kind, ns) = leading(&summary)?;
        let late_ns = summary.late_ns.saturating_sub(of_kind(&summary, Kind::Idle));
        let is_worth = u128::from(late_ns) * 100 >= u128::from(report.late_ns()) * WORTH_A_CHANGE;
        let differs = kind != all && !ALWAYS_SHOWN.contains(&kind) && ns >= late_ns / 2;
        (is_worth && differs).then(|| (late_ns, ns, kind, name.to_owned()))
    };
    let (late_ns, ns, kind, name) = threads.into_iter().filter_map(of).max_by_key(|found| found.0)?;
    let lateness = if report.of_responses() { "" } else { " of lateness" };
    let purpose = format!(
        "is about that thread alone, which was late for another reason than most: {} of its {}{lateness} was {}",
        as_percent(ns, late_ns),
        format_ns(late_ns),
        kind.plural()
    );
    let recording = shell_word(&printable_path(report.recording));
    let command = format!("punctual why {recording} --thread {}", shell_word(&printable(&name)));
    Some(NextStep::new(&purpose, command))
}

/// The kind with the most time, and how much, ns; what a thread does itself makes nobody late but itself.
fn leading(summary: &Summary) -> Option<(Kind, u64)> {
    let of = |kind: Kind| of_kind(summary, kind);
    let kinds = Kind::ALL.iter().filter(|kind| !matches!(kind, Kind::Own | Kind::Idle)).map(|&kind| (kind, of(kind)));
    kinds.filter(|(_, ns)| *ns > 0).max_by_key(|(_, ns)| *ns)
}

fn of_kind(summary: &Summary, kind: Kind) -> u64 {
    let causes = summary.causes.iter().filter(|cause| cause.kind == kind);
    causes.fold(0, |sum: u64, cause| sum.saturating_add(cause.total_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::tests::part;
    use punctual_blame::{Room, Split};
    use punctual_recording::Episode;
    use std::path::Path;

    fn late(name: &str, kind: Kind, ns: u64) -> EpisodeView {
        let line = r#"{"id":1,"victim":{"tid":7,"name":"late","priority":19,"cpu":0},"expected_ns":1000,"total_ns":500,
            "threshold_ns":100,"void":null}"#;
        let episode: Episode = serde_json::from_str(line).unwrap();
        let mut view = EpisodeView::new(&episode, &mut Room::of(1 << 20));
        view.victim.name = name.to_owned();
        view.split = Split { parts: vec![part(kind, "other".into(), ns)], pieces: Vec::new() };
        view
    }

    #[test]
    fn a_thread_that_was_late_for_another_reason_is_asked_about_alone() {
        let told = |episodes: Vec<EpisodeView>| {
            let report = WhyReport::new(Path::new("e.punctual"), 0, None, episodes, false, None, &[]);
            step(&report).map(|step| step.to_string())
        };
        let ui = || late("audio-ui", Kind::SamePriority, 300_000_000);
        let said = told(vec![ui(), late("audio-engine", Kind::Lock, 265_000_000)]).unwrap();
        assert!(
            said.starts_with("next: `punctual why e.punctual --thread audio-engine` is about that thread"),
            "{said}"
        );
        assert!(said.ends_with(": 100.0 % of its 265 ms of lateness was locks"), "{said}");
        // Time without a request is none of its lateness.
        let mut served = late("audio-engine", Kind::Lock, 265_000_000);
        served.split.parts.append(&mut late("audio-engine", Kind::Idle, 900_000_000).split.parts);
        let said = told(vec![ui(), served]).unwrap();
        assert!(said.ends_with(": 100.0 % of its 265 ms of lateness was locks"), "{said}");
        // Not one that is late for the same reason, nor for so short a time that it hides nothing, nor if there is no
        // other.
        assert_eq!(told(vec![ui(), late("audio-engine", Kind::SamePriority, 265_000_000)]), None);
        assert_eq!(told(vec![ui(), late("audio-engine", Kind::Lock, 20_000_000)]), None);
        assert_eq!(told(vec![ui()]), None);
    }
}
