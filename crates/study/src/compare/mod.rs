//! Sides measured in turn, and recordings read for a comparison.

mod evidence;
pub(crate) mod inputs;
pub(crate) mod paces;

use crate::{StudyError, record_under_watched};
use punctual_comparison::{
    Gather, GatherServed, Served, Side, are_clear, device_settings, measured_ns, order_of_round,
};
use punctual_forecast::Input;
use punctual_kernel::guard::{Guard, GuardEvent, GuardedRun};
use punctual_load::Load;
use punctual_probe::{Observation, Plan, Step};
use punctual_recording::{
    ActivationDocument, Directory, Document, EndReason, Recording, for_each_activation, read_activation_document,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One side of an [`Alternation`].
#[derive(Debug, Clone)]
pub struct SidePlan {
    /// The measurement; its output is ignored.
    pub plan: Plan,
    /// A shell command that runs to its end before each measurement, to change a setting, for example.
    pub before: Option<String>,
    /// What runs during each measurement.
    pub load: Load,
}

/// Two sides or more, to be measured several times in turn.
#[derive(Debug, Clone)]
pub struct Alternation {
    /// How many times each side is measured.
    pub repeats: usize,
    /// Whether that is the maximum, and it ends as soon as the verdict is clear.
    pub ends_when_clear: bool,
    /// A, B and so on.
    pub sides: Vec<SidePlan>,
    /// Whether a load that had a failing command is as good as any other.
    pub ignore_failure: bool,
    /// Where the recordings go: `a/01.punctual`, `b/01.punctual`, ...
    pub directory: PathBuf,
}

/// What is being measured now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// 0 for A, 1 for B, and so on.
    pub side: usize,
    /// Which of its measurements, counted from 1.
    pub number: usize,
}

impl Turn {
    /// Round by round, each in a random order: drift affects all sides alike, and no rhythm of the machine can match
    /// the order, as it could match A B B A.
    pub fn all(repeats: usize, sides: usize, seed: u64) -> impl Iterator<Item = Turn> {
        let round = move |number| order_of_round(seed, number, sides);
        (1..=repeats).flat_map(move |number| round(number).into_iter().map(move |side| Turn { side, number }))
    }
}

/// The directory of a side's recordings, below the common one: `a`, `b` and so on.
pub fn side_directory(side: usize) -> String {
    char::from(b'a' + u8::try_from(side).unwrap_or(0).min(25)).to_string()
}

/// What came of an [`Alternation`].
#[derive(Debug)]
pub struct Alternated {
    /// The recordings of each side.
    pub made: Vec<Vec<PathBuf>>,
    /// What ended it early, if something failed when all sides already had recordings.
    pub trouble: Option<StudyError>,
    /// After how many repeats it was clear, if that ended it.
    pub clear_after: Option<usize>,
}

/// Measures all sides in turn. If it was told to stop or something fails, it returns the recordings made until then,
/// including one that was cut off only if its side has no other.
///
/// # Errors
/// [`StudyError`] while a side has no recording yet; [`StudyError::Setting`] if a command before a measurement fails.
/// Recordings stay.
pub fn alternate(
    alternation: &Alternation,
    observe: &mut dyn FnMut(Turn, &mut Observation<'_>) -> Step,
    interrupted: &dyn Fn() -> bool,
) -> Result<Alternated, StudyError> {
    let sides = alternation.sides.len();
    for side in 0..sides {
        Directory::make(&alternation.directory.join(side_directory(side)))?;
    }
    let mut made = vec![Vec::new(); sides];
    let mut looked_at: Vec<Side> =
        (0..sides).map(|side| Side { name: side_directory(side), runs: Vec::new(), inputs: Vec::new() }).collect();
    let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
    for turn in Turn::all(alternation.repeats, sides, seed) {
        if interrupted() {
            break;
        }
        match measure(alternation, turn, made[turn.side].is_empty(), observe, interrupted) {
            Ok(Measured { recording, goes_on }) => {
                made[turn.side].extend(recording);
                if !goes_on {
                    break;
                }
                let is_whole_round = made.iter().all(|side| side.len() == turn.number);
                if alternation.ends_when_clear && is_whole_round && turn.number < alternation.repeats {
                    for (side, paths) in looked_at.iter_mut().zip(&made) {
                        side.runs.push(open_run(&paths[turn.number - 1])?.0);
                    }
                    let others: Vec<&Side> = looked_at[1..].iter().collect();
                    if are_clear(&looked_at[0], &others).is_ok_and(|are_clear| are_clear) {
                        return Ok(Alternated { made, trouble: None, clear_after: Some(turn.number) });
                    }
                }
            }
            // Ctrl-C reaches the commands too.
            Err(_) if interrupted() => break,
            Err(error) if made.iter().any(Vec::is_empty) => return Err(error),
            Err(error) => return Ok(Alternated { made, trouble: Some(error), clear_after: None }),
        }
    }
    Ok(Alternated { made, trouble: None, clear_after: None })
}

/// What came of one turn.
struct Measured {
    recording: Option<PathBuf>,
    goes_on: bool,
}

fn measure(
    alternation: &Alternation,
    turn: Turn,
    is_first: bool,
    observe: &mut dyn FnMut(Turn, &mut Observation<'_>) -> Step,
    interrupted: &dyn Fn() -> bool,
) -> Result<Measured, StudyError> {
    let side = &alternation.sides[turn.side];
    if let Some(command) = &side.before {
        set_up(command, interrupted)?;
    }
    let mut plan = side.plan.clone();
    plan.output = alternation.directory.join(side_directory(turn.side)).join(recording_name(turn));
    let output = plan.output.clone();
    let outcome =
        record_under_watched(plan, &side.load, &mut |_| !interrupted(), &mut |observation| observe(turn, observation))?;
    if let Some(failure) = outcome.document.provenance.load.failure.filter(|_| !alternation.ignore_failure) {
        leave_out(&alternation.directory, &side_directory(turn.side), turn);
        return Err(StudyError::LoadFailed(failure));
    }
    let ended = outcome.document.ended.as_ref().map(|ended| ended.reason);
    let is_whole = ended != Some(EndReason::Interrupted);
    let is_wanted = is_whole || (is_first && outcome.document.counters.wakeups > 0);
    if !is_wanted {
        leave_out(&alternation.directory, &side_directory(turn.side), turn);
    }
    Ok(Measured {
        recording: is_wanted.then_some(output),
        goes_on: matches!(ended, Some(EndReason::Completed | EndReason::CommandEnded)),
    })
}

/// Puts a recording that is not compared where a later comparison of the directories does not find it either.
fn leave_out(directory: &Path, side: &str, turn: Turn) {
    let aside = Directory::make(&directory.join("left-out"));
    let own = Directory::make(&directory.join(side));
    // If that fails it stays where it is, and nothing is lost.
    if let (Ok(aside), Ok(own)) = (aside, own) {
        let _ = own.hand_over(&recording_name(turn), &aside, &format!("{side}-{}", recording_name(turn)));
    }
}

/// The name of a turn's recording in its side's directory.
fn recording_name(turn: Turn) -> String {
    format!("{:02}.punctual", turn.number)
}

/// How often to check whether a command has ended.
const ROUND: Duration = Duration::from_millis(20);
/// How long a command that was told to end may take to restore something.
const GRACE: Duration = Duration::from_millis(500);

/// Runs a command to its end, or until it is interrupted. What it prints matters only if it fails. It ends with this
/// process, however that ends; what it leaves running when it has ended stays.
fn set_up(command: &str, interrupted: &dyn Fn() -> bool) -> Result<(), StudyError> {
    let failed = |why: String| StudyError::Setting(format!("`{command}` {why}"));
    let run = GuardedRun { setting: Some(command.to_owned()), ..GuardedRun::default() };
    let mut guard = Guard::start(&run).map_err(|refused| failed(format!("could not be started: {refused}")))?;
    let mut asked_to_stop = None;
    loop {
        // What it said before it went still has to be read.
        let gone = guard.is_gone();
        for event in guard.events(ROUND) {
            match event {
                _ if asked_to_stop.is_some() => {}
                GuardEvent::NotStarted { reason, .. } | GuardEvent::Refused { reason } => {
                    return Err(failed(format!("could not be started: {reason}")));
                }
                GuardEvent::Ended { code: Some(0), .. } => return Ok(()),
                GuardEvent::Ended { code, last_words, .. } => {
                    let how = code.map_or("was ended by a signal".to_owned(), |code| format!("ended with code {code}"));
                    return Err(failed(how + &last_words.map(|line| format!(": {line}")).unwrap_or_default()));
                }
                _ => {}
            }
        }
        // Ctrl-C has reached it too, and it may have something to restore. What does not end then is ended with the guard.
        if interrupted() && (gone || asked_to_stop.get_or_insert_with(Instant::now).elapsed() > GRACE) {
            return Err(StudyError::Interrupted);
        }
        if gone {
            return Err(failed("lost its guard, which was ended from outside".to_owned()));
        }
    }
}

/// Reads the recordings of a side, each in one pass.
///
/// # Errors
/// [`StudyError`] for the first that cannot be read, holds no wakeup, or is listed twice.
pub fn open_side(name: &str, paths: &[PathBuf]) -> Result<Side, StudyError> {
    let mut side = Side { name: name.to_owned(), runs: Vec::new(), inputs: Vec::new() };
    for path in paths {
        let (run, inputs) = open_run(path)?;
        let id = &run.document.provenance.run_id;
        if side.runs.iter().any(|other| other.document.provenance.run_id == *id) {
            return Err(StudyError::Setting(format!("{}: the same run is given twice", path.display())));
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
    let mut run = gather.finish().map_err(|error| StudyError::Setting(format!("{}: {error}", path.display())))?;
    if let Some(period_ns) = run.document.followed.as_ref().and_then(|followed| followed.period_ns) {
        run.cycles = recording.cycles(period_ns)?;
        // What is no loop with this period has nothing to compare.
        run.cycles.retain(|_, count| count.cycles + count.untold > 0);
    }
    let evidence = evidence::read(path, &run.document);
    (run.slow_requests, run.maybe_slow, run.causes) = (evidence.slow_requests, evidence.maybe_slow, evidence.causes);
    if let Some(activations) = read_activation_document(path)? {
        run.devices = device_settings(&activations);
        run.served = served(path, &run.document, &activations);
    }
    // Without a grid there are no devices to judge, which is no fault.
    let (tail, seconds) = recording.tail_and_seconds()?;
    let inputs = Input::from_recording(recording.document(), &tail, &seconds, recording.damaged());
    Ok((run, inputs.unwrap_or_default()))
}

/// What became of the blocks of a run's devices: how many were underruns is counted without the table of activations, which
/// says when they came.
fn served(path: &Path, document: &Document, activations: &ActivationDocument) -> Vec<Served> {
    let mut gather = GatherServed::new(activations, document.provenance.started_ns, measured_ns(document));
    let are_all = for_each_activation(path, |row| gather.take(row)).is_ok();
    gather.finish(are_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_take_turns() {
        let (mut first, mut pairs) = (0, 0);
        for seed in 0..200 {
            let turns: Vec<Turn> = Turn::all(4, 2, seed).collect();
            for (index, pair) in turns.chunks(2).enumerate() {
                assert_eq!((pair[0].number, pair[1].number), (index + 1, index + 1));
                assert_eq!(pair[0].side + pair[1].side, 1);
                (first, pairs) = (first + pair[0].side, pairs + 1);
            }
        }
        // B begins in about half of them.
        assert!(pairs == 800 && (330..470).contains(&first), "{first} of {pairs}");
    }

    #[test]
    fn every_order_of_three_sides_comes_as_often() {
        let mut orders = std::collections::BTreeMap::new();
        for seed in 0..300 {
            let turns: Vec<Turn> = Turn::all(4, 3, seed).collect();
            for (index, round) in turns.chunks(3).enumerate() {
                assert!(round.iter().all(|turn| turn.number == index + 1));
                let order: Vec<usize> = round.iter().map(|turn| turn.side).collect();
                *orders.entry(order).or_insert(0) += 1;
            }
        }
        // Six orders, each in about 200 of 1,200 rounds.
        assert!(orders.len() == 6 && orders.values().all(|often| (140..260).contains(often)), "{orders:?}");
    }
}
