//! Verdicts: the first sentence or sentences of every answer, the same in text, on pages and in JSON.
//!
//! Facts come in, words go out: what is computed, counted or looked up is in the feature's own folder. The set, a file for each
//! family; `every_verdict_is_read_as_one_set` (`cli/tests/golden.rs`) prints those of the golden recordings:
//!
//! | file | the verdicts of |
//! |---|---|
//! | `recording` | `record`, `report`, `check`; how any measurement ended, and a load that failed |
//! | `devices` | `check --device` |
//! | `cycles` | `--period` |
//! | `compare` | `compare`: two sides, several (`sides`), what was counted on them (`counts`) |
//! | `why` | `why`, with handlers; requests (`requests`), the slowest (`slowest`), and what its shares leave out (`left_out`) |
//! | `device` | `device run`, `device verify`, a user's own work (`own`), `device study` (`study`) |
//! | `forecast` | `forecast`: how many buffers a device needs |
//! | `interact` | `interact`, `interact learn`; two programs (`compare`) |
//! | `idle`, `log` | `idle`, `log` |
//! | `reserve`, `rialto` | `reserve` with `run`, `list` and `undo`; `rialto` |
//! | `modem` | `modem transfer`, `stalls`, `judge`, `serve`, `call`, `study` |
//! | `sim` | `sim run`, `papers`, `list`, `timeline`, and sweeps |
//! | `lab` | `lab run`, `lab why`, `lab kernels` |
//! | `tools` | `load`, `drill`, `device list`, `capabilities`, and what installs programs |
//!
//! Four are worded in pure crates, beside the numbers that their tests hold them to: what a forecast says of devices
//! (`forecast/src/answer/verdict.rs`), schedulability (`forecast/src/schedulability/words.rs`), ways to wait (`timing/src/result.rs`)
//! and what-ifs (`sim/src/whatif/answer.rs`).
//!
//! Rules, beside those of `docs/style.md`:
//!
//! - The first sentence answers the question, with the number that decides. What makes a reader doubt it follows, or comes first
//!   if it changes what the answer is about: a load that failed, a side that was another thread.
//! - The same thing is said in the same words: take a sentence that is here, such as how a measurement ended, rather than word it
//!   again.
//! - *Better* and *worse* are said of systems only, and of these runs what they show. What is not known is *not known* or *too
//!   early to say*.
//! - It names four things at most and says how many more there are; the tables have all.
//!
//! No file here is used by what it takes facts from: types come from a feature's models, sentences go to its text, page and answer.

pub(crate) mod compare;
mod cycles;
pub(crate) mod device;
pub(crate) mod devices;
pub(crate) mod forecast;
pub(crate) mod idle;
pub(crate) mod interact;
pub(crate) mod lab;
mod log;
mod modem;
pub(crate) mod recording;
pub(crate) mod reserve;
mod rialto;
pub(crate) mod sim;
pub(crate) mod tools;
pub(crate) mod why;
