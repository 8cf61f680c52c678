//! Finds, proves and applies reservations of several threads of programs that run.

use super::together::{MAX_AT_ONCE, answer, show};
use super::{alone, applied, find};
use crate::args::reserve::FindArguments;
use crate::commands::artifacts;
use crate::output::{Output, Usage};
use crate::progress::{ReadyProgress, StepProgress};
use crate::signals::Interrupted;
use punctual_kernel::other_thread::Before;
use punctual_recording::{Directory, counted};
use punctual_study::reserve::{Afterwards, Subject, Target, threads};
use regex::Regex;

/// Whether several threads were asked for.
pub(super) fn are_asked(arguments: &FindArguments) -> bool {
    arguments.pid.len() > 1 || arguments.thread.len() > 1
}

pub(super) fn run(arguments: &FindArguments, output: Output) -> anyhow::Result<u8> {
    let targets = targets(&arguments.pid, &arguments.thread).map_err(Usage)?;
    let plan = find::plan(arguments, Subject::Process(targets[0].process))?;
    artifacts::check(arguments.html.as_ref())?;
    if arguments.apply {
        applied::check()?;
    }
    let _alone = alone::with(&arguments.pid)?;
    let directory = Directory::make(&plan.directory)?;
    let interrupted = Interrupted::watch();
    let mut ready = ReadyProgress::new(arguments.quiet);
    let mut progress = StepProgress::new(arguments.quiet, "reserve");
    let names: Vec<String> = targets.iter().map(in_words).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut tell = |changed: &[Before]| applied::note(changed);
    let afterwards = if arguments.apply { Afterwards::Stay(&mut tell) } else { Afterwards::PutBack };
    let result = threads(
        &plan,
        &targets,
        afterwards,
        &mut |stage| ready.show(stage) && !interrupted.is_set(),
        &mut |place, now| {
            show(&mut progress, names.get(place).copied(), now);
            !interrupted.is_set()
        },
    );
    ready.done();
    progress.done();
    if result.is_err() {
        directory.discard_if_empty();
    }
    Ok(answer(arguments, &plan, &result?, &names, output))
}

fn in_words(target: &Target) -> String {
    let thread = target.thread.as_ref().map(|thread| format!("thread {} of ", thread.as_str()));
    format!("{}process {}", thread.unwrap_or_default(), target.process)
}

/// Which threads of which processes: all of one process, one of each, or the same of each.
fn targets(processes: &[u32], threads: &[Regex]) -> Result<Vec<Target>, String> {
    let target = |process: &u32, thread: Option<&Regex>| Target { process: *process, thread: thread.cloned() };
    let targets: Vec<Target> = match (processes, threads) {
        ([], _) => {
            return Err("several threads must be of processes that already run: name these with --pid".to_owned());
        }
        ([process], threads) => threads.iter().map(|thread| target(process, Some(thread))).collect(),
        (processes, [] | [_]) => processes.iter().map(|process| target(process, threads.first())).collect(),
        (processes, threads) if processes.len() == threads.len() => {
            processes.iter().zip(threads).map(|(process, thread)| target(process, Some(thread))).collect()
        }
        (processes, threads) => {
            let (processes, threads) = (processes.len(), counted(threads.len(), "name"));
            return Err(format!("{threads} for {processes} processes: give one --thread for each, or one for all"));
        }
    };
    if targets.len() > MAX_AT_ONCE {
        return Err(format!("at most {MAX_AT_ONCE} threads have their reservations at once here"));
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_of_one_process_or_each_has_its_own() {
        let of = |processes: &[u32], threads: &[&str]| {
            let threads: Vec<Regex> = threads.iter().map(|thread| Regex::new(thread).unwrap()).collect();
            targets(processes, &threads).map(|targets| targets.iter().map(in_words).collect::<Vec<_>>().join(", "))
        };
        assert_eq!(of(&[7], &["a", "b"]).unwrap(), "thread a of process 7, thread b of process 7");
        assert_eq!(of(&[7, 8], &[]).unwrap(), "process 7, process 8");
        assert_eq!(of(&[7, 8], &["a"]).unwrap(), "thread a of process 7, thread a of process 8");
        assert_eq!(of(&[7, 8], &["a", "b"]).unwrap(), "thread a of process 7, thread b of process 8");
        assert!(of(&[7, 8, 9], &["a", "b"]).unwrap_err().starts_with("2 names for 3 processes"));
        assert!(of(&[], &["a", "b"]).unwrap_err().contains("--pid"));
        assert!(of(&[7; 17], &[]).unwrap_err().contains("at most 16"));
    }
}
