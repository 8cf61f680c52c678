//! One study of a process at a time: another one would take what this one tries for how the threads were scheduled before, and put them back
//! to that.

use super::applied::directory;
use anyhow::bail;
use punctual_recording::{Directory, Lock};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

/// How long to wait for a study that is just ending.
const PATIENCE: Duration = Duration::from_millis(100);

/// Keeps other studies of this user from these processes for as long as what is returned lives. Where there is no directory for that,
/// nothing keeps them.
pub(super) fn with(processes: &[u32]) -> anyhow::Result<Vec<Lock>> {
    if processes.is_empty() {
        return Ok(Vec::new());
    }
    let made = directory().and_then(|place| Ok((Directory::make(&place)?, place)));
    let Ok((directory, place)) = made else { return Ok(Vec::new()) };
    remove_left(&directory, &place);
    locked(&directory, processes)
}

/// Removes the files of locks that nobody holds: a study that was killed left them in this directory, which is at `place`.
fn remove_left(directory: &Directory, place: &Path) {
    let Ok(entries) = std::fs::read_dir(place) else { return };
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let process = name.strip_prefix("process-").and_then(|rest| rest.strip_suffix(".lock"));
        if process.is_some_and(|process| process.parse::<u32>().is_ok()) {
            // Whoever has held it removes its file.
            drop(Lock::take(directory, &name, Duration::ZERO));
        }
    }
}

fn locked(directory: &Directory, processes: &[u32]) -> anyhow::Result<Vec<Lock>> {
    let mut held = Vec::new();
    // Each once: whoever holds a lock does not get it again, either.
    let processes: BTreeSet<u32> = processes.iter().copied().collect();
    for process in processes {
        match Lock::take(directory, &format!("process-{process}.lock"), PATIENCE) {
            Ok(lock) => held.push(lock),
            Err(error) if error.kind() == ErrorKind::TimedOut => bail!(
                "another `punctual reserve` tries settings of process {process}, and would disturb this one: begin again when it has ended"
            ),
            // The study itself needs no lock.
            Err(_) => {}
        }
    }
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_that_a_killed_study_left_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::make(place.path()).unwrap();
        let held = locked(&directory, &[8]).unwrap();
        for name in ["process-7.lock", "process-12345.lock", "process-x.lock", "reserved.json"] {
            directory.write(name, b"").unwrap();
        }
        let names = || {
            let entries = std::fs::read_dir(place.path()).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names().len(), 5);
        remove_left(&directory, place.path());
        assert_eq!(names(), ["process-8.lock", "process-x.lock", "reserved.json"]);
        drop(held);
    }

    #[test]
    fn a_second_study_of_a_process_is_refused_until_the_first_has_ended() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::make(place.path()).unwrap();
        let first = locked(&directory, &[7, 8, 7]).unwrap();
        let refused = locked(&directory, &[9, 8]).unwrap_err().to_string();
        assert!(refused.contains("process 8"), "{refused}");
        assert_eq!((first.len(), locked(&directory, &[9]).unwrap().len()), (2, 1), "what was refused holds nothing");
        drop(first);
        assert_eq!(locked(&directory, &[7, 8]).unwrap().len(), 2);
    }
}
