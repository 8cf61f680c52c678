//! `punctual modem judge`: modems of several makes over one line.

mod answer;
mod text;

pub use answer::JudgeAnswer;
pub use text::judge_text;

use punctual_modem::judge::{Judged, Judgement};

/// What was judged, and how.
#[derive(Debug)]
pub struct Judging<'a> {
    /// How the modems were judged.
    pub how: &'a Judgement,
    /// What each came to.
    pub judged: &'a [Judged],
    /// Modems are missing, because somebody stopped it.
    pub interrupted: bool,
}

/// A verdict names so many modems.
const MAX_NAMED: usize = 4;

impl Judging<'_> {
    /// The outcome, in a sentence.
    pub fn verdict(&self) -> String {
        let cut = if self.interrupted { "; interrupted" } else { "" };
        let mut order: Vec<&Judged> = self.judged.iter().collect();
        // Modems that others can be compared with, the fastest first: V.17 and ours at 14,400, and so on.
        order.sort_by_key(|judged| (!self.has_rival(judged), std::cmp::Reverse(judged.bits_per_second)));
        let Some((first, others)) = order.split_first() else { return format!("No modem was judged{cut}.") };
        let from = |judged: &Judged| match judged.flawless_from() {
            Some(ratio) => format!("from {ratio} dB on"),
            None => "at no ratio".to_owned(),
        };
        let mut sentence = format!("The line carries {} without an error {}", named(first), from(first));
        let listed = &others[..others.len().min(MAX_NAMED - 1)];
        for (place, judged) in listed.iter().enumerate() {
            let joint = if place + 1 == listed.len() { " and" } else { "," };
            sentence += &format!("{joint} {} {}", named(judged), from(judged));
        }
        let more = others.len() - listed.len();
        if more > 0 {
            sentence += &format!("; {more} more below");
        }
        format!("{sentence}{cut}.")
    }

    /// Whether somebody else's modem has the same rate.
    fn has_rival(&self, judged: &Judged) -> bool {
        let is_rival = |other: &&Judged| other.bits_per_second == judged.bits_per_second && other.maker != judged.maker;
        self.judged.iter().any(|other| is_rival(&other))
    }
}

fn named(judged: &Judged) -> String {
    format!("{} of {}", judged.name, judged.maker)
}

#[cfg(test)]
mod tests;
