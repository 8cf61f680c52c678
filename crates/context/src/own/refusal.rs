//! What the kernel's verifier says about work that it refuses, in a line.

use super::{OwnWork, refuse};
use punctual_kernel::Refused;

/// Parts of what verifiers of 2022 to 2026 say, and what they mean for whoever wrote the work.
const WORDS: [(&str, &str); 16] = [
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
    ("invalid mem access 'map_value", OUTSIDE),
    ("invalid mem access", NO_ADDRESS),
    ("unbounded memory access", OUTSIDE),
    ("is negative, either use unsigned", OUTSIDE),
    ("math between", OUTSIDE),
    ("bounds-check the scalar offset", OUTSIDE),
];
const ENDLESS: &str =
    "the kernel does not see that it ends within a million instructions: give every loop a constant, smaller bound";
const OUTSIDE: &str = "the kernel sees that it may reach outside its block or its tables: keep every index within its array in a way that the \
                       kernel sees, by punctual_below(index, 16) or if (index < 3000)";
const NO_ADDRESS: &str =
    "it uses a number as an address, such as a null pointer: only its block and its tables have addresses";

/// Why a device with this work was not loaded.
pub(crate) fn explain(refused: Refused, said: &str, work: &OwnWork) -> Refused {
    // One of the verifier's last lines is the reason; it follows what it walked.
    let lines: Vec<&str> = said.lines().collect();
    let reason = |line: &str| WORDS.iter().find(|(part, _)| line.contains(part)).map(|(_, words)| *words);
    let tail = lines.iter().enumerate().rev().take(40);
    match tail.filter_map(|(index, line)| Some((index, reason(line)?))).next() {
        Some((index, words)) => {
            let place = place(&lines[..index], &work.name).unwrap_or_default();
            refuse(&work.name, format!("{place}{words} (-v shows the kernel's message)"))
        }
        None => refused,
    }
}

/// `encoder.c:12: `, from the last place in this file that the verifier reached; kernels before 6.10 do not name any.
fn place(walked: &[&str], name: &str) -> Option<String> {
    let places = walked.iter().rev().filter_map(|line| line.strip_prefix(';')?.rsplit_once(" @ "));
    let mut lines = places.filter_map(|(_, place)| {
        let (file, line) = place.trim().rsplit_once(':')?;
        (file.rsplit('/').next() == Some(name)).then(|| line.parse::<u32>().ok())?
    });
    lines.next().map(|line| format!("{name}:{line}: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_the_verifiers_words_is_the_reason() {
        let work = OwnWork { name: "a.c".to_owned(), object: [].into(), source: None, warnings: [].into() };
        let other = || Refused::because("loading", "it lacks something");
        let said = |lines: &str| explain(other(), lines, &work).to_string();
        for (lines, words) in [
            ("4: (05) goto pc-1\ninfinite loop detected at insn 3\nprocessed 9 insns\n", "ends within"),
            (
                "BPF program is too large. Processed 1000001 insn\nprocessed 1000001 insns (limit 1000000)\n",
                "ends within",
            ),
            ("R1 invalid mem access 'scalar'\nprocessed 3 insns\n", "a number as an address"),
            ("R1 invalid mem access 'map_value_or_null'\nprocessed 3 insns\n", "outside its block"),
            ("R1 unbounded memory access, make sure to bounds check any such access\n", "outside its block"),
            ("combined stack size of 4 calls is 560. Too large\n", "local variables"),
        ] {
            assert!(said(lines).contains(words) && said(lines).contains("a.c"), "{}", said(lines));
        }
        let walked = "; x @ a.c:3\n4: (bf) r1 = r2\n; return y[n]; @ a.c:4\n; z @ punctual_work.h:9\n5: R1 unbounded memory access\n";
        assert!(said(walked).contains("a.c:4: the kernel sees"), "{}", said(walked));
        assert!(!said("; y[n];\n; z @ b.c:9\nR1 unbounded memory access\n").contains(":9"));
        assert_eq!(said("libbpf: failed to find valid kernel BTF\n"), other().to_string());
    }
}
