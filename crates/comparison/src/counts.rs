//! How often something happened on either side: cycles of loops that took too long, requests that were slow, underruns of
//! devices.
//!
//! The logarithm of each run's rate is compared as figures of wakeups are ([`logarithms`]), with what the runs show of
//! their spread and what is expected of it; so a run without any event is one with half an event, certain to within a
//! factor of four. The interval also holds that of the exact test given the sum of all counts (Przyborowski and Wilenski
//! 1940), in which events that come in bursts, or vary from run to run, count as so many clusters. Where runs that were measured in
//! turn differ much from one another, the directions of the pairs limit it too ([`pairs`]). Of loops, so do pairs of which one run has an event and the
//! other has none ([`all_or_none`]).
//!
//! A rate is out of what could have been too late. Of requests that is time only where not all were counted: a client that
//! waits for its answers asks more often the faster it gets them. A request of which it is not known how long it took may have
//! been slow; where that is so of most, or none was recognised, there is no rate.

use crate::all_or_none;
use crate::blocks::Run;
use crate::devices::RateRatio;
use crate::events::{EventCount, OfRun, Untold};
use crate::figure::{Estimate, Figure};
use crate::loops;
use crate::pairs;
use crate::ratio::{Demand, WORTH_THE_NAME, logarithms, mean_ln, runs_that_find};
use crate::resample::variance_of_sum;
use crate::standing::Standing;
use crate::student::beta_quantile;
use crate::verdict::Outcome;
use punctual_recording::{Document, RecorderSummary, Stage};

/// The most loops, or devices, that are compared: a program may have any number of threads.
const MAX_LOOPS: usize = 8;
/// How much the rate of rare events must be expected to differ between runs: as the furthest quantile.
const RATE: Figure = Figure { name: "rate", key: "rate", level: 0.5, is_mean: false, needed: 0, between: 0.4 };
/// How many figures of wakeups a rate counts as: the correction for these is what keeps machines that change from run to
/// run from being told from themselves.
const FAMILY: usize = 4;
/// Added to the logarithm of each rate, so that none is as small as nanoseconds that make no difference.
const FAR_ABOVE_NS: f64 = 60.0;
/// Counts that lie further apart than chance takes them, in standard deviations, are not called alike.
const FAR_APART: f64 = 2.0;

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted {
    /// Cycles of the loops of this name that took longer than their period, ns; out of all their cycles.
    Cycles {
        /// The threads' name.
        of: String,
        /// The period, ns.
        period_ns: u64,
    },
    /// Periods of this length, ns, that the loops of this name overran; out of all that the time held.
    Periods {
        /// The threads' name.
        of: String,
        /// The period, ns.
        period_ns: u64,
    },
    /// Requests that took longer than this, ns; out of all requests, or in the time that was watched if a run did not count
    /// these.
    Requests {
        /// The threshold, ns.
        threshold_ns: u64,
    },
    /// Blocks of the device of this name that were processed too late or never; out of all its blocks.
    Underruns {
        /// The device.
        of: String,
    },
}

/// Events of one kind on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct CountComparison {
    /// What was counted.
    pub what: Counted,
    /// How often on A.
    pub a: EventCount,
    /// How often on B.
    pub b: EventCount,
    /// How many times as often on B. No limits if a side counted nothing.
    pub ratio: RateRatio,
    /// What that amounts to.
    pub outcome: Outcome,
    /// How many runs of each side it would take to find a difference of the estimated size four times out of five; `None`
    /// if that is more than [`crate::ratio::MAX_RUNS_NEEDED`], or if a side counted nothing.
    pub runs_needed: Option<usize>,
}

impl CountComparison {
    /// Whether there is a rate on both sides.
    pub fn is_countable(&self) -> bool {
        self.a.exposure > 0 && self.b.exposure > 0
    }

    /// Whether slow requests, or underruns, are further apart than events that are independent of each other would be, and
    /// only too few runs keep that from being a verdict.
    pub fn differs_without_a_verdict(&self, standing: Standing) -> bool {
        let is_asked = matches!(self.what, Counted::Requests { .. } | Counted::Underruns { .. })
            && self.outcome == Outcome::NoDifference;
        if !is_asked || !matches!(standing, Standing::TooFewRuns { .. }) || !self.is_countable() {
            return false;
        }
        let share = self.b.exposure as f64 / (self.a.exposure as f64 + self.b.exposure as f64);
        // How many more B has than its share, in standard deviations. What was not seen may speak for either side.
        let beyond = [(self.a.least, self.b.events), (self.a.events, self.b.least)].map(|(a, b)| {
            let all = a as f64 + b as f64;
            (b as f64 - all * share) / (all * share * (1.0 - share)).sqrt()
        });
        beyond.iter().all(|beyond| *beyond > FAR_APART) || beyond.iter().all(|beyond| *beyond < -FAR_APART)
    }
}

/// The threshold, ns, if slow requests were counted above a fixed one.
pub fn slow_request_ns(document: &Document) -> Option<u64> {
    fixed_threshold_ns(document.recorder.as_ref().filter(|recorder| recorder.stage == Stage::Request)?)
}

/// The threshold, ns, of evidence of what was late, if it was fixed: one that follows the wakeups keeps as many on every machine.
pub(crate) fn fixed_threshold_ns(recorder: &RecorderSummary) -> Option<u64> {
    recorder.threshold_ns.filter(|_| !recorder.threshold.starts_with('p'))
}

/// The names of the loops that are compared, and their period: nothing unless that is the same in all runs.
pub(crate) fn shared_loops<'a>(a: &'a [Run], b: &'a [Run]) -> Option<(u64, Vec<&'a str>)> {
    let period_ns = shared(a, b, |document| document.followed.as_ref()?.period_ns)?;
    let names = loops::names(a).intersection(&loops::names(b)).copied().take(MAX_LOOPS).collect();
    Some((period_ns, names))
}

/// Everything that both sides counted in the same way. The intervals hold together with this probability.
pub(crate) fn counts(a: &[Run], b: &[Run], is_paired: bool, confidence: f64) -> Vec<CountComparison> {
    let mut rows: Vec<(Counted, [Vec<OfRun>; 2])> = Vec::new();
    if let Some((period_ns, names)) = shared_loops(a, b) {
        for name in names {
            let by_period = loops::have_periods(a, name) && loops::have_periods(b, name);
            let count: fn(&Run, &str) -> OfRun = if by_period { loops::periods } else { loops::cycles };
            let of_run = |run: &Run| loops::with_hang(count(run, name), run, name, period_ns);
            let of_runs = |runs: &[Run]| runs.iter().map(of_run).collect();
            let of = name.to_owned();
            let what = if by_period { Counted::Periods { of, period_ns } } else { Counted::Cycles { of, period_ns } };
            rows.push((what, [of_runs(a), of_runs(b)]));
        }
    }
    if let Some(threshold_ns) = shared(a, b, slow_request_ns) {
        let mut recorders = a.iter().chain(b).filter_map(|run| run.document.recorder.as_ref());
        let of_all = recorders.all(|recorder| are_counted(recorder) || untold(recorder).is_some());
        let of = |runs: &[Run]| runs.iter().map(|run| requests(run, of_all)).collect();
        rows.push((Counted::Requests { threshold_ns }, [of(a), of(b)]));
    }
    for device in shared_devices(a, b) {
        let of = |runs: &[Run]| runs.iter().map(|run| underruns(run, device)).collect();
        rows.push((Counted::Underruns { of: device.to_owned() }, [of(a), of(b)]));
    }
    let each = (1.0 - confidence) / rows.len().max(1) as f64;
    rows.into_iter().map(|(what, [a, b])| compare(what, &a, &b, is_paired, each)).collect()
}

/// What all runs of both sides have in common.
fn shared(a: &[Run], b: &[Run], of: impl Fn(&Document) -> Option<u64>) -> Option<u64> {
    let mut values = a.iter().chain(b).map(|run| of(&run.document));
    let first = values.next()??;
    values.all(|other| other == Some(first)).then_some(first)
}

/// The devices that ran in every run of both sides.
pub(crate) fn shared_devices<'a>(a: &'a [Run], b: &'a [Run]) -> Vec<&'a str> {
    let Some(first) = a.first() else { return Vec::new() };
    let is_in = |run: &Run, device: &str| run.served.iter().any(|own| own.device == device);
    let devices = first.served.iter().map(|own| own.device.as_str());
    devices.filter(|device| a.iter().chain(b).all(|run| is_in(run, device))).take(MAX_LOOPS).collect()
}

fn underruns(run: &Run, device: &str) -> OfRun {
    let Some(own) = run.served.iter().find(|own| own.device == device) else { return OfRun::default() };
    let count =
        EventCount { events: own.underruns, least: own.underruns, exposure: own.blocks, ..EventCount::default() };
    OfRun { count, in_time: own.in_time.as_ref().map(|found| found.counts().to_vec()).unwrap_or_default() }
}

/// Whether a run counted its requests, slow or not.
fn are_counted(recorder: &RecorderSummary) -> bool {
    recorder.requests.is_some_and(|all| all >= recorder.late.max(1))
}

/// How many requests may have begun whose end was not seen: each wait of one that was given up may have been for another one.
fn cut(recorder: &RecorderSummary) -> u64 {
    let given_up = recorder.without_end.saturating_mul(RecorderSummary::MAX_WAITS);
    recorder.cut_requests.saturating_add(given_up)
}

/// How many of these at most may have been slow: none of those that had not gone on for as long.
fn cut_maybe_slow(recorder: &RecorderSummary) -> u64 {
    let maybe_slow = recorder.may_be_late_cut();
    let given_up = maybe_slow.min(recorder.without_end);
    given_up.saturating_mul(RecorderSummary::MAX_WAITS).saturating_add(maybe_slow - given_up)
}

/// How many requests were not found slow and may have been: they were cut, or as many of those in time as are in doubt.
fn unknown(recorder: &RecorderSummary, in_doubt: u64) -> u64 {
    let in_time = recorder.requests.unwrap_or(0).saturating_sub(recorder.late);
    in_doubt.min(in_time).saturating_add(cut_maybe_slow(recorder))
}

/// Of how many it is not known how long they took: only a part of them may have been seen, or several may count as one, or a wait may be left out, since it is only
/// assumed where they begin; or a thread that ended worked on it, unseen. Those that were slow are none of these.
fn in_doubt(recorder: &RecorderSummary) -> u64 {
    let times = recorder.request_times.unwrap_or_default();
    let of_times = times.maybe_parts.saturating_add(times.maybe_several).saturating_add(times.after_answers);
    let may_hide = recorder.may_hide().unwrap_or(0).saturating_sub(times.late_assumed);
    of_times.max(may_hide).saturating_add(recorder.ended_threads)
}

/// Why nothing can be said of a run's slow requests, if that is so.
fn untold(recorder: &RecorderSummary) -> Option<Untold> {
    let all = recorder.requests?.max(recorder.late);
    match all {
        0 => Some(Untold::NoneRecognised),
        _ => {
            let unknown = unknown(recorder, in_doubt(recorder));
            (unknown > all.saturating_add(cut(recorder)) / 2).then_some(Untold::MostlyUnknown)
        }
    }
}

/// The slow requests of a run, of all its requests or in its time.
fn requests(run: &Run, of_all: bool) -> OfRun {
    let Some(recorder) = &run.document.recorder else { return OfRun::default() };
    let all = recorder.requests.map(|all| all.saturating_add(cut(recorder)));
    let (exposure, watched_ns) = match all.filter(|_| of_all) {
        Some(all) => (all, Some(recorder.armed_ns)),
        None => (recorder.armed_ns, None),
    };
    let untold = untold(recorder);
    // Those that a client sent late are known from then on; from when they were due, more were slow.
    let from_due = recorder.request_times.map_or(0, |times| times.late_from_due);
    let count = EventCount {
        events: recorder.late.saturating_add(unknown(recorder, in_doubt(recorder).saturating_add(from_due))),
        least: recorder.late.saturating_sub(run.maybe_slow),
        may_be_more: false,
        hidden: None,
        without_sleep: 0,
        hung_runs: 0,
        longest_hung_ns: 0,
        exposure: if untold.is_some() { 0 } else { exposure },
        may_be_more_exposure: false,
        all,
        watched_ns,
        untold,
    };
    OfRun { count, in_time: run.slow_requests.as_ref().map(|found| found.counts().to_vec()).unwrap_or_default() }
}

fn compare(what: Counted, a: &[OfRun], b: &[OfRun], is_paired: bool, error: f64) -> CountComparison {
    let (left, right) = (sum(a), sum(b));
    let has_all = a.iter().chain(b).all(|run| run.count.exposure > 0);
    let ratio = if has_all && left.events.saturating_add(right.events) > 0 {
        let ratio = rate_ratio_between(a, b, is_paired, error);
        let is_of_loops = matches!(what, Counted::Cycles { .. } | Counted::Periods { .. });
        if is_paired && is_of_loops { all_or_none(ratio, a, b, error) } else { ratio }
    } else {
        RateRatio::default()
    };
    let runs_needed = if ratio.low.is_some() || ratio.high.is_some() { rate_runs_needed(a, b) } else { None };
    CountComparison { what, a: left, b: right, ratio, outcome: outcome_of(ratio), runs_needed }
}

/// The ratio with the limits of pairs of which one run has an event and the other has none, where these tell more.
fn all_or_none(ratio: RateRatio, a: &[OfRun], b: &[OfRun], error: f64) -> RateRatio {
    let low = all_or_none::at_least(a, b, error);
    let high = all_or_none::at_least(b, a, error).map(f64::recip);
    RateRatio {
        low: ratio.low.map(|own| low.map_or(own, |low| own.max(low))),
        high: ratio.high.map(|own| high.map_or(own, |high| own.min(high))),
        ..ratio
    }
}

/// What a ratio of rates amounts to: a difference only if the whole interval lies beyond what is worth the name.
pub(crate) fn outcome_of(ratio: RateRatio) -> Outcome {
    match ratio {
        RateRatio { low: Some(low), .. } if low > WORTH_THE_NAME => Outcome::Worse,
        RateRatio { high: Some(high), .. } if high < WORTH_THE_NAME.recip() => Outcome::Better,
        _ => Outcome::NoDifference,
    }
}

/// How many times as often on B, with limits that are wrong with this probability whichever side has what was not seen. All
/// runs must have been watched, and there must be an event.
pub(crate) fn rate_ratio_between(a: &[OfRun], b: &[OfRun], is_paired: bool, error: f64) -> RateRatio {
    let (least_a, least_b) = (at_least(a), at_least(b));
    RateRatio {
        low: at_most(a).and_then(|most_a| rate_ratio(&most_a, &least_b, is_paired, error).low),
        estimate: rate_ratio(a, b, is_paired, error).estimate,
        high: at_most(b).and_then(|most_b| rate_ratio(&least_a, &most_b, is_paired, error).high),
    }
}

/// How many runs of each side show that the rates differ as much as these do.
fn rate_runs_needed(a: &[OfRun], b: &[OfRun]) -> Option<usize> {
    let [of_a, of_b] = [a, b].map(|runs| runs.iter().map(estimate).collect::<Vec<Estimate>>());
    let wanted = (mean_ln(&of_b) - mean_ln(&of_a)).abs() - WORTH_THE_NAME.ln();
    runs_that_find(wanted, RATE, &of_a, &of_b, FAMILY)
}

fn sum(runs: &[OfRun]) -> EventCount {
    let all = runs.iter().try_fold(0_u64, |sum, run| Some(sum.saturating_add(run.count.all?)));
    let watched_ns = runs.iter().try_fold(0_u64, |sum, run| Some(sum.saturating_add(run.count.watched_ns?)));
    let untold = runs.iter().find_map(|run| run.count.untold);
    let sum = runs.iter().fold(
        EventCount { all, watched_ns, untold, hidden: Some(0), ..EventCount::default() },
        |sum, run| EventCount {
            events: sum.events.saturating_add(run.count.events),
            least: sum.least.saturating_add(run.count.least),
            may_be_more: sum.may_be_more || run.count.may_be_more,
            hidden: sum.hidden.zip(run.count.at_most()).map(|(sum, most)| sum.saturating_add(most - run.count.events)),
            exposure: sum.exposure.saturating_add(run.count.exposure),
            without_sleep: sum.without_sleep.saturating_add(run.count.without_sleep),
            hung_runs: sum.hung_runs.saturating_add(run.count.hung_runs),
            longest_hung_ns: sum.longest_hung_ns.max(run.count.longest_hung_ns),
            may_be_more_exposure: sum.may_be_more_exposure || run.count.may_be_more_exposure,
            ..sum
        },
    );
    // Of a side there is no rate if there is none of one of its runs.
    EventCount { exposure: if untold.is_some() { 0 } else { sum.exposure }, ..sum }
}

/// The runs with the fewest events that they may have had.
fn at_least(runs: &[OfRun]) -> Vec<OfRun> {
    let fewest = |run: &OfRun| EventCount { events: run.count.least, ..run.count };
    runs.iter().map(|run| OfRun { count: fewest(run), in_time: run.in_time.clone() }).collect()
}

/// The runs with the most events that they may have had; `None` if nothing limits those of one of them.
fn at_most(runs: &[OfRun]) -> Option<Vec<OfRun>> {
    let most = |run: &OfRun| {
        let count = EventCount { events: run.count.at_most()?, ..run.count };
        Some(OfRun { count, in_time: run.in_time.clone() })
    };
    runs.iter().map(most).collect()
}

/// How many times as often on B, with limits that are wrong with this probability.
fn rate_ratio(a: &[OfRun], b: &[OfRun], is_paired: bool, error: f64) -> RateRatio {
    let (left, right) = (sum(a), sum(b));
    let estimates = |runs: &[OfRun]| runs.iter().map(estimate).collect::<Vec<Estimate>>();
    let (of_a, of_b) = (estimates(a), estimates(b));
    let demand = Demand { confidence: 1.0 - error, share: 1 };
    let Some(spread) = logarithms(RATE, &of_a, &of_b, is_paired, FAMILY, demand) else {
        return RateRatio::default();
    };
    // A side without an event shows no bursts: it has those of the other.
    let cluster = dispersion(a, &of_a).max(dispersion(b, &of_b));
    let clusters = |count: u64| if count > 0 { (count as f64 / cluster).max(1.0) } else { 0.0 };
    let exposure = right.exposure as f64 / left.exposure as f64;
    let odds = |share: f64| share / (1.0 - share) / exposure;
    let (one, other) = (clusters(left.events), clusters(right.events));
    let low = (other > 0.0).then(|| odds(beta_quantile(other, one + 1.0, 0.5 * error)));
    let high = (one > 0.0).then(|| odds(beta_quantile(other + 1.0, one, 1.0 - 0.5 * error)));
    let estimate = (left.events > 0).then(|| right.events as f64 / left.events as f64 / exposure);
    let in_pairs = if is_paired && spread.spread_widely() { pairs::limits(a, b, error) } else { None };
    let (above, below) = in_pairs.unwrap_or((0.0, f64::INFINITY));
    // The median of the pairs' ratios may lie elsewhere than the ratio of the sums, which the limits have to hold.
    let (above, below) = (above.min(estimate.unwrap_or(above)), below.max(estimate.unwrap_or(below)));
    RateRatio {
        low: low.map(|low| low.min(spread.low.exp()).max(above)),
        estimate,
        high: high.map(|high| high.max(spread.high.exp()).min(below)),
    }
}

/// The logarithm of a run's rate, and how uncertain the run itself leaves it.
fn estimate(run: &OfRun) -> Estimate {
    let events = run.count.events as f64 + 0.5;
    let alone = events.recip();
    let variance = if run.count.events == 0 { alone } else { alone.max(variance_of_sum(&run.in_time)) };
    Estimate { ln: (events / run.count.exposure as f64).ln() + FAR_ABOVE_NS, variance }
}

/// How many times as variable as a count of independent events a side's count is, by its bursts or by how its runs
/// differ, whichever is more.
fn dispersion(runs: &[OfRun], estimates: &[Estimate]) -> f64 {
    let all = sum(runs);
    if all.events == 0 {
        return 1.0;
    }
    let events = all.events as f64;
    let clusters = runs.iter().zip(estimates).map(|(run, estimate)| {
        let own = run.count.events as f64;
        own / (own * estimate.variance).max(1.0)
    });
    let within = events / clusters.sum::<f64>();
    let squares = runs.iter().map(|run| {
        let expected = events * run.count.exposure as f64 / all.exposure as f64;
        (run.count.events as f64 - expected).powi(2) / expected
    });
    let between = squares.sum::<f64>() / (runs.len() - 1).max(1) as f64;
    within.max(between).max(1.0)
}

#[cfg(test)]
pub(crate) mod tests;
