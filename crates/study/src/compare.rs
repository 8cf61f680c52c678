//! Two sides measured in turn, and recordings taken up to be compared.

use crate::{StudyError, record_under_watched};
use punctual_comparison::{Gather, Side};
use punctual_forecast::Input;
use punctual_load::Load;
use punctual_probe::{Observation, Plan, Step};
use punctual_recording::{EndReason, Recording};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One side of an [`Alternation`].
#[derive(Debug, Clone)]
pub struct SidePlan {
    /// A shell command that runs to its end before each measurement: a setting, for example.
    pub before: Option<String>,
    /// What runs during each measurement.
    pub load: Load,
}

/// Two sides, to be measured several times in turn.
#[derive(Debug, Clone)]
pub struct Alternation {
    /// The measurement; its output is ignored.
    pub plan: Plan,
    /// How many times each side is measured.
    pub repeats: usize,
    /// A and B.
    pub sides: [SidePlan; 2],
    /// Where the recordings go: `a/01.punctual`, `b/01.punctual`, ...
    pub directory: PathBuf,
}

/// What is being measured now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// 0 for A, 1 for B.
    pub side: usize,
    /// Which of its measurements, from 1.
    pub number: usize,
}

impl Turn {
    /// The order A B B A A B B A ...: whatever drifts evenly weighs on both sides alike.
    pub fn all(repeats: usize) -> impl Iterator<Item = Turn> {
        (1..=repeats).flat_map(|number| {
            let first = usize::from(number % 2 == 0);
            [first, 1 - first].map(|side| Turn { side, number })
        })
    }
}

/// The directory of a side's recordings.
const SIDES: [&str; 2] = ["a", "b"];

/// Measures both sides in turn. Gives each side's recordings; when it was told to stop, those there are until then,
/// and the one that was cut off only where its side has no other.
///
/// # Errors
/// [`StudyError`]; [`StudyError::Setting`] where a command before a measurement fails. Recordings stay.
pub fn alternate(
    alternation: &Alternation,
    observe: &mut dyn FnMut(Turn, &mut Observation<'_>) -> Step,
    interrupted: &dyn Fn() -> bool,
) -> Result<[Vec<PathBuf>; 2], StudyError> {
    for side in SIDES {
        let directory = alternation.directory.join(side);
        let failed =
            |error: std::io::Error| StudyError::Setting(format!("cannot create {}: {error}", directory.display()));
        std::fs::create_dir_all(&directory).map_err(failed)?;
    }
    let mut made = [Vec::new(), Vec::new()];
    for turn in Turn::all(alternation.repeats) {
        if interrupted() {
            break;
        }
        let side = &alternation.sides[turn.side];
        if let Some(command) = &side.before {
            match set_up(command) {
                // Ctrl-C reaches the command too.
                Err(_) if interrupted() => break,
                result => result?,
            }
        }
        let mut plan = alternation.plan.clone();
        plan.output = alternation.directory.join(SIDES[turn.side]).join(format!("{:02}.punctual", turn.number));
        let output = plan.output.clone();
        let result = record_under_watched(plan, &side.load, &mut |_| !interrupted(), &mut |observation| {
            observe(turn, observation)
        });
        let outcome = match result {
            Err(StudyError::Interrupted) => break,
            other => other?,
        };
        let ended = outcome.document.ended.as_ref().map(|ended| ended.reason);
        let cut_off = ended == Some(EndReason::Interrupted);
        if !cut_off || (made[turn.side].is_empty() && outcome.document.counters.wakeups > 0) {
            made[turn.side].push(output);
        }
        if !matches!(ended, Some(EndReason::Completed | EndReason::CommandEnded)) {
            break;
        }
    }
    Ok(made)
}

/// Runs a command to its end. What it says is of interest only if it fails.
fn set_up(command: &str) -> Result<(), StudyError> {
    let failed = |why: String| StudyError::Setting(format!("`{command}` {why}"));
    let shell = Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).output();
    let output = shell.map_err(|error| failed(format!("could not be started: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let how = output.status.code().map_or("was ended by a signal".to_owned(), |code| format!("ended with code {code}"));
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    Err(failed(how + &last.map(|line| format!(": {line}")).unwrap_or_default()))
}

/// Reads the recordings of a side, each in one pass.
///
/// # Errors
/// [`StudyError`] for the first that cannot be read or holds no wakeup, or that stands there twice.
pub fn open_side(name: &str, paths: &[PathBuf]) -> Result<Side, StudyError> {
    let mut side = Side { name: name.to_owned(), runs: Vec::new(), inputs: Vec::new() };
    for path in paths {
        let (run, inputs) = open_run(path)?;
        let id = &run.document.provenance.run_id;
        if side.runs.iter().any(|other| other.document.provenance.run_id == *id) {
            return Err(StudyError::Setting(format!("{}: the same run stands there twice", path.display())));
        }
        side.runs.push(run);
        side.inputs.extend(inputs);
    }
    Ok(side)
}

fn open_run(path: &Path) -> Result<(punctual_comparison::Run, Vec<Input>), StudyError> {
    let recording = Recording::open(path)?;
    let mut gather = Gather::new(recording.document().clone());
    recording.for_each_wakeup(|wakeup| gather.push(wakeup))?;
    let run = gather.finish().map_err(|error| StudyError::Setting(format!("{}: {error}", path.display())))?;
    // Without a grid there are no devices to judge, which is no fault.
    let inputs = Input::from_recording(
        recording.document(),
        &recording.tail()?,
        &recording.block_maxima()?,
        recording.damaged(),
    );
    Ok((run, inputs.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_take_turns() {
        let sides: Vec<usize> = Turn::all(4).map(|turn| turn.side).collect();
        assert_eq!(sides, [0, 1, 1, 0, 0, 1, 1, 0]);
        // A drift of one unit a turn weighs on both sides alike.
        let weight = |side: usize| -> usize { (0..8).filter(|turn| sides[*turn] == side).sum() };
        assert_eq!(weight(0), weight(1));
        let numbers: Vec<usize> = Turn::all(2).map(|turn| turn.number).collect();
        assert_eq!(numbers, [1, 1, 2, 2]);
    }

    #[test]
    fn a_command_that_fails_says_so_in_one_line() {
        assert!(set_up("true").is_ok());
        let error = set_up("echo first >&2; echo no such knob >&2; exit 3").unwrap_err().to_string();
        assert!(error.ends_with("ended with code 3: no such knob") && error.lines().count() == 1, "{error}");
    }
}
