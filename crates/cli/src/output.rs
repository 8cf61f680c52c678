//! Data goes to standard output, everything else to standard error.

use crate::cannot_write::CannotWrite;
use crate::look;
use crate::reading::end_reading;
use punctual_context::drill::DrillError;
use punctual_interact::InteractError;
use punctual_kernel::Refused;
use punctual_kernel::standard_output;
use punctual_probe::RunError;
use punctual_recording::{Error, Hint};
use punctual_report::answer::{Answer, Failure, Told};
use punctual_report::forecast::interarrival::InterarrivalRow;
use punctual_report::{Measurement, NextStep, ReportAnswer, fitted, for_markdown, for_screen, paragraphs};
use punctual_study::StudyError;
use punctual_study::lab::{LabError, WhyError};
use punctual_study::modem::tables::TablesError;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The exit code for wrong usage, as other tools of this field use it.
pub(crate) const USAGE: u8 = 129;

/// How to answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) markdown: bool,
}

impl Output {
    /// Prints the report on what was just measured, what to run next, and what else could not be written.
    pub(crate) fn measurement_and_next(self, measurement: &Measurement, failure: Option<&str>) {
        if self.json {
            answer_beside(failure, ReportAnswer::new(measurement, &[]), 0);
        } else {
            let text = punctual_report::measurement_text(measurement);
            print_text(&(text + &punctual_report::next_text(&measurement.next)));
        }
    }

    /// Prints a page that was written as Markdown.
    pub(crate) fn page(self, page: &str) {
        if let Some(kept) = markdown().as_mut() {
            *kept += &harmless(page);
        }
        if self.markdown {
            print_lines(page);
        } else {
            print(&look::with_verdict(&on_screen(page)));
        }
    }

    /// Says in one line what failed, and gives the exit code.
    pub(crate) fn fail(self, error: &anyhow::Error) -> u8 {
        let plan_refused = matches!(error.downcast_ref::<StudyError>(), Some(StudyError::Run(RunError::Plan(_))));
        let nobody = matches!(error.downcast_ref::<InteractError>(), Some(InteractError::Target(_)));
        let usage = plan_refused || nobody || error.downcast_ref::<Usage>().is_some();
        let code = if usage { USAGE } else { 1 };
        let hint = hint(error);
        self.failure(&Failure::new(&without_numbers(&format!("{error:#}")), hint, code));
        code
    }

    /// Says what failed.
    pub(crate) fn failure(self, failure: &Failure<'_>) {
        if self.json {
            print(&pretty(failure));
        } else {
            say(&failure.text());
        }
    }
}

/// The command-line parser's message up to its first empty line, as one line.
pub(crate) fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    in_words(lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: "))
}

/// What the standard library says of a number that it cannot read, and what people are told.
const NUMBERS: [(&str, &str); 5] = [
    ("invalid digit found in string", "that is not a whole number"),
    ("cannot parse integer from empty string", "that is not a whole number"),
    ("invalid float literal", "that is not a number"),
    ("cannot parse float from empty string", "that is not a number"),
    ("number too large to fit in target type", "that is too large a number"),
];

/// The parser's `9 is not in 1..=3` in plain words, and what it passes on from the standard library.
fn in_words(message: &str) -> String {
    let told = |(said, told): &(&str, &str)| Some(format!("{}{told}", message.strip_suffix(*said)?));
    if let Some(told) = NUMBERS.iter().find_map(told) {
        return told;
    }
    let range = message.split_once(" is not in ").and_then(|(before, range)| Some((before, range.split_once("..")?)));
    let Some((before, (first, last))) = range else { return message.to_owned() };
    match last.strip_prefix('=') {
        Some(last) => format!("{before} is not from {first} to {last}"),
        None if last.is_empty() => format!("{before} is below {first}"),
        None => message.to_owned(),
    }
}

/// The system's words without the error numbers that the standard library adds.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let rest = part.trim_start_matches(|character: char| character.is_ascii_digit());
        all + rest.strip_prefix(')').unwrap_or(rest)
    })
}

/// Options that do not go together, or values that this machine does not have.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The remedy of the first error in the chain that knows one.
fn hint(error: &anyhow::Error) -> Option<&'static str> {
    fn of<E: Hint + 'static>(cause: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
        cause.downcast_ref::<E>()?.hint()
    }
    let ways = [
        of::<InteractError>,
        of::<StudyError>,
        of::<RunError>,
        of::<DrillError>,
        of::<LabError>,
        of::<WhyError>,
        of::<TablesError>,
        of::<Refused>,
        of::<Error>,
        of::<CannotWrite>,
    ];
    error.chain().find_map(|cause| ways.iter().find_map(|hint| hint(cause)))
}

/// Set when data could not be written, except when the reader has gone away.
static UNWRITTEN: AtomicBool = AtomicBool::new(false);

/// Prints data. A reader that has gone away is not an error; anything else makes the program fail; see
/// [`is_unwritten`].
pub(crate) fn print(text: &str) {
    end_reading();
    let mut output = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = write!(output, "{text}{end}").and_then(|()| output.flush());
    if standard_output::was_closed() || written.is_err_and(|error| error.kind() != ErrorKind::BrokenPipe) {
        UNWRITTEN.store(true, Ordering::Relaxed);
    }
}

/// Data that is printed piece by piece because there may be much of it.
pub(crate) struct Stream {
    output: std::io::BufWriter<std::io::Stdout>,
    is_read: bool,
}

impl Stream {
    pub(crate) fn new() -> Stream {
        end_reading();
        Stream { output: std::io::BufWriter::with_capacity(1 << 16, std::io::stdout()), is_read: true }
    }

    /// Prints data; false if nobody reads it any more.
    pub(crate) fn write(&mut self, text: &str) -> bool {
        let written = if self.is_read { self.output.write_all(text.as_bytes()) } else { Ok(()) };
        self.note(&written)
    }

    /// Prints text for people, as [`print_more`] does.
    pub(crate) fn write_text(&mut self, text: &str) -> bool {
        keep(text);
        self.write(&look::labelled(&on_screen(text), look::on_output()))
    }

    /// Prints what is still buffered.
    pub(crate) fn finish(&mut self) {
        let written = if self.is_read { self.output.flush() } else { Ok(()) };
        self.note(&written);
    }

    fn note(&mut self, written: &std::io::Result<()>) -> bool {
        if standard_output::was_closed() {
            self.is_read = false;
            UNWRITTEN.store(true, Ordering::Relaxed);
        }
        if let Err(error) = written {
            self.is_read = false;
            if error.kind() != ErrorKind::BrokenPipe {
                UNWRITTEN.store(true, Ordering::Relaxed);
            }
        }
        self.is_read
    }
}

/// What was printed for people, as Markdown, where a file is to have it.
static MARKDOWN: Mutex<Option<String>> = Mutex::new(None);

fn markdown() -> MutexGuard<'static, Option<String>> {
    MARKDOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on keeps what is printed for people as Markdown, too.
pub(crate) fn keep_markdown() {
    punctual_report::lay_out_twice();
    *markdown() = Some(String::new());
}

/// What was kept until now; empty if nothing was to be.
pub(crate) fn kept_markdown() -> String {
    markdown().take().unwrap_or_default()
}

/// Keeps text for people, if it is to be kept.
fn keep(text: &str) {
    if let Some(kept) = markdown().as_mut() {
        *kept += &paragraphs(&harmless(&for_markdown(text)));
    }
}

/// Text for people as their terminal shows it.
fn on_screen(text: &str) -> String {
    fitted(&look::as_read(harmless(&for_screen(text))))
}

/// Prints text for people. It begins with its verdict, fits their terminal, and names from recordings and kernels
/// cannot control the terminal.
pub(crate) fn print_text(text: &str) {
    keep(text);
    print(&look::with_verdict(&on_screen(text)));
}

/// Prints text that continues an earlier one.
pub(crate) fn print_more(text: &str) {
    keep(text);
    print(&look::labelled(&on_screen(text), look::on_output()));
}

/// Prints what follows a report: how late events follow one another, if that was asked for, and what to run next.
pub(crate) fn print_rest(interarrival: &[InterarrivalRow], next: &[NextStep]) {
    let mut more = String::new();
    if !interarrival.is_empty() {
        more = format!("\n{}", punctual_report::forecast::interarrival::text(interarrival));
    }
    let next = punctual_report::next_text(next);
    let apart = if more.is_empty() || next.is_empty() { "" } else { "\n" };
    more += &format!("{apart}{next}");
    if !more.is_empty() {
        print_more(&more);
    }
}

/// Prints lines for other programs as they are, except for anything that may control a terminal.
pub(crate) fn print_lines(text: &str) {
    print(&harmless(text));
}

/// Prints the text of a file that a person wrote: the same, but with its tabs.
pub(crate) fn print_file(text: &str) {
    let lines = text.split('\t').map(harmless);
    print(&lines.collect::<Vec<_>>().join("\t"));
}

fn harmless(text: &str) -> String {
    let is_control = |character: char| punctual_recording::is_control(character) && character != '\n';
    text.replace(is_control, "\u{fffd}")
}

/// Whether data could not be written.
pub(crate) fn is_unwritten() -> bool {
    UNWRITTEN.load(Ordering::Relaxed)
}

/// A line on standard error; if it cannot be written, nothing is lost. It may quote what commands said.
pub(crate) fn say(line: &str) {
    end_reading();
    let _ = writeln!(std::io::stderr(), "{}", look::labelled(&look::as_typed(harmless(line)), look::on_errors()));
}

/// A note on standard error.
pub(crate) fn note(text: &str) {
    say(&note_line(text));
}

/// The text of such a note: one line, whatever names it contains.
pub(crate) fn note_line(text: &str) -> String {
    format!("note: {}", punctual_recording::printable(text))
}

/// Prints an answer for programs. A code other than 0 comes from a failure that the answer does not mention.
pub(crate) fn answer(answer: impl Answer, code: u8) {
    answer_beside(None, answer, code);
}

/// The same, with what else could not be written.
pub(crate) fn answer_beside(failure: Option<&str>, mut answer: impl Answer, code: u8) {
    set_exit_code(&mut answer, code);
    stream_pretty(&Told { answer: &answer, error: failure });
}

/// The same as text.
pub(crate) fn answer_text(mut answer: impl Answer, code: u8, error: Option<&str>) -> String {
    set_exit_code(&mut answer, code);
    pretty(&Told { answer: &answer, error })
}

fn set_exit_code(answer: &mut impl Answer, code: u8) {
    let said = answer.exit_code();
    if code > 0 {
        *said = code;
    } else if *said == 0 && crate::signals::was_hung_up() {
        *said = 1;
    }
}

/// Prints what [`pretty`] would, piece by piece: as one text, the answer for a long recording takes more memory than
/// everything it was made from.
fn stream_pretty(value: &impl Serialize) {
    let mut stream = Stream::new();
    // The stream itself notes what it cannot write.
    if serde_json::to_writer_pretty(Escaping(|text: &str| stream.write(text)), value).is_err_and(|error| !error.is_io())
    {
        UNWRITTEN.store(true, Ordering::Relaxed);
    }
    stream.write("\n");
    stream.finish();
}

/// Writes JSON escaped as [`escaped`] does, through the text output, for as long as somebody reads it.
struct Escaping<Take>(Take);

impl<Take: FnMut(&str) -> bool> Write for Escaping<Take> {
    fn write(&mut self, json: &[u8]) -> std::io::Result<usize> {
        // The serializer cuts its strings only at ASCII characters.
        let text = std::str::from_utf8(json).map_err(|error| std::io::Error::new(ErrorKind::InvalidData, error))?;
        if (self.0)(&escaped(text)) { Ok(json.len()) } else { Err(ErrorKind::BrokenPipe.into()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(crate) fn pretty(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"));
    escaped(&text).into_owned()
}

/// As one line.
pub(crate) fn compact(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"));
    escaped(&text).into_owned()
}

/// JSON in which anything that may control a terminal is written as a number: the value stays the same.
fn escaped(json: &str) -> Cow<'_, str> {
    let is_raw = |character: char| punctual_recording::is_control(character) && character != '\n';
    if !json.contains(is_raw) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if is_raw(character) {
            text.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            text.push(character);
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_cannot_be_read_is_called_that() {
        let said = "error: invalid value 'x' for '--buffers <NUMBER>': invalid digit found in string\n\nFor more";
        assert_eq!(one_line(said), "invalid value 'x' for '--buffers <NUMBER>': that is not a whole number");
        assert_eq!(one_line("error: 9 is not in 1..=3"), "9 is not from 1 to 3");
        for (said, _) in NUMBERS {
            assert!(one_line(said).starts_with("that is "), "{said}");
        }
        let met = ["x", "", "99999999999999999999"].map(|text| text.parse::<u64>().unwrap_err().to_string());
        let floats = ["x", ""].map(|text| text.parse::<f64>().unwrap_err().to_string());
        assert!(
            met.iter().chain(&floats).all(|said| NUMBERS.iter().any(|(known, _)| known == said)),
            "{met:?} {floats:?}"
        );
    }

    #[test]
    fn numbers_of_the_system_are_nobodys_words() {
        let text = "x: No such file or directory (os error 2); those are y";
        assert_eq!(without_numbers(text), "x: No such file or directory; those are y");
        assert_eq!(without_numbers("as it is"), "as it is");
        assert_eq!(without_numbers("cut (os error 2"), "cut");
    }

    #[test]
    fn an_error_has_the_hint_of_its_cause_and_no_words_make_one() {
        let mut refused = Refused::because("loading the BPF programs of `x`", "permission denied");
        assert_eq!(hint(&anyhow::Error::new(StudyError::Setting(refused.to_string()))), None);
        refused.lacks_privilege = true;
        let error = anyhow::Error::new(StudyError::Run(RunError::Refused(refused))).context("beginning");
        assert!(hint(&error).is_some_and(|hint| hint.contains("sudo")));
        let full = std::io::Error::from(ErrorKind::StorageFull);
        let error = anyhow::Error::new(CannotWrite::new("cannot write x", &full));
        assert!(hint(&error).is_some_and(|hint| hint.contains("-o")));
        assert_eq!(hint(&anyhow::anyhow!("no space left")), None);
    }

    #[test]
    fn json_and_text_steer_no_terminal() {
        let name = "a\u{202e}b\u{9b}\n\u{2069}";
        let value = serde_json::json!({ name: [name] });
        let text = pretty(&value);
        assert!(text.contains("a\\u202eb\\u009b\\n\\u2069"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert_eq!(harmless(name), "a\u{fffd}b\u{fffd}\n\u{fffd}");
        let mut streamed = String::new();
        let take = |text: &str| {
            streamed.push_str(text);
            true
        };
        serde_json::to_writer_pretty(Escaping(take), &value).unwrap();
        assert_eq!(streamed, text);
    }
}
