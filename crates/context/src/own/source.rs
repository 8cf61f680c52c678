//! Reads the file that root will run: once, and only if nobody else may have written it.

use super::refuse;
use punctual_kernel::Refused;
use punctual_recording::input;
use std::path::Path;

/// No work is longer, bytes.
const MAX_BYTES: u64 = 1 << 20;

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Refused> {
    let name = punctual_recording::printable_path(path);
    let bytes = input::read_trusted(path, MAX_BYTES).map_err(|error| refuse(&name, punctual_kernel::plain(&error)))?;
    if bytes.is_empty() { Err(refuse(&name, "it is empty")) } else { Ok(bytes) }
}
