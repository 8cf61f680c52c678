//! Whether a process is there, whether threads that were chosen still are, and what they are named by now.

use crate::StudyError;
use punctual_kernel::other_thread::{Before, is_of_kernel};
use punctual_probe::{RunError, Selection};

/// Whether the thread that was chosen by this number has ended: another one may have its number by now.
pub(super) fn has_ended(chosen: &[Before], tid: u32) -> bool {
    let mut known = chosen.iter().filter(|chosen| chosen.tid == tid).peekable();
    known.peek().is_some() && !known.any(Before::is_there)
}

/// What the thread that was chosen by this number is named by now; `None` if it has ended.
pub(super) fn name_now(chosen: &[Before], tid: u32) -> Option<String> {
    let thread = chosen.iter().find(|chosen| chosen.tid == tid)?;
    let now = Before::of(tid).ok()?;
    thread.is_there().then_some(now.name)
}

/// Whether there is such a process, and a program runs in it.
pub(super) fn check_process(process: u32) -> Result<(), StudyError> {
    Selection::of_processes(vec![process]).check().map_err(RunError::from)?;
    if is_of_kernel(process) {
        return Err(StudyError::Setting(format!(
            "process {process} is a thread of the kernel, whose scheduling is left alone: name a program"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_thread_that_has_ended_is_known_by_when_it_was_started() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let tid = child.id();
        let chosen = Before::of(tid).map(|before| vec![before]);
        let while_there = chosen.as_ref().is_ok_and(|chosen| has_ended(chosen, tid));
        let is_named = chosen.as_ref().is_ok_and(|chosen| name_now(chosen, tid).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        let chosen = chosen.unwrap();
        assert!(!while_there && is_named && has_ended(&chosen, tid) && name_now(&chosen, tid).is_none());
        assert!(!has_ended(&chosen, std::process::id()), "it was not chosen");
    }
}
