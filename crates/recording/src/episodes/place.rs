//! Where a recording has its episodes.

use std::path::{Path, PathBuf};

pub(super) const EPISODES: &str = "episodes.jsonl";

pub(super) fn directory(recording: &Path) -> PathBuf {
    recording.join("events")
}
