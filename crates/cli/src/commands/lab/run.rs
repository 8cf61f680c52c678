//! Runs a command on several kernels, and compares the results.

use super::kernel::Kernel;
use super::plan::{Prepared, prepare};
use crate::args::lab::LabRunArguments;
use crate::commands::artifacts::{self, Artifacts};
use crate::output::{self, Output, Usage};
use crate::progress::StepProgress;
use punctual_blame::split;
use punctual_comparison::{Comparison, Estimate, FIGURES, Level, Side, level};
use punctual_recording::{Stage, counted, for_each_episode};
use punctual_report::lab::{self, GuestEnd, GuestReport, LabAnswer, LabReport, RankRow, SystemCauses, SystemReport};
use punctual_sim::sweep::Shard;
use punctual_study::lab::{CellEnd, LabPlan, LabProgress, System, cells};
use punctual_study::open_side;
use std::path::PathBuf;

pub(super) fn run(arguments: &LabRunArguments, output: Output) -> anyhow::Result<u8> {
    if arguments.html.is_some() {
        punctual_report::encode::html::can_draw()?;
        artifacts::check(arguments.html.as_ref())?;
    }
    let systems = System::grid(&arguments.kernel, &arguments.with, &arguments.load);
    told_apart(&systems)?;
    let part = |shard: Shard| cells(systems.len(), &arguments.seeds.0, shard);
    let own = part(arguments.shard.unwrap_or(Shard::WHOLE));
    let Prepared { kernels, interrupted, mut plan, notes } = prepare(&systems, own, arguments.jobs, &arguments.guest)?;
    plan.grid = part(Shard::WHOLE);
    let mut progress = StepProgress::new(arguments.guest.quiet, "guests");
    let ends = punctual_study::lab::run(&plan, &mut |now| {
        progress.count(&running(&plan, now), now.ended, now.all, now.elapsed);
        !interrupted.is_set()
    });
    progress.done();
    let mut report = report(arguments, &plan, &kernels, ends?, interrupted.is_set())?;
    report.notes.splice(0..0, notes);
    let mut artifacts = Artifacts::default();
    let mut code = report.exit_code;
    if let Some(path) = &arguments.html {
        code = code.max(artifacts.write(path, lab::page(&report).html()?));
    }
    if output.json {
        output::answer_beside(artifacts.failure(), LabAnswer::new(&report), code);
    } else {
        output::print_text(&lab::text(&report));
    }
    Ok(code)
}

/// Two systems may not share a directory.
fn told_apart(systems: &[System]) -> Result<(), Usage> {
    for (index, system) in systems.iter().enumerate() {
        if let Some(other) = systems[..index].iter().find(|other| other.file_name() == system.file_name()) {
            let (one, other) = (system.name(), other.name());
            return Err(Usage(if one == other {
                format!("--kernel {one} is given twice")
            } else {
                format!("--kernel {other} and --kernel {one} would share a directory: give one a different name")
            }));
        }
    }
    Ok(())
}

/// The guests that are running now, in words.
fn running(plan: &LabPlan, now: &LabProgress<'_>) -> String {
    let name =
        |cell: &punctual_study::lab::Cell| format!("{} seed {}", plan.systems[cell.system].system.name(), cell.seed);
    now.running.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn report<'a>(
    arguments: &'a LabRunArguments,
    plan: &'a LabPlan,
    kernels: &[Kernel],
    ends: Vec<CellEnd>,
    is_interrupted: bool,
) -> anyhow::Result<LabReport<'a>> {
    let mut systems: Vec<SystemReport> = (plan.systems.iter().zip(kernels))
        .map(|(bootable, kernel)| SystemReport {
            name: bootable.system.name(),
            kernel: bootable.system.kernel_name(),
            load: bootable.system.load.clone(),
            causes: None,
            package: kernel.package.clone(),
            directory: bootable.system.file_name(),
            guests: Vec::new(),
            documents: Vec::new(),
        })
        .collect();
    let exit_code = exit_code(&ends);
    let mut notes = Vec::new();
    for (cell, end) in plan.cells.iter().zip(ends) {
        let system = &mut systems[cell.system];
        notes.extend(left_out(&system.name, cell.seed, &end));
        let without = not_taken(&system.kernel, &end).filter(|note| !notes.contains(note));
        notes.extend(without);
        system.guests.push(guest(cell.seed, end));
    }
    let sides = sides(&systems, &mut notes);
    for (system, side) in systems.iter_mut().zip(&sides) {
        system.documents = side.iter().flat_map(|side| &side.runs).map(|run| run.document.clone()).collect();
        system.causes = causes(system, &mut notes);
    }
    if arguments.shard.is_some() {
        notes.push("this is part of the guests: the same command without --shard gathers all parts".to_owned());
    }
    let comparisons = comparisons(&systems, &sides, &mut notes);
    let ranks = ranks(&systems, &sides);
    Ok(LabReport {
        words: &arguments.guest.words,
        module: arguments.guest.module.as_ref().map(punctual_study::lab::Driver::name),
        directory: &plan.directory,
        systems,
        comparisons,
        ranks,
        is_interrupted,
        notes,
        exit_code,
    })
}

/// Says what of a guest's files was not taken.
fn left_out(system: &str, seed: u32, end: &CellEnd) -> Option<String> {
    let CellEnd::Ran(ran, _) = end else { return None };
    let files = (ran.left_out > 0).then(|| counted(ran.left_out, "file"))?;
    Some(format!("{system}, seed {seed}: {files} of /out left out: links, devices, or names that are no text"))
}

/// Says which of its parameters a kernel did not take: what its name says is not what ran.
fn not_taken(kernel: &str, end: &CellEnd) -> Option<String> {
    let CellEnd::Ran(ran, _) = end else { return None };
    let words = ran.not_taken.join(", ");
    (!words.is_empty()).then(|| format!("{kernel}: this kernel does not take {words}, and ran without"))
}

fn guest(seed: u32, end: CellEnd) -> GuestReport {
    let not_run = GuestReport {
        seed,
        end: GuestEnd::NotRun,
        exit_code: None,
        used_ms: None,
        is_kept: false,
        splats: Vec::new(),
        all_splats: 0,
        said: None,
        recording: None,
    };
    match end {
        CellEnd::NotRun => not_run,
        CellEnd::Failed(said) => GuestReport { end: GuestEnd::Failed, said: Some(said), ..not_run },
        CellEnd::Ran(ran, recording) => GuestReport {
            seed,
            end: GuestEnd::Ran,
            exit_code: Some(ran.exit_code),
            used_ms: Some(ran.used_ms),
            is_kept: ran.is_kept,
            splats: ran.splats,
            all_splats: ran.all_splats,
            said: ran.said,
            recording: ran.has_recording.then_some(recording),
        },
    }
}

/// 1 if a guest or its command failed or did not run; 2 if the worst that commands did was to exceed a limit.
fn exit_code(ends: &[CellEnd]) -> u8 {
    let code = |end: &CellEnd| match end {
        CellEnd::Ran(ran, _) => match ran.exit_code {
            0 => 0,
            2 => 2,
            _ => 1,
        },
        CellEnd::Failed(_) | CellEnd::NotRun => 1,
    };
    let codes: Vec<u8> = ends.iter().map(code).collect();
    if codes.contains(&1) { 1 } else { codes.into_iter().max().unwrap_or(0) }
}

/// The recordings of each system that has any; one that cannot be compared does not cost the others.
fn sides(systems: &[SystemReport], notes: &mut Vec<String>) -> Vec<Option<Side>> {
    let side = |system: &SystemReport| {
        let mut paths: Vec<PathBuf> = system.guests.iter().filter_map(|guest| guest.recording.clone()).collect();
        loop {
            if paths.is_empty() {
                return None;
            }
            match open_side(&system.name, &paths) {
                Ok(side) => return Some(side),
                Err(error) => {
                    notes.push(format!("{}: left out: {error}", system.name));
                    // The error says only in words which recording it means, so each is tried by itself.
                    let before = paths.len();
                    paths.retain(|path| open_side(&system.name, std::slice::from_ref(path)).is_ok());
                    if paths.len() == before {
                        return None;
                    }
                }
            }
        }
    };
    systems.iter().map(side).collect()
}

/// Compares the first side with each other one of the same load.
fn comparisons(
    systems: &[SystemReport],
    sides: &[Option<Side>],
    notes: &mut Vec<String>,
) -> Vec<(usize, usize, Comparison)> {
    let there = || sides.iter().enumerate().filter_map(|(index, side)| Some((index, side.as_ref()?)));
    let mut comparisons = Vec::new();
    for (index, other) in there() {
        let Some((first_index, first)) = there().find(|(first, _)| systems[*first].load == systems[index].load) else {
            continue;
        };
        if first_index == index {
            continue;
        }
        match punctual_comparison::compare(first, other, &[]) {
            Ok(comparison) => comparisons.push((first_index, index, comparison)),
            Err(error) => notes.push(format!("{} beside {}: {error}", other.name, first.name)),
        }
    }
    comparisons
}

/// Ranks the systems of each load by the furthest quantile that all of them have, lowest first.
fn ranks(systems: &[SystemReport], sides: &[Option<Side>]) -> Vec<RankRow> {
    let mut loads: Vec<&Option<String>> = Vec::new();
    for system in systems {
        if !loads.contains(&&system.load) {
            loads.push(&system.load);
        }
    }
    let of_load = |load: &Option<String>| -> Vec<RankRow> {
        let own = systems.iter().zip(sides).filter(|(system, _)| system.load == *load);
        let estimates: Vec<(&SystemReport, Vec<Vec<Estimate>>)> =
            own.filter_map(|(system, side)| Some((system, totals(side.as_ref()?)))).collect();
        let all_have = |place: &usize| {
            estimates.iter().all(|(_, runs)| !runs.is_empty() && runs.iter().all(|run| run.len() > *place))
        };
        let last = (0..FIGURES.len()).rev().filter(|place| !FIGURES[*place].is_mean).find(all_have);
        let Some(place) = last.filter(|_| estimates.len() > 1) else { return Vec::new() };
        let mut found: Vec<(&SystemReport, Level, usize)> = (estimates.iter())
            .filter_map(|(system, runs)| {
                let each: Vec<Estimate> = runs.iter().map(|run| run[place]).collect();
                Some((*system, level(FIGURES[place], &each)?, each.len()))
            })
            .collect();
        found.sort_by(|(_, a, _), (_, b, _)| a.estimate_ns.total_cmp(&b.estimate_ns));
        let row = |(index, (system, level, runs)): (usize, (&SystemReport, Level, usize))| RankRow {
            rank: index + 1,
            system: system.name.clone(),
            load: system.load.clone(),
            figure: level.figure.name,
            ns: level.estimate_ns.round() as u64,
            low_ns: level.low_ns.round() as u64,
            high_ns: level.high_ns.round() as u64,
            runs,
        };
        found.into_iter().enumerate().map(row).collect()
    };
    loads.into_iter().flat_map(of_load).collect()
}

/// The totals of a side's first measure, one list per run.
fn totals(side: &Side) -> Vec<Vec<Estimate>> {
    let total = |run: &punctual_comparison::Run| {
        run.stages.iter().find(|((_, stage), _)| *stage == Stage::Total).map(|(_, found)| found.estimates.clone())
    };
    side.runs.iter().filter_map(total).collect()
}

/// How many late wakeups of a system are explained; more would take minutes.
const MAX_EPISODES: usize = 2_000;

/// Who made a system's wakeups late; `None` without evidence.
fn causes(system: &SystemReport, notes: &mut Vec<String>) -> Option<SystemCauses> {
    let has_evidence = |document: &punctual_recording::Document| document.recorder.is_some();
    if !system.documents.iter().any(has_evidence) {
        return None;
    }
    let (mut splits, mut void, mut left_out) = (Vec::new(), 0, 0u64);
    for path in system.guests.iter().filter_map(|guest| guest.recording.as_ref()) {
        let read = for_each_episode(path, |episode| match (&episode.void, splits.len() < MAX_EPISODES) {
            (Some(_), _) => void += 1,
            (None, true) => splits.push(split(&episode)),
            (None, false) => left_out += 1,
        });
        if let Err(error) = read {
            notes.push(format!("{}: {error}", system.name));
        }
    }
    if left_out > 0 {
        notes.push(format!("{}: who made {} late was not summed up", system.name, counted(left_out, "more wakeup")));
    }
    Some(SystemCauses::of(&splits, void))
}
