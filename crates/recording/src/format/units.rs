//! Durations and lists as people write them, and nanoseconds as people read them.

/// What a number without a unit means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BareUnit {
    /// Microseconds, as for the options that cyclictest has too.
    Microseconds,
    /// Seconds, as for the length of a measurement.
    Seconds,
    /// Nothing, unless it is 0: some mean `1` as a millisecond, others as a microsecond, so it is refused.
    Refused,
}

/// Reads a duration such as `500us`, `1ms`, `2.5s`, `30m` or `2h` as nanoseconds.
///
/// # Errors
/// A sentence that says what was wrong and what would be right.
pub fn parse_duration(text: &str, bare: BareUnit) -> Result<u64, String> {
    let wrong = || {
        let bare = match bare {
            BareUnit::Microseconds => " (a bare number is microseconds)",
            BareUnit::Seconds => " (a bare number is seconds)",
            BareUnit::Refused => "",
        };
        format!("`{text}` is not a duration: write a number with ns, us, ms, s, m, h or d, such as 500us or 1.5s{bare}")
    };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let scale: u64 = match (unit.trim(), bare) {
        // Without a unit only 0 passes, whatever its unit is.
        ("ns", _) | ("", BareUnit::Refused) => 1,
        ("us" | "µs" | "μs", _) | ("", BareUnit::Microseconds) => 1_000,
        ("ms", _) => 1_000_000,
        ("s", _) | ("", BareUnit::Seconds) => 1_000_000_000,
        ("m" | "min", _) => 60_000_000_000,
        ("h", _) => 3_600_000_000_000,
        ("d", _) => 86_400_000_000_000,
        _ => return Err(wrong()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(wrong());
    }
    if is_without_unit(trimmed) && bare == BareUnit::Refused {
        return Err(format!("`{trimmed}` has no unit: write {trimmed}us, or {trimmed}ms if you mean that"));
    }
    let too_long = || format!("`{text}` is longer than this program can count: the longest is 584 years");
    let digits = |digits: &str| if digits.is_empty() { Ok(0) } else { digits.parse::<u64>() };
    let mut nanoseconds = digits(whole).map_err(|_| too_long())?.checked_mul(scale).ok_or_else(too_long)?;
    let mut place = scale;
    for digit in fraction.bytes() {
        place /= 10;
        nanoseconds = nanoseconds.checked_add(u64::from(digit - b'0') * place).ok_or_else(too_long)?;
    }
    Ok(nanoseconds)
}

/// Whether this is a number above 0 and nothing else, so that nobody knows which unit was meant.
pub fn is_without_unit(text: &str) -> bool {
    let text = text.trim();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && text.matches('.').count() < 2;
    is_number && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte))
}

/// Reads a list of numbers such as `0-3,5`, in ascending order and without repeats.
///
/// # Errors
/// A sentence that says what was wrong and what would be right.
pub fn parse_list(text: &str) -> Result<Vec<u32>, String> {
    let wrong = || format!("`{text}` is not a list of CPUs: write numbers and ranges, such as 0 or 0-3,6");
    let mut numbers = std::collections::BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| wrong())?;
        let last: u32 = last.trim().parse().map_err(|_| wrong())?;
        if first > last || last >= 65_536 {
            return Err(wrong());
        }
        numbers.extend(first..=last);
    }
    Ok(numbers.into_iter().collect())
}

/// Nanoseconds in the unit that suits their size, with three significant digits: `32.1 us`, `4.20 ms`, `1.50 s`.
pub fn format_ns(nanoseconds: u64) -> String {
    let (scale, unit) = match nanoseconds {
        0..1_000 => return format!("{nanoseconds} ns"),
        1_000..999_500 => (1e3, "us"),
        999_500..999_500_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let value = nanoseconds as f64 / scale;
    match value {
        _ if value < 9.995 => format!("{value:.2} {unit}"),
        _ if value < 99.95 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// A count with its thousands set apart.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count of something, with a word that takes an s: `1 wakeup`, `1,996 wakeups`. All counts in sentences are worded
/// here.
pub fn counted(count: impl TryInto<u64>, what: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// The word that agrees with a count: `agreeing(count, "was", "were")`.
pub fn agreeing<'a>(count: impl TryInto<u64>, one: &'a str, many: &'a str) -> &'a str {
    if count.try_into().is_ok_and(|count| count == 1) { one } else { many }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_as_people_write_them() {
        let us = |text| parse_duration(text, BareUnit::Microseconds);
        let s = |text| parse_duration(text, BareUnit::Seconds);
        assert_eq!(us("1000"), Ok(1_000_000));
        assert_eq!(s("10"), Ok(10_000_000_000));
        assert_eq!(s("1.5"), Ok(1_500_000_000));
        assert_eq!(us("1ms"), Ok(1_000_000));
        assert_eq!(us("0.5 ms"), Ok(500_000));
        assert_eq!(us(".5ms"), Ok(500_000));
        assert_eq!(s("2h"), Ok(7_200_000_000_000));
        assert_eq!((s("3m"), s("2d")), (Ok(180_000_000_000), Ok(172_800_000_000_000)));
        for wrong in ["", "abc", "-1", "1x", "1.2.3ms", "ms", ".", "1e3"] {
            assert!(us(wrong).unwrap_err().contains("not a duration"), "{wrong}");
        }
        let refused = |text| parse_duration(text, BareUnit::Refused);
        for bare in ["1", "280", "0.4", ".4", " 20 ", "99999999999999999999"] {
            let said = refused(bare).unwrap_err();
            let number = bare.trim();
            assert_eq!(said, format!("`{number}` has no unit: write {number}us, or {number}ms if you mean that"));
        }
        assert_eq!([refused("0"), refused("0.0"), refused("20us")], [Ok(0), Ok(0), Ok(20_000)]);
        assert!(refused("1.2.3").unwrap_err().contains("not a duration"));
        assert!(s("99999999999999999999").unwrap_err().contains("longer"));
        assert!(s("99999999999999").unwrap_err().contains("longer"));
    }

    #[test]
    fn lists_as_people_write_them() {
        assert_eq!(parse_list("3,0-2,1"), Ok(vec![0, 1, 2, 3]));
        for wrong in ["", "a", "3-1", "1,,2", "0-99999999"] {
            assert!(parse_list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_count_and_the_words_around_it_agree() {
        assert_eq!([0, 999, 1_000, 12_345_678].map(grouped), ["0", "999", "1,000", "12,345,678"]);
        assert_eq!(
            [0, 1, 1_996].map(|count: usize| counted(count, "wakeup")),
            ["0 wakeups", "1 wakeup", "1,996 wakeups"]
        );
        assert_eq!([0, 1, 2].map(|count: u64| agreeing(count, "was", "were")), ["were", "was", "were"]);
    }

    #[test]
    fn nanoseconds_as_people_read_them() {
        assert_eq!(format_ns(999), "999 ns");
        assert_eq!(format_ns(32_123), "32.1 us");
        assert_eq!(format_ns(999_499), "999 us");
        assert_eq!(format_ns(999_500), "1.00 ms");
        assert_eq!(format_ns(4_200_000), "4.20 ms");
        assert_eq!(format_ns(1_500_000_000), "1.50 s");
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = parse_duration(&text, BareUnit::Seconds);
            let _ = parse_list(&text);
        }
    }
}
