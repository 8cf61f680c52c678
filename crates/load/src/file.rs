//! Load files: how to describe a load of real programs. Format: docs/loads.md.

use crate::command::FileCommand;
use crate::packages::Packages;
use crate::scenario::{AsLoad, Scenario};
use crate::score::LineScore;
use punctual_recording::{BareUnit, is_control, parse_duration};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;

/// A load that was read from a file and can be run.
#[derive(Debug, Clone)]
pub struct LoadFile {
    /// Its name: that of the file without the ending.
    pub name: String,
    /// The file as it was named, if it is not one that comes with the program.
    pub path: Option<String>,
    /// The file's text.
    pub text: String,
    /// What it is, in a line.
    pub about: String,
    /// Hours of a person's use that an hour of it stands for, times 1,000.
    pub compression_thousandths: Option<u64>,
    /// Why that is not known, if it ought to be.
    pub note: Option<String>,
    /// How long it runs before the measurement begins.
    pub warm_up: Duration,
    /// A shell script that is run before the commands, in the directory that is made for the load.
    pub prepare: Option<String>,
    /// What the machine must have.
    pub needs: Needs,
    /// What installs the programs.
    pub packages: Packages,
    /// Files that are written into the directory of the load: name and text.
    pub files: BTreeMap<String, String>,
    /// The commands, run at the same time.
    pub commands: Vec<FileCommand>,
}

/// What the machine must have for a load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Needs {
    /// Programs; `a|b` is one of several names.
    pub programs: Vec<String>,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// CPUs.
    pub cpus: u32,
    /// Whether it shows something on the user's own display.
    pub display: bool,
}

/// A load file that cannot be used, in one line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FileError(String);

/// The warm-up if a file does not say how long its load takes to get going.
const WARM_UP: Duration = Duration::from_secs(2);
/// If it were longer, somebody would wonder what the program is doing.
const MAX_WARM_UP: Duration = Duration::from_secs(600);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    about: String,
    compression: Option<f64>,
    warm_up: Option<Span>,
    prepare: Option<String>,
    #[serde(default)]
    needs: Needs,
    #[serde(default)]
    packages: Packages,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    command: Vec<WrittenCommand>,
    scenario: Option<Scenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCommand {
    name: String,
    run: String,
    #[serde(default = "yes")]
    repeat: bool,
    pace: Option<Span>,
    score: Option<WrittenScore>,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenScore {
    unit: String,
    #[serde(rename = "match")]
    pattern: String,
}

/// A duration such as `"10s"`.
struct Span(Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        let text = String::deserialize(deserializer)?;
        let nanoseconds = parse_duration(&text, BareUnit::Seconds).map_err(serde::de::Error::custom)?;
        Ok(Span(Duration::from_nanos(nanoseconds)))
    }
}

impl LoadFile {
    /// Reads a load file's text. `file` names it in errors, `name` is the load's.
    ///
    /// # Errors
    /// One line with file, line and what is wrong.
    pub fn parse(file: &str, name: &str, text: &str) -> Result<LoadFile, FileError> {
        let written: Written = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            let what = error.message().lines().collect::<Vec<_>>().join(" ");
            FileError(format!("{file}:{line}: {what}"))
        })?;
        let wrong = |what: String| FileError(format!("{file}: {what}"));
        if name.is_empty() || name.contains(|c: char| is_control(c) || "+,".contains(c)) {
            return Err(wrong(format!("`{name}` cannot name a load: it must not contain `+` or `,`")));
        }
        let compression_thousandths = written.compression.map(thousandths).transpose().map_err(wrong)?;
        let warm_up = written.warm_up.map_or(WARM_UP, |span| span.0);
        if warm_up > MAX_WARM_UP {
            return Err(wrong("warm_up is longer than 10 minutes".to_owned()));
        }
        for path in written.files.keys() {
            let harmless = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
            if path.is_empty() || !harmless {
                return Err(wrong(format!("files: `{path}` is not within the load's own directory")));
            }
        }
        let scenario = written.scenario.map(|scenario| scenario.as_load(Path::new(file))).transpose().map_err(wrong)?;
        let commands = match &scenario {
            Some(_) if !written.command.is_empty() || compression_thousandths.is_some() => {
                let what = "with a [scenario] it has no [[command]], and its compression is measured";
                return Err(wrong(what.to_owned()));
            }
            Some(scenario) => vec![scenario.command.clone()],
            None => all_checked(written.command).map_err(wrong)?,
        };
        let measured = scenario.as_ref().and_then(|scenario| scenario.compression.clone().ok());
        let compression_thousandths = compression_thousandths.or(measured);
        Ok(LoadFile {
            name: name.to_owned(),
            path: None,
            text: text.to_owned(),
            about: written.about,
            compression_thousandths,
            note: scenario.as_ref().and_then(AsLoad::note),
            warm_up,
            prepare: written.prepare,
            needs: written.needs,
            packages: written.packages,
            files: written.files,
            commands,
        })
    }

    /// Reads a load file of the user's.
    ///
    /// # Errors
    /// One line: why it cannot be read, or what is wrong where in it.
    pub fn open(path: &Path) -> Result<LoadFile, FileError> {
        let shown = path.display().to_string();
        let text = punctual_recording::input::read_text(path).map_err(|error| {
            let what = match error.kind() {
                std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
                _ => error.to_string(),
            };
            FileError(format!("{shown}: {what}"))
        })?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(LoadFile { path: Some(shown.clone()), ..LoadFile::parse(&shown, &name, &text)? })
    }
}

fn all_checked(written: Vec<WrittenCommand>) -> Result<Vec<FileCommand>, String> {
    if written.is_empty() {
        return Err("it has no command: write at least one [[command]], or a [scenario]".to_owned());
    }
    let mut commands: Vec<FileCommand> = Vec::new();
    for command in written {
        let command = checked(command)?;
        if commands.iter().any(|other| other.name == command.name) {
            return Err(format!("two commands are named `{}`", command.name));
        }
        commands.push(command);
    }
    Ok(commands)
}

fn thousandths(compression: f64) -> Result<u64, String> {
    let thousandths = (compression * 1_000.0).round();
    if (1.0..=1e9).contains(&thousandths) {
        return Ok(thousandths as u64);
    }
    Err(format!("compression is {compression}: give the hours of use that an hour of load stands for, such as 10"))
}

fn checked(command: WrittenCommand) -> Result<FileCommand, String> {
    let WrittenCommand { name, run, repeat, pace, score } = command;
    if name.is_empty() || name.contains(is_control) || run.trim().is_empty() {
        return Err(format!("command `{name}`: its name and what it runs must not be empty"));
    }
    if pace.is_some() && !repeat {
        return Err(format!("command `{name}`: only a repeated command has a pace"));
    }
    if pace.as_ref().is_some_and(|pace| pace.0 < Duration::from_millis(1)) {
        return Err(format!("command `{name}`: the pace must be at least 1ms"));
    }
    let score = score.map(|score| LineScore::new(&score.unit, &score.pattern)).transpose();
    let score = score.map_err(|what| format!("command `{name}`: score: {what}"))?;
    Ok(FileCommand { name, run, repeat, pace: pace.map(|pace| pace.0), score })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "about = \"nothing\"\n[[command]]\nname = \"nothing\"\nrun = \"true\"\npace = \"100ms\"\n";

    fn refusal(text: &str) -> String {
        LoadFile::parse("mine.toml", "mine", text).unwrap_err().to_string()
    }

    #[test]
    fn a_small_file_has_sensible_defaults() {
        let file = LoadFile::parse("mine.toml", "mine", SMALL).unwrap();
        assert_eq!((file.warm_up, file.compression_thousandths), (WARM_UP, None));
        let command = &file.commands[0];
        assert!(command.repeat && command.score.is_none());
        assert_eq!(command.pace, Some(Duration::from_millis(100)));
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line_with_its_place() {
        let unknown = refusal(&SMALL.replace("pace", "pase"));
        assert!(unknown.starts_with("mine.toml:5: unknown field `pase`"), "{unknown}");
        assert!(refusal(&format!("frobs = 1\n{SMALL}")).starts_with("mine.toml:1: unknown field `frobs`"));
        assert!(refusal(&SMALL.replace("100ms", "soon")).starts_with("mine.toml:5: `soon` is not a duration"));
        assert!(refusal("about = \"x\"\ncommand = []\n").contains("no command"));
        assert!(refusal("about = \"x\"\n").contains("command"));
        let scenario = "[scenario]\nscript = \"vim\"\nprogram = [\"vim\"]\n";
        assert!(refusal(&format!("{SMALL}{scenario}")).contains("it has no [[command]]"));
        assert!(refusal(&format!("about = \"x\"\n{scenario}speed = 3\n")).contains("unknown field `speed`"));
        assert!(refusal(&format!("compression = 0\n{SMALL}")).contains("compression"));
        assert!(refusal(&format!("{SMALL}repeat = false\n")).contains("pace"));
        assert!(refusal(&format!("{SMALL}score = {{ unit = \"x\", match = '(' }}\n")).contains("score"));
        assert!(refusal(&format!("{SMALL}score = {{ unit = \"x\", match = 'a' }}\n")).contains("count"));
        assert!(refusal(&format!("{SMALL}[files]\n\"../a\" = \"\"\n")).contains("own directory"));
        assert!(refusal(&format!("{SMALL}{}", &SMALL[SMALL.find('[').unwrap()..])).contains("two commands"));
        for text in ["", "[[command", "about = 1\n", "\u{0}"] {
            assert_eq!(refusal(text).lines().count(), 1, "{text:?}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_one_line() {
        let error = LoadFile::open(Path::new("no/such.toml")).unwrap_err().to_string();
        assert_eq!(error, "no/such.toml: there is no such file");
    }
}
