//! The progress line while recordings are read, on standard error.

use crate::look::is_in_lines;
use indicatif::ProgressBar;
use punctual_recording::counted;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the line is rewritten; adding up distributions is not free.
pub(crate) const EVERY: Duration = Duration::from_millis(250);
/// On a terminal that cannot rewrite a line, a new one appears this often.
const EVERY_LINE: Duration = Duration::from_secs(10);
/// Reading that takes no longer than this shows no line.
const SILENT: Duration = Duration::from_secs(2);

/// The line while recordings are read. There is only one, because a program reads for one answer.
static READING: Mutex<Reading> = Mutex::new(Reading::Not);

/// Episodes looked into so far: they are no rows of a table, and each takes longer than many of those.
static EPISODES: AtomicU64 = AtomicU64::new(0);

enum Reading {
    Not,
    Since(Instant),
    Shown(Instant, ProgressBar),
    /// In lines, one after another: since when.
    InLines(Instant, Lines),
    Over,
}

/// Lines that appear one after another on a terminal that cannot rewrite one: when the last was written.
#[derive(Debug, Default)]
pub(crate) struct Lines(Option<Instant>);

impl Lines {
    /// Whether the next one is due; then it counts as written now.
    pub(crate) fn is_due(&mut self) -> bool {
        let is_due = self.0.is_none_or(|written| written.elapsed() >= EVERY_LINE);
        if is_due {
            self.0 = Some(Instant::now());
        }
        is_due
    }
}

impl Reading {
    /// Updates the line; returns whether reading continues.
    fn round(&mut self) -> bool {
        if let Reading::Since(began) = *self
            && began.elapsed() >= SILENT
        {
            *self = Reading::Shown(began, ProgressBar::new_spinner());
        }
        if let Reading::Shown(began, bar) = self {
            let episodes = EPISODES.load(Ordering::Relaxed);
            bar.set_message(reading_line(punctual_recording::rows_read(), episodes, began.elapsed()));
            bar.tick();
        }
        if let Reading::InLines(began, lines) = self
            && began.elapsed() >= SILENT
            && lines.is_due()
        {
            let episodes = EPISODES.load(Ordering::Relaxed);
            let line = reading_line(punctual_recording::rows_read(), episodes, began.elapsed());
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        matches!(self, Reading::Since(_) | Reading::Shown(..) | Reading::InLines(..))
    }
}

fn reading_line(rows: u64, episodes: u64, elapsed: Duration) -> String {
    if episodes > 0 {
        return format!("reading  {}  {:.0} s", counted(episodes, "episode"), elapsed.as_secs_f64());
    }
    format!("reading  {:.1} million rows  {:.0} s", rows as f64 / 1e6, elapsed.as_secs_f64())
}

/// Counts an episode, which somebody has looked into, for the line.
pub(crate) fn count_episode() {
    EPISODES.fetch_add(1, Ordering::Relaxed);
}

/// Announces that recordings are being read. If that takes longer than anybody would wait without a sign of life, a
/// line shows the progress until something is printed. Shows nothing if nobody is looking.
pub(crate) fn show_reading() {
    const STACK: usize = 256 << 10;
    let began = Instant::now();
    let reading = match is_in_lines() {
        true => Reading::InLines(began, Lines::default()),
        false if ProgressBar::new_spinner().is_hidden() => return,
        false => Reading::Since(began),
    };
    *READING.lock().unwrap_or_else(PoisonError::into_inner) = reading;
    let rounds = || {
        while READING.lock().unwrap_or_else(PoisonError::into_inner).round() {
            std::thread::sleep(EVERY);
        }
    };
    // Without the thread there is no line, but the answer still comes.
    let _ = std::thread::Builder::new().name("progress".to_owned()).stack_size(STACK).spawn(rounds);
}

/// Removes the line of [`show_reading`], because an answer is about to be printed.
pub(crate) fn end_reading() {
    let mut reading = READING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Reading::Shown(_, bar) = &*reading {
        bar.finish_and_clear();
    }
    if !matches!(*reading, Reading::Not) {
        *reading = Reading::Over;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_is_shown_only_once_it_takes_long() {
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let mut soon = Reading::Since(ago(1));
        assert!(soon.round() && matches!(soon, Reading::Since(_)));
        let mut late = Reading::Since(ago(3));
        assert!(late.round() && matches!(late, Reading::Shown(..)));
        let mut lines = Reading::InLines(ago(3), Lines::default());
        assert!(lines.round() && matches!(lines, Reading::InLines(_, Lines(Some(_)))));
        let mut no_line = Reading::InLines(ago(1), Lines::default());
        assert!(no_line.round() && matches!(no_line, Reading::InLines(_, Lines(None))));
        assert!(!Reading::Over.round() && !Reading::Not.round());
        assert_eq!(reading_line(12_345_678, 0, Duration::from_secs(3)), "reading  12.3 million rows  3 s");
        assert_eq!(reading_line(12_345_678, 1_234, Duration::from_secs(20)), "reading  1,234 episodes  20 s");
    }
}
