//! What PC 99 asks of drivers of soft modems, as a verdict.
//!
//! PC 99 System Design Guide, chapter 19, as quoted by Jones and Saroiu, MSR-TR-2000-88, sections 6.2.2, 6.2.4 and
//! 6.2.5: interrupts not disabled for more than 100 us, all queued DPCs together not more than 500 us, long computations
//! in a real-time thread.

use punctual_recording::{DeviceSummary, format_ns};

/// The longest time in interrupt context, ns.
const INTERRUPT_NS: u64 = 100_000;
/// The longest time in DPCs that are queued at one time, ns.
const DPC_NS: u64 = 500_000;

/// What PC 99 says about a device in the place where it ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pc99 {
    /// Whether it complies; `None` if nothing ran.
    pub keeps: Option<bool>,
    /// In words.
    pub why: String,
}

/// Judges a device that ran in this context.
pub fn pc99(summary: &DeviceSummary) -> Pc99 {
    let Some(longest) = summary.elapsed.max() else {
        return Pc99 { keeps: None, why: "it never ran".to_owned() };
    };
    let over = |limit: u64, what: &str| {
        let factor = longest as f64 / limit as f64;
        let times = match longest <= limit {
            true => "within".to_owned(),
            false if factor < 1.5 => "more than".to_owned(),
            false => format!("{factor:.0} times"),
        };
        Pc99 {
            keeps: Some(longest <= limit),
            why: format!("{} {what}, {times} the {} allowed", format_ns(longest), format_ns(limit)),
        }
    };
    let keeps = |keeps: bool, why: &str| Pc99 { keeps: Some(keeps), why: why.to_owned() };
    match summary.context.split(':').next() {
        Some("irq") => over(INTERRUPT_NS, "in an interrupt"),
        Some("softirq") => over(DPC_NS, "in a softirq"),
        Some("thread") if summary.context.contains(":other") || summary.context.contains(":idle") => {
            keeps(false, "the guide requires a real-time thread")
        }
        _ => keeps(true, "runs in a real-time thread, as the guide requires"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_context_has_its_limit() {
        let ran = |context: &str, longest_ns: u64| {
            let mut summary = DeviceSummary { context: context.to_owned(), ..DeviceSummary::default() };
            summary.elapsed.record(longest_ns);
            pc99(&summary)
        };
        assert_eq!(ran("irq", 100_000).keeps, Some(true));
        let vendor = ran("irq", 3_300_000);
        assert_eq!(vendor.keeps, Some(false));
        assert!(vendor.why.contains("33 times"), "{}", vendor.why);
        assert_eq!(ran("softirq", 127_000).why, "127 us in a softirq, within the 500 us allowed");
        let over = ran("softirq", 500_001);
        assert_eq!(over.keeps, Some(false));
        assert!(over.why.ends_with("in a softirq, more than the 500 us allowed"), "{}", over.why);
        assert_eq!(ran("thread:fifo:80", 9_000_000).keeps, Some(true));
        assert_eq!(ran("thread:other", 1).keeps, Some(false));
        assert_eq!(ran("reservation:2ms/8ms", 9_000_000).keeps, Some(true));
        assert_eq!(pc99(&DeviceSummary::default()).keeps, None);
    }
}
