//! Which code was at work for each input, as sampled stacks say. They are folded as they come and kept by number; names of
//! functions are looked up when all is over, because that takes reading large files.

use punctual_blame::{AtWork, CallTree, Room};
use punctual_probe::recorder::{is_unnamed, named_frames};
use punctual_recording::episode::Frame;
use punctual_recording::{
    CodeDocument, Episode, InputCode, InteractionWriter, MAX_CODE_DEPTH, MAX_CODE_NAME, MAX_CODE_OF_INPUT, printable,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// What stacks and frames may take until the end, bytes, roughly.
const MAX_HELD_BYTES: usize = 16 << 20;
/// A frame with its place in the table takes this much besides its words, which are there twice, bytes ...
const FRAME_BYTES: usize = 160;
/// ... and a stack this much besides its frames.
const STACK_BYTES: usize = 96;
/// How many files that lack names are told.
const TOLD_FILES: usize = 3;

/// The kernel gave a sample without a single address.
const NO_STACK: &str = "no stack";

/// A part of an input's time: why it passed, and who had it.
type PartName = (&'static str, String);
/// Stacks, innermost first, and how often each was seen.
type Stacks = BTreeMap<Vec<u32>, u64>;

/// The code of all inputs.
#[derive(Default)]
pub(crate) struct Code {
    /// Each once; stacks hold their numbers.
    frames: Vec<Frame>,
    numbers: HashMap<Frame, u32>,
    /// By input and part.
    inputs: BTreeMap<u32, BTreeMap<PartName, Stacks>>,
    held_bytes: usize,
    samples: u64,
    not_kept: u64,
}

impl Code {
    /// Takes a sample that saw somebody at work for an input. `known` remembers this episode's frames from one sample to the
    /// next, by their numbers there.
    pub(crate) fn take(
        &mut self,
        number: u32,
        part: PartName,
        episode: &Episode,
        work: &AtWork<'_>,
        known: &mut HashMap<u32, u32>,
    ) {
        self.samples += 1;
        let Some(stack) = self.stack(episode, work, known) else {
            self.not_kept += 1;
            return;
        };
        if let Some(count) = self.inputs.get_mut(&number).and_then(|parts| parts.get_mut(&part)?.get_mut(&stack)) {
            *count += 1;
            return;
        }
        let bytes = STACK_BYTES + stack.len() * size_of::<u32>();
        if self.held_bytes + bytes > MAX_HELD_BYTES {
            self.not_kept += 1;
            return;
        }
        self.held_bytes += bytes;
        self.inputs.entry(number).or_default().entry(part).or_default().insert(stack, 1);
    }

    /// The frames of a sample by number, innermost first, then the steps on the way to that thread; `None` if there is no room
    /// for one of them.
    fn stack(&mut self, episode: &Episode, work: &AtWork<'_>, known: &mut HashMap<u32, u32>) -> Option<Vec<u32>> {
        let mut stack = Vec::with_capacity(work.sample.frames.len() + work.steps.len());
        for &frame in &work.sample.frames {
            let Some(of_episode) = episode.frames.get(frame as usize) else { continue };
            let number = match known.get(&frame) {
                Some(&number) => number,
                None => self.number(of_episode)?,
            };
            known.insert(frame, number);
            stack.push(number);
        }
        let of_thread = |function: &str| Frame { function: function.to_owned(), module: String::new() };
        if stack.is_empty() {
            stack.push(self.number(&of_thread(NO_STACK))?);
        }
        for step in work.steps.iter().rev() {
            stack.push(self.number(&of_thread(step))?);
        }
        Some(stack)
    }

    /// The number of a frame; `None` if there is no room for it.
    fn number(&mut self, frame: &Frame) -> Option<u32> {
        if let Some(&number) = self.numbers.get(frame) {
            return Some(number);
        }
        let bytes = FRAME_BYTES + 2 * (frame.function.len() + frame.module.len());
        if self.held_bytes + bytes > MAX_HELD_BYTES {
            return None;
        }
        self.held_bytes += bytes;
        let number = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.numbers.insert(frame.clone(), number);
        Some(number)
    }

    /// What is known about all of it so far.
    pub(crate) fn document(&self, sample_rate: u32, sample_clock: Option<&str>) -> CodeDocument {
        CodeDocument {
            sample_rate,
            sample_clock: sample_clock.map(str::to_owned),
            samples: self.samples,
            not_kept: self.not_kept,
            ..CodeDocument::default()
        }
    }

    /// Names the functions, for at most this long, and writes the call trees; adds to `about` what is left out.
    pub(crate) fn write(self, patience: Duration, rows: &mut InteractionWriter, about: &mut CodeDocument) {
        let named = named_frames(&self.frames, patience);
        let mut files: BTreeMap<&str, u64> = BTreeMap::new();
        for (number, parts) in &self.inputs {
            let (code, left_out) = trees(*number, parts, &named);
            about.left_out += left_out;
            let all = parts.values().flatten().map(|(_, count)| count).sum::<u64>();
            if !rows.push_code(&code) {
                about.not_kept += all;
            }
        }
        for (stack, count) in self.inputs.values().flat_map(BTreeMap::values).flatten() {
            let innermost = stack.first().and_then(|&frame| named.get(frame as usize)?.first());
            if let Some(frame) = innermost.filter(|frame| is_unnamed(frame)) {
                about.unnamed += count;
                *files.entry(&frame.module).or_default() += count;
            }
        }
        let mut files: Vec<(&str, u64)> = files.into_iter().collect();
        files.sort_by_key(|(_, count)| Reverse(*count));
        about.without_names = files.into_iter().take(TOLD_FILES).map(|(file, _)| printable(file)).collect();
    }
}

/// The call trees of an input's parts as rows, and how often a function had no room there.
fn trees(number: u32, parts: &BTreeMap<PartName, Stacks>, named: &[Vec<Frame>]) -> (Vec<InputCode>, u64) {
    let mut room = Room::of_functions(MAX_CODE_OF_INPUT);
    let mut rows = Vec::new();
    for ((kind, name), stacks) in parts {
        let mut stacks: Vec<(&Vec<u32>, u64)> = stacks.iter().map(|(stack, count)| (stack, *count)).collect();
        // What was seen most has a place first.
        stacks.sort_by_key(|(_, count)| Reverse(*count));
        let mut tree = CallTree::default();
        for (stack, count) in stacks {
            let frames = stack.iter().filter_map(|&frame| named.get(frame as usize)).flatten();
            // Neither recursion nor inlining has a limit. The outermost functions go.
            let mut path: Vec<String> = frames.take(MAX_CODE_DEPTH as usize).map(function).collect();
            path.reverse();
            tree.add(&path, count, &mut room);
        }
        tree.visit(&mut |function, depth, samples| {
            let function = function.to_owned();
            rows.push(InputCode {
                number,
                depth: depth as u32,
                samples,
                kind: (*kind).to_owned(),
                name: name.clone(),
                function,
            });
        });
    }
    (rows, room.refused())
}

fn function(frame: &Frame) -> String {
    frame.function.chars().take(MAX_CODE_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str) -> Frame {
        Frame { function: function.to_owned(), module: "/bin/editor".to_owned() }
    }

    /// Stacks, innermost first, with their counts, as the tree that is written; and how often a function had no room.
    fn told(stacks: &[(&[&str], u64)]) -> (Vec<(String, u32, u64)>, u64) {
        let mut code = Code::default();
        let numbered = |code: &mut Code, stack: &[&str]| {
            stack.iter().map(|function| code.number(&frame(function)).unwrap()).collect::<Vec<u32>>()
        };
        let stacks = stacks.iter().map(|(stack, count)| (numbered(&mut code, stack), *count)).collect();
        let named: Vec<Vec<Frame>> = code.frames.iter().map(|frame| vec![frame.clone()]).collect();
        let parts = BTreeMap::from([(("own", "editor".to_owned()), stacks)]);
        let (rows, left_out) = trees(7, &parts, &named);
        assert!(rows.iter().all(|row| (row.number, row.kind.as_str(), row.name.as_str()) == (7, "own", "editor")));
        (rows.into_iter().map(|row| (row.function, row.depth, row.samples)).collect(), left_out)
    }

    #[test]
    fn stacks_become_a_tree_that_holds_every_sample() {
        let (rows, left_out) =
            told(&[(&["heavy", "handle", "main"], 30), (&["light", "handle", "main"], 10), (&["handle", "main"], 1)]);
        let expected = [("main", 0, 0), ("handle", 1, 1), ("heavy", 2, 30), ("light", 2, 10)];
        assert_eq!(rows, expected.map(|(function, depth, samples)| (function.to_owned(), depth, samples)));
        assert_eq!(left_out, 0);
    }

    #[test]
    fn what_has_no_room_counts_for_its_caller_and_is_counted() {
        let names: Vec<String> = (0..3 * MAX_CODE_OF_INPUT).map(|at| format!("f{at}")).collect();
        let stacks: Vec<[&str; 2]> = names.iter().map(|name| [name.as_str(), "main"]).collect();
        let stacks: Vec<(&[&str], u64)> = stacks.iter().map(|stack| (&stack[..], 2)).collect();
        let (rows, left_out) = told(&stacks);
        assert!(rows.len() <= MAX_CODE_OF_INPUT && rows.len() > MAX_CODE_OF_INPUT / 2, "{}", rows.len());
        assert_eq!(left_out as usize + rows.len() - 1, stacks.len());
        let samples: u64 = rows.iter().map(|(.., samples)| samples).sum();
        assert_eq!(samples, 2 * stacks.len() as u64, "none is lost");
        assert_eq!(rows[0].2, 2 * left_out, "they are in the caller");
    }

    #[test]
    fn no_more_is_held_than_there_is_room_for() {
        let mut code = Code::default();
        let long = "x".repeat(4_000);
        let taken = (0..10_000).filter(|at| code.number(&frame(&format!("{long}{at}"))).is_some()).count();
        assert!(taken > 1_000 && taken < 4_000, "{taken}");
        assert!(code.held_bytes <= MAX_HELD_BYTES);
    }
}
