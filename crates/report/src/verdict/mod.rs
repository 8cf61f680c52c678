//! Verdicts: the first sentence or sentences of every answer, in text, on pages and in JSON alike.
//!
//! Facts come in, words go out. What is computed, counted or looked up is in the feature's own folder; here it is only said, one
//! file for each family of commands, so that a sentence is read beside all others. `every_verdict_is_read_as_one_set`
//! (`cli/tests/golden.rs`) prints them for the golden recordings.
//!
//! - The first sentence answers the question, with the number that decides. Then comes what would make a reader doubt it:
//!   a load that failed, an end that came early, what was not seen.
//! - The same thing is said in the same words: take a sentence of `recording`, such as how a measurement ended, rather
//!   than word it again.
//! - Nothing is said of systems that only these runs show; what is not known is *not known* or *too early to say*.
//! - It names four things at most and says how many more there are; the tables have all.
//! - A sentence with a command in it says what that does.
//!
//! Three are worded where their numbers are made, because other programs of the workspace read them there: forecasts
//! (`forecast/src/answer/verdict.rs`), schedulability (`forecast/src/schedulability/words.rs`) and ways to wait
//! (`timing/src/result.rs`).

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
