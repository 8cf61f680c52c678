//! For developers: how close each BPF program is to what a kernel accepts.

use crate::look;
use crate::output::{self, Output};
use punctual_kernel::capabilities::Availability;
use punctual_kernel::verifier::{self, MAX_INSTRUCTIONS, MAX_STACK, Measured, ObjectLoad, ProgramSize};
use punctual_kernel::{host, kernel_types};
use punctual_report::answer::Failure;
use punctual_report::capabilities::answer::{BudgetAnswer, BudgetLimits, ObjectRow, ProgramRow};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

/// The hidden subcommand: `scripts/verifier-budget` calls it.
pub(crate) const SUBCOMMAND: &str = "verifier-budget";

/// The exit code if this user or this kernel lets no program be loaded, which says nothing of any.
const NOT_MEASURED: u8 = 77;

/// Loads every program as a trial and prints what the verifier said; exits with 1 if one is over the budget.
///
/// `--brief` has the largest program of each object and those close to a limit, `--json` and `--markdown` are what they are for
/// other commands.
pub(crate) fn run(words: &[OsString]) -> ExitCode {
    let is_asked = |option: &str| words.iter().any(|word| word == option);
    let output = Output { json: is_asked("--json"), markdown: is_asked("--markdown") };
    look::at_the_reader(output.markdown);
    verifier::measure();
    let refused = load_everything();
    let (programs, objects) = largest(verifier::take());
    if programs.is_empty() {
        let why = refused.first().map_or("nothing was loaded", String::as_str);
        output.failure(&Failure::new(&format!("no BPF program was measured: {why}"), None, NOT_MEASURED));
        return ExitCode::from(NOT_MEASURED);
    }
    let kernel = host::host().kernel_release.unwrap_or_default();
    let limits = BudgetLimits { instructions: MAX_INSTRUCTIONS, stack: MAX_STACK };
    let (objects, programs) = (objects.values().map(object_row), programs.values().map(program_row));
    let answer = BudgetAnswer::new(&kernel, limits, objects.collect(), programs.collect(), &refused);
    if output.json {
        output::print(&output::pretty(&answer));
    } else {
        output::print_text(&answer.text(!is_asked("--brief")));
    }
    if answer.over_budget > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Loads and unloads every object that comes with this program; returns what was refused, and why.
fn load_everything() -> Vec<String> {
    let _types = kernel_types::keep();
    let others = punctual_probe::other_trials().into_iter().chain(punctual_context::other_trials());
    let lines = super::capabilities::trials().into_iter().chain(others).map(|trial| trial.capability());
    // Of a row that is limited, some programs may not have been loaded.
    let refused = lines.filter(|line| line.available == Availability::No || !line.missing.is_empty());
    refused.map(|line| format!("{}: {}", line.name, line.detail)).collect()
}

/// Programs by object and name.
type Programs = BTreeMap<(String, String), ProgramSize>;

/// Programs, and objects by name. Some are loaded several times with different settings: the largest counts.
fn largest(measured: Measured) -> (Programs, BTreeMap<String, ObjectLoad>) {
    let mut programs = Programs::new();
    for size in measured.programs {
        let known = programs.entry((size.object.clone(), size.program.clone())).or_insert_with(|| size.clone());
        known.instructions = known.instructions.max(size.instructions);
        known.stack = known.stack.max(size.stack);
    }
    let mut objects: BTreeMap<String, ObjectLoad> = BTreeMap::new();
    for load in measured.loads {
        let known = objects.entry(load.object.clone()).or_insert_with(|| load.clone());
        known.bytes = known.bytes.max(load.bytes);
        known.relocations = known.relocations.max(load.relocations);
        known.took_ns = known.took_ns.max(load.took_ns);
    }
    (programs, objects)
}

fn object_row(load: &ObjectLoad) -> ObjectRow<'_> {
    ObjectRow { object: &load.object, bytes: load.bytes, relocations: load.relocations, load_ns: load.took_ns }
}

fn program_row(size: &ProgramSize) -> ProgramRow<'_> {
    ProgramRow { object: &size.object, program: &size.program, instructions: size.instructions, stack: size.stack }
}
