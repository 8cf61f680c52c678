//! Programs that do a known thing for each key, draw, and log it: whether each input is seen when it is shown, and its
//! largest part is what the program did. For X11 `examples/interact_window.rs`, for Wayland
//! `examples/interact_surface.rs`.

use super::interact::{Done, disturbed_ns, done, example, named, script};
use super::{MAX_ATTEMPTS, attempts, code, json, punctual, run, stderr, stdout};
use punctual_recording::{
    Interaction, InteractionPart, Outcome, for_each_interaction_part, read_interaction_document, read_interactions,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// At least this many are judged.
const MIN_MET: usize = 60;
/// If others had more than this of an input, it is set apart: something else had a CPU meanwhile.
const DISTURBED_NS: u64 = 100_000;
/// And so is an input that took more than this on the way to the program and to the screen.
const DISTURBED_WAY_NS: u64 = 2_000_000;

pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Returns from the test, loudly, unless these programs are installed.
#[allow(unused_macros, reason = "each test binary uses a part of this")]
macro_rules! needs {
    ($test:literal, $($program:expr),+) => {
        $(if !$crate::support::interact_window::is_installed($program) {
            $crate::support::skip($test, &format!("{} is not installed (scripts/setup --test)", $program));
            return;
        })+
    };
}
#[allow(unused_imports, reason = "each test binary uses a part of this")]
pub(crate) use needs;

/// Whether the typist put a key in late: it had no CPU then, and is late to look at what is drawn, too.
pub(crate) fn was_put_in_late(input: &Interaction) -> bool {
    /// It usually takes a few hundredths of this.
    const LATE_NS: u64 = 1_000_000;
    input.injected_ns - input.begin_ns > LATE_NS
}

/// A program without a window, and a machine without this package, are each said in a line.
pub(crate) fn says_what_is_missing(via: &str, package: &str, directory: &Path) {
    let script = "name = \"x\"\n[ready]\nat_most = \"4s\"\n[[step]]\ntype = \"a\"\n";
    std::fs::write(directory.join("soon.toml"), script).unwrap();
    let words = ["interact", "-q", "--no-bpf", "--via", via, "--script", "soon.toml"];
    let program = ["-o", "n.punctual", "--", "sh", "-c", "echo no toolkit here; sleep 100"];
    let hung = run(directory, &[&words[..], &program].concat());
    let said = stdout(&hung);
    assert!(code(&hung) == 1 && said.contains("sh showed no window within 4 s; it said: no toolkit here"), "{said}");
    let mut without = punctual();
    without.current_dir(directory).env("PATH", directory.join("none"));
    let missing = without.args(words).args(["-o", "m.punctual", "--", "/bin/sh"]).output().unwrap();
    let said = stderr(&missing);
    let expected = format!("its package is called {package}");
    assert!(code(&missing) == 1 && said.contains(&expected), "{said}");
}

/// Without any privilege an example's inputs are still seen, also a click at this place; returns the example's log.
pub(crate) fn answers_without_privilege(via: &str, name: &str, place: &str, directory: &Path) -> PathBuf {
    let script = format!(
        "name = \"x\"\n[pace]\nmedian = \"60ms\"\n[[step]]\ntype = \"ccccc\"\n[[step]]\nclick = \"left\"\nat = \"{place}\"\n"
    );
    std::fs::write(directory.join("clicks.toml"), script).unwrap();
    let log = directory.join("log");
    let program = [example(name).display().to_string(), log.display().to_string()];
    let words = ["interact", "-q", "--json", "--no-bpf", "--via", via, "--script", "clicks.toml", "-o", "w.punctual"];
    let answered = run(directory, &[&words[..], &["--", &program[0], &program[1]]].concat());
    assert_eq!(code(&answered), 0, "{}", stderr(&answered));
    let answer = json(&answered);
    assert_eq!((&answer["followed"], &answer["via"]), (&false.into(), &via.into()));
    let inputs = answer["inputs"].as_array().unwrap();
    // Its start, five letters, the pointer, a click.
    assert_eq!(inputs.len(), 8);
    let is_right = |input: &serde_json::Value| {
        (input["seen_ns"].is_u64() || input["outcome"] == "merged") && input["got_ns"].is_null()
    };
    assert!(inputs.iter().filter(|input| input["kind"] == "key").all(is_right), "{inputs:?}");
    log
}

/// A program, how it is used, and what is expected.
pub(crate) struct Truth {
    /// As `--via` takes it.
    pub(crate) via: &'static str,
    /// The name of the example.
    pub(crate) program: &'static str,
    /// Keys, and the kind and name of each key's part; `None`: nothing is drawn after it.
    pub(crate) keys: &'static [(char, Option<(&'static str, &'static str)>)],
    /// How often each key comes.
    pub(crate) rounds: usize,
    /// Whether the time at which an input is seen lies between the program's drawing and the word that it is shown.
    pub(crate) is_seen_in_time: fn(&Interaction, Done) -> bool,
    /// Out of a hundred keys that draw, at least this many are seen in time.
    pub(crate) seen_percent: usize,
}

#[derive(Debug, Default)]
struct Tally {
    /// Keys that draw, and how many of them were seen no earlier than the program drew and no later than it was shown.
    drawing: usize,
    seen: usize,
    /// More that draw, which the typist put in late: when they are seen says nothing.
    late: usize,
    /// More of which it is said that they may have caused what was drawn: the cursor blinked several times before the typist had a
    /// CPU again, so that the program draws after sleeps without any key, too.
    unsure: usize,
    /// Keys after which nothing is drawn, and how many of them were unanswered.
    silent: usize,
    unanswered: usize,
    right: usize,
    disturbed: usize,
    wrong: Vec<String>,
}

impl Tally {
    /// Whether enough were met, and enough of them are as expected: if there are few, a single one says nothing.
    fn suffices(&self, seen_percent: usize) -> bool {
        let met = self.right + self.wrong.len();
        let is_enough = self.drawing >= 100 && self.silent >= 20 && met >= MIN_MET && self.is_mostly_sure();
        let is_seen = self.seen * 100 >= self.drawing * seen_percent && self.unanswered * 100 >= self.silent * 90;
        is_enough && is_seen && self.wrong.len() * 100 <= met
    }

    fn is_mostly_sure(&self) -> bool {
        self.unsure * 10 <= self.drawing
    }
}

impl Truth {
    /// Uses the program until enough was judged, and checks that against what is expected.
    pub(crate) fn holds(&self) {
        let mut tally = Tally::default();
        for _ in attempts(MAX_ATTEMPTS) {
            self.measure(&mut tally);
            let (seen, drawing) = (tally.seen, tally.drawing);
            eprintln!(
                "{seen} of {drawing} seen in time beside {} put in late and {} unsure, {} of {} unanswered, {} right, {} wrong, {} \
                 set apart",
                tally.late,
                tally.unsure,
                tally.unanswered,
                tally.silent,
                tally.right,
                tally.wrong.len(),
                tally.disturbed
            );
            if tally.suffices(self.seen_percent) {
                break;
            }
        }
        assert!(tally.drawing >= 100 && tally.silent >= 20, "too few: {tally:?}");
        assert!(tally.is_mostly_sure() && tally.seen * 100 >= tally.drawing * self.seen_percent, "{tally:?}");
        // On a machine that stands still for a while, the cursor's timer may look like a new one.
        assert!(tally.unanswered * 100 >= tally.silent * 90, "{tally:?}");
        let met = tally.right + tally.wrong.len();
        assert!(met >= MIN_MET, "too few: {tally:?}");
        assert!(tally.wrong.len() * 100 <= met, "{} of {met} wrong: {:#?}", tally.wrong.len(), tally.wrong);
    }

    /// Goes once through the keys and adds them to the tally.
    fn measure(&self, tally: &mut Tally) {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (log, script_file) = (directory.path().join("log"), directory.path().join("truth.toml"));
        let count = self.keys.len() * self.rounds;
        std::fs::write(&script_file, script(self.keys.iter().map(|(key, _)| *key), count)).unwrap();
        let (program, log_word) = (example(self.program).display().to_string(), log.display().to_string());
        let words = ["interact", "-q", "--json", "--via", self.via, "-o", "a.punctual", "--script", "truth.toml", "--"];
        let output = run(directory.path(), &[&words[..], &[&program, &log_word]].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert_eq!(json(&output)["followed"], true, "{}", stderr(&output));
        let recording = directory.path().join("a.punctual");
        let summary = read_interaction_document(&recording).unwrap().unwrap();
        assert_eq!(summary.inputs as usize, count);
        if summary.records_lost > 0 {
            eprintln!("{} records lost: nobody had a CPU to read them", summary.records_lost);
            return;
        }
        assert!(summary.background_outputs > 0, "the cursor blinks: {summary:?}");
        let mut parts: BTreeMap<u32, Vec<InteractionPart>> = BTreeMap::new();
        for_each_interaction_part(&recording, |part| parts.entry(part.number).or_default().push(part)).unwrap();
        let inputs = read_interactions(&recording).unwrap();
        let typed: Vec<&Interaction> = inputs.iter().filter(|input| input.kind != "start").collect();
        let done = done(&log);
        assert_eq!(typed.len(), done.len(), "no keys are lost");
        let mut reached_ns = 0;
        for (input, done) in typed.iter().zip(&done) {
            // What of the two is seen, and when, says nothing then.
            if done.key == '-' || is_overlapping(input, *done, &mut reached_ns) {
                tally.disturbed += 1;
                continue;
            }
            assert_eq!(input.label.chars().next(), Some(done.key));
            if done.key == 'n' {
                tally.silent += 1;
                if input.outcome == Some(Outcome::Unanswered) {
                    tally.unanswered += 1;
                } else {
                    eprintln!("draws nothing, and is answered: {input:?} {done:?} {:?}", parts.get(&input.number));
                }
                continue;
            }
            self.look(tally, input, *done);
            match parts.get(&input.number) {
                Some(parts) => self.judge(tally, input, parts, *done),
                None => assert!(summary.not_split > 0 || input.seen_ns.is_none(), "{input:?}"),
            }
        }
    }

    /// Judges when an input that draws was seen.
    fn look(&self, tally: &mut Tally, input: &Interaction, done: Done) {
        if was_put_in_late(input) {
            tally.late += 1;
            return;
        }
        if input.outcome == Some(Outcome::Unsure) {
            tally.unsure += 1;
            return;
        }
        tally.drawing += 1;
        if (self.is_seen_in_time)(input, done) {
            tally.seen += 1;
        } else {
            eprintln!("not seen in time: {input:?} {done:?}");
        }
    }

    fn judge(&self, tally: &mut Tally, input: &Interaction, parts: &[InteractionPart], done: Done) {
        let latency = input.latency_ns().expect("it was seen");
        assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), latency, "parts add up: {input:?} {parts:?}");
        let (_, expected) = self.keys.iter().find(|(key, _)| *key == done.key).expect("a known key");
        let Some((kind, name)) = expected else { return };
        let unknown_ns = parts.iter().map(|part| part.unknown_ns).sum::<u64>();
        let of = |kind: &str, name: &str| named(parts, kind, name);
        // The way there may be disturbed too, if others kept the display's server or the typist from a CPU.
        let on_the_way = if *kind == "wait" { of("wait", "") - of(kind, name) } else { of("wait", "") };
        if disturbed_ns(parts) > DISTURBED_NS || unknown_ns * 10 > latency || on_the_way > DISTURBED_WAY_NS {
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
}

/// Whether a key came before the last one was shown, or was not finished before the next one, as on a machine that
/// stands still for a while. `reached_ns` is when the
/// last one was shown.
fn is_overlapping(input: &Interaction, done: Done, reached_ns: &mut u64) -> bool {
    let ended_ns = done.finished_ns.expect("a whole line");
    let overlaps = *reached_ns > input.begin_ns || ended_ns > input.end_ns;
    *reached_ns = ended_ns;
    overlaps || input.outcome == Some(Outcome::Merged)
}
