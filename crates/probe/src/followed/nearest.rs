//! What somebody may have meant by a name that no thread has, or only threads that do not work.

use super::selection::{NAME_BYTES, Selection, is_own, name_of, processes, threads_of};
use punctual_recording::{FollowedThread, counted, printable};
use std::collections::BTreeSet;

/// How many names to look at: a machine may have any number of threads.
const MAX_NAMES: usize = 16_384;
/// How alike a name must be to be suggested, from 0 to 1.
const ALIKE: f64 = 0.6;
/// The most names in a note, and the most notes.
const MAX_NAMED: usize = 3;

/// For each name that was asked for: says whose program has it where its threads have others, that it is longer than the kernel
/// keeps, or which existing name it is most like.
pub(super) fn nearest_names(selection: &Selection) -> Vec<String> {
    let literals = selection.expressions().filter_map(literal);
    let mut names: Option<BTreeSet<String>> = None;
    let meant = |literal: String| {
        program_named(&literal).or_else(|| nearest_name(&literal, names.get_or_insert_with(all_names)))
    };
    literals.filter_map(meant).collect()
}

/// Says what the threads of the first process whose program has this name are called.
fn program_named(wanted: &str) -> Option<String> {
    let is_meant = |process: &u32| {
        let program = std::fs::read_link(format!("/proc/{process}/exe"));
        program.is_ok_and(|program| program.file_name().is_some_and(|name| name == wanted))
    };
    let process = processes().into_iter().find(|process| is_meant(process) && !is_own(*process))?;
    let names: BTreeSet<String> = threads_of(process).into_iter().filter_map(name_of).take(MAX_NAMES).collect();
    in_program(wanted, process, &names)
}

/// Says that threads of a program are called otherwise; nothing if one is called so.
fn in_program(program: &str, process: u32, names: &BTreeSet<String>) -> Option<String> {
    let kept = program.get(..NAME_BYTES).unwrap_or(program);
    let called = names.first().filter(|_| !names.contains(kept))?;
    Some(format!(
        "{} is a program, and its threads have names of their own, such as {}: `--pid {process}` follows them all",
        printable(program),
        printable(called)
    ))
}

fn all_names() -> BTreeSet<String> {
    let others = processes().into_iter().filter(|&process| !is_own(process));
    others.flat_map(threads_of).filter_map(name_of).take(MAX_NAMES).collect()
}

/// The name that a regular expression stands for, if it stands for one.
fn literal(expression: &str) -> Option<String> {
    let name = expression.trim_start_matches('^').trim_end_matches('$');
    let stands_for_itself = |letter: char| letter.is_alphanumeric() || "-_/:. ".contains(letter);
    name.chars().all(stands_for_itself).then(|| name.to_owned())
}

/// Says that a name is longer than the kernel keeps, or which of these it is most like: `did you mean ffmpeg?`.
pub fn nearest_name(wanted: &str, names: &BTreeSet<String>) -> Option<String> {
    if let Some(kept) = wanted.get(..NAME_BYTES).filter(|kept| *kept != wanted) {
        return Some(format!("the kernel keeps {NAME_BYTES} bytes of a name: write {kept}"));
    }
    let wanted = wanted.to_lowercase();
    // Somebody may mean a name by its beginning, as kworker/0:1-events by kworker.
    let alike = |name: &String| {
        let name = name.to_lowercase();
        let beginning: String = name.chars().take(wanted.chars().count() + 1).collect();
        let by_beginning = strsim::normalized_damerau_levenshtein(&wanted, &beginning);
        strsim::normalized_damerau_levenshtein(&wanted, &name).max(0.95 * by_beginning)
    };
    let best = names.iter().max_by(|left, right| alike(left).total_cmp(&alike(right)))?;
    (alike(best) >= ALIKE).then(|| format!("did you mean {best}?"))
}

/// For each process that has followed threads: which others it has, and how to follow them all.
pub(super) fn threads_beside(followed: &[FollowedThread]) -> Vec<String> {
    let processes: BTreeSet<u32> = followed.iter().map(|thread| thread.process).collect();
    let tids: BTreeSet<u32> = followed.iter().map(|thread| thread.tid).collect();
    let beside = |process: u32| {
        let others = threads_of(process).into_iter().filter(|tid| !tids.contains(tid));
        let names: BTreeSet<String> = others.filter_map(name_of).collect();
        not_followed(process, &names)
    };
    processes.into_iter().filter_map(beside).take(MAX_NAMED).collect()
}

/// Says that a process has threads of these names too, if there are any.
fn not_followed(process: u32, names: &BTreeSet<String>) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let named: Vec<String> = names.iter().take(MAX_NAMED).map(|name| printable(name)).collect();
    let more = match names.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {}", counted(more, "other name")),
    };
    Some(format!(
        "process {process} also has threads of other names, which were not followed: {}{more}; `--pid {process}` follows them all",
        named.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::{in_program, literal, nearest_name, not_followed, threads_beside};
    use punctual_recording::FollowedThread;
    use std::collections::BTreeSet;

    #[test]
    fn the_name_that_was_meant() {
        let names = ["ffmpeg", "pipewire", "GUI Thread", "kworker/0:1-events"].map(str::to_owned).into();
        let told = |wanted: &str| nearest_name(&literal(wanted)?, &names);
        assert_eq!(told("^ffmpg$").as_deref(), Some("did you mean ffmpeg?"));
        assert_eq!(told("gui thread").as_deref(), Some("did you mean GUI Thread?"));
        assert_eq!(told("kworkr").as_deref(), Some("did you mean kworker/0:1-events?"));
        assert_eq!(told("toaster"), None);
        // Neither of two names, as with one that is too long.
        assert_eq!(told("ffmpg|pipewire-pulse"), None);
        let long = "a-name-of-more-than-15";
        assert_eq!(told(long).as_deref(), Some("the kernel keeps 15 bytes of a name: write a-name-of-more-"));
    }

    #[test]
    fn a_program_whose_threads_are_called_otherwise_is_followed_by_its_process() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        assert_eq!(
            in_program("my-loop", 12, &names(&["robot-loop"])).as_deref(),
            Some(
                "my-loop is a program, and its threads have names of their own, such as robot-loop: `--pid 12` follows them all"
            )
        );
        assert_eq!(in_program("my-loop", 12, &names(&["my-loop", "robot-loop"])), None);
        assert_eq!(in_program("my-loop", 12, &names(&[])), None);
        assert_eq!(in_program("a-name-of-more-than-15", 12, &names(&["a-name-of-more-"])), None);
    }

    #[test]
    fn a_process_is_said_to_have_other_threads() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        assert_eq!(not_followed(12, &names(&[])), None);
        assert_eq!(
            not_followed(12, &names(&["robot-ctl"])).as_deref(),
            Some(
                "process 12 also has threads of other names, which were not followed: robot-ctl; `--pid 12` follows them all"
            )
        );
        let many = not_followed(12, &names(&["a", "b", "c", "d", "e"])).unwrap();
        assert!(many.contains(": a, b, c and 2 other names;"), "{many}");
        // Of this process only this thread is followed.
        let process = std::process::id();
        let (done, end) = std::sync::mpsc::channel::<()>();
        let other = std::thread::Builder::new().name("beside".to_owned()).spawn(move || end.recv().is_ok()).unwrap();
        let tid = punctual_kernel::clock::thread_id();
        let notes = threads_beside(&[FollowedThread { tid, process, ..FollowedThread::default() }]);
        drop(done);
        other.join().unwrap();
        assert!(notes.len() == 1 && notes[0].contains(&format!("`--pid {process}`")), "{notes:?}");
    }
}
