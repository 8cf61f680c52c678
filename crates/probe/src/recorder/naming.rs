//! Names the places in programs, after the measurement: that takes reading large files.

use super::symbols::{ProgramSymbols, offset_of_unnamed};
use punctual_kernel::ending;
use punctual_kernel::scheduling::Eager;
use punctual_recording::episode::MAX_FRAMES;
use punctual_recording::{Directory, Episode, rewrite_episodes};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Naming takes no longer than this; what is left then keeps its file and offset.
const PATIENCE: Duration = Duration::from_secs(5);
/// Nor does it go on when the measurement has been over for this long, since writing what waited is part of the end ...
const END: Duration = Duration::from_secs(10);
/// ... but it always has this much.
const MIN_PATIENCE: Duration = Duration::from_secs(1);
/// Nor does it take this long once the program was asked to end, which is how most recordings end. Then it does not
/// look into files that take long by themselves, those larger than this, bytes.
const PATIENCE_ONCE_ASKED: Duration = Duration::from_millis(500);
const MAX_FILE_ONCE_ASKED: u64 = 16 << 20;

/// Names what can be named in the episodes of a recording whose measurement was over at this time. If that fails they
/// stay as they are.
pub(super) fn name_places(recording: &Directory, over: Instant) {
    // There is no measurement left for it to disturb, and whoever fills the CPUs does not decide how long it takes.
    let _eager = Eager::begin();
    let mut symbols = ProgramSymbols::new();
    let began = Instant::now();
    let _ = rewrite_episodes(recording, |episode| {
        let has_time = |path: &str| match ending::is_asked() {
            false => is_patient(over.elapsed(), began.elapsed()),
            true => began.elapsed() < PATIENCE_ONCE_ASKED && is_small(path),
        };
        name_episode(&mut symbols, episode, &has_time);
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
    let mut frames = Vec::new();
    // What each frame becomes: more than one if functions were inlined.
    let mut becomes = Vec::with_capacity(episode.frames.len());
    let mut paths = BTreeSet::new();
    for frame in &episode.frames {
        let named = match offset_of_unnamed(frame) {
            Some(offset) if has_time(&frame.module) => {
                paths.insert(frame.module.clone());
                symbols.find(&frame.module, offset)
            }
            _ => vec![frame.clone()],
        };
        let first = frames.len() as u32;
        frames.extend(named);
        becomes.push(first..frames.len() as u32);
    }
    for sample in &mut episode.samples {
        let named = sample.frames.iter().filter_map(|&frame| becomes.get(frame as usize).cloned()).flatten();
        // Inlining has no limit, but readers refuse deeper stacks. The outermost frames go.
        sample.frames = named.take(MAX_FRAMES).collect();
    }
    episode.frames = frames;
    episode.builds = paths.into_iter().filter_map(|path| symbols.build_id(&path).map(|build| (path, build))).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naming_ends_soon_after_the_measurement() {
        let seconds = Duration::from_secs_f64;
        assert!(is_patient(seconds(5.1), seconds(4.9)) && !is_patient(seconds(5.2), seconds(5.1)));
        // What waited to be written took long: little is left for names.
        assert!(is_patient(seconds(9.0), seconds(1.1)) && !is_patient(seconds(10.1), seconds(1.1)));
        assert!(is_patient(seconds(30.0), seconds(0.9)));
    }
}
