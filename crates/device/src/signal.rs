//! What devices decode.

/// What a device decodes, if that is known here and not only how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// The downstream of a DSL in the shape of G.lite: 128 tones, 272 samples a symbol.
    GLite,
    /// The same in the shape of full-rate DSL: 256 tones, 544 samples a symbol.
    FullRateDsl,
    /// Bluetooth's packets at a million bits a second, in every second slot of 625 us.
    Bluetooth,
    /// 802.11b's packets at its four rates. They are on the air for an eighth of the time; the rest brings no samples.
    #[serde(rename = "802.11b")]
    Wifi,
}

impl Signal {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Signal::GLite => "G.lite",
            Signal::FullRateDsl => "full-rate DSL",
            Signal::Bluetooth => "Bluetooth",
            Signal::Wifi => "802.11b",
        }
    }

    /// What samples that are processed together are called.
    pub fn unit(self) -> &'static str {
        match self {
            Signal::GLite | Signal::FullRateDsl => "symbol",
            Signal::Bluetooth | Signal::Wifi => "unit",
        }
    }

    /// What its bits come in, each with a check.
    pub fn frame(self) -> &'static str {
        match self {
            Signal::GLite | Signal::FullRateDsl => "superframe",
            Signal::Bluetooth | Signal::Wifi => "packet",
        }
    }

    /// Samples of a unit; a radio's are complex.
    pub fn unit_samples(self) -> u32 {
        match self {
            Signal::GLite => 272,
            Signal::FullRateDsl => 544,
            Signal::Bluetooth => 250,
            Signal::Wifi => 264,
        }
    }

    /// How many units arrive in this time, ns: the number that comes closest, at least one.
    pub fn units_in(self, period_ns: u64) -> u32 {
        // Units per time in ns: 4,058.8 symbols a second, 16,000 times 62.5 us, an eighth of 83,333 times 12 us.
        let (units, time_ns) = match self {
            Signal::GLite | Signal::FullRateDsl => (69, 17_000_000),
            Signal::Bluetooth => (1, 62_500),
            Signal::Wifi => (1, 96_000),
        };
        let units = (u128::from(period_ns) * units + time_ns / 2) / time_ns;
        u32::try_from(units).unwrap_or(u32::MAX).max(1)
    }
}
