//! Names the places in programs, after the measurement: that takes reading large files.

use super::symbols::{ProgramSymbols, offset_of_unnamed};
use punctual_kernel::ending;
use punctual_kernel::scheduling::Eager;
use punctual_recording::episode::{Frame, MAX_FRAMES};
use punctual_recording::{Directory, Episode, rewrite_episodes};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Naming, with reading and writing the episodes for it, takes no longer than this; what is left then keeps its file and offset.
const PATIENCE: Duration = Duration::from_secs(5);
/// Nor does it go on when the measurement has been over for this long, since writing what waited is part of the end ...
const END: Duration = Duration::from_secs(10);
/// ... but it always has this much.
const MIN_PATIENCE: Duration = Duration::from_secs(1);
/// Nor does it take this long once the program was asked to end, which is how most recordings end. Then it does not
/// look into files that take long by themselves, those larger than this, bytes.
const PATIENCE_ONCE_ASKED: Duration = Duration::from_millis(500);
const MAX_FILE_ONCE_ASKED: u64 = 16 << 20;

/// What each of these frames is once it is looked up, innermost first: more than one if functions were inlined. What
/// has no name, or is not looked up within this time, stays as it is. For when the measurement is over.
pub fn named_frames(frames: &[Frame], patience: Duration) -> Vec<Vec<Frame>> {
    let _eager = Eager::begin();
    let (mut symbols, began) = (ProgramSymbols::new(), Instant::now());
    let has_time = |path: &str| began.elapsed() < patience && (!ending::is_asked() || is_small(path));
    let found = look_up(frames, &mut |path, offset| has_time(path).then(|| symbols.find(path, offset)));
    let named = |frame: &Frame| {
        let offset = offset_of_unnamed(frame)?;
        found.get(&(frame.module.as_str(), offset)).cloned()
    };
    frames.iter().map(|frame| named(frame).unwrap_or_else(|| vec![frame.clone()])).collect()
}

/// Whether a frame is an address, or a place in a file, for want of a function's name.
pub fn is_unnamed(frame: &Frame) -> bool {
    frame.function.starts_with("0x") || frame.function.contains("+0x")
}

/// Names what can be named in the episodes of a recording whose measurement was over at this time. If that fails they
/// stay as they are.
pub(super) fn name_places(recording: &Directory, over: Instant) {
    // There is no measurement left for it to disturb, and whoever fills the CPUs does not decide how long it takes.
    let _eager = Eager::begin();
    let mut symbols = ProgramSymbols::new();
    let began = Instant::now();
    let _ = rewrite_episodes(recording, |episode| {
        let is_in_time = || match ending::is_asked() {
            false => is_patient(over.elapsed(), began.elapsed()),
            true => began.elapsed() < PATIENCE_ONCE_ASKED,
        };
        let has_time = |path: &str| is_in_time() && (!ending::is_asked() || is_small(path));
        name_episode(&mut symbols, episode, &has_time);
        // To read and write tens of megabytes takes seconds, too.
        if is_in_time() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
}

/// Whether naming, which began this long ago, goes on this long after the measurement.
fn is_patient(over: Duration, naming: Duration) -> bool {
    naming < MIN_PATIENCE || naming < PATIENCE && over < END
}

fn is_small(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.len() <= MAX_FILE_ONCE_ASKED)
}

fn name_episode(symbols: &mut ProgramSymbols, episode: &mut Episode, has_time: &dyn Fn(&str) -> bool) {
    let found = look_up(&episode.frames, &mut |path, offset| has_time(path).then(|| symbols.find(path, offset)));
    let mut frames = Vec::new();
    // What each frame becomes: more than one if functions were inlined.
    let mut becomes = Vec::with_capacity(episode.frames.len());
    for frame in &episode.frames {
        let first = frames.len() as u32;
        match offset_of_unnamed(frame).and_then(|offset| found.get(&(frame.module.as_str(), offset))) {
            Some(named) => frames.extend_from_slice(named),
            None => frames.push(frame.clone()),
        }
        becomes.push(first..frames.len() as u32);
    }
    let paths: BTreeSet<String> = found.into_keys().map(|(path, _)| path.to_owned()).collect();
    for sample in &mut episode.samples {
        let named = sample.frames.iter().filter_map(|&frame| becomes.get(frame as usize).cloned()).flatten();
        // Inlining has no limit, but readers refuse deeper stacks. The outermost frames go.
        sample.frames = named.take(MAX_FRAMES).collect();
    }
    episode.frames = frames;
    episode.builds = paths.into_iter().filter_map(|path| symbols.build_id(&path).map(|build| (path, build))).collect();
}

/// What `find` says of the places that have no name yet, by their files and offsets. It is asked for one file after the other, in
/// the order in which they first come: memory does not hold what it takes to look into many large ones at once.
fn look_up<'a>(
    frames: &'a [Frame],
    find: &mut dyn FnMut(&str, u64) -> Option<Vec<Frame>>,
) -> BTreeMap<(&'a str, u64), Vec<Frame>> {
    let mut files: Vec<(&str, BTreeSet<u64>)> = Vec::new();
    for frame in frames {
        let Some(offset) = offset_of_unnamed(frame) else { continue };
        match files.iter_mut().find(|(path, _)| *path == frame.module) {
            Some((_, offsets)) => {
                offsets.insert(offset);
            }
            None => files.push((frame.module.as_str(), BTreeSet::from([offset]))),
        }
    }
    let mut found = BTreeMap::new();
    for (path, offsets) in files {
        for offset in offsets {
            if let Some(named) = find(path, offset) {
                found.insert((path, offset), named);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_looked_up_file_by_file_and_each_once() {
        let frame = |function: &str, module: &str| Frame { function: function.to_owned(), module: module.to_owned() };
        let frames = [
            frame("z+0x20", "/bin/z"),
            frame("a+0x8", "/bin/a"),
            frame("schedule", "kernel"),
            frame("z+0x10", "/bin/z"),
            frame("a+0x8", "/bin/a"),
        ];
        let mut asked = Vec::new();
        let found = look_up(&frames, &mut |path, offset| {
            asked.push((path.to_owned(), offset));
            (path == "/bin/a").then(|| vec![frame("work", path)])
        });
        let of = |path: &str, offset| (path.to_owned(), offset);
        assert_eq!(asked, [of("/bin/z", 0x10), of("/bin/z", 0x20), of("/bin/a", 8)]);
        assert_eq!(found, BTreeMap::from([(("/bin/a", 8), vec![frame("work", "/bin/a")])]));
    }

    #[test]
    fn a_frame_without_a_name_says_where_it_is() {
        let frame = |function: &str, module: &str| Frame { function: function.to_owned(), module: module.to_owned() };
        let frames = [frame("gone+0x8", "/nowhere/gone"), frame("0x7f00", "unmapped"), frame("schedule", "kernel")];
        assert_eq!(named_frames(&frames, Duration::from_secs(9)), frames.clone().map(|frame| vec![frame]));
        assert_eq!(frames.each_ref().map(is_unnamed), [true, true, false]);
    }

    #[test]
    fn naming_ends_soon_after_the_measurement() {
        let seconds = Duration::from_secs_f64;
        assert!(is_patient(seconds(5.1), seconds(4.9)) && !is_patient(seconds(5.2), seconds(5.1)));
        // What waited to be written took long: little is left for names.
        assert!(is_patient(seconds(9.0), seconds(1.1)) && !is_patient(seconds(10.1), seconds(1.1)));
        assert!(is_patient(seconds(30.0), seconds(0.9)));
    }
}
