//! Call trees as text.

use crate::layout::shortened;
use punctual_blame::CallTree;
use std::fmt::Write;

/// Symbols of generic code are longer than any screen is wide.
const MAX_CHARACTERS: usize = 72;

/// As at most this many indented lines with the counts before them. A chain of single calls is on one line.
pub fn text(tree: &CallTree, lines: usize) -> String {
    let mut text = String::new();
    let mut left = lines;
    write(tree, &mut text, 0, &mut left);
    if left == 0 {
        text.push_str("       ...\n");
    }
    text
}

fn write(tree: &CallTree, text: &mut String, depth: usize, left: &mut usize) {
    for (name, child) in tree.children() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let (mut line, mut last) = (shortened(name, MAX_CHARACTERS), child);
        // A caller with a single callee and no time of its own reads better beside it.
        while let [(next, below)] = last.children()[..]
            && below.count() == last.count()
            && line.len() + next.len().min(MAX_CHARACTERS) < 110
        {
            let _ = write!(line, " > {}", shortened(next, MAX_CHARACTERS));
            last = below;
        }
        let _ = writeln!(text, "{:>6} {:indent$}{line}", child.count(), "", indent = depth * 2);
        self::write(last, text, depth + 1, left);
    }
}
