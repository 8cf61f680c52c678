//! What the verifier says about programs that it accepted: how much work it had, and how much stack they use; and what it took
//! to load their objects.

use serde::Serialize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
    /// The stack of the deepest chain of calls, where the kernel tells it (from 7.0 on); else that of the function that uses
    /// most, bytes.
    pub stack: u64,
}

/// What it took to load an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectLoad {
    /// Its name.
    pub object: String,
    /// Its size with everything that describes its programs, bytes.
    pub bytes: u64,
    /// Places in its programs that the library filled in: with maps, functions, and where this kernel has a field.
    pub relocations: u64,
    /// From its bytes to programs in the kernel, ns. What the library and the verifier say in detail is part of it.
    pub took_ns: u64,
}

/// What was measured so far.
#[derive(Debug, Default)]
pub struct Measured {
    /// Programs, each as often as it was loaded.
    pub programs: Vec<ProgramSize>,
    /// Objects, each as often as it was loaded.
    pub loads: Vec<ObjectLoad>,
}

static MEASURING: AtomicBool = AtomicBool::new(false);
static MEASURED: Mutex<Measured> = Mutex::new(Measured { programs: Vec::new(), loads: Vec::new() });

/// From now on, asks the verifier about every program that is loaded.
pub fn measure() {
    MEASURING.store(true, Ordering::Relaxed);
}

/// What was measured since the last call.
pub fn take() -> Measured {
    MEASURED.lock().map(|mut measured| std::mem::take(&mut *measured)).unwrap_or_default()
}

pub(crate) fn is_measuring() -> bool {
    MEASURING.load(Ordering::Relaxed)
}

/// Takes what was said when an object of this size was loaded, which took so long.
pub(crate) fn note(object: &str, bytes: usize, took: Duration, said: &str) {
    let load = ObjectLoad {
        object: object.to_owned(),
        bytes: bytes as u64,
        relocations: relocations_in(said),
        took_ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
    };
    if let Ok(mut measured) = MEASURED.lock() {
        measured.programs.extend(sizes_in(object, said));
        measured.loads.push(load);
    }
}

/// How many relocations the library found. It numbers each; of one that depends on the kernel it says more later.
fn relocations_in(said: &str) -> u64 {
    let first_words = |line: &str| Some(line.split_once(": relo #")?.1.split_once(": ")?.1.to_owned());
    let is_new = |words: &String| words.starts_with('<') || words.starts_with("insn #") && words.contains(" against '");
    said.lines().filter_map(first_words).filter(is_new).count() as u64
}

fn sizes_in(object: &str, said: &str) -> Vec<ProgramSize> {
    let mut sizes: Vec<ProgramSize> = Vec::new();
    let (mut program, mut stack) = ("", 0);
    for line in said.lines().map(|line| line.trim().trim_start_matches("libbpf: ")) {
        if let Some(name) = line.strip_prefix("prog '").filter(|_| line.contains("-- BEGIN PROG LOAD LOG --")) {
            (program, stack) = (name.split('\'').next().unwrap_or_default(), 0);
        } else if let Some(depths) = line.strip_prefix("stack depth ") {
            stack = stack_in(depths);
        } else if let Some(instructions) = line.strip_prefix("processed ").and_then(|rest| rest.split(' ').next())
            && let Ok(instructions) = instructions.parse()
        {
            sizes.push(ProgramSize { object: object.to_owned(), program: program.to_owned(), instructions, stack });
        }
    }
    sizes
}

/// One for each function: `64+0+16`, and since Linux 7.0 the deepest chain behind them: ` max 80`. Functions that do not call each
/// other are never on the stack together, so their sum says nothing.
fn stack_in(depths: &str) -> u64 {
    let mut words = depths.split_whitespace();
    let functions = words.next().unwrap_or_default();
    let largest = functions.split('+').filter_map(|depth| depth.parse::<u64>().ok()).max().unwrap_or(0);
    words.last().and_then(|chain| chain.parse().ok()).unwrap_or(largest)
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
        assert_eq!(sizes_in("timer", said), [size("waking", 120, 32), size("switch", 7, 16)]);
    }

    #[test]
    fn a_chain_of_calls_counts_where_it_is_told() {
        assert_eq!(stack_in("64+0+16"), 64);
        assert_eq!(stack_in("64+0+16 max 80"), 80);
        assert_eq!(stack_in(""), 0);
    }

    /// In the words of libbpf 1.7.
    #[test]
    fn each_relocation_counts_once() {
        let said = "libbpf: sec 'tp_btf/sched_switch': collecting relocation for section(3) 'tp_btf/sched_switch'\n\
                    libbpf: sec 'tp_btf/sched_switch': relo #0: insn #5 against 'slots'\n\
                    libbpf: prog 'switch': found map 0 (slots, sec 9, off 0) for insn #5\n\
                    libbpf: prog 'switch': relo #0: <byte_off> [12] struct task_struct.pid (0:72 @ offset 1256)\n\
                    libbpf: prog 'switch': relo #0: matching candidate #0 <byte_off> [98] struct task_struct.pid\n\
                    libbpf: prog 'switch': relo #0: patched insn #7 (LDX/ST/STX) off 1256 -> 2464\n\
                    libbpf: sec '.text': relo #1: couldn't find program in section '.text' for insn #2, skipping...\n\
                    libbpf: .maps relo #0: map 'outer' slot [0] points to map 'inner'\n";
        assert_eq!(relocations_in(said), 2);
        assert_eq!(relocations_in(""), 0);
    }
}
