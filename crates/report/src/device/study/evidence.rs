//! What a study saw of a context, and how much that shows.

use super::{Row, StudyReport};
use crate::device::came::came;
use punctual_device::{MAX_USED, used};
use punctual_forecast::garwood;
use punctual_recording::NO_LOAD;

/// What was seen of a context in all of its runs, except those that only process the newest block.
pub(crate) struct Evidence<'a> {
    context: &'a str,
    /// What ran beside all of it.
    pub(crate) load: &'a str,
    /// What it kept up beside, each once; `None`: alone.
    pub(crate) beside: Vec<Option<&'a str>>,
    pub(crate) blocks: u64,
    pub(crate) late: u64,
    /// Separate waits that these were late in.
    stalls: u64,
    /// How long that was, ns.
    pub(crate) ran_ns: u64,
    /// The share of its time or budget that was used at worst.
    pub(crate) used: Option<f64>,
    /// The mean share of the bystander's callbacks that were away from their period.
    off: f64,
    /// Whether it kept up in all of them.
    keeps: bool,
}

impl<'a> Evidence<'a> {
    /// What was seen of this context; `None` if no device ran there.
    pub(crate) fn of(study: &'a StudyReport<'_>, context: &'a str) -> Option<Evidence<'a>> {
        let of_context = |row: &&Row<'_>| row.group != "slots" && row.context == context;
        let mut evidence = Evidence {
            context,
            load: study.load().unwrap_or(NO_LOAD),
            beside: Vec::new(),
            blocks: 0,
            late: 0,
            stalls: 0,
            ran_ns: 0,
            used: None,
            off: 0.0,
            keeps: true,
        };
        let mut offs = Vec::new();
        for row in study.rows.iter().filter(of_context) {
            let (Ok(run), Some(device)) = (&row.run, row.device()) else { continue };
            evidence.keeps &= row.holds == Some(true);
            if row.holds != Some(true) {
                continue;
            }
            let competitor = row.competitor.as_deref();
            if !evidence.beside.contains(&competitor) {
                evidence.beside.push(competitor);
            }
            evidence.blocks += came(device);
            evidence.late += device.underruns;
            evidence.stalls += device.stalls;
            evidence.ran_ns = evidence.ran_ns.saturating_add(run.document.measured_ns());
            evidence.used = [evidence.used, used(device)].into_iter().flatten().max_by(f64::total_cmp);
            if row.group == "contexts" {
                offs.extend(row.off);
            }
        }
        evidence.off = offs.iter().sum::<f64>() / offs.len().max(1) as f64;
        (evidence.blocks > 0).then_some(evidence)
    }

    /// At most one block in so many is late, with 95 %. Blocks that one wait made late count together.
    pub(crate) fn one_in(&self) -> u64 {
        let waits = self.stalls.min(self.late);
        let waits = if self.late > 0 { waits.max(1) } else { 0 };
        let each = self.late.max(1) as f64 / waits.max(1) as f64;
        let most = garwood(waits).high.unwrap_or(f64::INFINITY) * each;
        ((self.blocks as f64 / most).floor() as u64).max(1)
    }

    fn has_room(&self) -> bool {
        self.used.is_some_and(|used| used <= MAX_USED)
    }
}

/// The options, each after a space, with which a context ran besides `--context`: without them it is another setting.
pub(crate) fn options(study: &StudyReport<'_>, context: &str) -> String {
    // In the study, reservations compete outside their time.
    let compete = if context.starts_with("reservation:") { " --compete" } else { "" };
    let mut of_context = study.rows.iter().filter(|row| row.group != "slots" && row.context == context);
    let is_woken = of_context.any(|row| row.device().is_some_and(|device| device.wake.as_deref() == Some("softirq")));
    format!("{compete}{}", if is_woken { " --wake softirq" } else { "" })
}

/// The contexts that disturbed others less than the recommended one and were not recommended, since they had little room;
/// none if it has little itself.
pub(crate) fn passed_over<'a>(study: &'a StudyReport<'_>, recommended: &Evidence<'_>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for row in study.rows.iter().filter(|row| row.group == "contexts" && recommended.has_room()) {
        let name = row.context.as_str();
        if name == recommended.context || names.contains(&name) {
            continue;
        }
        let less = |other: &Evidence<'_>| other.keeps && !other.has_room() && other.off < recommended.off;
        if Evidence::of(study, name).is_some_and(|other| less(&other)) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Run;
    use punctual_recording::{ActivationDocument, DeviceSummary};
    use std::path::Path;

    fn activations(context: &str, response_ns: u64, late: u64, stalls: u64) -> ActivationDocument {
        let mut device = DeviceSummary {
            context: context.to_owned(),
            buffers: 3,
            period_ns: 1_000_000,
            arrived: 3_000,
            processed: 3_000,
            underruns: late,
            underruns_outside: late,
            stalls,
            ..DeviceSummary::default()
        };
        device.response.record(response_ns);
        ActivationDocument { devices: vec![device], ..ActivationDocument::default() }
    }

    #[test]
    fn a_recommendation_says_what_was_seen_and_what_that_leaves_open() {
        let document = crate::device::run::tests::document();
        let runs = [
            (activations("irq", 500_000, 0, 0), 0.3),
            (activations("softirq", 1_900_000, 0, 0), 0.1),
            (activations("thread:fifo:80", 100_000, 8, 2), 0.4),
        ];
        let rows = runs.iter().map(|(activations, off)| Row {
            group: "contexts",
            context: activations.devices[0].context.clone(),
            competitor: Some("spin:normal".to_owned()),
            paper: None,
            paper_works: None,
            predicted: None,
            holds: Some(true),
            off: Some(*off),
            run: Ok(Run { path: Path::new("a"), document: &document, activations }),
        });
        let study = StudyReport {
            profile: punctual_device::Catalogue::shipped().find("v90").unwrap(),
            asked: None,
            rows: rows.collect(),
            lowest_sufficient: None,
            least_intrusive: Some("irq"),
            interrupted: false,
        };
        let irq = Evidence::of(&study, "irq").unwrap();
        let said = irq.sentence();
        assert!(said.starts_with("0 of 3,000 blocks were late in "), "{said}");
        assert!(said.contains(
            "(beside spin:normal; no load added). With 95 % confidence, that leaves at most 1 late block in 1,001:"
        ));
        assert!(irq.room().contains("at worst it used 25 % of its time"), "{}", irq.room());
        let passed = passed_over(&study, &irq);
        assert_eq!(passed, ["softirq"]);
        // Eight blocks in two waits: up to 7.22 waits, of four each.
        let thread = Evidence::of(&study, "thread:fifo:80").unwrap();
        assert_eq!(thread.one_in(), 103);
        assert!(thread.sentence().contains(", only while the machine kept even FIFO 99"), "{}", thread.sentence());
        let close = Evidence::of(&study, "softirq").unwrap();
        assert!(close.room().contains("little room to spare: at worst it used 95 %"), "{}", close.room());
        assert_eq!(passed_over(&study, &close), [""; 0]);
        assert!(Evidence::of(&study, "thread:fifo:1").is_none());
        assert_eq!(["irq", "reservation:2ms/8ms"].map(|context| options(&study, context)), ["", " --compete"]);
        // Nothing of all that is said to hold.
        let said = crate::verdict::device::study::study_verdict(&study);
        assert!(said.contains("recommends irq for v90") && !said.contains(" holds v90"), "{said}");
        assert!(said.contains(" softirq disturbs others less, but kept up with little room to spare."), "{said}");
    }
}
