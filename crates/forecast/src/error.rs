//! Why something cannot be forecast or analysed.

/// Why something cannot be forecast or analysed. Every message is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The recording holds nothing to forecast from.
    #[error("this recording cannot be forecast from: {0}")]
    Recording(String),
    /// The recording follows other programs' threads, which are no device.
    #[error("devices cannot be forecast from this recording, because it follows other programs' threads; {0}")]
    Followed(String),
    /// A device that cannot work, whatever the latency.
    #[error(transparent)]
    Device(#[from] punctual_device::Error),
    /// A task set that cannot be read.
    #[error("{place}: {message}")]
    Tasks {
        /// Where: a line, or the name of a task.
        place: String,
        /// What is wrong there.
        message: String,
    },
    /// The question makes no sense.
    #[error("{0}")]
    Question(String),
}
