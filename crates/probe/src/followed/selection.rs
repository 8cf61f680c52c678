//! Whom to follow.

use crate::shared::error::PlanError;
use punctual_kernel::Refused;
pub(crate) use punctual_kernel::other_thread::threads_of;
pub(crate) use punctual_kernel::stat_line::processes;
use punctual_kernel::stat_line::{StatLine, number_in_status};
use punctual_recording::{Asked, FollowedThread};
use regex::Regex;

/// Threads of other programs: everything that any of the members names.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Processes: all their threads, including those that they start later.
    pub processes: Vec<u32>,
    /// Whether only the first of the processes must be there: the others are what it has started, and may end at any time.
    is_family: bool,
    /// Single threads.
    pub threads: Vec<u32>,
    /// Whoever has a name that one of these matches, including whoever takes one later.
    names: Vec<Regex>,
    /// Whether to follow the command that the measurement runs for, and everything that it starts.
    pub command: bool,
}

/// The kernel keeps this many bytes of a thread's name.
pub(super) const NAME_BYTES: usize = 15;

impl Selection {
    /// These processes.
    pub fn of_processes(processes: Vec<u32>) -> Selection {
        Selection { processes, ..Selection::default() }
    }

    /// A process, the first of these, and what it has started, any of which may end before it is followed.
    pub fn of_family(family: Vec<u32>) -> Selection {
        Selection { is_family: true, ..Selection::of_processes(family) }
    }

    /// This thread.
    pub fn of_thread(tid: u32) -> Selection {
        Selection::of_threads(vec![tid])
    }

    /// These threads.
    pub fn of_threads(threads: Vec<u32>) -> Selection {
        Selection { threads, ..Selection::default() }
    }

    /// Everybody, in each way that makes a difference to the programs.
    pub(super) fn of_everybody() -> Selection {
        Selection { names: Regex::new(".").into_iter().collect(), command: true, ..Selection::default() }
    }

    /// Adds whoever has a name that this regular expression matches somewhere.
    ///
    /// # Errors
    /// What is wrong with the expression, in one line.
    pub fn add_name(&mut self, expression: &str) -> Result<(), PlanError> {
        self.names.push(name_expression(expression)?);
        Ok(())
    }

    /// The regular expressions by which to look for names.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(Regex::as_str)
    }

    /// Whether anybody is selected.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.threads.is_empty() && self.names.is_empty() && !self.command
    }

    /// Whether threads are selected by their names.
    pub(crate) fn by_name(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether threads are selected both by name and in another way: then a thread that was started by one followed the
    /// other way may have a selected name without ever having taken it.
    pub(crate) fn is_mixed(&self) -> bool {
        self.by_name() && !(self.processes.is_empty() && self.threads.is_empty() && !self.command)
    }

    /// Whether threads are selected in no other way.
    pub(super) fn is_by_name_alone(&self) -> bool {
        self.by_name() && !self.is_mixed()
    }

    /// Whether a thread with this name is selected because of it.
    pub(crate) fn wants_name(&self, name: &str) -> bool {
        self.names.iter().any(|expression| expression.is_match(name))
    }

    /// Whether a thread is followed only because the command started it, and has none of the names that were asked for too: period,
    /// limits and threshold are then for the threads that have one.
    pub(super) fn is_context(&self, name: &str, tid: u32, process: u32) -> bool {
        let is_asked_for = || self.threads.contains(&tid) || self.processes.contains(&process) || self.wants_name(name);
        self.command && self.by_name() && !is_asked_for()
    }

    /// That no thread has a name that was asked for, in words, if the command's threads were followed and all of them are there for
    /// context.
    pub(super) fn only_context_in_words(&self, threads: &[FollowedThread]) -> Option<String> {
        (!threads.is_empty() && threads.iter().all(|thread| thread.is_context)).then(|| {
            let names: Vec<&str> = self.expressions().collect();
            format!(
                "no thread's name matched {}: no period, limit or threshold applied to the threads of the command",
                names.join(" or ")
            )
        })
    }

    /// In words, one for each thing that was asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        let processes = self.processes.iter().map(|process| Asked::Process(*process));
        let threads = self.threads.iter().map(|thread| Asked::Thread(*thread));
        let names = self.names.iter().map(|name| Asked::Named(name.as_str()));
        let command = self.command.then_some(Asked::Command);
        processes.chain(threads).chain(names).chain(command).map(|asked| asked.to_string()).collect()
    }

    /// That nobody of these was there, in words.
    pub(super) fn nobody_in_words(&self) -> String {
        if self.by_name() && !self.is_mixed() {
            let names: Vec<&str> = self.names.iter().map(Regex::as_str).collect();
            return format!("no running thread's name matches {}", names.join(" or "));
        }
        format!("there was nobody to follow: {}", self.asked().join(", "))
    }

    /// Whether the threads and processes that were asked for exist.
    ///
    /// # Errors
    /// The first that does not, in one line.
    pub fn check(&self) -> Result<(), Refused> {
        let there = |id: u32| !has_ended(id);
        if let Some(tid) = self.threads.iter().find(|tid| !there(**tid)) {
            return Err(Refused::because(
                format!("following thread {tid}"),
                "there is no such thread (`ps -eLo lwp,comm` lists them)",
            ));
        }
        let is_process = |id: u32| process_of(id) == Some(id) && threads_of(id).into_iter().any(there);
        let must_be_there = if self.is_family { 1 } else { self.processes.len() };
        match self.processes.iter().take(must_be_there).find(|process| !is_process(**process)) {
            Some(process) if there(*process) => {
                let owner = process_of(*process).map_or_else(String::new, |owner| format!(" of process {owner}"));
                let reason = format!("it is a thread{owner}, not a process: use --tid {process}");
                Err(Refused::because(format!("following process {process}"), reason))
            }
            Some(process) => Err(Refused::because(
                format!("following process {process}"),
                "there is no such process (`ps -eo pid,comm` lists them)",
            )),
            None => Ok(()),
        }
    }
}

/// A regular expression by which to look for names of threads.
///
/// # Errors
/// What is wrong with it, in one line.
pub fn name_expression(expression: &str) -> Result<Regex, PlanError> {
    Regex::new(expression).map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
        PlanError(format!("`{expression}` is not a regular expression ({reason}): write one such as ^ffmpeg"))
    })
}

/// What the kernel says about a thread. It holds the thread's name, which may be any bytes.
fn text_of(tid: u32, file: &str) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{tid}/{file}")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The process that a thread belongs to.
pub(crate) fn process_of(tid: u32) -> Option<u32> {
    number_of(tid, "Tgid")
}

fn number_of(tid: u32, field: &str) -> Option<u32> {
    number_in_status(&text_of(tid, "status")?, field)
}

/// Whether a process is this one, or a child that runs the same program, such as the one that guards the load: a name
/// never means their threads.
pub(crate) fn is_own(process: u32) -> bool {
    let own = std::process::id();
    let program = |process: u32| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    let is_helper =
        || number_of(process, "PPid") == Some(own) && program(process).is_some_and(|path| program(own) == Some(path));
    process == own || is_helper()
}

/// Whether a thread has ended: one that nobody has waited for yet is still listed.
pub(crate) fn has_ended(tid: u32) -> bool {
    let status = text_of(tid, "status").unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_none_or(|state| state.trim_start().starts_with(['Z', 'X']))
}

/// The name of a thread.
pub(crate) fn name_of(tid: u32) -> Option<String> {
    Some(text_of(tid, "comm")?.trim_end_matches('\n').to_owned())
}

/// The policy and real-time priority of a thread, as the kernel numbers them.
pub(crate) fn policy_of(tid: u32) -> Option<(u16, u16)> {
    let line = StatLine::of_process(tid)?;
    Some((line.field(41)?, line.field(40)?))
}

/// The name by which the programs know the command before it becomes the program: different in every run.
pub(crate) fn mark() -> String {
    let mut mark = format!("follow:{}", std::process::id());
    mark.truncate(NAME_BYTES);
    mark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_wrong_expressions_refused_in_one_line() {
        let mut selection = Selection::default();
        assert!(selection.is_empty());
        selection.add_name("^ff(mpeg|play)$").unwrap();
        assert!(selection.wants_name("ffmpeg") && !selection.wants_name("xffmpeg"));
        let error = selection.add_name("(").unwrap_err().to_string();
        assert!(error.contains("unclosed group") && !error.contains('\n'), "{error}");
        assert_eq!(selection.asked(), ["threads named ^ff(mpeg|play)$"]);
        assert_eq!(selection.nobody_in_words(), "no running thread's name matches ^ff(mpeg|play)$");
        selection.command = true;
        let nobody = selection.nobody_in_words();
        assert!(nobody.ends_with(": threads named ^ff(mpeg|play)$, the command and all it starts"), "{nobody}");
    }

    #[test]
    fn of_a_command_only_the_threads_with_the_names_are_judged() {
        let context = |selection: &Selection| {
            let threads = [("synth-audio", 8, 7), ("synth-loader", 9, 7)];
            threads.map(|(name, tid, process)| selection.is_context(name, tid, process))
        };
        let mut selection = Selection { command: true, ..Selection::default() };
        assert_eq!(context(&selection), [false, false], "no name was asked for");
        selection.add_name("^synth-audio").unwrap();
        assert_eq!(context(&selection), [false, true]);
        assert_eq!(
            context(&Selection { threads: vec![9], ..selection.clone() }),
            [false, false],
            "asked for by number"
        );
        assert_eq!(context(&Selection { command: false, processes: vec![7], ..selection.clone() }), [false, false]);
        let thread = |is_context| FollowedThread { is_context, ..FollowedThread::default() };
        assert_eq!(selection.only_context_in_words(&[thread(true), thread(false)]), None);
        assert_eq!(
            selection.only_context_in_words(&[thread(true), thread(true)]).as_deref(),
            Some(
                "no thread's name matched ^synth-audio: no period, limit or threshold applied to the threads of the command"
            )
        );
    }

    #[test]
    fn this_thread_is_found() {
        let tid = punctual_kernel::clock::thread_id();
        assert!(process_of(tid) == Some(std::process::id()) && !has_ended(tid));
        assert!(threads_of(std::process::id()).contains(&tid) && processes().contains(&std::process::id()));
        assert!(name_of(tid).is_some());
        assert_eq!(policy_of(tid), Some((0, 0)));
        assert!(mark().len() <= NAME_BYTES);
    }

    #[test]
    fn what_this_process_runs_of_itself_is_its_own_and_no_other_child_is() {
        use std::process::{Command, Stdio};
        const IS_HELPER: &str = "PUNCTUAL_TEST_IS_HELPER";
        if std::env::var_os(IS_HELPER).is_some() {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            return;
        }
        let (_, module) = module_path!().split_once("::").unwrap();
        let test = format!("{module}::what_this_process_runs_of_itself_is_its_own_and_no_other_child_is");
        let mut helper = Command::new(std::env::current_exe().unwrap());
        helper.args(["--exact", &test, "--nocapture"]).env(IS_HELPER, "1");
        for (mut command, expected) in [(helper, true), (Command::new("cat"), false)] {
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            let found = is_own(child.id());
            drop(child.stdin.take());
            let ended = child.wait().unwrap();
            assert!(ended.success(), "{command:?}: {ended}");
            assert_eq!(found, expected, "{command:?}");
        }
        assert!(is_own(std::process::id()) && !is_own(std::os::unix::process::parent_id()));
    }

    #[test]
    fn who_is_not_there_is_refused() {
        let none = 4_194_303;
        assert!(Selection { threads: vec![none], ..Selection::default() }.check().is_err());
        assert!(Selection { processes: vec![none], ..Selection::default() }.check().is_err());
        assert!(Selection { processes: vec![std::process::id()], ..Selection::default() }.check().is_ok());
    }

    #[test]
    fn what_a_process_started_may_have_ended_but_not_itself() {
        let (own, none) = (std::process::id(), 4_194_303);
        assert!(Selection::of_family(vec![own, none]).check().is_ok());
        assert!(Selection::of_family(vec![none, own]).check().is_err());
        assert!(Selection::of_processes(vec![own, none]).check().is_err());
    }

    #[test]
    fn a_thread_is_found_whatever_bytes_its_name_has() {
        let (named, wait) = std::sync::mpsc::channel();
        let (done, end) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            std::fs::write("/proc/thread-self/comm", b"n\xffo (1) text").unwrap();
            named.send(std::fs::read_link("/proc/thread-self").unwrap()).unwrap();
            let _ = end.recv();
        });
        let tid = wait.recv().unwrap().file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert!(!has_ended(tid));
        assert_eq!(process_of(tid), Some(std::process::id()));
        assert_eq!(name_of(tid).unwrap(), "n\u{fffd}o (1) text");
        assert!(policy_of(tid).is_some());
        drop(done);
        thread.join().unwrap();
    }
}
