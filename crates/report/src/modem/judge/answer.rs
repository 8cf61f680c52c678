//! The answer of `punctual modem judge`. Times are ns unless a name says otherwise.

use super::Judging;
use crate::answer::Answer;
use punctual_modem::judge::{Cost, Judged, LossRow, NoiseRow};
use serde::Serialize;

/// What became of the bits of modems of several makes over one line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JudgeAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    interrupted: bool,
    seed: u64,
    /// For each ratio, and for each length of a loss.
    calls: u32,
    /// For how long bits were compared in each call, of the line's time.
    compared_ns: u64,
    echo_db: Option<f64>,
    companded: bool,
    /// The ratio while samples were lost and costs were measured.
    losses_at_db: f64,
    modems: Vec<JudgedRow<'a>>,
}

impl<'a> JudgeAnswer<'a> {
    /// The answer for programs.
    pub fn new(judging: &Judging<'a>) -> JudgeAnswer<'a> {
        let how = judging.how;
        JudgeAnswer {
            schema: "punctual.modem-judge/1",
            verdict: judging.verdict(),
            exit_code: u8::from(judging.interrupted),
            interrupted: judging.interrupted,
            seed: how.seed,
            calls: how.calls,
            compared_ns: u64::from(how.compared_ms) * 1_000_000,
            echo_db: how.line.echo,
            companded: how.line.companding.is_some(),
            losses_at_db: how.losses_at,
            modems: judging.judged.iter().map(JudgedRow::new).collect(),
        }
    }
}

impl Answer for JudgeAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// A modem.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JudgedRow<'a> {
    name: &'a str,
    /// `punctual`, or the library that it is of.
    maker: &'static str,
    bits_per_second: u32,
    samples_per_second: u32,
    /// Whether both ends send at the same time; otherwise the first end sends, and the second receives.
    both_ways: bool,
    /// What it sends, a root mean square of 32,767; noise is relative to this.
    level: f64,
    /// The least ratio from which on each call connects and no bit is wrong; `null`: none of those that were tried.
    flawless_from_db: Option<f64>,
    /// `null`: it did not connect.
    cost: Option<CostRow>,
    /// From the least noise to the most.
    noise: Vec<NoiseLine>,
    losses: Vec<LossLine>,
}

impl<'a> JudgedRow<'a> {
    fn new(judged: &'a Judged) -> JudgedRow<'a> {
        JudgedRow {
            name: &judged.name,
            maker: judged.maker,
            bits_per_second: judged.bits_per_second,
            samples_per_second: judged.sample_rate,
            both_ways: judged.is_duplex,
            level: judged.level,
            flawless_from_db: judged.flawless_from(),
            cost: judged.cost.as_ref().map(CostRow::new),
            noise: judged.noise.iter().map(NoiseLine::new).collect(),
            losses: judged.losses.iter().map(LossLine::new).collect(),
        }
    }
}

/// Processor time for a sample.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CostRow {
    /// At the end that calls or, if only one sends, sends.
    calls: EndCost,
    /// At the end that answers or receives.
    answers: EndCost,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EndCost {
    least_ns: f64,
    median_ns: f64,
}

impl CostRow {
    fn new(cost: &Cost) -> CostRow {
        let end = |end: usize| EndCost { least_ns: cost.least_ns[end], median_ns: cost.median_ns[end] };
        CostRow { calls: end(0), answers: end(1) }
    }
}

/// Calls with the same noise.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NoiseLine {
    signal_to_noise_db: f64,
    calls: u32,
    /// At the full rate.
    connected: u32,
    /// To the end.
    lasted: u32,
    bits: u64,
    wrong: u64,
    /// How often bits were lost or added in between.
    slips: u32,
}

impl NoiseLine {
    fn new(row: &NoiseRow) -> NoiseLine {
        NoiseLine {
            signal_to_noise_db: row.signal_to_noise,
            calls: row.calls,
            connected: row.connected,
            lasted: row.lasted,
            bits: row.bits,
            wrong: row.wrong,
            slips: row.slips,
        }
    }
}

/// Calls in which the second end lost what came for the same time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LossLine {
    lost_ns: u64,
    samples: u64,
    /// That were connected before.
    calls: u32,
    retrained: u32,
    lost_carrier: u32,
    /// As before within 12 s.
    recovered: u32,
    /// Wrong bits of a call: the median of the calls.
    wrong: u64,
    /// For how long bits were wrong or missing: the median of the calls that recovered; `null`: none did.
    disturbed_ns: Option<u64>,
}

impl LossLine {
    fn new(row: &LossRow) -> LossLine {
        LossLine {
            lost_ns: u64::from(row.length_us) * 1_000,
            samples: row.samples,
            calls: row.calls,
            retrained: row.retrained,
            lost_carrier: row.lost_carrier,
            recovered: row.recovered,
            wrong: row.wrong,
            disturbed_ns: row.disturbed_ms.map(|ms| ms * 1_000_000),
        }
    }
}
