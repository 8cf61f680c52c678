//! What was blamed for drills in a guest.

use super::cell::{Cell, Printed, Refuses, Verdict, judge};
use super::costs::Costs;
use super::plan::{Boot, Drill, Length, table};
use super::script::{CELLS, WORK, recording_of};
use crate::truth::{Culprit, Score, culprit, injections, judge as blame};
use punctual_recording::{CAUSES_NOT_RECORDED, Episode, for_each_episode};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// How the count of a drill begins that was judged.
pub(super) const NAMED: &str = "named ";

/// What `why` says about a recording.
struct Answer {
    answer: Value,
    evidence: BTreeMap<u64, Episode>,
}

impl Answer {
    /// Asks on the host, which is fast; the other commands already try whether `why` answers in a guest.
    fn read(program: &Path, work: &Path, recording: &str) -> Result<Answer, String> {
        let code = said_of(work, recording, "code");
        if code.trim() != "0" {
            let said = said_of(work, recording, "out");
            let line = said.lines().find(|line| line.starts_with("error")).or(said.lines().next()).unwrap_or_default();
            return Err(format!("the recording ended with {}: {line}", code.trim()));
        }
        let noted = said_of(work, recording, "out");
        if let Some(note) = noted.lines().find(|line| line.contains(CAUSES_NOT_RECORDED)) {
            return Err(note.chars().take(200).collect());
        }
        let asked = Command::new(program).arg("why").arg(work.join(recording)).arg("--json").output();
        let asked = asked.map_err(|error| format!("{}: {error}", program.display()))?;
        let answer: Value = serde_json::from_slice(&asked.stdout).map_err(|_| {
            let errors = String::from_utf8_lossy(&asked.stderr);
            format!("why: {}", errors.lines().next().unwrap_or("no answer"))
        })?;
        let mut evidence = BTreeMap::new();
        for_each_episode(&work.join(recording), |episode| {
            evidence.insert(episode.id, episode);
        })
        .map_err(|error| error.to_string())?;
        Ok(Answer { answer, evidence })
    }
}

/// What the recording beside the drills printed (`out`), or its exit code (`code`).
fn said_of(work: &Path, recording: &str, which: &str) -> String {
    std::fs::read_to_string(work.join(format!("{recording}.{which}"))).unwrap_or_default()
}

/// Judges each wanted drill of a guest.
pub(super) fn cells(
    boot: &Boot,
    program: &Path,
    out: &Path,
    costs: &Costs,
    length: Length,
    wanted: impl Fn(&Drill) -> bool,
) -> Vec<Cell> {
    let work = out.join(WORK);
    let mut answers: BTreeMap<&str, Result<Answer, String>> = BTreeMap::new();
    let cell = |drill: &Drill| {
        let culprit = culprit(&drill.name);
        let expected = boot.expected(&drill.needs, &drill.uses, drill.refused_before.as_ref());
        let verdict = match Printed::read(&out.join(CELLS).join(format!("drill-{}", drill.name))) {
            None => Verdict::Wrong("the guest did not come to it".to_owned()),
            Some(printed) => judge(&printed, &expected, Refuses::InALine, |whole| {
                let recording = recording_of(&drill.name);
                if !whole {
                    return Ok(said_of(&work, recording, "out"));
                }
                let answer = answers.entry(recording).or_insert_with(|| Answer::read(program, &work, recording));
                blamed(culprit, answer.as_ref().map_err(String::clone)?, &work, length)
            }),
        };
        let cost = costs.of(&format!("drill-{}", drill.name));
        Cell { row: format!("drill {}", drill.name), verdict, cost }
    };
    table().drill.iter().filter(|drill| wanted(drill)).map(cell).collect()
}

fn blamed(
    culprit: &'static Culprit,
    Answer { answer, evidence }: &Answer,
    work: &Path,
    length: Length,
) -> Result<String, String> {
    let log =
        injections(&work.join(format!("truth-{}", culprit.drill))).map_err(|error| format!("its log: {error}"))?;
    let score = blame(culprit, &log, answer, evidence);
    held_to(&score, length)
}

/// Whether a drill was named as often as promised.
fn held_to(score: &Score, length: Length) -> Result<String, String> {
    let judged = score.judged();
    // With a name, and a wrong one; what nobody can tell does not count.
    let names = score.confusion.iter().filter(|(blamed, _)| {
        let is_right = blamed.starts_with(&format!("{} {}", score.culprit.kind, score.culprit.name));
        !is_right && !blamed.starts_with("unknown") && !blamed.starts_with("blind")
    });
    let wrong = names.map(|(_, count)| count).sum::<u64>().min(score.misnamed);
    let line = format!("{NAMED}{} of {}", score.named, score.met);
    let most = score.confusion.iter().max_by_key(|(_, count)| **count);
    let told = || match most {
        Some((blamed, count)) => format!("{}; blamed most: {blamed}, {count} times", score.line()),
        None => score.line(),
    };
    if judged < length.met {
        return Err(format!("only {judged} injections met a wakeup: {}", told()));
    }
    // Nothing can be said about void episodes; one in twenty is a lot.
    if score.void * 20 > score.met + score.void {
        return Err(format!("too many void episodes: {}", told()));
    }
    if score.misnamed > length.misses(judged) || wrong > length.wrong(judged) {
        return Err(format!("wrong with a name {wrong}: {}", told()));
    }
    Ok(line)
}
