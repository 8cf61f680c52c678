//! How long a recording measured, and under which load.

use punctual_recording::{Document, NO_LOAD};

/// How long a recording measured, s.
fn measured_s(document: &Document) -> f64 {
    document.measured_ns() as f64 / 1e9
}

/// A duration in the words of a sentence.
pub(crate) fn spoken_duration(document: &Document) -> String {
    let seconds = measured_s(document);
    match seconds {
        _ if seconds < 9.95 => format!("{seconds:.1} s"),
        _ if seconds < 600.0 => format!("{seconds:.0} s"),
        _ if seconds < 7_200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3_600.0),
    }
}

/// The name of a document's load.
pub fn load_name(document: &Document) -> &str {
    document.provenance.load.name_or_none()
}

/// A load's name for people: `idle` for none.
pub fn load_words(name: &str) -> &str {
    if name == NO_LOAD { "idle" } else { name }
}
