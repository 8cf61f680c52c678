//! Rings of bits that a pump shares with its caller: 32 in a word, the lowest first.

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

/// Puts bits into a ring until `needed` wait there, or no more come. `given` and `sent` count them.
pub(crate) fn give_bits(
    ring: &mut [u32],
    given: &mut u64,
    sent: u64,
    needed: u64,
    bit_to_send: &mut impl FnMut() -> Option<bool>,
) {
    while *given - sent < needed.min(32 * ring.len() as u64) {
        let Some(bit) = bit_to_send() else { break };
        set_bit(ring, *given, bit);
        *given += 1;
    }
}

/// Takes the bits up to number `received` out of a ring. `taken` counts them.
pub(crate) fn take_bits(ring: &[u32], taken: &mut u64, received: u64, received_bit: &mut impl FnMut(bool)) {
    while *taken < received {
        received_bit(bit_at(ring, *taken));
        *taken += 1;
    }
}
