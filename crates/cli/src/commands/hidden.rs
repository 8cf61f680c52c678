//! Subcommands with which the program calls itself.

use punctual_load::Class;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn guard() -> ExitCode {
    match punctual_kernel::guard::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(refused) => {
            crate::output::say(&format!("error: {refused}"));
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn keeper() -> ExitCode {
    punctual_kernel::keeper::serve();
    ExitCode::SUCCESS
}

/// Takes `CPU COMPUTE_NS`.
pub(crate) fn echo_program(words: &[OsString]) -> ExitCode {
    let number = |index: usize| words.get(index)?.to_str()?.parse::<u64>().ok();
    let (Some(cpu), Some(compute_ns)) = (number(0).and_then(|cpu| u32::try_from(cpu).ok()), number(1)) else {
        return ExitCode::from(crate::output::USAGE);
    };
    match punctual_probe::idle::echo::run_program(cpu, compute_ns) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refused) => {
            crate::output::say(&format!("error: {refused}"));
            ExitCode::FAILURE
        }
    }
}

/// Takes `CPU PARENT`.
pub(crate) fn own_work(words: &[OsString]) -> ExitCode {
    let number = |index: usize| words.get(index)?.to_str()?.parse::<u32>().ok();
    match number(0).zip(number(1)) {
        Some((cpu, parent)) => ExitCode::from(punctual_context::own::served::serve(cpu, parent)),
        None => ExitCode::from(crate::output::USAGE),
    }
}

/// Takes `CLASS DIRECTORY`.
pub(crate) fn built_in_load(words: &[OsString]) -> ExitCode {
    let class = words.first().and_then(|word| word.to_str()).and_then(|word| word.parse::<Class>().ok());
    let (Some(class), Some(scratch)) = (class, words.get(1)) else { return ExitCode::from(crate::output::USAGE) };
    match punctual_load::built_in::run(class, Path::new(scratch)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::output::say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
