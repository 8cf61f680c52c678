//! What it costs a program to be stopped at a function: measured on one of this process.

use crate::recorder::symbols::mappings;
use punctual_kernel::bpf::LoadedObject;
use punctual_kernel::{Refused, clock};
use std::path::Path;

// It begins as functions of toolkits do, by pushing a register onto the stack.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl punctual_stopped_here",
    ".type punctual_stopped_here, @function",
    "punctual_stopped_here:",
    "push rbp",
    "pop rbp",
    "ret",
    ".size punctual_stopped_here, . - punctual_stopped_here"
);
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".globl punctual_stopped_here",
    ".type punctual_stopped_here, %function",
    "punctual_stopped_here:",
    "stp x29, x30, [sp, #-16]!",
    "ldp x29, x30, [sp], #16",
    "ret",
    ".size punctual_stopped_here, . - punctual_stopped_here"
);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" {
    fn punctual_stopped_here();
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe extern "C" fn punctual_stopped_here() {}

/// Calls in a row, and how many such rows: the fastest counts, during which nobody else had the CPU.
const CALLS: u32 = 100;
const ROWS: usize = 12;

/// How long a call takes, ns.
fn call_ns() -> u64 {
    let row = |_| {
        let begin_ns = clock::monotonic_ns();
        for _ in 0..CALLS {
            // SAFETY: leaves everything as it was.
            unsafe { punctual_stopped_here() };
        }
        clock::monotonic_ns().saturating_sub(begin_ns)
    };
    (0..ROWS).map(row).min().unwrap_or(0) / u64::from(CALLS)
}

/// What a stop costs whoever is stopped, including what the program then does, ns: measured with a program attached to
/// a function of this process.
///
/// # Errors
/// What the kernel refused.
pub(super) fn cost_ns(object: &mut LoadedObject, program: &str) -> Result<u64, Refused> {
    let address = punctual_stopped_here as *const () as u64;
    let own = std::process::id();
    let offset = mappings(own).iter().find_map(|mapping| mapping.offset_of(address));
    let offset = offset.ok_or_else(|| Refused::because("measuring what a stop costs", "its own code was not found"))?;
    let without_ns = call_ns();
    object.attach_in_program(program, own, Path::new("/proc/self/exe"), offset)?;
    let with_ns = call_ns();
    object.detach();
    Ok(with_ns.saturating_sub(without_ns))
}
