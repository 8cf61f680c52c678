//! `punctual modem`: files over a telephone line, what stalls do to a call, the paper's tables, and others' modems.

mod answer;
mod judge;
mod line;
mod live;
mod page;
mod picture;
pub mod study;
mod text;

pub use answer::{StallsAnswer, TransferAnswer};
pub use judge::{JudgeAnswer, Judging, judge_text};
pub use line::{LineAnswer, Lined, line_text};
pub use page::transfer_page;
pub use text::{stalls_text, transfer_text};

use crate::device::Run;
use punctual_modem::adapter::Late;
use punctual_modem::experiment::{Experiment, StallRow};
use punctual_modem::telephone::Law;
use punctual_modem::transfer::{LiveAttempt, Transfer};
use punctual_modem::virtual_time::{Direction, FarEnd};
use punctual_recording::{LoadScore, counted};

/// A file that was sent, and how.
#[derive(Debug)]
pub struct Sent<'a> {
    /// Its name.
    pub file: &'a str,
    /// How it was to be sent.
    pub experiment: &'a Experiment,
    /// Whose pumps both ends had, if not ours.
    pub pump: Option<&'a str>,
    /// What became of it.
    pub transfer: &'a Transfer,
    /// Fewer attempts than asked for were made, because somebody stopped it.
    pub interrupted: bool,
    /// If it was in real time: in which context, and the counts of the machine.
    pub live: Option<LiveSent<'a>>,
}

/// A file that was received by threads of this machine.
#[derive(Debug)]
pub struct LiveSent<'a> {
    /// The threads' context, as people write it.
    pub context: String,
    /// How many modems called at once.
    pub modems: u32,
    /// The CPUs that their threads were on, or began on, in turn.
    pub cpus: &'a [u32],
    /// What they competed with.
    pub competitors: Vec<String>,
    /// The load's name.
    pub load: Option<&'a str>,
    /// What it got done.
    pub scores: &'a [LoadScore],
    /// What a reader must know about it.
    pub notes: &'a [String],
    /// Why it was not the requested load.
    pub load_failure: Option<&'a str>,
    /// Modems that could not take part, from 0, and why.
    pub refused: &'a [(u32, String)],
    /// The counts of each call.
    pub calls: &'a [LiveAttempt],
    /// How long the first call's transfer takes in virtual time if nothing is late, ns; `None`: not computed.
    pub clean_ns: Option<u64>,
    /// The soft devices that worked meanwhile.
    pub devices: Option<Run<'a>>,
}

impl LiveSent<'_> {
    /// Whether more than one call made an attempt.
    pub(crate) fn is_many(&self) -> bool {
        self.modems > 1
    }

    /// What went wrong besides the calls themselves.
    fn troubles(&self) -> Vec<String> {
        let refused = (!self.refused.is_empty()).then(|| {
            let numbers: Vec<String> = self.refused.iter().map(|(modem, _)| (modem + 1).to_string()).collect();
            let (count, why) = (counted(self.refused.len(), "modem"), &self.refused[0].1);
            format!("{count} of {} could not take part ({}): {why}", self.modems, numbers.join(", "))
        });
        let failure = self.load_failure.map(|why| format!("the load failed, and the calls were ended: {why}"));
        refused.into_iter().chain(failure).chain(self.notes.iter().cloned()).collect()
    }
}

impl Sent<'_> {
    /// 0 if every requested attempt arrived, and nothing differed from the request; otherwise 1.
    pub fn exit_code(&self) -> u8 {
        let otherwise = |live: &LiveSent<'_>| !live.refused.is_empty() || live.load_failure.is_some();
        let failed = self.transfer.attempts.is_empty() || self.transfer.successes() < self.transfer.attempts.len();
        u8::from(self.interrupted || failed || self.live.as_ref().is_some_and(otherwise))
    }
}

/// The table of stalls, and its setting.
#[derive(Debug)]
pub struct Stalled<'a> {
    /// How the calls were made.
    pub experiment: &'a Experiment,
    /// The rows, by direction and length.
    pub rows: &'a [StallRow],
    /// Rows are missing, because somebody stopped it.
    pub interrupted: bool,
}

fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Download => "download",
        Direction::Upload => "upload",
    }
}

fn far_end_name(far_end: FarEnd) -> &'static str {
    match far_end {
        FarEnd::Pool => "pool",
        FarEnd::Dedicated => "dedicated",
    }
}

/// The name of a law in files; `None`: samples are not companded.
fn law_name(law: Option<Law>) -> Option<&'static str> {
    law.map(|law| match law {
        Law::A => "a",
        Law::Mu => "mu",
    })
}

fn late_name(late: Late) -> &'static str {
    match late {
        Late::WorkOff => "work_off",
        Late::DropStale => "drop_stale",
    }
}
