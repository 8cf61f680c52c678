//! For developers: how close each BPF program is to what a kernel accepts.

use crate::output;
use punctual_kernel::capabilities::Availability;
use punctual_kernel::verifier::{self, MAX_INSTRUCTIONS, MAX_STACK, ProgramSize};
use punctual_report::capabilities::answer::{BudgetAnswer, ProgramRow};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

/// The hidden subcommand: `scripts/verifier-budget` calls it.
pub(crate) const SUBCOMMAND: &str = "verifier-budget";

/// How much of what a kernel accepts a program may use: the next kernel's verifier may find more paths in it.
const SHARE: u64 = 2;

/// Loads every program as a trial and prints what the verifier said; exits with 1 if one is over the budget.
pub(crate) fn run(words: &[OsString]) -> ExitCode {
    verifier::measure();
    let mut refused = Vec::new();
    for trial in super::capabilities::trials() {
        let line = trial.capability();
        if line.available == Availability::No {
            refused.push(format!("{}: {}", line.name, line.detail));
        }
    }
    // An object may be loaded several times with different settings; the largest counts.
    let mut largest: BTreeMap<(String, String), ProgramSize> = BTreeMap::new();
    for size in verifier::take_sizes() {
        let key = (size.object.clone(), size.program.clone());
        let known = largest.entry(key).or_insert_with(|| size.clone());
        known.instructions = known.instructions.max(size.instructions);
        known.stack = known.stack.max(size.stack);
    }
    let is_over = |size: &&ProgramSize| size.instructions > MAX_INSTRUCTIONS / SHARE || size.stack > MAX_STACK / SHARE;
    let over = largest.values().filter(is_over).count();
    if words.iter().any(|word| word == "--json") {
        let programs = largest.values().map(|size| ProgramRow {
            object: &size.object,
            program: &size.program,
            instructions: size.instructions,
            stack: size.stack,
        });
        let answer = BudgetAnswer { programs: programs.collect(), refused: &refused, over_budget: over };
        output::print(&output::pretty(&answer));
    } else {
        let rows = largest.values().map(|size| {
            let share = format!("{:.2} %", size.instructions as f64 * 100.0 / MAX_INSTRUCTIONS as f64);
            let mark = if is_over(&size) { "OVER" } else { "" };
            let (instructions, stack) = (size.instructions.to_string(), size.stack.to_string());
            vec![size.object.clone(), size.program.clone(), instructions, share, stack, mark.to_owned()]
        });
        let heads = ["object", "program", "instructions", "of the limit", "stack", ""];
        output::print_text(&punctual_report::table(&heads, 2..5, rows));
        for line in &refused {
            output::print_more(&format!("not loaded: {line}"));
        }
    }
    // Having measured no program at all proves nothing.
    if over > 0 || largest.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
