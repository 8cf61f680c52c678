//! Writes a recording that nobody measured, to see how reports and pages cope with many wakeups: `cargo run -p
//! punctual-recording --example invented -- big.punctual 10000000 4 [LOAD]`.

use punctual_recording::{
    Configuration, Counters, EndReason, Ended, LoadInfo, Provenance, Stamps, Task, Wakeup, Writer,
};

const MS: u64 = 1_000_000;

/// Numbers without a pattern that are the same every time (xorshift).
struct Random(u64);

impl Random {
    /// From 0 up to 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Around `scale`, with a tail that falls by `10^shape` for each factor of 10.
    fn tail(&mut self, scale: f64, shape: f64) -> u64 {
        (scale * (1.0 - self.next()).max(1e-12).powf(-1.0 / shape)) as u64
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let path = words.get(1).ok_or("which recording?")?;
    let wakeups: u64 = words.get(2).map_or(Ok(1_000_000), |word| word.parse())?;
    let cpus: u32 = words.get(3).map_or(Ok(4), |word| word.parse())?;
    let load = words.get(4).map_or("none", String::as_str);
    let slower = if load == "none" { 1.0 } else { 2.5 };
    let provenance = Provenance {
        punctual_version: "0.0.0".into(),
        run_id: format!("invented-{wakeups}-{cpus}-{load}"),
        started_ns: 1_000 * MS,
        configuration: Configuration {
            interval_ns: MS,
            policy: "fifo".into(),
            priorities: vec![80],
            cpus: (0..cpus).collect(),
            via: "timer".into(),
            bpf: true,
            ..Configuration::default()
        },
        load: LoadInfo { name: load.into(), ..LoadInfo::default() },
        blind: vec!["everything: these wakeups are invented".into()],
        ..Provenance::default()
    };
    let task = |cpu| Task {
        measure: "fifo:80".into(),
        tid: 100 + cpu,
        cpu: Some(cpu),
        period_ns: MS,
        counters: Counters::default(),
    };
    let mut writer = Writer::create(path, provenance, (0..cpus).map(task).collect())?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let rounds = wakeups / u64::from(cpus.max(1));
    for round in 0..rounds {
        let expected = (1_000 + round) * MS;
        // Every 20 s one second is worse, and one CPU is worse than the others.
        let storm = if (round / 1_000).is_multiple_of(20) { 4.0 } else { 1.0 };
        for cpu in 0..cpus {
            let worse = slower * storm * if cpu == 1 { 1.6 } else { 1.0 };
            let irq = expected + random.tail(2_000.0 * worse, 2.6).min(40 * MS);
            let waking = irq + random.tail(500.0, 6.0).min(MS);
            let switch_in = waking + random.tail(3_000.0 * worse, 3.0).min(40 * MS);
            let user = switch_in + random.tail(1_200.0, 4.0).min(MS);
            let stamps = Stamps { expected, irq, softirq: 0, waking, switch_in, user };
            writer.push(cpu as usize, &Wakeup::from_stamps(&stamps, cpu, 100 + cpu));
        }
        if round % 1_000 == 999 {
            writer.flush()?;
        }
    }
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: (1_000 + rounds) * MS }, Vec::new())?;
    Ok(())
}
