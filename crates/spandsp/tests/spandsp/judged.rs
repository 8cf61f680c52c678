//! The library's modems over our line: they connect, they carry bits, noise and lost samples do to them what they should.
//! Skipped, loudly, where the library is not installed.

use punctual_modem::judge::{Candidate, Judged, Judgement, judge};
use punctual_spandsp::{Library, Theirs};

fn how() -> Judgement {
    Judgement { calls: 2, compared_ms: 2_000, losses_us: vec![12_500, 12_700, 500_000], ..Judgement::default() }
}

/// What each of the library's modems came to; `None`: there is no library.
fn judged(test: &str, how: &Judgement) -> Option<Vec<Judged>> {
    let library = match Library::load() {
        Ok(library) => library,
        Err(missing) => {
            punctual_testing::skip(test, missing);
            return None;
        }
    };
    let judged = |theirs: &Theirs| judge(theirs, how, &mut || 0, &mut |_| true).expect("there is memory for two ends");
    Some(Theirs::all(library).iter().map(judged).collect())
}

#[test]
fn they_carry_bits_over_our_line_until_noise_stops_them() {
    let how = Judgement { losses_us: Vec::new(), ..how() };
    let Some(all) = judged("spandsp over our line", &how) else { return };
    let names: Vec<&str> = all.iter().map(|judged| judged.name.as_str()).collect();
    assert_eq!(names, ["V.22bis", "V.27ter", "V.29", "V.17"]);
    // Where each begins to fail, dB, with room for another build of the library.
    let from = [(10.0, 20.0), (13.0, 20.0), (17.0, 25.0), (21.0, 28.0)];
    let mut bits = 0;
    for (judged, (low, high)) in all.iter().zip(from) {
        assert!(judged.cost.is_some(), "{} connects", judged.name);
        assert!((judged.level - 4_096.0).abs() < 100.0, "{} sends {}", judged.name, judged.level);
        let flawless = judged.flawless_from().unwrap_or_else(|| panic!("{}: {:?}", judged.name, judged.noise));
        assert!((low..=high).contains(&flawless), "{}: from {flawless} dB on", judged.name);
        let worst = judged.noise.last().unwrap();
        assert!(worst.connected == 0 || worst.error_rate() > Some(0.02), "{}: {worst:?}", judged.name);
        bits += judged.noise.iter().map(|row| row.bits).sum::<u64>();
    }
    assert!(bits > 1_000_000, "{bits} bits were compared");
}

#[test]
fn lost_samples_cost_a_carrier_or_a_retrain() {
    let how = Judgement { ratios: 30..=30, ..how() };
    let Some(all) = judged("lost samples and spandsp", &how) else { return };
    let mut calls = 0;
    for judged in &all {
        let [whole, not_whole, long] = &judged.losses[..] else { panic!("{:?}", judged.losses) };
        for row in [whole, not_whole, long] {
            assert_eq!(row.calls, 2, "{}: {row:?}", judged.name);
            assert!(row.wrong > 0, "{}: {row:?}", judged.name);
            calls += row.calls;
        }
        if judged.is_duplex {
            // Both ends hear that the other has gone, and train again.
            assert_eq!((long.retrained, long.lost_carrier, long.recovered), (2, 2, 2), "{}: {long:?}", judged.name);
            assert!(long.disturbed_ms > Some(1_000), "{}: {long:?}", judged.name);
        } else {
            // 12.5 ms are whole symbols and quarters of the carrier's turn; a sample more is neither, and nobody trains again.
            assert_eq!((whole.recovered, whole.lost_carrier), (2, 0), "{}: {whole:?}", judged.name);
            assert_eq!((not_whole.recovered, not_whole.lost_carrier), (0, 2), "{}: {not_whole:?}", judged.name);
        }
    }
    assert_eq!(calls, 24);
}

#[test]
fn the_same_seed_gives_the_same_judgement() {
    let how =
        Judgement { calls: 1, compared_ms: 500, ratios: 20..=22, losses_us: vec![12_700], ..Judgement::default() };
    let Some(once) = judged("spandsp judged twice", &how) else { return };
    assert_eq!(Some(once), judged("spandsp judged twice", &how));
}

/// Kilobytes of memory that this process occupies.
fn occupied() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn modems_that_are_gone_leave_no_memory_behind() {
    const PAIRS: usize = 4_000;
    let library = match Library::load() {
        Ok(library) => library,
        Err(missing) => return punctual_testing::skip("the memory of spandsp's modems", missing),
    };
    let all = Theirs::all(library);
    let make = |count: usize| {
        for _ in 0..count {
            for theirs in &all {
                let mut pair = theirs.pair(true).expect("there is memory for two ends");
                let (heard, mut sent) = ([0; 100], [0; 100]);
                pair.iter_mut().for_each(|end| end.process(&heard, &mut sent, &mut || true, &mut |_| ()));
            }
        }
    };
    // Each state is of a kilobyte and more: those of one kind would be four megabytes and more.
    make(20);
    let before = occupied();
    make(PAIRS);
    let grown = occupied().saturating_sub(before);
    assert!(grown < 2_048, "{grown} kB more after {PAIRS} calls of each of {} modems", all.len());
}
