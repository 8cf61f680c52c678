//! Of loops that wanted all of their CPUs: what they got, and who had the rest; of keystrokes that such a loop saw.

use super::recording::end_in_words;
use crate::idle::IdleReport;
use crate::idle::validation::means;
use crate::layout::{as_fine_percent, counted};
use punctual_recording::{CauseKind, EndReason, ValidationDocument, agreeing, format_ns};
use std::fmt::Write as _;

/// What the paper of 2014 found (Olawuyi and others, II.c): the loop 9.76 ms, the program 7.42 ms.
const PAPER: &str = "the paper of 2014: 2.34 ms of 9.76 ms";

impl IdleReport<'_> {
    /// The answer in a sentence or two.
    pub fn verdict(&self) -> String {
        if let Some(validation) = self.validation {
            return keystrokes_verdict(validation);
        }
        let ended = self.document.ended.as_ref();
        if let Some(ended) = ended.filter(|ended| ended.reason.is_failure()) {
            let detail = ended.detail.as_deref().unwrap_or("it failed");
            return format!("Ended early: {detail}. {}", self.what_was_found());
        }
        let found = self.what_was_found();
        let interrupted = ended.filter(|ended| ended.reason == EndReason::Interrupted);
        match interrupted.and_then(|_| end_in_words(self.document)) {
            Some(end) => format!("{found} {end}"),
            None => found,
        }
    }

    fn what_was_found(&self) -> String {
        let (runtime, noise) = (self.runtime_ns(), self.noise_ns());
        let cut = if self.document.ended.is_none() { "Cut short. " } else { "" };
        if self.gaps.schema.is_empty() {
            return format!("{cut}Nothing was kept of what the loops measured.");
        }
        if runtime == 0 {
            return "The loops did not get to run: the CPUs had no idle time at all.".to_owned();
        }
        let cpus = self.gaps.cpus.len();
        let mut verdict = format!(
            "{cut}A loop that wanted {} got {} of {}",
            counted(cpus, "CPU"),
            as_fine_percent(runtime.saturating_sub(noise), runtime),
            format_ns(runtime / cpus.max(1) as u64)
        );
        let most: Vec<String> = (self.gaps.causes.iter().take(3))
            .filter(|cause| cause.kind != CauseKind::NotFollowed)
            .map(|cause| {
                format!("{} ({})", self.cause(cause.kind, cause.name), as_fine_percent(cause.total_ns, runtime))
            })
            .collect();
        if !most.is_empty() {
            let shares = agreeing(most.len(), "share", "shares");
            let _ = write!(verdict, "; the largest {shares} went to {}", most.join(", "));
        }
        verdict.push('.');
        if let Some(longest) = self.gaps.longest.first() {
            let _ = write!(verdict, " Longest gap: {} on CPU {}", format_ns(longest.length_ns), longest.cpu);
            if longest.kind != CauseKind::NotFollowed {
                let _ = write!(verdict, ", mostly {}", self.cause(longest.kind, longest.name));
            }
            verdict.push('.');
        }
        verdict
    }
}

/// How much of keystrokes a program does not see that an idle loop sees.
pub(crate) fn keystrokes_verdict(document: &ValidationDocument) -> String {
    let Some(means) = means(document) else {
        return "No keystroke was seen: the loop did not get to run, or was stopped before the first.".to_owned();
    };
    let of = if means.undisturbed { " during which nothing else had the CPU" } else { "" };
    let parts: Vec<String> = (means.parts.iter())
        .filter(|(_, ns)| *ns > 0)
        .map(|(name, ns)| format!("{} {}", name.replace('_', " "), format_ns(*ns)))
        .collect();
    format!(
        "The program sees {} of a keystroke and the idle loop {} (means of {}{of}), so {} is hidden from the program: {} ({PAPER}).",
        format_ns(means.program),
        format_ns(means.gap),
        means.count,
        format_ns(means.gap.saturating_sub(means.program)),
        parts.join(", "),
    )
}
