//! When something was by the clock of logs.

use crate::encode::html::setting::date;

const SECOND_NS: i64 = 1_000_000_000;

/// A time of `CLOCK_MONOTONIC`, ns, in UTC as RFC 3339 has it, to the millisecond. `to_unix_ns` is what to add to get ns
/// since 1970; `None` if that is 0, which is not known.
pub(super) fn rfc3339(at_ns: u64, to_unix_ns: i64) -> Option<String> {
    let unix_ns = i64::try_from(at_ns).ok()?.checked_add(to_unix_ns).filter(|_| to_unix_ns != 0)?;
    let millisecond = unix_ns.rem_euclid(SECOND_NS) / 1_000_000;
    let words = date(unix_ns.div_euclid(SECOND_NS));
    let (day, time) = words.strip_suffix(" UTC")?.split_once(' ')?;
    Some(format!("{day}T{time}.{millisecond:03}Z"))
}

/// The time of day alone: `12:41:03.123 UTC`.
pub(super) fn time_of_day(at_ns: u64, to_unix_ns: i64) -> Option<String> {
    let whole = rfc3339(at_ns, to_unix_ns)?;
    let (_, time) = whole.split_once('T')?;
    Some(format!("{} UTC", time.trim_end_matches('Z')))
}

/// The day and the time to the second: `2026-11-28 12:41:03 UTC`.
pub(super) fn day(at_ns: u64, to_unix_ns: i64) -> Option<String> {
    let unix_ns = i64::try_from(at_ns).ok()?.checked_add(to_unix_ns).filter(|_| to_unix_ns != 0)?;
    Some(date(unix_ns.div_euclid(SECOND_NS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_that_of_logs_where_the_offset_is_known() {
        let to_unix_ns = 1_795_312_000 * SECOND_NS;
        let at_ns = 17_123_999_999;
        assert_eq!(rfc3339(at_ns, to_unix_ns).as_deref(), Some("2026-11-22T01:46:57.123Z"));
        assert_eq!(time_of_day(at_ns, to_unix_ns).as_deref(), Some("01:46:57.123 UTC"));
        assert_eq!(day(at_ns, to_unix_ns).as_deref(), Some("2026-11-22 01:46:57 UTC"));
        assert_eq!((rfc3339(at_ns, 0), day(at_ns, 0)), (None, None));
        assert_eq!(rfc3339(u64::MAX, to_unix_ns), None);
        assert_eq!(rfc3339(1, i64::MAX), None);
    }
}
