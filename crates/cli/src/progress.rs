//! The progress line, on standard error.

use crate::look;
use crate::output::{note, note_line, say};
use crate::reading::{EVERY, Lines};
use indicatif::{ProgressBar, ProgressStyle};
use punctual_probe::{Observation, Waiting};
use punctual_recording::{Totals, format_ns, printable};
use punctual_study::GettingReady;
use std::cell::Cell;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A bar with a message; on a terminal that can only write one line after another, plain lines; nothing if nobody is
/// looking.
pub(crate) struct Bar {
    bar: ProgressBar,
    what: String,
    /// On such a terminal.
    lines: Option<Lines>,
}

impl Bar {
    pub(crate) fn new(quiet: bool, what: &str) -> Bar {
        let lines = (!quiet && look::is_in_lines()).then(Lines::default);
        // A bar of length 0 is full from the start.
        let bar = if quiet || lines.is_some() { ProgressBar::hidden() } else { ProgressBar::new(1) };
        if let Ok(style) = ProgressStyle::with_template("{prefix} {wide_bar} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(printable(what));
        Bar { bar, what: what.trim_end().to_owned(), lines }
    }

    pub(crate) fn is_hidden(&self) -> bool {
        self.bar.is_hidden() && self.lines.is_none()
    }

    pub(crate) fn note(&self, text: &str) {
        if self.lines.is_some() { say(&note_line(text)) } else { self.bar.println(note_line(text)) }
    }

    /// Shows that this much of the whole is done.
    pub(crate) fn set(&mut self, done: u64, all: u64, message: String) {
        self.bar.set_length(all.max(1));
        self.bar.set_position(done);
        self.tell(message);
    }

    /// Nobody knows how much is done: it goes on until it is stopped. A bar would stand there full, or empty.
    pub(crate) fn set_endless(&mut self, message: String) {
        if let Ok(style) = ProgressStyle::with_template("{prefix} {msg}") {
            self.bar.set_style(style);
        }
        self.tell(message);
    }

    fn tell(&mut self, message: String) {
        if self.lines.as_mut().is_some_and(Lines::is_due) {
            say(&format!("{}: {}", printable(&self.what), message.trim_end()));
        }
        self.bar.set_message(message);
    }

    pub(crate) fn done(&self) {
        self.bar.finish_and_clear();
    }
}

/// Measurements that follow one another, of which each has a line of its own.
pub(crate) struct InParts<T> {
    quiet: bool,
    shown: Option<(T, Progress)>,
}

impl<T: PartialEq> InParts<T> {
    pub(crate) fn new(quiet: bool) -> InParts<T> {
        InParts { quiet, shown: None }
    }

    /// Shows how far this part is; `what` names one that begins.
    pub(crate) fn show(&mut self, part: T, what: impl FnOnce() -> String, observation: &Observation<'_>) {
        if self.shown.as_ref().is_none_or(|(shown, _)| *shown != part) {
            self.done();
            self.shown = Some((part, Progress::new(self.quiet, &what())));
        }
        if let Some((_, progress)) = &mut self.shown {
            progress.show(observation);
        }
    }

    pub(crate) fn done(&self) {
        if let Some((_, progress)) = &self.shown {
            progress.done();
        }
    }
}

/// A line with the live p50, p99, max and missed.
pub(crate) struct Progress {
    bar: Bar,
    shown: Option<Instant>,
    /// Whether it was said why nothing comes.
    said_why: bool,
}

impl Progress {
    pub(crate) fn new(quiet: bool, what: &str) -> Progress {
        Progress { bar: Bar::new(quiet, what), shown: None, said_why: false }
    }

    pub(crate) fn show(&mut self, observation: &Observation<'_>) {
        // Whoever wants to see no progress still wants to know that there is none.
        if let Some(why) = observation.waiting.filter(|_| !self.said_why).and_then(worth_a_note) {
            self.said_why = true;
            let text = format!("{why}. {}", until_when(observation));
            if self.bar.is_hidden() { note(&text) } else { self.bar.note(&text) }
        }
        if self.bar.is_hidden() || self.shown.is_some_and(|shown| shown.elapsed() < EVERY) {
            return;
        }
        if self.shown.is_none() {
            for note in observation.fallbacks {
                self.bar.note(note);
            }
        }
        self.shown = Some(Instant::now());
        let elapsed = observation.elapsed.as_millis() as u64;
        let figures = match observation.waiting {
            Some(waiting) => format!("{} ", printable(&waiting.for_what)),
            None => line(&observation.totals()),
        };
        match observation.duration {
            Some(duration) => {
                let left = duration.saturating_sub(observation.elapsed).as_secs_f64().ceil();
                self.bar.set(elapsed, duration.as_millis() as u64, format!("{figures} {left:.0} s left"));
            }
            None => self.bar.set_endless(format!("{figures} {:.0} s", observation.elapsed.as_secs_f64())),
        }
    }

    pub(crate) fn done(&self) {
        self.bar.done();
    }
}

/// Why followed threads do not wake, where it is not an ordinary pause.
fn worth_a_note(waiting: &Waiting) -> Option<&str> {
    waiting.why.as_deref().filter(|_| waiting.is_unusual)
}

/// When a recording ends in which no thread wakes.
fn until_when(observation: &Observation<'_>) -> String {
    match observation.duration {
        Some(duration) => {
            let left = duration.saturating_sub(observation.elapsed).as_secs_f64().ceil();
            format!("The recording goes on for {left:.0} s, or until Ctrl-C")
        }
        None => "The recording goes on until the command ends, or Ctrl-C; `-D 60s` bounds it".to_owned(),
    }
}

fn line(totals: &Totals) -> String {
    let show = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), format_ns);
    // It is not known what threads without a grid have missed.
    let counted = totals
        .counters
        .missed
        .map_or_else(|| format!("wakeups {}", totals.counters.wakeups), |missed| format!("missed {missed}"));
    format!(
        "p50 {}  p99 {}  max {}  {counted} ",
        show(totals.total.quantile(0.5)),
        show(totals.total.quantile(0.99)),
        show(totals.total.max()),
    )
}

/// How many parts of a computation are done, of which several threads do some at once.
pub(crate) struct PartsProgress {
    bar: ProgressBar,
    verb: &'static str,
    unit: &'static str,
    /// On a terminal that can only write one line after another.
    lines: Option<Mutex<Lines>>,
}

impl PartsProgress {
    /// `verb` says what is done, `unit` to what; there are `parts` of it.
    pub(crate) fn new(verb: &'static str, parts: u64, unit: &'static str) -> PartsProgress {
        let lines = look::is_in_lines().then(Mutex::default);
        let bar = if lines.is_some() { ProgressBar::hidden() } else { ProgressBar::new(parts) };
        if let Ok(style) = ProgressStyle::with_template(&format!("{verb} {{wide_bar}} {{pos}}/{{len}} {unit}")) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_length(parts);
        PartsProgress { bar, verb, unit, lines }
    }

    pub(crate) fn set_parts(&self, parts: u64) {
        self.bar.set_length(parts);
    }

    pub(crate) fn part_done(&self) {
        self.bar.inc(1);
        let Some(lines) = self.lines.as_ref().filter(|_| !self.bar.is_finished()) else { return };
        if lines.lock().unwrap_or_else(PoisonError::into_inner).is_due() {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            say(&format!("{}: {done} of {all} {}", self.verb, self.unit));
        }
    }

    pub(crate) fn done(&self) {
        self.bar.finish_and_clear();
    }
}

/// A line with what is being measured now and how much time is left.
pub(crate) struct StepProgress(Bar);

impl StepProgress {
    pub(crate) fn new(quiet: bool, what: &str) -> StepProgress {
        StepProgress(Bar::new(quiet, what))
    }

    pub(crate) fn show(&mut self, step: &str, elapsed: Duration, duration: Duration) {
        let left = duration.saturating_sub(elapsed).as_secs_f64().ceil();
        let message = format!("{}  {left:.0} s left", printable(step));
        self.0.set(elapsed.min(duration).as_millis() as u64, duration.as_millis() as u64, message);
    }

    /// Shows a step before anybody knows how long all will take.
    pub(crate) fn begin(&mut self, step: &str, elapsed: Duration) {
        self.0.set(0, 1, format!("{}  {:.0} s", printable(step), elapsed.as_secs_f64()));
    }

    /// Shows that this many of the total have ended, where nobody knows how long the rest will take.
    pub(crate) fn count(&mut self, step: &str, ended: usize, all: usize, elapsed: Duration) {
        let message = format!("{ended} of {all}  {}  {:.0} s", printable(step), elapsed.as_secs_f64());
        self.0.set(ended as u64, all as u64, message);
    }

    pub(crate) fn done(&self) {
        self.0.done();
    }
}

/// A line while a load gets ready, if that takes longer than anybody would wait without a sign of life.
pub(crate) struct ReadyProgress(StepProgress);

impl ReadyProgress {
    pub(crate) fn new(quiet: bool) -> ReadyProgress {
        ReadyProgress(StepProgress::new(quiet, "load     "))
    }

    /// Always true: to continue.
    pub(crate) fn show(&mut self, stage: GettingReady) -> bool {
        const DARK: Duration = Duration::from_secs(1);
        match stage {
            GettingReady::Preparing(elapsed) if elapsed > DARK => {
                self.0.show("making its files", Duration::ZERO, Duration::ZERO);
            }
            GettingReady::WarmingUp(elapsed, warm_up) if elapsed < warm_up && warm_up > DARK => {
                self.0.show("warming up", elapsed, warm_up);
            }
            GettingReady::WarmingUp(elapsed, warm_up) if elapsed >= warm_up => self.done(),
            _ => {}
        }
        true
    }

    pub(crate) fn done(&self) {
        self.0.done();
    }
}

/// How long a measurement takes before its first wakeup and after its last one, for a note where that is long: on a busy machine
/// everything but the measured threads waits for its CPU.
pub(crate) struct Around {
    begun: Instant,
    warm_up: Cell<Duration>,
    measured: Cell<Option<(Instant, Instant)>>,
}

impl Around {
    pub(crate) fn begin() -> Around {
        Around { begun: Instant::now(), warm_up: Cell::new(Duration::ZERO), measured: Cell::new(None) }
    }

    /// Takes note of the time that a load was to warm up, and passes it on.
    pub(crate) fn ready(&self, stage: GettingReady) -> GettingReady {
        if let GettingReady::WarmingUp(_, warm_up) = stage {
            self.warm_up.set(warm_up);
        }
        stage
    }

    /// Something is measured now.
    pub(crate) fn observed(&self) {
        let now = Instant::now();
        self.measured.set(Some((self.measured.get().map_or(now, |(first, _)| first), now)));
    }

    /// Says how long it took beside what was measured, and what that was.
    pub(crate) fn tell(&self, steps: Steps) {
        let Some((first, last)) = self.measured.get() else { return };
        let before = first.saturating_duration_since(self.begun).saturating_sub(self.warm_up.get());
        if let Some(said) = around_in_words(before, last.elapsed(), steps) {
            note(&said);
        }
    }
}

/// What a measurement does beside measuring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    /// It loads programs into the kernel.
    pub(crate) programs: bool,
    /// It starts a load, and stops it.
    pub(crate) load: bool,
    /// It keeps the evidence of what was late.
    pub(crate) evidence: bool,
}

fn around_in_words(before: Duration, after: Duration, steps: Steps) -> Option<String> {
    const LONG: Duration = Duration::from_secs(2);
    let Steps { programs, load, evidence } = steps;
    let took = |time: Duration, did: [(bool, &str); 3]| {
        let did: Vec<&str> = did.into_iter().filter_map(|(is_done, what)| is_done.then_some(what)).collect();
        let time = format_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        (time, if did.is_empty() { String::new() } else { format!(" ({})", did.join(", ")) })
    };
    (before.saturating_add(after) >= LONG).then(|| {
        let begin = [(programs, "loading programs"), (evidence, "reading symbols"), (load, "starting the load")];
        let last = if evidence { "writing evidence, naming places in programs" } else { "writing what was left" };
        let (before, to_begin) = took(before, begin);
        let (after, to_end) = took(after, [(load, "stopping the load"), (true, last), (false, "")]);
        format!("beside the measurement itself it took {before} to begin{to_begin} and {after} to end{to_end}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_measurement_took_beside_itself_is_said_where_it_is_long() {
        let said = |before, after, [programs, load, evidence]: [bool; 3]| {
            let steps = Steps { programs, load, evidence };
            around_in_words(Duration::from_millis(before), Duration::from_millis(after), steps).unwrap_or_default()
        };
        assert_eq!(said(900, 1_000, [true; 3]), "");
        let table = [
            (
                [true; 3],
                "7.10 s to begin (loading programs, reading symbols, starting the load) and 3.20 s to end (stopping the load, writing \
                 evidence, naming places in programs)",
            ),
            // Only what was done is named.
            (
                [true, false, true],
                "7.10 s to begin (loading programs, reading symbols) and 3.20 s to end (writing evidence, naming places in programs)",
            ),
            (
                [true, true, false],
                "7.10 s to begin (loading programs, starting the load) and 3.20 s to end (stopping the load, writing what was left)",
            ),
            ([false; 3], "7.10 s to begin and 3.20 s to end (writing what was left)"),
        ];
        for (steps, expected) in table {
            assert_eq!(said(7_100, 3_200, steps), format!("beside the measurement itself it took {expected}"));
        }
    }

    #[test]
    fn no_bar_is_full_before_the_end() {
        let is_full = |bar: &Bar| bar.bar.length().is_some_and(|length| bar.bar.position() >= length);
        let mut bar = Bar::new(true, "record");
        assert!(!is_full(&bar));
        bar.set_endless("7 s".to_owned());
        assert!(!is_full(&bar));
        assert_eq!(bar.bar.message(), "7 s");
        bar.set(20, 80, "60 s left".to_owned());
        assert!(!is_full(&bar));
        // Nothing is known of its length.
        bar.set(0, 0, String::new());
        assert!(!is_full(&bar));
        bar.set(80, 80, String::new());
        assert!(is_full(&bar));
    }
}
