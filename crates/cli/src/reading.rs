//! The progress line while recordings are read, on standard error.

use indicatif::ProgressBar;
use punctual_recording::counted;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the line is rewritten; adding up distributions is not free.
pub(crate) const EVERY: Duration = Duration::from_millis(250);
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
    Over,
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
        matches!(self, Reading::Since(_) | Reading::Shown(..))
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
    if ProgressBar::new_spinner().is_hidden() {
        return;
    }
    *READING.lock().unwrap_or_else(PoisonError::into_inner) = Reading::Since(Instant::now());
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
        assert!(!Reading::Over.round() && !Reading::Not.round());
        assert_eq!(reading_line(12_345_678, 0, Duration::from_secs(3)), "reading  12.3 million rows  3 s");
        assert_eq!(reading_line(12_345_678, 1_234, Duration::from_secs(20)), "reading  1,234 episodes  20 s");
    }
}
