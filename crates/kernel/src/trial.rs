//! Tries out whether something that needs BPF programs works here: loads them, and unloads them again.

use crate::capabilities::{Availability, Capability};
use crate::missing::is_older_than;
use crate::{Missing, Refused, bpf, limits};

/// What a trial found that was not refused.
pub struct Found {
    /// In a few words.
    pub detail: String,
    /// Whether it is there with limits, given in the detail.
    pub is_limited: bool,
    /// What this kernel lacks of it.
    pub missing: Vec<Missing>,
    /// What would allow the rest of it; `None` where nothing is lacking or nothing helps.
    pub remedy: Option<String>,
}

impl Found {
    /// Programs that load, some of them perhaps left out.
    pub fn loads(missing: Vec<Missing>) -> Found {
        let lines: Vec<String> = missing.iter().map(Missing::line).collect();
        let detail = match lines.as_slice() {
            [] => "its programs load".to_owned(),
            lines => format!("not seen: {}", lines.join("; ")),
        };
        Found { detail, is_limited: !missing.is_empty(), missing, remedy: None }
    }

    /// The same without a part that was refused, and what would allow that.
    #[must_use]
    pub fn without(mut self, what: &str, remedy: Option<&str>) -> Found {
        self.detail = format!("{}; without {what}", self.detail);
        self.is_limited = true;
        self.remedy = self.remedy.or(remedy.map(str::to_owned));
        self
    }
}

type Attempt = Box<dyn Fn() -> Result<Found, Refused>>;

/// One thing to try out.
pub struct Trial {
    name: String,
    needed_for: &'static str,
    least: &'static str,
    attempt: Attempt,
    needs_addresses: bool,
}

impl Trial {
    /// A trial of something that came with a known kernel, such as `5.15`.
    pub fn new(
        name: impl Into<String>,
        needed_for: &'static str,
        least: &'static str,
        attempt: impl Fn() -> Result<Found, Refused> + 'static,
    ) -> Trial {
        Trial { name: name.into(), needed_for, least, attempt: Box::new(attempt), needs_addresses: false }
    }

    /// The same for what must know where the kernel's functions are.
    #[must_use]
    pub fn with_addresses(self) -> Trial {
        Trial { needs_addresses: true, ..self }
    }

    /// What is tried.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tries it, and says what came of it.
    pub fn capability(&self) -> Capability {
        let row = |available, detail, missing, remedy| Capability {
            name: self.name.clone(),
            available,
            detail,
            needed_for: self.needed_for.to_owned(),
            remedy,
            since: Some(self.least),
            missing,
        };
        match (self.attempt)() {
            Ok(found) => {
                let available = if found.is_limited { Availability::Limited } else { Availability::Yes };
                row(available, found.detail, found.missing, found.remedy)
            }
            Err(refused) => {
                let hides = self.needs_addresses && limits::addresses_are_hidden();
                let remedy = if bpf::may_load().is_err() {
                    Some(if hides { bpf::remedy_with_addresses() } else { bpf::remedy() })
                } else if refused.reason.contains("PREEMPT_RT") {
                    Some("a kernel without PREEMPT_RT".to_owned())
                } else if is_older_than(self.least) {
                    Some(format!("Linux {} or later", self.least))
                } else {
                    hides.then(bpf::remedy_with_addresses)
                };
                row(Availability::No, refused.reason, Vec::new(), remedy)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(least: &'static str, came: fn() -> Result<Found, Refused>) -> Capability {
        Trial::new("it", "something", least, came).capability()
    }

    #[test]
    fn a_row_promises_only_what_was_had() {
        let had = tried("5.10", || Ok(Found::loads(Vec::new())));
        assert_eq!(
            (had.available, had.since, had.detail.as_str()),
            (Availability::Yes, Some("5.10"), "its programs load")
        );
        let limited = tried("5.10", || {
            Ok(Found::loads(vec![Missing::new("the tracepoint `x`", Some("5.19")).so_blind_for("locks")]))
        });
        assert_eq!(limited.available, Availability::Limited);
        assert_eq!(limited.detail, "not seen: locks: this kernel lacks the tracepoint `x` (from Linux 5.19 on)");
        let without = tried("5.10", || Ok(Found::loads(Vec::new()).without("samples (denied)", Some("be root"))));
        assert_eq!(
            (without.available, without.detail.as_str(), without.remedy.as_deref()),
            (Availability::Limited, "its programs load; without samples (denied)", Some("be root"))
        );
        assert!(bpf::remedy().ends_with(",cap_ipc_lock=ep punctual"));
        assert!(bpf::remedy_with_addresses().ends_with(",cap_ipc_lock,cap_syslog=ep punctual"));
        let refused = tried("999.0", || Err(Refused::because("loading", "no such helper")));
        assert_eq!((refused.available, refused.detail.as_str()), (Availability::No, "no such helper"));
        assert!(refused.remedy.is_some_and(|remedy| remedy == "Linux 999.0 or later" || remedy.contains("root")));
    }
}
