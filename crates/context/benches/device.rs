//! What a device's work costs in each place: a multiply-accumulate natively and in BPF, and from the arrival of a block
//! to the start of its work, in each context. Run with `cargo bench -p punctual-context --bench device`.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use punctual_context::Context;
use punctual_context::device::{DeviceSetup, Job, Rig, Wake};
use punctual_kernel::scheduling;
use std::time::{Duration, Instant};

fn main() {
    let cpu = scheduling::allowed_cpus().last().copied().unwrap_or(0);
    for (context, wake) in [
        ("irq", Wake::Timer),
        ("softirq", Wake::Timer),
        ("thread:80", Wake::Timer),
        ("thread:80", Wake::Softirq),
        ("reservation:200us/1ms", Wake::Timer),
        ("slots:200us/1ms", Wake::Timer),
    ] {
        match measure(context, wake, cpu) {
            Ok(line) => println!("{line}"),
            Err(reason) => println!("{context:22} unavailable: {reason}"),
        }
    }
}

fn measure(context: &str, wake: Wake, cpu: u32) -> Result<String, Box<dyn std::error::Error>> {
    let setup = DeviceSetup {
        name: "bench".to_owned(),
        cpu,
        period_ns: 1_000_000,
        compute_ns: 20_000,
        samples: 16,
        ring: 1_024,
        drop_stale: false,
        phases: Vec::new(),
        context: Context::parse(context)?,
        wake,
        reclaim: false,
        compete: false,
        decodes: None,
        own: None,
        guest: None,
        without_taps: false,
        refuse_every: 0,
    };
    let mut rig = Rig::prepare(&[setup])?;
    let mut dispatched = Vec::new();
    let mut take = |_: usize, activation: &punctual_context::device::Activation| {
        dispatched.push(activation.start.saturating_sub(activation.arrival));
    };
    rig.start()?;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        rig.round(&mut take);
        std::thread::sleep(Duration::from_millis(50));
    }
    rig.stop(&mut take);
    let Job::Filter { speed, .. } = rig.job(0) else { return Err("it does not filter".into()) };
    dispatched.sort_unstable();
    let at = |share: f64| dispatched[(dispatched.len() as f64 * share) as usize] as f64 / 1e3;
    let counts = rig.counts(0);
    let queueing = counts.kernel.filter(|kernel| kernel.interrupt_ns > 0 && kernel.interrupts > 0);
    let queueing = queueing.map_or_else(String::new, |kernel| {
        format!(", {:.2} us in an interrupt that queues", kernel.interrupt_ns as f64 / kernel.interrupts as f64 / 1e3)
    });
    let name = if wake == Wake::Softirq { format!("{context} via softirq") } else { context.to_owned() };
    Ok(format!(
        "{name:22} {:.2} ns a multiply-accumulate; arrival to work p50 {:.1}, p99 {:.1} us{queueing}",
        speed.multiply_accumulate_ns(),
        at(0.5),
        at(0.99)
    ))
}
