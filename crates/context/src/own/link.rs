//! Links a user's object with the device's programs.

use super::{FUNCTION, OwnWork, refuse};
use punctual_kernel::{Refused, linking};

/// The device's programs, which call a function that they do not have, with the user's object, which has it.
///
/// # Errors
/// Where the function has another signature than the programs call.
pub(crate) fn link(programs: &[u8], work: &OwnWork) -> Result<Vec<u8>, Refused> {
    // The programs first: their configuration is the beginning of what is read-only.
    linking::link(&[programs, work.object()]).map_err(|_| {
        let reason = format!("it does not link: its function must be int {FUNCTION}(struct punctual_block *)");
        refuse(work.name(), format!("{reason}, with the block of this version's punctual_work.h"))
    })
}
