//! What keeps the machine busy during a measurement.
//!
//! A [`Load`] is a name and the commands it consists of; something else runs them, ends them and cleans up.
//! The classes run `stress-ng` where it is installed, and otherwise a small load built into this program
//! ([`built_in`]), one process a class. All are bounded in number, memory, disk space and time.

pub mod built_in;
mod class;

pub use class::{Class, UnknownClass};

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
    /// What is not as it was asked for.
    pub notes: Vec<String>,
}

/// A command of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadCommand {
    /// The program and its arguments; [`SCRATCH`] stands for a directory.
    pub words: Vec<String>,
    /// Whether its output is of interest to nobody.
    pub quiet: bool,
    /// Whether its end ends the measurement.
    pub ends_measurement: bool,
}

/// The machine that is to be kept busy.
#[derive(Debug, Clone)]
pub struct Machine {
    /// How many CPUs it has.
    pub cpus: u32,
    /// Its memory, bytes.
    pub memory_bytes: u64,
    /// `stress-ng`, where it is installed.
    pub stress_ng: Option<PathBuf>,
    /// This program, for the built-in load.
    pub own_program: PathBuf,
    /// Where a block of 16 network ports for the load begins.
    pub first_port: u16,
}

/// Longer than anybody measures; a load whose measurement has no set end is ended by then.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

impl Load {
    /// An idle machine.
    pub fn none() -> Load {
        Load { name: "none".to_owned(), commands: Vec::new(), notes: Vec::new() }
    }

    /// Whether there is nothing to run.
    pub fn is_none(&self) -> bool {
        self.commands.is_empty()
    }

    /// The load of these classes together, for at most this long.
    pub fn of_classes(classes: &[Class], limit: Option<Duration>, machine: &Machine) -> Load {
        let limit = limit.unwrap_or(LONGEST);
        let mut load = Load::none();
        let wanted: Vec<Class> = classes.iter().copied().filter(|class| *class != Class::None).collect();
        if wanted.is_empty() {
            return load;
        }
        load.name = wanted.iter().map(|class| class.name()).collect::<Vec<_>>().join("+");
        let mut parts: Vec<Class> = Vec::new();
        for part in wanted.iter().flat_map(|class| class.parts()) {
            if !parts.contains(part) {
                parts.push(*part);
            }
        }
        let mixed = parts.len() > 1;
        match &machine.stress_ng {
            Some(program) => {
                let mut words = vec![program.display().to_string()];
                for part in parts {
                    words.extend(part.stress_ng_arguments(machine, mixed));
                }
                // Its own time limit is a second line of defence: it is ended with the measurement.
                let seconds = limit.as_secs().saturating_add(10).to_string();
                words.extend(["--timeout", &seconds, "--temp-path", SCRATCH, "--oomable"].map(str::to_owned));
                load.commands.push(LoadCommand { words, quiet: true, ends_measurement: false });
            }
            None => {
                load.notes.push("stress-ng is not installed: the small built-in load ran in its place".to_owned());
                for part in parts {
                    let own = machine.own_program.display().to_string();
                    let words = [&own, built_in::SUBCOMMAND, part.name(), SCRATCH].map(str::to_owned).to_vec();
                    let copies = if part == Class::Cpu && !mixed { machine.cpus } else { 1 };
                    for _ in 0..copies {
                        load.commands.push(LoadCommand { words: words.clone(), quiet: true, ends_measurement: false });
                    }
                }
            }
        }
        load
    }

    /// Adds a command of the user's, run by the shell.
    pub fn add_shell_command(&mut self, command: &str) {
        let words = ["/bin/sh", "-c", command].map(str::to_owned).to_vec();
        self.add(command.to_owned(), LoadCommand { words, quiet: false, ends_measurement: false });
    }

    /// Adds a program of the user's whose end ends the measurement.
    pub fn add_program(&mut self, words: Vec<String>) {
        self.add(words.join(" "), LoadCommand { words, quiet: false, ends_measurement: true });
    }

    fn add(&mut self, name: String, command: LoadCommand) {
        self.name = if self.is_none() { name } else { format!("{}+{name}", self.name) };
        self.commands.push(command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(stress_ng: bool) -> Machine {
        Machine {
            cpus: 2,
            memory_bytes: 8 << 30,
            stress_ng: stress_ng.then(|| "/usr/bin/stress-ng".into()),
            own_program: "/bin/punctual".into(),
            first_port: 20_000,
        }
    }

    #[test]
    fn classes_are_named_joined_and_bounded() {
        let load = Load::of_classes(&[Class::Cpu, Class::Disk], Some(Duration::from_secs(5)), &machine(true));
        assert_eq!(load.name, "cpu+disk");
        assert_eq!(load.commands.len(), 1);
        let words = &load.commands[0].words;
        assert!(words.windows(2).any(|pair| pair == ["--timeout", "15"]), "{words:?}");
        assert!(words.windows(2).any(|pair| pair == ["--temp-path", SCRATCH]), "{words:?}");
        assert!(words.contains(&"--hdd-bytes".to_owned()));
    }

    #[test]
    fn nothing_is_nothing() {
        assert!(Load::of_classes(&[Class::None], None, &machine(true)).is_none());
        assert_eq!(Load::of_classes(&[], None, &machine(true)).name, "none");
    }

    #[test]
    fn without_stress_ng_the_built_in_load_runs_and_says_so() {
        let load = Load::of_classes(&[Class::Mixed, Class::Cpu], None, &machine(false));
        assert_eq!(load.name, "mixed+cpu");
        assert_eq!(load.commands.len(), Class::Mixed.parts().len());
        assert!(load.notes[0].contains("built-in"));
        for part in Class::Mixed.parts() {
            assert!(load.commands.iter().any(|command| command.words[2] == part.name()), "{part:?}");
        }
    }

    #[test]
    fn a_users_commands_are_named_by_themselves() {
        let mut load = Load::none();
        load.add_program(vec!["make".into(), "-j2".into()]);
        load.add_shell_command("true");
        assert_eq!(load.name, "make -j2+true");
        assert!(load.commands[0].ends_measurement && !load.commands[1].ends_measurement);
    }
}
