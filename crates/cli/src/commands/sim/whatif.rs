//! `punctual sim whatif`.

use super::{Watched, answer, threads, with_units};
use crate::args::{SimWhatifArguments, with_nearest_context};
use crate::commands::artifacts::{self, Artifacts};
use crate::output::{Output, Usage};
use anyhow::Context as _;
use punctual_device::{Catalogue, Sampling};
use punctual_recording::{Document, Recording, format_ns};
use punctual_report::sim::plane::{Cell, plane_html};
use punctual_report::sim::{WhatifAnswer, WhatifSweepAnswer};
use punctual_sim::interference::Interference;
use punctual_sim::sweep::{Axis, Shard, Sweep};
use punctual_sim::swept::Point;
use punctual_sim::time::{MILLISECOND, NANOSECOND};
use punctual_sim::watch::Watch as _;
use punctual_sim::whatif::{Context, RingSize, WhatIf, When};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) fn run(arguments: &SimWhatifArguments, output: Output) -> anyhow::Result<u8> {
    artifacts::check(arguments.html.as_ref())?;
    artifacts::check(arguments.output.as_ref())?;
    let question = question(arguments)?;
    question.check_question().map_err(|error| Usage(error.to_string()))?;
    if arguments.sweep.is_empty() {
        let watched = Watched::new("simulating", 1 + question.repetitions(), "repetitions");
        let found = question.answer_with_interval(threads(), &watched)?;
        watched.done();
        return answer(
            output,
            &Artifacts::default(),
            u8::from(found.interrupted),
            || WhatifAnswer::new(&found),
            || punctual_report::sim::whatif_text(&found),
        );
    }
    let usage = |error: punctual_sim::Error| Usage(error.to_string());
    let grid = grid(&arguments.sweep)?;
    for axis in grid.axes() {
        // A name that the context does not have is an error: it must not become a grid of impossible machines.
        let first = axis.values.first().copied().unwrap_or(0);
        question.with(&axis.name, first).map_err(usage)?;
    }
    let shard = arguments.shard.as_deref().map(Shard::parse).transpose().map_err(usage)?.unwrap_or(Shard::WHOLE);
    let watched = Watched::new("sweeping", grid.points(), "points");
    let points = punctual_study::sweep::sweep(
        &question,
        &grid,
        shard,
        arguments.output.as_deref(),
        &watched,
        &mut |_, total| {
            watched.progress.set_parts(total as u64);
        },
    );
    watched.done();
    let (points, interrupted) = (points?, watched.is_over());
    let (mut code, mut written) = (u8::from(interrupted), Artifacts::default());
    if let Some(path) = &arguments.html {
        let title = format!("Missed buffers of {} in {}", arguments.device, arguments.context);
        code = code.max(written.write(path, page_of(&grid, &points, interrupted, &title).map_err(usage)?));
    }
    answer(
        output,
        &written,
        code,
        || WhatifSweepAnswer::new(&grid, &points, interrupted),
        || punctual_report::sim::sweep::text(&grid, &points, interrupted),
    )
}

/// The page of a sweep, with units on its axes.
fn page_of(grid: &Sweep, points: &[Point], interrupted: bool, title: &str) -> Result<String, punctual_sim::Error> {
    let cell = |point: &Point| match &point.outcome {
        Some(outcome) => Cell::Count(outcome.misses),
        None => Cell::Impossible,
    };
    let cells: Vec<(u64, Cell)> = points.iter().map(|point| (point.number, cell(point))).collect();
    let drawn = with_units(grid, |name| match name {
        "period" | "runtime" => ", ms",
        "compute" => ", us",
        _ => "",
    })?;
    let verdict = punctual_report::whatif_sweep_verdict(grid, points, interrupted);
    Ok(plane_html(&drawn, &cells, title, "punctual sim whatif", &verdict))
}

fn grid(axes: &[String]) -> Result<Sweep, Usage> {
    let axes = axes.iter().map(|axis| Axis::parse(axis)).collect::<Result<Vec<_>, _>>();
    axes.and_then(Sweep::new).map_err(|error| Usage(error.to_string()))
}

fn question(arguments: &SimWhatifArguments) -> anyhow::Result<WhatIf> {
    let device = Catalogue::shipped().parse_spec(&arguments.device).map_err(|error| Usage(error.to_string()))?;
    let context = Context::parse(&arguments.context);
    let context = context.map_err(|wrong| Usage(with_nearest_context(&wrong, &arguments.context)))?;
    let mut question =
        WhatIf::new(device.period_ns * NANOSECOND, u64::from(device.buffers), device.compute_ns * NANOSECOND, context);
    let sampling = Sampling::of(&device);
    question.ring = Some(RingSize { samples: sampling.samples, size: sampling.ring.into() });
    question.duration = arguments.duration.saturating_mul(NANOSECOND);
    question.seed = arguments.seed;
    question.bystander = arguments.bystander.map(|priority| (priority, MILLISECOND));
    for competitor in &arguments.competitor {
        let priority = competitor.strip_prefix("spin:").and_then(|priority| priority.parse::<u8>().ok());
        let priority = priority.filter(|priority| (1..=99).contains(priority));
        question.competitors.push(priority.ok_or_else(|| {
            Usage(format!("`{competitor}` is not a competitor: write spin:PRIORITY with a priority from 1 to 99"))
        })?);
    }
    let met = rounds(&arguments.interference)?;
    if let Some(at) = &arguments.at {
        question.when = Some(when(at, &arguments.interference, &met, arguments.duration)?);
    }
    question.rounds = met.into_iter().map(|round| round.interference).collect();
    question.interference = Interference::joined(&question.rounds);
    Ok(question)
}

/// The most recordings in one question: more would not make an interval any more certain.
const MAX_RECORDINGS: usize = 100;
/// Fewer recordings say too little about how long the machine stayed the same for the interval to hold.
const MIN_TIMED: usize = 8;
/// Two recordings of one machine never begin closer together than this.
const MIN_APART_NS: u64 = 1_000_000_000;

/// One recording.
struct Round {
    /// The interference that it met.
    interference: Interference,
    /// When it began and ended, ns since 1970; `None` if it does not say.
    made_ns: Option<(u64, u64)>,
}

/// The interference that each recording met, and when.
fn rounds(paths: &[PathBuf]) -> anyhow::Result<Vec<Round>> {
    if paths.len() > MAX_RECORDINGS {
        return Err(Usage(format!("--interference: at most {MAX_RECORDINGS} recordings, not {}", paths.len())).into());
    }
    let mut rounds: Vec<Round> = Vec::new();
    for path in paths {
        let next = round(path)?;
        let period = |round: &Round| round.interference.period_ns();
        if let Some(first) = rounds.first().filter(|first| period(first) != period(&next)) {
            let periods = [first, &next].map(|known| format_ns(period(known)));
            return Err(Usage(format!(
                "{}: its task wakes every {}, that of the first recording every {}: record all of them with one \
                 interval",
                path.display(),
                periods[1],
                periods[0]
            ))
            .into());
        }
        rounds.push(next);
    }
    Ok(rounds)
}

/// When the recordings were made, and when a run of this length is to take place.
fn when(at: &str, paths: &[PathBuf], rounds: &[Round], duration_ns: u64) -> anyhow::Result<When> {
    let usage = |what: String| anyhow::Error::from(Usage(format!("--at {at}: {what}")));
    if rounds.len() < MIN_TIMED {
        let few = punctual_recording::counted(rounds.len() as u64, "recording");
        return Err(usage(format!("{few} cannot show how long the machine stays as it is: give at least {MIN_TIMED}")));
    }
    let mut made = Vec::new();
    for (path, round) in paths.iter().zip(rounds) {
        made.push(round.made_ns.ok_or_else(|| usage(format!("{} does not say when it was made", path.display())))?);
    }
    let mut begun: Vec<u64> = made.iter().map(|made| made.0).collect();
    begun.sort_unstable();
    if begun.windows(2).any(|pair| pair[1] - pair[0] < MIN_APART_NS) {
        return Err(usage("two of the recordings were made at the same time".to_owned()));
    }
    let last = made.iter().map(|made| made.1).max().unwrap_or(0);
    let run = match at {
        "next" => last,
        _ => {
            let time: jiff::Timestamp =
                at.parse().map_err(|_| usage("write next, or a time such as 2026-11-26T14:03:20Z".to_owned()))?;
            u64::try_from(time.as_nanosecond()).map_err(|_| usage("is before 1970".to_owned()))?
        }
    };
    // In seconds from the first, so that floating point holds them exactly enough.
    let first = begun.first().copied().unwrap_or(0);
    let middle = |from: u64, to: u64| {
        let from = (i128::from(from) - i128::from(first)) as f64 / 1e9;
        from + to as f64 / 2e9
    };
    Ok(When {
        recordings: made.iter().map(|(from, to)| middle(*from, to - from)).collect(),
        run: middle(run, duration_ns),
    })
}

/// When a recording began and ended, ns since 1970.
fn made_ns(document: &Document) -> Option<(u64, u64)> {
    let provenance = &document.provenance;
    let from = provenance.started_ns.checked_add_signed(provenance.monotonic_to_unix_ns)?;
    (provenance.monotonic_to_unix_ns != 0).then(|| (from, from.saturating_add(document.measured_ns())))
}

/// What one recorded task met. Where there are several: the one whose wakeups were latest in total, on the worst of the
/// machine's CPUs.
fn round(path: &Path) -> anyhow::Result<Round> {
    let recording = Recording::open(path)?;
    let mut by_task: BTreeMap<u32, u64> = BTreeMap::new();
    recording.for_each_wakeup(|wakeup| {
        let sum = by_task.entry(wakeup.tid).or_default();
        *sum = sum.saturating_add(wakeup.total_ns);
    })?;
    let worst = by_task.into_iter().max_by_key(|(_, late)| *late);
    let (tid, _) = worst.with_context(|| format!("{}: it contains no wakeup", path.display()))?;
    let task = recording.document().tasks.iter().find(|task| task.tid == tid);
    let period = task.map(|task| task.period_ns).filter(|period| *period > 0);
    let period = period.with_context(|| format!("{}: it contains no periodic task", path.display()))?;
    let made = Interference::from_passes(period, |take| {
        recording.for_each_wakeup(|wakeup| {
            if wakeup.tid == tid {
                take(wakeup);
            }
        })
    });
    Ok(Round { interference: made?, made_ns: made_ns(recording.document()) })
}
