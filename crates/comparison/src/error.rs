//! Why two sides cannot be compared.

/// Why two sides cannot be compared, in one line: what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub(crate) String);
