//! What can be wrong with a machine or an experiment.

/// Why a machine cannot be built or an experiment cannot be read. One line each, with its place if it has one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An experiment's text.
    #[error("{file}:{line}: {what}")]
    Text {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// A machine that is impossible.
    #[error("{0}")]
    Machine(String),
    /// A sweep too large, a shard that does not exist.
    #[error("{0}")]
    Sweep(String),
}

/// The result of what can fail here.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What is wrong, without a place in a text, for what was not written in one.
    pub fn what(&self) -> String {
        match self {
            Error::Text { what, .. } | Error::Machine(what) | Error::Sweep(what) => what.clone(),
        }
    }

    /// The machine named in this line is impossible.
    pub(crate) fn machine(what: impl Into<String>) -> Error {
        Error::Machine(what.into())
    }
}
