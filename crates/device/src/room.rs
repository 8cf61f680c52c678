//! How much of what a device had it used: one that kept up only just does not do so for long.

use punctual_recording::{BareUnit, DeviceSummary, parse_duration};

/// A device that used no more than this of its time and budget has room to spare: its work may take half as long again.
pub const MAX_USED: f64 = 2.0 / 3.0;

/// The share of what it had that a device used: the worst block's time from its arrival to its end, of the (n-1)·t until
/// its output is needed, or, in a reservation or slots, what its work took of the budget, whichever is more. More than 1
/// if a block was late. `None` if no block was processed, or if it has one buffer and no budget.
pub fn used(device: &DeviceSummary) -> Option<f64> {
    let tolerance_ns = u64::from(device.buffers.saturating_sub(1)).saturating_mul(device.period_ns);
    let worst_ns = device.response.max()?;
    let of_time = (tolerance_ns > 0).then(|| worst_ns as f64 / tolerance_ns as f64);
    let shares = [of_time, used_of_budget(device)];
    shares.into_iter().flatten().max_by(f64::total_cmp)
}

/// What the work took, on average, of the budget that its context gives it.
fn used_of_budget(device: &DeviceSummary) -> Option<f64> {
    let written = device.context.strip_prefix("reservation:").or_else(|| device.context.strip_prefix("slots:"))?;
    let (budget, period) = written.split_once('/')?;
    let time = |text: &str| parse_duration(text, BareUnit::Refused).ok().filter(|time_ns| *time_ns > 0);
    let given = time(budget)? as f64 / time(period)? as f64;
    let taken = device.executed.mean()? as f64 / device.period_ns.max(1) as f64;
    Some(taken / given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_the_worse_of_time_and_budget() {
        let of = |context: &str, buffers: u32, response_ns: u64, executed_ns: u64| {
            let context = context.to_owned();
            let mut device = DeviceSummary { context, buffers, period_ns: 1_000_000, ..DeviceSummary::default() };
            device.response.record(response_ns);
            device.executed.record(executed_ns);
            used(&device).map(|share| (share * 100.0).round())
        };
        assert_eq!(of("thread:fifo:80", 3, 500_000, 300_000), Some(25.0));
        assert_eq!(of("thread:fifo:80", 3, 3_000_000, 300_000), Some(150.0));
        // 300 us of every 1 ms, where it has 400.
        assert_eq!(of("reservation:200us/500us", 3, 500_000, 300_000), Some(75.0));
        assert_eq!(of("slots:2ms/5ms", 3, 1_900_000, 300_000), Some(95.0));
        assert_eq!(of("irq", 1, 500_000, 300_000), None);
        assert_eq!(used(&DeviceSummary { buffers: 3, period_ns: 1_000_000, ..DeviceSummary::default() }), None);
    }
}
