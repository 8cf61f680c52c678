//! Parameters that a kernel was booted with and did not take: it says so in its log, and goes on without them.

/// The kernel's word for parameters that no part of it knows, in quotation marks after this.
const UNKNOWN: &str = "Unknown kernel command line parameters \"";
/// A preemption model that it was not built with, after this.
const PREEMPT: &str = "Dynamic Preempt: unsupported mode: ";

/// Those of these parameters that the kernel did not take, each as it was given.
#[must_use]
pub fn not_taken<'a>(kernel_log: &str, parameters: &'a [String]) -> Vec<&'a str> {
    let mut refused: Vec<String> = Vec::new();
    for line in kernel_log.lines() {
        if let Some((_, mode)) = line.split_once(PREEMPT) {
            refused.push(format!("preempt={}", mode.trim_end()));
        } else if let Some((_, rest)) = line.split_once(UNKNOWN) {
            let words = rest.split('"').next().unwrap_or_default();
            refused.extend(words.split_whitespace().map(str::to_owned));
        }
    }
    parameters.iter().map(String::as_str).filter(|word| refused.iter().any(|other| other.as_str() == *word)).collect()
}

#[cfg(test)]
mod tests {
    use super::not_taken;

    #[test]
    fn what_the_kernel_did_not_take_is_what_was_given_and_nothing_else() {
        let log = "[    0.000000] Kernel command line: quiet nokaslr preempt=none preemt=full threadirqs\n\
                   [    0.170175] Unknown kernel command line parameters \"nokaslr preemt=full\", will be passed to user space.\n\
                   [    0.169000] Dynamic Preempt: unsupported mode: none\n\
                   [    0.269922] Dynamic Preempt: lazy\n";
        let given = ["preempt=none", "preemt=full", "threadirqs", "preempt=lazy"].map(str::to_owned);
        assert_eq!(not_taken(log, &given), ["preempt=none", "preemt=full"]);
        assert_eq!(not_taken("[    0.000000] Dynamic Preempt: none\n", &given), [""; 0]);
    }
}
