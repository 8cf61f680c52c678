//! What is booted: a kernel and its parameters.

/// A kernel and the parameters that it is booted with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    /// A kernel's name, or a path: what has a `/` is one.
    pub kernel: String,
    /// `preempt=full`, `threadirqs`, ...
    pub parameters: Vec<String>,
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
        let is_word = |word: &String| {
            !word.is_empty()
                && word.chars().all(|character| character.is_ascii_graphic() && !"\"'\\".contains(character))
        };
        if kernel.is_empty() || kernel.chars().any(char::is_control) || !parameters.iter().all(is_word) {
            let shown: String = text.chars().filter(|character| !character.is_control()).collect();
            return Err(format!(
                "`{shown}` is not a kernel: write a name, or a name and parameters with commas, such as 6.12,preempt=full"
            ));
        }
        Ok(System { kernel, parameters })
    }

    /// As it was written.
    pub fn name(&self) -> String {
        let mut name = self.kernel.clone();
        for parameter in &self.parameters {
            name.push(',');
            name.push_str(parameter);
        }
        name
    }

    /// The same as a file's name: a path's last part, and of other characters than usual ones a hyphen.
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

#[cfg(test)]
mod tests {
    use super::System;

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
