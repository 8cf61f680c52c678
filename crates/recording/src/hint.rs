//! What would help against an error.

/// What helps if the disk is full.
pub const CHOOSE_ANOTHER_PLACE: &str = "what was written until then was kept; choose another place with -o";

/// An error that may know a remedy. The command line shows the remedy on a line of its own.
pub trait Hint: std::error::Error {
    /// The remedy, as a person would say it; `None` if there is none, or if the message already has it.
    fn hint(&self) -> Option<&'static str>;
}
