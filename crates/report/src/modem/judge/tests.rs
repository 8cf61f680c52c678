use super::*;
use punctual_modem::judge::{Cost, LossRow, NoiseRow};

fn modem(name: &str, maker: &'static str, bits_per_second: u32, flawless: f64) -> Judged {
    let row = |signal_to_noise: f64| {
        let wrong = if signal_to_noise < flawless { 500 } else { 0 };
        NoiseRow { signal_to_noise, calls: 4, connected: 4, lasted: 4, bits: 100_000, wrong, slips: 0 }
    };
    let loss = |length_us, recovered, disturbed_ms| LossRow {
        length_us,
        samples: 90,
        calls: 4,
        retrained: 4 - recovered,
        lost_carrier: 0,
        recovered,
        wrong: 20,
        disturbed_ms,
    };
    Judged {
        name: name.to_owned(),
        maker,
        bits_per_second,
        sample_rate: 8_000,
        is_duplex: maker == "punctual",
        level: 4_096.0,
        noise: (20..=30).rev().map(|ratio| row(f64::from(ratio))).collect(),
        losses: vec![loss(12_500, 4, Some(25)), loss(12_700, 0, None)],
        cost: Some(Cost { least_ns: [20.6, 49.2], median_ns: [21.0, 50.0] }),
    }
}

fn how() -> Judgement {
    Judgement { losses_us: vec![12_500, 12_700], ..Judgement::default() }
}

#[test]
fn modems_of_one_rate_stand_beside_each_other_and_the_rest_is_counted() {
    let judged = [
        modem("V.22bis", "spandsp", 2_400, 21.0),
        modem("V.29", "spandsp", 9_600, 22.0),
        modem("V.17", "spandsp", 14_400, 25.0),
        modem("QAM 9600", "punctual", 9_600, 21.0),
        modem("QAM 14400", "punctual", 14_400, 31.0),
    ];
    let how = how();
    let verdict = Judging { how: &how, judged: &judged, interrupted: false }.verdict();
    assert_eq!(
        verdict,
        "The line carries V.17 of spandsp without an error from 25 dB on, QAM 14400 of punctual at no ratio, V.29 of spandsp \
         from 22 dB on and QAM 9600 of punctual from 21 dB on; 1 more below."
    );
    let alone = Judging { how: &how, judged: &judged[..1], interrupted: true }.verdict();
    assert_eq!(alone, "The line carries V.22bis of spandsp without an error from 21 dB on; interrupted.");
    assert_eq!(Judging { how: &how, judged: &[], interrupted: true }.verdict(), "No modem was judged; interrupted.");
}

#[test]
fn the_tables_begin_where_modems_begin_to_differ() {
    let judged = [modem("V.29", "spandsp", 9_600, 22.0), modem("QAM 9600", "punctual", 9_600, 24.0)];
    let how = how();
    let judging = Judging { how: &how, judged: &judged, interrupted: false };
    let text = judge_text(&judging);
    let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = text.lines().map(fields).collect();
    let has = |words: &[&str]| lines.iter().any(|line| line == words);
    assert!(has(&["V.29", "spandsp", "9,600", "one", "22", "dB", "21", "49"]), "{text}");
    assert!(has(&["24", "0", "0"]) && has(&["23", "0", "5.0e-3"]) && has(&["21", "5.0e-3", "5.0e-3"]), "{text}");
    assert!(!has(&["25", "0", "0"]), "{text}");
    assert!(has(&["12.5", "ms", "25.0", "ms", "25.0", "ms"]) && has(&["12.7", "ms", "lost*", "lost*"]), "{text}");
    let answer = serde_json::to_value(JudgeAnswer::new(&judging)).unwrap();
    assert_eq!(answer["modems"][1]["flawless_from_db"], 24.0);
    assert_eq!(answer["modems"][0]["losses"][0]["disturbed_ns"], 25_000_000);
    assert_eq!(answer["compared_ns"], 5_000_000_000u64);
}
