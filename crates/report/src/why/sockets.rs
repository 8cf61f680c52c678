//! By which local sockets a late thread was asked and answered, by the paths at which somebody listens.

use super::model::EpisodeView;
use crate::layout::{counted, microseconds};
use punctual_blame::SocketRead;
use serde::Serialize;
use std::fmt::Write;

/// Local sockets that the late thread read, for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SocketRow<'a> {
    /// Where somebody listens.
    path: &'a str,
    /// Whether that is its own program; it asked for the connection otherwise.
    accepted: bool,
    /// Whether what began the episode came by it.
    begins: bool,
    /// How many waits within the episode ended with what came by it.
    waits: u64,
    /// How long these were in all.
    ns: u64,
}

impl<'a> SocketRow<'a> {
    pub(super) fn all(sockets: &'a [SocketRead]) -> Vec<SocketRow<'a>> {
        let row = |read: &'a SocketRead| SocketRow {
            path: &read.path,
            accepted: read.is_accepted,
            begins: read.begins,
            waits: read.waits,
            ns: read.ns,
        };
        sockets.iter().map(row).collect()
    }
}

/// One line for each, as text; empty if no path is known.
pub(super) fn text(episode: &EpisodeView) -> String {
    let mut text = String::new();
    for SocketRead { path, is_accepted, begins, waits, ns } in &episode.sockets {
        let begun = if *begins { ", which began it" } else { "" };
        let connected = if *is_accepted { "accepted at" } else { "asked for at" };
        let _ = write!(text, "\nread by a connection {connected} {path}{begun}");
        if *waits > 0 {
            let _ = write!(text, ": {}, {} us", counted(*waits, "wait"), microseconds(Some(*ns)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::tests::of_parts;
    use punctual_blame::Kind;

    #[test]
    fn a_socket_is_told_by_its_path_and_how_long_was_waited_for_it() {
        let read = |path: &str, is_accepted, begins, waits, ns| SocketRead {
            path: path.to_owned(),
            is_accepted,
            begins,
            waits,
            ns,
        };
        let mut view = of_parts(&[(Kind::Wait, "store", 90), (Kind::Own, "late", 10)]);
        assert_eq!(text(&view), "");
        view.sockets =
            vec![read("/run/store.sock", false, false, 2, 1_700_000), read("/run/api.sock", true, true, 0, 0)];
        let told = text(&view);
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines[1].starts_with("read by a connection asked for at /run/store.sock: 2 waits, "), "{told}");
        assert_eq!(lines[2], "read by a connection accepted at /run/api.sock, which began it", "{told}");
    }
}
