//! What is booted: a kernel and its parameters, and the load there.

/// A kernel, the parameters that it is booted with, and the load that it is recorded under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    /// A kernel's name, or a path: anything with a `/` is one.
    pub kernel: String,
    /// `preempt=full`, `threadirqs`, ...
    pub parameters: Vec<String>,
    /// Which load, in a grid that has loads.
    pub load: Option<String>,
}

impl System {
    /// From `6.12`, `6.12,preempt=full`, `./vmlinuz,threadirqs`.
    ///
    /// # Errors
    ///
    /// In one line, what is wrong with the text and what would be right.
    pub fn parse(text: &str) -> Result<System, String> {
        let mut parts = text.split(',').map(str::to_owned);
        let kernel = parts.next().unwrap_or_default();
        let parameters: Vec<String> = parts.collect();
        if kernel.is_empty()
            || kernel.chars().any(char::is_control)
            || !parameters.iter().all(|word| is_parameter(word))
        {
            let shown: String = text.chars().filter(|character| !character.is_control()).collect();
            return Err(format!(
                "`{shown}` is not a kernel: write a name, or a name and parameters with commas, such as 6.12,preempt=full"
            ));
        }
        one_cpu(&parameters)?;
        Ok(System { kernel, parameters, load: None })
    }

    /// Every kernel with each of these parameters and each of these loads; if none are given, as it is.
    pub fn grid(kernels: &[System], settings: &[Vec<String>], loads: &[String]) -> Vec<System> {
        let as_it_is = [Vec::new()];
        let settings = if settings.is_empty() { &as_it_is[..] } else { settings };
        let loads: Vec<Option<&String>> = if loads.is_empty() { vec![None] } else { loads.iter().map(Some).collect() };
        let each = kernels.iter().flat_map(|kernel| settings.iter().map(move |setting| (kernel, setting)));
        let with = |kernel: &System, setting: &Vec<String>, load: Option<&String>| System {
            parameters: [&kernel.parameters[..], &setting[..]].concat(),
            load: load.cloned(),
            ..kernel.clone()
        };
        each.flat_map(|(kernel, setting)| loads.iter().map(move |load| with(kernel, setting, *load))).collect()
    }

    /// Parameters of a grid, with commas; none: as it is.
    ///
    /// # Errors
    ///
    /// In one line, what is wrong with the text.
    pub fn parse_setting(text: &str) -> Result<Vec<String>, String> {
        let words: Vec<String> = text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        if words.iter().all(|word| is_parameter(word)) {
            return one_cpu(&words).map(|()| words);
        }
        let shown: String = text.chars().filter(|character| !character.is_control()).collect();
        Err(format!(
            "`{shown}` is not a list of kernel parameters: write them with commas, such as preempt=full,threadirqs"
        ))
    }

    /// Its name without the load.
    pub fn kernel_name(&self) -> String {
        System { load: None, ..self.clone() }.name()
    }

    /// As it was written.
    pub fn name(&self) -> String {
        let mut name = self.kernel.clone();
        for parameter in &self.parameters {
            name.push(',');
            name.push_str(parameter);
        }
        name.extend(self.load.iter().map(|load| format!(" under {load}")));
        name
    }

    /// The same as a file name: a path's last part, with a hyphen for every unusual character.
    pub fn file_name(&self) -> String {
        let name = self.name();
        let (before, rest) = name.split_at(self.kernel.len());
        let last = before.rsplit('/').find(|part| !part.is_empty()).unwrap_or("kernel");
        let is_usual = |character: char| character.is_ascii_alphanumeric() || "._=,+".contains(character);
        let usual: String = format!("{last}{rest}")
            .chars()
            .map(|character| if is_usual(character) { character } else { '-' })
            .take(200)
            .collect();
        // Not `.` or `..`, and nothing that a program would take for an option or hide.
        usual.trim_start_matches(['.', '-']).to_owned()
            + if usual.trim_start_matches(['.', '-']).is_empty() { "kernel" } else { "" }
    }
}

/// Whether it can go on a guest's command line.
fn is_parameter(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|character| character.is_ascii_graphic() && !"\"'\\".contains(character))
}

/// Why a guest has no second CPU.
pub const ONE_CPU: &str = "a guest has one CPU, since its clock counts instructions";
/// Parameters that say how many CPUs a kernel uses.
const CPUS: [&str; 3] = ["maxcpus", "nr_cpus", "possible_cpus"];

/// Refuses parameters that ask for more CPUs than a guest has: the kernel would go on with one, and nobody would know.
fn one_cpu(parameters: &[String]) -> Result<(), String> {
    let asks_for_more = |word: &&String| {
        let (name, number) = word.split_once('=').unwrap_or((word.as_str(), "1"));
        CPUS.contains(&name.replace('-', "_").as_str()) && !["0", "1"].contains(&number)
    };
    match parameters.iter().find(asks_for_more) {
        Some(word) => Err(format!("`{word}`: {ONE_CPU}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::System;

    #[test]
    fn more_cpus_than_a_guest_has_are_refused() {
        for wrong in ["nr_cpus=2", "threadirqs,maxcpus=4", "nr-cpus=8", "possible_cpus=0x2"] {
            let said = System::parse(&format!("6.12,{wrong}")).unwrap_err();
            assert!(said.contains("one CPU") && said.lines().count() == 1, "{said}");
            assert_eq!(System::parse_setting(wrong).unwrap_err(), said);
        }
        for right in ["nr_cpus=1", "maxcpus=0", "isolcpus=0", "maxcpus"] {
            assert!(System::parse(&format!("6.12,{right}")).is_ok(), "{right}");
        }
    }

    #[test]
    fn a_grid_has_each_kernel_with_each_setting_and_load() {
        let kernels = ["6.12", "6.1,nohz=off"].map(|text| System::parse(text).unwrap());
        let settings = ["", "preempt=full,threadirqs"].map(|text| System::parse_setting(text).unwrap());
        let loads = ["network".to_owned(), "disk".to_owned()];
        let names: Vec<String> = System::grid(&kernels, &settings, &loads).iter().map(System::name).collect();
        assert_eq!(names.len(), 8);
        assert_eq!(
            (names[0].as_str(), names[7].as_str()),
            ("6.12 under network", "6.1,nohz=off,preempt=full,threadirqs under disk")
        );
        let file = System::grid(&kernels, &settings, &loads)[7].file_name();
        assert_eq!(file, "6.1,nohz=off,preempt=full,threadirqs-under-disk");
        assert_eq!(System::grid(&kernels, &[], &[]), kernels);
        assert_eq!(System::parse_setting("a b").unwrap_err().lines().count(), 1);
    }

    #[test]
    fn names_and_parameters_are_read_and_become_names_of_files() {
        let cases = [
            ("6.12", "6.12", 0, "6.12"),
            ("6.12-rt", "6.12-rt", 0, "6.12-rt"),
            ("newest,preempt=full,threadirqs", "newest", 2, "newest,preempt=full,threadirqs"),
            ("../a b/vmlinuz 1,nohz=off", "../a b/vmlinuz 1", 1, "vmlinuz-1,nohz=off"),
            ("/boot/", "/boot/", 0, "boot"),
            ("./..", "./..", 0, "kernel"),
        ];
        for (text, kernel, parameters, file) in cases {
            let system = System::parse(text).unwrap();
            assert_eq!((system.kernel.as_str(), system.parameters.len()), (kernel, parameters), "{text}");
            assert_eq!((system.name().as_str(), system.file_name().as_str()), (text, file));
        }
        for wrong in ["", ",threadirqs", "6.12,", "6.12,a b", "6.12,a=\"b", "6.12,\n", "6\u{1b}"] {
            assert!(System::parse(wrong).unwrap_err().lines().count() == 1, "{wrong:?}");
        }
    }
}
