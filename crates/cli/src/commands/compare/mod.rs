//! `punctual compare`.

pub(super) mod inputs;
mod loads;

use super::artifacts::Artifacts;
use crate::args::{CompareArguments, MeasuringArguments, Settings, SideOptions, SideSetting};
use crate::output::{self, Output, Usage};
use crate::progress::InParts;
use crate::signals::Interrupted;
use punctual_comparison::{Comparison, Overall, Run, Side, Standing};
use punctual_device::{Catalogue, Origin, Profile};
use punctual_load::{Load, NotRunnable, Source};
use punctual_probe::Plan;
use punctual_recording::{Recording, counted, printable, printable_path};
use punctual_report::compare::{CompareSidesAnswer, comparison_page, several_page, several_text};
use punctual_report::recording::{MAX_HISTORIES, Recorded};
use punctual_report::shell_word;
use punctual_study::{Alternated, Alternation, SidePlan, StudyError, open_side, side_directory};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn run(arguments: &CompareArguments, output: Output) -> anyhow::Result<u8> {
    super::artifacts::check_page(arguments.html.as_ref())?;
    if arguments.sides.len() > MAX_SIDES {
        return Err(Usage(format!("{} sides: compare takes {MAX_SIDES} at most", arguments.sides.len())).into());
    }
    let devices = devices(&arguments.device)?;
    let taken = match arguments.repeat {
        Some(repeats) => measure(&arguments.measuring, repeats as usize)?,
        None => {
            let written: Vec<Written> = arguments.sides.iter().map(|side| Written::of(side)).collect();
            if punctual_study::are_of_inputs(written.iter().flat_map(|side| &side.paths))? {
                return inputs::run(arguments, &written, output);
            }
            let opened: Vec<Opened> =
                written.into_iter().map(|side| Opened::open(&side.name, side.paths)).collect::<Result<_, _>>()?;
            loads::refuse_mixed(&opened)?;
            Taken { opened, clear: None, trouble: None }
        }
    };
    if taken.opened.len() > 2 {
        // With several sides each device takes a row for each, so only the devices that the user named are shown.
        let asked = if arguments.device.is_empty() { &[][..] } else { &devices };
        return several(arguments, asked, &taken, output);
    }
    pair(arguments, &devices, &taken, output)
}

/// The sides, and how their measurements ended.
struct Taken {
    opened: Vec<Opened>,
    /// After how many repeats the verdict was clear, and how many were planned.
    clear: Option<(usize, usize)>,
    trouble: Option<StudyError>,
}

impl Taken {
    /// Notes on how the measurements ended: one for before the sides, one for after them.
    fn notes(&self) -> (Option<String>, Option<String>) {
        let before = self.trouble.as_ref().map(|error| {
            format!("{error}: only what was measured until then is compared, not everything you asked for")
        });
        let after = self.clear.map(|(after, repeats)| {
            format!(
                "stopped after {after} of {}: the intervals, which hold together with {} % probability, showed a difference",
                counted(repeats as u64, "repeat"),
                100.0 * punctual_comparison::INTERIM_CONFIDENCE
            )
        });
        (before, after)
    }

    fn code(&self) -> u8 {
        u8::from(self.trouble.is_some())
    }

    /// Where the runs of each side are.
    fn runs(&self) -> impl Iterator<Item = &[PathBuf]> {
        self.opened.iter().map(|opened| &opened.paths[..])
    }
}

/// The exit code that `--exit-code` asks for: 2 if a side is worse in anything, 1 if there is no verdict on it, which does not
/// mean that it is no worse.
fn outcome_code(standing: Standing, outcome: Overall) -> u8 {
    match (standing, outcome) {
        (Standing::Systems, Overall::Worse | Overall::Mixed) => 2,
        (Standing::Systems, Overall::Better | Overall::NoDifference) => 0,
        _ => 1,
    }
}

/// One side compared with another.
fn pair(arguments: &CompareArguments, devices: &[Profile], taken: &Taken, output: Output) -> anyhow::Result<u8> {
    let (a, b) = (&taken.opened[0].side, &taken.opened[1].side);
    let mut comparison: Comparison = punctual_comparison::compare(a, b, devices)?;
    let (before, after) = taken.notes();
    comparison.notes.splice(0..0, before);
    comparison.notes.extend(after);
    let first = [a, b].map(|side| side.runs.first().map(|run| &run.document));
    let evidence = taken.opened[1].evidence();
    let evidence = evidence.as_deref();
    let next = arguments.repeat.map_or_else(
        || {
            let directories = directories(&arguments.sides, taken.runs());
            let directories = [0, 1].map(|side| directories.get(side).and_then(Option::as_deref));
            punctual_report::after_comparison(&comparison, first, directories, evidence, None)
        },
        |_| punctual_report::after_comparison(&comparison, first, [None; 2], evidence, Some(&again)),
    );
    let (mut code, mut artifacts) = (taken.code(), Artifacts::default());
    if arguments.exit_code {
        code = code.max(outcome_code(comparison.standing, comparison.overall()));
    }
    if let Some(path) = &arguments.html {
        let page = comparison_page(&comparison, a, b, &next, &over_time(&taken.opened));
        code = code.max(artifacts.write(path, page.html()?));
    }
    if output.json {
        let answer = punctual_report::compare::CompareAnswer::new(&comparison, next, code);
        output::answer_beside(artifacts.failure(), answer, 0);
    } else {
        let next = punctual_report::next_text(&next);
        output::print_text(&format!("{}\n{next}", punctual_report::compare::text(&comparison)));
    }
    Ok(code)
}

/// This same command with this many repeats, into a new directory.
fn again(repeats: usize) -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = repeated(words, repeats).iter().map(|word| shell_word(&printable(word))).collect();
    format!("sudo punctual {}", words.join(" "))
}

/// The words of a command line with another number of repeats, and without the names of the files that it wrote.
fn repeated(mut words: impl Iterator<Item = String>, repeats: usize) -> Vec<String> {
    let mut changed = Vec::new();
    while let Some(word) = words.next() {
        match word.split_once('=').map_or(word.as_str(), |(option, _)| option) {
            "--repeat" => changed.extend(["--repeat".to_owned(), repeats.to_string()]),
            "-o" | "--output" | "--html" | "--export-markdown" => {}
            // The value is attached to the option.
            option if option.starts_with("-o") => continue,
            _ => {
                changed.push(word);
                continue;
            }
        }
        if !word.contains('=') {
            words.next();
        }
    }
    changed
}

/// As many sides as there are letters to name them.
const MAX_SIDES: usize = 26;

/// Several sides, each compared with the first, with a shared error rate.
fn several(arguments: &CompareArguments, devices: &[Profile], taken: &Taken, output: Output) -> anyhow::Result<u8> {
    let sides: Vec<&Side> = taken.opened.iter().map(|opened| &opened.side).collect();
    let mut found = punctual_comparison::compare_several(sides[0], &sides[1..], devices)?;
    // The notes concern all sides, and so each pair.
    let (before, after) = taken.notes();
    for shared in &mut found {
        shared.comparison.notes.splice(0..0, before.clone());
        shared.comparison.notes.extend(after.clone());
    }
    let next = if arguments.repeat.is_some() {
        let made: Vec<String> = taken.opened.iter().filter_map(Opened::place).collect();
        punctual_report::after_comparisons(&found, &made, &[], Some(&again))
    } else {
        let named: Vec<String> = arguments.sides.iter().map(|side| printable_path(side)).collect();
        punctual_report::after_comparisons(&found, &named, &directories(&arguments.sides, taken.runs()), None)
    };
    let (mut code, mut artifacts) = (taken.code(), Artifacts::default());
    if arguments.exit_code {
        let codes = found.iter().map(|shared| outcome_code(shared.comparison.standing, shared.comparison.overall()));
        code = codes.fold(code, u8::max);
    }
    if let Some(path) = &arguments.html {
        code = code.max(artifacts.write(path, several_page(&found, &sides, &next, &over_time(&taken.opened)).html()?));
    }
    if output.json {
        output::answer_beside(artifacts.failure(), CompareSidesAnswer::new(&found, next, code), 0);
    } else {
        output::print_text(&format!("{}\n{}", several_text(&found), punctual_report::next_text(&next)));
    }
    Ok(code)
}

fn devices(specs: &[String]) -> Result<Vec<Profile>, Usage> {
    let catalogue = Catalogue::shipped();
    if specs.is_empty() {
        return Ok(punctual_study::usual_devices());
    }
    let named = |spec: &String| -> Result<Profile, Usage> {
        let mut device = catalogue.parse_spec(spec).map_err(|error| Usage(error.to_string()))?;
        device.origin = Origin::Named;
        Ok(device)
    };
    specs.iter().map(named).collect()
}

/// A side, and where its runs are.
struct Opened {
    side: Side,
    paths: Vec<PathBuf>,
}

impl Opened {
    fn open(name: &str, paths: Vec<PathBuf>) -> Result<Opened, StudyError> {
        Ok(Opened { side: open_side(name, &paths)?, paths })
    }

    /// The path of the recording that kept most evidence of what was late; `None` if none kept any.
    fn evidence(&self) -> Option<String> {
        let kept = |run: &Run| {
            run.document.recorder.as_ref().map_or(0, |recorder| recorder.kept.saturating_sub(recorder.void))
        };
        let runs = self.side.runs.iter().map(kept).zip(&self.paths);
        let (kept, path) = runs.max_by_key(|(kept, _)| *kept)?;
        (kept > 0).then(|| printable_path(path))
    }

    /// The directory of a side that this command measured.
    fn place(&self) -> Option<String> {
        Some(printable_path(self.paths.first()?.parent()?))
    }
}

/// The directory that holds the runs of a side that was given so: that directory, or several recordings in one.
fn directory_of(paths: &[PathBuf], given: &Path) -> Option<String> {
    let directory = paths.first()?.parent().filter(|parent| !parent.as_os_str().is_empty())?;
    let is_of_all = paths.iter().all(|path| path.parent() == Some(directory));
    (is_of_all && (paths.len() > 1 || directory == given)).then(|| printable_path(directory))
}

/// The directories of the sides that were given so, and have their runs there.
fn directories<'a>(given: &[PathBuf], runs: impl IntoIterator<Item = &'a [PathBuf]>) -> Vec<Option<String>> {
    given.iter().zip(runs).map(|(given, paths)| directory_of(paths, given)).collect()
}

/// What is drawn over time: the runs of both sides in turn, as many as fit on a page. A run that cannot be drawn does
/// not affect the verdict.
fn over_time(opened: &[Opened]) -> Vec<Recorded> {
    let mut runs: Vec<(usize, String, &Path)> = Vec::new();
    for (side, label) in opened.iter().zip('A'..) {
        let several = side.paths.len() > 1;
        runs.extend(side.paths.iter().enumerate().map(|(index, path)| {
            let name = if several { format!("{label}, run {}", index + 1) } else { label.to_string() };
            (index, name, path.as_path())
        }));
    }
    runs.sort_by_key(|(index, ..)| *index);
    let drawn = runs.into_iter().take(MAX_HISTORIES).filter_map(|(_, name, path)| {
        let read = Recording::open(path).map_err(Into::into);
        let read = read.and_then(|recording| super::report::read_through(&recording, name));
        read.map(|(recorded, _)| recorded)
            .map_err(|error| output::note(&format!("not drawn over time: {error:#}")))
            .ok()
    });
    drawn.collect()
}

/// A side on disk.
struct Written {
    name: String,
    paths: Vec<PathBuf>,
}

impl Written {
    /// A recording, a directory of them, or several joined by commas, with its name in front if it has one.
    fn of(written: &Path) -> Written {
        let split = written.to_str().filter(|_| !written.exists()).and_then(|text| text.split_once('='));
        let (name, path) = match split {
            Some((name, path)) if !name.is_empty() && !name.contains('/') => (printable(name), Path::new(path)),
            _ => (printable_path(written), written),
        };
        let paths = match path.to_str() {
            Some(list) if !path.exists() && list.contains(',') => {
                list.split(',').filter(|part| !part.is_empty()).map(PathBuf::from).collect()
            }
            _ => vec![path.to_owned()],
        };
        Written { name, paths: super::expand(&paths) }
    }
}

/// Measures all sides in turn.
fn measure(arguments: &MeasuringArguments, repeats: usize) -> anyhow::Result<Taken> {
    let sides = sides(arguments)?;
    let directory = arguments.output.clone().unwrap_or_else(|| super::fresh_name("compare-", ""));
    let alternation = Alternation {
        repeats,
        ends_when_clear: !arguments.all_repeats,
        sides,
        ignore_failure: arguments.ignore_failure,
        directory: directory.clone(),
    };
    let interrupted = Interrupted::watch();
    let mut progress = InParts::new(arguments.threads.quiet);
    let total = alternation.sides.len() * repeats;
    let mut turns = 0;
    let result = punctual_study::alternate(
        &alternation,
        &mut |turn, observation| {
            let what = || {
                turns += 1;
                format!("{turns}/{total} {}", side_directory(turn.side).to_uppercase())
            };
            progress.show(turn, what, observation);
            interrupted.step()
        },
        &|| interrupted.is_set(),
    );
    progress.done();
    let Alternated { made, trouble, clear_after } = result?;
    anyhow::ensure!(
        made.iter().all(|side| !side.is_empty()),
        "interrupted before {} were measured: the recordings so far are in {}",
        if made.len() == 2 { "both sides" } else { "all sides" },
        directory.display()
    );
    let clear = clear_after.map(|after| (after, repeats));
    Ok(Taken { opened: open(arguments, &directory, made)?, clear, trouble })
}

/// What makes each side, and what runs alongside it.
fn settings(arguments: &MeasuringArguments) -> Result<Vec<Settings<'_>>, Usage> {
    arguments
        .settings()
        .map_err(|letter| Usage(format!("--{letter} is missing: sides are A, B, C and so on, with none left out")))
}

/// What is measured, and what runs before and alongside the runs of each side.
fn sides(arguments: &MeasuringArguments) -> anyhow::Result<Vec<SidePlan>> {
    let side = |label: String, settings: &[SideSetting], meanwhile: &[String]| -> anyhow::Result<SidePlan> {
        let before: Vec<&str> = settings
            .iter()
            .filter(|setting| matches!(setting, SideSetting::Command(_)))
            .map(SideSetting::words)
            .collect();
        if before.len() > 1 {
            return Err(Usage(format!("--{label} takes one command: join them, `{}`", before.join(" && "))).into());
        }
        let own: Vec<&SideOptions> = settings
            .iter()
            .filter_map(|setting| if let SideSetting::Options(_, options) = setting { Some(&**options) } else { None })
            .collect();
        let load = load(arguments, &own, meanwhile)?;
        Ok(SidePlan { plan: plan(arguments, &own)?, before: before.first().map(|&command| command.to_owned()), load })
    };
    let said = settings(arguments)?;
    said.into_iter()
        .enumerate()
        .map(|(number, (before, meanwhile))| side(side_directory(number), before, meanwhile))
        .collect()
}

/// What is measured on a side with options of its own, which take precedence over the shared ones.
fn plan(arguments: &MeasuringArguments, own: &[&SideOptions]) -> Result<Plan, Usage> {
    let (mut threads, mut policy) = (arguments.threads.clone(), arguments.policy);
    for options in own {
        if !options.priority.is_empty() {
            threads.priority.clone_from(&options.priority);
        }
        threads.cpus = options.cpus.clone().or(threads.cpus);
        threads.no_bpf |= options.no_bpf;
        threads.no_power_request |= options.no_power_request;
        policy = options.policy.unwrap_or(policy);
    }
    let mut plan = super::record::plan_of_chain(&threads, policy, arguments.via)?;
    plan.duration_ns = Some(arguments.duration);
    Ok(plan)
}

/// What keeps the machine busy during the runs of a side.
fn load(arguments: &MeasuringArguments, own: &[&SideOptions], meanwhile: &[String]) -> Result<Load, NotRunnable> {
    let sources: Vec<Source> =
        arguments.load.iter().chain(own.iter().flat_map(|options| &options.load)).cloned().collect();
    let limit = Some(Duration::from_nanos(arguments.duration));
    let mut load = Load::of_sources(&sources, limit, &punctual_study::local_machine())?;
    for command in arguments.load_command.iter().chain(meanwhile) {
        load.add_shell_command(command);
    }
    Ok(load)
}

/// Opens the recordings, each side under a name that says what was set on it.
fn open(arguments: &MeasuringArguments, directory: &Path, made: Vec<Vec<PathBuf>>) -> anyhow::Result<Vec<Opened>> {
    let sides = made.into_iter().zip(settings(arguments)?).enumerate().map(|(number, (paths, (before, meanwhile)))| {
        let words: Vec<&str> =
            before.iter().map(SideSetting::words).chain(meanwhile.iter().map(String::as_str)).collect();
        let place = printable_path(&directory.join(side_directory(number)));
        let name = if words.is_empty() { place } else { format!("{place} ({})", words.join("; ")) };
        Opened::open(&name, paths)
    });
    Ok(sides.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_rests_on_the_outcome_in_the_answer() {
        let too_few = Standing::TooFewRuns { more: [1, 1] };
        for (standing, outcome, expected) in [
            (Standing::Systems, Overall::Better, 0),
            (Standing::Systems, Overall::NoDifference, 0),
            (Standing::Systems, Overall::Worse, 2),
            (Standing::Systems, Overall::Mixed, 2),
            (too_few, Overall::Worse, 1),
            (too_few, Overall::Better, 1),
        ] {
            assert_eq!(outcome_code(standing, outcome), expected, "{standing:?} {outcome:?}");
        }
    }

    #[test]
    fn a_comparison_is_measured_again_as_it_was_with_more_repeats() {
        for (given, expected) in [
            ("compare --repeat 2 --a -p_60 --b -p_90", "compare --repeat 10 --a -p_60 --b -p_90"),
            ("compare -D 2s --repeat=2 -o made --html x.html", "compare -D 2s --repeat 10"),
            ("compare --repeat 2 --export-markdown x.md --json --export-markdown=y.md", "compare --repeat 10 --json"),
            ("compare --output=made --repeat 2 -omade --json", "compare --repeat 10 --json"),
        ] {
            let words = given.split(' ').map(str::to_owned);
            assert_eq!(repeated(words, 10).join(" "), expected, "{given}");
        }
    }
}
