//! The ledger holds, and what experiments may not say is refused in one line with its place.

use punctual_sim::experiment::{Class, Experiment, Value};
use punctual_sim::ledger::{BUILTIN, builtin, papers};

#[test]
fn every_judged_row_of_the_ledger_holds_on_any_number_of_threads() {
    let ledger = papers(2).unwrap();
    let failing: Vec<_> = ledger.rows.iter().filter(|row| row.holds == Some(false)).map(|row| &row.id).collect();
    assert!(failing.is_empty(), "{failing:?}");
    assert_eq!(ledger, papers(1).unwrap());
    for row in &ledger.rows {
        let said = row.because.is_some() || !matches!(row.class, Class::Input | Class::NotSimulated);
        assert!(said, "{}: no reason", row.id);
        let named = row.class != Class::Assumption || row.assumption.is_some();
        assert!(named, "{}: no assumption", row.id);
        if row.holds.is_some() {
            assert!(row.simulated.is_some(), "{}: judged but not run", row.id);
        }
    }
    for assumption in &ledger.assumptions {
        for id in &assumption.fitted_on {
            assert!(ledger.rows.iter().any(|row| row.id == *id), "{}: no row {id}", assumption.name);
        }
    }
    for needed in ["Table 1,", "Table 2,", "Table 3", "Figure 17"] {
        assert!(ledger.rows.iter().any(|row| row.item.contains(needed)));
    }
}

#[test]
fn table_3_comes_out_in_twelve_classes_of_twelve() {
    let outcome = builtin("soft-modem-table3").unwrap().unwrap().run().unwrap();
    let classes = outcome.rows.iter().filter(|row| row.item.contains("what the reservation is"));
    assert_eq!(classes.filter(|row| row.holds == Some(true)).count(), 12);
    let right = outcome.rows.iter().filter(|row| row.id.starts_with("modem-fig17-rule")).filter(|row| {
        let sufficient = |value: &Option<Value>| *value == Some(Value::Text("sufficient".to_owned()));
        sufficient(&row.published) == sufficient(&row.simulated)
    });
    assert_eq!(right.count(), 11);
}

const GOOD: &str = r#"schema = "punctual.experiment/1"
name = "good"
duration = "1s"

[clock]
period = "1ms"

[[thread]]
name = "t"
policy = { priority = 3 }
activity = { timer = { interval = "1ms", rule = "exact" } }
work = "10us"

[[row]]
id = "r"
item = "count"
measure = { of = "interval_count", thread = "t", from = "0us", to = "2ms", first = 10 }
published = 10
class = "exact"
"#;

#[test]
fn an_experiment_runs() {
    let outcome = Experiment::parse("good.toml", GOOD).unwrap().run().unwrap();
    assert_eq!(outcome.rows[0].holds, Some(true));
}

#[test]
fn what_is_wrong_is_said_in_one_line_with_its_place() {
    let cases = [
        ("work = \"10us\"", "wrok = \"10us\"", 12, "wrok"),
        ("period = \"1ms\"", "period = \"0ms\"", 6, "period of 0"),
        ("interval = \"1ms\"", "interval = \"0s\"", 11, "period of 0"),
        ("\"1s\"", "\"1 parsec\"", 3, "parsec"),
        ("\"1s\"", "\"0s\"", 3, "no length"),
        ("priority = 3", "priority = 300", 10, "300"),
        ("priority = 3", "reservation = { runtime = 9, period = 8 }", 10, "impossible"),
        ("priority = 3", "deadline = { runtime = \"2ms\", period = \"1ms\" }", 10, "runtime"),
        ("priority = 3", "deadline = { runtime = \"99ms\", period = \"100ms\" }", 1, "95"),
        ("thread = \"t\", from", "thread = \"u\", from", 17, "\"u\""),
        ("class = \"exact\"", "class = \"certain\"", 19, "certain"),
        ("class = \"exact\"", "class = \"assumption\"", 19, "assumption"),
        ("\"1s\"", "\"700h\"\nruns = 1000000000", 3, "events"),
        ("measure = {", "measures = {", 17, "measures"),
        ("name = \"good\"", "name = ", 2, ""),
    ];
    for (from, to, line, word) in cases {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD);
        let error = Experiment::parse("bad.toml", &text).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        assert!(error.starts_with(&format!("bad.toml:{line}:")), "{to}: {error}");
        assert!(error.contains(word), "{to}: {error}");
    }
}

#[test]
fn a_device_that_cannot_be_is_refused() {
    let (_, text) = BUILTIN.iter().find(|(file, _)| *file == "soft-modem-rialto.toml").unwrap();
    for (from, to) in [
        ("parts_per_million = 100", "parts_per_million = -1000000"),
        ("samples = [18]", "samples = [4000000000]"),
        ("samples = [18]", "samples = []"),
        ("rate = 7200", "rate = 0"),
        ("rate = 7200", "rate = 1000000000000000"),
        ("runs = 3", "runs = 1000000000"),
        ("runs = 3", "runs = 0"),
    ] {
        let error = Experiment::parse("bad.toml", &text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.starts_with("bad.toml:") && !error.contains('\n'), "{to}: {error}");
    }
}

#[test]
fn every_built_in_experiment_is_found_by_its_name() {
    for (file, _) in BUILTIN {
        assert!(builtin(file).unwrap().is_ok());
    }
    assert!(builtin("nothing").is_none());
}
