//! A short digest that distinguishes texts.

/// FNV-1a, 64 bits: for identities that need no protection against a forger.
pub fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    #[test]
    fn published_values() {
        assert_eq!(super::digest(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::digest("foobar"), 0x8594_4171_f739_67e8);
    }
}
