//! Whether an old kernel's verifier takes every program with room to spare.

use super::answer::{Counted, json, list};
use super::cell::Printed;
use super::version::series;
use serde_json::Value;

/// A verifier goes through this many instructions of a program, ...
const MAX_INSTRUCTIONS: u64 = 1_000_000;
/// ... and allows it this much stack, bytes.
const MAX_STACK: u64 = 512;
/// No program takes more than one part in so many: the next version of the program, or of the kernel, needs the rest.
const PARTS: u64 = 2;

/// The first kernel that has room for every program.
const ROOMY: &str = "6.1";
/// What is said of a program for which a verifier has no room.
const TOO_LARGE: &str = "room for a BPF program";

/// Looks at what `verifier-budget --json` said.
pub(super) fn check(printed: &Printed) -> Counted {
    let answer = json(printed)?;
    let programs = list(&answer, "programs")?;
    let (mut largest, mut deepest) = (0, 0);
    for program in programs {
        let number = |member: &str| program[member].as_u64().ok_or_else(|| format!("it has no {member}: {program}"));
        let (instructions, stack) = (number("instructions")?, number("stack")?);
        if instructions * PARTS > MAX_INSTRUCTIONS || stack * PARTS > MAX_STACK {
            let (name, object) = (&program["program"], &program["object"]);
            return Err(format!("{name} of {object} takes {instructions} instructions, {stack} bytes of stack"));
        }
        (largest, deepest) = (instructions.max(largest), stack.max(deepest));
    }
    if largest == 0 || deepest == 0 {
        return Err(format!("nothing was counted: {largest} instructions, {deepest} bytes of stack"));
    }
    if let Some(refused) = too_large(&answer) {
        return Err(refused);
    }
    Ok(format!("{} programs, of {largest} instructions and {deepest} bytes of stack at most", programs.len()))
}

/// A program that is over the limit is not measured: it is refused.
fn too_large(answer: &Value) -> Option<String> {
    let is_roomy = answer["kernel"].as_str().is_some_and(|kernel| series(kernel) >= series(ROOMY));
    let mut refused = answer["refused"].as_array().into_iter().flatten().filter_map(Value::as_str);
    refused.find(|line| is_roomy && line.contains(TOO_LARGE)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(kernel: &str, instructions: u64, stack: u64, refused: &[&str]) -> Counted {
        let small = json!({ "object": "timer", "program": "timer_armed", "instructions": 285, "stack": 32 });
        let large = json!({ "object": "log", "program": "waking", "instructions": instructions, "stack": stack });
        let answer = json!({ "kernel": kernel, "programs": [small, large], "refused": refused });
        let printed = Printed { stdout: answer.to_string(), stderr: String::new(), code: 0, kernel_log: String::new() };
        check(&printed)
    }

    #[test]
    fn half_of_each_limit_is_enough() {
        assert_eq!(
            said("6.1.0-50-amd64", 500_000, 256, &[]).unwrap(),
            "2 programs, of 500000 instructions and 256 bytes of stack at most"
        );
        assert!(said("6.1.0", 500_001, 8, &[]).unwrap_err().contains("waking"));
        assert!(said("6.1.0", 9, 257, &[]).is_err());
    }

    #[test]
    fn a_program_that_has_no_room_is_no_program_less() {
        let refused = ["log: this kernel lacks room for a BPF program of this size in its verifier"];
        assert!(said("6.1.0-50-amd64", 9, 8, &refused).unwrap_err().starts_with("log: "));
        // Older ones have no room for the largest, and say so.
        assert!(said("5.10.0-50-amd64", 9, 8, &refused).is_ok());
        assert!(said("6.12.0", 9, 8, &["device: PREEMPT_RT kernels refuse bpf_timer"]).is_ok());
    }

    #[test]
    fn what_is_not_counted_is_not_small() {
        let of = |text: &str| {
            let text = text.to_owned();
            check(&Printed { stdout: text, stderr: String::new(), code: 0, kernel_log: String::new() })
        };
        assert!(of("").is_err() && of(r#"{ "programs": [] }"#).is_err());
        assert!(of(r#"{ "programs": [{ "program": "a", "stack": 8 }] }"#).unwrap_err().contains("instructions"));
        assert!(of(r#"{ "programs": [{ "program": "a", "instructions": 0, "stack": 0 }] }"#).is_err());
    }
}
