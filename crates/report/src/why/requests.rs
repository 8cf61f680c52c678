//! How many requests there were, as far as they were recognised, and how many of them were late.

use super::model::WhyReport;
use punctual_recording::{Stage, counted};

impl WhyReport<'_> {
    /// Requests that were recognised, if these are requests and they were counted.
    pub(super) fn recognised(&self) -> Option<u64> {
        let recorder = self.recorder.as_ref().filter(|recorder| recorder.stage == Stage::Request);
        recorder.and_then(|recorder| recorder.requests)
    }

    /// Whether none was, so that nothing can be said of late ones.
    pub(super) fn recognised_none(&self) -> bool {
        self.recognised() == Some(0) && self.late() == 0
    }

    /// That none was late of those that were seen.
    pub(super) fn none_late(&self) -> String {
        match self.recognised() {
            Some(0) => "No request was recognised".to_owned(),
            Some(1) => format!("The one request that was recognised took no longer than {}", self.threshold()),
            Some(all) => {
                format!("None of the {} that were recognised {}", counted(all, "request"), self.exceeded(all))
            }
            None => format!("No {} {}", self.nouns().0, self.exceeded(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::RecorderSummary;
    use std::path::Path;

    #[test]
    fn of_requests_that_were_not_recognised_nothing_is_said() {
        let told = |requests| {
            let recorder = RecorderSummary {
                threshold: "15ms".into(),
                threshold_ns: Some(15_000_000),
                stage: Stage::Request,
                requests,
                ..RecorderSummary::default()
            };
            let report = WhyReport::new(Path::new("x"), 0, Some(recorder), Vec::new(), false, None, &[]);
            assert_eq!(report.lacks_evidence(), requests == Some(0), "{requests:?}");
            report.verdict()
        };
        let none = told(Some(0));
        let begins = "No request was recognised, so that nothing can be said of late ones: no thread";
        assert!(none.starts_with(begins) && none.contains("(--comm), or --why-stage total"), "{none}");
        assert_eq!(told(Some(1)), "The one request that was recognised took no longer than 15.0 ms.");
        assert_eq!(told(Some(1_047)), "None of the 1,047 requests that were recognised took longer than 15.0 ms.");
        assert_eq!(told(None), "No request took longer than 15.0 ms: there is nothing to explain.");
    }
}
