//! Numbers and texts in the bytes of an object.

/// An unsigned number of so many bytes.
pub(super) fn number(bytes: &[u8], offset: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(offset..)?.get(..length)?;
    let mut whole = [0; 8];
    if cfg!(target_endian = "little") {
        whole[..length].copy_from_slice(bytes);
    } else {
        whole[8 - length..].copy_from_slice(bytes);
    }
    Some(u64::from_ne_bytes(whole))
}

/// A text that ends in a zero.
pub(super) fn text_at(bytes: &[u8], offset: usize) -> Option<String> {
    let bytes = bytes.get(offset..)?;
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some(punctual_recording::printable(&String::from_utf8_lossy(&bytes[..end])))
}
