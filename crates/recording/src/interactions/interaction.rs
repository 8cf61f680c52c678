//! An input to a program, where its time went, and what is known of all of them together.

use crate::interactions::code::CodeDocument;
use crate::interactions::counters::{HardwareDocument, InputCounters};
use crate::interactions::events::ToolkitDocument;
use crate::interactions::outcome::Outcome;
use punctual_codes::Awaited;
use serde::{Deserialize, Serialize};

/// The name and version of `interactions.json`.
pub const INTERACTIONS_SCHEMA: &str = "punctual.interactions/1";
/// The pace of somebody's own use, which was only watched.
pub const OWN_PACE: &str = "own";
/// The pace without any pause.
pub const FULL_PACE: &str = "full";
/// The kind for a program's own start, which nobody types.
pub const START: &str = "start";
/// The kind for an input that was there before anybody saw it come: how long somebody waited for it is not known.
pub const BEGAN_BEFORE: &str = "began_before";

/// One input. Times are ns of `CLOCK_MONOTONIC`; what was not seen is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interaction {
    /// Counted from 0.
    pub number: u32,
    /// `key`, `enter`, `page`, `start`, ...
    pub kind: String,
    /// What was typed: `a`, `page-down`; for `start`, the program.
    pub label: String,
    /// The task that it belongs to; empty if none was named.
    pub task: String,
    /// Its number among those of its kind and label, from 1: the first is the cold one.
    pub repeat: u32,
    /// Just before it was put in.
    pub begin_ns: u64,
    /// When it had been put in.
    pub injected_ns: u64,
    /// Until when its effects count: the next one's beginning.
    pub end_ns: u64,
    /// When the program had taken it.
    pub got_ns: Option<u64>,
    /// When the program's threads had left their CPUs, and none took one for a while.
    pub busy_ns: Option<u64>,
    /// When the thread that took it waited for input with its queue empty.
    pub blocked_ns: Option<u64>,
    /// When the last output that it caused had been written.
    pub seen_ns: Option<u64>,
    /// When that output arrived at the typist.
    pub arrived_ns: Option<u64>,
    /// When the last output came after it, and after `seen_ns`, of which it is not known whether this input caused it.
    pub perhaps_ns: Option<u64>,
    /// CPU time of all threads of the program from its beginning to its end, including their work in the background.
    pub cpu_ns: Option<u64>,
    /// CPU time of threads while they were working on it, and until they slept after that.
    pub caused_cpu_ns: Option<u64>,
    /// What the kernel counted for the program meanwhile; `None` if it said nothing.
    pub counters: Option<InputCounters>,
    /// How long the program's threads were kept from a CPU meanwhile, according to the kernel.
    pub run_delay_ns: Option<u64>,
    /// How much of the time until it was seen counts as thinking for the state machine of 1996.
    pub think_1996_ns: Option<u64>,
    /// The later input that it was taken together with.
    pub merged_into: Option<u32>,
    /// Bytes that were put in; with a window, bytes of the requests to the display.
    pub bytes: u64,
    /// Bytes that came out before the next one; with a window, four for each pixel that was drawn.
    pub output_bytes: u64,
    /// What happened to it.
    pub outcome: Option<Outcome>,
}

impl Interaction {
    /// From its beginning to when it was seen, ns.
    pub fn latency_ns(&self) -> Option<u64> {
        self.seen_ns.map(|seen| seen.saturating_sub(self.begin_ns))
    }

    /// From its beginning to the last output that it may have caused, ns, if that is not known.
    pub fn perhaps_after_ns(&self) -> Option<u64> {
        self.perhaps_ns.map(|perhaps| perhaps.saturating_sub(self.begin_ns))
    }

    /// Whether somebody put it in, and it is known when.
    pub fn is_measured(&self) -> bool {
        self.kind != START && self.kind != BEGAN_BEFORE
    }
}

/// Where a part of the time from an input's beginning until it was seen went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InteractionPart {
    /// The input: [`Interaction::number`].
    pub number: u32,
    /// Why it passed, as `punctual why` names it.
    pub kind: String,
    /// Who took it.
    pub name: String,
    /// Who was waited for, if that was not seen and the name stands for nobody.
    pub not_seen: Option<Awaited>,
    /// Further details; empty if there are none.
    pub detail: String,
    /// How much, ns.
    pub ns: u64,
    /// How much of it is unexplained, ns.
    pub unknown_ns: u64,
}

/// A summary of the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InteractionDocument {
    /// [`INTERACTIONS_SCHEMA`].
    pub schema: String,
    /// The interface through which the program was used: `pty`, `x11` or `wayland`.
    pub via: String,
    /// `human`, [`FULL_PACE`] or `recorded`; [`OWN_PACE`] if somebody else used the program.
    pub pace: String,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The script's own name.
    pub script: String,
    /// A digest of the script's text.
    pub script_digest: String,
    /// The seed for the pauses.
    pub seed: u64,
    /// Whether the kernel was followed: what arrived, what blocked, and who had the time.
    pub followed: bool,
    /// Inputs that were put in.
    pub inputs: u64,
    /// Inputs of the script that were not put in because the program or the run ended first.
    pub not_put_in: u64,
    /// How often there was output that no input caused.
    pub background_outputs: u64,
    /// Records of the kernel's programs that were overwritten before they could be read.
    pub records_lost: u64,
    /// Inputs whose time should have been split but could not be.
    pub not_split: u64,
    /// Inputs whose time was split although a part of the evidence is missing: it was overwritten, or there was no room
    /// for it.
    #[serde(default)]
    pub with_holes: u64,
    /// CPU time of the thread that types and listens, ns.
    pub driver_cpu_ns: u64,
    /// CPU time of this process, ns.
    pub process_cpu_ns: u64,
    /// CPU time of the program's threads as the kernel's programs saw them, ns.
    pub program_cpu_ns: Option<u64>,
    /// How the kernel's programs slowed others down: their run time, ns. It is measured until three seconds after the
    /// first input, and the rest of the time is taken to be like these.
    pub programs_ran_ns: Option<u64>,
    /// How often they ran, by the same measure.
    pub programs_runs: Option<u64>,
    /// The program's exit code; `None` if it had not ended, or a signal ended it.
    pub exit_code: Option<i32>,
    /// Whether the program ended before the script did.
    pub ended_early: bool,
    /// Whether it never stopped putting something out before the first input: its start has no end.
    #[serde(default)]
    pub never_quiet: bool,
    /// Inputs for which only the millisecond in which they began is known.
    #[serde(default)]
    pub to_a_millisecond: u64,
    /// Inputs that were reported faster than they could be recorded.
    #[serde(default)]
    pub presses_lost: u64,
    /// About the processor's counters; `None` if they were not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareDocument>,
    /// About the stacks that were sampled; `None` if the kernel was not followed, and in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeDocument>,
    /// About events of toolkits; `None` if they were not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<ToolkitDocument>,
}
