//! What kind of recording a directory holds.

use crate::document::kind::RecordingKind;
use crate::document::reader::stated_kind;
use crate::error::Result;
use std::path::Path;

/// The kind of the recording in a directory; for old recordings, which do not say, inferred from the files in it.
///
/// # Errors
/// As for [`crate::Recording::open`], if there is no recording.
pub fn kind_of(recording: &Path) -> Result<RecordingKind> {
    Ok(stated_kind(recording)?.unwrap_or_else(|| {
        let has = |file: &str| recording.join(file).exists();
        if has("gaps.json") {
            RecordingKind::Gaps
        } else if has("activations.json") {
            RecordingKind::Activations
        } else if has("events/log") {
            RecordingKind::Log
        } else {
            RecordingKind::Wakeups
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Provenance, Writer};

    #[test]
    fn a_recording_says_its_kind_from_its_first_moment() {
        let directory = tempfile::tempdir().unwrap();
        let kinds = [
            RecordingKind::Wakeups,
            RecordingKind::Gaps,
            RecordingKind::Activations,
            RecordingKind::Log,
            RecordingKind::Interaction,
        ];
        for kind in kinds {
            let path = directory.path().join(kind.holds());
            let _writer = Writer::create_of(kind, &path, Provenance::default(), Vec::new()).unwrap();
            assert_eq!(kind_of(&path).unwrap(), kind);
        }
    }

    #[test]
    fn an_older_recording_is_known_by_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.punctual");
        drop(Writer::create(&path, Provenance::default(), Vec::new()).unwrap());
        let document = path.join("recording.json");
        let text = std::fs::read_to_string(&document).unwrap();
        let without = text.replacen("\"kind\":\"wakeups\",", "", 1);
        assert_ne!(text, without);
        std::fs::write(&document, without).unwrap();
        assert_eq!(kind_of(&path).unwrap(), RecordingKind::Wakeups);
        std::fs::write(path.join("activations.json"), "{}").unwrap();
        assert_eq!(kind_of(&path).unwrap(), RecordingKind::Activations);
        std::fs::write(path.join("gaps.json"), "{}").unwrap();
        assert_eq!(kind_of(&path).unwrap(), RecordingKind::Gaps);
    }
}
