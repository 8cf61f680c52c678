//! Recordings that pages are made from.

use punctual_recording::*;
use std::path::Path;

pub(crate) const MS: u64 = 1_000_000;

/// Wakeups on two CPUs, a third of them unlike the others, and one very late.
pub(crate) fn write(path: &Path, run_id: &str, load: &str, scale: u64) {
    let provenance = Provenance {
        run_id: run_id.into(),
        started_ns: 1_000 * MS,
        configuration: Configuration { interval_ns: MS, policy: "fifo".into(), bpf: true, ..Configuration::default() },
        load: LoadInfo { name: load.into(), trouble: vec!["</script><b>a load's words".into()], ..LoadInfo::default() },
        blind: vec!["who made a wakeup late".into()],
        ..Provenance::default()
    };
    let task = |cpu| Task {
        measure: "fifo:80".into(),
        tid: 7 + cpu,
        cpu: Some(cpu),
        period_ns: MS,
        counters: Counters { missed: Some(0), ..Counters::default() },
    };
    let mut writer = Writer::create(path, provenance, vec![task(0), task(1)]).unwrap();
    for index in 0..12_000u64 {
        let cpu = (index % 2) as u32;
        let expected = (1_000 + index / 2) * MS;
        let late = scale * (1_000 + index % 3_000 * 37 + if index == 7_777 { 3 * MS } else { 0 });
        let stamps = Stamps {
            expected,
            irq: expected + late / 2,
            softirq: 0,
            waking: expected + late / 2 + 300,
            switch_in: expected + late + 400,
            user: expected + late + 900,
        };
        writer.push(cpu as usize, &Wakeup::from_stamps(&stamps, cpu, 7 + cpu));
    }
    writer.flush().unwrap();
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 7_000 * MS }, Vec::new()).unwrap();
}

/// Gaps on two CPUs over 4 s, a third of them by a thread, and one of 2 ms.
pub(crate) fn write_gaps(path: &Path) {
    let provenance = Provenance {
        run_id: "1".into(),
        started_ns: 1_000 * MS,
        configuration: Configuration { policy: "idle".into(), cpus: vec![0, 1], ..Configuration::default() },
        blind: vec!["anything shorter than the threshold".into()],
        ..Provenance::default()
    };
    let writer = Writer::create_of(RecordingKind::Gaps, path, provenance, Vec::new()).unwrap();
    let mut gaps = GapWriter::create(writer.directory()).unwrap();
    let mut document = GapDocument {
        schema: "punctual.gaps/1".into(),
        threshold_ns: 5_000,
        clock: "tsc".into(),
        ticks_per_second: 1_000_000_000,
        followed: true,
        names: vec!["local_timer".into(), "<b>a thread".into()],
        bin_ns: 100 * MS,
        ..GapDocument::default()
    };
    let mut cpus =
        [0, 1].map(|cpu| CpuGaps { cpu, profile: vec![0; 40], runtime_ns: 4_000 * MS, ..CpuGaps::default() });
    let mut sums = [0, 1].map(|name| {
        let kind = if name == 0 { CauseKind::Irq } else { CauseKind::Thread };
        CauseSum { kind, name, count: 0, total_ns: 0, max_ns: 0 }
    });
    for index in 0..2_000u64 {
        let cause = usize::from(index % 3 == 2);
        let length_ns = if index == 1_234 { 2 * MS } else { 6_000 + index % 500 * 97 };
        let start_ns = (1_000 + index * 2) * MS;
        let cpu = (index % 2) as u32;
        let (kind, name) = (sums[cause].kind, sums[cause].name);
        let gap = Gap { start_ns, length_ns, cpu, kind, name, cause_ns: Some(length_ns) };
        gaps.push(&gap);
        document.lengths.record(length_ns);
        document.longest.push(gap);
        sums[cause].count += 1;
        sums[cause].total_ns += length_ns;
        sums[cause].max_ns = sums[cause].max_ns.max(length_ns);
        let about = &mut cpus[cpu as usize];
        about.noise_ns += length_ns;
        about.gaps += 1;
        about.max_single_ns = about.max_single_ns.max(length_ns);
        about.profile[(index / 50) as usize] += length_ns;
    }
    document.longest.sort_by_key(|gap| std::cmp::Reverse(gap.length_ns));
    document.longest.truncate(20);
    (document.cpus, document.causes) = (cpus.to_vec(), sums.to_vec());
    gaps.finish(&document).unwrap();
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 5_000 * MS }, Vec::new()).unwrap();
}
