//! Periods, numbers of buffers and wants as people write them.

use crate::Error;
use punctual_recording::{BareUnit, is_without_unit, parse_duration};

/// Reads a period in ns: a duration such as `500us` or `11.25ms`, a frequency such as `1kHz`, or a number of frames or
/// samples at a rate, such as `64@48kHz`, `60@8000`, `1024@2.4MS/s` or `1@60Hz`.
///
/// # Errors
/// [`Error::Notation`], in a sentence.
pub fn parse_period(text: &str) -> Result<u64, Error> {
    // PipeWire has its quantum and rate so.
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((frames, rate)) = text.split_once('/').filter(|(frames, rate)| is_number(frames) && is_number(rate)) {
        return Err(Error::Notation(format!("`{text}` is written {frames}@{} here", in_kilohertz(rate))));
    }
    let is_frequency = text.trim_end().to_ascii_lowercase().ends_with("hz");
    let period = match text.split_once('@') {
        Some((frames, rate)) => frames_at(text, frames, rate)?,
        None if is_frequency => frames_at(text, "1", text)?,
        None => parse_duration(text, BareUnit::Refused).map_err(Error::Notation)?,
    };
    if period == 0 {
        return Err(Error::Notation(format!("`{text}` is not a period: it must be at least 1 ns")));
    }
    Ok(period)
}

/// A rate in whole hertz as people write it: 48kHz, or 44.1kHz.
fn in_kilohertz(hertz: &str) -> String {
    match hertz.parse::<u64>() {
        Ok(rate) if rate >= 1_000 => {
            let decimals = format!("{:03}", rate % 1_000);
            match decimals.trim_end_matches('0') {
                "" => format!("{}kHz", rate / 1_000),
                decimals => format!("{}.{decimals}kHz", rate / 1_000),
            }
        }
        _ => hertz.to_owned(),
    }
}

/// The rate of a period that is written as frames at a rate, in thousandths of a hertz; `None` if it is written differently.
///
/// # Errors
/// [`Error::Notation`], in a sentence.
pub(crate) fn written_rate(text: &str) -> Result<Option<u64>, Error> {
    let Some((_, rate)) = text.split_once('@') else { return Ok(None) };
    let millihertz = millihertz(rate).ok_or_else(|| not_a_period(text))?;
    Ok(u64::try_from(millihertz).ok())
}

/// A rate in thousandths of a hertz as people write it, such as `48kHz`; `None` if it is too low for frames.
pub(crate) fn rate_of_frames(millihertz: u64) -> Option<String> {
    (u128::from(millihertz) >= MIN_MILLIHERTZ).then(|| match millihertz {
        rate if rate.is_multiple_of(1_000_000) => format!("{}kHz", rate / 1_000_000),
        rate if rate.is_multiple_of(1_000) => format!("{}Hz", rate / 1_000),
        rate => format!("{}Hz", rate as f64 / 1e3),
    })
}

fn not_a_period(text: &str) -> Error {
    let advice = match text.contains('@') {
        true => "write frames@rate, such as 64@48kHz or 1024@2.4MS/s; a number of buffers comes after it: 64@48kHz x3",
        false => "write a frequency of 0.001 Hz or more, such as 250Hz or 1kHz",
    };
    Error::Notation(format!("`{text}` is not a period: {advice}"))
}

/// No device takes several frames, samples or symbols together that come more slowly, in thousandths of a hertz.
const MIN_MILLIHERTZ: u128 = 1_000_000;

fn frames_at(text: &str, frames: &str, rate: &str) -> Result<u64, Error> {
    let wrong = || not_a_period(text);
    let frames: u64 = frames.trim().parse().map_err(|_| wrong())?;
    let millihertz = millihertz(rate).filter(|millihertz| *millihertz > 0 && frames > 0).ok_or_else(wrong)?;
    // Who writes 64@48 means kilohertz, and would get a period of more than a second; so does who writes 64@48hz.
    let number = rate.trim().trim_end_matches(|c: char| !c.is_ascii_digit());
    let is_bare = number == rate.trim();
    if millihertz < MIN_MILLIHERTZ && (is_bare || frames > 1) {
        return Err(Error::Notation(match frames {
            1 => format!("`{text}` is ambiguous: write 1@{number}kHz or 1@{number}Hz"),
            _ => format!("`{text}` has a rate below 1 kHz: write {frames}@{number}kHz, or a time, such as 5ms"),
        }));
    }
    let nanoseconds = (u128::from(frames) * 1_000_000_000_000 + millihertz / 2) / millihertz;
    u64::try_from(nanoseconds).map_err(|_| wrong())
}

/// A rate in thousandths of a hertz, so that 44.1kHz and 29.97Hz are exact; radios count samples a second.
fn millihertz(rate: &str) -> Option<u128> {
    let rate = rate.trim();
    let split = rate.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rate.len());
    let (number, unit) = rate.split_at(split);
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "hz" | "sps" | "s/s" => 1_000,
        "khz" | "k" | "ksps" | "ks/s" => 1_000_000,
        "mhz" | "msps" | "ms/s" => 1_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut millihertz = whole.parse::<u128>().ok()?.checked_mul(scale)?;
    let mut place = scale;
    for digit in fraction.bytes() {
        if !digit.is_ascii_digit() {
            return None;
        }
        place /= 10;
        millihertz = millihertz.checked_add(u128::from(digit - b'0') * place)?;
    }
    Some(millihertz)
}

/// What a word of a device's specification says of its number of buffers, `3` of `x3` or `buffers=3`; `None` for other words.
pub fn written_buffers(word: &str) -> Option<&str> {
    word.strip_prefix('x').or_else(|| word.strip_prefix("buffers="))
}

/// Reads a wanted mean time between underruns, in whole seconds: a duration with its unit, such as `1h` or `30s`,
/// or how many are allowed in a time, such as `1/hour`, `2/day`, `1/30m`.
///
/// # Errors
/// [`Error::Notation`], in a sentence.
pub fn parse_want(text: &str) -> Result<u64, Error> {
    let wrong = || {
        let advice = "write a time with its unit, such as 1h, or how often is allowed, such as 1/day";
        Error::Notation(format!("`{text}` is not a mean time between underruns: {advice}"))
    };
    let seconds = match text.split_once('/') {
        Some((count, time)) => {
            let count: u64 = count.trim().parse().map_err(|_| wrong())?;
            let time = match time.trim() {
                "second" => 1,
                "minute" => 60,
                "hour" => 3_600,
                "day" => 86_400,
                "week" => 604_800,
                "month" => 2_592_000,
                "year" => 31_536_000,
                // One in 1000 s, or in 1000 periods?
                number if is_without_unit(number) => {
                    let advice =
                        format!("has no unit of time: write {count}/{number}s, or how often a day, such as 1/day");
                    return Err(Error::Notation(format!("`{text}` {advice}")));
                }
                other if other.starts_with(|c: char| c.is_ascii_digit()) => {
                    parse_duration(other, BareUnit::Seconds).map_err(|_| wrong())? / 1_000_000_000
                }
                // `1/h` and `1/30m` alike. Without a unit it would be one a second, and `1/.5` one in 1.5 s.
                unit if unit.starts_with(char::is_alphabetic) => {
                    parse_duration(&format!("1{unit}"), BareUnit::Seconds).map_err(|_| wrong())? / 1_000_000_000
                }
                _ => return Err(wrong()),
            };
            if count == 0 {
                return Err(wrong());
            }
            time / count
        }
        // A bare number could be so many seconds, and so many underruns a day.
        None if text.trim().parse::<f64>().is_ok() => return Err(wrong()),
        None => parse_duration(text, BareUnit::Seconds).map_err(|_| wrong())? / 1_000_000_000,
    };
    if seconds == 0 {
        let message = format!("`{text}` is too frequent to be a mean time between underruns: give 1s or more");
        return Err(Error::Notation(message));
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_notation_of_pipewire_is_answered_by_this_one() {
        for (written, expected, period_ns) in [
            ("256/48000", "256@48kHz", 5_333_333),
            ("441/44100", "441@44.1kHz", 10_000_000),
            ("64/11025", "64@11.025kHz", 5_804_989),
        ] {
            let said = parse_period(written).unwrap_err().to_string();
            assert_eq!(said, format!("`{written}` is written {expected} here"));
            assert_eq!(parse_period(expected), Ok(period_ns));
        }
        assert_eq!(in_kilohertz("800"), "800");
    }

    #[test]
    fn what_is_too_often_is_not_called_badly_written() {
        for text in ["500ms", "0.5s", "2/second"] {
            let said = parse_want(text).unwrap_err().to_string();
            assert!(said.contains("give 1s or more"), "{said}");
        }
        assert_eq!(parse_want("1s"), Ok(1));
    }

    #[test]
    fn a_want_in_a_bare_number_is_asked_for_its_unit() {
        let said = ["1/1000", "2/30", " 1/ 0.5"].map(|text| parse_want(text).unwrap_err().to_string());
        assert_eq!(said[0], "`1/1000` has no unit of time: write 1/1000s, or how often a day, such as 1/day");
        assert!(said.iter().all(|said| said.contains(" has no unit of time: ")), "{said:?}");
        assert_eq!(parse_want("1/1000s"), Ok(1_000));
    }

    #[test]
    fn periods_as_people_write_them() {
        for (text, expected) in [
            ("64@48kHz", 1_333_333),
            ("256@48000", 5_333_333),
            ("441@44.1kHz", 10_000_000),
            ("90@8kHz", 11_250_000),
            ("105 @ 8000 Hz", 13_125_000),
            ("1@60Hz", 16_666_667),
            ("1kHz", 1_000_000),
            ("60 Hz", 16_666_667),
            ("1024@2.048MHz", 500_000),
            ("1024@2.048MSps", 500_000),
            ("1200@2.4MS/s", 500_000),
            ("11.25ms", 11_250_000),
        ] {
            assert_eq!(parse_period(text), Ok(expected), "{text}");
        }
        for wrong in [
            "",
            "0",
            "64",
            "1000",
            "64@",
            "@48kHz",
            "64@48kg",
            "64@0",
            "64@48",
            "64@48hz",
            "2@999.9Hz",
            "0@48kHz",
            "-1@48k",
            "64@4.8.1kHz",
            "0Hz",
            "kHz",
            "64@340282366920938463463374607431768.9MHz",
        ] {
            let message = parse_period(wrong).unwrap_err().to_string();
            assert!(!message.contains('\n') && !message.is_empty(), "{wrong}");
        }
    }

    #[test]
    fn a_rate_that_no_device_has_is_refused_with_the_one_that_was_meant() {
        for text in ["64@48", "64@48hz", "64@48 Hz"] {
            let said = parse_period(text).unwrap_err().to_string();
            assert!(said.ends_with("has a rate below 1 kHz: write 64@48kHz, or a time, such as 5ms"), "{said}");
        }
        assert!(parse_period("1@60").unwrap_err().to_string().ends_with("write 1@60kHz or 1@60Hz"));
        assert_eq!(parse_period("2@1kHz"), Ok(2_000_000));
    }

    #[test]
    fn wants_as_people_write_them() {
        for (text, expected) in [
            ("1/hour", 3_600),
            ("1/day", 86_400),
            ("2/day", 43_200),
            ("1/h", 3_600),
            ("1/30m", 1_800),
            ("1h", 3_600),
            ("90s", 90),
        ] {
            assert_eq!(parse_want(text), Ok(expected), "{text}");
        }
        for wrong in ["", "0", "1", "90", "0/day", "1/0s", "day", "1/fortnight", "1e3", "1/", "3/ ", "1/.5"] {
            assert!(parse_want(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = parse_period(&text);
            let _ = parse_want(&text);
        }

        #[test]
        fn frames_are_within_half_a_nanosecond(frames in 1..100_000u64, hertz in 1..1_000_000u64) {
            let period = parse_period(&format!("{frames}@{hertz}Hz"));
            let exact = frames as f64 * 1e9 / hertz as f64;
            match period {
                Ok(period) => prop_assert!((period as f64 - exact).abs() <= 0.5 + exact * 1e-12),
                Err(_) => prop_assert!(exact < 0.5 || (frames > 1 && hertz < 1_000)),
            }
        }
    }
}
