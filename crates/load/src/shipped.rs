//! The loads of real programs that come with this one: the classes of use of Cota-Robles and Held, OSDI 1999, section
//! 3.1, made from programs of today's distributions.

use crate::{FileError, LoadFile};

/// Each with its name, in the order of display.
const SHIPPED: [(&str, &str); 4] = [
    ("office", include_str!("../../../loads/office.toml")),
    ("workstation", include_str!("../../../loads/workstation.toml")),
    ("games", include_str!("../../../loads/games.toml")),
    ("web", include_str!("../../../loads/web.toml")),
];

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.into_iter().map(|(name, _)| name)
}

/// The load of this name.
pub fn find(name: &str) -> Option<Result<LoadFile, FileError>> {
    let (_, text) = SHIPPED.into_iter().find(|(known, _)| *known == name)?;
    Some(LoadFile::parse(&format!("{name}.toml"), name, text))
}

/// All of them.
pub fn all() -> impl Iterator<Item = LoadFile> {
    names().filter_map(|name| find(name)?.ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 3.1 of the paper.
    #[test]
    fn every_class_can_be_read_and_stands_for_what_the_paper_says() {
        let found: Vec<(String, Option<u64>)> = names()
            .map(|name| find(name).unwrap().unwrap())
            .map(|file| (file.name, file.compression_thousandths))
            .collect();
        let expected = [("office", 10_000), ("workstation", 5_000), ("games", 1_000), ("web", 4_000)];
        assert_eq!(found, expected.map(|(name, compression)| (name.to_owned(), Some(compression))));
        assert_eq!(all().count(), SHIPPED.len());
    }

    #[test]
    fn every_class_can_be_installed_and_scored() {
        for file in all() {
            assert!(!file.needs.programs.is_empty() && !file.about.is_empty(), "{}", file.name);
            let packages = &file.packages;
            assert!(
                !packages.apt.is_empty() && !packages.dnf.is_empty() && !packages.pacman.is_empty(),
                "{}",
                file.name
            );
            assert!(file.commands.iter().any(|command| command.repeat || command.score.is_some()), "{}", file.name);
        }
    }
}
