//! How long a recording measured, and under which load.

use punctual_recording::{Document, Host, NO_LOAD, counted, format_ns};

/// The policy of threads that only a simulated machine had.
const SIMULATED: &str = "simulated";

/// Whether a recording is of a machine that was simulated.
pub(crate) fn is_simulated(document: &Document) -> bool {
    document.provenance.configuration.policy == SIMULATED
}

/// On which machine a recording was made, to follow a sentence, if these are not all of one; machines of one name have their
/// identities beside it.
pub(crate) fn on_machine(document: &Document, all: &[&Document]) -> String {
    let Host { name, id: Some(id), .. } = &document.provenance.host else { return String::new() };
    let mut others =
        all.iter().map(|other| &other.provenance.host).filter(|other| other.id.as_ref() != Some(id)).peekable();
    if others.peek().is_none() {
        return String::new();
    }
    match name {
        Some(name) if others.all(|other| other.name.as_ref() != Some(name)) => format!(" on {name}"),
        Some(name) => format!(" on {name} ({id})"),
        None => format!(" on {id}"),
    }
}

/// How long a recording measured, s.
fn measured_s(document: &Document) -> f64 {
    document.measured_ns() as f64 / 1e9
}

/// A duration in words, for a sentence, and of how many recordings it is the sum.
pub(crate) fn spoken_duration(document: &Document) -> String {
    let seconds = measured_s(document);
    let duration = match seconds {
        _ if seconds < 9.995 => format_ns(document.measured_ns()),
        _ if seconds < 600.0 => format!("{seconds:.0} s"),
        _ if seconds < 7_200.0 => format!("{:.0} min", seconds / 60.0),
        _ if seconds < 172_800.0 => format!("{:.1} h", seconds / 3_600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    };
    match document.added {
        0 => duration,
        added => format!("{duration} ({} added up)", counted(added.saturating_add(1), "recording")),
    }
}

/// The name of a document's load.
pub fn load_name(document: &Document) -> &str {
    document.provenance.load.name_or_none()
}

/// What ran while threads were followed, as a heading calls it: the load or, if a command was started, that command and the load
/// beside it.
pub(crate) fn what_ran(document: &Document) -> String {
    match document.started_command() {
        None => load_heading(document),
        Some((NO_LOAD, command)) => format!("Command {command}"),
        Some((load, command)) => format!("Command {command}, load {load}"),
    }
}

/// A load's name for people. A machine to which no load was added need not be idle.
pub fn load_words(name: &str) -> &str {
    if name == NO_LOAD { "no load added" } else { name }
}

/// What a heading calls a document's load.
pub(crate) fn load_heading(document: &Document) -> String {
    match load_name(document) {
        NO_LOAD => "No load added".to_owned(),
        name => format!("Load {name}"),
    }
}

/// How busy other programs kept the measured CPUs, percent, if no load was added and that is too much to call them
/// idle.
pub(crate) fn busy_with_others(load: &str, others_share: Option<f64>) -> Option<f64> {
    /// The timers and interrupts of a run at a high rate stay below this.
    const IDLE_PERCENT: f64 = 25.0;
    let percent = others_share? * 100.0;
    (load == NO_LOAD && percent >= IDLE_PERCENT).then_some(percent)
}

/// A load's name for a line or a cell; if no load was added and others kept the CPUs busy, with how busy.
pub(crate) fn load_beside_others(load: &str, others_share: Option<f64>) -> String {
    busy_with_others(load, others_share)
        .map_or_else(|| load_words(load).to_owned(), |percent| format!("no load added, others {percent:.0} % busy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_says_of_how_many_recordings_it_is() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let mut document: Document = serde_json::from_str(text).unwrap();
        for (added, expected) in
            [(0, "1.00 s"), (1, "1.00 s (2 recordings added up)"), (9, "1.00 s (10 recordings added up)")]
        {
            document.added = added;
            assert_eq!(spoken_duration(&document), expected);
        }
        let said = crate::recording_verdict(&[&document]);
        assert!(said.starts_with("In 1.00 s (10 recordings added up) with no load added, "), "{said}");
    }
}
