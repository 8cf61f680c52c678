//! A small set of the causes that `why` was not built for: it hardly ever gives a wrong name, and each of them is met.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// With fewer met, nothing is proven: the recorder could be dead.
const MIN_MET: u64 = 15;
/// Out of eighty injections in all; what happens once in eighty is no proof of a fault.
const MAX_WRONG_OF_80: u64 = 1;
/// If the machine is too busy to copy evidence before it is overwritten, to stop the victim in time or to let it begin
/// its wait, or the host takes the CPUs, there is another run.
const MAX_RUNS: u64 = 3;

/// What became of a cause's injections, over all runs.
#[derive(Debug, Default)]
struct Tally {
    met: u64,
    right: u64,
    wrong: u64,
    /// Nothing can be said about these: the evidence is void, or the host had the CPU.
    withheld: u64,
    skipped: bool,
    /// The rest of what was met, for whoever reads a failure: a kind without a name, nothing known, another reason.
    nameless: u64,
    unknown: u64,
    false_reason: u64,
    /// What was said of those that are wrong.
    wrong_names: Vec<String>,
}

impl Tally {
    fn add(&mut self, cause: &Value) {
        // The examiner has already said so, in the place where skips are counted.
        if cause["skipped"].is_string() {
            self.skipped = true;
            return;
        }
        let count = |key: &str| cause["tally"][key].as_u64().unwrap_or_else(|| panic!("{cause}"));
        self.met += count("met");
        self.right += count("right");
        self.wrong += count("wrong");
        self.nameless += count("nameless");
        self.unknown += count("unknown");
        self.false_reason += count("false_reason");
        self.withheld += count("void") + count("steal");
        let wrong = cause["tally"]["wrong_names"].as_array().into_iter().flatten();
        self.wrong_names.extend(wrong.filter_map(|wrong| wrong["said"].as_str()).map(str::to_owned));
    }

    fn is_enough(&self) -> bool {
        self.skipped || self.met >= MIN_MET
    }

    /// Nine in ten. If there are few, two say nothing.
    fn are_right(&self) -> bool {
        self.right * 10 >= self.met * 9
    }
}

fn causes(examiner: &Path, program: &Path) -> Vec<Value> {
    let run = Command::new(examiner).args(["--fast", "--count", "20", "--json", "--program"]).arg(program).output();
    let run = run.expect("the examiner starts");
    let answer: Value = serde_json::from_slice(&run.stdout).expect("the examiner's JSON");
    let causes = answer["causes"].as_array().expect("a list of causes").clone();
    assert_eq!(causes.len(), 5, "{answer}");
    causes
}

#[test]
fn a_small_set_of_causes_gets_its_right_names() {
    let examiner = Path::new(env!("CARGO_BIN_EXE_causes"));
    let program = examiner.with_file_name("punctual");
    assert!(program.is_file(), "{}: build it first (cargo build --workspace)", program.display());
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut runs = 0;
    let lacks = |tally: &Tally| !tally.is_enough() || !tally.are_right();
    while runs < MAX_RUNS && (runs == 0 || tallies.values().any(lacks)) {
        runs += 1;
        for cause in causes(examiner, &program) {
            tallies.entry(cause["cause"].as_str().expect("a name").to_owned()).or_default().add(&cause);
        }
        eprintln!("run {runs}: {tallies:?}");
    }
    // One that was met shows that the recorder lives; what others lack is then the machine's fault.
    assert!(
        tallies.values().any(|tally| tally.met >= MIN_MET) || tallies.values().all(|tally| tally.skipped),
        "{tallies:?}"
    );
    for (name, tally) in &tallies {
        assert!(tally.are_right(), "{name}: {tally:?}");
        // What was withheld is the machine's fault, and nothing else may be missing.
        if !tally.is_enough() && tally.met + tally.withheld >= MIN_MET * runs {
            let reason = format!(
                "of {} in {runs} runs {} had no evidence: the machine is too busy",
                tally.met + tally.withheld,
                tally.withheld
            );
            punctual_testing::skip(&format!("cause {name}"), reason);
            continue;
        }
        assert!(tally.is_enough(), "{name}: {tally:?}");
    }
    let wrong: u64 = tallies.values().map(|tally| tally.wrong).sum();
    assert!(wrong <= MAX_WRONG_OF_80 * runs, "{tallies:?}");
}
