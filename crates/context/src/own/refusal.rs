//! What the kernel's verifier says of work that it refuses, in a line.

use super::{OwnWork, refuse};
use punctual_kernel::Refused;

/// Parts of what verifiers of 2022 to 2026 say, and what that means for whoever wrote the work.
const WORDS: [(&str, &str); 15] = [
    ("infinite loop detected", ENDLESS),
    ("BPF program is too large", ENDLESS),
    ("jumps is too complex", ENDLESS),
    ("back-edge", ENDLESS),
    ("the call stack of", "it calls itself, or functions too deep"),
    ("recursive call", "it calls itself, or functions too deep"),
    (
        "combined stack size",
        "its local variables are larger than the kernel's stack for programs: keep them in block->state",
    ),
    ("stack depth", "its local variables are larger than the kernel's stack for programs: keep them in block->state"),
    ("invalid access to memory", OUTSIDE),
    ("invalid access to map value", OUTSIDE),
    ("invalid mem access", OUTSIDE),
    ("unbounded memory access", OUTSIDE),
    ("is negative, either use unsigned", OUTSIDE),
    ("math between", OUTSIDE),
    ("bounds-check the scalar offset", OUTSIDE),
];
const ENDLESS: &str =
    "the kernel does not see that it ends within a million instructions: give every loop a constant, smaller bound";
const OUTSIDE: &str =
    "the kernel sees that it may reach outside of its block: hold every index within its array (punctual_below)";

/// Why a device with this work was not loaded.
pub(crate) fn explain(refused: Refused, said: &str, work: &OwnWork) -> Refused {
    // Of the lines that the verifier ends with one is the reason, behind what it walked.
    let tail = said.lines().rev().take(40);
    let mut found = tail.filter_map(|line| WORDS.iter().find(|(part, _)| line.contains(part)));
    match found.next() {
        Some((_, words)) => refuse(work.name(), format!("{words} (-v shows the kernel's words)")),
        None => refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_the_verifiers_words_is_the_reason() {
        let work = OwnWork { name: "a.c".to_owned(), object: [].into(), source: None };
        let other = || Refused::because("loading", "it lacks something");
        let said = |lines: &str| explain(other(), lines, &work).to_string();
        for (lines, words) in [
            ("4: (05) goto pc-1\ninfinite loop detected at insn 3\nprocessed 9 insns\n", "ends within"),
            (
                "BPF program is too large. Processed 1000001 insn\nprocessed 1000001 insns (limit 1000000)\n",
                "ends within",
            ),
            ("R1 invalid mem access 'scalar'\nprocessed 3 insns\n", "outside of its block"),
            ("R1 unbounded memory access, make sure to bounds check any such access\n", "outside of its block"),
            ("combined stack size of 4 calls is 560. Too large\n", "local variables"),
        ] {
            assert!(said(lines).contains(words) && said(lines).contains("a.c"), "{}", said(lines));
        }
        assert_eq!(said("libbpf: failed to find valid kernel BTF\n"), other().to_string());
    }
}
