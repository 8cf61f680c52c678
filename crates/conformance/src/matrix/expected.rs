//! What the result of a command should be.

/// What the result of a command should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// A complete result.
    Right,
    /// A result with less in it, which says why: a regular expression.
    Degraded(String),
    /// A refusal that says why: a regular expression.
    Refused(String),
    /// Either a complete result, or a refusal that says which version has what is missing.
    RightOrRefused,
}

/// The reason of a refusal that names a version.
pub(super) const NAMES_A_VERSION: &str = r"\b[5-9]\.\d+|PREEMPT_RT";
