//! What is loaded before the measurement: a driver's module.

use std::path::PathBuf;

/// A module that is built for each kernel, with the parameters that it is loaded with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// The directory of its sources; `None` for the driver that comes with the program.
    pub directory: Option<PathBuf>,
    /// `period_us=500`, ...
    pub parameters: Vec<String>,
}

/// The name of the driver that comes with the program.
const SHIPPED: &str = "shipped";

impl Driver {
    /// From `shipped`, `./driver`, `./driver,period_us=500`.
    ///
    /// # Errors
    ///
    /// In one line, what is wrong with the text and what would be right.
    pub fn parse(text: &str) -> Result<Driver, String> {
        let mut parts = text.split(',').map(str::to_owned);
        let name = parts.next().unwrap_or_default();
        let parameters: Vec<String> = parts.collect();
        let is_parameter = |word: &String| {
            let is_name = |name: &str| {
                !name.is_empty() && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
            };
            word.chars().all(|character| character.is_ascii_graphic() && !"\"'\\".contains(character))
                && word.split('=').next().is_some_and(is_name)
        };
        if name.is_empty() || name.chars().any(char::is_control) || !parameters.iter().all(is_parameter) {
            let shown: String = text.chars().filter(|character| !character.is_control()).collect();
            return Err(format!(
                "`{shown}` is not a module: write {SHIPPED} or a directory, and parameters with commas, such as \
                 {SHIPPED},period_us=500"
            ));
        }
        Ok(Driver { directory: (name != SHIPPED).then(|| name.into()), parameters })
    }

    /// As it was written.
    pub fn name(&self) -> String {
        let mut name = self.directory.as_ref().map_or_else(|| SHIPPED.to_owned(), |path| path.display().to_string());
        for parameter in &self.parameters {
            name.push(',');
            name.push_str(parameter);
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::Driver;

    #[test]
    fn a_module_is_the_shipped_one_or_a_directory_with_parameters() {
        for (text, directory, parameters) in
            [("shipped", None, 0), ("./shipped", Some("./shipped"), 0), ("a b,period_us=5,name=x", Some("a b"), 2)]
        {
            let driver = Driver::parse(text).unwrap();
            assert_eq!(
                (driver.directory.as_deref(), driver.parameters.len()),
                (directory.map(|path| path.as_ref()), parameters)
            );
            assert_eq!(driver.name(), text);
        }
        for wrong in ["", ",a=1", "shipped,", "shipped,=1", "shipped,a b=1", "shipped,a='1'", "x\n"] {
            assert_eq!(Driver::parse(wrong).unwrap_err().lines().count(), 1, "{wrong:?}");
        }
    }
}
