//! The bounds that an episode must keep when it is read, so that whoever works with it can safely add and recurse.

use crate::episodes::episode::{Episode, EventKind, MAX_FRAMES};
use crate::format::bounds::{
    MAX_EPISODE_DESCRIPTORS, MAX_EPISODE_EVENTS, MAX_EPISODE_FRAMES, MAX_EPISODE_SAMPLES, MAX_EPISODE_TEXT_BYTES,
};
use crate::format::printable::{is_printable, printable};

/// Nobody waits longer than this, ns: a month.
const MAX_NS: u64 = 30 * 24 * 3_600 * 1_000_000_000;
/// No sampling period and no path of an interrupt lasts a minute, ns.
const MINUTE_NS: u64 = 60_000_000_000;
/// Later times than this would leave no room to add to them, ns.
const LAST_NS: u64 = i64::MAX as u64 / 2;

/// What is wrong with an episode that was read.
pub(crate) fn check(episode: &Episode) -> Result<(), String> {
    let at_most = |what: &str, value: u64, max: u64| {
        if value > max { Err(format!("{what} is {value} ns, more than is possible")) } else { Ok(()) }
    };
    at_most("expected_ns", episode.expected_ns, LAST_NS)?;
    at_most("total_ns", episode.total_ns(), MAX_NS)?;
    at_most("threshold_ns", episode.threshold_ns, LAST_NS)?;
    at_most("usual_delivery_ns", episode.usual_delivery_ns, MINUTE_NS)?;
    at_most("fault_path_ns", episode.fault_path_ns, MINUTE_NS)?;
    at_most("sample_period_ns", episode.sample_period_ns, MINUTE_NS)?;
    check_size(episode)?;
    for event in &episode.events {
        at_most("the time of an event", event.at_ns, LAST_NS)?;
        at_most("the host's time of an event", event.steal_ns, LAST_NS)?;
    }
    for sample in &episode.samples {
        at_most("the time of a sample", sample.at_ns, LAST_NS)?;
        let depth = sample.frames.len();
        if depth > MAX_FRAMES {
            return Err(format!("a stack of {depth} functions is deeper than any can be"));
        }
    }
    for program in &episode.programs {
        at_most("the time of a program", program.ran_ns.unwrap_or(0), LAST_NS)?;
    }
    Ok(())
}

/// Whoever works with an episode may give each event a name of its own, and names each function of a stack. Function
/// names are long in some languages, and are used only where a stack has them.
fn check_size(episode: &Episode) -> Result<(), String> {
    let at_most = |what: &str, many: usize, max: usize| {
        if many > max { Err(format!("it has {many} {what}; {max} are read at most")) } else { Ok(()) }
    };
    let frames = episode.samples.iter().map(|sample| sample.frames.len()).sum::<usize>();
    at_most("events", episode.events.len(), MAX_EPISODE_EVENTS)?;
    at_most("samples", episode.samples.len(), MAX_EPISODE_SAMPLES)?;
    at_most("functions in all stacks", frames, MAX_EPISODE_FRAMES)?;
    let descriptors = episode.accepted.len().saturating_add(episode.connected.len());
    at_most("descriptors of connections", descriptors, MAX_EPISODE_DESCRIPTORS)?;
    at_most("paths of local sockets", episode.sockets.len(), MAX_EPISODE_DESCRIPTORS)?;
    at_most("members of groups", episode.members.len(), MAX_EPISODE_EVENTS)?;
    at_most("groups", episode.groups.len(), MAX_EPISODE_EVENTS)?;
    at_most("processes", episode.processes.len(), MAX_EPISODE_EVENTS)?;
    let threads = episode.processes.iter().map(|process| process.threads.len()).sum();
    at_most("threads of processes", threads, MAX_EPISODE_EVENTS)?;
    at_most("bytes of names where they are used", bytes_of_names(episode), MAX_EPISODE_TEXT_BYTES)
}

/// Roughly the most bytes that an episode takes up when it is judged: names wherever they are used, and the size of
/// each event and of each function of a stack.
pub(super) fn bytes_when_told(episode: &Episode) -> usize {
    const EVENT_BYTES: usize = 64;
    let frames = episode.samples.iter().map(|sample| sample.frames.len()).sum::<usize>();
    bytes_of_names(episode).saturating_add((episode.events.len() + frames) * EVENT_BYTES)
}

/// The number of bytes that its names may take wherever they are used, if each were as long as the longest.
fn bytes_of_names(episode: &Episode) -> usize {
    let groups = episode.groups.iter().map(|group| &group.path);
    let programs = episode.programs.iter().flat_map(|program| [&program.name, &program.hook]);
    let processes = episode.processes.iter().map(|process| &process.name);
    let names = episode.names.iter().chain(programs).chain(groups).chain(processes);
    let names = names.chain([&episode.victim.name]).chain(&episode.disk_limit);
    let longest = names.map(String::len).max().unwrap_or(0);
    let stacks = episode.samples.iter().flat_map(|sample| &sample.frames);
    let called = stacks.filter_map(|&number| episode.frames.get(number as usize));
    let functions = called.map(|frame| frame.function.len() + frame.module.len());
    let text = functions.fold(longest.saturating_mul(episode.events.len()), usize::saturating_add);
    // One stack at a late interrupt may stand for every interrupt around it.
    let late = episode.samples.iter().filter(|sample| sample.at_late_interrupt).flat_map(|sample| &sample.frames);
    let late = late.filter_map(|&number| episode.frames.get(number as usize));
    let longest_late = late.map(|frame| frame.function.len()).max().unwrap_or(0);
    let interrupts = episode.events.iter().filter(|event| event.kind == EventKind::VectorBegin).count();
    text.saturating_add(longest_late.saturating_mul(interrupts))
}

/// Makes every name of an episode fit on a line and unable to control a terminal.
pub(crate) fn clean(episode: &mut Episode) {
    let clean = |name: &mut String| {
        if !is_printable(name) {
            *name = printable(name);
        }
    };
    clean(&mut episode.victim.name);
    episode.void.iter_mut().for_each(clean);
    episode.disk_limit.iter_mut().for_each(clean);
    episode.names.iter_mut().for_each(clean);
    for frame in &mut episode.frames {
        clean(&mut frame.function);
        clean(&mut frame.module);
    }
    for program in &mut episode.programs {
        clean(&mut program.name);
        clean(&mut program.hook);
    }
    for group in &mut episode.groups {
        clean(&mut group.path);
    }
    for process in &mut episode.processes {
        clean(&mut process.name);
    }
    episode.sockets.iter_mut().for_each(|(_, path)| clean(path));
    for (path, build) in &mut episode.builds {
        clean(path);
        clean(build);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episodes::episode::Victim;

    /// Each wait of an episode is looked for among them: a forged list would make that take without end.
    #[test]
    fn an_episode_has_no_more_descriptors_than_a_program_can_be_looked_at_with() {
        let victim = Victim { tid: 7, name: "late".to_owned(), priority: 19, cpu: 0 };
        let mut episode = Episode::of(victim, 1_000, 2_000);
        episode.accepted = vec![4; MAX_EPISODE_DESCRIPTORS / 2];
        episode.connected = vec![5; MAX_EPISODE_DESCRIPTORS / 2];
        assert_eq!(check(&episode), Ok(()));
        episode.connected.push(6);
        let error = check(&episode).unwrap_err();
        assert_eq!(error, "it has 1025 descriptors of connections; 1024 are read at most");
    }
}
