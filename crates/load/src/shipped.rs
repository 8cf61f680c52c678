//! The loads of real programs that come with this one: the classes of use of Cota-Robles and Held, OSDI 1999,
//! section 3.1, made of what today's distributions have.

use crate::{FileError, LoadFile};

/// Their names, in the order in which they are shown.
pub const NAMES: [&str; 4] = ["office", "workstation", "games", "web"];

const TEXTS: [&str; 4] = [
    include_str!("../../../loads/office.toml"),
    include_str!("../../../loads/workstation.toml"),
    include_str!("../../../loads/games.toml"),
    include_str!("../../../loads/web.toml"),
];

/// The load of this name.
pub fn find(name: &str) -> Option<Result<LoadFile, FileError>> {
    let index = NAMES.iter().position(|known| *known == name)?;
    Some(LoadFile::parse(&format!("{name}.toml"), name, TEXTS[index]))
}

/// All of them.
pub fn all() -> impl Iterator<Item = LoadFile> {
    NAMES.into_iter().filter_map(|name| find(name)?.ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 3.1 of the paper.
    #[test]
    fn every_class_can_be_read_and_stands_for_what_the_paper_says() {
        let found: Vec<(String, Option<u64>)> =
            NAMES.map(|name| find(name).unwrap().unwrap()).map(|file| (file.name, file.compression_thousandths)).into();
        let expected = [("office", 10_000), ("workstation", 5_000), ("games", 1_000), ("web", 4_000)];
        assert_eq!(found, expected.map(|(name, compression)| (name.to_owned(), Some(compression))));
        assert_eq!(all().count(), NAMES.len());
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
