//! Inputs to a program and what happened to each: the tables `interactions/` and `interaction_parts/`, and a summary
//! `interactions.json` beside `recording.json`.

use crate::error::{Error, ErrorKind, Result};
use crate::format::bounds::{MAX_COUNT, MAX_INPUT_NS, MAX_TIME_NS};
use crate::format::directory::Directory;
use crate::format::json_file::read_document;
use crate::format::segments::{self, SegmentWriter};
use crate::format::summarized::SummarizedWriter;
use crate::format::table::{self, Schema, optional, required, signed, text};
use crate::interactions::code::{CodeWriter, InputCode};
use crate::interactions::counters::{COUNTERS, InputCounters};
use crate::interactions::events::{EventWriter, InputEvent};
use crate::interactions::interaction::{INTERACTIONS_SCHEMA, Interaction, InteractionDocument, InteractionPart};
use crate::interactions::outcome::Outcome;
use crate::interactions::stretches::StretchWriter;
use punctual_codes::Awaited;
use std::path::Path;

/// The most inputs of a recording.
pub const MAX_INTERACTIONS: u32 = 100_000;
/// The most parts that one input's time is split into; those beyond the largest ones become one.
pub const MAX_PARTS: usize = 64;

/// An unknown outcome is shown up to this length, characters.
const MAX_SHOWN: usize = 40;

static INTERACTIONS: Schema = Schema {
    name: "interactions",
    columns: &[
        required("number").about("Counted from 0"),
        required("begin_ns").about("Just before it was put in, ns of CLOCK_MONOTONIC"),
        required("injected_ns").about("When it had been put in"),
        required("end_ns").about("Until when its effects were looked for"),
        required("bytes").about("Bytes that were put in"),
        required("output_bytes").about("Bytes that came out before the next one"),
        required("repeat").about("Which of its kind and label it is, from 1"),
        optional("got_ns").about("When the program had taken it"),
        optional("busy_ns").about("When the program's threads had left their CPUs"),
        optional("blocked_ns").about("When the thread that took it waited for input again"),
        optional("seen_ns").about("When the last output that it caused had been written"),
        optional("arrived_ns").about("When that arrived at the typist"),
        optional("cpu_ns").about("CPU time of all threads of the program from its beginning to the next one's, ns"),
        optional("run_delay_ns").about("How long the program's threads were kept from a CPU, ns"),
        optional("think_1996_ns").about("How much of the time the state machine of 1996 calls thinking, ns"),
        optional("merged_into").about("The later one that it was taken together with"),
        text("kind").about("Of an input: key, enter, page, start; of a part: why the time passed"),
        text("label").about("What was typed"),
        text("task").about("The task that it belongs to"),
        text("outcome").about("What became of it"),
        optional("caused_cpu_ns").about("CPU time of threads that were working on it, ns"),
        optional("minor_faults").about("Page faults of the program without a disk, up to the next input"),
        optional("major_faults").about("Page faults of the program that had to wait for a disk, up to the next input"),
        optional("waits").about("How often threads of the program went to sleep, up to the next input"),
        optional("preemptions").about("How often they left their CPU although they could have continued"),
        optional("migrations").about("How often they changed CPU, up to the next input"),
        optional("reads").about("System calls of the read family, up to the next input"),
        optional("writes").about("System calls of the write family, up to the next input"),
        optional("read_bytes").about("Bytes that those read from files, pipes and terminals"),
        optional("written_bytes").about("Bytes that those wrote"),
        optional("disk_read_bytes").about("Bytes that the program requested from disks, up to the next input"),
        optional("disk_written_bytes").about("Bytes that it left for disks to write, up to the next input"),
        optional("cycles_user").about("Cycles of the processor in the program's own code, up to the next input"),
        optional("cycles_kernel").about("Cycles in the kernel for the program, up to the next input"),
        optional("instructions_user").about("Instructions of the program's own code, up to the next input"),
        optional("instructions_kernel").about("Instructions of the kernel for the program, up to the next input"),
        optional("cache_misses_user").about("Cache misses in the program's own code, up to the next input"),
        optional("cache_misses_kernel").about("Cache misses in the kernel for the program, up to the next input"),
        optional("counted_thousandths").about("For how much of the time the processor counted; the rest is scaled"),
        optional("perhaps_ns").about("When the last output came of which it is not known whether the input caused it"),
    ],
};

static PARTS: Schema = Schema {
    name: "interaction_parts",
    columns: &[
        required("number").about("Counted from 0"),
        required("ns").about("How much time, ns"),
        required("unknown_ns").about("How much of it nothing explains, ns"),
        text("kind").about("Of an input: key, enter, page, start; of a part: why the time passed"),
        text("name").about("Who had it"),
        text("detail").about("What more is known"),
        optional("not_seen").about("Who was waited for, if that one was not seen"),
    ],
};

/// Writes both tables and the summary into the directory of a recording.
pub struct InteractionWriter {
    rows: SummarizedWriter,
    parts: SegmentWriter,
    events: EventWriter,
    waits: StretchWriter,
    code: CodeWriter,
}

impl InteractionWriter {
    /// Begins to write into a directory that [`crate::Writer::create`] has made.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] where the file system refuses.
    pub fn create(recording: &Directory) -> Result<InteractionWriter> {
        let rows = SummarizedWriter::create(recording, &INTERACTIONS)?;
        let parts = SegmentWriter::create(recording, PARTS.name, &PARTS)?;
        let (events, waits) = (EventWriter::new(recording), StretchWriter::new(recording));
        Ok(InteractionWriter { rows, parts, events, waits, code: CodeWriter::new(recording) })
    }

    /// Takes an input.
    pub fn push(&mut self, row: &Interaction) {
        let rows = self.rows.rows();
        let texts = [&row.kind, &row.label, &row.task].map(|words| Some(rows.text(words)));
        let outcome = Some(rows.text(row.outcome.map_or("", Outcome::name)));
        let maybe = |value: Option<u64>| value.and_then(signed);
        let [kind, label, task] = texts;
        let own = [
            Some(i64::from(row.number)),
            signed(row.begin_ns),
            signed(row.injected_ns),
            signed(row.end_ns),
            signed(row.bytes),
            signed(row.output_bytes),
            Some(i64::from(row.repeat)),
            maybe(row.got_ns),
            maybe(row.busy_ns),
            maybe(row.blocked_ns),
            maybe(row.seen_ns),
            maybe(row.arrived_ns),
            maybe(row.cpu_ns),
            maybe(row.run_delay_ns),
            maybe(row.think_1996_ns),
            row.merged_into.map(i64::from),
            kind,
            label,
            task,
            outcome,
            maybe(row.caused_cpu_ns),
        ];
        let counters = row.counters.unwrap_or_default().values().map(maybe);
        let values: Vec<Option<i64>> = own.into_iter().chain(counters).chain([maybe(row.perhaps_ns)]).collect();
        rows.push_row(&values);
    }

    /// Takes a part of an input's time.
    pub fn push_part(&mut self, part: &InteractionPart) {
        let rows = self.parts.rows();
        let not_seen = part.not_seen.map(|awaited| i64::from(awaited.code()));
        let [kind, name, detail] = [&part.kind, &part.name, &part.detail].map(|words| Some(rows.text(words)));
        rows.push([
            Some(i64::from(part.number)),
            signed(part.ns),
            signed(part.unknown_ns),
            kind,
            name,
            detail,
            not_seen,
        ]);
    }

    /// Takes the stretches after an input, which began then, in which the state machine of 1996 has somebody wait.
    pub fn push_waits(&mut self, number: u32, begin_ns: u64, stretches: &[(u64, u64)]) {
        self.waits.push(number, begin_ns, stretches);
    }

    /// Takes an event that a toolkit passed on; false if there is no room for it.
    pub fn push_event(&mut self, event: &InputEvent) -> bool {
        self.events.push(event)
    }

    /// Takes all call trees of an input; false if there is no room for them.
    pub fn push_code(&mut self, rows: &[InputCode]) -> bool {
        self.code.push(rows)
    }

    /// Closes the open segments and rewrites the summary, by rename.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; what was written before stays readable.
    pub fn flush(&mut self, document: &InteractionDocument) -> Result<()> {
        self.rows.close_segment()?;
        self.parts.close_segment()?;
        self.parts.join()?;
        self.events.flush()?;
        self.waits.flush()?;
        self.code.flush()?;
        self.rows.summarize(document)
    }

    /// Writes what is left and joins the segments.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; what was written before stays readable.
    pub fn finish(mut self, document: &InteractionDocument) -> Result<()> {
        self.parts.close_segment()?;
        self.parts.join_all()?;
        self.events.finish()?;
        self.waits.finish()?;
        self.code.finish()?;
        self.rows.finish(document)
    }
}

/// The summary of a recording's inputs; `None` for a recording of something else.
///
/// # Errors
/// [`ErrorKind::Invalid`], [`ErrorKind::NewerSchema`] or [`ErrorKind::Io`].
pub fn read_interaction_document(recording: &Path) -> Result<Option<InteractionDocument>> {
    let path = recording.join("interactions.json");
    let is_not = "is not a summary of inputs to a program";
    read_document(&path, is_not, INTERACTIONS_SCHEMA, |document: &InteractionDocument| &document.schema)
}

/// The summary of a recording of inputs.
///
/// # Errors
/// As for [`read_interaction_document`], and [`ErrorKind::Invalid`] where there is none: it is written last.
pub fn required_interaction_document(recording: &Path) -> Result<InteractionDocument> {
    let what = "broke off before the summary of its inputs (interactions.json) was written, as on a full disk or when killed in its first second: nothing can be said about them";
    read_interaction_document(recording)?.ok_or_else(|| Error::new(ErrorKind::Invalid, recording, what.to_owned()))
}

/// All inputs of a recording in order; at most [`MAX_INTERACTIONS`].
///
/// # Errors
/// [`ErrorKind::Invalid`] or [`ErrorKind::Io`] for the first segment that cannot be read.
pub fn read_interactions(recording: &Path) -> Result<Vec<Interaction>> {
    let mut read = Vec::new();
    for segment in segments::list(&recording.join(INTERACTIONS.name))? {
        let invalid = |what: String| Error::new(ErrorKind::Invalid, &segment.path, what);
        table::read_table(&segment.path, &INTERACTIONS, |rows| {
            const TIME: u64 = MAX_TIME_NS;
            let max = [u64::from(MAX_INTERACTIONS), TIME, TIME, TIME, MAX_COUNT, MAX_COUNT, MAX_COUNT, TIME];
            rows.check(&segment.path, &max)?;
            if read.len() + rows.len() > MAX_INTERACTIONS as usize {
                return Err(invalid(format!("holds more than {MAX_INTERACTIONS} inputs")));
            }
            for row in 0..rows.len() {
                let maybe = |column| rows.get_optional(column, row).and_then(|value| u64::try_from(value).ok());
                let words = |column| rows.get_text(column, row).to_owned();
                let outcome = Outcome::from_name(rows.get_text(19, row));
                let interaction = Interaction {
                    number: rows.narrow(0, row),
                    begin_ns: rows.unsigned(1, row),
                    injected_ns: rows.unsigned(2, row),
                    end_ns: rows.unsigned(3, row),
                    bytes: rows.unsigned(4, row),
                    output_bytes: rows.unsigned(5, row),
                    repeat: rows.narrow(6, row),
                    got_ns: maybe(7),
                    busy_ns: maybe(8),
                    blocked_ns: maybe(9),
                    seen_ns: maybe(10),
                    arrived_ns: maybe(11),
                    cpu_ns: maybe(12),
                    run_delay_ns: maybe(13),
                    think_1996_ns: maybe(14),
                    caused_cpu_ns: maybe(20),
                    counters: counters(|at| maybe(FIRST_COUNTER + at)),
                    perhaps_ns: maybe(FIRST_COUNTER + COUNTERS),
                    merged_into: maybe(15).and_then(|number| u32::try_from(number).ok()),
                    kind: words(16),
                    label: words(17),
                    task: words(18),
                    outcome,
                };
                if let Some(what) = impossible(&interaction) {
                    return Err(invalid(what));
                }
                if outcome.is_none() {
                    let unknown: String = rows.get_text(19, row).chars().take(MAX_SHOWN).collect();
                    return Err(invalid(format!("knows no outcome `{unknown}`")));
                }
                read.push(interaction);
            }
            Ok(())
        })?;
    }
    Ok(read)
}

/// The column of the first counter.
const FIRST_COUNTER: usize = 21;

/// The counters, if any of them is there: older recordings have no such columns.
fn counters(of: impl Fn(usize) -> Option<u64>) -> Option<InputCounters> {
    let values: [Option<u64>; COUNTERS] = std::array::from_fn(of);
    values.iter().any(Option::is_some).then(|| InputCounters::of(values))
}

/// Whatever came so long after an input, or was counted so often for it, that it could not be added up for all inputs.
fn impossible(input: &Interaction) -> Option<String> {
    let moments = [input.got_ns, input.busy_ns, input.blocked_ns, input.seen_ns, input.arrived_ns, input.perhaps_ns];
    let moments = moments.into_iter().flatten().chain([input.injected_ns, input.end_ns]);
    let times = [input.cpu_ns, input.caused_cpu_ns, input.run_delay_ns, input.think_1996_ns].into_iter().flatten();
    if moments.map(|at| at.saturating_sub(input.begin_ns)).chain(times).any(|ns| ns > MAX_INPUT_NS) {
        return Some(format!("holds an input that took longer than {MAX_INPUT_NS} ns, which no measurement writes"));
    }
    let counts = input.counters.unwrap_or_default().values();
    let is_too_many = counts.into_iter().flatten().any(|count| count > MAX_COUNT);
    is_too_many.then(|| format!("holds an input with a count beyond {MAX_COUNT}, which no measurement writes"))
}

/// Passes on every part of every input, those of one input together.
///
/// # Errors
/// [`ErrorKind::Invalid`] or [`ErrorKind::Io`] for the first segment that cannot be read.
pub fn for_each_interaction_part(recording: &Path, mut take: impl FnMut(InteractionPart)) -> Result<()> {
    let max = MAX_INTERACTIONS as usize * MAX_PARTS;
    let (mut count, mut sum_ns) = (0, [0_u64; 2]);
    // The input whose part was read last, and how many of its parts came in a row.
    let (mut last, mut in_a_row) = (0, 0);
    for segment in segments::list(&recording.join(PARTS.name))? {
        table::read_table(&segment.path, &PARTS, |rows| {
            rows.check(&segment.path, &[u64::from(MAX_INTERACTIONS), MAX_TIME_NS])?;
            count += rows.len();
            if count > max {
                return Err(Error::new(ErrorKind::Invalid, &segment.path, format!("holds more than {max} parts")));
            }
            for row in 0..rows.len() {
                let number = rows.narrow(0, row);
                in_a_row = if number == last { in_a_row + 1 } else { 1 };
                last = number;
                if in_a_row > MAX_PARTS {
                    let what =
                        format!("holds more than {MAX_PARTS} parts of input {number}, which no measurement writes");
                    return Err(Error::new(ErrorKind::Invalid, &segment.path, what));
                }
                let words = |column| rows.get_text(column, row).to_owned();
                for (sum, column) in sum_ns.iter_mut().zip([1, 2]) {
                    *sum = sum.saturating_add(rows.unsigned(column, row));
                }
                if sum_ns.iter().any(|sum| *sum > MAX_TIME_NS) {
                    let what = format!("holds parts of more than {MAX_TIME_NS} ns in all, which no measurement writes");
                    return Err(Error::new(ErrorKind::Invalid, &segment.path, what));
                }
                take(InteractionPart {
                    number,
                    ns: rows.unsigned(1, row),
                    unknown_ns: rows.unsigned(2, row),
                    kind: words(3),
                    name: words(4),
                    detail: words(5),
                    not_seen: rows.get_optional(6, row).and_then(Awaited::from_code),
                });
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u32) -> Interaction {
        Interaction {
            number,
            kind: "key".to_owned(),
            label: "a".to_owned(),
            task: if number.is_multiple_of(2) { "edit".to_owned() } else { String::new() },
            repeat: number + 1,
            begin_ns: 1_000_000 * u64::from(number),
            injected_ns: 1_000_000 * u64::from(number) + 9_000,
            end_ns: 1_000_000 * u64::from(number + 1),
            seen_ns: (!number.is_multiple_of(3)).then_some(1_000_000 * u64::from(number) + 77_000),
            merged_into: number.is_multiple_of(3).then_some(number + 1),
            bytes: 1,
            perhaps_ns: number.is_multiple_of(5).then_some(1_000_000 * u64::from(number) + 99_000),
            outcome: Some(Outcome::ALL[number as usize % Outcome::ALL.len()]),
            counters: counters(|at| {
                number.is_multiple_of(4).then_some(at as u64 * 7).filter(|_| at as u32 != number % 9)
            }),
            ..Interaction::default()
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read_interaction_document(directory.path()).unwrap(), None);
        let mut writer = InteractionWriter::create(&Directory::make(directory.path()).unwrap()).unwrap();
        let document = InteractionDocument {
            schema: INTERACTIONS_SCHEMA.to_owned(),
            program: vec!["vim".to_owned()],
            ..InteractionDocument::default()
        };
        let (mut rows, mut parts) = (Vec::new(), Vec::new());
        for number in 0..500 {
            rows.push(row(number));
            writer.push(&rows[number as usize]);
            for (name, not_seen) in [("one", None), ("ender not seen", None), ("ender not seen", Some(Awaited::Ender))]
            {
                let part = InteractionPart {
                    number,
                    kind: "own".to_owned(),
                    name: name.to_owned(),
                    not_seen,
                    ns: 5,
                    ..InteractionPart::default()
                };
                writer.push_part(&part);
                parts.push(part);
            }
            if number % 90 == 0 {
                writer.flush(&document).unwrap();
            }
        }
        writer.finish(&document).unwrap();
        assert_eq!(read_interaction_document(directory.path()).unwrap(), Some(document));
        assert_eq!(read_interactions(directory.path()).unwrap(), rows);
        let mut read = Vec::new();
        for_each_interaction_part(directory.path(), |part| read.push(part)).unwrap();
        assert_eq!(read, parts);
        assert_eq!(rows[1].latency_ns(), Some(77_000));

        std::fs::write(directory.path().join("interactions.json"), "{}").unwrap();
        assert_eq!(read_interaction_document(directory.path()).unwrap_err().kind(), ErrorKind::Invalid);
    }

    #[test]
    fn counts_that_no_measurement_writes_are_refused() {
        for (count, is_read) in [(MAX_COUNT, true), (MAX_COUNT + 1, false)] {
            let directory = tempfile::tempdir().unwrap();
            let mut writer = InteractionWriter::create(&Directory::make(directory.path()).unwrap()).unwrap();
            let document = InteractionDocument { schema: INTERACTIONS_SCHEMA.to_owned(), ..Default::default() };
            let counters = InputCounters { reads: Some(count), ..InputCounters::default() };
            writer.push(&Interaction { counters: Some(counters), ..row(7) });
            writer.finish(&document).unwrap();
            assert_eq!(read_interactions(directory.path()).is_ok(), is_read, "{count}");
        }
    }

    #[test]
    fn as_many_parts_of_an_input_as_are_written_are_read_and_not_one_more() {
        for (count, is_read) in [(MAX_PARTS, true), (MAX_PARTS + 1, false)] {
            let directory = tempfile::tempdir().unwrap();
            let mut writer = InteractionWriter::create(&Directory::make(directory.path()).unwrap()).unwrap();
            let document = InteractionDocument { schema: INTERACTIONS_SCHEMA.to_owned(), ..Default::default() };
            writer.push(&row(7));
            for _ in 0..count {
                let part = InteractionPart { number: 7, kind: "own".to_owned(), ns: 5, ..InteractionPart::default() };
                writer.push_part(&part);
            }
            writer.finish(&document).unwrap();
            let mut read = 0;
            let outcome = for_each_interaction_part(directory.path(), |_| read += 1);
            assert_eq!((outcome.is_ok(), read), (is_read, MAX_PARTS), "{outcome:?}");
        }
    }
}
