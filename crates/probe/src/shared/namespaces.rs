//! Namespaces in which programs in the kernel and this process do not mean the same thing.

use punctual_kernel::{Refused, clock};

/// Refuses if the kernel's programs would see other times or thread ids than this process.
pub(crate) fn refuse_namespaces(doing: &str) -> Result<(), Refused> {
    if clock::in_shifted_time_namespace() {
        return Err(Refused::because(doing, "a time namespace shifts this process's clock"));
    }
    if clock::in_pid_namespace() {
        let reason = "a PID namespace (a container?) hides this process's thread ids from the kernel's programs";
        return Err(Refused::because(doing, reason));
    }
    Ok(())
}
