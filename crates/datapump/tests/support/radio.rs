//! Packets on the air, with noise, and what a receiver should make of them.

use punctual_datapump::{
    DsssRate, GFSK_PAYLOAD, GFSK_SAMPLES_A_BIT, dsss_frame, dsss_packet, gfsk_packet, gfsk_payload,
};
use punctual_line::{Air, AirOptions};
use punctual_random::Random;

/// A kind of packet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Bluetooth's, 240 bits.
    Gfsk,
    /// 802.11b's at this rate, of this many octets with their check.
    Dsss(DsssRate, usize),
}

impl Kind {
    /// Of the frame or payload.
    pub(crate) fn bits(self) -> usize {
        match self {
            Kind::Gfsk => GFSK_PAYLOAD,
            Kind::Dsss(_, octets) => 8 * octets,
        }
    }

    fn samples_a_bit(self) -> f64 {
        match self {
            Kind::Gfsk => GFSK_SAMPLES_A_BIT as f64,
            Kind::Dsss(rate, _) => 22e6 / f64::from(rate.bits_per_second()),
        }
    }

    fn sample_rate(self) -> f64 {
        match self {
            Kind::Gfsk => 4e6,
            Kind::Dsss(..) => 22e6,
        }
    }
}

/// Packets at random places, noise of so many dB below a bit's energy, and a carrier that is off by so many Hz.
pub(crate) struct Packets {
    kind: Kind,
    random: Random,
    air: AirOptions,
}

impl Packets {
    pub(crate) fn new(kind: Kind, seed: u64, bit_to_noise: Option<f64>, offset_hz: f64) -> Packets {
        let air = AirOptions {
            level: 8_192.0,
            samples_a_bit: kind.samples_a_bit(),
            bit_to_noise,
            offset: offset_hz / kind.sample_rate(),
        };
        Packets { kind, random: Random(seed), air }
    }

    /// The samples of a packet with noise before and after it, and the bits of its frame or payload.
    pub(crate) fn packet(&mut self) -> (Vec<i16>, Vec<bool>) {
        let (sent, bits) = match self.kind {
            Kind::Gfsk => {
                let payload = gfsk_payload(std::iter::repeat_with(|| self.random.bits() & 1 == 1));
                (gfsk_packet(&payload), payload)
            }
            Kind::Dsss(rate, octets) => {
                let octets: Vec<u8> = (4..octets).map(|_| self.random.bits() as u8).collect();
                let frame = dsss_frame(&octets);
                let bits = frame.iter().flat_map(|octet| (0..8).map(move |bit| octet >> bit & 1 == 1)).collect();
                (dsss_packet(&frame, rate), bits)
            }
        };
        assert_eq!(bits.len(), self.kind.bits());
        let before = 200 + self.random.below(44) as usize;
        let mut samples = vec![0; 2 * before];
        samples.extend(sent);
        samples.resize(samples.len() + 2 * 200, 0);
        Air::new(self.random.bits(), self.air).pass(&mut samples);
        (samples, bits)
    }
}
