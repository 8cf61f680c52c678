//! Links a user's object with the device's programs.

use super::{FUNCTION, OwnWork, refuse};
use punctual_kernel::{Refused, linking};

/// Links the device's programs, which call a function that they lack, with the user's object, which has it.
///
/// # Errors
/// If the function has another signature than the programs call.
pub(crate) fn link(programs: &[u8], work: &OwnWork) -> Result<Vec<u8>, Refused> {
    // The programs come first: their configuration is at the beginning of the read-only data.
    linking::link(&[programs, work.object()]).map_err(|_| {
        let reason = format!("it does not link: its function must be int {FUNCTION}(struct punctual_block *)");
        refuse(work.name(), format!("{reason}, with the block of this version's punctual_work.h"))
    })
}
