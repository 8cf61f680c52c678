//! Rings of bits that a pump shares with whoever uses it: 32 in a word, the lowest first.

/// Sets the bit with this number in a ring whose words are a power of two.
pub(crate) fn set_bit(ring: &mut [u32], index: u64, bit: bool) {
    let place = index as usize / 32 % ring.len();
    let word = &mut ring[place];
    *word = *word & !(1 << (index % 32)) | u32::from(bit) << (index % 32);
}

/// The bit with this number.
pub(crate) fn bit_at(ring: &[u32], index: u64) -> bool {
    ring[index as usize / 32 % ring.len()] >> (index % 32) & 1 == 1
}
