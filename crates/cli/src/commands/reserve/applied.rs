//! Which threads keep a reservation, and what they were like before: a file of the caller's own that does not survive a
//! reboot.

use anyhow::{Context as _, ensure};
use punctual_kernel::Refused;
use punctual_kernel::capabilities::is_root;
use punctual_kernel::other_thread::Before;
use punctual_recording::{Directory, Lock, Place, input};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many threads are noted at most: no change is made that could not be undone.
const MAX_THREADS: usize = 4_096;
/// The file of the notes.
const NOTES: &str = "reserved.json";
/// How long to wait for others who note or undo something: less than the keeper waits for a sign of life of this process.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Default, Serialize, Deserialize)]
struct Applied {
    threads: Vec<Before>,
}

/// The directory of the notes: in /run for root, where the session keeps its files for anybody else.
pub(super) fn directory() -> anyhow::Result<PathBuf> {
    if is_root() {
        return Ok(PathBuf::from("/run/punctual"));
    }
    let session = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
    let session = session.context("XDG_RUNTIME_DIR is not set: there is no place to note what --apply changes")?;
    Ok(PathBuf::from(session).join("punctual"))
}

fn file() -> anyhow::Result<PathBuf> {
    Ok(directory()?.join(NOTES))
}

/// Checks whether the notes can be written.
pub(super) fn check() -> anyhow::Result<()> {
    let directory = directory()?;
    Directory::make(&directory)?;
    let place = Place::of(&file()?)?;
    place.try_to_write().with_context(|| format!("{}: cannot note what --apply changes", directory.display()))
}

/// Nobody else reads or changes the notes until this is dropped.
fn hold(directory: &Path) -> anyhow::Result<Lock> {
    let held = Lock::take(&Directory::make(directory)?, "reserved.lock", PATIENCE);
    held.with_context(|| format!("{}: the notes on what --apply changed", directory.display()))
}

/// Keeps others from noting anything until this is dropped; `None` if nothing is noted.
pub(super) fn hold_what_is_noted() -> anyhow::Result<Option<Lock>> {
    if !file()?.exists() {
        return Ok(None);
    }
    hold(&directory()?).map(Some)
}

/// The threads that are noted.
pub(super) fn take() -> anyhow::Result<Vec<Before>> {
    read(&directory()?)
}

fn read(directory: &Path) -> anyhow::Result<Vec<Before>> {
    let path = directory.join(NOTES);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = input::read_text(&path).with_context(|| path.display().to_string())?;
    let applied: Applied =
        serde_json::from_str(&text).with_context(|| format!("{}: not a list of reservations", path.display()))?;
    Ok(applied.threads)
}

/// Notes threads, in the order of their changes, before these are made permanent: all of them, or none. A note about an older
/// thread with the same number is dropped.
pub(super) fn note(changed: &[Before]) -> Result<(), Refused> {
    let noted = directory().and_then(|directory| note_in(&directory, changed));
    noted.map_err(|error| Refused::because("noting what --apply changes", format!("{error:#}")))
}

fn note_in(directory: &Path, changed: &[Before]) -> anyhow::Result<()> {
    // Two that end at the same moment would each write what they had read before the other wrote.
    let _held = hold(directory)?;
    let known: Vec<Before> = read(directory)?.into_iter().filter(Before::is_there).collect();
    write(directory, with(known, changed)?)
}

/// Those that are known, and those that were changed since.
fn with(mut threads: Vec<Before>, changed: &[Before]) -> anyhow::Result<Vec<Before>> {
    for before in changed {
        // The first change is the one to go back behind.
        if !threads.iter().any(|known| known.tid == before.tid) {
            threads.push(before.clone());
        }
    }
    ensure!(
        threads.len() <= MAX_THREADS,
        "there is no room for more than {MAX_THREADS} threads: `punctual reserve undo` restores those that are noted"
    );
    Ok(threads)
}

/// Drops the notes of these threads, which were restored. Without the lock it would drop what others note meanwhile.
pub(super) fn forget(_held: &Lock, restored: &[u32]) -> anyhow::Result<()> {
    forget_in(&directory()?, restored)
}

fn forget_in(directory: &Path, restored: &[u32]) -> anyhow::Result<()> {
    let path = directory.join(NOTES);
    if !path.exists() {
        return Ok(());
    }
    let threads = without(read(directory)?, restored);
    if threads.is_empty() {
        Place::of(&path)?.remove();
        return Ok(());
    }
    write(directory, threads)
}

fn without(mut threads: Vec<Before>, restored: &[u32]) -> Vec<Before> {
    threads.retain(|before| !restored.contains(&before.tid));
    threads
}

fn write(directory: &Path, threads: Vec<Before>) -> anyhow::Result<()> {
    let text = serde_json::to_vec(&Applied { threads })?;
    Directory::make(directory)?;
    Ok(Place::of(&directory.join(NOTES))?.write(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn threads_that_are_noted_at_the_same_moment_are_all_noted() {
        let place = tempfile::tempdir().unwrap();
        let together = Barrier::new(8);
        for round in 0..10 {
            let directory = place.path().join(round.to_string());
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        let own = Before::of(punctual_kernel::clock::thread_id());
                        together.wait();
                        let noted = own.and_then(|own| note_in(&directory, &[own]).map_err(refused));
                        // Notes on threads that are gone are dropped.
                        together.wait();
                        noted.unwrap();
                    });
                }
            });
            assert_eq!(read(&directory).unwrap().len(), 8);
        }
    }

    #[test]
    fn what_is_forgotten_leaves_the_others_and_in_the_end_no_file() {
        let place = tempfile::tempdir().unwrap();
        let mut own = Before::of(punctual_kernel::clock::thread_id()).unwrap();
        note_in(place.path(), std::slice::from_ref(&own)).unwrap();
        own.tid += 1;
        let other = own.tid;
        write(place.path(), with(read(place.path()).unwrap(), &[own]).unwrap()).unwrap();
        forget_in(place.path(), &[other - 1]).unwrap();
        let left: Vec<u32> = read(place.path()).unwrap().iter().map(|before| before.tid).collect();
        assert_eq!(left, [other]);
        for _ in 0..2 {
            forget_in(place.path(), &[other]).unwrap();
            assert!(!place.path().join(NOTES).exists());
        }
    }

    fn refused(error: anyhow::Error) -> Refused {
        Refused::because("noting", format!("{error:#}"))
    }

    #[test]
    fn the_first_change_of_each_thread_is_noted_and_none_is_forgotten() {
        let own = Before::of(punctual_kernel::clock::thread_id()).unwrap();
        let thread = |tid: u32, name: &str| {
            let mut one = own.clone();
            (one.tid, one.name) = (tid, name.to_owned());
            one
        };
        let noted = with(vec![thread(1, "first")], &[thread(2, "other"), thread(1, "again")]).unwrap();
        assert_eq!(noted, [thread(1, "first"), thread(2, "other")]);
        let most: Vec<Before> = (0..MAX_THREADS as u32).map(|tid| thread(tid, "one")).collect();
        assert_eq!(with(most.clone(), &[thread(0, "again")]).unwrap(), most);
        let refused = with(most, &[thread(MAX_THREADS as u32, "too many")]).unwrap_err();
        assert!(refused.to_string().contains("reserve undo"), "{refused}");
        // The third one was noted while the first was restored and the second refused.
        let three = vec![thread(1, "restored"), thread(2, "refused"), thread(3, "new")];
        assert_eq!(without(three, &[1]), [thread(2, "refused"), thread(3, "new")]);
    }
}
