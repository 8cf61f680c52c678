//! Blocks that punctual itself withheld from a device in an interrupt or a softirq: how much it may take there, what it took, and what
//! would be judged.

use punctual_recording::{DeviceSummary, format_ns};

/// Work in the kernel may take this much of a CPU at most.
const KERNEL_SHARE: f64 = 0.5;
/// And this many times as much as was asked for.
const SLOWER: f64 = 1.8;
/// What is proposed stays so far below.
const ROOM: f64 = 0.8;

/// How much the device may take, what a block took, and what would be judged, in parentheses; empty where that is not known.
pub(crate) fn why(device: &DeviceSummary) -> String {
    let cap = device.max_share_millionths;
    let (Some(cap), Some(taken_ns)) = (cap, device.executed.quantile(0.99)) else { return String::new() };
    let cap = cap as f64 / 1e6;
    format!(
        " (in {} context it may take {:.1} % of each 100 ms; 99 of 100 blocks took at most {} of every {}, with {} asked for; what would be \
         judged is {})",
        device.context,
        cap * 100.0,
        format_ns(taken_ns),
        format_ns(device.period_ns),
        format_ns(device.compute_ns),
        judged(device, cap, taken_ns)
    )
}

/// Which setting would be judged.
fn judged(device: &DeviceSummary, cap: f64, taken_ns: u64) -> String {
    const THREAD: &str = "the same work in a thread, such as --context thread:80";
    let (taken, asked, period) = (taken_ns as f64, device.compute_ns.max(1) as f64, device.period_ns.max(1) as f64);
    let slower = (taken / asked).max(1.0);
    if taken / period <= cap {
        // Its time was taken within blocks, or several came together.
        return format!("a run in which the machine, or its host, does less besides, or {THREAD}");
    }
    if slower > SLOWER {
        return format!(
            "a run at the speed at which the work was timed: it took {slower:.1} times as long now, or {THREAD}"
        );
    }
    let fitting_ns = KERNEL_SHARE * ROOM * period / slower;
    let (compute_ns, period_ns) = (fitting_ns.min(asked * ROOM), period * (asked / fitting_ns).max(1.0 / ROOM));
    format!(
        "shorter work, such as compute={}, a period of at least {}, or {THREAD}",
        micros(compute_ns),
        format_ns(period_ns.ceil() as u64)
    )
}

/// A time as options take it, in whole microseconds.
fn micros(ns: f64) -> String {
    format!("{}us", (ns / 1e3).floor().max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(compute_ns: u64, taken_ns: u64, max_share_millionths: Option<u64>) -> DeviceSummary {
        let (context, period_ns) = ("irq".to_owned(), 10_000_000);
        let mut device =
            DeviceSummary { context, period_ns, compute_ns, max_share_millionths, ..DeviceSummary::default() };
        (0..200).for_each(|_| device.executed.record(taken_ns));
        device
    }

    #[test]
    fn the_cap_is_told_with_a_setting_that_stays_below_it() {
        assert_eq!(why(&device(4_000_000, 5_500_000, None)), "");
        let said = why(&device(4_000_000, 5_500_000, Some(500_000)));
        let begins = " (in irq context it may take 50.0 % of each 100 ms; 99 of 100 blocks took at most 5.5";
        assert!(said.starts_with(begins), "{said}");
        let compute = said.split("compute=").nth(1).and_then(|rest| rest.split("us").next()).unwrap();
        let compute_us: f64 = compute.parse().unwrap();
        assert!((2_700.0..2_950.0).contains(&compute_us), "{said}");
        assert!(said.contains("a period of at least 13.") && said.contains("--context thread:80"), "{said}");
        for (compute_ns, taken_ns, cap, says) in
            [(1_000_000, 1_100_000, 180_000, "does less besides"), (1_000_000, 2_500_000, 180_000, "2.5 times as long")]
        {
            let said = why(&device(compute_ns, taken_ns, Some(cap)));
            assert!(said.contains(says) && !said.contains("compute="), "{said}");
        }
    }
}
