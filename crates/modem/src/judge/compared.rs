//! Received bits beside those that were sent.

/// What comparing came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compared {
    /// Bits compared.
    pub bits: u64,
    /// Those of them that were wrong.
    pub wrong: u64,
    /// How often bits had been lost or added between those that were right.
    pub slips: u32,
}

/// Bits that are compared at once.
const WINDOW: usize = 256;
/// How far received bits may be from those that were sent, either way.
const MAX_OFFSET: usize = 1_024;
/// After a search that found nothing, so many windows are compared without another.
const REST: usize = 8;

/// Compares from the first window on that is found among the bits that were sent. Bits that come before it are not counted:
/// a receiver may begin in the middle.
pub fn compared(sent: &[bool], received: &[bool]) -> Compared {
    let mut result = Compared::default();
    // Where the received bits from the first on were sent.
    let mut offset: Option<isize> = None;
    let mut rest = 0;
    for (window, bits) in received.as_chunks::<WINDOW>().0.iter().enumerate() {
        let begin = window * WINDOW;
        let wrong_at = |offset: isize| wrong(sent, bits, begin.checked_add_signed(offset)?);
        let mut found = offset.and_then(wrong_at);
        let is_lost = found.is_none_or(|wrong| wrong > WINDOW / 4);
        if is_lost && rest == 0 {
            let near = -MAX_OFFSET.cast_signed()..=MAX_OFFSET.cast_signed();
            let places = near.map(|by| offset.unwrap_or(0) + by);
            let best = places.filter_map(|place| Some((wrong_at(place)?, place))).min();
            if let Some((wrong, place)) = best.filter(|(wrong, _)| *wrong <= WINDOW / 4) {
                result.slips += u32::from(offset.is_some_and(|before| before != place));
                (offset, found) = (Some(place), Some(wrong));
            } else {
                rest = REST;
            }
        } else {
            rest = rest.saturating_sub(1);
        }
        if let (Some(_), Some(wrong)) = (offset, found) {
            result.bits += WINDOW as u64;
            result.wrong += wrong as u64;
        }
    }
    result
}

/// How many bits differ from those that were sent from this place on; `None`: not so many were sent.
fn wrong(sent: &[bool], bits: &[bool; WINDOW], place: usize) -> Option<usize> {
    let sent = sent.get(place..place + WINDOW)?;
    Some(sent.iter().zip(bits).filter(|(sent, bit)| sent != bit).count())
}
