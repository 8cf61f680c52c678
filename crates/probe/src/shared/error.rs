//! Why a plan is not carried out.

use punctual_kernel::Refused;
use punctual_kernel::scheduling::NotAllowed;
use punctual_recording::Hint;

/// A plan that cannot be carried out, in one line: what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub(crate) String);

impl From<NotAllowed> for PlanError {
    fn from(error: NotAllowed) -> PlanError {
        PlanError(error.to_string())
    }
}

/// Why a run could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan cannot be carried out here.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The kernel refused something essential.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The recording could not be written. What was written before the failure can be read.
    #[error(transparent)]
    Recording(#[from] punctual_recording::Error),
}

impl Hint for RunError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            RunError::Plan(_) => None,
            RunError::Refused(refused) => refused.hint(),
            RunError::Recording(error) => error.hint(),
        }
    }
}
