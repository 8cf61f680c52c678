//! Call trees of an episode's samples, and the same folded for flame graphs.

use crate::episode::detail::Detail;
use crate::episode::piece::Piece;
use crate::episode::sightings::Sightings;
use crate::episode::split::Split;
use crate::kind::Kind;
use punctual_recording::Episode;
use punctual_recording::episode::StackSample;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How often each function was seen, and below which other one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallTree {
    count: u64,
    children: BTreeMap<String, CallTree>,
}

/// How much call trees may still take up.
#[derive(Debug, Clone)]
pub struct Room {
    left: usize,
    taken: usize,
    refused: u64,
}

/// A function with one below it takes about this much, bytes.
const FUNCTION_BYTES: usize = 720;

impl Room {
    /// This many bytes.
    pub fn of(bytes: usize) -> Room {
        Room { left: bytes, taken: 0, refused: 0 }
    }

    /// Enough for at most so many functions, and for fewer with long names.
    pub fn of_functions(most: usize) -> Room {
        Room::of(most * FUNCTION_BYTES)
    }

    /// How often a function was left out.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Whether nothing was ever put into it, or refused.
    pub fn is_untouched(&self) -> bool {
        self.taken == 0 && self.refused == 0
    }

    /// Takes over what was made in a room of its own. Returns false if that was not whole there or does not fit here
    /// whole, and has to be made here instead; otherwise it is as if it had been made here.
    pub fn takes_over(&mut self, other: &Room) -> bool {
        let fits = other.refused == 0 && other.taken <= self.left;
        if fits {
            self.take(other.taken);
        }
        fits
    }

    fn takes(&mut self, name: &str) -> bool {
        let bytes = FUNCTION_BYTES + name.len();
        let fits = bytes <= self.left;
        if fits {
            self.take(bytes);
        }
        self.refused += u64::from(!fits);
        fits
    }

    fn take(&mut self, bytes: usize) {
        self.left -= bytes;
        self.taken += bytes;
    }
}

impl CallTree {
    /// The samples that fell into an episode's lateness, on the CPU where the victim waited at that moment, below who
    /// was being executed.
    pub fn of_samples(episode: &Episode, split: &Split, sightings: &Sightings, room: &mut Room) -> CallTree {
        let mut tree = CallTree::default();
        for (sample, position) in sightings.in_pieces(episode) {
            let piece = &split.pieces[position];
            let mut path = vec![format!("{} {}", piece.kind.name(), piece.who)];
            path.extend(steps(piece));
            path.extend(names(episode, sample));
            tree.add(&path, 1, room);
        }
        tree
    }

    /// The tree in which each function comes before those that it calls, with how many functions called it and how often
    /// it was the innermost one. The root is left out.
    pub fn visit<'a>(&'a self, each: &mut impl FnMut(&'a str, usize, u64)) {
        self.visit_from(0, each);
    }

    fn visit_from<'a>(&'a self, depth: usize, each: &mut impl FnMut(&'a str, usize, u64)) {
        for (name, child) in self.children() {
            each(name, depth, child.ends());
            child.visit_from(depth + 1, each);
        }
    }

    /// How often nothing came below it.
    pub fn ends(&self) -> u64 {
        let below = self.children.values().fold(0_u64, |sum, child| sum.saturating_add(child.count));
        self.count.saturating_sub(below)
    }

    /// Adds a path, outermost first. If there is no room for a function, it counts for its caller.
    pub fn add(&mut self, path: &[String], count: u64, room: &mut Room) {
        self.count = self.count.saturating_add(count);
        if let Some((first, rest)) = path.split_first() {
            let child = match self.children.get_mut(first) {
                Some(child) => child,
                None if room.takes(first) => self.children.entry(first.clone()).or_default(),
                None => return,
            };
            child.add(rest, count, room);
        }
    }

    /// The sum at the root.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Children, largest first.
    pub fn children(&self) -> Vec<(&str, &CallTree)> {
        let mut children: Vec<_> = self.children.iter().map(|(name, child)| (name.as_str(), child)).collect();
        children.sort_by_key(|(_, child)| std::cmp::Reverse(child.count));
        children
    }
}

/// Function names of a sample, outermost first.
fn names<'a>(episode: &'a Episode, sample: &'a StackSample) -> impl Iterator<Item = String> + 'a {
    sample
        .frames
        .iter()
        .rev()
        .filter_map(|&frame| episode.frames.get(frame as usize))
        .map(|frame| frame.function.clone())
}

/// For a lock, what held up its holder, unless the holder itself ran.
fn kept_by(piece: &Piece) -> Option<String> {
    piece.detail.as_ref().filter(|detail| matches!(detail, Detail::KeptBy(..))).map(Detail::to_string)
}

/// What comes between a cause and the code: what held up a lock's holder, and for a wait within a request each step of the way.
fn steps(piece: &Piece) -> Vec<String> {
    if piece.path.is_empty() {
        return kept_by(piece).into_iter().collect();
    }
    let others = piece.path.iter().filter(|(kind, _)| *kind != Kind::Own);
    others.map(|(kind, who)| format!("kept by {}", kind.cause(who))).collect()
}

/// A sample that saw the late thread at its own work, or whoever it waited for in the end at theirs.
#[derive(Debug)]
pub struct AtWork<'a> {
    /// The piece of the split that it fell into.
    pub piece: &'a Piece,
    /// For a wait through several others: each step of the way.
    pub steps: Vec<String>,
    /// The sample.
    pub sample: &'a StackSample,
}

/// The samples that saw somebody at work.
pub fn at_work<'a>(
    episode: &'a Episode,
    split: &'a Split,
    sightings: &'a Sightings,
) -> impl Iterator<Item = AtWork<'a>> {
    let sighted = sightings.in_pieces(episode).map(|(sample, position)| (sample, &split.pieces[position]));
    let works = |piece: &Piece| piece.path.last().map_or(piece.kind, |(kind, _)| *kind) == Kind::Own;
    sighted.filter(move |(_, piece)| works(piece)).map(|(sample, piece)| AtWork { piece, steps: steps(piece), sample })
}

/// A late interrupt was held up by something that lasted at least this long, ns.
const KEPT_NS: u64 = 50_000;
/// The stack is taken within this time after it, ns.
const TAKEN_NS: u64 = 200_000;

/// The pieces that contain a time, or that end shortly before it.
fn pieces_before(split: &Split, at_ns: u64) -> &[Piece] {
    let is_over = |piece: &Piece| piece.start_ns.saturating_add(piece.ns).saturating_add(TAKEN_NS) <= at_ns;
    let first = split.pieces.partition_point(is_over);
    let end = split.pieces.partition_point(|piece| piece.start_ns <= at_ns);
    split.pieces.get(first..end.max(first)).unwrap_or_default()
}

/// The stacks that late interrupts found below them during the lateness, innermost first. A timer may be late by
/// itself, such as one that was set for the past: only those count before which something held off interrupts or the
/// CPU.
pub fn late_stacks(episode: &Episode, split: &Split) -> Vec<Vec<String>> {
    let mut stacks: Vec<Vec<String>> = Vec::new();
    let is_own = |sample: &&StackSample| {
        sample.at_ns >= episode.expected_ns
            && sample.at_ns <= episode.end_ns
            && pieces_before(split, sample.at_ns).iter().any(|piece| {
                piece.cpu == sample.cpu
                    && piece.ns >= KEPT_NS
                    && matches!(piece.kind, Kind::IrqOff | Kind::Blind | Kind::Kernel | Kind::Irq | Kind::Softirq)
            })
    };
    // Most stacks are of other times, and have many functions.
    for sample in episode.samples.iter().filter(|sample| sample.at_late_interrupt).filter(is_own) {
        let frames = sample.frames.iter().filter_map(|&frame| episode.frames.get(frame as usize));
        let functions: Vec<&str> = frames.map(|frame| frame.function.as_str()).collect();
        let entry = functions
            .iter()
            .rposition(|name| name.starts_with("asm_sysvec") || name.starts_with("asm_common_interrupt"));
        let below = entry.map_or(&[][..], |entry| &functions[entry + 1..]);
        if !below.is_empty() {
            stacks.push(below.iter().map(|function| (*function).to_owned()).collect());
        }
    }
    // A thread that is stopped again and again at one place says so once.
    stacks.dedup();
    stacks
}

/// Adds an episode to a tree that is weighted by lateness, ns: each piece below its cause, spread over the stacks that
/// were seen in it.
pub fn add_lateness(tree: &mut CallTree, episode: &Episode, split: &Split, sightings: &Sightings, room: &mut Room) {
    let mut seen: BTreeMap<usize, Vec<&StackSample>> = BTreeMap::new();
    for (sample, position) in sightings.in_pieces(episode) {
        seen.entry(position).or_default().push(sample);
    }
    for (position, piece) in split.pieces.iter().enumerate() {
        let cause = vec![piece.kind.name().to_owned(), piece.who.name().to_owned()];
        let samples = seen.get(&position).map_or(&[][..], Vec::as_slice);
        if samples.is_empty() {
            let below = match piece.path.is_empty() {
                true => piece.detail.iter().map(Detail::to_string).collect(),
                false => steps(piece),
            };
            let path: Vec<String> = cause.into_iter().chain(below).collect();
            tree.add(&path, piece.ns, room);
            continue;
        }
        let (share, odd) = (piece.ns / samples.len() as u64, piece.ns % samples.len() as u64);
        for (number, sample) in samples.iter().enumerate() {
            let below = steps(piece).into_iter().chain(names(episode, sample));
            let path: Vec<String> = cause.iter().cloned().chain(below).collect();
            tree.add(&path, share + u64::from((number as u64) < odd), room);
        }
    }
}

/// A tree as folded stacks, as flame graph tools read them: `outer;inner weight`.
pub fn folded(tree: &CallTree) -> String {
    fn write(tree: &CallTree, path: &str, text: &mut String) {
        if tree.ends() > 0 && !path.is_empty() {
            let _ = writeln!(text, "{path} {}", tree.ends());
        }
        for (name, child) in &tree.children {
            // A name cannot contain the format's own separators and ends.
            let name = name.replace([';', '\n'], ":");
            let path = if path.is_empty() { name } else { format!("{path};{name}") };
            write(child, &path, text);
        }
    }
    let mut text = String::new();
    write(tree, "", &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_is_visited_tells_what_was_added() {
        let words = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (mut tree, mut room) = (CallTree::default(), Room::of(1 << 20));
        for (path, count) in [("main run heavy", 3), ("main run", 1), ("main light", 2), ("other", 1)] {
            tree.add(&words(path), count, &mut room);
        }
        let mut visited = Vec::new();
        tree.visit(&mut |name, depth, ends| visited.push((name.to_owned(), depth, ends)));
        let told = [("main", 0, 0), ("run", 1, 1), ("heavy", 2, 3), ("light", 1, 2), ("other", 0, 1)];
        assert_eq!(visited, told.map(|(name, depth, ends)| (name.to_owned(), depth, ends)));
        assert_eq!(visited.iter().map(|(.., ends)| ends).sum::<u64>(), tree.count());
    }

    #[test]
    fn a_room_is_touched_by_what_it_takes_and_by_what_it_refuses() {
        let path = ["a".to_owned()];
        let (mut tree, mut room, mut none) = (CallTree::default(), Room::of(1 << 20), Room::of(0));
        assert!(room.is_untouched() && none.is_untouched());
        tree.add(&path, 1, &mut room);
        tree.add(&["b".to_owned()], 1, &mut none);
        assert!(!room.is_untouched() && !none.is_untouched());
        assert!(Room::of(0).takes_over(&Room::of(1)), "what was never touched fits everywhere");
    }
}
