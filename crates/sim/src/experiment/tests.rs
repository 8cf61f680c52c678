use super::*;
use std::fmt::Write;
use std::time::{Duration, Instant};

fn with_cases(count: usize) -> String {
    let mut text = "schema = \"punctual.experiment/1\"\nname = \"many\"\nduration = \"1ms\"\n".to_owned();
    (0..count).for_each(|number| write!(text, "[[case]]\nname = \"{number}\"\n").unwrap());
    text
}

#[test]
fn a_link_whose_times_cannot_be_counted_is_refused() {
    let modem = crate::ledger::builtin("soft-modem-table1").unwrap().unwrap();
    let with = |keys: &[&str], value: u64| {
        let set: Vec<_> = keys.iter().map(|key| setting(&format!("link.{key}={value}")).unwrap()).collect();
        modem.with(&set)
    };
    let rates = ["line_rate", "packet_bytes", "frame_bytes"];
    let bytes = ["file_bytes", "frame_overhead", "window_frames", "packet_overhead", "escaped_of_256"];
    for key in rates.into_iter().chain(bytes) {
        assert!(with(&[key], i64::MAX as u64).is_err(), "{key}");
    }
    // Their product is 0 in 128 bits.
    assert!(with(&rates, 1 << 62).is_err());
    assert!(with(&["packet_overhead"], 1 << 32).is_err(), "more than 30 days");
    assert!(with(&["escaped_of_256"], 256).is_ok());
}

#[test]
fn cases_without_end_are_refused_at_once() {
    let began = Instant::now();
    let refused = Experiment::parse("many.toml", &with_cases(20_000)).unwrap_err().to_string();
    assert!(refused.contains("20,000 cases are too many"), "{refused}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let several = Experiment::parse("several.toml", &with_cases(20));
    assert!(!several.is_err_and(|error| error.to_string().contains("too many")));
}
