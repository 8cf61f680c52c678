//! The arguments of `punctual modem judge`.

use super::values::any_length;
use clap::{Args, ValueEnum};
use punctual_modem::telephone::Rate;
use punctual_recording::format_ns;
use punctual_spandsp::OneWay;

#[derive(Debug, Args)]
pub(crate) struct ModemJudgeArguments {
    /// Only these modems; separate several with commas [default: all]
    #[arg(long, value_name = "MODEMS", value_delimiter = ',')]
    pub(crate) modem: Vec<ModemName>,
    /// Calls for each amount of noise and each loss
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) calls: u32,
    /// For how long an end loses what it should receive, up to 10s; separate several with commas
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = loss,
          default_value = "12.5ms,12.7ms,50ms,100ms,500ms")]
    pub(crate) losses: Vec<u32>,
    /// Chooses the line's noise and the bits
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// A modem that can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModemName {
    /// The V.22bis of spandsp, 2,400 bit/s both ways
    #[value(name = "v22bis")]
    V22bis,
    /// Its V.27ter, 4,800 bit/s one way
    #[value(name = "v27ter")]
    V27ter,
    /// Its V.29, 9,600 bit/s one way
    #[value(name = "v29")]
    V29,
    /// Its V.17, 14,400 bit/s one way
    #[value(name = "v17")]
    V17,
    /// The modem of punctual at 4,800 bit/s, both ways
    #[value(name = "4800")]
    Ours4800,
    /// The same at 9,600 bit/s
    #[value(name = "9600")]
    Ours9600,
    /// The same at 14,400 bit/s
    #[value(name = "14400")]
    Ours14400,
}

/// Whose modem a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    /// Ours, at this rate.
    Ours(Rate),
    /// spandsp's; `None`: V.22bis.
    Theirs(Option<OneWay>),
}

impl ModemName {
    /// Whose it is.
    pub(crate) fn maker(self) -> Maker {
        match self {
            ModemName::V22bis => Maker::Theirs(None),
            ModemName::V27ter => Maker::Theirs(Some(OneWay::V27ter)),
            ModemName::V29 => Maker::Theirs(Some(OneWay::V29)),
            ModemName::V17 => Maker::Theirs(Some(OneWay::V17)),
            ModemName::Ours4800 => Maker::Ours(Rate::Two),
            ModemName::Ours9600 => Maker::Ours(Rate::Four),
            ModemName::Ours14400 => Maker::Ours(Rate::Six),
        }
    }
}

/// The longest loss, us.
const MAX_LOSS_US: u32 = 10_000_000;

/// A loss, us.
fn loss(text: &str) -> Result<u32, String> {
    let wrong = || {
        let longest = format_ns(u64::from(MAX_LOSS_US) * 1_000);
        format!("`{text}` is not a length of a loss: give 1ms to {longest}")
    };
    let us = u32::try_from(any_length(text)? / 1_000).map_err(|_| wrong())?;
    Some(us).filter(|us| (1_000..=MAX_LOSS_US).contains(us)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_have_a_unit_and_bounds() {
        assert_eq!([loss("12.5ms"), loss("10s")], [Ok(12_500), Ok(10_000_000)]);
        for wrong in ["12", "0", "0.5ms", "11s", "2h", "x"] {
            let message = loss(wrong).unwrap_err();
            assert!(!message.is_empty() && !message.contains('\n'), "{wrong}: {message}");
        }
    }
}
