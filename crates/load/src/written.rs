//! Artificial loads written as load files, to be shown, copied and changed.

use crate::score::STRESS_NG_METRICS;
use crate::{Class, FileError, LoadFile, Machine, Source};
use punctual_recording::is_control;

impl Class {
    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Class::None => "Nothing: an idle machine",
            Class::Cpu => "Artificial: arithmetic on every CPU",
            Class::Memory => "Artificial: writing to much memory",
            Class::Disk => "Artificial: writing files",
            Class::Network => "Artificial: packets through the loopback interface",
            Class::Fork => "Artificial: making and ending processes",
            Class::Syscall => "Artificial: system calls",
            Class::Timer => "Artificial: timers at a high rate",
            Class::Mixed => "Artificial: one of each",
        }
    }
}

impl Source {
    /// The class as a load file that does the same; `None` for an idle machine.
    ///
    /// # Errors
    /// What a load file cannot contain.
    pub fn written(&self, machine: &Machine) -> Result<Option<LoadFile>, FileError> {
        let (about, arguments) = match self {
            Source::File(file) => return Ok(Some((**file).clone())),
            Source::Class(Class::None) => return Ok(None),
            Source::Class(class) => {
                let mixed = class.parts().len() > 1;
                let words = class.parts().iter().flat_map(|part| part.stress_ng_arguments(machine, mixed));
                (class.about().to_owned(), words.collect::<Vec<_>>().join(" "))
            }
            Source::StressNgJob(path) => {
                let shown = path.display().to_string();
                (format!("The jobs of {shown}"), format!("--job {}", for_the_shell(&shown)))
            }
        };
        let text = format!(
            "about = {}\nwarm_up = \"300ms\"\n\n[needs]\nprograms = [\"stress-ng\"]\n\n[packages]\n\
             apt = [\"stress-ng\"]\ndnf = [\"stress-ng\"]\npacman = [\"stress-ng\"]\n\n[[command]]\nname = \"stress-ng\"\n\
             run = {}\nrepeat = false\nscore = {{ unit = \"bogo operations\", match = '{STRESS_NG_METRICS}' }}\n",
            for_toml(&about),
            for_toml(&format!("exec stress-ng {arguments} --temp-path . --oomable --metrics-brief")),
        );
        // A path may hold what no name of a load may.
        let name = self.name().replace(|character: char| is_control(character) || "+,".contains(character), "-");
        LoadFile::parse(&name, &name, &text).map(Some)
    }
}

/// A word quoted for a shell, whatever it contains.
pub(crate) fn for_the_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A text quoted for TOML.
fn for_toml(text: &str) -> String {
    let mut written = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => written.extend(['\\', character]),
            _ if character.is_control() => written += &format!("\\u{:04X}", u32::from(character)),
            _ => written.push(character),
        }
    }
    written + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_can_be_written_as_a_file() {
        let machine = Machine {
            cpus: 2,
            memory_bytes: 8 << 30,
            stress_ng: None,
            own_program: "punctual".into(),
            first_port: 20_000,
            find_program: |_| None,
            has_display: false,
        };
        for class in Class::ALL {
            let file = Source::Class(class).written(&machine).unwrap();
            assert_eq!(file.is_none(), class == Class::None);
            let Some(file) = file else { continue };
            assert_eq!((file.name.as_str(), file.about.as_str()), (class.name(), class.about()));
            assert!(file.commands[0].run.contains("exec stress-ng --"), "{}", file.text);
            assert_eq!(file.missing(machine.find_program), ["stress-ng"]);
        }
        let job = Source::StressNgJob("/tmp/some.job".into()).written(&machine).unwrap().unwrap();
        assert!(job.commands[0].run.contains("--job '/tmp/some.job'"));
        // A path may hold anything.
        for odd in
            ["/tmp/it's \"odd\"\nhere.job", "/tmp/\u{7f}\u{202e}\\.job", "/tmp/$(touch x).job", "/tmp/\'\'\'.job"]
        {
            let job = Source::StressNgJob(odd.into()).written(&machine).unwrap().unwrap();
            let quoted = format!("'{}'", odd.replace('\'', r"'\''"));
            assert!(job.commands[0].run.contains(&format!("--job {quoted} --temp-path")), "{}", job.commands[0].run);
        }
    }
}
