//! Simulated time: whole picoseconds, so that 976.5625 us and 1003 us are both exact.

use serde::{Deserialize, Deserializer};

/// A time or a length of time in picoseconds. 64 bits hold 213 days.
pub type Picoseconds = u64;

/// Never.
pub const NEVER: Picoseconds = u64::MAX;
/// Picoseconds in a nanosecond.
pub const NANOSECOND: Picoseconds = 1_000;
/// Picoseconds in a microsecond.
pub const MICROSECOND: Picoseconds = 1_000_000;
/// Picoseconds in a millisecond.
pub const MILLISECOND: Picoseconds = 1_000_000_000;
/// Picoseconds in a second.
pub const SECOND: Picoseconds = 1_000_000_000_000;
/// The longest time that an experiment may name: 30 days.
pub const MAX_TIME: Picoseconds = 30 * 86_400 * SECOND;

/// A length of time as written in an experiment: `"976.5625us"`, `"12.5ms"`, `"10s"`, `"1h"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Picoseconds);

/// Reads a length of time with its unit (`ps`, `ns`, `us`, `ms`, `s`, `min`, `h`).
///
/// # Errors
/// A line that says what is wrong: no unit, no number, a fraction of a picosecond, more than 30 days.
pub fn parse_span(text: &str) -> Result<Picoseconds, String> {
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let scale: u128 = match unit.trim() {
        "ps" => 1,
        "ns" => 1_000,
        "us" => 1_000_000,
        "ms" => 1_000_000_000,
        "s" => 1_000_000_000_000,
        "min" => 60_000_000_000_000,
        "h" => 3_600_000_000_000_000,
        "" => return Err(format!("{text:?} has no unit: write it as \"12.5ms\" or \"976.5625us\"")),
        other => return Err(format!("{other:?} is not a unit of time: use ps, ns, us, ms, s, min or h")),
    };
    let number = number.trim();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()) && part.len() <= 18;
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return Err(format!("{text:?} is not a length of time: write it as \"12.5ms\""));
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().expect("digits") };
    let numerator: u128 = if fraction.is_empty() { 0 } else { fraction.parse().expect("digits") };
    let denominator = 10u128.pow(u32::try_from(fraction.len()).expect("at most 18"));
    if !(numerator * scale).is_multiple_of(denominator) {
        return Err(format!("{text:?} is not a whole number of picoseconds"));
    }
    let picoseconds = whole * scale + numerator * scale / denominator;
    match u64::try_from(picoseconds) {
        Ok(value) if value <= MAX_TIME => Ok(value),
        _ => Err(format!("{text:?} is longer than 30 days")),
    }
}

/// A length of time for people: in the largest unit that keeps it short, without loss.
pub fn format_span(picoseconds: Picoseconds) -> String {
    let units = [
        ("s", SECOND, 10 * SECOND),
        ("ms", MILLISECOND, MILLISECOND),
        ("us", MICROSECOND, MICROSECOND),
        ("ns", NANOSECOND, NANOSECOND),
    ];
    for (unit, scale, from) in units {
        if picoseconds >= from {
            let fraction = format!("{:0width$}", picoseconds % scale, width = scale.ilog10() as usize);
            let fraction = fraction.trim_end_matches('0');
            let point = if fraction.is_empty() { "" } else { "." };
            return format!("{}{point}{fraction}{unit}", picoseconds / scale);
        }
    }
    format!("{picoseconds}ps")
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl serde::de::Visitor<'_> for Written {
            type Value = Span;
            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                formatter.write_str("a length of time with its unit, such as \"20ms\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Span, E> {
                parse_span(text).map(Span).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl From<Span> for Picoseconds {
    fn from(span: Span) -> Self {
        span.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_two_clock_periods_are_exact() {
        assert_eq!(parse_span("976.5625us"), Ok(976_562_500));
        assert_eq!(parse_span("1003us"), Ok(1_003_000_000));
        assert_eq!(parse_span(" 12.5 ms"), Ok(12_500_000_000));
    }

    #[test]
    fn what_is_no_length_is_refused_in_one_line() {
        for text in ["", "5", "ms", "1.2.3ms", "-1ms", "1e3s", "0.0001ps", "2000000h", "5 parsecs", "."] {
            let error = parse_span(text).unwrap_err();
            assert!(!error.contains('\n') && !error.is_empty(), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_what_is_read(picoseconds in 0..=MAX_TIME) {
            prop_assert_eq!(parse_span(&format_span(picoseconds)), Ok(picoseconds));
        }
    }
}
