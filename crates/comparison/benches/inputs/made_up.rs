//! Made-up recordings of inputs: keys, Enters, pages and a start, as a program with known behaviour answers them.

use punctual_random::Random;
use punctual_recording::{
    Counters, Document, EndReason, Ended, Interaction, InteractionDocument, InteractionPart, Outcome, Provenance,
    SCHEMA,
};

/// The kinds of input of a run: how many, and about how long each takes, ns.
const KINDS: [(&str, u32, f64); 4] = [("start", 1, 80e6), ("key", 100, 0.3e6), ("enter", 20, 2e6), ("page", 8, 5e6)];
/// The time between two inputs.
const PAUSE_NS: u64 = 150_000_000;

/// How a machine behaves between its runs and within them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Process {
    /// All inputs follow one distribution.
    Steady,
    /// Whole runs differ by a lognormal factor with this standard deviation of its logarithm.
    Runs(f64),
    /// Each run is in one of two states; the second is this many times as slow.
    Regimes(f64),
    /// Neighbouring inputs depend on each other, by this much.
    Correlated(f64),
    /// One input in twenty takes ten times as long; whole runs differ by this standard deviation.
    Tail(f64),
}

/// The recording of a run.
pub(crate) struct Made {
    pub(crate) document: Document,
    pub(crate) summary: InteractionDocument,
    pub(crate) inputs: Vec<Interaction>,
    pub(crate) parts: Vec<InteractionPart>,
}

/// A machine with a program on it.
pub(crate) struct Machine {
    random: Random,
    process: Process,
}

impl Machine {
    pub(crate) fn new(process: Process, seed: u64) -> Machine {
        Machine { random: Random(seed), process }
    }

    /// The run that began this many ns after others, in which inputs of a kind wait for a disk for this many ns more.
    pub(crate) fn run(&mut self, began_ns: u64, more: (&str, f64)) -> Made {
        let of_run = match self.process {
            Process::Steady | Process::Correlated(_) => 1.0,
            Process::Runs(sd) | Process::Tail(sd) => (sd * self.random.normal()).exp(),
            Process::Regimes(factor) => [1.0, factor][self.random.below(2) as usize],
        };
        let (mut inputs, mut parts, mut at, mut hangs) = (Vec::new(), Vec::new(), began_ns, self.random.normal());
        for (kind, count, usual_ns) in KINDS {
            for repeat in 1..=count {
                let draw = self.random.normal();
                hangs = match self.process {
                    Process::Correlated(by) => by * hangs + (1.0 - by * by).sqrt() * draw,
                    _ => draw,
                };
                let is_late = matches!(self.process, Process::Tail(_)) && self.random.below(20) == 0;
                let own = (usual_ns * of_run * (0.4 * hangs).exp() * if is_late { 10.0 } else { 1.0 }) as u64;
                let disk = if kind == more.0 { (more.1 * (0.2 * self.random.normal()).exp()) as u64 } else { 0 };
                let number = inputs.len() as u32;
                let part = |kind: &str, name: &str, ns: u64| InteractionPart {
                    number,
                    kind: kind.to_owned(),
                    name: name.to_owned(),
                    ns,
                    ..InteractionPart::default()
                };
                parts.push(part("own", "editor", own));
                parts.extend((disk > 0).then(|| part("io", "vda", disk)));
                inputs.push(Interaction {
                    number,
                    kind: kind.to_owned(),
                    label: kind.to_owned(),
                    repeat,
                    begin_ns: at,
                    end_ns: at + PAUSE_NS,
                    seen_ns: Some(at + own + disk),
                    outcome: Some(Outcome::Seen),
                    ..Interaction::default()
                });
                at += PAUSE_NS;
            }
        }
        Made { document: document(began_ns, at), summary: summary(), inputs, parts }
    }
}

fn summary() -> InteractionDocument {
    InteractionDocument {
        via: "pty".to_owned(),
        pace: "human".to_owned(),
        program: vec!["editor".to_owned()],
        followed: true,
        ..InteractionDocument::default()
    }
}

/// A document that says only when it began and ended.
fn document(began_ns: u64, at_ns: u64) -> Document {
    let provenance = Provenance { run_id: began_ns.to_string(), started_ns: began_ns, ..Provenance::default() };
    let value = serde_json::json!({
        "schema": SCHEMA, "ended": Ended { reason: EndReason::Completed, detail: None, at_ns }, "provenance": provenance, "tasks": [],
        "counters": Counters::default(), "segments": 1, "distributions": [],
    });
    serde_json::from_value(value).expect("a document")
}
