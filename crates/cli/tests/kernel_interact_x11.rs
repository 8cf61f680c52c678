//! `punctual interact --via x11`: on a program that does a known thing for each key, draws and logs it
//! (`examples/interact_window.rs`), and on real programs, what is seen against the pixels of their windows.

mod support;

use punctual_recording::{
    Interaction, InteractionPart, Outcome, for_each_interaction_part, read_interaction_document, read_interactions,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use support::{code, json, run, stderr};

/// Keys, and the kind and name of the part that is theirs; `None`: nothing but the way there and back.
const KEYS: [(char, Option<(&str, &str)>); 5] = [
    ('c', Some(("own", "window"))),
    ('t', Some(("sleep", ""))),
    ('r', Some(("sleep", ""))),
    ('a', Some(("wait", "window-server"))),
    ('n', None),
];
/// Each key comes so often.
const ROUNDS: usize = 26;
/// So many are judged at least.
const MIN_MET: usize = 60;
/// An input of which others had more than this is set apart: whoever had a CPU meanwhile.
const DISTURBED_NS: u64 = 100_000;
/// And one of which the way to the program and to the screen took more than this.
const DISTURBED_WAY_NS: u64 = 2_000_000;

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Returns from the test, loudly, unless these programs are there.
macro_rules! needs {
    ($test:literal, $($program:expr),+) => {
        $(if !is_installed($program) {
            support::skip($test, &format!("{} is not installed (scripts/setup --test)", $program));
            return;
        })+
    };
}

fn truth_program() -> PathBuf {
    let own = std::env::current_exe().expect("this test");
    let program = own.ancestors().nth(2).expect("target/debug").join("examples/interact_window");
    assert!(program.is_file(), "cargo builds examples with tests: {}", program.display());
    program
}

/// A line of the log.
#[derive(Debug, Clone, Copy)]
struct Done {
    key: char,
    begin_ns: u64,
    part_ns: u64,
    /// The server had drawn it by then.
    drawn_ns: u64,
}

fn done(log: &Path) -> Vec<Done> {
    let text = std::fs::read_to_string(log).expect("the program wrote its log");
    let line = |line: &str| {
        let mut words = line.split(' ');
        let key = words.next()?.chars().next()?;
        let mut number = || words.next()?.parse().ok();
        Some(Done { key, begin_ns: number()?, part_ns: number()?, drawn_ns: number()? })
    };
    text.lines().map(|one| line(one).expect("a whole line")).collect()
}

fn disturbed_ns(parts: &[InteractionPart]) -> u64 {
    const OTHERS: [&str; 10] = [
        "steal",
        "blind",
        "same_priority",
        "higher_priority",
        "lower_priority",
        "irq",
        "softirq",
        "irq_off",
        "kernel",
        "migration",
    ];
    parts.iter().filter(|part| OTHERS.contains(&part.kind.as_str())).map(|part| part.ns).sum()
}

#[derive(Debug, Default)]
struct Tally {
    /// Keys that draw, and of those how many were seen, no earlier than the program drew and no later than the server had.
    drawing: usize,
    seen: usize,
    /// Keys after which nothing is drawn, and of those how many were unanswered.
    silent: usize,
    unanswered: usize,
    right: usize,
    disturbed: usize,
    wrong: Vec<String>,
}

/// Whether what is seen lies between the program's drawing and the server's answer that it was done.
fn is_seen_in_time(input: &Interaction, done: Done) -> bool {
    /// The server tells whoever types before or after it answers the program.
    const AROUND_NS: u64 = 2_000_000;
    input.seen_ns.is_some_and(|seen| {
        seen >= done.begin_ns + done.part_ns - done.part_ns.min(1_000) && seen <= done.drawn_ns + AROUND_NS
    })
}

fn judge(tally: &mut Tally, input: &Interaction, parts: &[InteractionPart], done: Done) {
    let latency = input.latency_ns().expect("it was seen");
    assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), latency, "parts add up: {input:?} {parts:?}");
    let (_, expected) = KEYS.iter().find(|(key, _)| *key == done.key).expect("a known key");
    let Some((kind, name)) = expected else { return };
    let unknown_ns = parts.iter().map(|part| part.unknown_ns).sum::<u64>();
    if disturbed_ns(parts) > DISTURBED_NS || unknown_ns * 10 > latency {
        tally.disturbed += 1;
        return;
    }
    let of = |kind: &str, name: &str| {
        parts.iter().filter(|part| part.kind == kind && part.name.contains(name)).map(|part| part.ns).sum::<u64>()
    };
    // So may the way there be, where others kept the server or whoever types from a CPU.
    let on_the_way = if *kind == "wait" { of("wait", "") - of(kind, name) } else { of("wait", "") };
    if on_the_way > DISTURBED_WAY_NS {
        tally.disturbed += 1;
        return;
    }
    let largest = parts.iter().map(|part| of(&part.kind, &part.name)).max();
    if largest == Some(of(kind, name)) {
        tally.right += 1;
    } else {
        tally.wrong.push(format!("{done:?} {latency} {parts:?}"));
    }
}

/// Once through the keys, into the tally.
fn measure(tally: &mut Tally) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (log, script) = (directory.path().join("log"), directory.path().join("truth.toml"));
    let keys: String = KEYS.iter().map(|(key, _)| *key).cycle().take(KEYS.len() * ROUNDS).collect();
    let text = format!("name = \"truth\"\n[pace]\nmedian = \"70ms\"\nspread = 0.1\n[[step]]\ntype = \"{keys}\"\n");
    std::fs::write(&script, text).unwrap();
    let (program, log_word) = (truth_program().display().to_string(), log.display().to_string());
    let words = ["interact", "-q", "--json", "--via", "x11", "-o", "a.punctual", "--script", "truth.toml", "--"];
    let output = run(directory.path(), &[&words[..], &[&program, &log_word]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(json(&output)["followed"], true, "{}", stderr(&output));
    let recording = directory.path().join("a.punctual");
    let summary = read_interaction_document(&recording).unwrap().unwrap();
    assert_eq!((summary.records_lost, summary.inputs as usize), (0, KEYS.len() * ROUNDS));
    assert!(summary.background_outputs > 0, "the cursor blinks: {summary:?}");
    let mut parts: BTreeMap<u32, Vec<InteractionPart>> = BTreeMap::new();
    for_each_interaction_part(&recording, |part| parts.entry(part.number).or_default().push(part)).unwrap();
    let inputs = read_interactions(&recording).unwrap();
    let typed: Vec<&Interaction> = inputs.iter().filter(|input| input.kind != "start").collect();
    let done = done(&log);
    assert_eq!(typed.len(), done.len(), "the server loses no keys");
    for (input, done) in typed.iter().zip(&done) {
        if done.key == '-' {
            tally.disturbed += 1;
            continue;
        }
        assert_eq!(input.label.chars().next(), Some(done.key));
        if done.key == 'n' {
            tally.silent += 1;
            tally.unanswered += usize::from(input.outcome == Some(Outcome::Unanswered));
            continue;
        }
        if input.outcome == Some(Outcome::Merged) {
            // On a machine that stands still for a while the next key comes before this one is worked on.
            tally.disturbed += 1;
            continue;
        }
        tally.drawing += 1;
        if is_seen_in_time(input, *done) {
            tally.seen += 1;
        } else {
            eprintln!("not seen in time: {input:?} {done:?}");
        }
        match parts.get(&input.number) {
            Some(parts) => judge(tally, input, parts, *done),
            None => assert!(summary.not_split > 0 || input.seen_ns.is_none(), "{input:?}"),
        }
    }
}

#[test]
fn each_input_is_seen_when_its_picture_is_drawn_and_was_waited_for_because_of_what_the_program_did() {
    requires!("interact x11 truth", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    needs!("interact x11 truth", "Xvfb");
    let mut tally = Tally::default();
    for _ in 0..support::MAX_ATTEMPTS {
        measure(&mut tally);
        let (seen, drawing) = (tally.seen, tally.drawing);
        eprintln!(
            "{seen} of {drawing} seen in time, {} of {} unanswered, {} right, {} wrong, {} set apart",
            tally.unanswered,
            tally.silent,
            tally.right,
            tally.wrong.len(),
            tally.disturbed
        );
        if drawing >= 100 && tally.right + tally.wrong.len() >= MIN_MET {
            break;
        }
    }
    assert!(tally.drawing >= 100 && tally.silent >= 20, "too few: {tally:?}");
    assert!(tally.seen * 100 >= tally.drawing * 99, "{tally:?}");
    assert!(tally.unanswered * 100 >= tally.silent * 95, "{tally:?}");
    let met = tally.right + tally.wrong.len();
    assert!(met >= MIN_MET, "too few: {tally:?}");
    assert!(tally.wrong.len() * 100 <= met, "{} of {met} wrong: {:#?}", tally.wrong.len(), tally.wrong);
}
