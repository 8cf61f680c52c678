//! Scripts that come with the program.

use super::Script;

const SHIPPED: [(&str, &str); 10] = [
    ("bash", include_str!("../../scenarios/bash.toml")),
    ("editor", include_str!("../../scenarios/editor.toml")),
    ("less", include_str!("../../scenarios/less.toml")),
    ("micro", include_str!("../../scenarios/micro.toml")),
    ("object", include_str!("../../scenarios/object.toml")),
    ("python3", include_str!("../../scenarios/python3.toml")),
    ("slides", include_str!("../../scenarios/slides.toml")),
    ("typing", include_str!("../../scenarios/typing.toml")),
    ("vim", include_str!("../../scenarios/vim.toml")),
    ("word", include_str!("../../scenarios/word.toml")),
];

/// Their names.
pub fn names() -> [&'static str; SHIPPED.len()] {
    SHIPPED.map(|(name, _)| name)
}

/// The script of this name: its text.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The script for a program if none was chosen, by the program's name: its own name and text.
pub fn default_for(program: &str) -> (&'static str, &'static str) {
    let file = program.rsplit('/').next().unwrap_or(program);
    let file = match file {
        // A terminal emulator runs a shell.
        "sh" | "dash" | "zsh" | "fish" | "xterm" | "xfce4-terminal" | "gnome-terminal" | "konsole" | "urxvt"
        | "foot" | "alacritty" | "kitty" => "bash",
        "mousepad" | "featherpad" | "gedit" | "kate" | "leafpad" | "l3afpad" | "xed" | "pluma" => "editor",
        "vi" | "nvim" | "view" => "vim",
        "lowriter" | "oowriter" => "word",
        "loimpress" | "ooimpress" => "slides",
        "more" | "man" => "less",
        "python" => "python3",
        other => other,
    };
    let typing = SHIPPED.iter().find(|(name, _)| *name == "typing");
    SHIPPED.iter().find(|(name, _)| *name == file).or(typing).copied().unwrap_or(("", ""))
}

impl Script {
    /// One of those that come with the program; `None` if none has this name.
    pub fn shipped(name: &str) -> Option<Script> {
        let text = shipped(name)?;
        // A test reads them all.
        Script::parse(name, text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::*;

    #[test]
    fn all_can_be_read_and_are_found() {
        for name in names() {
            let script = Script::parse(name, shipped(name).unwrap()).unwrap();
            assert_eq!(script.name, name);
            assert!(!script.about.is_empty() && script.inputs() >= 20, "{name}");
        }
        assert_eq!(default_for("/usr/bin/vim").0, "vim");
        assert_eq!((default_for("/usr/bin/mousepad").0, default_for("xterm").0), ("editor", "bash"));
        assert_eq!(default_for("foot").0, "bash");
        assert_eq!((default_for("dash").0, default_for("mc").0), ("bash", "typing"));
        assert_eq!((default_for("lowriter").0, default_for("/usr/bin/loimpress").0), ("word", "slides"));
    }

    /// How often the tasks of the paper, and its single inputs, are in them.
    #[test]
    fn scripts_after_the_paper_have_its_inputs() {
        for (name, kind, times) in [
            ("word", "open", 1),
            ("word", "save", 1),
            ("slides", "open", 1),
            ("slides", "page", 29),
            ("slides", "edit object", 3),
            ("slides", "leave object", 3),
            ("slides", "save", 1),
            ("micro", "unbound", 36),
            ("micro", "background", 36),
            ("micro", "page", 36),
            ("object", "edit object", 36),
            ("object", "leave object", 36),
        ] {
            let script = Script::shipped(name).unwrap();
            assert_eq!(script.presses().filter(|press| press.kind == kind).count(), times, "{name}: {kind}");
        }
        for (name, edits) in [("word", 3), ("slides", 3)] {
            let script = Script::shipped(name).unwrap();
            let is_edit = |step: &&Step| matches!(step, Step::Task(task) if task.starts_with("edit "));
            assert_eq!(script.steps.iter().filter(is_edit).count(), edits, "{name}");
            assert!(!script.programs.is_empty() && !script.packages.apt.is_empty(), "{name}");
        }
    }

    /// The keys of these scripts are for the slides that `examples/office-files` writes.
    #[test]
    fn where_an_object_is_edited_there_is_one_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/office-files");
        assert!(std::process::Command::new("sh").arg(example).arg(directory.path()).status().unwrap().success());
        let text = std::fs::read_to_string(directory.path().join("slides.fodp")).unwrap();
        let slides: Vec<&str> = text.split("<draw:page ").skip(1).collect();
        assert_eq!(slides.len(), 46);
        for (name, times) in [("slides", 3), ("object", 36)] {
            let script = Script::shipped(name).unwrap();
            let (mut at, mut edited) = (0, 0);
            for press in script.presses() {
                match press.kind.as_str() {
                    "page" => at += 1,
                    "edit object" => {
                        let has = |what: &str| slides[at].matches(what).count();
                        assert_eq!((has("<draw:object>"), has("<draw:frame ")), (1, 1), "{name}: slide {}", at + 1);
                        edited += 1;
                    }
                    _ => {}
                }
            }
            assert_eq!(edited, times, "{name}");
        }
    }
}
