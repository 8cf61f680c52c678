//! Whom a user wants to follow, and the words for it in a recording.

use crate::document::contents::{Document, Followed};
use crate::document::load::{LoadInfo, NO_LOAD};
use crate::{Distribution, Stage};
use std::collections::HashSet;
use std::fmt;

const PROCESS: &str = "process ";
const THREAD: &str = "thread ";
const NAMED: &str = "threads named ";
const COMMAND: &str = "the command and all it starts";

/// Whom a user wants to follow. [`fmt::Display`] gives the words of [`crate::Followed::asked`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// All threads of a process.
    Process(u32),
    /// One thread.
    Thread(u32),
    /// All threads whose names match a regular expression.
    Named(&'a str),
    /// The command that was started, and everything that it starts.
    Command,
}

impl Followed {
    /// Whether these are the threads of the command that was started; then it was not a load.
    pub fn is_of_the_command(&self) -> bool {
        self.asked.iter().any(|words| Asked::parse(words) == Some(Asked::Command))
    }

    /// The names of the threads to which the period applies; none without one.
    pub fn loop_names(&self) -> Vec<String> {
        let loops = self.threads.iter().filter(|thread| self.period_ns.is_some() && !thread.is_context);
        loops.map(|thread| thread.name.clone()).collect()
    }

    /// The ids of the threads that are there for context, by the last name of each.
    pub fn context(&self) -> HashSet<u32> {
        let mut context = HashSet::new();
        for thread in &self.threads {
            if thread.is_context {
                context.insert(thread.tid);
            } else {
                context.remove(&thread.tid);
            }
        }
        context
    }
}

impl LoadInfo {
    /// The name of the load beside the last of its commands, and that command, as it was given.
    fn split_command(&self) -> Option<(&str, &str)> {
        let command = self.commands.last()?.join(" ");
        let beside = self.name.strip_suffix(&command)?;
        let command = &self.name[beside.len()..];
        match beside {
            "" => Some((NO_LOAD, command)),
            _ => Some((beside.strip_suffix('+')?, command)),
        }
    }
}

impl Document {
    /// The command that was started and followed, if that is what was measured.
    pub fn followed_command(&self) -> Option<&str> {
        self.measured_command().map(|(_, command)| command)
    }

    /// The load beside the command that was started while threads were followed, and that command. It may be
    /// the followed threads' own, and need not be a load.
    pub fn started_command(&self) -> Option<(&str, &str)> {
        self.followed.as_ref()?;
        self.provenance.load.split_command()
    }

    /// The name of the load beside what was measured; [`NO_LOAD`] if there was none. A command that was followed is no
    /// load.
    pub fn load_beside(&self) -> &str {
        let load = &self.provenance.load;
        self.measured_command().map_or_else(|| load.name_or_none(), |(beside, _)| beside)
    }

    /// Every value of a stage to which limits apply, over all tasks: those of threads that are there for context do not count.
    pub fn judged(&self, stage: Stage) -> Distribution {
        let context = self.context_measures();
        self.distributions.sum(|key| key.stage == stage && !context.contains(key.measure.as_str()))
    }

    /// The measures that only threads have which are there for context.
    pub fn context_measures(&self) -> HashSet<&str> {
        let threads = || self.tasks.iter().zip(self.followed.iter().flat_map(|followed| &followed.threads));
        let of = |is_context: bool| {
            let those = threads().filter(move |(_, thread)| thread.is_context == is_context);
            those.map(|(task, _)| task.measure.as_str()).collect::<HashSet<&str>>()
        };
        &of(true) - &of(false)
    }

    fn measured_command(&self) -> Option<(&str, &str)> {
        self.started_command().filter(|_| self.followed.as_ref().is_some_and(Followed::is_of_the_command))
    }
}

impl Asked<'_> {
    /// Parses these words; `None` for any other words.
    pub fn parse(words: &str) -> Option<Asked<'_>> {
        if words == COMMAND {
            return Some(Asked::Command);
        }
        let id = |prefix| words.strip_prefix(prefix)?.parse().ok();
        let named = || words.strip_prefix(NAMED).map(Asked::Named);
        id(PROCESS).map(Asked::Process).or_else(|| id(THREAD).map(Asked::Thread)).or_else(named)
    }
}

impl fmt::Display for Asked<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Asked::Process(process) => write!(formatter, "{PROCESS}{process}"),
            Asked::Thread(thread) => write!(formatter, "{THREAD}{thread}"),
            Asked::Named(expression) => write!(formatter, "{NAMED}{expression}"),
            Asked::Command => formatter.write_str(COMMAND),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FollowedThread;

    #[test]
    fn the_command_is_told_from_the_load_beside_it() {
        let load = |name: &str, commands: &[&[&str]]| LoadInfo {
            name: name.to_owned(),
            commands: commands.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect(),
            ..LoadInfo::default()
        };
        let own: &[&str] = &["./my-loop", "120"];
        assert_eq!(load("./my-loop 120", &[own]).split_command(), Some((NO_LOAD, "./my-loop 120")));
        let both = load("mixed+office+./my-loop 120", &[&["stress-ng"], own]);
        assert_eq!(both.split_command(), Some(("mixed+office", "./my-loop 120")));
        assert_eq!(load("x./my-loop 120", &[own]).split_command(), None);
        assert_eq!(load("mixed", &[&["stress-ng"]]).split_command(), None);
        assert_eq!(load("none", &[]).split_command(), None);
    }

    #[test]
    fn a_thread_counts_by_its_last_name() {
        let thread = |tid, is_context| FollowedThread { tid, is_context, ..FollowedThread::default() };
        let threads = vec![thread(1, true), thread(2, false), thread(3, true), thread(1, false), thread(2, true)];
        let followed = Followed { threads, ..Followed::default() };
        assert_eq!(followed.context(), HashSet::from([2, 3]));
    }

    #[test]
    fn a_period_applies_to_what_is_not_there_for_context() {
        let thread =
            |name: &str, is_context| FollowedThread { name: name.to_owned(), is_context, ..FollowedThread::default() };
        let threads = vec![thread("synth-audio", false), thread("synth-loader", true)];
        for (period_ns, names) in [(None, vec![]), (Some(1_333_333), vec!["synth-audio"])] {
            let followed = Followed { period_ns, threads: threads.clone(), ..Followed::default() };
            assert_eq!(followed.loop_names(), names, "{period_ns:?}");
        }
    }

    #[test]
    fn its_words_are_read_back_and_no_others() {
        for asked in [Asked::Process(4711), Asked::Thread(12), Asked::Named("^worker|db$"), Asked::Command] {
            assert_eq!(Asked::parse(&asked.to_string()), Some(asked));
        }
        for words in ["", "process", "process x", "thread -1", "threads", "the command"] {
            assert_eq!(Asked::parse(words), None, "{words}");
        }
    }
}
