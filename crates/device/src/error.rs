//! What can be wrong with a profile or a notation.

/// Why a profile, or the notation of one, could not be used. Every message is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text of a catalogue is not what it should be.
    #[error("line {line}: {message}")]
    Text {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A profile says something impossible.
    #[error("device `{device}`: {message}")]
    Profile {
        /// The profile's id.
        device: String,
        /// What is wrong with it.
        message: String,
    },
    /// No profile has that id.
    #[error("there is no device `{id}`{}: give one of {known}", did_you_mean(nearest.as_deref()))]
    Unknown {
        /// What was asked for.
        id: String,
        /// The id that it is most like, if any is like it.
        nearest: Option<String>,
        /// The known ids.
        known: String,
    },
    /// A period, a want or a specification that cannot be read.
    #[error("{0}")]
    Notation(String),
}

/// What is said behind a word that nothing is called, of the name that it is most like.
pub fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}
