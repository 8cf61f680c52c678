//! The policy that stands behind a thread's name in recordings: `my-loop fifo:80`, `rcu_preempt other`.

/// The policies that have no priority.
const WORDS: [&str; 5] = ["other", "batch", "idle", "deadline", "ext"];

/// A thread's name, and its policy as the kernel calls it; `None` of what is written differently.
pub fn name_and_policy(measure: &str) -> Option<(&str, String)> {
    let (name, policy) = measure.rsplit_once(' ')?;
    let policy = match policy.split_once(':') {
        Some(("fifo", priority)) => format!("SCHED_FIFO {priority}"),
        Some(("rr", priority)) => format!("SCHED_RR {priority}"),
        None if WORDS.contains(&policy) => format!("SCHED_{}", policy.to_uppercase()),
        _ => return None,
    };
    Some((name, policy))
}

/// Threads as a sentence has them: a policy that is a word would be read as its subject (*sdr deadline took longer*).
pub fn spoken_measure(measure: &str) -> String {
    match name_and_policy(measure) {
        Some((name, policy)) if !policy.contains(' ') => format!("{name} ({policy})"),
        _ => measure.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_is_a_word_stands_apart() {
        for (measure, expected) in [
            ("sdr deadline", "sdr (SCHED_DEADLINE)"),
            ("api worker other", "api worker (SCHED_OTHER)"),
            ("my-loop fifo:80", "my-loop fifo:80"),
            ("a rr:1", "a rr:1"),
            ("a policy 9", "a policy 9"),
            ("others", "others"),
            ("other", "other"),
        ] {
            assert_eq!(spoken_measure(measure), expected);
        }
    }
}
