//! The signals that devices decode: made beforehand in virtual time, with noise, and kept as they arrive.

mod dsl;
mod radio;

use punctual_datapump::{DSSS_UNIT, Decoder, DmtSize, GFSK_UNIT, MAX_DMT_BANKS};
use punctual_kernel::Refused;

/// What a device decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decodes {
    /// The downstream of a DSL of this size, one symbol of 246.4 us at a time.
    Dmt(DmtSize),
    /// Bluetooth's packets, 62.5 us at a time.
    Gfsk,
    /// 802.11b's packets, 12 us at a time.
    Dsss,
}

impl Decodes {
    /// All of them.
    #[cfg(test)]
    pub(super) const ALL: [Decodes; 4] =
        [Decodes::Dmt(DmtSize::Lite), Decodes::Dmt(DmtSize::Full), Decodes::Gfsk, Decodes::Dsss];

    /// Samples in a unit; a radio's are complex.
    pub fn unit_samples(self) -> u32 {
        match self {
            Decodes::Dmt(size) => size.symbol_samples() as u32,
            Decodes::Gfsk => GFSK_UNIT as u32,
            Decodes::Dsss => DSSS_UNIT as u32,
        }
    }

    /// The most banks of 64 taps that its echo canceller may have; a radio has none.
    pub(super) fn max_banks(self) -> u32 {
        if let Decodes::Dmt(_) = self { MAX_DMT_BANKS } else { 0 }
    }

    /// How many units are timed together, so that they include everything that a packet takes.
    pub(super) fn timed_units(self) -> u32 {
        match self {
            Decodes::Dmt(_) => 8,
            Decodes::Gfsk => radio::GFSK_SPACING as u32,
            Decodes::Dsss => (radio::DSSS_RATES.len() * radio::DSSS_SPACING) as u32,
        }
    }
}

/// A device at the beginning of the repeated part of its signal.
#[derive(Clone)]
pub(super) struct Received {
    pub(super) decodes: Decodes,
    pub(super) decoder: Decoder,
}

impl Received {
    /// Makes the signal of such a device; always the same one.
    ///
    /// # Errors
    /// If it was not received without an error: a fault of this program.
    pub(super) fn make(decodes: Decodes) -> Result<Received, Refused> {
        let made = match decodes {
            Decodes::Dmt(size) => dsl::make(size),
            Decodes::Gfsk => radio::make_gfsk(),
            Decodes::Dsss => radio::make_dsss(),
        };
        let decoder = made.map_err(|reason| Refused::because("making the signal that the device decodes", reason))?;
        Ok(Received { decodes, decoder })
    }

    /// The device with this many banks of 64 taps, at the beginning, for blocks of this many units; as a control,
    /// without the taps that everything passes through.
    pub(super) fn device(&self, banks: u32, units_a_block: u32, without_taps: bool) -> Decoder {
        let mut decoder = self.decoder.clone();
        decoder.expect_blocks(units_a_block);
        decoder.set_echo_banks(banks);
        if without_taps {
            decoder.clear_taps();
        }
        decoder
    }
}
