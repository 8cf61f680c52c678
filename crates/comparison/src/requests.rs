//! How long the requests of a side took, late or not. It decides nothing.

use punctual_recording::{Document, RequestTimes, Stage};

/// The requests of all runs of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SideRequests {
    /// How many were recognised.
    pub recognised: u64,
    /// How many of them were beyond the threshold.
    pub late: u64,
    /// How many of them may include a wait for the next one.
    pub unsure: u64,
    /// The median, ns: the geometric mean of the runs'; `None` if a run recognised none.
    pub p50_ns: Option<u64>,
    /// The 99th percentile in the same way, ns; `None` also if a run recognised fewer than a hundred.
    pub p99_ns: Option<u64>,
    /// The longest, ns.
    pub max_ns: Option<u64>,
}

impl SideRequests {
    /// Of these runs; `None` if there is none, or if one of them was not made for requests or did not count them.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Document>) -> Option<SideRequests> {
        let mut all = SideRequests { recognised: 0, late: 0, unsure: 0, p50_ns: None, p99_ns: None, max_ns: None };
        let mut times: Vec<Option<RequestTimes>> = Vec::new();
        for run in runs {
            let recorder = run.recorder.as_ref().filter(|recorder| recorder.stage == Stage::Request)?;
            let recognised = recorder.requests?;
            all.recognised = all.recognised.saturating_add(recognised);
            all.late = all.late.saturating_add(recorder.late);
            let sure = recorder.request_times.map_or(0, |times| times.sure);
            all.unsure = all.unsure.saturating_add(recognised.saturating_sub(sure));
            times.push(recorder.request_times);
        }
        let figure = |of: fn(&RequestTimes) -> Option<u64>| {
            let values: Option<Vec<u64>> = times.iter().map(|times| of(times.as_ref()?)).collect();
            geometric_mean(&values?)
        };
        all.p50_ns = figure(|times| Some(times.p50_ns));
        all.p99_ns = figure(|times| times.p99_ns);
        all.max_ns = times.iter().flatten().map(|times| times.max_ns).max();
        (!times.is_empty()).then_some(all)
    }
}

/// `None` of nothing.
fn geometric_mean(values: &[u64]) -> Option<u64> {
    let sum: f64 = values.iter().map(|value| (*value).max(1) as f64).map(f64::ln).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp().round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::RecorderSummary;

    /// A run with this many requests, of which one is late, and these times, ns.
    fn run(requests: u64, times: Option<(u64, Option<u64>, u64)>) -> Document {
        let mut document = crate::counts::tests::document();
        let request_times = times.map(|(p50_ns, p99_ns, max_ns)| RequestTimes {
            p50_ns,
            p99_ns,
            max_ns,
            sure: requests / 2,
            ..RequestTimes::default()
        });
        let stage = Stage::Request;
        let requests = Some(requests);
        document.recorder =
            Some(RecorderSummary { stage, requests, late: 1, request_times, ..RecorderSummary::default() });
        document
    }

    #[test]
    fn a_side_has_the_mean_of_its_runs_quantiles_and_the_longest_of_all() {
        let runs = [run(1_000, Some((100, Some(1_000), 7_000))), run(600, Some((400, Some(4_000), 5_000)))];
        let all = SideRequests {
            recognised: 1_600,
            late: 2,
            unsure: 800,
            p50_ns: Some(200),
            p99_ns: Some(2_000),
            max_ns: Some(7_000),
        };
        assert_eq!(SideRequests::of(&runs), Some(all));
        // One of them has too few for a p99, or recognised none.
        let few = [runs[0].clone(), run(600, Some((400, None, 5_000)))];
        assert_eq!(SideRequests::of(&few), Some(SideRequests { p99_ns: None, ..all }));
        let none = SideRequests::of(&[runs[0].clone(), run(0, None)]).unwrap();
        assert_eq!((none.p50_ns, none.p99_ns, none.max_ns), (None, None, Some(7_000)));
    }

    #[test]
    fn there_are_none_where_a_run_did_not_ask_for_them() {
        assert_eq!(SideRequests::of(&[] as &[Document]), None);
        let mut other = run(10, None);
        other.recorder = None;
        assert_eq!(SideRequests::of(&[run(10, None), other]), None);
        let mut uncounted = run(10, None);
        uncounted.recorder.iter_mut().for_each(|recorder| recorder.requests = None);
        assert_eq!(SideRequests::of([&uncounted]), None);
    }
}
