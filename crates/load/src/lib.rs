//! What keeps the machine busy during a measurement.
//!
//! A [`Load`] is a name and the commands it consists of; something else runs them, ends them and cleans up, and
//! tells a [`score::Tally`] what they did. It is made from [`Source`]s:
//!
//! * the artificial classes ([`Class`]) run `stress-ng` if it is installed, and otherwise a small load built into
//!   this program ([`built_in`]), one process per class, bounded in number, memory, disk space and time;
//! * [`LoadFile`]s run real programs: those of [`shipped`], and the user's own; a `scenario` in one is typed by this
//!   program itself;
//! * job files of stress-ng.
//!
//! [`packages`] says what installs the programs that these need.

#![forbid(unsafe_code)]

pub mod built_in;
mod class;
mod command;
mod file;
mod machine;
pub mod packages;
mod scenario;
pub mod score;
pub mod shipped;
mod source;
mod written;

pub use class::{Class, UnknownClass};
pub use command::FileCommand;
pub use file::{FileError, LoadFile, Needs};
pub use machine::Machine;
pub use source::{Source, SourceError, meant, names};

use punctual_recording::{LoadInfo, NO_LOAD};
use score::{LineScore, Scored};
use std::path::PathBuf;
use std::time::Duration;

/// In arguments, stands for a directory that is made for the load and removed with it.
pub const SCRATCH: &str = "{scratch}";

/// A load: commands that run at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Its name; `none` for an idle machine.
    pub name: String,
    /// The commands.
    pub commands: Vec<LoadCommand>,
    /// What is prepared before they are started, in this order.
    pub preparations: Vec<Preparation>,
    /// How long it runs before the measurement begins.
    pub warm_up: Duration,
    /// Hours of a person's use that an hour of it stands for, times 1,000.
    pub compression_thousandths: Option<u64>,
    /// What is not as asked for.
    pub notes: Vec<String>,
}

/// What is prepared for a load, in the directory that is made for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preparation {
    /// The load.
    pub load: String,
    /// Files: name and text.
    pub files: Vec<(String, String)>,
    /// What the shell runs after that.
    pub script: Option<String>,
}

/// A command of a load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadCommand {
    /// What to call it.
    pub name: String,
    /// The program and its arguments; [`SCRATCH`] stands for a directory.
    pub words: Vec<String>,
    /// Whether nobody is interested in its output; it then runs in the load's directory.
    pub quiet: bool,
    /// Whether its end ends the measurement.
    pub ends_measurement: bool,
    /// Whether it is run again when it ends.
    pub repeat: bool,
    /// From one start to the next; `None` for as fast as it can.
    pub pace: Option<Duration>,
    /// Whether what it gets done is counted: by its output, or else by its iterations.
    pub scored: bool,
    /// How its output says what it got done.
    pub lines: Option<LineScore>,
}

/// Why a load cannot run on a machine, in one line.
#[derive(Debug, thiserror::Error)]
pub enum NotRunnable {
    /// Programs are missing.
    #[error("the load `{load}` is not installed ({missing} missing): punctual load install {install}", missing = missing.join(", "))]
    NotInstalled {
        /// The load.
        load: String,
        /// What is not there.
        missing: Vec<String>,
        /// What to write after `punctual load install`.
        install: String,
    },
    /// The machine is too small.
    #[error("the load `{load}` needs {needed}, and this machine has {has}")]
    TooSmall {
        /// The load.
        load: String,
        /// What it needs.
        needed: String,
        /// What there is.
        has: String,
    },
}

/// Longer than anybody measures: the end of a load whose measurement has no set end.
const MAX_DURATION: Duration = Duration::from_secs(30 * 86_400);
/// How long artificial load runs before the measurement begins: it reaches its full level almost at once.
const ARTIFICIAL_WARM_UP: Duration = Duration::from_millis(300);

impl Load {
    /// An idle machine.
    pub fn none() -> Load {
        Load {
            name: NO_LOAD.to_owned(),
            commands: Vec::new(),
            preparations: Vec::new(),
            warm_up: Duration::ZERO,
            compression_thousandths: None,
            notes: Vec::new(),
        }
    }

    /// What a recording says of it before it has run; its warm-up is left to who starts it.
    pub fn info(&self) -> LoadInfo {
        LoadInfo {
            name: self.name.clone(),
            commands: self.commands.iter().map(|command| command.words.clone()).collect(),
            compression_thousandths: self.compression_thousandths,
            trouble: self.notes.clone(),
            ..LoadInfo::default()
        }
    }

    /// Whether there is nothing to run.
    pub fn is_none(&self) -> bool {
        self.commands.is_empty()
    }

    /// The load that these make together, for a measurement of at most this long.
    ///
    /// # Errors
    /// [`NotRunnable`] if one of them cannot run here.
    pub fn of_sources(sources: &[Source], limit: Option<Duration>, machine: &Machine) -> Result<Load, NotRunnable> {
        let classes =
            sources.iter().filter_map(|source| if let Source::Class(class) = source { Some(*class) } else { None });
        let classes: Vec<Class> = classes.filter(|class| *class != Class::None).collect();
        let others: Vec<&Source> = sources.iter().filter(|source| !matches!(source, Source::Class(_))).collect();
        let warm_up =
            others.iter().map(|source| if let Source::File(file) = source { file.warm_up } else { ARTIFICIAL_WARM_UP });
        let warm_up = warm_up.max().unwrap_or(ARTIFICIAL_WARM_UP);
        let limit = limit.map_or(MAX_DURATION, |limit| limit.saturating_add(warm_up));
        let mut load = Load::of_classes(&classes, Some(limit), machine);
        // Several things at once imitate nobody in particular.
        let alone = sources.len() == 1;
        for source in others {
            match source {
                Source::Class(_) => {}
                Source::File(file) => {
                    load.add_file(file, machine)?;
                    load.compression_thousandths = file.compression_thousandths.filter(|_| alone);
                }
                Source::StressNgJob(path) => {
                    let program = machine.stress_ng.as_ref().ok_or_else(|| NotRunnable::NotInstalled {
                        load: source.name(),
                        missing: vec!["stress-ng".to_owned()],
                        install: path.display().to_string(),
                    })?;
                    let words = ["--job".to_owned(), path.display().to_string()].to_vec();
                    load.add(source.name(), stress_ng(program, source.name(), words, limit));
                }
            }
        }
        if !load.is_none() {
            load.warm_up = warm_up;
        }
        load.tell_names_apart();
        Ok(load)
    }

    /// The load that these classes make together, for at most this long.
    pub fn of_classes(classes: &[Class], limit: Option<Duration>, machine: &Machine) -> Load {
        let limit = limit.unwrap_or(MAX_DURATION);
        let mut load = Load::none();
        let wanted: Vec<Class> = classes.iter().copied().filter(|class| *class != Class::None).collect();
        if wanted.is_empty() {
            return load;
        }
        load.name = wanted.iter().map(|class| class.name()).collect::<Vec<_>>().join("+");
        load.warm_up = ARTIFICIAL_WARM_UP;
        let mut parts: Vec<Class> = Vec::new();
        for part in wanted.iter().flat_map(|class| class.parts()) {
            if !parts.contains(part) {
                parts.push(*part);
            }
        }
        let mixed = parts.len() > 1;
        match &machine.stress_ng {
            Some(program) => {
                let words = parts.iter().flat_map(|part| part.stress_ng_arguments(machine, mixed)).collect();
                load.commands.push(stress_ng(program, "stress-ng".to_owned(), words, limit));
            }
            None => {
                load.notes.push("stress-ng is not installed: the small built-in load ran in its place".to_owned());
                for part in parts {
                    let own = machine.own_program.display().to_string();
                    let words = [&own, built_in::SUBCOMMAND, part.name(), SCRATCH].map(str::to_owned).to_vec();
                    let command =
                        LoadCommand { name: part.name().to_owned(), words, quiet: true, ..LoadCommand::default() };
                    let copies = if part == Class::Cpu && !mixed { machine.cpus } else { 1 };
                    load.commands.extend(std::iter::repeat_n(command, copies as usize));
                }
            }
        }
        load
    }

    fn add_file(&mut self, file: &LoadFile, machine: &Machine) -> Result<(), NotRunnable> {
        file.runnable_on(machine)?;
        self.preparations.push(Preparation {
            load: file.name.clone(),
            files: file.files.clone().into_iter().collect(),
            script: file.prepare.clone(),
        });
        let before = self.commands.len();
        self.notes.extend(file.note.clone());
        for command in &file.commands {
            let run = scenario::with_own_program(&command.run, &machine.own_program);
            self.commands.push(LoadCommand {
                name: command.name.clone(),
                words: ["/bin/sh", "-c", &run].map(str::to_owned).to_vec(),
                quiet: true,
                ends_measurement: false,
                repeat: command.repeat,
                pace: command.pace,
                scored: command.repeat || command.score.is_some(),
                lines: command.score.clone(),
            });
        }
        self.name = if before == 0 { file.name.clone() } else { format!("{}+{}", self.name, file.name) };
        Ok(())
    }

    /// Adds a command of the user's, run by the shell.
    pub fn add_shell_command(&mut self, command: &str) {
        let words = ["/bin/sh", "-c", command].map(str::to_owned).to_vec();
        self.add(command.to_owned(), LoadCommand { name: command.to_owned(), words, ..LoadCommand::default() });
    }

    /// Adds a program of the user's whose end ends the measurement.
    pub fn add_program(&mut self, words: Vec<String>) {
        let name = words.first().cloned().unwrap_or_default();
        let command = LoadCommand { name, ends_measurement: true, scored: true, ..LoadCommand::default() };
        self.add(words.join(" "), LoadCommand { words, ..command });
    }

    fn add(&mut self, name: String, command: LoadCommand) {
        self.name = if self.is_none() { name } else { format!("{}+{name}", self.name) };
        self.warm_up = self.warm_up.max(ARTIFICIAL_WARM_UP);
        self.commands.push(command);
    }

    /// What runs alongside the measurement, and the program whose end ends it: that one has no warm-up.
    pub fn split(&self) -> (Load, Load) {
        let part = |ends_measurement: bool| {
            let commands = self.commands.iter().filter(|command| command.ends_measurement == ends_measurement);
            Load { commands: commands.cloned().collect(), ..self.clone() }
        };
        let mut beside = part(false);
        if beside.is_none() {
            beside.warm_up = Duration::ZERO;
        }
        (beside, Load { warm_up: Duration::ZERO, preparations: Vec::new(), ..part(true) })
    }

    /// Gives whatever is scored a name of its own, the same each time.
    fn tell_names_apart(&mut self) {
        let names: Vec<String> = self.commands.iter().map(|command| command.name.clone()).collect();
        for (index, name) in names.iter().enumerate() {
            let before = names[..index].iter().filter(|other| *other == name).count();
            if before > 0 {
                self.commands[index].name = format!("{name} {}", before + 1);
            }
        }
    }

    /// What is to be counted, by the place of the command.
    pub fn scored(&self) -> Vec<Option<Scored>> {
        let scored = |command: &LoadCommand| Scored {
            name: command.name.clone(),
            pace_ns: command.pace.map(|pace| u64::try_from(pace.as_nanos()).unwrap_or(u64::MAX)),
            lines: command.lines.clone(),
        };
        self.commands.iter().map(|command| command.scored.then(|| scored(command))).collect()
    }
}

fn stress_ng(program: &std::path::Path, name: String, mut arguments: Vec<String>, limit: Duration) -> LoadCommand {
    // Its own time limit is a second line of defence: it is ended with the measurement.
    let seconds = limit.as_secs().saturating_add(10).to_string();
    let common = ["--timeout", &seconds, "--temp-path", SCRATCH, "--oomable", "--metrics-brief"].map(str::to_owned);
    let mut words = vec![program.display().to_string()];
    words.append(&mut arguments);
    words.extend(common);
    let lines = Some(LineScore::stress_ng().clone());
    LoadCommand { name, words, quiet: true, scored: true, lines, ..LoadCommand::default() }
}

/// Which of these programs are missing; `a|b` is one of several names.
pub fn missing(programs: &[String], find: fn(&str) -> Option<PathBuf>) -> Vec<String> {
    let there = |program: &&String| program.split('|').any(|name| find(name.trim()).is_some());
    programs.iter().filter(|program| !there(program)).map(|program| program.replace('|', " or ")).collect()
}

impl LoadFile {
    /// The programs that it needs and that are missing.
    pub fn missing(&self, find: fn(&str) -> Option<PathBuf>) -> Vec<String> {
        missing(&self.needs.programs, find)
    }

    fn runnable_on(&self, machine: &Machine) -> Result<(), NotRunnable> {
        let missing = self.missing(machine.find_program);
        if !missing.is_empty() {
            let install = self.path.clone().unwrap_or_else(|| self.name.clone());
            return Err(NotRunnable::NotInstalled { load: self.name.clone(), missing, install });
        }
        let too_small =
            |needed: String, has: String| Err(NotRunnable::TooSmall { load: self.name.clone(), needed, has });
        let memory_mib = machine.memory_bytes >> 20;
        if self.needs.memory_mib > memory_mib {
            return too_small(format!("{} MiB of memory", self.needs.memory_mib), format!("{memory_mib} MiB"));
        }
        if self.needs.cpus > machine.cpus {
            return too_small(format!("{} CPUs", self.needs.cpus), machine.cpus.to_string());
        }
        if self.needs.display && !machine.has_display {
            return too_small("a display".to_owned(), "none (DISPLAY and WAYLAND_DISPLAY are not set)".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
