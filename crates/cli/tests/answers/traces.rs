//! Traces for Perfetto as whole commands, of the golden recordings: read back by the format's own description.

use crate::support::{self, code, run, stderr, stdout};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A field of a message.
enum Field<'a> {
    Whole(u64),
    Bytes(&'a [u8]),
}

type Message<'a> = Vec<(u64, Field<'a>)>;

fn varint(data: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = data.split_first().expect("a number ends");
        *data = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
        assert!(shift < 64, "a number of more than 64 bits");
    }
}

fn message(mut data: &[u8]) -> Message<'_> {
    let mut found = Vec::new();
    while !data.is_empty() {
        let key = varint(&mut data);
        let field = match key & 7 {
            0 => Field::Whole(varint(&mut data)),
            2 => {
                let length = varint(&mut data) as usize;
                let (bytes, rest) = data.split_at(length);
                data = rest;
                Field::Bytes(bytes)
            }
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, field));
    }
    found
}

fn whole(message: &Message<'_>, wanted: u64) -> Option<u64> {
    message.iter().find_map(|(number, field)| match field {
        Field::Whole(value) if *number == wanted => Some(*value),
        _ => None,
    })
}

fn inside<'a>(of: &Message<'a>, wanted: u64) -> impl Iterator<Item = &'a [u8]> {
    let bytes = of.iter().filter_map(move |(number, field)| match field {
        Field::Bytes(bytes) if *number == wanted => Some(*bytes),
        _ => None,
    });
    bytes.collect::<Vec<_>>().into_iter()
}

fn first_inside<'a>(of: &Message<'a>, wanted: u64) -> Option<&'a [u8]> {
    inside(of, wanted).next()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("names are text")
}

/// What a trace holds.
#[derive(Default)]
struct Trace {
    /// Names by identity.
    tracks: BTreeMap<u64, String>,
    slices: usize,
    /// The category and the track of each.
    instants: Vec<(String, u64)>,
    /// The threads that were switched to, and those that were woken.
    switched: Vec<u64>,
    woken: Vec<u64>,
}

/// Reads a trace. Every track is described once, before anything is on it, and every slice that begins there ends.
fn read(path: &Path) -> Trace {
    let data = std::fs::read(path).unwrap();
    let (mut trace, mut open) = (Trace::default(), BTreeMap::<u64, usize>::new());
    for packet in inside(&message(&data), 1) {
        let packet = message(packet);
        if let Some(track) = first_inside(&packet, 60).map(message) {
            let own = first_inside(&track, 4).map(message);
            let name = own.as_ref().map_or_else(|| first_inside(&track, 2), |own| first_inside(own, 5));
            let before = trace.tracks.insert(whole(&track, 1).unwrap(), text(name.unwrap()));
            assert!(before.is_none(), "{before:?} is described twice");
        }
        if let Some(event) = first_inside(&packet, 11).map(message) {
            let track = whole(&event, 11).unwrap();
            assert!(trace.tracks.contains_key(&track), "nobody described track {track}");
            let depth = open.entry(track).or_default();
            match whole(&event, 9) {
                Some(1) => *depth += 1,
                Some(2) => {
                    *depth = depth.checked_sub(1).expect("what ends has begun");
                    trace.slices += 1;
                }
                Some(3) => trace.instants.push((text(first_inside(&event, 22).unwrap()), track)),
                other => panic!("an event of type {other:?}"),
            }
        }
        for bundle in inside(&packet, 1).map(message) {
            for event in inside(&bundle, 2).map(message) {
                let number = |kind: u64, field: u64| whole(&first_inside(&event, kind).map(message)?, field);
                trace.switched.extend(number(4, 6));
                trace.woken.extend(number(20, 2));
            }
        }
    }
    assert!(open.values().all(|depth| *depth == 0), "a slice has no end");
    trace
}

/// The trace that a command writes about one of the golden recordings.
fn traced(words: &[&str]) -> Trace {
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pftrace");
    let output = run(&golden, &[words, &["--perfetto", path.to_str().unwrap()]].concat());
    assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
    read(&path)
}

/// From the scheduler's events the viewer makes a track for each thread, and an arrow from who woke it.
#[test]
fn late_wakeups_have_their_threads_and_who_woke_them() {
    let trace = traced(&["why", "why.punctual"]);
    let late: Vec<&String> = trace.tracks.values().filter(|name| name.contains("measure-1")).collect();
    assert_eq!(late, ["late: measure-1 (thread 18516)"]);
    assert!(trace.switched.contains(&18_516) && trace.woken.contains(&18_516), "{:?}", trace.woken);
    assert!(trace.slices > 10, "{} slices", trace.slices);
}

#[test]
fn marks_of_a_program_stand_on_its_own_tracks() {
    let trace = traced(&["log", "show", "log.punctual"]);
    let golden = support::golden();
    let rows = stdout(&run(&golden, &["log", "show", "log.punctual", "--events", "mark", "--csv"]));
    let threads: BTreeSet<&str> = rows.lines().skip(1).filter_map(|row| row.split(',').nth(4)).collect();
    let marks: Vec<u64> =
        trace.instants.iter().filter(|(category, _)| category == "mark").map(|(_, track)| *track).collect();
    assert_eq!(marks.len(), rows.lines().count() - 1);
    assert!(marks.len() >= 100, "{} marks", marks.len());
    assert_eq!(marks.iter().collect::<BTreeSet<_>>().len(), threads.len(), "{threads:?}");
}

/// What Perfetto's own engine has of a trace: switches, states of threads with who woke them, slices and instants, and what
/// it could not read.
const ASKED: &str = "select (select count(*) from sched), (select count(*) from thread_state where waker_utid is not null), \
                     (select count(*) from slice), (select ifnull(sum(value), 0) from stats where severity = 'error');";

/// Perfetto's trace processor is not ours and comes from no package: `PUNCTUAL_TRACE_PROCESSOR` says where it is.
#[test]
fn the_trace_processor_reads_every_trace_without_an_error() {
    const NAME: &str = "the_trace_processor_reads_every_trace_without_an_error";
    let Some(processor) = std::env::var_os("PUNCTUAL_TRACE_PROCESSOR") else {
        return support::skip(NAME, "PUNCTUAL_TRACE_PROCESSOR does not say where Perfetto's trace processor is");
    };
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let (query, trace) = (directory.path().join("query.sql"), directory.path().join("a.pftrace"));
    std::fs::write(&query, ASKED).unwrap();
    // With the fewest switches, states that have a waker, and slices or instants of each.
    let cases: [(&[&str], [u64; 3]); 3] = [
        (&["why", "why.punctual"], [10, 1, 10]),
        (&["log", "show", "log.punctual"], [0, 0, 100]),
        (&["report", "interact.punctual"], [0, 0, 10]),
    ];
    for (words, fewest) in cases {
        let output = run(&golden, &[words, &["--perfetto", trace.to_str().unwrap()]].concat());
        assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
        let output = std::process::Command::new(&processor).arg("-q").arg(&query).arg(&trace).output().unwrap();
        let said = format!("{words:?}: {}{}", stdout(&output), stderr(&output));
        assert!(output.status.success(), "{said}");
        let answer = stdout(&output);
        let row = answer.lines().rev().find(|line| line.starts_with(|first: char| first.is_ascii_digit()));
        let counts: Vec<u64> = row.unwrap_or_default().split(',').filter_map(|cell| cell.trim().parse().ok()).collect();
        let [switches, woken, slices, errors] = counts[..] else { panic!("{said}") };
        assert!([switches, woken, slices].iter().zip(fewest).all(|(count, fewest)| *count >= fewest), "{said}");
        assert_eq!(errors, 0, "{said}");
    }
}
