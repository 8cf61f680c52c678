//! `events/`: the episodes of a recording, one JSON line each, and their counts.

use crate::episodes::episode::Episode;
use crate::episodes::place::{EPISODES, directory};
use crate::episodes::read::{Lines, Met, parse};
use crate::episodes::summary::RecorderSummary;
use crate::error::{Error, ErrorKind, Result};
use crate::format::directory::{Directory, temporary_for};
use crate::format::json_file::{read_json, write_json};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Seek, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The time that an interrupt handler, a softirq or a callback took over a whole run, late wakeups or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandlerSum {
    /// `irq` for classes of interrupts, `handler` for devices' handlers, `softirq`, `tasklet`, `callback` for kernel
    /// timers, `timer_irq` and `timer_softirq` for high-resolution ones, `softirq_queue` for softirq work that was
    /// queued at the same time.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// How long it ran in all, ns, including what interrupted it.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// When the longest ended, ns of `CLOCK_MONOTONIC`.
    pub longest_at_ns: u64,
}

/// The sums of a recording; `None` if it was made without the recorder, or was cut short.
///
/// # Errors
/// [`ErrorKind::Invalid`] or [`ErrorKind::Io`].
pub fn read_handler_sums(recording: &Path) -> Result<Option<Vec<HandlerSum>>> {
    read_json(&directory(recording).join("handlers.json"), "are not sums of handlers")
}

/// Writes the counts so far into a recording, and makes `events/` if it is not there.
///
/// # Errors
/// [`ErrorKind::Io`].
pub fn write_recorder_summary(recording: &Directory, summary: &RecorderSummary) -> Result<()> {
    write_json(&recording.below("events")?, "recorder.json", summary)
}

/// Writes the sums into a recording that has `events/`.
///
/// # Errors
/// [`ErrorKind::Io`].
pub fn write_handler_sums(recording: &Directory, sums: &[HandlerSum]) -> Result<()> {
    write_json(&recording.below("events")?, "handlers.json", &sums)
}

/// Appends episodes to a recording.
pub struct EpisodeWriter {
    file: File,
    path: PathBuf,
    bytes: u64,
}

impl EpisodeWriter {
    /// Makes `events/` in a recording.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn create(recording: &Directory) -> Result<EpisodeWriter> {
        let directory = recording.below("events")?;
        let path = directory.path().join(EPISODES);
        let file = directory.create_new(EPISODES).map_err(|error| Error::io(&path, "cannot create", error))?;
        Ok(EpisodeWriter { file, path, bytes: 0 })
    }

    /// Writes an episode in one go, so that a kill leaves at most one broken line at the end.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn push(&mut self, episode: &Episode) -> Result<()> {
        let line = line_of(episode, &self.path)?;
        if let Err(error) = self.file.write_all(&line) {
            // Half a line is useless, and takes up the room that the recording needs to say why it ended.
            let _ = self.file.set_len(self.bytes);
            let _ = self.file.seek(std::io::SeekFrom::Start(self.bytes));
            return Err(Error::io(&self.path, "cannot write", error));
        }
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// An episode as a line of the file at this path.
fn line_of(episode: &Episode, path: &Path) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(episode)
        .map_err(|error| Error::new(ErrorKind::Invalid, path, format!("cannot be put into JSON: {error}")))?;
    line.push(b'\n');
    Ok(line)
}

/// The counts of the flight recorder; `None` if the recording was made without it.
///
/// # Errors
/// [`ErrorKind::Invalid`] or [`ErrorKind::Io`].
pub fn read_recorder_summary(recording: &Path) -> Result<Option<RecorderSummary>> {
    read_json(&directory(recording).join("recorder.json"), "is not a recorder's summary")
}

/// Changes the episodes of a recording, up to the one at which `change` breaks off: those behind it are copied as they are, without
/// being parsed. The file is replaced by rename when all are written.
///
/// # Errors
/// As [`crate::for_each_episode`]; the file stays as it was then.
pub fn rewrite_episodes(recording: &Directory, change: impl FnMut(&mut Episode) -> ControlFlow<()>) -> Result<()> {
    let directory = recording.below("events")?;
    let path = directory.path().join(EPISODES);
    let temporary = temporary_for(EPISODES);
    let io = |error| Error::io(&path, "cannot write", error);
    let old = directory.open(EPISODES).map_err(|error| Error::io(&path, "cannot read", error))?;
    let mut file = std::io::BufWriter::new(directory.create(&temporary).map_err(io)?);
    let written = rewrite_lines(Lines::of(old, path.clone()), &mut file, change);
    let done = written.and_then(|()| file.flush().map_err(io));
    let done = done.and_then(|()| directory.rename(&temporary, EPISODES).map_err(io));
    if done.is_err() {
        directory.remove(&temporary);
    }
    done
}

fn rewrite_lines(
    mut lines: Lines,
    to: &mut impl Write,
    mut change: impl FnMut(&mut Episode) -> ControlFlow<()>,
) -> Result<()> {
    let (mut line, mut goes_on) = (Vec::new(), true);
    loop {
        line.clear();
        if lines.read(&mut line)? != Met::Line {
            return Ok(());
        }
        if goes_on {
            let mut episode = parse(&lines.path, lines.number, &line)?;
            goes_on = change(&mut episode).is_continue();
            line = line_of(&episode, &lines.path)?;
        }
        to.write_all(&line).map_err(|error| Error::io(&lines.path, "cannot write", error))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episodes::episode::{Event, EventKind, Frame, HookedProgram, StackSample, Victim};
    use crate::episodes::line::read_plain;
    use crate::episodes::read::for_each_episode;
    use crate::format::bounds::MAX_JSON_DEPTH;
    use crate::format::json_file::check_json;

    fn episode() -> Episode {
        let event = |at_ns, kind| Event {
            at_ns,
            cpu: 1,
            kind,
            tid: 7,
            priority: -1,
            context: 0x10000,
            steal_ns: 5,
            value: u64::MAX,
            extra: 3 << 32,
            name: 0,
        };
        let victim = Victim { tid: 9, name: "measure-1".into(), priority: 19, cpu: 1 };
        Episode {
            stage: crate::Stage::Response,
            is_asked_for: true,
            waits_for_answers: true,
            may_sleep_within: true,
            has_period: true,
            asker_unknown: true,
            accepted: vec![4],
            connected: vec![5, 6],
            connections_unknown: true,
            sockets: vec![(4, "/run/api.sock".into())],
            threshold_ns: 3_000,
            usual_delivery_ns: 10,
            fault_path_ns: 3,
            sample_period_ns: 1_000_000,
            nesting_known: false,
            missed_runs: 2,
            names: vec!["x".into()],
            frames: vec![Frame { function: "f".into(), module: "kernel".into() }],
            events: vec![event(900, EventKind::Switch), event(1_200, EventKind::TaskletEnd)],
            samples: vec![StackSample {
                at_ns: 950,
                cpu: 1,
                tid: 7,
                context: 0,
                at_late_interrupt: true,
                name: 0,
                frames: vec![0],
            }],
            programs: vec![HookedProgram { name: "p".into(), hook: "h".into(), ran_ns: None }],
            ..Episode::of(victim, 1_000, 5_000)
        }
    }

    #[test]
    fn sums_of_handlers_are_read_as_they_were_written() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read_handler_sums(directory.path()).unwrap(), None);
        let sum = HandlerSum {
            kind: "softirq".to_owned(),
            name: "net_rx".to_owned(),
            count: 3,
            total_ns: 70,
            longest_ns: 40,
            longest_at_ns: 9,
        };
        write_handler_sums(&Directory::make(directory.path()).unwrap(), std::slice::from_ref(&sum)).unwrap();
        assert_eq!(read_handler_sums(directory.path()).unwrap(), Some(vec![sum]));
    }

    #[test]
    fn episodes_read_back_and_damage_is_one_clear_line() {
        let directory = tempfile::tempdir().unwrap();
        let recording = directory.path();
        assert_eq!(for_each_episode(recording, |_| ()).unwrap_err().kind(), ErrorKind::NotFound);
        let mut writer = EpisodeWriter::create(&Directory::make(recording).unwrap()).unwrap();
        writer.push(&episode()).unwrap();
        let summary = RecorderSummary { late: 2, kept: 1, ..RecorderSummary::default() };
        write_recorder_summary(&Directory::make(recording).unwrap(), &summary).unwrap();
        assert_eq!(read_recorder_summary(recording).unwrap(), Some(summary));
        let mut read = Vec::new();
        assert!(!for_each_episode(recording, |episode| read.push(episode)).unwrap());
        assert_eq!(read, [episode()]);

        let set_id = |episode: &mut Episode| {
            episode.id = 2;
            ControlFlow::Continue(())
        };
        rewrite_episodes(&Directory::make(recording).unwrap(), set_id).unwrap();
        for_each_episode(recording, |episode| assert_eq!(episode.id, 2)).unwrap();

        let path = recording.join("events/episodes.jsonl");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], &whole[..20]].concat()).unwrap();
        let mut count = 0;
        assert!(for_each_episode(recording, |_| count += 1).unwrap());
        assert_eq!(count, 1);

        std::fs::write(&path, [&whole[..], b"garbage\n"].concat()).unwrap();
        let error = for_each_episode(recording, |_| ()).unwrap_err();
        assert!(error.to_string().contains("line 2 is damaged"), "{error}");
    }

    #[test]
    fn what_is_behind_the_last_changed_episode_stays_byte_by_byte() {
        let directory = tempfile::tempdir().unwrap();
        let recording = Directory::make(directory.path()).unwrap();
        let mut writer = EpisodeWriter::create(&recording).unwrap();
        (1..=3).for_each(|id| writer.push(&Episode { id, ..episode() }).unwrap());
        let path = directory.path().join("events/episodes.jsonl");
        // A line that the parser refuses is not looked into any more.
        let mut before = std::fs::read(&path).unwrap();
        before.extend(b"garbage\n");
        std::fs::write(&path, &before).unwrap();
        let mut met = Vec::new();
        rewrite_episodes(&recording, |episode| {
            met.push(episode.id);
            episode.end_ns += 7;
            if episode.id == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!(met, [1, 2]);
        let after = std::fs::read(&path).unwrap();
        let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<Vec<u8>>>();
        let (before, after) = (lines(&before), lines(&after));
        let changed: Vec<bool> = before.iter().zip(&after).map(|(before, after)| before != after).collect();
        assert_eq!((changed, after.len()), (vec![true, true, false, false, false], before.len()));
    }

    #[test]
    fn a_line_is_read_alike_whoever_reads_its_events() {
        let parsed = |line: &[u8]| serde_json::from_slice::<Episode>(line).ok();
        let line = serde_json::to_vec(&episode()).unwrap();
        assert_eq!((read_plain(&line), parsed(&line)), (Some(episode()), Some(episode())));
        let spaced = serde_json::to_vec_pretty(&episode()).unwrap();
        assert_eq!((read_plain(&spaced), parsed(&spaced)), (None, Some(episode())));
        // Wherever another byte stands, what is read without the parser is what it would read.
        let mut met = 0;
        for at in 0..line.len() {
            for &byte in b"0-19.,[]{}\" e" {
                let mut changed = line.clone();
                changed[at] = byte;
                if let Some(read) = read_plain(&changed) {
                    assert_eq!(Some(read), parsed(&changed), "{}", String::from_utf8_lossy(&changed));
                    met += 1;
                }
            }
        }
        assert!(met > 500, "{met}");
    }

    #[test]
    fn what_nobody_writes_is_read_as_the_parser_reads_it() {
        let parsed = |line: &[u8]| {
            check_json(line).ok()?;
            serde_json::from_slice::<Episode>(line).ok()
        };
        let line = serde_json::to_string(&episode()).unwrap();
        let nested = |depth: usize| format!("{{\"of\":{}{},", "[".repeat(depth), "]".repeat(depth));
        let (deepest, too_deep, many_digits) = (nested(MAX_JSON_DEPTH - 1), nested(MAX_JSON_DEPTH), "9".repeat(400));
        for (from, to, is_read) in [
            // Two lists of events, or one under a name that is written otherwise or stands elsewhere.
            ("{", r#"{"events":[],"#, false),
            ("{", r#"{"\u0065vents":[],"#, false),
            (r#""events":"#, r#""\u0065vents":"#, true),
            ("{", r#"{"of":{"events":[[1]]},"#, true),
            ("{", r#"{"of":"\",\"events\":[[1]],","#, true),
            (r#""x""#, r#""\ud83d\ude00""#, true),
            (r#""x""#, r#""\ud800""#, false),
            (r#""x""#, r#""\ud83d\u0041""#, false),
            ("-100,", "-1e2,", false),
            ("-100,", "-100.0,", false),
            ("-100,", "-0100,", false),
            ("-100,", "-0,", false),
            ("-100,", "+100,", false),
            ("-100,", " -100 ,", true),
            ("-100,", "-9223372036854775808,", false),
            ("65536", "4294967296", false),
            ("18446744073709551615", "18446744073709551616", false),
            ("18446744073709551615", &*many_digits, false),
            ("{", &*deepest, true),
            ("{", &*too_deep, false),
        ] {
            let changed = line.replacen(from, to, 1);
            assert_ne!(changed, line, "{from}");
            let expected = parsed(changed.as_bytes());
            assert_eq!(expected.is_some(), is_read, "{changed}");
            assert!(read_plain(changed.as_bytes()).is_none_or(|read| Some(read) == expected), "{changed}");
        }
        for (after, is_read) in [("", true), (" \n", true), ("}", false), ("x", false), ("\0", false), (",", false)] {
            let longer = format!("{line}{after}");
            assert_eq!(read_plain(longer.as_bytes()).is_some(), is_read, "{after:?}");
            assert_eq!(parsed(longer.as_bytes()).is_some(), is_read, "{after:?}");
        }
        let cuts: Vec<&[u8]> = (0..line.len()).map(|end| &line.as_bytes()[..end]).collect();
        assert!(cuts.iter().all(|cut| read_plain(cut).is_none()));
    }

    #[test]
    fn a_count_that_is_told_twice_comes_from_one_place() {
        // Late, kept, over budget, not written; for this many episodes.
        let counted = |late, kept, over_budget, writing_behind, episodes| {
            let mut summary = RecorderSummary { late, kept, over_budget, writing_behind, ..RecorderSummary::default() };
            summary.agree_with(episodes, 0);
            let (without, yet) = (summary.without_evidence(), summary.unwritten_yet());
            assert_eq!(without, summary.over_budget + summary.writing_behind + yet);
            let mut over = summary.clone();
            over.nothing_is_written_any_more();
            assert_eq!((over.without_evidence(), over.unwritten_yet()), (without, 0));
            (summary.late, summary.kept, without, yet)
        };
        assert_eq!(counted(9, 2, 4, 3, 2), (9, 2, 7, 0));
        assert_eq!(counted(25, 5, 0, 0, 5), (25, 5, 20, 20), "killed while twenty waited");
        assert_eq!(counted(10, 4, 1, 0, 19), (20, 19, 1, 0), "nine were counted after the last count that was written");
        assert_eq!(counted(25, 5, 0, 0, 9), (25, 9, 16, 16));
        assert_eq!(counted(9, 9, 0, 0, 3), (9, 9, 0, 0), "six are gone");
        let mut hostile = RecorderSummary { kept: 1, over_budget: u64::MAX, ..RecorderSummary::default() };
        hostile.agree_with(2, 3);
        assert_eq!((hostile.late, hostile.unwritten_yet()), (u64::MAX, 0));
    }

    /// What reading says of a sound episode's line after this change.
    fn read_changed(change: impl FnOnce(&mut serde_json::Value)) -> Result<Vec<Episode>> {
        let directory = tempfile::tempdir().unwrap();
        EpisodeWriter::create(&Directory::make(directory.path()).unwrap()).unwrap().push(&episode()).unwrap();
        let path = directory.path().join("events/episodes.jsonl");
        let mut line = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        change(&mut line);
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let mut read = Vec::new();
        for_each_episode(directory.path(), |episode| read.push(episode))?;
        Ok(read)
    }

    #[test]
    fn numbers_that_cannot_be_are_damage() {
        let deep = crate::episodes::episode::MAX_FRAMES;
        assert_eq!(read_changed(|_| ()).unwrap(), [episode()]);
        let frames = |depth: usize| move |line: &mut serde_json::Value| line["samples"][0][6] = vec![0; depth].into();
        assert_eq!(read_changed(frames(deep)).unwrap()[0].samples[0].frames.len(), deep);
        let mut wrong = vec![read_changed(frames(deep + 1)), read_changed(frames(20_000))];
        for (name, value) in [
            ("total_ns", 1_u64 << 62),
            ("expected_ns", u64::MAX),
            ("threshold_ns", u64::MAX),
            ("usual_delivery_ns", u64::MAX),
            ("fault_path_ns", u64::MAX),
            ("sample_period_ns", 61_000_000_000),
        ] {
            wrong.push(read_changed(|line| line[name] = value.into()));
        }
        for after in [i64::MAX, i64::MIN] {
            wrong.push(read_changed(|line| line["events"][0][0] = after.into()));
            wrong.push(read_changed(|line| line["samples"][0][0] = after.into()));
        }
        wrong.push(read_changed(|line| line["programs"][0]["ran_ns"] = u64::MAX.into()));
        for read in wrong {
            let error = read.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("line 1 is damaged: "), "{error}");
        }
    }

    #[test]
    fn one_long_name_of_a_function_is_no_damage_and_many_are() {
        // As C++ makes them; an episode of many events may have met one.
        let long = "f".repeat(4_000);
        let events = |line: &mut serde_json::Value, many: usize| {
            let first = line["events"][0].clone();
            line["events"] = vec![first; many].into();
        };
        let read = read_changed(|line| {
            line["frames"][0]["function"] = long.clone().into();
            events(line, 50_000);
        });
        assert_eq!(read.unwrap()[0].events.len(), 50_000);
        let refused = read_changed(|line| {
            line["names"][0] = long.into();
            events(line, 50_000);
        });
        assert!(refused.unwrap_err().to_string().contains("bytes of names"));
    }

    #[test]
    fn names_stand_on_a_line_and_steer_nothing() {
        let read = read_changed(|line| {
            line["victim"]["name"] = "a\nb".into();
            line["names"][0] = "\u{202e}x\u{1b}[2J".into();
            line["frames"][0]["function"] = "f\u{2066}".into();
            line["void"] = "because\rit is".into();
        });
        let episode = read.unwrap().remove(0);
        assert_eq!(episode.victim.name, "a\u{fffd}b");
        assert_eq!(episode.names[0], "\u{fffd}x\u{fffd}[2J");
        assert_eq!(episode.frames[0].function, "f\u{fffd}");
        assert_eq!(episode.void.as_deref(), Some("because\u{fffd}it is"));
    }
}
