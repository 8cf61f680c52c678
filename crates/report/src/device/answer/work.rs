//! What became of a device's work: of a signal that it decoded, or of a user's own work.

use punctual_recording::{DecodedSummary, OwnSummary};
use serde::Serialize;

/// What became of a user's own work.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct OwnRow<'a> {
    name: &'a str,
    block_ns: u64,
    budget_ns: u64,
    done: u64,
    over: u64,
    failed: u64,
    longest_ns: u64,
    output: &'a [i64],
    digest: &'a str,
    /// How its process ended, if it ended before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<OwnEndRow<'a>>,
}

/// How the process of a user's own work ended.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OwnEndRow<'a> {
    block: u64,
    reason: &'a str,
}

impl<'a> OwnRow<'a> {
    pub(super) fn new(own: &'a OwnSummary) -> OwnRow<'a> {
        OwnRow {
            name: &own.name,
            block_ns: own.block_ns,
            budget_ns: own.budget_ns,
            done: own.done,
            over: own.over,
            failed: own.failed,
            longest_ns: own.longest_ns,
            output: &own.output,
            digest: &own.digest,
            ended: own.ended.as_ref().map(|end| OwnEndRow { block: end.block, reason: &end.reason }),
        }
    }
}

/// What became of the signal that a device decoded.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct DecodedRow<'a> {
    signal: &'a str,
    /// What `symbols` are: those of a DSL, or units of a radio's samples.
    unit: &'a str,
    /// What `frames` are: superframes of a DSL, packets of a radio.
    frame: &'a str,
    taps: u32,
    symbols_a_block: u32,
    symbol_ns: u64,
    symbols: u64,
    connected: u64,
    skipped: u64,
    bits: u64,
    wrong: u64,
    missing: u64,
    connections_lost: u64,
    /// Those that ended, whether they were received or not.
    frames: u64,
    /// Those that were received with a correct check.
    frames_right: u64,
}

impl<'a> DecodedRow<'a> {
    pub(super) fn new(decoded: &'a DecodedSummary) -> DecodedRow<'a> {
        DecodedRow {
            signal: &decoded.signal,
            unit: &decoded.unit,
            frame: &decoded.frame,
            taps: decoded.taps,
            symbols_a_block: decoded.symbols_a_block,
            symbol_ns: decoded.symbol_ns,
            symbols: decoded.symbols,
            connected: decoded.connected,
            skipped: decoded.skipped,
            bits: decoded.bits,
            wrong: decoded.wrong,
            missing: decoded.missing,
            connections_lost: decoded.connections_lost,
            frames: decoded.frames,
            frames_right: decoded.frames_right,
        }
    }
}
