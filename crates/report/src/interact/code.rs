//! Which code was at work for inputs: the call trees of the parts of their time and, of all inputs together, of causes.

use super::spent::{Part, Spent};
use crate::encode::html::Block;
use crate::encode::html::table::{Column, Table, Value};
use crate::layout::{fitting, percent};
use crate::why::call_rows::CallRow;
use punctual_blame::{CallTree, Room};
use punctual_recording::{CodeDocument, InteractionPart, counted, for_each_input_code, grouped, printable};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

/// What the trees of the longest inputs, those of the others and those of causes may take, bytes each.
const ROOM: usize = 16 << 20;
/// How many functions a line names, and how many of a path.
const NAMED: usize = 3;
/// How long their names are at most, characters.
const MAX_NAME: usize = 40;
/// How many functions a table of the page shows.
const TABLE_ROWS: usize = 60;
/// Names in the page and the trace are cut to this length, characters.
const MAX_SHOWN: usize = 120;

/// The call trees.
#[derive(Default)]
pub(super) struct Code {
    parts: BTreeMap<(u32, Spent), CallTree>,
    causes: BTreeMap<Spent, CallTree>,
    /// How often a function had no room here.
    left_out: u64,
}

/// What the trees of an input are read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Whether it is one of the longest, or the start: these have a room of their own.
    pub(super) is_long: bool,
    /// Whether its time is in the causes.
    pub(super) is_in_causes: bool,
}

impl Code {
    /// Reads those of the inputs that are wanted.
    ///
    /// # Errors
    /// As for [`for_each_input_code`].
    pub(super) fn read(recording: &Path, wanted: impl Fn(u32) -> Option<Wanted>) -> punctual_recording::Result<Code> {
        let mut code = Code::default();
        let [mut of_long, mut of_others, mut of_causes] = [(); 3].map(|()| Room::of(ROOM));
        let (mut path, mut on): (Vec<String>, Option<Spent>) = (Vec::new(), None);
        for_each_input_code(recording, |row| {
            let Some(wanted) = wanted(row.number) else { return };
            if row.depth == 0 {
                let (kind, name) = (row.kind, row.name);
                on = Some(Spent::of(&InteractionPart { kind, name, ..InteractionPart::default() }));
            }
            path.truncate(row.depth as usize);
            path.push(row.function);
            let Some(on) = on.as_ref().filter(|_| row.samples > 0) else { return };
            let room = if wanted.is_long { &mut of_long } else { &mut of_others };
            code.parts.entry((row.number, on.clone())).or_default().add(&path, row.samples, room);
            if wanted.is_in_causes {
                code.causes.entry(on.clone()).or_default().add(&path, row.samples, &mut of_causes);
            }
        })?;
        code.left_out = [of_long, of_others, of_causes].iter().map(Room::refused).sum();
        Ok(code)
    }

    /// The tree of a part of an input's time, if samples saw anybody at work there.
    pub(super) fn of_part(&self, number: u32, on: &Spent) -> Option<&CallTree> {
        self.parts.get(&(number, on.clone()))
    }

    /// The tree of a cause.
    pub(super) fn of_cause(&self, on: &Spent) -> Option<&CallTree> {
        self.causes.get(on)
    }

    /// What is missing of the trees, in lines.
    pub(super) fn warnings(&self, about: Option<&CodeDocument>) -> Vec<String> {
        let (left_out, not_kept) = about.map_or((0, 0), |about| (about.left_out, about.not_kept));
        let left_out = left_out.saturating_add(self.left_out);
        let mut lines = Vec::new();
        if left_out > 0 {
            let what = counted(left_out, "function");
            lines.push(format!("call trees were full: {what} left out, whose samples count for the caller"));
        }
        if not_kept > 0 {
            lines.push(format!("{} of code left out: there was no room for more stacks", counted(not_kept, "sample")));
        }
        lines
    }
}

/// What is known about the samples, in words; `None` for a recording that says nothing of them.
pub(super) fn about_in_words(about: Option<&CodeDocument>) -> Option<String> {
    let about = about?;
    let Some(clock) = &about.sample_clock else {
        let why = if about.sample_rate == 0 { "none were asked for" } else { "the kernel refused them" };
        return Some(format!("no stacks were sampled ({why}): there are no call trees"));
    };
    let rate = grouped(u64::from(about.sample_rate));
    let at_work = counted(about.samples, "sample");
    let mut words = format!(
        "{at_work} at work for inputs, {rate} a second on each CPU by {}",
        fitting(&printable(clock), MAX_NAME)
    );
    if about.unnamed > 0 {
        let files: Vec<String> =
            about.without_names.iter().take(NAMED).map(|file| fitting(&printable(file), MAX_NAME)).collect();
        let files = if files.is_empty() { String::new() } else { format!(" ({})", files.join(", ")) };
        words.push_str(&format!("; {} of them without a function's name{files}", grouped(about.unnamed)));
    }
    Some(words)
}

/// The functions that were seen most: `23 samples: 74 % compute, 22 % draw`.
pub(super) fn hottest(tree: &CallTree) -> String {
    let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
    tree.visit(&mut |name, _, ends| *functions.entry(name).or_default() += ends);
    let mut functions: Vec<(&str, u64)> = functions.into_iter().filter(|(_, ends)| *ends > 0).collect();
    functions.sort_by_key(|(_, ends)| Reverse(*ends));
    let told = functions
        .iter()
        .take(NAMED)
        .map(|(name, ends)| format!("{:.0} % {}", percent(*ends, tree.count()), fitting(&printable(name), MAX_NAME)));
    format!("{}: {}", counted(tree.count(), "sample"), told.collect::<Vec<_>>().join(", "))
}

/// The end of the path that most samples went, as far as it has more than half of them: `main > handle > compute`. `None` if
/// that is no more than one function.
pub(super) fn path(tree: &CallTree) -> Option<String> {
    let (mut at, mut functions) = (tree, Vec::new());
    while let Some((name, child)) = at.children().first().copied().filter(|(_, child)| child.count() * 2 > tree.count())
    {
        functions.push(fitting(&printable(name), MAX_NAME));
        at = child;
    }
    let first = functions.len().saturating_sub(NAMED);
    let before = if first > 0 { "... > " } else { "" };
    (functions.len() > 1).then(|| format!("{before}{}", functions[first..].join(" > ")))
}

/// The tree of a part for a page, folded away.
pub(super) fn block(title: String, tree: &CallTree) -> Block {
    let (mut rows, mut more) = (Vec::new(), 0);
    below(tree, 0, &mut rows, &mut more);
    let columns =
        vec![Column::words("function"), Column::numbers("samples"), Column::numbers("of these as the innermost")];
    let caption = match more {
        0 => "Functions below their callers".to_owned(),
        more => format!("Functions below their callers; {} more in the JSON report", grouped(more)),
    };
    Block::Folded(title, vec![Block::Table(Table { caption, columns, rows })])
}

fn below(tree: &CallTree, depth: usize, rows: &mut Vec<Vec<Value>>, more: &mut u64) {
    for (name, child) in tree.children() {
        if rows.len() == TABLE_ROWS {
            *more += 1;
        } else {
            // Space that a browser keeps.
            let indent = "\u{a0}\u{a0}".repeat(depth.min(TABLE_ROWS));
            let name: String = printable(name).chars().take(MAX_SHOWN).collect();
            let count = |count| Value::Count(Some(count));
            rows.push(vec![Value::text(format!("{indent}{name}")), count(child.count()), count(child.ends())]);
        }
        below(child, depth + 1, rows, more);
    }
}

/// A part's or a cause's tree in JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CodeRow<'a> {
    /// How many samples saw whoever it was at work.
    samples: u64,
    /// The functions that called all others, with what they called below them, largest first. Samples in a function that
    /// are in none below it saw the function itself.
    calls: Vec<CallRow<'a>>,
}

impl<'a> CodeRow<'a> {
    pub(super) fn new(tree: &'a CallTree) -> CodeRow<'a> {
        CodeRow { samples: tree.count(), calls: CallRow::below(tree) }
    }
}

/// What is known about all samples.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SamplingRow<'a> {
    /// How many stacks were to be sampled each second on each CPU.
    rate: u32,
    /// What the sampling clock was; `null` if no stacks were sampled.
    clock: Option<&'a str>,
    /// Samples that saw somebody at work for an input.
    samples: u64,
    /// Those of them for which there was no room.
    not_kept: u64,
    /// Those of them whose innermost function has no name.
    unnamed: u64,
    /// The files that had no name for most of these, at most three.
    without_names: &'a [String],
    /// How often a function was left out of a call tree that was full; its samples count for its caller.
    left_out: u64,
}

impl<'a> SamplingRow<'a> {
    pub(super) fn new(about: &'a CodeDocument, code: &Code) -> SamplingRow<'a> {
        SamplingRow {
            rate: about.sample_rate,
            clock: about.sample_clock.as_deref(),
            samples: about.samples,
            not_kept: about.not_kept,
            unnamed: about.unnamed,
            without_names: &about.without_names,
            left_out: about.left_out.saturating_add(code.left_out),
        }
    }
}

/// The lines below an input's largest part: its hottest functions and how they were called.
pub(super) fn lines(code: &Code, number: u32, part: &Part) -> Vec<String> {
    let Some(tree) = code.of_part(number, &part.on) else { return Vec::new() };
    let by = path(tree).map(|path| format!("mostly {path}"));
    [hottest(tree)].into_iter().chain(by).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[(&str, u64)]) -> CallTree {
        let (mut tree, mut room) = (CallTree::default(), Room::of(1 << 20));
        for (path, count) in paths {
            let path: Vec<String> = path.split(' ').map(str::to_owned).collect();
            tree.add(&path, *count, &mut room);
        }
        tree
    }

    #[test]
    fn the_functions_that_were_seen_most_come_first_whoever_called_them() {
        let tree = tree(&[("main key heavy", 12), ("main blink heavy", 3), ("main key light", 4), ("main key", 1)]);
        assert_eq!(hottest(&tree), "20 samples: 75 % heavy, 20 % light, 5 % key");
        assert_eq!(path(&tree).as_deref(), Some("main > key > heavy"));
    }

    #[test]
    fn a_path_goes_as_far_as_most_samples_do() {
        assert_eq!(path(&tree(&[("a b c d e", 9), ("a b c x", 8)])).as_deref(), Some("... > c > d > e"));
        assert_eq!(path(&tree(&[("a b", 5), ("a c", 5)])), None, "one function is no path");
        assert_eq!(path(&CallTree::default()), None);
    }

    #[test]
    fn what_is_left_out_and_what_has_no_name_is_said() {
        let code = Code { left_out: 2, ..Code::default() };
        let about = CodeDocument {
            sample_rate: 1_000,
            sample_clock: Some("cpu-clock".into()),
            samples: 40,
            not_kept: 3,
            unnamed: 5,
            without_names: vec!["/bin/editor".into()],
            left_out: 1,
        };
        let warnings = code.warnings(Some(&about)).join("\n");
        assert!(
            warnings.contains("3 functions left out") && warnings.contains("3 samples of code left out"),
            "{warnings}"
        );
        let words = about_in_words(Some(&about)).unwrap();
        assert!(words.contains("40 samples") && words.contains("5 of them without a function's name (/bin/editor)"));
        assert_eq!(Code::default().warnings(None), [""; 0]);
        for (sample_rate, why) in [(0, "none were asked for"), (9, "the kernel refused them")] {
            let about = CodeDocument { sample_rate, ..CodeDocument::default() };
            assert!(about_in_words(Some(&about)).unwrap().contains(why));
        }
        assert_eq!(about_in_words(None), None, "an older recording says nothing");
    }
}
