//! Programs that run below `punctual reserve run`, which stays beside them to look after their reservation.

use punctual_kernel::other_thread::{command_line, family};

/// A process that only looks after another one's reservation, and that one.
#[derive(Debug)]
pub(super) struct LookedAfter {
    pub(super) by: u32,
    pub(super) program: u32,
}

/// Those of these processes that run a program with a reservation, each with the program.
pub(super) fn looked_after(processes: &[u32]) -> Vec<LookedAfter> {
    let of = |&by: &u32| {
        command_line(by).filter(|line| runs_a_program(line))?;
        // Its first child is the program; those behind it are the program's own.
        let program = *family(by).get(1)?;
        Some(LookedAfter { by, program })
    };
    processes.iter().filter_map(of).collect()
}

/// Whether this is the command line, as the kernel has it, of a process that runs a program with a reservation.
fn runs_a_program(line: &[u8]) -> bool {
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let name = words.first().and_then(|word| word.rsplit(|byte| *byte == b'/').next());
    // What comes behind them is the program's.
    let own = words.split(|word| *word == b"--").next().unwrap_or_default();
    name.is_some_and(|name| name == b"punctual") && own.windows(2).any(|pair| pair == [&b"reserve"[..], b"run"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_runs_a_program_with_a_reservation_looks_after_one() {
        for (line, expected) in [
            ("punctual\0reserve\0run\x002ms/10ms\0--\0./loop\0", true),
            ("/usr/local/bin/punctual\0reserve\0run\0-q\x001ms/4ms\0--thread\0^loop\0--\0loop\0", true),
            ("punctual\0reserve\0--\0./loop\0", false),
            ("punctual\0record\0--follow\0--\0punctual\0reserve\0run\x002ms/10ms\0--\0./loop\0", false),
            ("sudo\0punctual\0reserve\0run\x002ms/10ms\0--\0./loop\0", false),
            ("./loop\0reserve\0run\0", false),
            ("", false),
        ] {
            assert_eq!(runs_a_program(line.as_bytes()), expected, "{line:?}");
        }
        assert!(looked_after(&[std::process::id(), u32::MAX]).is_empty());
    }
}
