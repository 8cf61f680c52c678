//! When something was by the clock of logs.

const SECOND_NS: i64 = 1_000_000_000;

/// A count of seconds since 1970 as a UTC date, to the second.
fn date(seconds: i64) -> String {
    // The civil date from days, by the usual shift of the year to March.
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", second / 3_600, second / 60 % 60, second % 60)
}

/// A time of `CLOCK_MONOTONIC`, ns, in UTC as RFC 3339 has it, to the millisecond. `to_unix_ns` is what to add to get ns
/// since 1970; `None` if that is 0, which is not known.
pub(crate) fn rfc3339(at_ns: u64, to_unix_ns: i64) -> Option<String> {
    let unix_ns = i64::try_from(at_ns).ok()?.checked_add(to_unix_ns).filter(|_| to_unix_ns != 0)?;
    let millisecond = unix_ns.rem_euclid(SECOND_NS) / 1_000_000;
    let words = date(unix_ns.div_euclid(SECOND_NS));
    let (day, time) = words.strip_suffix(" UTC")?.split_once(' ')?;
    Some(format!("{day}T{time}.{millisecond:03}Z"))
}

/// The time of day alone: `12:41:03.123 UTC`.
pub(crate) fn time_of_day(at_ns: u64, to_unix_ns: i64) -> Option<String> {
    let whole = rfc3339(at_ns, to_unix_ns)?;
    let (_, time) = whole.split_once('T')?;
    Some(format!("{} UTC", time.trim_end_matches('Z')))
}

/// The day and the time to the second: `2026-11-28 12:41:03 UTC`.
pub(crate) fn day(at_ns: u64, to_unix_ns: i64) -> Option<String> {
    let unix_ns = i64::try_from(at_ns).ok()?.checked_add(to_unix_ns).filter(|_| to_unix_ns != 0)?;
    Some(date(unix_ns.div_euclid(SECOND_NS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_795_312_017), "2026-11-22 01:46:57 UTC");
        assert_eq!(date(-1), "1969-12-31 23:59:59 UTC");
    }

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
