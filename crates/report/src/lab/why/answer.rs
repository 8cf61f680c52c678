//! The answer of `punctual lab why`.

use super::super::model::MODELLED;
use super::model::{Arrival, ClassRow, FunctionRow, OutsideReport, Stretch};
use crate::answer::Answer;
use serde::Serialize;
use std::path::Path;

/// A late wakeup, seen from outside.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OutsideAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What the figures are, and what they are not.
    modelled: &'static str,
    kernel: &'a str,
    seed: u32,
    recording: &'a Path,
    episode: u64,
    victim: &'a str,
    /// Its thread's number.
    victim_tid: u32,
    total_ns: u64,
    /// Files of the recording that each run left with the same bytes.
    same_files: usize,
    /// Times of the episode that are readings of the clock at known instructions.
    times_found: usize,
    times: usize,
    /// Longer episodes that could not be looked at from outside.
    passed_over: usize,
    instruction_ns: u64,
    instructions: u64,
    /// Whether the end is missing.
    cut: bool,
    arrival: &'a Arrival,
    /// For how long interrupts were off once more after that one, at least, without those being served.
    later_off_ns: u64,
    /// By time, without gap or overlap.
    stretches: &'a [Stretch],
    functions: &'a [FunctionRow],
    /// How many more functions ran, none for longer than these.
    further_functions: usize,
    /// How long all of those ran.
    further_functions_ns: u64,
    classes: &'a [ClassRow],
    processor_ms: u64,
    notes: Vec<String>,
    next: String,
}

impl<'a> OutsideAnswer<'a> {
    /// The answer for programs.
    pub fn new(report: &'a OutsideReport<'a>) -> OutsideAnswer<'a> {
        let [next, _] = report.next();
        OutsideAnswer {
            schema: "punctual.lab-why/1",
            verdict: report.verdict(),
            exit_code: 0,
            modelled: MODELLED,
            kernel: &report.kernel,
            seed: report.seed,
            recording: report.recording,
            episode: report.episode,
            victim: &report.victim,
            victim_tid: report.victim_tid,
            total_ns: report.total_ns,
            same_files: report.same_files,
            times_found: report.times_found,
            times: report.times,
            passed_over: report.passed_over,
            instruction_ns: report.instruction_ns,
            instructions: report.instructions,
            cut: report.is_cut,
            arrival: &report.arrival,
            later_off_ns: report.later_off_ns,
            stretches: &report.stretches,
            functions: &report.functions,
            further_functions: report.further.0,
            further_functions_ns: report.further.1,
            classes: &report.classes,
            processor_ms: report.used_ms,
            notes: report.notes(),
            next: next.command,
        }
    }
}

impl Answer for OutsideAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
