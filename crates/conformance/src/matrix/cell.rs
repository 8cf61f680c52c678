//! Compares what one command printed in a guest with what it should print.

use super::expected::{Expected, NAMES_A_VERSION};
use punctual_lab::guest::splats;
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A complete result, as it must be, with the counts.
    Right(String),
    /// A result with less in it, which says so.
    Degraded,
    /// Refused with the reason, because the kernel lacks something.
    Refused,
    /// Left out, because what it reads is missing.
    LeftOut,
    /// Nobody has tried it.
    NotRun,
    /// Something else, and what.
    Wrong(String),
}

/// A command on a kernel.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The row of the table.
    pub row: String,
    /// What came of it.
    pub verdict: Verdict,
    /// What it cost, in time of the host's processors, if that is known.
    pub cost: Option<Duration>,
}

/// What a command left behind.
pub(super) struct Printed {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) code: i32,
    pub(super) kernel_log: String,
}

/// Traces of the BPF verifier and of the library that loads programs; a bare error number explains nothing.
const INNARDS: [&str; 12] = [
    "libbpf:",
    "PROG LOAD LOG",
    "processed insns",
    "func_info",
    "invalid func unknown",
    "invalid bpf_context",
    "BPF_STX",
    "CO-RE",
    "relocation ",
    "extern (func ksym)",
    "(os error",
    "vmlinux BTF",
];

/// The exit codes of a command that `timeout` ended.
const TIMED_OUT: [i32; 2] = [124, 137];

impl Printed {
    pub(super) fn read(directory: &Path) -> Option<Printed> {
        let text = |name: &str| {
            std::fs::read(directory.join(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        Some(Printed {
            stdout: text("stdout")?,
            stderr: text("stderr")?,
            code: text("code")?.trim().parse().ok()?,
            kernel_log: text("kernel-log")?,
        })
    }

    /// Both streams.
    pub(super) fn whole(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// The first line that mentions an error, or else an answer's verdict, or the first line.
    pub(super) fn first_line(&self) -> String {
        let whole = self.whole();
        let beginning_with = |word: &str| whole.lines().map(str::trim_start).find(|line| line.starts_with(word));
        let told = ["error:", "\"error\"", "\"verdict\""].into_iter().find_map(beginning_with);
        let line = told.or_else(|| whole.lines().next());
        let line: String = line.unwrap_or("nothing was printed").chars().take(160).collect();
        line
    }
}

/// How a command refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refuses {
    /// With one line that has the reason, and nothing else.
    InALine,
    /// With an answer that has the reason: one in JSON, or that of a command that goes on with what there is.
    InItsAnswer,
}

/// Judges what a command printed. `check` looks at the result, and is called wherever there must be one. It is told
/// whether the result is complete; if not, it may return what was said about that elsewhere.
pub(super) fn judge(
    printed: &Printed,
    expected: &Expected,
    refuses: Refuses,
    check: impl FnOnce(bool) -> Result<String, String>,
) -> Verdict {
    let wrong = |what: String| Verdict::Wrong(what);
    if let Some(splat) = splats(&printed.kernel_log).first() {
        return wrong(format!("the kernel complained: {splat}"));
    }
    if TIMED_OUT.contains(&printed.code) {
        return wrong(format!("it did not end in time; {}", printed.first_line()));
    }
    let whole = printed.whole();
    if let Some(innards) = INNARDS.iter().find(|innards| whole.contains(**innards)) {
        let line: String =
            whole.lines().find(|line| line.contains(innards)).unwrap_or(innards).chars().take(200).collect();
        return wrong(format!("text that is not the user's: {line}"));
    }
    let is_refusal = printed.code == 1;
    match expected {
        Expected::Refused(reason) if is_refusal && refuses == Refuses::InItsAnswer => match says(&whole, reason) {
            true => Verdict::Refused,
            false => wrong(format!("it refuses without the reason (/{reason}/): {}", printed.first_line())),
        },
        Expected::Refused(reason) if is_refusal => refusal(printed, reason),
        Expected::RightOrRefused if is_refusal => refusal(printed, NAMES_A_VERSION),
        Expected::Refused(_) if printed.code == 0 => {
            wrong("it answers, but the kernel lacks what that needs".to_owned())
        }
        Expected::Refused(_) => wrong(format!("it ended with {} instead of 1: {}", printed.code, printed.first_line())),
        _ if printed.code != 0 => wrong(format!("it ended with {}: {}", printed.code, printed.first_line())),
        Expected::Right | Expected::RightOrRefused => match check(true) {
            Ok(counted) => Verdict::Right(counted),
            Err(what) => wrong(what),
        },
        Expected::Degraded(reason) => match check(false) {
            Ok(said) if says(&whole, reason) || says(&said, reason) => Verdict::Degraded,
            Ok(_) => wrong(format!("it has less in it and does not say why (/{reason}/)")),
            Err(what) => wrong(what),
        },
    }
}

fn says(text: &str, reason: &str) -> bool {
    Regex::new(reason).expect("the table's reasons are tested").is_match(text)
}

/// One line on standard error with the reason; a hint at what would help may follow it.
fn refusal(printed: &Printed, reason: &str) -> Verdict {
    let is_said = |line: &&str| !line.trim().is_empty() && !line.starts_with("hint: ");
    let lines: Vec<&str> = printed.stderr.lines().filter(is_said).collect();
    let error = lines.iter().find(|line| line.starts_with("error:"));
    match error {
        None => Verdict::Wrong(format!("it refuses without an error line: {}", printed.first_line())),
        Some(_) if lines.len() > 1 => {
            Verdict::Wrong(format!("it refuses in {} lines: {}", lines.len(), printed.first_line()))
        }
        Some(error) if !says(error, reason) => {
            let error: String = error.chars().take(200).collect();
            Verdict::Wrong(format!("it refuses without the reason (/{reason}/): {error}"))
        }
        Some(_) => Verdict::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::{Expected, Printed, Refuses, Verdict};

    fn judge(printed: &Printed, expected: &Expected, check: impl FnOnce(bool) -> Result<String, String>) -> Verdict {
        super::judge(printed, expected, Refuses::InALine, check)
    }

    fn printed(code: i32, stdout: &str, stderr: &str, kernel_log: &str) -> Printed {
        let [stdout, stderr, kernel_log] = [stdout, stderr, kernel_log].map(str::to_owned);
        Printed { stdout, stderr, code, kernel_log }
    }

    fn is_wrong(printed: &Printed, expected: &Expected) -> bool {
        matches!(judge(printed, expected, |_| Ok(String::new())), Verdict::Wrong(_))
    }

    #[test]
    fn a_refusal_is_one_line_with_the_reason() {
        let expected = Expected::Refused("PREEMPT_RT".to_owned());
        let error = "error: PREEMPT_RT kernels refuse bpf_timer\n";
        assert_eq!(judge(&printed(1, "", error, ""), &expected, |_| Ok(String::new())), Verdict::Refused);
        let hinted = format!("{error}hint: another way\n");
        assert_eq!(judge(&printed(1, "", &hinted, ""), &expected, |_| Ok(String::new())), Verdict::Refused);
        assert!(is_wrong(&printed(1, "", "error: no\n", ""), &expected));
        assert!(is_wrong(&printed(1, "", &format!("libbpf: no\n{error}"), ""), &expected));
        assert!(is_wrong(&printed(1, "", &format!("another line\n{error}"), ""), &expected));
        assert!(is_wrong(&printed(0, "No wakeup was measured.\n", "", ""), &expected));
        assert!(is_wrong(&printed(1, "", error, ""), &Expected::Right));
    }

    #[test]
    fn a_refusal_in_an_answer_has_the_reason_there() {
        let in_its_answer = |printed: &Printed| {
            let expected = Expected::Refused("CAP_SYS_NICE".to_owned());
            super::judge(printed, &expected, Refuses::InItsAnswer, |_| Ok(String::new()))
        };
        let warning = "warning: `sleep` has no reservation: it needs CAP_SYS_NICE\nnote: it runs on\n";
        assert_eq!(in_its_answer(&printed(1, "No thread has it.\n", warning, "")), Verdict::Refused);
        for unsaid in [printed(1, "No thread has it.\n", "", ""), printed(0, "", warning, "")] {
            assert!(matches!(in_its_answer(&unsaid), Verdict::Wrong(_)));
        }
    }

    #[test]
    fn a_whole_result_is_checked_and_a_lesser_one_announced() {
        let fine = printed(0, "In 1.0 s idle\nnote: there is no BTF\n", "", "");
        let degraded = Expected::Degraded("BTF".to_owned());
        assert_eq!(judge(&fine, &degraded, |_| Ok(String::new())), Verdict::Degraded);
        assert!(is_wrong(&printed(0, "In 1.0 s idle\n", "", ""), &degraded));
        let refused = judge(&fine, &Expected::Right, |_| Err("no wakeup".to_owned()));
        assert_eq!(refused, Verdict::Wrong("no wakeup".to_owned()));
        assert!(is_wrong(&printed(0, "", "", "[ 1.0] WARNING: CPU: 0\n"), &Expected::Right));
        assert!(is_wrong(&printed(124, "", "", ""), &Expected::RightOrRefused));
        assert!(is_wrong(&printed(2, "", "error: from 5.15 on\n", ""), &Expected::RightOrRefused));
    }
}
