//! Which CPUs this machine has.

use crate::scheduling::allowed_cpus;
use punctual_recording::parse_list;

/// The CPUs that are online, in ascending order. Where `/sys` does not say, those that the calling thread may use.
pub fn online() -> Vec<u32> {
    listed("online").unwrap_or_else(allowed_cpus)
}

/// One more than the highest CPU number that can ever occur: how long an array indexed by CPU number must be. Where
/// `/sys` does not say, going by the CPUs that the calling thread may use.
pub fn possible() -> usize {
    beyond(&listed("possible").unwrap_or_else(allowed_cpus))
}

/// One more than the highest of these numbers, which are in ascending order.
fn beyond(cpus: &[u32]) -> usize {
    cpus.last().map_or(1, |&last| last as usize + 1)
}

fn listed(which: &str) -> Option<Vec<u32>> {
    let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/{which}")).ok()?;
    parse_list(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs look up their ring by the number of their CPU.
    #[test]
    fn numbers_that_are_missing_have_places_too() {
        let length = |list: &str| beyond(&parse_list(list).unwrap());
        let lengths = ["0", "0-3", "0,2-3", "2-3,0", "0-1,64-65"].map(length);
        assert_eq!(lengths, [1, 4, 4, 4, 66]);
        assert_eq!(beyond(&[]), 1);
    }

    #[test]
    fn every_cpu_that_may_be_used_is_online_and_possible() {
        let (allowed, online) = (allowed_cpus(), online());
        assert!(!allowed.is_empty());
        assert!(allowed.iter().all(|cpu| online.contains(cpu)), "{allowed:?} of {online:?}");
        assert!(online.iter().all(|&cpu| (cpu as usize) < possible()), "{online:?} below {}", possible());
        assert_eq!(listed("no such list"), None);
    }
}
