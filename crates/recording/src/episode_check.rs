//! What an episode that is read must keep to, so that whoever works with it can add and recurse.

use crate::episode::Episode;
use crate::printable::{is_printable, printable};

/// A stack deeper than this is none: the kernel gives 96 places, and functions that were inlined come between them.
pub const MOST_FRAMES: usize = 512;
/// Nobody waits longer than this, ns: a month.
const LONGEST_NS: u64 = 30 * 24 * 3_600 * 1_000_000_000;
/// What is measured by the minute is no sampling, and no path of an interrupt, ns.
const MINUTE_NS: u64 = 60_000_000_000;
/// Times after this would leave no room to add to them, ns.
const LAST_NS: u64 = i64::MAX as u64 / 2;

/// What is wrong with an episode that was read.
pub(crate) fn check(episode: &Episode) -> Result<(), String> {
    let at_most = |what: &str, value: u64, most: u64| {
        if value > most { Err(format!("{what} is {value} ns, more than can be")) } else { Ok(()) }
    };
    at_most("expected_ns", episode.expected_ns, LAST_NS)?;
    at_most("total_ns", episode.total_ns(), LONGEST_NS)?;
    at_most("threshold_ns", episode.threshold_ns, LAST_NS)?;
    at_most("usual_delivery_ns", episode.usual_delivery_ns, MINUTE_NS)?;
    at_most("fault_path_ns", episode.fault_path_ns, MINUTE_NS)?;
    at_most("sample_period_ns", episode.sample_period_ns, MINUTE_NS)?;
    for event in &episode.events {
        at_most("the time of an event", event.at_ns, LAST_NS)?;
        at_most("the host's time of an event", event.steal_ns, LAST_NS)?;
    }
    for sample in &episode.samples {
        at_most("the time of a sample", sample.at_ns, LAST_NS)?;
        let depth = sample.frames.len();
        if depth > MOST_FRAMES {
            return Err(format!("a stack of {depth} functions is deeper than any can be"));
        }
    }
    for program in &episode.programs {
        at_most("the time of a program", program.ran_ns.unwrap_or(0), LAST_NS)?;
    }
    Ok(())
}

/// Makes every name of an episode one that stands on a line and steers no terminal.
pub(crate) fn clean(episode: &mut Episode) {
    let clean = |name: &mut String| {
        if !is_printable(name) {
            *name = printable(name);
        }
    };
    clean(&mut episode.victim.name);
    episode.void.iter_mut().for_each(clean);
    episode.names.iter_mut().for_each(clean);
    for frame in &mut episode.frames {
        clean(&mut frame.function);
        clean(&mut frame.module);
    }
    for program in &mut episode.programs {
        clean(&mut program.name);
        clean(&mut program.hook);
    }
    for (path, build) in &mut episode.builds {
        clean(path);
        clean(build);
    }
}
