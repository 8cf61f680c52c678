//! Artificial loads written as load files, to be shown, copied and changed.

use crate::score::STRESS_NG_METRICS;
use crate::{Class, LoadFile, Machine, Source};

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
    /// It as a load file, which does the same; `None` for an idle machine.
    pub fn written(&self, machine: &Machine) -> Option<LoadFile> {
        let (about, arguments) = match self {
            Source::File(file) => return Some((**file).clone()),
            Source::Class(Class::None) => return None,
            Source::Class(class) => {
                let mixed = class.parts().len() > 1;
                let words = class.parts().iter().flat_map(|part| part.stress_ng_arguments(machine, mixed));
                (class.about().to_owned(), words.collect::<Vec<_>>().join(" "))
            }
            Source::StressNgJob(path) => {
                let shown = path.display().to_string();
                (format!("The jobs of {shown}"), format!("--job '{shown}'"))
            }
        };
        let text = format!(
            "about = {about:?}\nwarm_up = \"300ms\"\n\n[needs]\nprograms = [\"stress-ng\"]\n\n[packages]\n\
             apt = [\"stress-ng\"]\ndnf = [\"stress-ng\"]\npacman = [\"stress-ng\"]\n\n[[command]]\nname = \"stress-ng\"\n\
             run = {:?}\nrepeat = false\nscore = {{ unit = \"bogo operations\", match = '{STRESS_NG_METRICS}' }}\n",
            format!("exec stress-ng {arguments} --temp-path . --oomable --metrics-brief"),
        );
        let name = self.name().replace(['+', ','], "-");
        LoadFile::parse(&name, &name, &text).ok()
    }
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
            let file = Source::Class(class).written(&machine);
            assert_eq!(file.is_none(), class == Class::None);
            let Some(file) = file else { continue };
            assert_eq!((file.name.as_str(), file.about.as_str()), (class.name(), class.about()));
            assert!(file.commands[0].run.contains("exec stress-ng --"), "{}", file.text);
            assert_eq!(file.missing(machine.find_program), ["stress-ng"]);
        }
        let job = Source::StressNgJob("/tmp/some.job".into()).written(&machine).unwrap();
        assert!(job.commands[0].run.contains("--job '/tmp/some.job'"));
    }
}
