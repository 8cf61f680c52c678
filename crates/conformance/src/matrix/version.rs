//! Versions of kernels.

/// `6.12.117-1`, `5.15`: the first two numbers.
pub(super) fn series(version: &str) -> (u64, u64) {
    let mut numbers = version.split(|character: char| !character.is_ascii_digit()).filter_map(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
