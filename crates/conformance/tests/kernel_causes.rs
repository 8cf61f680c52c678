//! A small set of the causes that `why` was not built with: hardly ever the wrong name, and each of them met.

use std::path::Path;
use std::process::Command;

/// Fewer that are met prove nothing: the recorder could be dead.
const MIN_MET: u64 = 15;
/// Of all injections together; what happens once in eighty is no proof of a fault.
const MAX_WRONG: u64 = 1;

#[test]
fn a_small_set_of_causes_gets_its_right_names() {
    let examiner = Path::new(env!("CARGO_BIN_EXE_causes"));
    let program = examiner.with_file_name("punctual");
    assert!(program.is_file(), "{}: build it first (cargo build --workspace)", program.display());
    let run = Command::new(examiner).args(["--fast", "--count", "20", "--json", "--program"]).arg(&program).output();
    let run = run.expect("the examiner starts");
    let answer: serde_json::Value = serde_json::from_slice(&run.stdout).expect("the examiner's JSON");
    let causes = answer["causes"].as_array().expect("a list of causes");
    assert_eq!(causes.len(), 4, "{answer}");
    let mut wrong = 0;
    for cause in causes {
        let name = cause["cause"].as_str().expect("a name");
        // The examiner has said so already, where skips are counted.
        if cause["skipped"].is_string() {
            continue;
        }
        let count = |key: &str| cause["tally"][key].as_u64().unwrap_or_else(|| panic!("{name}: {cause}"));
        eprintln!("{name}: {} met, {} right", count("met"), count("right"));
        assert!(count("met") >= MIN_MET, "{name}: {cause}");
        wrong += count("wrong");
        assert!(count("right") * 10 >= count("met") * 9, "{name}: {cause}");
    }
    assert!(wrong <= MAX_WRONG, "{answer}");
}
