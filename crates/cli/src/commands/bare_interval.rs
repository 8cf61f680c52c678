//! A period of the threads that was written as a bare number: microseconds, as cyclictest has it, where many have frames in mind.

/// How many frames a buffer has, where it is no longer than usual.
const FRAMES: std::ops::RangeInclusive<u32> = 16..=8_192;
/// Buffers have a power of two of frames, or a multiple of this many: the frames of a millisecond at 48 kHz.
const FRAMES_A_MS: u32 = 48;

/// What to tell whoever gave such a number that many have as a buffer's frames.
pub(super) fn frames_or_time(words: &[String]) -> Option<String> {
    let number = bare_interval(words).filter(|number| FRAMES.contains(number))?;
    (number.is_power_of_two() || number.is_multiple_of(FRAMES_A_MS)).then(|| {
        format!("-i {number} is {number} us, as cyclictest has it; {number} frames at 48 kHz are -i {number}@48kHz")
    })
}

/// The period of the threads, if it was written without a unit.
pub(super) fn bare_interval(words: &[String]) -> Option<u32> {
    // What follows `--` is the command that runs meanwhile.
    let mut words = words.iter().skip(1).map(String::as_str).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let value = match word {
            "-i" | "--interval" => words.next(),
            _ => word.strip_prefix("--interval=").or_else(|| word.strip_prefix("-i")),
        };
        if let Some(value) = value {
            return value.trim_start_matches('=').trim().parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_number_that_may_be_frames_is_told_to_be_a_time() {
        let said = |words: &str| {
            let words: Vec<String> = format!("punctual {words}").split(' ').map(str::to_owned).collect();
            frames_or_time(&words)
        };
        let expected = "-i 64 is 64 us, as cyclictest has it; 64 frames at 48 kHz are -i 64@48kHz";
        for words in ["check -i 64 -D 1s", "record -D 2 -i 64", "record --interval=64 -- make -i 128"] {
            assert_eq!(said(words).as_deref(), Some(expected), "{words}");
        }
        assert!(said("record -i480").is_some_and(|words| words.ends_with(" -i 480@48kHz")));
        for words in [
            "check -i 1000",
            "record -i 200",
            "check -i 64us",
            "check -i 64@48kHz",
            "check -D 64",
            "record -- make -i 64",
        ] {
            assert_eq!(said(words), None, "{words}");
        }
    }
}
