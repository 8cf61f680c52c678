//! A call tree in JSON, nested no deeper than programs read it.

use punctual_blame::{CallTree, folded};
use serde::Serialize;
use std::borrow::Cow;

/// How deep rows are nested. A stack may have more frames than parsers take levels: many stop at 128, and a row is two.
const MAX_NESTED: usize = 48;

/// How often a function was seen, and what below it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CallRow<'a> {
    name: Cow<'a, str>,
    count: u64,
    children: Vec<CallRow<'a>>,
}

impl<'a> CallRow<'a> {
    /// What lies below the root of a tree, largest first. From a certain depth on, each row is the whole rest of a
    /// stack, `outer;inner`.
    pub(crate) fn below(tree: &'a CallTree) -> Vec<CallRow<'a>> {
        CallRow::from_depth(tree, 1)
    }

    fn from_depth(tree: &'a CallTree, depth: usize) -> Vec<CallRow<'a>> {
        if depth > MAX_NESTED {
            let text = folded(tree);
            let ends = text.lines().filter_map(|line| line.rsplit_once(' '));
            let row = |(stack, count): (&str, &str)| {
                Some(CallRow { name: stack.to_owned().into(), count: count.parse().ok()?, children: Vec::new() })
            };
            return ends.filter_map(row).collect();
        }
        let row = |(name, child): (&'a str, &'a CallTree)| CallRow {
            name: name.into(),
            count: child.count(),
            children: CallRow::from_depth(child, depth + 1),
        };
        tree.children().into_iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_blame::Room;

    #[test]
    fn a_stack_of_any_depth_is_json_that_is_read() {
        let mut tree = CallTree::default();
        let frames = |count: u32| (0..count).map(|frame| format!("f{frame}")).collect::<Vec<_>>();
        for (depth, count) in [(10, 1), (127, 5), (60, 2)] {
            tree.add(&frames(depth), count, &mut Room::of(1 << 20));
        }
        let text = serde_json::to_string(&CallRow::below(&tree)).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        // Walks down the nested rows; below the deepest of them come whole ends of stacks.
        let (mut row, mut depth) = (&read[0], 1);
        while row["children"].as_array().unwrap().len() == 1 {
            (row, depth) = (&row["children"][0], depth + 1);
        }
        assert_eq!((depth, row["count"].as_u64()), (MAX_NESTED, Some(7)));
        let ends: Vec<(usize, u64)> = row["children"]
            .as_array()
            .unwrap()
            .iter()
            .map(|end| (end["name"].as_str().unwrap().split(';').count(), end["count"].as_u64().unwrap()))
            .collect();
        assert_eq!(ends, [(12, 2), (79, 5)]);
    }
}
