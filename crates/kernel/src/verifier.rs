//! What the verifier says about programs that it accepted: how much work it had, and how much stack they use.

use serde::Serialize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// For a privileged user, the kernel gives a program up after verifying this many instructions, since Linux 5.2.
pub const MAX_INSTRUCTIONS: u64 = 1_000_000;
/// A program and what it calls may use this much stack, bytes.
pub const MAX_STACK: u64 = 512;
/// The kernel's `BPF_LOG_STATS`.
pub(crate) const LOG_STATISTICS: u32 = 4;

/// What the verifier said about a program that it accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProgramSize {
    /// The object that contains it.
    pub object: String,
    /// Its name.
    pub program: String,
    /// Instructions that the verifier went through: those of all paths, and those of a loop again and again.
    pub instructions: u64,
    /// The stack of the deepest chain of calls, bytes.
    pub stack: u64,
}

static MEASURING: AtomicBool = AtomicBool::new(false);
static SIZES: Mutex<Vec<ProgramSize>> = Mutex::new(Vec::new());

/// From now on, asks the verifier about every program that is loaded.
pub fn measure() {
    MEASURING.store(true, Ordering::Relaxed);
}

/// What it has said so far.
pub fn take_sizes() -> Vec<ProgramSize> {
    SIZES.lock().map(|mut sizes| std::mem::take(&mut *sizes)).unwrap_or_default()
}

pub(crate) fn is_measuring() -> bool {
    MEASURING.load(Ordering::Relaxed)
}

/// Takes what was said when an object was loaded.
pub(crate) fn note(object: &str, said: &str) {
    if let Ok(mut sizes) = SIZES.lock() {
        sizes.extend(sizes_in(object, said));
    }
}

fn sizes_in(object: &str, said: &str) -> Vec<ProgramSize> {
    let mut sizes: Vec<ProgramSize> = Vec::new();
    let (mut program, mut stack) = ("", 0);
    for line in said.lines().map(|line| line.trim().trim_start_matches("libbpf: ")) {
        if let Some(name) = line.strip_prefix("prog '").filter(|_| line.contains("-- BEGIN PROG LOAD LOG --")) {
            (program, stack) = (name.split('\'').next().unwrap_or_default(), 0);
        } else if let Some(depths) = line.strip_prefix("stack depth ") {
            // One for each function: `64+0+16`, and since Linux 7.0 the deepest chain behind it.
            let depths = depths.split_whitespace().next().unwrap_or_default();
            stack = depths.split('+').filter_map(|depth| depth.parse::<u64>().ok()).sum();
        } else if let Some(instructions) = line.strip_prefix("processed ").and_then(|rest| rest.split(' ').next())
            && let Ok(instructions) = instructions.parse()
        {
            sizes.push(ProgramSize { object: object.to_owned(), program: program.to_owned(), instructions, stack });
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_programs_instructions_and_stack_are_read() {
        let said = "libbpf: prog 'waking': -- BEGIN PROG LOAD LOG --\nverification time 90 usec\n\
                    stack depth 32+8\nprocessed 120 insns (limit 1000000) max_states_per_insn 0 total_states 9\n\
                    -- END PROG LOAD LOG --\nlibbpf: prog 'switch': -- BEGIN PROG LOAD LOG --\n\
                    stack depth 16\nprocessed 7 insns (limit 1000000)\n";
        let size = |program: &str, instructions, stack| ProgramSize {
            object: "timer".to_owned(),
            program: program.to_owned(),
            instructions,
            stack,
        };
        assert_eq!(sizes_in("timer", said), [size("waking", 120, 40), size("switch", 7, 16)]);
    }
}
