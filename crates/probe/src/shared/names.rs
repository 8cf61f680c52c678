//! Names from the kernel, which may be any bytes.

use std::borrow::Cow;

/// The bytes of a fixed field before its first 0: what follows is left from others.
pub(crate) fn before_zero(field: &[u8]) -> &[u8] {
    field.split(|&byte| byte == 0).next().unwrap_or(field)
}

/// The same as text.
pub(crate) fn text_of(field: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(before_zero(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_at_its_zero_or_with_its_field() {
        assert_eq!(text_of(b"swapper/0\0left"), "swapper/0");
        assert_eq!(text_of(b"sixteen bytes ok"), "sixteen bytes ok");
        assert_eq!(text_of(b"\0x"), "");
        assert_eq!(text_of(b"n\xffo\0"), "n\u{fffd}o");
    }
}
