//! Recordings of wakeups, made up to be compared.

use punctual_recording::*;
use std::path::Path;

pub(crate) const MS: u64 = 1_000_000;

/// How to make up a recording.
pub(crate) struct Made<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) load: &'a str,
    pub(crate) interval_ns: u64,
    pub(crate) via: &'a str,
    pub(crate) measure: &'a str,
    pub(crate) seconds: u64,
    /// Multiplies all lateness, in hundredths.
    pub(crate) scale: u64,
    /// A wakeup is 3 ms late once every this many ms; 0 for never.
    pub(crate) stall_every_ms: u64,
    pub(crate) score: Option<u64>,
    pub(crate) swappiness: i64,
    pub(crate) started_ns: u64,
    /// What was counted of requests, if they were recorded.
    pub(crate) requests: Option<&'a RecorderSummary>,
}

pub(crate) const PLAIN: Made<'static> = Made {
    run_id: "a",
    load: "none",
    interval_ns: MS,
    via: "timer",
    measure: "fifo:80",
    seconds: 20,
    scale: 100,
    stall_every_ms: 0,
    score: None,
    swappiness: 60,
    started_ns: 1_000_000_000,
    requests: None,
};

pub(crate) fn write(path: &Path, made: &Made<'_>) {
    let scores = made.score.map(|count| LoadScore {
        name: "render".into(),
        unit: "frames".into(),
        count_thousandths: count * 1_000,
        elapsed_ns: made.seconds * 1_000 * MS,
        pace_ns: None,
    });
    let provenance = Provenance {
        run_id: made.run_id.into(),
        started_ns: made.started_ns,
        configuration: Configuration {
            interval_ns: made.interval_ns,
            policy: "fifo".into(),
            via: made.via.into(),
            bpf: true,
            ..Configuration::default()
        },
        load: LoadInfo { name: made.load.into(), scores: scores.into_iter().collect(), ..LoadInfo::default() },
        tuning: [("vm.swappiness".to_owned(), Setting::Number(made.swappiness))].into(),
        ..Provenance::default()
    };
    let counters = Counters { missed: Some(0), ..Counters::default() };
    let task = Task { measure: made.measure.into(), tid: 7, cpu: Some(0), period_ns: made.interval_ns, counters };
    let mut writer = Writer::create(path, provenance, vec![task]).unwrap();
    let count = made.seconds * 1_000 * MS / made.interval_ns;
    let mut random = made.run_id.bytes().fold(7u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    for index in 0..count {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // From 10 us up, with a tail.
        let uniform = ((random >> 33) as f64 + 0.5) / (1u64 << 31) as f64;
        let mut late = (10_000.0 + 8_000.0 * -uniform.ln()) as u64 * made.scale / 100;
        let since_ms = index * made.interval_ns / MS;
        if made.stall_every_ms > 0 && since_ms % made.stall_every_ms == 1 {
            late = 3 * MS;
        }
        let expected = made.started_ns + index * made.interval_ns;
        let stamps = Stamps {
            expected,
            irq: expected + late / 2,
            softirq: 0,
            waking: expected + late / 2 + 500,
            switch_in: expected + late - late / 10,
            user: expected + late,
        };
        writer.push(0, &Wakeup::from_stamps(&stamps, 0, 7));
    }
    writer.flush().unwrap();
    if let Some(recorder) = made.requests {
        writer.set_recorder(recorder.clone());
    }
    let at_ns = made.started_ns + made.seconds * 1_000 * MS;
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns }, Vec::new()).unwrap();
}
