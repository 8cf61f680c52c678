//! Time in which the host ran something else while this machine wanted to run.

/// The steal of these CPUs since boot, ns, to the 10 ms that `/proc/stat` counts in; `None` where it has no such column.
pub fn steal_ns(cpus: &[u32]) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    parse_steal(&text, cpus, rustix::param::clock_ticks_per_second())
}

fn parse_steal(stat: &str, cpus: &[u32], ticks_per_second: u64) -> Option<u64> {
    let mut sum = None;
    for line in stat.lines() {
        let mut words = line.split_whitespace();
        let cpu = words.next().and_then(|name| name.strip_prefix("cpu")).and_then(|number| number.parse::<u32>().ok());
        if cpu.is_some_and(|cpu| cpus.contains(&cpu)) {
            let ticks: u64 = words.nth(7)?.parse().ok()?;
            *sum.get_or_insert(0) += ticks * (1_000_000_000 / ticks_per_second.max(1));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_number_of_each_measured_cpu() {
        let stat = "cpu  9 9 9 9 9 9 9 99 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 1 1 1 1 1 1 5 0 0\nintr 5\n";
        assert_eq!(parse_steal(stat, &[0, 1], 100), Some(130_000_000));
        assert_eq!(parse_steal(stat, &[1], 100), Some(50_000_000));
        assert_eq!(parse_steal(stat, &[7], 100), None);
        assert_eq!(parse_steal("cpu0 1 2 3\n", &[0], 100), None);
    }
}
